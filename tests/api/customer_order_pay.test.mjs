// An order that waits can be finished: paid again, another way, or given up. And payments end.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { LABELS, openPaidShop, stripeEvent } from './lib/gateways.mjs';

let shop;
let editor;
let stripe;
let counter = 0;

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor', price: 4999 });
  stripe = await shop.played('stripe');
  await shop.played('razorpay');
  await shop.connect('no_key', { provider: 'stripe', secrets: ['whsec_no_key'] });
});
after(() => shop.stop());

async function pending(label = LABELS.stripe, { coupon, balance = 0 } = {}) {
  const buyer = await shop.buyerWith([[editor, 1]], { balance });
  if (coupon) dataOf(await shop.souk.post('/api/store/cart/coupon', { code: coupon.code }, { token: buyer.token }));
  const { order_id: id, total } = await shop.checkout(buyer, label);
  counter += 1;
  return { buyer, id, amount: Math.round(total * 100), intent: `pi_op_${counter}`, seen: () => shop.order(buyer, id) };
}
const pay = (order, pay_with, options = {}) =>
  shop.souk.post(`/api/customer/orders/${order.id}/pay`, { pay_with }, { token: order.buyer.token, ...options });
const cancel = (order) =>
  shop.souk.post(`/api/customer/orders/${order.id}/cancel`, undefined, { token: order.buyer.token });
const event = async (type, order, more = {}, options = {}) =>
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent(type, { order: order.id, amount: order.amount, intent: order.intent, ...more }),
      options,
    ),
  );
const succeed = (order, more = {}, options = {}) => {
  stripe.charge(more.intent ?? order.intent, more.amount ?? order.amount);
  return event('payment_intent.succeeded', order, more, options);
};
const money = async (order) => dataOf(await shop.admin('GET', `/api/admin/orders/${order.id}`));
const uses = (coupon) =>
  shop.seed.number(`SELECT COUNT(*) FROM coupon_use WHERE coupon_id = ${coupon.id} AND released_at IS NULL`);
const NO_KEY = { name: 'no_key', secret: 'whsec_no_key' };
/** The end of a payment has come: it is asked about a last time. */
function end(order) {
  shop.seed.sql(`UPDATE payment SET ends_at = ${Date.now() - 1000} WHERE order_id = ${order.id};
    UPDATE outbox SET due_at = ${Date.now() - 1000} WHERE kind = 'ask' AND payment_id IN (SELECT id FROM payment WHERE order_id = ${order.id});`);
}

test('an order that waits says how to pay it', async () => {
  const order = await pending();
  const { payment } = await order.seen();
  assert.deepEqual([payment.gateway, payment.status, payment.url], [LABELS.stripe, 'open', stripe.page(order.id).url]);
  const [listed] = dataOf(await shop.souk.get('/api/customer/orders', { token: order.buyer.token }));
  assert.deepEqual(listed.payment, payment);
  await succeed(order);
  assert.equal('payment' in (await order.seen()), false);
});

test('paid another way: the first payment is closed, and both succeeding gives one back', async () => {
  const order = await pending();
  const answer = await pay(order, LABELS.razorpay);
  const made = dataOf(answer, 201);
  assert.equal(answer.headers.location, `/api/customer/orders/${order.id}`);
  assert.deepEqual([made.status, made.payment.gateway, made.payment.status], ['pending', LABELS.razorpay, 'open']);
  assert.match(made.payment.url, /^https:/);
  assert.deepEqual(
    (await money(order)).payments.map((p) => p.status),
    ['closed', 'open'],
  );
  assert.equal((await order.seen()).payment.reference, made.payment.reference);
  // The page of the first was paid all the same; then the second is, too.
  await succeed(order);
  assert.equal((await order.seen()).status, 'confirmed');
  const second = (await money(order)).payments[1];
  assert.equal(second.status, 'closed');
  shop.seed.sql(`UPDATE payment SET gateway_id = 1, group_ref = NULL WHERE id = ${second.id};`);
  await succeed(order, { intent: `${order.intent}_b` });
  await shop.until(async () => (await money(order)).refunds[0]?.status === 'done', 'one is given back');
  const now = await money(order);
  assert.deepEqual([now.status, now.refunded_amount, now.refunds.length], ['confirmed', 0, 1]);
  await shop.check();
});

