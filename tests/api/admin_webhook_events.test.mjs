// Events from gateways, as staff see them and try them again.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf, expectError } from './lib/http.mjs';
import { openPaidShop, stripeEvent } from './lib/gateways.mjs';

let shop;
before(async () => {
  shop = await openPaidShop();
  await shop.listen('stripe');
});
after(() => shop.stop());

test('an event that had to wait for staff can be tried again', async () => {
  const codes = shop.seed.product({ name: 'Codes', price: 500, delivery_type: 'serial_code' });
  shop.seed.serials(codes, ['ONLY-ONE']);
  const buyers = [];
  for (let i = 0; i < 2; i++) {
    const buyer = await shop.buyerWith([[codes, 1]]);
    buyers.push({ buyer, id: (await shop.checkout(buyer, 'card_gateway_a')).order_id, intent: `pi_code_${i}` });
  }
  for (const order of buyers)
    dataOf(
      await shop.event(
        'stripe',
        stripeEvent('payment_intent.succeeded', { order: order.id, intent: order.intent, amount: 500 }),
      ),
    );
  const [, second] = buyers;
  assert.equal((await shop.order(second.buyer, second.id)).status, 'pending');
  const [event] = await shop.events('review');
  assert.match(event.reason, /out of stock/);
  const act = (what, body) =>
    shop.souk.post(`/api/customer/orders/${second.id}/${what}`, body, { token: second.buyer.token });
  expectError(await act('cancel'), 409, 'invalid_state');
  expectError(await act('pay', { pay_with: 'card_gateway_a' }), 409, 'invalid_state', undefined);
  shop.seed.serials(codes, ['ANOTHER']);
  // The payment has succeeded: trying the event again confirms and delivers, with the gateway's money.
  const replayed = dataOf(await shop.admin('POST', `/api/admin/webhook-events/${event.id}/replay`));
  assert.equal(replayed.status, 'handled');
  const seen = await shop.order(second.buyer, second.id);
  assert.deepEqual([seen.status, seen.paid_with], ['confirmed', 'card_gateway_a']);
  const detail = dataOf(await shop.admin('GET', `/api/admin/webhook-events/${event.id}`));
  assert.equal(JSON.parse(detail.body).id, event.event_id);
  expectError(await shop.admin('POST', `/api/admin/webhook-events/${event.id}/replay`), 409, 'invalid_state');
});

test('money in a currency that there is not has no amount', async () => {
  const codes = shop.seed.product({ name: 'Paid in shells', price: 500 });
  const buyer = await shop.buyerWith([[codes, 1]]);
  const { order_id: order } = await shop.checkout(buyer, 'card_gateway_a');
  const shells = stripeEvent('payment_intent.succeeded', { order, intent: 'pi_shells', amount: 500, currency: 'zzz' });
  dataOf(await shop.event('stripe', shells));
  const [event] = (await shop.events('review')).filter((e) => e.event_id === shells.id);
  assert.deepEqual([event.amount, event.currency], [null, null]);
  const [review] = dataOf(await shop.admin('GET', '/api/admin/reviews')).filter((r) => r.order_id === order);
  assert.deepEqual([review.amount, review.currency], [null, null]);
  assert.equal((await shop.order(buyer, order)).status, 'pending');
});

test('the message of a handled event is kept for half a year, its facts for ever; what waits for staff is kept whole', async () => {
  const all = await shop.events();
  const first = await shop.admin('GET', '/api/admin/webhook-events?&limit=1');
  assert.match(first.headers.link, /webhook-events\?limit=1&cursor=/);
  const [handled] = all.filter((e) => e.status === 'handled');
  const old = Date.now() - 200 * 86400000;
  shop.seed.sql(`UPDATE webhook_event SET received_at = ${old} WHERE id = ${handled.id};
    INSERT INTO webhook_event (gateway_id, event_id, type, kind, status, body, body_hash, received_at)
    SELECT gateway_id, 'waits', type, kind, 'unmatched', body, body_hash, received_at FROM webhook_event WHERE id = ${handled.id};`);
  const one = async (id) => dataOf(await shop.admin('GET', `/api/admin/webhook-events/${id}`));
  await shop.until(async () => (await one(handled.id)).body === '', 'the message is gone');
  assert.equal((await one(handled.id)).event_id, handled.event_id);
  const waits = shop.seed.number("SELECT id FROM webhook_event WHERE event_id = 'waits'");
  assert.ok((await one(waits)).body.length > 10);
  // A message that is not this event's, or none as of what souk fetched itself: the facts that were kept count.
  for (const body of ['body', `(SELECT body FROM webhook_event WHERE id = ${handled.id})`]) {
    shop.seed.sql(`UPDATE webhook_event SET body = ${body} WHERE id = ${waits};`);
    const replayed = dataOf(await shop.admin('POST', `/api/admin/webhook-events/${waits}/replay`));
    assert.deepEqual([replayed.event_id, replayed.status], ['waits', 'unmatched']);
  }
});
