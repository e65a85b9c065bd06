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

/** The fewest that one of several took: now and then something in the background asks, too. */
async function fewest(ask) {
  const counts = [];
  for (let i = 0; i < 5; i += 1) {
    const before_ = await flights();
    await ask(i);
    counts.push((await flights()) - before_);
  }
  return Math.min(...counts);
}

test('key, offer and wallet are asked for in one round trip, and the wallet pays in a second', async () => {
  await shop.order(ada, { product_id: editor.id }); // the token is in memory now
  assert.equal(await fewest(async () => dataOf(await shop.order(ada, { product_id: editor.id }))), 2);
  const keyed = (key) => shop.order(ada, { product_id: editor.id }, withKey(key));
  assert.equal(await fewest(async (i) => dataOf(await keyed(`key ${i}`))), 2);
  assert.equal(await fewest(async (i) => dataOf(await keyed(`key ${i}`))), 1, 'answered again');
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