const told = (order) => order.timeline.map((t) => [t.kind, t.amount]);

test('the timeline says what happened, to staff with who did it, to the customer what concerns them', async () => {
  const order = await pending();
  const reference = (await order.seen()).payment.reference;
  await event('payment_intent.payment_failed', order);
  await succeed(order);
  const staff = (path, body) => shop.admin('POST', `/api/admin/orders/${order.id}/${path}`, body).then(dataOf);
  await staff('reveal');
  await staff('refund', { amount: 10, reason: 'goodwill' });
  await shop.until(async () => (await money(order)).refunds[0].status === 'done', 'given back');
  await event('charge.dispute.created', order, {
    id: 'dp_tl',
    object: 'dispute',
    amount: 3999,
    status: 'needs_response',
  });
  await event('charge.dispute.closed', order, { id: 'dp_tl', object: 'dispute', amount: 3999, status: 'won' });
  const seen = await money(order);
  assert.deepEqual(told(seen), [
    ['placed', 49.99],
    ['payment_begun', 49.99],
    ['payment_failed', null],
    ['cancelled', null],
    ['payment_received', 49.99],
    ['late_accepted', null],
    ['delivered', null],
    ['revealed', null],
    ['refund_requested', 10],
    ['refund_done', 10],
    ['dispute_opened', 39.99],
    ['review_opened', null],
    ['dispute_won', null],
  ]);
  const at = (kind) => seen.timeline.find((t) => t.kind === kind);
  assert.equal(at('payment_begun').note, reference);
  assert.deepEqual(
    [at('payment_begun').gateway, at('delivered').note, at('placed').gateway],
    [LABELS.stripe, LABELS.stripe, null],
  );
  assert.deepEqual(
    [at('refund_requested').by_email, at('refund_requested').note, at('revealed').by_email],
    ['owner@example.com', 'goodwill', 'owner@example.com'],
  );
  const times = seen.timeline.map((t) => Date.parse(t.at));
  assert.deepEqual(
    times,
    [...times].sort((a, b) => a - b),
  );
  const own = await order.seen();
  assert.deepEqual(
    told(own),
    told(seen).filter(([kind]) => kind !== 'revealed'),
  );
  assert.deepEqual(Object.keys(own.timeline[0]), ['at', 'kind', 'amount', 'gateway']);
  assert.deepEqual(
    own.refunds.map((r) => [r.amount, r.status, r.claim_url]),
    [[10, 'done', null]],
  );
  await shop.check();
});

test('the timeline: confirmed by hand, cancelled by staff or customer, paid another way, refused, credited, a failed refund settled', async () => {
  const kinds = async (order) => told(await money(order)).map(([kind]) => kind);
  const staff = (order, path, body) => shop.admin('POST', `/api/admin/orders/${order.id}/${path}`, body).then(dataOf);
  const byHand = await pending();
  await staff(byHand, 'confirm');
  assert.deepEqual(await kinds(byHand), ['placed', 'payment_begun', 'confirmed', 'delivered', 'payment_closed']);
  assert.equal((await money(byHand)).timeline[2].by_email, 'owner@example.com');
  const off = await pending();
  await staff(off, 'cancel');
  const cancelled = (await money(off)).timeline.find((t) => t.kind === 'cancelled');
  assert.equal(cancelled.by_email, 'owner@example.com');
  const own = await pending();
  dataOf(await cancel(own));
  assert.equal((await money(own)).timeline.find((t) => t.kind === 'cancelled').by, own.buyer.id);
  const twice = await pending();
  dataOf(await pay(twice, LABELS.razorpay), 201);
  assert.deepEqual(await kinds(twice), ['placed', 'payment_begun', 'payment_begun', 'payment_closed']);
  end(twice);
  await shop.until(async () => (await kinds(twice)).includes('payment_expired'), 'its time is over');
  assert.equal((await kinds(twice)).at(-1), 'cancelled');
  // Money without an API key: nothing can be called; staff give it back themselves.
  const noKey = await pending('no_key');
  await succeed(noKey, {}, NO_KEY);
  await staff(noKey, 'refund', {});
  const [failed] = (await money(noKey)).refunds;
  dataOf(await shop.admin('POST', `/api/admin/refunds/${failed.id}/settle`, { note: 'by bank' }));
  const settled = (await money(noKey)).timeline.slice(-4);
  assert.deepEqual(
    settled.map((t) => t.kind),
    ['refund_requested', 'refund_failed', 'review_opened', 'refund_settled'],
  );
  assert.deepEqual([settled[3].note, settled[3].by_email, settled[3].amount], ['by bank', 'owner@example.com', 49.99]);
  assert.deepEqual(
    (await noKey.seen()).refunds.map((r) => r.status),
    ['done'],
  );
});

