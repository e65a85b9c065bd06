// Coupons in the cart: what they take off, when they are refused, when they fall out again.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';
import { startSouk } from './lib/souk.mjs';

const INVALID = 'The coupon code is invalid or has expired';
const DAY = 86_400_000;

let souk;
let seed;
let a; // 10.00
let b; // 3.33

before(async () => {
  souk = await startSouk();
  seed = seeder(souk);
  a = seed.product({ name: 'A', price: 1000 });
  b = seed.product({ name: 'B', price: 333 });
});
after(() => souk.stop());

/** Somebody whose cart has these [product, quantity] in it. */
async function shopper(...lines) {
  const { token, ...rest } = await souk.customer();
  const s = {
    ...rest,
    token,
    get: () => souk.get('/api/store/cart', { token }),
    cart: async () => dataOf(await souk.get('/api/store/cart', { token })),
    add: (product, quantity = 1) => souk.post('/api/store/cart/add', { product_id: product.id, quantity }, { token }),
    set: (product, quantity) => souk.patch('/api/store/cart/items', { product_id: product.id, quantity }, { token }),
    coupon: (code) => souk.post('/api/store/cart/coupon', { code }, { token }),
    drop: () => souk.delete('/api/store/cart/coupon', { token }),
  };
  for (const [product, quantity] of lines) dataOf(await s.add(product, quantity));
  return s;
}

/** A redeemed use of this coupon by somebody, as an order would leave it. */
function use(coupon, account) {
  const [[order]] = seed.sql(`INSERT INTO orders (account_id, status, channel, subtotal, total, created_at)
    VALUES (${account}, 'confirmed', 'cart', 0, 0, 1) RETURNING id;`);
  seed.sql(`INSERT INTO coupon_use (order_id, coupon_id, account_id, created_at) VALUES (${order}, ${coupon.id}, ${account}, 1);
    UPDATE coupon SET uses = uses + 1 WHERE id = ${coupon.id};`);
  return order;
}

test('a percentage is taken off the total', async () => {
  const s = await shopper([a, 2], [b, 1]);
  const coupon = seed.coupon({ code: 'TEN', kind: 'percent', value: 1000 });
  const cart = dataOf(await s.coupon('TEN'));
  assert.equal(cart.coupon, 'TEN');
  assert.equal(cart.discount, 2.33); // 23.33 * 0.1
  assert.equal(cart.total, 21);
  assert.equal(cart.items.length, 2);
  assert.deepEqual(await s.cart(), cart);
  assert.equal(coupon.code, 'TEN');
});

test('a fixed amount is taken off, never more than the lines come to', async () => {
  const s = await shopper([a, 1]);
  seed.coupon({ code: 'FIVE', kind: 'fixed', value: 500 });
  seed.coupon({ code: 'FIFTY', kind: 'fixed', value: 5000 });
  assert.deepEqual(
    [dataOf(await s.coupon('FIVE'))].map((c) => [c.discount, c.total]),
    [[5, 5]],
  );
  assert.deepEqual(
    [dataOf(await s.coupon('FIFTY'))].map((c) => [c.discount, c.total]),
    [[10, 0]],
  );
});

test('a whole percentage makes it free', async () => {
  const s = await shopper([a, 3], [b, 3]);
  seed.coupon({ code: 'FREE', value: 10000 });
  const cart = dataOf(await s.coupon('FREE'));
  assert.deepEqual([cart.discount, cart.total], [39.99, 0]);
});

for (const [price, percent, discount] of [
  [1005, 1000, 1.01],
  [1004, 1000, 1],
  [333, 5000, 1.67],
  [1, 5000, 0.01],
  [1, 4999, 0],
  [999, 1, 0],
  [5000, 1, 0.01],
  [4999, 1, 0],
  [1999, 3333, 6.66],
]) {
  test(`${percent / 100} % of ${price / 100} is ${discount}: half up`, async () => {
    const s = await shopper([seed.product({ price }), 1]);
    const cart = dataOf(await s.coupon(seed.coupon({ value: percent }).code));
    assert.equal(cart.discount, discount);
    assert.equal(Math.round(cart.total * 100), price - Math.round(discount * 100));
  });
}

test('the code is case-insensitive and comes back upper-case', async () => {
  const s = await shopper([a, 1]);
  seed.coupon({ code: 'MIXED-CASE_1' });
  for (const code of ['mixed-case_1', 'Mixed-Case_1', 'MIXED-CASE_1', '  mixed-case_1 ']) {
    assert.equal(dataOf(await s.coupon(code)).coupon, 'MIXED-CASE_1');
  }
});

