// Webhooks: a genuine event takes effect once, and nothing else does.
// release: sqlite
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { after, before, test } from 'node:test';
import Razorpay from 'razorpay';
import Stripe from 'stripe';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { SECRET, openPaidShop, razorpayEvent, signed, stripeEvent } from './lib/gateways.mjs';
import { SLOW, together } from './lib/souk.mjs';

let shop;
let editor;
let counter = 0;

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor', price: 4999 });
  await shop.listen('stripe');
  await shop.listen('razorpay');
});
after(() => shop.stop());

/** A pending order: {buyer, id, intent}. */
async function pending(label = 'card_gateway_a') {
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { order_id } = await shop.checkout(buyer, label);
  counter += 1;
  return {
    buyer,
    id: order_id,
    intent: `pi_${counter}`,
    status: async () => (await shop.order(buyer, order_id)).status,
  };
}

const about = (order, more = {}) => ({ order: order.id, amount: 4999, intent: order.intent, ...more });

/** Everything that an event could change. */
const state = () =>
  shop.seed
    .sql(
      `SELECT (SELECT COUNT(*) FROM webhook_event), (SELECT COUNT(*) FROM transfer), (SELECT COUNT(*) FROM delivery),
  (SELECT COUNT(*) FROM orders WHERE status <> 'pending'), (SELECT COUNT(*) FROM payment WHERE status <> 'open'),
  (SELECT COUNT(*) FROM notification), (SELECT COUNT(*) FROM outbox);`,
    )[0]
    .join(' ');

test('success confirms and delivers at once', async () => {
  const order = await pending();
  const answer = await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order)));
  assert.equal(answer.text.startsWith('{"status":"success"'), true, answer.text);
  assert.equal('data' in answer.json, false);
  const seen = await shop.order(order.buyer, order.id);
  assert.deepEqual([seen.status, seen.paid_with], ['confirmed', 'card_gateway_a']);
  const [{ value }] = seen.items[0].deliveries;
  dataOf(await shop.verify(order.buyer, { license_key: value, product_id: editor.id }));
});

test('failure cancels without delivery; the coupon stays used while the page can be paid, and a success after it counts', async () => {
  const coupon = shop.seed.coupon({ code: `C${Date.now()}`, kind: 'fixed', value: 999 });
  const buyer = await shop.buyerWith([[editor, 1]]);
  dataOf(await shop.souk.post('/api/store/cart/coupon', { code: coupon.code }, { token: buyer.token }));
  const { order_id } = await shop.checkout(buyer, 'card_gateway_a');
  const uses = () =>
    shop.seed.number(`SELECT COUNT(*) FROM coupon_use WHERE coupon_id = ${coupon.id} AND released_at IS NULL`);
  assert.equal(uses(), 1);
  const order = { id: order_id, intent: 'pi_coupon' };
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.payment_failed', about(order, { amount: 4000 }))));
  assert.equal((await shop.order(buyer, order_id)).status, 'cancelled');
  assert.equal(uses(), 1);
  assert.equal((await shop.order(buyer, order_id)).items[0].deliveries.length, 0);
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order, { amount: 4000 }))));
  assert.equal((await shop.order(buyer, order_id)).status, 'confirmed');
  assert.equal(uses(), 1);
});

test('paid after a failure when the stock is gone: the coupon is free, and taken again when staff confirm', async () => {
  const coupon = shop.seed.coupon({ kind: 'fixed', value: 999, max_uses: 1 });
  const codes = shop.seed.product({ price: 4999, delivery_type: 'serial_code' });
  shop.seed.serials(codes, ['LAST-1']);
  const buyer = await shop.buyerWith([[codes, 1]], { balance: 10000 });
  dataOf(await shop.souk.post('/api/store/cart/coupon', { code: coupon.code }, { token: buyer.token }));
  const { order_id } = await shop.checkout(buyer, 'card_gateway_a');
  const uses = () => shop.seed.number(`SELECT uses FROM coupon WHERE id = ${coupon.id}`);
  const order = { id: order_id, intent: 'pi_sold_out' };
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.payment_failed', about(order, { amount: 4000 }))));
  dataOf(await shop.souk.post('/api/v1/order/create', { product_id: codes.id }, { token: buyer.token }));
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order, { amount: 4000 }))));
  assert.equal((await shop.order(buyer, order_id)).status, 'cancelled');
  assert.equal(uses(), 0);
  await shop.check();
  shop.seed.serials(codes, ['LAST-2']);
  dataOf(await shop.admin('POST', `/api/admin/orders/${order_id}/confirm`));
  assert.equal((await shop.order(buyer, order_id)).status, 'confirmed');
  assert.equal(uses(), 1);
  await shop.check();
});

