// Calls to the providers when answers are lost, late or wrong: against doubles that keep the providers' own rules.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LABELS, openPaidShop, stripeEvent, razorpayEvent, btcpayEvent } from './lib/gateways.mjs';
import { issue, paypalHeaders } from './lib/certificates.mjs';
import { dataOf } from './lib/http.mjs';

const HOUR = 3600 * 1000;
let shop, editor;

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor', price: 4999, delivery_type: 'license_key' });
});
after(() => shop.stop());

async function pending(provider) {
  const buyer = await shop.buyerWith([[editor, 1]]);
  const bought = await shop.checkout(buyer, LABELS[provider]);
  return {
    buyer,
    id: bought.order_id,
    payment: bought.payment,
    status: async () => (await shop.order(buyer, bought.order_id)).status,
  };
}

/** An order that was paid at the double and told by a webhook. */
async function paid(provider, player) {
  const order = await pending(provider);
  const payment = player.pay(order.id);
  const event = {
    stripe: () => stripeEvent('payment_intent.succeeded', { order: order.id, amount: 4999, intent: payment }),
    razorpay: () => razorpayEvent('payment.captured', { order: order.id, amount: 4999, payment }),
    btcpay: () => btcpayEvent('InvoiceSettled', { invoice: payment, order: order.id }),
  }[provider];
  dataOf(await shop.event(provider, event()));
  assert.equal(await order.status(), 'confirmed');
  return { ...order, payment_ref: payment };
}

const refund = async (order, amount) =>
  dataOf(await shop.admin('POST', `/api/admin/orders/${order.id}/refund`, amount ? { amount } : {}));
const waiting = (kind) => shop.seed.number(`SELECT COUNT(*) FROM outbox WHERE kind = '${kind}' AND status = 'waiting'`);
const settled = (kind) =>
  shop.until(() => {
    shop.hurry(kind);
    return waiting(kind) === 0;
  }, `every ${kind} is settled`);

test('a payment that is asked for again is asked for with the same bytes, whatever changed meanwhile', async () => {
  const player = await shop.played('stripe');
  player.fail({ reset: true, effect: true, match: /sessions$/ });
  const order = await pending('stripe');
  assert.equal(order.payment.url, null);
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { store_name: 'Renamed Meanwhile' }));
  shop.seed.sql(
    `UPDATE account SET email = 'moved-${order.id}@example.com' WHERE id = (SELECT account_id FROM orders WHERE id = ${order.id});`,
  );
  await settled('create');
  const calls = player.to('POST', '/v1/checkout/sessions');
  assert.equal(calls.length, 2);
  assert.equal(calls[1].raw, calls[0].raw);
  assert.equal(calls[1].headers['idempotency-key'], calls[0].headers['idempotency-key']);
  assert.equal(player.made.size, 1);
  assert.equal((await shop.payment(order.buyer, order.payment.reference)).url, player.page(order.id).url);
  assert.equal(await order.status(), 'pending');
});

test('an answer of 500 that Stripe keeps is not an end: the order waits, and is not cancelled', async () => {
  const player = await shop.played('stripe');
  player.fail({ status: 500, stored: true, match: /sessions$/ });
  const order = await pending('stripe');
  shop.hurry('create');
  await shop.until(() => player.to('POST', '/v1/checkout/sessions').length >= 2, 'tried again');
  assert.equal(await order.status(), 'pending');
});

for (const provider of ['stripe', 'razorpay']) {
  test(`${provider}: a refund whose answer was lost is looked for once its key is forgotten, and made once`, async () => {
    const player = await shop.played(provider);
    const order = await paid(provider, player);
    player.fail({ reset: true, effect: true, match: /^POST.*refund/ });
    await refund(order, 10);
    await shop.until(() => player.to('POST', /refund/).length >= 1, 'the first attempt');
    await shop.until(
      () =>
        shop.seed.number(
          "SELECT COUNT(*) FROM outbox WHERE kind = 'refund' AND status = 'waiting' AND last_error <> ''",
        ) === 1,
      'it is to be tried again',
    );
    // A day later the provider takes the key for a new one.
    player.forward(25 * HOUR);
    shop.seed.sql(
      `UPDATE outbox SET created_at = created_at - ${25 * HOUR} WHERE kind = 'refund' AND status = 'waiting';`,
    );
    await settled('refund');
    assert.equal(player.refunds.size, 1, 'given back once');
    assert.equal(player.to('POST', /refund/).length, 1);
    assert.equal(shop.seed.number("SELECT COUNT(*) FROM outbox WHERE kind = 'refund' AND status = 'failed'"), 0);
    // One that never arrived is found missing, and made.
    player.fail({ reset: true, match: /^POST.*refund/ });
    await refund(order, 20);
    await shop.until(() => player.to('POST', /refund/).length === 2, 'the second refund');
    await shop.until(
      () =>
        shop.seed.number(
          "SELECT COUNT(*) FROM outbox WHERE kind = 'refund' AND status = 'waiting' AND last_error <> ''",
        ) === 1,
      'it is to be tried again',
    );
    shop.seed.sql(
      `UPDATE outbox SET created_at = created_at - ${25 * HOUR} WHERE kind = 'refund' AND status = 'waiting';`,
    );
    await settled('refund');
    assert.deepEqual(
      [...player.refunds.values()].map((r) => r.amount),
      [1000, 2000],
    );
  });
}

