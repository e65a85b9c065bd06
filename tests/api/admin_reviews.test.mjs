// The review desk: everything that waits for a person, with every action; each takes effect once.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { LABELS, openPaidShop, stripeEvent } from './lib/gateways.mjs';
import { together } from './lib/souk.mjs';

let shop;
let editor;
let codes;
let counter = 0;

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor', price: 4999 });
  codes = shop.seed.product({ name: 'Codes', price: 500, delivery_type: 'serial_code' });
  await shop.played('stripe');
});
after(() => shop.stop());

async function pending(product = editor) {
  const buyer = await shop.buyerWith([[product, 1]]);
  const { order_id: id } = await shop.checkout(buyer, LABELS.stripe);
  counter += 1;
  return {
    buyer,
    id,
    intent: `pi_rv_${counter}`,
    amount: product === codes ? 500 : 4999,
    status: async () => (await shop.order(buyer, id)).status,
  };
}
const event = async (type, order, more = {}) =>
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent(type, { order: order.id, amount: order.amount, intent: order.intent, ...more }),
    ),
  );
const succeed = (order, more = {}) => {
  shop.players[0].charge(more.intent ?? order.intent, more.amount ?? order.amount);
  return event('payment_intent.succeeded', order, more);
};
const open = async (order, kind) =>
  dataOf(await shop.admin('GET', `/api/admin/reviews?status=open&limit=100&kind=${kind}`)).find(
    (r) => r.order_id === order.id,
  );
const one = async (review) => dataOf(await shop.admin('GET', `/api/admin/reviews/${review.id}`));
const resolve = (review, body) => shop.admin('POST', `/api/admin/reviews/${review.id}/resolve`, body);

async function short(amount = 4000) {
  const order = await pending();
  await succeed(order, { amount });
  return { order, review: await open(order, 'amount') };
}

test('too little: kept, and confirmed, given back, credited or cancelled by a person', async () => {
  const wanted = {
    confirm: async (order) => assert.equal(await order.status(), 'confirmed'),
    refund: async (order) => {
      const now = () => shop.admin('GET', `/api/admin/orders/${order.id}`);
      await shop.until(async () => dataOf(await now()).refunds[0].status === 'done', 'given back');
      assert.equal(dataOf(await now()).payments[0].waiting, 0);
    },
    credit: async (order) => assert.equal((await shop.wallet(order.buyer)).balance, 40),
    cancel: async (order) => assert.equal(await order.status(), 'cancelled'),
    settle: async (order) =>
      assert.equal(dataOf(await shop.admin('GET', `/api/admin/orders/${order.id}`)).payments[0].waiting, 0),
  };
  for (const [action, check] of Object.entries(wanted)) {
    const { order, review } = await short();
    assert.equal(await order.status(), 'pending');
    assert.deepEqual([review.amount, review.currency, review.email], ['40.00', 'USD', order.buyer.email]);
    assert.deepEqual((await one(review)).actions, ['confirm', 'refund', 'credit', 'cancel', 'settle']);
    await shop.check();
    const settled = dataOf(await resolve(review, { action, note: 'Looked at' }));
    assert.deepEqual(
      [settled.status, settled.action, settled.note, settled.actions],
      ['settled', action, 'Looked at', []],
    );
    await check(order);
    expectError(await resolve(review, { action }), 409, 'invalid_state');
    await shop.check();
  }
});

test('the dashboard counts open reviews, and what the outbox could not do', async () => {
  const counts = async () => {
    const {
      open: { reviews, outbox },
    } = dataOf(await shop.admin('GET', '/api/admin/stats?days=1'));
    return [reviews, outbox];
  };
  const [reviews, outbox] = await counts();
  const { review } = await short();
  shop.seed.sql(
    `INSERT INTO outbox (kind, status, due_at, created_at, done_at) VALUES ('mail', 'failed', 1, 1, 1), ('mail', 'done', 1, 1, ${Date.now()});`,
  );
  assert.deepEqual(await counts(), [reviews + 1, outbox + 1]);
  dataOf(await resolve(review, { action: 'settle', note: 'counted' }));
  shop.seed.sql("DELETE FROM outbox WHERE kind = 'mail' AND created_at = 1;");
  assert.deepEqual(await counts(), [reviews, outbox]);
});

test('of many at once one takes effect', async () => {
  const { order, review } = await short();
  const answers = await together(6, 6, (i) => resolve(review, { action: i % 2 ? 'credit' : 'refund' }));
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, 409, 409, 409, 409, 409]);
  assert.ok(order);
  await shop.check();
});

test('too much: confirmed, and the rest is in the wallet', async () => {
  const order = await pending();
  await succeed(order, { amount: 5999 });
  assert.equal(await order.status(), 'pending');
  dataOf(await resolve(await open(order, 'amount'), { action: 'confirm' }));
  assert.equal(await order.status(), 'confirmed');
  assert.equal((await shop.wallet(order.buyer)).balance, 10);
  await shop.check();
});

test('a review settles itself when what it waits for comes', async () => {
  const { order, review } = await short();
  await succeed(order);
  assert.equal(await order.status(), 'confirmed');
  const now = await one(review);
  assert.deepEqual([now.status, now.action, now.settled_by], ['settled', 'none', null]);
  expectError(await resolve(review, { action: 'refund' }), 409, 'invalid_state');
  await shop.check();
});