test('a failure never undoes a confirmation', async () => {
  const order = await pending();
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order))));
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.payment_failed', about(order))));
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.canceled', about(order))));
  assert.equal(await order.status(), 'confirmed');
});

test('part of a refund is recorded; all of it closes the order and revokes the licence', async () => {
  const order = await pending();
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order))));
  const key = (await shop.order(order.buyer, order.id)).items[0].deliveries[0].value;
  // Without metadata: the intent is known by now.
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('charge.refunded', { amount: 4999, intent: order.intent, amount_refunded: 1500, refunded: false }),
    ),
  );
  let seen = await shop.order(order.buyer, order.id);
  assert.deepEqual([seen.status, seen.refunded_amount], ['confirmed', 15]);
  dataOf(await shop.verify(order.buyer, { license_key: key, product_id: editor.id }));
  dataOf(
    await shop.event('stripe', stripeEvent('charge.refunded', about(order, { amount_refunded: 4999, refunded: true }))),
  );
  seen = await shop.order(order.buyer, order.id);
  assert.deepEqual([seen.status, seen.refunded_amount], ['refunded', 49.99]);
  expectError(
    await shop.verify(order.buyer, { license_key: key, product_id: editor.id }),
    403,
    'license_revoked',
    'License is revoked',
  );
  // Nothing opens it again.
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order))));
  assert.equal(await order.status(), 'refunded');
});

test('a dispute holds what was delivered and tells staff; winning it ends the hold', async () => {
  const order = await pending();
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order))));
  const key = (await shop.order(order.buyer, order.id)).items[0].deliveries[0].value;
  const dispute = { payment_intent: order.intent, amount: 4999, id: 'dp_1', object: 'dispute', metadata: {} };
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('charge.dispute.created', { ...dispute, intent: order.intent, status: 'needs_response' }),
    ),
  );
  expectError(await shop.verify(order.buyer, { license_key: key, product_id: editor.id }), 403, 'license_revoked');
  assert.equal((await shop.order(order.buyer, order.id)).on_hold, true);
  const [event] = await shop.events('review');
  assert.equal(event.kind, 'disputed');
  assert.equal(event.order_id, order.id);
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('charge.dispute.closed', { ...dispute, intent: order.intent, status: 'won' }),
    ),
  );
  dataOf(await shop.verify(order.buyer, { license_key: key, product_id: editor.id }));
});

test('the same event again, and another event for the same success, change nothing', async () => {
  const order = await pending();
  const event = stripeEvent('payment_intent.succeeded', about(order));
  dataOf(await shop.event('stripe', event));
  const before_ = state();
  for (let i = 0; i < 3; i++) dataOf(await shop.event('stripe', event));
  assert.equal(state(), before_);
  // Re-sent by the gateway with a new signature, from a new second, through its own name.
  dataOf(await shop.event('stripe', event, { name: 'stripe', timestamp: Math.floor(Date.now() / 1000) - 60 }));
  assert.equal(state(), before_);
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('checkout.session.completed', {
        id: 'cs_1',
        object: 'checkout.session',
        payment_intent: order.intent,
        payment_status: 'paid',
        status: 'complete',
        amount_total: 4999,
        client_reference_id: String(order.id),
        intent: 'x',
      }),
    ),
  );
  assert.equal(
    shop.seed.number(
      `SELECT COUNT(*) FROM delivery d JOIN order_item i ON i.id = d.order_item_id WHERE i.order_id = ${order.id}`,
    ),
    1,
  );
  assert.equal(
    shop.seed.number(`SELECT COUNT(*) FROM transfer WHERE kind = 'payment' AND reference_id = ${order.id}`),
    1,
  );
});

test('another amount or currency leaves the order pending and is kept for review', async () => {
  const order = await pending();
  for (const wrong of [
    { amount: 4998 },
    { amount: 5000 },
    { amount: 499900 },
    { currency: 'eur' },
    { currency: 'jpy' },
    { amount: undefined },
  ]) {
    dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order, wrong))));
    assert.equal(await order.status(), 'pending', JSON.stringify(wrong));
  }
  const events = (await shop.events('review')).filter((e) => e.order_id === order.id);
  assert.equal(events.length, 6);
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order))));
  assert.equal(await order.status(), 'confirmed');
});

