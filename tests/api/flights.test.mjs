// Round trips of a request that shares its transaction with others on PostgreSQL.
// runs: pg
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf, expectError } from './lib/http.mjs';
import { openShop } from './lib/shop.mjs';

let shop, editor, ada;
before(async () => {
  shop = await openShop();
  editor = shop.seed.product({ price: 100 });
  ada = await shop.buyer({ balance: 100_000 });
});
after(() => shop?.stop());

const withKey = (key) => ({ headers: { 'Idempotency-Key': key } });
const flights = async () => (await shop.souk.metrics()).get('souk_db_flights_total');

/**
 * The fewest that one of many took, which are to be `wanted`: now and then something in the background asks, too, and a token is in
 * memory for a second only.
 */
async function fewest(wanted, ask) {
  let fewest_ = Infinity;
  for (let i = 0; i < 50 && fewest_ > wanted; i += 1) {
    const before_ = await flights();
    await ask(i);
    fewest_ = Math.min(fewest_, (await flights()) - before_);
  }
  assert.equal(fewest_, wanted);
}

test('key, offer and wallet are asked for in one round trip, and the wallet pays in a second', async () => {
  await fewest(2, async () => dataOf(await shop.order(ada, { product_id: editor.id })));
  const keyed = (key) => shop.order(ada, { product_id: editor.id }, withKey(key));
  await fewest(2, async (i) => dataOf(await keyed(`key ${i}`)));
  await fewest(1, async () => dataOf(await keyed('key 0'))); // answered again
});

test('what was asked for early changes nothing about refusals', async () => {
  const before_ = shop.traces();
  expectError(await shop.order(ada, { product_id: editor.id + 1000 }, withKey('unknown')), 404, 'not_found');
  expectError(
    await shop.order(ada, { product_id: editor.id, quantity: 1000 }, withKey('dear')),
    402,
    'insufficient_balance',
  );
  const poor = await shop.buyer({ balance: 0 });
  expectError(await shop.order(poor, { product_id: editor.id }), 402, 'insufficient_balance');
  assert.deepEqual(shop.traces(), before_);
});