test('paid and out of stock: nothing can be confirmed before there is stock', async () => {
  shop.seed.serials(codes, [`S-${randomUUID()}`]);
  const [first, second] = [await pending(codes), await pending(codes)];
  for (const order of [first, second]) await succeed(order);
  const review = await open(second, 'stock');
  expectError(await resolve(review, { action: 'confirm' }), 409, 'out_of_stock');
  assert.equal((await one(review)).status, 'open');
  shop.seed.serials(codes, [`S-${randomUUID()}`]);
  dataOf(await resolve(review, { action: 'confirm' }));
  assert.equal(await second.status(), 'confirmed');
  await shop.check();
});

test('confirmed by hand and paid all the same; a second payment at the gateway: given back by its own name', async () => {
  const order = await pending();
  dataOf(await shop.admin('POST', `/api/admin/orders/${order.id}/confirm`));
  await succeed(order);
  let review = await open(order, 'duplicate');
  assert.deepEqual((await one(review)).actions, ['refund', 'credit', 'settle']);
  dataOf(await resolve(review, { action: 'credit' }));
  assert.equal((await shop.wallet(order.buyer)).balance, 49.99);

  const twice = await pending();
  await succeed(twice);
  await succeed(twice, { intent: `${twice.intent}_again` });
  review = await open(twice, 'duplicate');
  dataOf(await resolve(review, { action: 'refund' }));
  const now = await shop.until(async () => {
    const o = dataOf(await shop.admin('GET', `/api/admin/orders/${twice.id}`));
    return o.refunds[0]?.status === 'done' && o;
  }, 'given back');
  assert.deepEqual([now.status, now.refunded_amount, now.payments.length], ['confirmed', 0, 2]);
  const [call] = shop.players[0].to('POST', '/v1/refunds').slice(-1);
  assert.equal(call.body.payment_intent, `${twice.intent}_again`);
  await shop.check();
});

test('what fits no payment is shown, and can be settled with a note', async () => {
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', { order: 99999999, amount: 100, intent: 'pi_nobody' }),
    ),
  );
  const [review] = dataOf(await shop.admin('GET', '/api/admin/reviews?status=open&kind=unmatched'));
  assert.deepEqual([review.order_id, review.payment_id, review.amount], [null, null, '1.00']);
  assert.deepEqual((await one(review)).actions, ['settle']);
  expectError(await resolve(review, { action: 'confirm' }), 409, 'invalid_state');
  expectFields(await resolve(review, { action: 'burn' }), { action: 'not_allowed' });
  expectFields(await resolve(review, {}), { action: 'required' });
  dataOf(await resolve(review, { action: 'settle', note: 'Another shop of ours' }));
  const event_ = dataOf(await shop.admin('GET', `/api/admin/webhook-events/${review.event_id}`));
  assert.equal(event_.status, 'handled');
  expectError(await shop.admin('POST', `/api/admin/webhook-events/${review.event_id}/replay`), 409, 'invalid_state');
  expectError(await shop.admin('GET', '/api/admin/reviews/999999'), 404, 'not_found');
});

test('a dispute has its review until it is decided; a partial loss is counted once', async () => {
  const order = await pending();
  await succeed(order);
  const dispute = {
    id: `dp_${order.intent}`,
    object: 'dispute',
    payment_intent: order.intent,
    amount: 2000,
    metadata: {},
  };
  await event('charge.dispute.created', order, { ...dispute, status: 'needs_response' });
  const review = await open(order, 'dispute');
  assert.deepEqual((await one(review)).actions, ['settle']);
  for (let i = 0; i < 3; i++) await event('charge.dispute.closed', order, { ...dispute, status: 'lost' });
  const now = dataOf(await shop.admin('GET', `/api/admin/orders/${order.id}`));
  assert.deepEqual([now.status, now.refunded_amount, now.on_hold, now.payments[0].lost], ['confirmed', 20, false, 20]);
  assert.equal((await one(review)).status, 'settled');
  await event('charge.dispute.created', order, { ...dispute, status: 'needs_response' });
  assert.equal(dataOf(await shop.admin('GET', `/api/admin/orders/${order.id}`)).on_hold, false);
  await shop.check();
});

test('a disputed order that is confirmed later delivers what does not verify until it is decided', async () => {
  const keys = shop.seed.product({ name: 'Keys and codes', price: 4999 });
  const buyer = await shop.buyerWith([
    [keys, 1],
    [codes, 1],
  ]);
  shop.seed.serials(codes, [`S-${randomUUID()}`]);
  const { order_id: id } = await shop.checkout(buyer, LABELS.stripe);
  const other = await pending(codes);
  await succeed(other);
  const order = { id, intent: 'pi_held', amount: 5499 };
  await succeed(order);
  assert.equal((await shop.order(buyer, id)).status, 'pending');
  const dispute = { id: 'dp_held', object: 'dispute', payment_intent: order.intent, amount: 5499, metadata: {} };
  await event('charge.dispute.created', order, { ...dispute, status: 'needs_response' });
  shop.seed.serials(codes, [`S-${randomUUID()}`]);
  dataOf(await shop.admin('POST', `/api/admin/orders/${id}/confirm`));
  const bought = await shop.order(buyer, id);
  const key = bought.items[0].deliveries[0].value;
  expectError(await shop.verify(buyer, { license_key: key, product_id: keys.id }), 403, 'license_revoked');
  await shop.check();
  await event('charge.dispute.closed', order, { ...dispute, status: 'won' });
  dataOf(await shop.verify(buyer, { license_key: key, product_id: keys.id }));
  await shop.check();
});

test('the books are in order', () => shop.check());