test('real money at a gateway in test mode is for review; test money at a live one is ignored', async () => {
  const order = await pending();
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order), { livemode: true })));
  assert.equal(await order.status(), 'pending');
  await shop.listen('stripe', { mode: 'live' });
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order))));
  assert.equal(await order.status(), 'pending');
  assert.equal((await shop.events('ignored'))[0].reason, 'test money at a live gateway');
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order), { livemode: true })));
  assert.equal(await order.status(), 'confirmed');
  await shop.listen('stripe', { mode: 'test' });
});

test('an unknown order is kept, and matched later', async () => {
  const intent = 'pi_early';
  // A refund that knows nothing but the intent, before anything else.
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('charge.refunded', { amount: 4999, intent, amount_refunded: 4999, refunded: true }),
    ),
  );
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', { order: 99999999, amount: 1, intent: 'pi_nobody' }),
    ),
  );
  const unmatched = await shop.events('unmatched');
  assert.deepEqual(
    unmatched.slice(0, 2).map((e) => [e.kind, e.order_id]),
    [
      ['succeeded', null],
      ['refunded', null],
    ],
  );
  const order = await pending();
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order, { intent }))));
  assert.equal(await order.status(), 'refunded');
  assert.equal((await shop.events('unmatched')).length, unmatched.length - 1);
});

test('razorpay: both of its success events, failure, refunds; its own library agrees with our signer', async () => {
  const order = await pending('card_gateway_b');
  const success = razorpayEvent('payment.captured', { order: order.id, amount: 4999, payment: 'pay_1' });
  const raw = JSON.stringify(success);
  assert.ok(Razorpay.validateWebhookSignature(raw, signed('razorpay', raw)['X-Razorpay-Signature'], SECRET));
  dataOf(await shop.event('razorpay', success));
  assert.equal(await order.status(), 'confirmed');
  dataOf(
    await shop.event('razorpay', razorpayEvent('order.paid', { order: order.id, amount: 4999, payment: 'pay_1' })),
  );
  assert.equal(
    shop.seed.number(`SELECT COUNT(*) FROM transfer WHERE kind = 'payment' AND reference_id = ${order.id}`),
    1,
  );
  dataOf(
    await shop.event(
      'razorpay',
      razorpayEvent('refund.processed', { amount: 4999, payment: 'pay_1', refund: 'rfnd_1', refunded: 4999 }),
    ),
  );
  assert.equal(await order.status(), 'refunded');
  const failing = await pending('card_gateway_b');
  dataOf(
    await shop.event(
      'razorpay',
      razorpayEvent('payment.failed', { order: failing.id, amount: 4999, payment: 'pay_2' }),
    ),
  );
  assert.equal(await failing.status(), 'cancelled');
  // The next attempt of the customer is another payment of the same link.
  dataOf(
    await shop.event(
      'razorpay',
      razorpayEvent('payment.captured', { order: failing.id, amount: 4999, payment: 'pay_3' }),
      { name: 'razorpay' },
    ),
  );
  assert.equal(await failing.status(), 'confirmed');
});

test('the known good messages verify', async () => {
  const now = 1700000000;
  const folder = new URL('../data/gateways/', import.meta.url);
  const body = fs.readFileSync(new URL('razorpay.json', folder));
  await shop.connect('vectors', { provider: 'razorpay', secrets: ['rzp_webhook_secret'] });
  const good = { 'X-Razorpay-Signature': '31dabe251a5bcb051a40af6c48b746e247a9e845d350bb80a9c2973ae4688359' };
  dataOf(await shop.post('vectors', body, good));
  expectError(await shop.post('vectors', Buffer.concat([body, Buffer.from(' ')]), good), 400, 'signature_invalid');
  // Stripe's is of 2023: genuine, and far too old.
  await shop.connect('old', { provider: 'stripe', secrets: ['whsec_test_secret'] });
  const stripe = fs.readFileSync(new URL('stripe.json', folder));
  expectError(
    await shop.post('old', stripe, {
      'Stripe-Signature': `t=${now},v1=d755950b477d53fb1ee05d1fec6f155e3d367ffe4d73ec6ab4ecee5b3665702b`,
    }),
    400,
    'signature_invalid',
  );
});

test('too old and too new are refused, in both directions; five minutes are not', async () => {
  const order = await pending();
  const now = () => Math.floor(Date.now() / 1000);
  for (const off of [-310, 310, -86400, 86400, -1e9]) {
    expectError(
      await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order)), { timestamp: now() + off }),
      400,
      'signature_invalid',
    );
  }
  assert.equal(await order.status(), 'pending');
  for (const off of [-290, 290]) {
    dataOf(
      await shop.event('stripe', stripeEvent('payment_intent.processing', about(order)), { timestamp: now() + off }),
    );
  }
});