test('only the lines that a coupon is for are counted', async () => {
  const s = await shopper([a, 1], [b, 3]);
  const coupon = seed.coupon({ value: 5000, products: [b] });
  const cart = dataOf(await s.coupon(coupon.code));
  assert.deepEqual([cart.discount, cart.total], [5, 14.99]); // half of 9.99, half up
  const fixed = seed.coupon({ kind: 'fixed', value: 2000, products: [b] });
  assert.deepEqual(
    [dataOf(await s.coupon(fixed.code))].map((c) => [c.discount, c.total]),
    [[9.99, 10]],
  );
});

test('a second coupon replaces the first', async () => {
  const s = await shopper([a, 1]);
  const first = seed.coupon({ value: 1000 });
  const second = seed.coupon({ value: 2000 });
  assert.equal(dataOf(await s.coupon(first.code)).discount, 1);
  const cart = dataOf(await s.coupon(second.code));
  assert.deepEqual([cart.coupon, cart.discount], [second.code, 2]);
});

test('a refused coupon leaves the cart as it was, with the one before', async () => {
  const s = await shopper([a, 1]);
  expectError(await s.coupon('NOTHING'), 422, 'coupon_invalid', INVALID);
  assert.equal((await s.cart()).coupon, null);
  const good = seed.coupon({ value: 1000 });
  const cart = dataOf(await s.coupon(good.code));
  expectError(await s.coupon('NOTHING'), 422, 'coupon_invalid', INVALID);
  assert.deepEqual(await s.cart(), cart);
});

test('unknown, disabled, not started and expired: one answer', async () => {
  const s = await shopper([a, 1]);
  const now = Date.now();
  const codes = [
    'UNKNOWN',
    'no spaces allowed',
    'ümlaut',
    'x'.repeat(65),
    "' OR 1=1 --",
    seed.coupon({ is_active: false }).code,
    seed.coupon({ starts_at: now + DAY }).code,
    seed.coupon({ expires_at: now - 1 }).code,
    seed.coupon({ starts_at: now - 2 * DAY, expires_at: now - DAY }).code,
  ];
  const answers = new Set();
  for (const code of codes) {
    const { request_id: id, ...body } = expectError(await s.coupon(code), 422, 'coupon_invalid', INVALID).json;
    answers.add(JSON.stringify(body));
  }
  assert.deepEqual([...answers], [JSON.stringify({ status: 'error', message: INVALID, code: 'coupon_invalid' })]);
});

test('within its time a coupon is good', async () => {
  const s = await shopper([a, 1]);
  const now = Date.now();
  assert.equal(dataOf(await s.coupon(seed.coupon({ starts_at: now - DAY, expires_at: now + DAY }).code)).discount, 1);
});

test('the code must be there, be a text, and nothing else', async () => {
  const s = await shopper([a, 1]);
  const post = (body) => souk.post('/api/store/cart/coupon', body, { token: s.token });
  expectFields(await post({}), { code: 'required' });
  expectFields(await post({ code: null }), { code: 'required' });
  expectFields(await post({ code: '' }), { code: 'required' });
  expectFields(await post({ code: '   ' }), { code: 'required' });
  expectFields(await post({ code: 5 }), { code: 'wrong_type' });
  expectFields(await post({ code: 'x'.repeat(256) }), { code: 'too_long' });
  expectFields(await post({ code: 'a\u0007b' }), { code: 'bad_characters' });
  expectFields(await post({ code: 'X', discount: 5 }), { discount: 'unknown_field' });
  expectFields(await post({ code: ['X'] }), { code: 'wrong_type' });
  expectError(await post('{"code":"X"'), 400, 'malformed_json');
});

test('not for these products: coupon_not_applicable', async () => {
  const s = await shopper([a, 1]);
  const coupon = seed.coupon({ products: [b] });
  expectError(await s.coupon(coupon.code), 422, 'coupon_not_applicable', 'The coupon does not apply to these products');
  await s.add(b);
  assert.equal(dataOf(await s.coupon(coupon.code)).discount, 0.33);
});

test('below its minimum: coupon_min_total; all lines count', async () => {
  const s = await shopper([a, 1]);
  const coupon = seed.coupon({ min_total: 1333, products: [b] });
  const open = seed.coupon({ min_total: 1001 });
  expectError(await s.coupon(open.code), 422, 'coupon_min_total', "The total is below the coupon's minimum");
  await s.add(b);
  assert.equal(dataOf(await s.coupon(open.code)).discount, 1.33);
  assert.equal(dataOf(await s.coupon(coupon.code)).discount, 0.33); // exactly the minimum
});

test('used up by others: coupon_exhausted', async () => {
  const s = await shopper([a, 1]);
  const other = await shopper();
  const coupon = seed.coupon({ max_uses: 1 });
  use(coupon, other.id);
  expectError(await s.coupon(coupon.code), 422, 'coupon_exhausted', 'The coupon has been used up');
});