test('out of the wallet; what is not there is not spent', async () => {
  const poor = await pending();
  const refused = expectError(await pay(poor, 'wallet'), 402, 'insufficient_balance');
  assert.deepEqual([refused.json.required, refused.json.available], [49.99, 0]);
  assert.equal((await poor.seen()).payment.status, 'open');
  const order = await pending(LABELS.stripe, { balance: 6000 });
  const key = { headers: { 'Idempotency-Key': randomUUID() } };
  const first = await pay(order, 'wallet', key);
  assert.deepEqual([dataOf(first).status, dataOf(first).payment], ['confirmed', null]);
  assert.equal((await pay(order, 'wallet', key)).text, first.text);
  assert.equal((await shop.wallet(order.buyer)).balance, 10.01);
  expectError(await pay(order, 'wallet'), 409, 'invalid_state');
  await shop.check();
});

test('a gateway that refuses leaves the way to pay that there was', async () => {
  const order = await pending();
  const before_ = (await order.seen()).payment;
  stripe.fail({ status: 402, match: /sessions$/ });
  expectError(await pay(order, LABELS.stripe), 502, 'gateway_failed');
  const now = await order.seen();
  assert.equal(now.status, 'pending');
  assert.deepEqual(
    (await money(order)).payments.map((p) => p.status),
    ['open', 'failed'],
  );
  await succeed(order);
  assert.equal((await order.seen()).status, 'confirmed');
  assert.ok(before_.url);
  await shop.check();
});

test('given up: the coupon stays used until the page is dead', async () => {
  const coupon = shop.seed.coupon({ code: 'GIVEUP', kind: 'percent', value: 9000, max_uses: 1 });
  const order = await pending(LABELS.stripe, { coupon });
  assert.equal(dataOf(await cancel(order)).status, 'cancelled');
  expectError(await cancel(order), 409, 'invalid_state');
  expectError(await pay(order, 'wallet'), 409, 'invalid_state');
  const [p] = (await money(order)).payments;
  assert.equal(p.status, 'closed');
  await shop.check();
  end(order);
  stripe.page(order.id).status = 'expired';
  await shop.until(() => uses(coupon) === 0, 'the coupon is free');
  await shop.check();
  // Somebody else uses it; a success of the first after all is for a person.
  const other = await pending(LABELS.stripe, { coupon });
  await succeed(other);
  await succeed(order);
  assert.equal((await order.seen()).status, 'cancelled');
  const [review] = dataOf(await shop.admin('GET', '/api/admin/reviews?status=open&kind=late'));
  assert.equal(review.order_id, order.id);
  expectError(
    await shop.admin('POST', `/api/admin/reviews/${review.id}/resolve`, { action: 'confirm' }),
    422,
    'coupon_exhausted',
  );
  dataOf(await shop.admin('POST', `/api/admin/reviews/${review.id}/resolve`, { action: 'credit' }));
  assert.equal(uses(coupon), 1);
  await shop.check();
});