test('one answer for every kind of wrong signature, and nothing is stored but a count', async () => {
  const order = await pending();
  const raw = JSON.stringify(stripeEvent('payment_intent.succeeded', about(order)));
  const good = signed('stripe', raw)['Stripe-Signature'];
  const before_ = state();
  const counted = async () =>
    [...(await shop.souk.metrics())].filter(([k]) => k.includes('signature')).reduce((n, [, v]) => n + v, 0);
  const counts = await counted();
  const wrong = [
    {},
    { 'Stripe-Signature': '' },
    { 'Stripe-Signature': 'x' },
    { 'Stripe-Signature': good.replace('v1=', 'v0=') },
    { 'Stripe-Signature': good.replace(/^t=\d+,/, '') },
    { 'Stripe-Signature': `${good},t=1` },
    { 'Stripe-Signature': good.toUpperCase() },
    { 'Stripe-Signature': ` ${good.slice(0, -1)}` },
    { 'X-Razorpay-Signature': createHash('sha256').update(raw).digest('hex') },
    signed('stripe', raw, 'another secret'),
    signed('stripe', raw, ''),
    signed('stripe', `${raw} `),
    { 'Stripe-Signature': [good, good] },
  ];
  const texts = new Set();
  for (const headers of wrong) {
    const answer = expectError(await shop.post('card_gateway_a', raw, headers), 400, 'signature_invalid');
    texts.add(answer.text.replace(/"request_id":"[^"]*"/, ''));
  }
  assert.equal(texts.size, 1);
  assert.equal(state(), before_);
  assert.equal((await counted()) - counts, wrong.length);
  assert.equal(await order.status(), 'pending');
});

test('every single bit of the body and of the signature counts', async () => {
  const order = await pending();
  const raw = Buffer.from(JSON.stringify(stripeEvent('payment_intent.succeeded', about(order))));
  const value = signed('stripe', raw.toString())['Stripe-Signature'];
  const before_ = state();
  const flips = [];
  const step = SLOW > 1 ? 7 : 1;
  for (let bit = 0; bit < raw.length * 8; bit += step) flips.push(['body', bit]);
  for (let bit = 0; bit < value.length * 8; bit += step) flips.push(['header', bit]);
  let sent = 0;
  await together(flips.length, 16, async (i) => {
    const [where, bit] = flips[i];
    const bytes = Buffer.from(where === 'body' ? raw : Buffer.from(value, 'latin1'));
    bytes[bit >> 3] ^= 1 << (bit & 7);
    // What HTTP itself does not carry never gets to the signature.
    if (
      where === 'header' &&
      (bytes[bit >> 3] < 0x20 || bytes[bit >> 3] === 0x7f || bytes.toString('latin1').trim().length !== value.length)
    )
      return;
    const header = where === 'header' ? bytes.toString('latin1') : value;
    const answer = await shop.post(
      'card_gateway_a',
      where === 'body' ? bytes : raw,
      { 'Stripe-Signature': header },
      { unchecked: true },
    );
    sent += 1;
    assert.equal(answer.status, 400, `${where}, bit ${bit}: ${answer.text}`);
  });
  assert.ok(sent > flips.length * 0.9, `${sent} of ${flips.length}`);
  assert.equal(state(), before_);
  dataOf(await shop.post('card_gateway_a', raw, { 'Stripe-Signature': value }));
  assert.equal(await order.status(), 'confirmed');
});

test('signed and yet not a message', async () => {
  for (const raw of [
    '',
    'null',
    '[]',
    '{}',
    '{"id":"evt_x"}',
    '{"id":"evt_x","type":"a"',
    '\u0000',
    '{"id":"a","id":"b","type":"c"}',
  ]) {
    expectError(await shop.event('stripe', raw), 400, 'malformed_json');
  }
  // Genuine kinds that are not for us.
  for (const type of ['customer.created', 'payment_intent.created', 'invoice.paid']) {
    dataOf(await shop.event('stripe', stripeEvent(type, { intent: 'x' })));
  }
  assert.equal((await shop.events('ignored'))[0].type, 'invoice.paid');
  // A success that says nothing about what succeeded.
  dataOf(await shop.event('stripe', { id: 'evt_bare', type: 'payment_intent.succeeded' }));
  assert.equal((await shop.events('unmatched'))[0].event_id, 'evt_bare');
});

test('gateways that are unknown or not connected are not there; one that is switched off still hears of its old payments', async () => {
  const raw = '{}';
  for (const name of ['nothing', 'paypal', 'wallet_gateway', 'sandbox', 'CARD_GATEWAY_A', '..', '%00', 'wallet']) {
    expectStatus(await shop.post(name, raw, signed('stripe', raw), { unchecked: true }), 404);
  }
  const order = await pending();
  await shop.connect('card_gateway_a', { is_enabled: false });
  const late = await shop.buyerWith([[editor, 1]]);
  expectFields(await shop.checkoutAnswer(late, 'card_gateway_a'), { pay_with: 'not_allowed' });
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order))));
  assert.equal((await shop.order(order.buyer, order.id)).status, 'confirmed');
  await shop.connect('card_gateway_a', { is_enabled: true });
});