test('used by the customer already: coupon_used; single use is the default', async () => {
  const s = await shopper([a, 1]);
  const coupon = seed.coupon();
  assert.equal(seed.number(`SELECT max_uses_per_customer FROM coupon WHERE id = ${coupon.id}`), 1);
  use(coupon, s.id);
  expectError(await s.coupon(coupon.code), 422, 'coupon_used', 'You have already used this coupon');
  const other = await shopper([a, 1]);
  assert.equal(dataOf(await other.coupon(coupon.code)).discount, 1);
});

test('a limit of two, and none at all', async () => {
  const s = await shopper([a, 1]);
  const twice = seed.coupon({ max_uses_per_customer: 2 });
  const always = seed.coupon({ max_uses_per_customer: null });
  for (let i = 0; i < 2; i++) {
    assert.equal(dataOf(await s.coupon(twice.code)).discount, 1);
    use(twice, s.id);
    use(always, s.id);
  }
  expectError(await s.coupon(twice.code), 422, 'coupon_used');
  assert.equal(dataOf(await s.coupon(always.code)).discount, 1);
});

test('a use that was given back does not count', async () => {
  const s = await shopper([a, 1]);
  const coupon = seed.coupon({ max_uses: 1 });
  const order = use(coupon, s.id);
  expectError(await s.coupon(coupon.code), 422, 'coupon_exhausted');
  seed.sql(
    `UPDATE coupon_use SET released_at = 2 WHERE order_id = ${order}; UPDATE coupon SET uses = 0 WHERE id = ${coupon.id};`,
  );
  assert.equal(dataOf(await s.coupon(coupon.code)).discount, 1);
});

test('the discount follows the cart', async () => {
  const s = await shopper([a, 1]);
  await s.coupon(seed.coupon({ value: 1000 }).code);
  assert.equal(dataOf(await s.add(a, 4)).discount, 5);
  assert.equal(dataOf(await s.set(a, 2)).discount, 2);
});

test('on an empty cart a coupon for everything waits for lines; one for some products is refused', async () => {
  const s = await shopper();
  const cart = dataOf(await s.coupon(seed.coupon({ code: 'EARLY' }).code));
  assert.deepEqual(cart, { items: [], coupon: 'EARLY', discount: 0, total: 0 });
  assert.equal(dataOf(await s.add(a)).discount, 1);
  const t = await shopper();
  expectError(await t.coupon(seed.coupon({ products: [a] }).code), 422, 'coupon_not_applicable');
  expectError(await t.coupon(seed.coupon({ min_total: 1 }).code), 422, 'coupon_min_total');
});

test('taking it out', async () => {
  const s = await shopper([a, 1]);
  await s.coupon(seed.coupon().code);
  const cart = dataOf(await s.drop());
  assert.deepEqual([cart.coupon, cart.discount, cart.total], [null, 0, 10]);
  assert.deepEqual(dataOf(await s.drop()), cart);
});

for (const [what, change] of [
  ['expires', () => ({ expires_at: Date.now() - 1 })],
  ['is disabled', () => ({ is_active: false })],
  ['is used up by others', () => ({ max_uses: 1, uses: 1 })],
  ['gets a minimum that is not reached', () => ({ min_total: 100000 })],
]) {
  test(`a coupon that ${what} while in a cart is dropped at the next read, for good`, async () => {
    const s = await shopper([a, 1]);
    const coupon = seed.coupon();
    assert.equal(dataOf(await s.coupon(coupon.code)).total, 9);
    seed.update('coupon', coupon.id, change());
    assert.deepEqual(
      [await s.cart()].map((c) => [c.coupon, c.discount, c.total]),
      [[null, 0, 10]],
    );
    seed.update('coupon', coupon.id, { expires_at: null, is_active: true, max_uses: null, uses: 0, min_total: 0 });
    assert.equal((await s.cart()).coupon, null); // what was shown without it is bought without it
    assert.equal(dataOf(await s.coupon(coupon.code)).total, 9);
  });
}

test('a coupon whose product leaves the cart falls out', async () => {
  const s = await shopper([a, 1], [b, 1]);
  const coupon = seed.coupon({ products: [b] });
  assert.equal(dataOf(await s.coupon(coupon.code)).discount, 0.33);
  assert.equal(dataOf(await s.set(b, 0)).coupon, null);
  assert.equal(dataOf(await s.add(b)).coupon, null);
});

test('a coupon that falls below its minimum falls out', async () => {
  const s = await shopper([a, 2]);
  await s.coupon(seed.coupon({ min_total: 2000 }).code);
  const cart = dataOf(await s.set(a, 1));
  assert.deepEqual([cart.coupon, cart.total], [null, 10]);
});

test('each cart has its own coupon', async () => {
  const s = await shopper([a, 1]);
  const t = await shopper([a, 1]);
  await s.coupon(seed.coupon().code);
  assert.equal((await t.cart()).coupon, null);
});