test('a coupon for one use is used once, however often the card is declined before every page is paid', async () => {
  const coupon = shop.seed.coupon({ code: 'ONCE', kind: 'percent', value: 9000, max_uses: 1 });
  const order = await pending(LABELS.stripe, { coupon });
  await event('payment_intent.payment_failed', order);
  assert.equal((await order.seen()).status, 'cancelled');
  const buyer = await shop.buyerWith([[editor, 1]]);
  expectError(
    await shop.souk.post('/api/store/cart/coupon', { code: 'ONCE' }, { token: buyer.token }),
    422,
    'coupon_exhausted',
  );
  await succeed(order);
  assert.equal((await order.seen()).status, 'confirmed');
  assert.equal(uses(coupon), 1);
  await shop.check();
});

test('payments end: asked about, then closed; without an API key, too', async () => {
  const coupon = shop.seed.coupon({ code: 'ENDS', kind: 'percent', value: 9000, max_uses_per_customer: null });
  const [abandoned, keyless, paidLately] = [
    await pending(LABELS.stripe, { coupon }),
    await pending('no_key', { coupon }),
    await pending(LABELS.stripe, { coupon }),
  ];
  stripe.pay(paidLately.id);
  const asked = stripe.calls.length;
  for (const order of [abandoned, keyless, paidLately]) end(order);
  await shop.until(
    async () => (await abandoned.seen()).status === 'cancelled' && (await keyless.seen()).status === 'cancelled',
    'both are cancelled',
  );
  await shop.until(async () => (await paidLately.seen()).status === 'confirmed', 'what was paid is confirmed');
  assert.ok(
    stripe.calls.slice(asked).some((c) => c.method === 'GET'),
    'the gateway was asked',
  );
  assert.deepEqual(
    (await money(keyless)).payments.map((p) => p.status),
    ['expired'],
  );
  assert.equal(uses(coupon), 1);
  await shop.check();
});

test('after days of downtime each payment is still asked about, once, and silence is no answer', async () => {
  const DAYS = 30 * 24 * 3600 * 1000;
  const orders = [await pending(), await pending(), await pending()];
  const [abandoned, paid, unheard] = orders;
  for (const order of [paid, unheard]) stripe.pay(order.id);
  const asks = (order) => stripe.to('GET', `/v1/checkout/sessions/${stripe.page(order.id).id}`).length;
  await shop.souk.kill9();
  for (const { id } of orders) {
    shop.seed
      .sql(`UPDATE payment SET created_at = created_at - ${DAYS}, expires_at = expires_at - ${DAYS}, ends_at = ends_at - ${DAYS} WHERE order_id = ${id};
      UPDATE outbox SET due_at = due_at - ${DAYS}, created_at = created_at - ${DAYS} WHERE payment_id IN (SELECT id FROM payment WHERE order_id = ${id});`);
  }
  stripe.page(abandoned.id).status = 'expired';
  stripe.fail({ status: 500, match: new RegExp(`^GET .*/${stripe.page(unheard.id).id}$`) });
  await shop.souk.restart();
  await shop.until(
    async () => (await abandoned.seen()).status === 'cancelled' && (await paid.seen()).status === 'confirmed',
    'both were asked about',
  );
  assert.deepEqual([asks(abandoned), asks(paid)], [1, 1]);
  await shop.until(() => asks(unheard) === 1, 'asked, and not answered');
  await shop.until(
    () =>
      shop.seed.number(
        `SELECT COUNT(*) FROM outbox WHERE kind = 'ask' AND status = 'waiting' AND claims = 0 AND payment_id IN (SELECT id FROM payment WHERE order_id = ${unheard.id})`,
      ) === 1,
    'it is tried again later',
  );
  assert.equal((await unheard.seen()).status, 'pending');
  shop.hurry('ask');
  await shop.until(async () => (await unheard.seen()).status === 'confirmed', 'its money is found');
  await shop.check();
});