test('several secrets are good at once; a forgotten one is not', async () => {
  const order = await pending();
  await shop.connect('card_gateway_a', { add_secret: 'whsec_newest' });
  for (const secret of [SECRET, 'whsec_newest']) {
    dataOf(await shop.event('stripe', stripeEvent('payment_intent.processing', about(order)), { secret }));
  }
  for (let i = 0; i < 4; i++) await shop.connect('card_gateway_a', { add_secret: `whsec_turn_${i}` });
  expectError(
    await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order))),
    400,
    'signature_invalid',
  );
  expectError(
    await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order)), { secret: 'whsec_newest' }),
    400,
    'signature_invalid',
  );
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', about(order)), { secret: 'whsec_turn_0' }));
  await shop.connect('card_gateway_a', { secrets: [SECRET] });
  expectError(
    await shop.event('stripe', stripeEvent('payment_intent.processing', about(order)), { secret: 'whsec_turn_3' }),
    400,
    'signature_invalid',
  );
});

test("Stripe's own library reads what we take, and refuses what we refuse", async () => {
  const raw = JSON.stringify(stripeEvent('payment_intent.processing', { amount: 1, intent: 'pi_lib' }));
  const header = signed('stripe', raw)['Stripe-Signature'];
  assert.equal(Stripe.webhooks.constructEvent(raw, header, SECRET).type, 'payment_intent.processing');
  dataOf(await shop.post('stripe', raw, { 'Stripe-Signature': header }));
  const altered = raw.replace('pi_lib', 'pi_liB');
  assert.throws(() => Stripe.webhooks.constructEvent(altered, header, SECRET));
  expectError(await shop.post('stripe', altered, { 'Stripe-Signature': header }), 400, 'signature_invalid');
});

test('the figures for the operator are those of the store', async () => {
  const count = (of) => shop.seed.number(`SELECT COUNT(*) FROM ${of}`);
  const started = await shop.souk.metrics();
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { order_id } = await shop.checkout(buyer, 'card_gateway_a');
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', { order: order_id, amount: 100, intent: 'pi_short' }),
    ),
  );
  const wanted = () => ({
    souk_orders_pending: count("orders WHERE status = 'pending'"),
    souk_orders_on_hold: count('orders WHERE on_hold = 1'),
    souk_payments_open: count('payment WHERE ended_at IS NULL'),
    souk_disputes_open: count("dispute WHERE status = 'open'"),
    'souk_reviews_open{kind="amount"}': count("review WHERE status = 'open' AND kind = 'amount'"),
    'souk_webhook_events_open{status="unmatched"}': count("webhook_event WHERE status = 'unmatched'"),
    'souk_webhook_events_open{status="review"}': count("webhook_event WHERE status = 'review'"),
    'souk_money_minor_units{state="waiting"}': shop.seed.number('SELECT SUM(waiting) FROM payment'),
    'souk_outbox_rows{kind="mail",status="waiting"}': count("outbox WHERE kind = 'mail' AND status = 'waiting'"),
  });
  assert.ok(wanted()['souk_money_minor_units{state="waiting"}'] >= 100);
  assert.ok(wanted()['souk_reviews_open{kind="amount"}'] >= 1);
  await shop.until(
    async () => {
      const now = await shop.souk.metrics();
      return Object.entries(wanted()).every(([name, value]) => now.get(name) === value);
    },
    `the figures are ${JSON.stringify(wanted())}`,
  );
  const now = await shop.souk.metrics();
  const grown = (name) => now.get(name) - started.get(name);
  assert.equal(grown('souk_webhooks_received_total{status="review"}'), 1);
  // What flows is counted when it has been there for ten seconds.
  await shop.until(
    async () => (await shop.souk.metrics()).get('souk_transfers_total{kind="received"}') >= 1,
    'money that arrived was counted',
    30000,
  );
  const later = await shop.souk.metrics();
  assert.ok(later.get('souk_transferred_minor_units_total{kind="received"}') >= 100);
  assert.ok(later.get('souk_orders_placed_total') >= 1);
});

test('the books are in order', () => shop.check());
