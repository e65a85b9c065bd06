// Many buyers at once: stock, money, coupons and idempotency keys hold exactly, on one server and on two.
// release: pg
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SLOW, together } from '../api/lib/souk.mjs';
import { openNodes } from './lib/nodes.mjs';

const WIDTH = 100;

let shop;

before(async () => {
  shop = await openNodes();
});
after(() => shop.stop());

/** n orders, all under way at once; job(i) gives [customer, body, headers]. */
function orders(n, job) {
  return together(n, WIDTH, async (i) => {
    const [customer, body, headers = {}] = job(i);
    return shop.any(i).post('/api/v1/order/create', body, { token: customer.token, headers, timeout_ms: 60000 * SLOW });
  });
}

const tally = (answers) => {
  const counts = {};
  for (const a of answers) counts[a.json.code ?? a.status] = (counts[a.json.code ?? a.status] ?? 0) + 1;
  return counts;
};

/** Sold = distinct = paid: what a pool of codes must come out as. */
function checkPool(answers, pool, paid) {
  const sold = answers.filter((a) => a.status === 200).flatMap((a) => a.json.data.deliveries.map((d) => d.value));
  assert.equal(new Set(sold).size, sold.length, 'a code was sold twice');
  assert.ok(
    sold.every((code) => pool.includes(code)),
    'a code came from nowhere',
  );
  assert.equal(paid, sold.length, 'paid for more or less than was delivered');
  return sold;
}

test('the check of a pool finds a code that was sold twice, and one that was not paid', () => {
  const answer = (...codes) => ({ status: 200, json: { data: { deliveries: codes.map((value) => ({ value })) } } });
  assert.throws(() => checkPool([answer('A'), answer('A')], ['A', 'B'], 2), /sold twice/);
  assert.throws(() => checkPool([answer('A'), answer('B')], ['A', 'B'], 1), /more or less/);
  assert.throws(() => checkPool([answer('C')], ['A', 'B'], 1), /nowhere/);
});

test('50 codes, 200 orders at once: 50 are confirmed with 50 different codes, 150 are refused, 50 are paid', async () => {
  const product = shop.seed.product({ delivery_type: 'serial_code', price: 100 });
  const pool = Array.from({ length: 50 }, (_, i) => `RACE-${i}`);
  shop.seed.serials(product, pool);
  const buyers = await Promise.all(Array.from({ length: 8 }, () => shop.buyer({ balance: 100000 })));
  const answers = await orders(200, (i) => [buyers[i % buyers.length], { product_id: product.id }]);
  assert.deepEqual(tally(answers), { 200: 50, out_of_stock: 150 });
  let spent = 0;
  for (const b of buyers) spent += 100000 - Math.round((await shop.wallet(b)).balance * 100);
  const sold = checkPool(answers, pool, spent / 100);
  assert.deepEqual(sold.sort(), pool.sort());
  assert.equal(shop.count(`orders WHERE id IN (SELECT order_id FROM order_item WHERE product_id = ${product.id})`), 50);
});

test('orders of several units share a pool without losing or doubling a code', async () => {
  const product = shop.seed.product({ delivery_type: 'serial_code', price: 10 });
  const pool = Array.from({ length: 100 }, (_, i) => `MANY-${i}`);
  shop.seed.serials(product, pool);
  const ada = await shop.buyer({ balance: 100000 });
  const answers = await orders(60, (i) => [ada, { product_id: product.id, quantity: 1 + (i % 5) }]);
  const sold = checkPool(answers, pool, (100000 - Math.round((await shop.wallet(ada)).balance * 100)) / 10);
  assert.ok(
    sold.length >= 96,
    `only ${sold.length} of 100 codes were sold, though orders for single ones were refused`,
  );
  assert.ok(answers.every((a) => a.status === 200 || a.json.code === 'out_of_stock'));
});

test('a wallet that has enough for exactly 17 of 120 orders pays 17', async () => {
  const product = shop.seed.product({ price: 333 });
  const ada = await shop.buyer({ balance: 17 * 333 + 332 });
  const answers = await orders(120, () => [ada, { product_id: product.id }]);
  assert.deepEqual(tally(answers), { 200: 17, insufficient_balance: 103 });
  assert.equal((await shop.wallet(ada)).balance, 3.32);
});

