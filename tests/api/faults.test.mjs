// A database that fails in the middle of a request: the phase api-failing does it to the whole suite, this file to what has several
// transactions. Every request fails at its first statement, then at its second … until it gets through.
// runs: sqlite release
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LABELS, openPaidShop, stripeEvent } from './lib/gateways.mjs';
import { dataOf } from './lib/http.mjs';

let shop;
let editor;

before(async () => {
  shop = await openPaidShop({ faults: true });
  editor = shop.seed.product({ name: 'Editor', price: 4999 });
});
after(() => shop.stop());

test('an order that was placed is acknowledged, even when the address of its page cannot be stored', async () => {
  await shop.played('stripe');
  const buyer = await shop.buyerWith([[editor, 1]]);
  const bought = await shop.checkout(buyer, LABELS.stripe);
  assert.equal((await shop.order(buyer, bought.order_id)).status, 'pending');
  const orders = dataOf(await shop.souk.get('/api/customer/orders', { token: buyer.token }));
  assert.equal(orders.length, 1, 'one order, however often it was tried');
  const paid = stripeEvent('payment_intent.succeeded', { order: bought.order_id, amount: 4999, intent: 'pi_faults' });
  assert.equal((await shop.event('stripe', paid)).status, 200);
  assert.equal((await shop.order(buyer, bought.order_id)).status, 'confirmed');
  assert.match(shop.souk.stderr, /db\.failed/, 'statements did fail');
});

test('a top-up is asked for once', async () => {
  const buyer = await shop.buyer({ balance: 0 });
  const answer = await shop.souk.post(
    '/api/customer/wallet/topup',
    { amount: 10, gateway: LABELS.stripe },
    { token: buyer.token },
  );
  dataOf(answer, 201);
  assert.equal(shop.seed.number(`SELECT COUNT(*) FROM payment WHERE account_id = ${buyer.id}`), 1);
});
