// Payments and refunds as staff see them: money is booked when it arrives, and given back when the gateway agrees.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { LABELS, openPaidShop, stripeEvent } from './lib/gateways.mjs';
import { together } from './lib/souk.mjs';

let shop;
let editor;
let codes;
let player;
let counter = 0;

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor', price: 4999 });
  codes = shop.seed.product({ name: 'Codes', price: 500, delivery_type: 'serial_code' });
  player = await shop.played('stripe');
});
after(() => shop.stop());

async function pending(product = editor, label = LABELS.stripe) {
  const buyer = await shop.buyerWith([[product, 1]]);
  const { order_id: id } = await shop.checkout(buyer, label);
  counter += 1;
  return {
    buyer,
    id,
    intent: `pi_ap_${counter}`,
    amount: product === codes ? 500 : 4999,
    status: async () => (await shop.order(buyer, id)).status,
  };
}
const succeed = async (order, more = {}, options) =>
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', {
        order: order.id,
        amount: order.amount,
        intent: player.charge(order.intent, order.amount),
        ...more,
      }),
      options,
    ),
  );
const paid = async (...args) => {
  const order = await pending(...args);
  await succeed(order);
  return order;
};
const seen = async (order) => dataOf(await shop.admin('GET', `/api/admin/orders/${order.id}`));
const refund = (order, body = {}) => shop.admin('POST', `/api/admin/orders/${order.id}/refund`, body);
const reviews = async (kind) =>
  dataOf(await shop.admin('GET', `/api/admin/reviews?status=open&limit=100&kind=${kind}`));

/** Paid, and nothing left to deliver. */
async function undelivered() {
  shop.seed.serials(codes, [`S-${randomUUID()}`]);
  const order = await pending(codes);
  const other = await pending(codes);
  await succeed(other);
  await succeed(order);
  assert.equal(await order.status(), 'pending');
  return order;
}

test('payments: found by state, gateway and order; each says where its money is', async () => {
  const order = await paid();
  const [one] = dataOf(
    await shop.admin('GET', `/api/admin/payments?order_id=${order.id}&status=succeeded&gateway=${LABELS.stripe}`),
  );
  assert.deepEqual(
    [one.order_id, one.amount, one.received, one.waiting, one.status, one.paid_order],
    [order.id, 49.99, 49.99, 0, 'succeeded', true],
  );
  assert.deepEqual(dataOf(await shop.admin('GET', `/api/admin/payments/${one.id}`)), one);
  assert.equal(dataOf(await shop.admin('GET', `/api/admin/payments?order_id=${order.id}&status=open`)).length, 0);
  expectError(await shop.admin('GET', '/api/admin/payments/999999'), 404, 'not_found');
});

test('money that arrives is booked when it arrives, delivered or not; such an order can be refunded', async () => {
  const order = await undelivered();
  const {
    payments: [p],
  } = await seen(order);
  assert.deepEqual([p.status, p.received, p.waiting], ['succeeded', 5, 5]);
  assert.equal(
    shop.seed.number(
      `SELECT COALESCE(SUM(amount), 0) FROM transfer WHERE kind = 'received' AND reference_id = ${p.id}`,
    ),
    500,
  );
  await shop.check();
  dataOf(await refund(order));
  await shop.until(async () => (await seen(order)).refunds[0].status === 'done', 'given back');
  const after_ = await seen(order);
  assert.deepEqual([after_.payments[0].waiting, after_.payments[0].returned], [0, 5]);
  expectError(await refund(order), 409, 'invalid_state');
  await shop.check();
});

test('cancelling says what happens with the money: given back, or into the wallet', async () => {
  let order = await undelivered();
  let answer = await shop.admin('POST', `/api/admin/orders/${order.id}/cancel`);
  assert.equal(dataOf(answer).status, 'cancelled');
  assert.match(answer.json.message, /given back/);
  await shop.until(async () => (await seen(order)).refunds[0].status === 'done', 'given back');
  order = await undelivered();
  answer = await shop.admin('POST', `/api/admin/orders/${order.id}/cancel`, { money: 'credit' });
  assert.match(answer.json.message, /wallet/);
  assert.equal((await shop.wallet(order.buyer)).balance, 5);
  order = await pending();
  answer = await shop.admin('POST', `/api/admin/orders/${order.id}/cancel`);
  assert.match(answer.json.message, /nothing had been paid/);
  await shop.check();
});