test('post-pay credit for exactly 9 orders gives 9', async () => {
  const product = shop.seed.product({ price: 100 });
  const ada = await shop.buyer({ balance: 400, credit_limit: 500 });
  const answers = await orders(60, () => [ada, { product_id: product.id }]);
  assert.deepEqual(tally(answers), { 200: 9, insufficient_balance: 51 });
  assert.equal((await shop.wallet(ada)).balance, -5);
});

test('one key 20 times at once: one order, 20 identical answers', async () => {
  const product = shop.seed.product({ price: 100 });
  const ada = await shop.buyer({ balance: 10000 });
  for (let round = 0; round < 5; round++) {
    const before_ = (await shop.wallet(ada)).balance;
    const answers = await orders(20, () => [ada, { product_id: product.id }, { 'Idempotency-Key': `same-${round}` }]);
    assert.equal(new Set(answers.map((a) => a.text)).size, 1, 'the answers differ');
    assert.equal(
      answers.filter((a) => a.headers['idempotent-replayed'] === undefined).length,
      1,
      'not exactly one was the first',
    );
    assert.ok(answers.every((a) => a.status === 200));
    assert.equal((await shop.wallet(ada)).balance, before_ - 1);
  }
});

test('a coupon for 10 uses is redeemed 10 times by 100 orders at once', async () => {
  const product = shop.seed.product({ price: 1000 });
  const coupon = shop.seed.coupon({ value: 5000, max_uses: 10, max_uses_per_customer: null });
  const buyers = await Promise.all(Array.from({ length: 10 }, () => shop.buyer({ balance: 100000 })));
  const answers = await orders(100, (i) => [buyers[i % 10], { product_id: product.id, coupon_code: coupon.code }]);
  assert.deepEqual(tally(answers), { 200: 10, coupon_exhausted: 90 });
  assert.ok(answers.filter((a) => a.status === 200).every((a) => a.json.data.total === 5));
  assert.equal(shop.seed.number(`SELECT uses FROM coupon WHERE id = ${coupon.id}`), 10);
  assert.equal(shop.count(`coupon_use WHERE coupon_id = ${coupon.id}`), 10);
});

test('once per customer is once, also when a customer orders 20 times at once', async () => {
  const product = shop.seed.product({ price: 1000 });
  const coupon = shop.seed.coupon({ value: 1000 });
  const buyers = await Promise.all([1, 2, 3].map(() => shop.buyer({ balance: 100000 })));
  const answers = await orders(60, (i) => [buyers[i % 3], { product_id: product.id, coupon_code: coupon.code }]);
  assert.deepEqual(tally(answers), { 200: 3, coupon_used: 57 });
});

test('everything at once: codes, keys, coupons and credit, and the books are still in order', async () => {
  const codes = shop.seed.product({ delivery_type: 'serial_code', price: 50 });
  const keys = shop.seed.product({ price: 70 });
  shop.seed.serials(
    codes,
    Array.from({ length: 40 }, (_, i) => `MIX-${i}`),
  );
  const coupon = shop.seed.coupon({ kind: 'fixed', value: 20, max_uses: 25, max_uses_per_customer: null });
  const buyers = await Promise.all([0, 1, 2, 3].map((i) => shop.buyer({ balance: 3000, credit_limit: 500 * i })));
  const answers = await orders(300, (i) => [
    buyers[i % 4],
    { product_id: i % 3 ? keys.id : codes.id, quantity: 1 + (i % 2), ...(i % 5 ? {} : { coupon_code: coupon.code }) },
    i % 7 ? {} : { 'Idempotency-Key': `mix-${i % 4}-${i % 28}` },
  ]);
  const codesSeen = tally(answers);
  const allowed = ['200', 'out_of_stock', 'insufficient_balance', 'coupon_exhausted', 'idempotency_key_reused'];
  assert.ok(
    Object.keys(codesSeen).every((c) => allowed.includes(c)),
    JSON.stringify(codesSeen),
  );
  for (const b of buyers) assert.ok((await shop.wallet(b)).balance >= -(await shop.wallet(b)).credit_limit);
  await shop.check();
});