test('BTCPay: one refund after a 500, paid out the way it was paid in', async () => {
  const player = await shop.played('btcpay');
  const order = await pending('btcpay');
  Object.assign(player.page(order.id), { methods: ['BTC-CHAIN', 'BTC-LNURL', 'BTC-LN'], paid_by: 'BTC-LNURL' });
  const invoice = player.pay(order.id);
  dataOf(await shop.event('btcpay', btcpayEvent('InvoiceSettled', { invoice, order: order.id })));
  player.fail({ status: 500, effect: true, match: /^POST.*refund$/ });
  await refund(order);
  await shop.until(() => player.to('POST', /refund$/).length >= 1, 'the first attempt');
  await settled('refund');
  assert.equal(player.refunds.size, 1, 'promised once');
  const [made] = player.refunds.values();
  assert.deepEqual([made.amount, made.currency, made.payoutMethodId], ['49.99', 'USD', 'BTC-LN']);
  // What was made is a promise: the customer gets the link to claim it with.
  const [kept] = dataOf(await shop.admin('GET', `/api/admin/orders/${order.id}`)).refunds;
  assert.deepEqual([kept.status, kept.claim_url], ['done', made.viewLink]);
  assert.deepEqual(
    (await shop.order(order.buyer, order.id)).refunds.map((r) => [r.status, r.claim_url]),
    [['done', made.viewLink]],
  );
  const told = dataOf(await shop.souk.get('/api/customer/notifications', { token: order.buyer.token }));
  assert.ok(
    told.some((n) => n.message.includes(made.viewLink)),
    JSON.stringify(told),
  );
});

const cancel = async (order) => dataOf(await shop.admin('POST', `/api/admin/orders/${order.id}/cancel`, {}));

test("a cancelled order's page is closed at the provider, where it can be", async () => {
  const closed = {
    stripe: (p) => p.status === 'expired',
    razorpay: (p) => p.status === 'cancelled',
    btcpay: (p) => p.status === 'Invalid',
  };
  for (const [provider, is] of Object.entries(closed)) {
    const player = await shop.played(provider);
    const order = await pending(provider);
    player.fail({ status: 503, match: /expire$|cancel$|status$/ });
    await cancel(order);
    await settled('close');
    assert.ok(is(player.page(order.id)), `${provider}: ${JSON.stringify(player.page(order.id))}`);
    assert.equal(await order.status(), 'cancelled');
    assert.equal(
      shop.seed.number(`SELECT COUNT(*) FROM payment WHERE order_id = ${order.id} AND ended_at IS NULL`),
      0,
      'it cannot be paid any more',
    );
  }
});

test('a page that was paid before it could be closed: the money is seen at once, without its webhook', async () => {
  for (const provider of ['stripe', 'razorpay', 'btcpay']) {
    const player = await shop.played(provider);
    const order = await pending(provider);
    player.pay(order.id);
    await cancel(order);
    await settled('close');
    const money = shop.seed.number(`SELECT SUM(received) FROM payment WHERE order_id = ${order.id}`);
    assert.equal(money, 4999, provider);
  }
});

test('PayPal: what was cancelled is not captured, though the customer agreed', async () => {
  const made = issue('messageverificationcerts.sandbox.paypal.com', { rsa: true });
  const player = await shop.played('paypal', { ca_bundle: made.authority });
  player.certificate = made.certificate;
  const approve = async (order) => {
    const raw = JSON.stringify({
      id: `WH-${order.id}`,
      create_time: new Date().toISOString(),
      event_type: 'CHECKOUT.ORDER.APPROVED',
      resource: { id: player.pay(order.id), purchase_units: [{ custom_id: String(order.id) }] },
    });
    dataOf(await shop.post('wallet_gateway', raw, paypalHeaders(raw, made.key)));
  };
  const order = await pending('paypal');
  await cancel(order);
  await settled('close');
  await approve(order);
  await settled('capture');
  assert.equal(player.to('POST', /capture$/).length, 0);
  assert.equal(player.charges.size, 0);
  assert.equal(await order.status(), 'cancelled');
  // A card that is declined is no end: the customer agrees again, and that is captured under another id.
  const other = await pending('paypal');
  player.page(other.id).declines = 1;
  await approve(other);
  await shop.until(() => player.to('POST', /capture$/).length === 1, 'declined');
  await settled('capture');
  player.pay(other.id);
  await shop.until(async () => {
    shop.hurry('ask');
    shop.hurry('capture');
    return (await other.status()) === 'confirmed';
  }, 'captured after all');
  assert.equal(player.charges.size, 1);
  assert.equal(new Set(player.to('POST', /capture$/).map((c) => c.headers['paypal-request-id'])).size, 2);
});