test('a failure is believed for the payment that it names', async () => {
  const order = await pending('no_key');
  await event('payment_intent.payment_failed', order, { amount: 100 }, NO_KEY);
  await event('payment_intent.payment_failed', order, { currency: 'eur' }, NO_KEY);
  assert.equal((await order.seen()).status, 'pending');
  await event('payment_intent.payment_failed', order, {}, NO_KEY);
  assert.equal((await order.seen()).status, 'cancelled');
});

test('too little and too much, as the gateway is set: taken, credited or given back', async () => {
  await shop.connect(LABELS.stripe, { tolerance: 100, underpaid: 'credit', overpaid: 'credit', late: 'accept' });
  const near = await pending();
  await succeed(near, { amount: 4960 });
  assert.equal((await near.seen()).status, 'confirmed');
  await shop.check();
  const over = await pending();
  await succeed(over, { amount: 6000 });
  assert.equal((await over.seen()).status, 'confirmed');
  assert.equal((await shop.wallet(over.buyer)).balance, 10.01);
  const under = await pending();
  await succeed(under, { amount: 3000 });
  assert.equal((await under.seen()).status, 'cancelled');
  assert.equal((await shop.wallet(under.buyer)).balance, 30);
  const told = dataOf(await shop.souk.get('/api/customer/notifications', { token: under.buyer.token }));
  assert.ok(
    told.some((n) => n.kind === 'payment_trouble' && /\$30\.00/.test(n.message)),
    JSON.stringify(told),
  );
  await shop.connect(LABELS.stripe, { underpaid: 'refund', late: 'refund' });
  const back = await pending();
  await succeed(back, { amount: 3000 });
  await shop.until(async () => (await money(back)).refunds[0]?.status === 'done', 'given back');
  const late = await pending();
  dataOf(await cancel(late));
  await succeed(late);
  await shop.until(async () => (await money(late)).refunds[0]?.status === 'done', 'late money is given back');
  assert.equal((await late.seen()).status, 'cancelled');
  // The timeline says what was decided about each.
  const decided = async (order) =>
    (await money(order)).timeline
      .slice(2)
      .map((t) => [t.kind, t.amount, ...(t.kind === 'credited' || t.kind === 'refund_requested' ? [t.note] : [])]);
  assert.deepEqual(await decided(near), [
    ['payment_received', 49.6],
    ['short_accepted', 0.39],
    ['delivered', null],
  ]);
  assert.deepEqual(await decided(over), [
    ['payment_received', 60],
    ['delivered', null],
    ['credited', 10.01, 'more was paid than was asked for'],
  ]);
  assert.deepEqual(await decided(under), [
    ['payment_received', 30],
    ['credited', 30, 'less was paid than was asked for'],
    ['cancelled', null],
  ]);
  assert.deepEqual(await decided(back), [
    ['payment_received', 30],
    ['cancelled', null],
    ['refund_requested', 30, 'less was paid than was asked for'],
    ['refund_done', 30],
  ]);
  assert.deepEqual(await decided(late), [
    ['payment_closed', null],
    ['cancelled', null],
    ['payment_received', 49.99],
    ['refund_requested', 49.99, 'paid when the order was cancelled or the payment had ended'],
    ['refund_done', 49.99],
  ]);
  // All of what was taken with a tolerance goes back.
  dataOf(await shop.admin('POST', `/api/admin/orders/${near.id}/refund`, {}));
  await shop.until(async () => (await near.seen()).status === 'refunded', 'refunded');
  await shop.check();
  expectFields(await shop.admin('PUT', `/api/admin/gateways/${LABELS.stripe}`, { underpaid: 'accept' }), {
    underpaid: 'not_allowed',
  });
  await shop.connect(LABELS.stripe, { tolerance: 0, underpaid: 'review', overpaid: 'review', late: 'accept' });
});

test('bad requests', async () => {
  const order = await pending();
  expectFields(await pay(order, 'nonsense'), { pay_with: 'not_allowed' });
  const stranger = await shop.buyer();
  expectError(await pay({ ...order, buyer: stranger }, 'wallet'), 404, 'not_found');
});

test('the books are in order', () => shop.check());