test('a refund is requested, then done; refused: the order stays as it is, staff retry or settle it', async () => {
  const order = await paid();
  player.fail({ status: 400, match: /refunds/ });
  const asked = dataOf(await refund(order, { amount: 10, reason: 'Late' }));
  assert.deepEqual(
    asked.refunds.map((r) => [r.amount, r.status, r.reason]),
    [[10, 'requested', 'Late']],
  );
  assert.deepEqual([asked.status, asked.refunded_amount], ['confirmed', 0]);
  await shop.until(async () => (await seen(order)).refunds[0].status === 'failed', 'refused');
  assert.deepEqual([(await seen(order)).status, (await seen(order)).refunded_amount], ['confirmed', 0]);
  const [review] = (await reviews('refund_failed')).filter((r) => r.order_id === order.id);
  assert.ok(review);
  await shop.check();
  const id = asked.refunds[0].id;
  assert.equal(dataOf(await shop.admin('POST', `/api/admin/refunds/${id}/retry`)).status, 'requested');
  await shop.until(async () => (await seen(order)).refunds[0].status === 'done', 'given back');
  assert.equal((await seen(order)).refunded_amount, 10);
  expectError(await shop.admin('POST', `/api/admin/refunds/${id}/retry`), 409, 'invalid_state');
  expectError(await shop.admin('POST', `/api/admin/refunds/${id}/settle`, { note: 'x' }), 409, 'invalid_state');
  expectError(await shop.admin('POST', '/api/admin/refunds/999999/retry'), 404, 'not_found');
  const told = dataOf(await shop.souk.get('/api/customer/notifications', { token: order.buyer.token }));
  assert.ok(told.some((n) => n.kind === 'refunded' && /\$10\.00/.test(n.message)));

  player.fail({ status: 400, match: /refunds/ });
  const rest = dataOf(await refund(order));
  await shop.until(async () => (await seen(order)).refunds[1].status === 'failed', 'refused again');
  expectFields(await shop.admin('POST', `/api/admin/refunds/${rest.refunds[1].id}/settle`, {}), { note: 'required' });
  const settled = dataOf(
    await shop.admin('POST', `/api/admin/refunds/${rest.refunds[1].id}/settle`, { note: 'Bank transfer' }),
  );
  assert.deepEqual([settled.status, settled.note], ['done', 'Bank transfer']);
  assert.equal(await order.status(), 'refunded');
  await shop.check();
});

test("without an API key nothing is called, and staff are told; the gateway's own word completes it", async () => {
  await shop.connect('no_key', { provider: 'stripe', secrets: ['whsec_no_key'] });
  const order = await pending(editor, 'no_key');
  await succeed(order, {}, { name: 'no_key', secret: 'whsec_no_key' });
  const answer = await refund(order);
  const [r] = dataOf(answer).refunds;
  assert.equal(r.status, 'failed');
  assert.match(r.reason, /nothing was called/);
  assert.match(answer.json.message, /Nothing was called/);
  assert.equal(await order.status(), 'confirmed');
  expectError(await shop.admin('POST', `/api/admin/refunds/${r.id}/retry`), 409, 'invalid_state');
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('charge.refunded', { amount: 4999, intent: order.intent, amount_refunded: 4999, refunded: true }),
      { name: 'no_key', secret: 'whsec_no_key' },
    ),
  );
  const now = await seen(order);
  assert.deepEqual([now.status, now.refunds.map((x) => x.status)], ['refunded', ['done']]);
  await shop.check();
});

test('partial refunds at once: each is one, and together no more than was paid', async () => {
  for (let round = 0; round < 8; round++) {
    const order = await paid();
    const answers = await together(4, 4, () => refund(order, { amount: 15 }));
    const taken = answers.filter((a) => a.status === 200).length;
    assert.equal(taken, 3, answers.map((a) => a.text).join('\n'));
    await shop.until(async () => (await seen(order)).refunds.every((r) => r.status === 'done'), 'all are done');
    assert.deepEqual([(await seen(order)).refunds.length, (await seen(order)).refunded_amount], [3, 45]);
  }
  await shop.check();
});

test('a refund that the bank returns: the order stays refunded, the money waits for a decision', async () => {
  const order = await paid();
  dataOf(await refund(order));
  await shop.until(async () => (await order.status()) === 'refunded', 'given back');
  const ref = shop.seed.sql(`SELECT refund_ref FROM refund WHERE order_id = ${order.id};`)[0][0];
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('refund.failed', {
        id: ref,
        object: 'refund',
        payment_intent: order.intent,
        amount: 4999,
        intent: order.intent,
      }),
    ),
  );
  const now = await seen(order);
  assert.deepEqual([now.status, now.refunds[0].status, now.payments[0].waiting], ['refunded', 'failed', 49.99]);
  await shop.check();
  const [review] = (await reviews('refund_failed')).filter((r) => r.order_id === order.id);
  dataOf(await shop.admin('POST', `/api/admin/reviews/${review.id}/resolve`, { action: 'credit', note: 'By phone' }));
  assert.equal((await shop.wallet(order.buyer)).balance, 49.99);
  await shop.check();
});

test('part given back before delivery, then confirmed: the books agree', async () => {
  const order = await undelivered();
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('charge.refunded', { amount: 500, intent: order.intent, amount_refunded: 200, refunded: false }),
    ),
  );
  shop.seed.serials(codes, [`S-${randomUUID()}`]);
  dataOf(await shop.admin('POST', `/api/admin/orders/${order.id}/confirm`));
  const now = await seen(order);
  assert.deepEqual([now.status, now.refunded_amount, now.payments[0].returned], ['confirmed', 2, 2]);
  await shop.check();
});

test('confirming honours its key', async () => {
  const order = await pending();
  const key = { token: shop.owner, headers: { 'Idempotency-Key': randomUUID() } };
  const first = await shop.souk.post(`/api/admin/orders/${order.id}/confirm`, undefined, key);
  const again = await shop.souk.post(`/api/admin/orders/${order.id}/confirm`, undefined, key);
  assert.equal(dataOf(first).status, 'confirmed');
  assert.equal(again.text, first.text);
});

test('the books are in order', () => shop.check());