test('a provider that hangs keeps nobody else waiting: not webhooks, not other providers, not wallets, not its own next customers', async () => {
  const stripe = await shop.played('stripe');
  const btcpay = await shop.played('btcpay');
  const razorpay = await shop.played('razorpay');
  const there = await pending('btcpay');
  const link = await pending('razorpay');
  const buyers = await Promise.all(Array.from({ length: 40 }, () => shop.buyerWith([[editor, 1]])));
  stripe.fail({ hang: true, times: 1000 });
  let answered = 0;
  const answers = buyers.map((b) =>
    shop.checkoutAnswer(b, LABELS.stripe).then(
      (a) => {
        answered += 1;
        return a;
      },
      () => {
        answered += 1;
      },
    ),
  );
  await shop.until(() => answered === 40 - 12, 'what does not fit in the lane is answered at once');
  // All of these come while twelve checkouts still wait.
  const payment = razorpay.pay(link.id);
  dataOf(await shop.event('razorpay', razorpayEvent('payment.captured', { order: link.id, amount: 4999, payment })));
  dataOf(await shop.event('btcpay', btcpayEvent('InvoiceSettled', { invoice: btcpay.pay(there.id), order: there.id })));
  const rich = await shop.buyerWith([[editor, 1]], { balance: 10000 });
  dataOf(await shop.checkoutAnswer(rich, 'wallet'), 201);
  assert.match((await pending('razorpay')).payment.url, /rzp\.played/);
  assert.deepEqual([await link.status(), await there.status()], ['confirmed', 'confirmed']);
  assert.equal(answered, 40 - 12);
  // Let them go: each order is there, each gets its address.
  stripe.release();
  for (const answer of await Promise.all(answers)) assert.equal(dataOf(answer, 201).status, 'pending');
  await shop.until(
    () => {
      shop.hurry('create');
      return stripe.made.size === 40;
    },
    'forty pages',
    60000,
  );
  for (const buyer of buyers)
    assert.equal(
      shop.seed.number(`SELECT COUNT(*) FROM payment WHERE account_id = ${buyer.id} AND status = 'open' AND url <> ''`),
      1,
    );
});

test('a provider that gives no answer several times is left alone for a while, then tried again', async () => {
  const player = await shop.played('stripe');
  player.fail({ reset: true, times: 1000 });
  for (let i = 0; i < 6; i++) await pending('stripe');
  const before = player.calls.length;
  const order = await pending('stripe');
  assert.equal(order.payment.url, null);
  assert.equal(player.calls.length, before, 'it was not called');
  const leftAlone = async () => (await shop.souk.metrics()).get('souk_gateways_left_alone');
  assert.equal(await leftAlone(), 1);
  player.release();
  await shop.until(async () => {
    shop.hurry('create');
    return (await shop.payment(order.buyer, order.payment.reference)).url;
  }, 'an address after all');
  assert.equal(await leftAlone(), 0);
});

test('a valid traceparent goes with the call to the gateway, under a parent id of our own', async () => {
  const id = '4bf92f3577b34da6a3ce929d0e0e4736';
  const parent = '00f067aa0ba902b7';
  const sent = async (headers) => {
    const player = await shop.played('stripe');
    const buyer = await shop.buyerWith([[editor, 1]]);
    const { payment } = dataOf(await shop.checkoutAnswer(buyer, LABELS.stripe, {}, { headers }), 201);
    // An errand of an earlier test may still be carried out.
    const calls = player.to('POST', /^\/v1\/checkout\/sessions$/);
    return calls.find((call) => JSON.stringify(call).includes(payment.reference)).headers.traceparent;
  };
  const passed = await sent({ traceparent: `00-${id}-${parent}-01` });
  assert.match(passed, new RegExp(`^00-${id}-[0-9a-f]{16}-01$`));
  assert.ok(!passed.includes(parent));
  assert.equal(await sent({}), undefined);
  for (const bad of [`00-${id}-${parent}-01-x`, `00-${id.toUpperCase()}-${parent}-01`, 'x'.repeat(4000)])
    assert.equal(await sent({ traceparent: bad }), undefined, bad);
});

test('the books are in order', () => shop.check());
