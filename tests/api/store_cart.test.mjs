// The cart: its shape, adding, changing, removing, prices, limits, whose cart it is.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';
import { startSouk } from './lib/souk.mjs';

const EMPTY = { items: [], coupon: null, discount: 0, total: 0 };
const LARGEST = 9223372036854775807n;

let souk;
let seed;
let plain; // 19.99, no variants
let tool; // variants monthly 5.00 and yearly 50.00
let monthly;
let yearly;

before(async () => {
  souk = await startSouk();
  seed = seeder(souk);
  plain = seed.product({ name: 'Plain', price: 1999 });
  tool = seed.product({ name: 'Tool', price: 1 });
  monthly = seed.variant(tool, { name: 'Monthly', price: 500, is_default: true });
  yearly = seed.variant(tool, { name: 'Yearly', price: 5000 });
});
after(() => souk.stop());

/** Somebody with an empty cart: {token, cart(), add(body), set(body), …}. */
async function shopper() {
  const { token, ...rest } = await souk.customer();
  const options = { token };
  return {
    ...rest,
    token,
    cart: async () => dataOf(await souk.get('/api/store/cart', options)),
    add: (body, more) => souk.post('/api/store/cart/add', body, { ...options, ...more }),
    set: (body) => souk.patch('/api/store/cart/items', body, options),
    clear: () => souk.delete('/api/store/cart', options),
    coupon: (code) => souk.post('/api/store/cart/coupon', { code }, options),
    drop: () => souk.delete('/api/store/cart/coupon', options),
  };
}

test('a new token has an empty cart', async () => {
  const s = await shopper();
  const answer = await souk.get('/api/store/cart', { token: s.token, headers: { Accept: 'application/json' } });
  assert.equal(answer.text, '{"status":"success","data":{"items":[],"coupon":null,"discount":0.00,"total":0.00}}');
});

test('adding answers with the whole cart, as GET does', async () => {
  const s = await shopper();
  const want = {
    items: [{ product_id: plain.id, name: 'Plain', quantity: 2, unit_price: 19.99, subtotal: 39.98 }],
    coupon: null,
    discount: 0,
    total: 39.98,
  };
  assert.deepEqual(dataOf(await s.add({ product_id: plain.id, quantity: 2 })), want);
  assert.deepEqual(await s.cart(), want);
});

test('adding what is there increases its quantity', async () => {
  const s = await shopper();
  await s.add({ product_id: plain.id, quantity: 2 });
  const cart = dataOf(await s.add({ product_id: plain.id, quantity: 3 }));
  assert.equal(cart.items.length, 1);
  assert.equal(cart.items[0].quantity, 5);
  assert.equal(cart.items[0].subtotal, 99.95);
  assert.equal(cart.total, 99.95);
});

test('one line per product and variant, in order of adding, with variant_id where there are variants', async () => {
  const s = await shopper();
  await s.add({ product_id: tool.id, variant_id: yearly.id, quantity: 1 });
  await s.add({ product_id: plain.id, quantity: 1 });
  await s.add({ product_id: tool.id, variant_id: monthly.id, quantity: 4 });
  await s.add({ product_id: tool.id, variant_id: yearly.id, quantity: 1 });
  const cart = await s.cart();
  assert.deepEqual(cart.items, [
    { product_id: tool.id, variant_id: yearly.id, name: 'Tool', quantity: 2, unit_price: 50, subtotal: 100 },
    { product_id: plain.id, name: 'Plain', quantity: 1, unit_price: 19.99, subtotal: 19.99 },
    { product_id: tool.id, variant_id: monthly.id, name: 'Tool', quantity: 4, unit_price: 5, subtotal: 20 },
  ]);
  assert.equal(cart.total, 139.99);
});

test('null for variant_id means none', async () => {
  const s = await shopper();
  expectStatus(await s.add({ product_id: plain.id, variant_id: null, quantity: 1 }), 200);
  expectFields(await s.add({ product_id: tool.id, variant_id: null, quantity: 1 }), { variant_id: 'required' });
});

test('variants: missing, of another product, switched off, where there are none', async () => {
  const s = await shopper();
  const off = seed.variant(tool, { is_active: false });
  const elsewhere = seed.variant(seed.product(), {});
  expectFields(await s.add({ product_id: tool.id, quantity: 1 }), { variant_id: 'required' });
  expectFields(await s.add({ product_id: tool.id, variant_id: elsewhere.id, quantity: 1 }), {
    variant_id: 'unknown_id',
  });
  expectFields(await s.add({ product_id: tool.id, variant_id: off.id, quantity: 1 }), { variant_id: 'unknown_id' });
  expectFields(await s.add({ product_id: tool.id, variant_id: 987654321, quantity: 1 }), { variant_id: 'unknown_id' });
  expectFields(await s.add({ product_id: plain.id, variant_id: monthly.id, quantity: 1 }), {
    variant_id: 'not_combinable',
  });
  assert.deepEqual(await s.cart(), EMPTY);
});

test('products: unknown and inactive ones', async () => {
  const s = await shopper();
  const draft = seed.product({ is_active: false });
  const hollow = seed.product();
  seed.variant(hollow, { is_active: false });
  for (const id of [987654321, 2 ** 53 - 1, draft.id, hollow.id]) {
    expectFields(await s.add({ product_id: id, quantity: 1 }), { product_id: 'unknown_id' });
  }
  assert.deepEqual(await s.cart(), EMPTY);
});

for (const [what, body, fields] of [
  ['an empty body', {}, { product_id: 'required', quantity: 'required' }],
  ['no quantity', { product_id: 1 }, { quantity: 'required' }],
  ['no product', { quantity: 1 }, { product_id: 'required' }],
  ['null for what is required', { product_id: null, quantity: null }, { product_id: 'required', quantity: 'required' }],
  ['quantity 0', { product_id: 1, quantity: 0 }, { quantity: 'not_positive' }],
  ['a negative quantity', { product_id: 1, quantity: -1 }, { quantity: 'not_positive' }],
  ['quantity 1001', { product_id: 1, quantity: 1001 }, { quantity: 'out_of_range' }],
  ['quantity 2^31', { product_id: 1, quantity: 2 ** 31 }, { quantity: 'out_of_range' }],
  ['a quantity in quotes', { product_id: 1, quantity: '2' }, { quantity: 'wrong_type' }],
  ['a quantity of 1.5', { product_id: 1, quantity: 1.5 }, { quantity: 'wrong_type' }],
  ['quantity true', { product_id: 1, quantity: true }, { quantity: 'wrong_type' }],
  ['an array as quantity', { product_id: 1, quantity: [1] }, { quantity: 'wrong_type' }],
  ['a product id in quotes', { product_id: '1', quantity: 1 }, { product_id: 'wrong_type' }],
  ['product id 0', { product_id: 0, quantity: 1 }, { product_id: 'not_positive' }],
  ['a negative product id', { product_id: -1, quantity: 1 }, { product_id: 'not_positive' }],
  ['an object as product id', { product_id: {}, quantity: 1 }, { product_id: 'wrong_type' }],
  ['a variant id in quotes', { product_id: 1, variant_id: '1', quantity: 1 }, { variant_id: 'wrong_type' }],
  ['a typo', { product_id: 1, quantity: 1, quantitiy: 2 }, { quantitiy: 'unknown_field' }],
  [
    'a price of their own',
    { product_id: 1, quantity: 1, price: 0.01, unit_price: 0.01 },
    { price: 'unknown_field', unit_price: 'unknown_field' },
  ],
  [
    'everything wrong at once',
    { product_id: 'x', variant_id: [], quantity: 0, token_id: 1 },
    { product_id: 'wrong_type', variant_id: 'wrong_type', quantity: 'not_positive', token_id: 'unknown_field' },
  ],
]) {
  test(`add refuses ${what}`, async () => {
    const s = await shopper();
    expectFields(await s.add(body), fields);
    assert.deepEqual(await s.cart(), EMPTY);
  });
}

for (const [what, text] of [
  ['5.0 for an id', '{"product_id":5.0,"quantity":1}'],
  ['5e0 for an id', '{"product_id":5e0,"quantity":1}'],
  ['1.0 as quantity', '{"product_id":5,"quantity":1.0}'],
  ['2^63 as quantity', '{"product_id":5,"quantity":9223372036854775808}'],
  ['an id of 2^53', '{"product_id":9007199254740992,"quantity":1}'],
  ['an array', '[]'],
  ['a string', '"x"'],
  ['null', 'null'],
]) {
  test(`add refuses ${what}`, async () => {
    const s = await shopper();
    expectError(await s.add(text), 422, 'validation_failed');
  });
}

test('add refuses what is no JSON', async () => {
  const s = await shopper();
  for (const text of [
    '',
    '{',
    '{"product_id":1,"product_id":2,"quantity":1}',
    '{"product_id":1,}',
    "{'product_id':1}",
  ]) {
    expectError(await s.add(text), 400, 'malformed_json');
  }
  expectError(
    await s.add('product_id=1&quantity=1', { type: 'application/x-www-form-urlencoded' }),
    415,
    'unsupported_media_type',
  );
});

test('a line takes 1000 units and no more, at once or by increasing', async () => {
  const s = await shopper();
  expectStatus(await s.add({ product_id: plain.id, quantity: 1000 }), 200);
  expectFields(await s.add({ product_id: plain.id, quantity: 1 }), { quantity: 'quantity_limit' });
  const t = await shopper();
  await t.add({ product_id: plain.id, quantity: 600 });
  expectFields(await t.add({ product_id: plain.id, quantity: 401 }), { quantity: 'quantity_limit' });
  assert.equal((await t.cart()).items[0].quantity, 600);
  assert.equal(dataOf(await t.add({ product_id: plain.id, quantity: 400 })).items[0].quantity, 1000);
});

test('a cart takes 100 lines and no more', async () => {
  const s = await shopper();
  const many = seed.product();
  const rows = Array.from({ length: 101 }, (_, i) => `(${many.id}, 'v${i}', 100)`).join(', ');
  seed.sql(`INSERT INTO variant (product_id, name, price) VALUES ${rows};`);
  const ids = seed.sql(`SELECT id FROM variant WHERE product_id = ${many.id} ORDER BY id;`).map((r) => Number(r[0]));
  for (const id of ids.slice(0, 100))
    expectStatus(await s.add({ product_id: many.id, variant_id: id, quantity: 1 }), 200);
  expectError(
    await s.add({ product_id: many.id, variant_id: ids[100], quantity: 1 }),
    422,
    'cart_full',
    'The cart has too many lines',
  );
  expectStatus(await s.add({ product_id: many.id, variant_id: ids[0], quantity: 1 }), 200); // more of what is there
  const cart = await s.cart();
  assert.equal(cart.items.length, 100);
  assert.equal(cart.total, 101);
  await s.set({ product_id: many.id, variant_id: ids[5], quantity: 0 });
  expectStatus(await s.add({ product_id: many.id, variant_id: ids[100], quantity: 1 }), 200);
  assert.equal((await s.cart()).items.at(-1).variant_id, ids[100]);
});

test('a line has the unit price of its latest adding', async () => {
  const s = await shopper();
  const product = seed.product({ name: 'Moving', price: 1000 });
  await s.add({ product_id: product.id, quantity: 1 });
  seed.update('product', product.id, { price: 2000, name: 'Moved' });
  let cart = dataOf(await s.add({ product_id: product.id, quantity: 1 }));
  assert.deepEqual(cart.items, [{ product_id: product.id, name: 'Moved', quantity: 2, unit_price: 20, subtotal: 40 }]);
  seed.update('product', product.id, { price: 3000 });
  cart = dataOf(await s.set({ product_id: product.id, quantity: 3 }));
  assert.equal(cart.items[0].unit_price, 20);
  await s.set({ product_id: product.id, quantity: 0 });
  cart = dataOf(await s.add({ product_id: product.id, quantity: 1 }));
  assert.equal(cart.items[0].unit_price, 30);
});

test("a line that nobody touched for a week takes today's price at the next read; a checkout before that is refused", async () => {
  const s = await shopper();
  const single = seed.product({ name: 'Single', price: 1000 });
  const tiers = seed.product({ name: 'Tiers', price: 1 });
  const variant = seed.variant(tiers, { name: 'Only', price: 500, is_default: true });
  await s.add({ product_id: single.id, quantity: 1 });
  await s.add({ product_id: tiers.id, variant_id: variant.id, quantity: 2 });
  seed.update('product', single.id, { price: 1100 });
  seed.update('variant', variant.id, { price: 600 });
  const age = (days) =>
    seed.sql(
      `UPDATE cart_line SET priced_at = ${Date.now() - days * 86400000} WHERE product_id IN (${single.id}, ${tiers.id});`,
    );
  age(6.9);
  assert.deepEqual(
    (await s.cart()).items.map((i) => i.unit_price),
    [10, 5],
  );
  age(7.1);
  const refused = await souk.post('/api/store/cart/checkout', { pay_with: 'wallet' }, { token: s.token });
  expectError(refused, 409, 'price_changed');
  const cart = await s.cart();
  assert.deepEqual(
    cart.items.map((i) => i.unit_price),
    [11, 6],
  );
  assert.equal(cart.total, 23);
  age(7.1); // and the price is still what was shown
  const again = await souk.post('/api/store/cart/checkout', { pay_with: 'wallet' }, { token: s.token });
  expectError(again, 402, 'insufficient_balance');
});

test('a sum that does not fit is refused, not wrapped', async () => {
  const s = await shopper();
  const dear = seed.product({ price: LARGEST });
  const half = seed.product({ price: LARGEST / 1000n });
  expectFields(await s.add({ product_id: dear.id, quantity: 2 }), { quantity: 'out_of_range' });
  expectStatus(await s.add({ product_id: half.id, quantity: 1000 }), 200);
  expectFields(await s.add({ product_id: dear.id, quantity: 1 }), { quantity: 'out_of_range' });
  await s.clear();
  const answer = await s.add({ product_id: dear.id, quantity: 1 });
  expectStatus(answer, 200);
  assert.ok(answer.text.includes('"total":92233720368547758.07'), answer.text);
  expectFields(await s.set({ product_id: dear.id, quantity: 2 }), { quantity: 'out_of_range' });
  expectFields(await s.add({ product_id: plain.id, quantity: 1 }), { quantity: 'out_of_range' });
  assert.equal((await s.cart()).items.length, 1);
});

test('sums are exact where floating point is not', async () => {
  const s = await shopper();
  for (const price of [10, 20, 30, 1999, 7]) await s.add({ product_id: seed.product({ price }).id, quantity: 3 });
  const answer = await souk.get('/api/store/cart', { token: s.token });
  assert.ok(answer.text.includes('"total":61.98'), answer.text);
});

test('a free product costs nothing', async () => {
  const s = await shopper();
  const cart = dataOf(await s.add({ product_id: seed.product({ price: 0 }).id, quantity: 1000 }));
  assert.equal(cart.total, 0);
});

test('items: sets, and 0 removes', async () => {
  const s = await shopper();
  await s.add({ product_id: plain.id, quantity: 2 });
  await s.add({ product_id: tool.id, variant_id: monthly.id, quantity: 1 });
  let cart = dataOf(await s.set({ product_id: plain.id, quantity: 7 }));
  assert.deepEqual(
    cart.items.map((l) => l.quantity),
    [7, 1],
  );
  cart = dataOf(await s.set({ product_id: tool.id, variant_id: monthly.id, quantity: 1000 }));
  assert.deepEqual(
    cart.items.map((l) => l.quantity),
    [7, 1000],
  );
  cart = dataOf(await s.set({ product_id: plain.id, quantity: 0 }));
  assert.deepEqual(
    cart.items.map((l) => l.product_id),
    [tool.id],
  );
  cart = dataOf(await s.set({ product_id: plain.id, quantity: 0 })); // gone already: no error
  assert.equal(cart.items.length, 1);
  cart = dataOf(await s.set({ product_id: tool.id, variant_id: monthly.id, quantity: 0 }));
  assert.deepEqual(cart, EMPTY);
});

test('items: refuses what is not in the cart or cannot be', async () => {
  const s = await shopper();
  await s.add({ product_id: tool.id, variant_id: monthly.id, quantity: 1 });
  expectFields(await s.set({ product_id: plain.id, quantity: 1 }), { product_id: 'unknown_id' });
  expectFields(await s.set({ product_id: 987654321, quantity: 1 }), { product_id: 'unknown_id' });
  expectFields(await s.set({ product_id: tool.id, quantity: 1 }), { variant_id: 'required' });
  expectFields(await s.set({ product_id: tool.id, variant_id: 987654321, quantity: 1 }), { variant_id: 'unknown_id' });
  expectFields(await s.set({ product_id: plain.id, variant_id: monthly.id, quantity: 1 }), {
    variant_id: 'not_combinable',
  });
  expectFields(await s.set({ product_id: plain.id, quantity: -1 }), { quantity: 'out_of_range' });
  expectFields(await s.set({ product_id: plain.id, quantity: 1001 }), { quantity: 'out_of_range' });
  expectFields(await s.set({ product_id: plain.id, quantity: '1', name: 'x' }), {
    quantity: 'wrong_type',
    name: 'unknown_field',
  });
  expectFields(await s.set({}), { product_id: 'required', quantity: 'required' });
  assert.equal((await s.cart()).items[0].quantity, 1);
});

test('clearing empties the cart and drops the coupon; clearing an empty one is fine', async () => {
  const s = await shopper();
  assert.deepEqual(dataOf(await s.clear()), EMPTY);
  const coupon = seed.coupon();
  await s.add({ product_id: plain.id, quantity: 1 });
  assert.equal(dataOf(await s.coupon(coupon.code)).coupon, coupon.code);
  assert.deepEqual(dataOf(await s.clear()), EMPTY);
  const cart = dataOf(await s.add({ product_id: plain.id, quantity: 1 }));
  assert.equal(cart.coupon, null); // it has to be applied again
  assert.equal(cart.total, 19.99);
});

test('a product that is switched off stays in the cart, and can be taken out', async () => {
  const s = await shopper();
  const product = seed.product({ name: 'Going', price: 300 });
  await s.add({ product_id: product.id, quantity: 2 });
  seed.update('product', product.id, { is_active: false });
  const cart = await s.cart();
  assert.deepEqual(cart.items, [{ product_id: product.id, name: 'Going', quantity: 2, unit_price: 3, subtotal: 6 }]);
  assert.equal(cart.total, 6);
  expectFields(await s.add({ product_id: product.id, quantity: 1 }), { product_id: 'unknown_id' });
  assert.equal(dataOf(await s.set({ product_id: product.id, quantity: 1 })).total, 3);
  assert.deepEqual(dataOf(await s.set({ product_id: product.id, quantity: 0 })), EMPTY);
});

test('one token is one cart, also for tokens of the same customer', async () => {
  const s = await shopper();
  const other = await shopper();
  const second = dataOf(await souk.post('/api/customer/tokens', { name: 'second' }, { token: s.token }), 201);
  await s.add({ product_id: plain.id, quantity: 1 });
  expectStatus(
    await souk.post('/api/store/cart/add', { product_id: plain.id, quantity: 5 }, { token: second.token }),
    200,
  );
  assert.equal((await s.cart()).items[0].quantity, 1);
  assert.deepEqual(await other.cart(), EMPTY);
  assert.equal(dataOf(await souk.get('/api/store/cart', { token: second.token })).items[0].quantity, 5);
  expectStatus(await souk.delete(`/api/customer/tokens/${second.id}`, { token: s.token }), 200); // its cart goes with it
  assert.equal(
    seed.number(
      'SELECT COUNT(*) FROM cart_line WHERE quantity = 5 AND product_id = ' + `${plain.id} AND token_id = ${second.id}`,
    ),
    0,
  );
});

test('every call needs a token with the scope store', async () => {
  const s = await shopper();
  const narrow = dataOf(
    await souk.post(
      '/api/customer/tokens',
      { name: 'n', scopes: ['customer', 'catalog', 'verify', 'order'] },
      { token: s.token },
    ),
    201,
  ).token;
  const calls = [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/add', { product_id: plain.id, quantity: 1 }],
    ['PATCH', '/items', { product_id: plain.id, quantity: 1 }],
    ['POST', '/coupon', { code: 'X' }],
    ['DELETE', '/coupon'],
  ];
  for (const [method, path, body] of calls) {
    expectError(await souk.request(method, `/api/store/cart${path}`, { body }), 401, 'token_missing');
    expectError(
      await souk.request(method, `/api/store/cart${path}`, { body, token: narrow }),
      403,
      'insufficient_scope',
    );
  }
});

test('adding with an Idempotency-Key happens once', async () => {
  const s = await shopper();
  const headers = { 'Idempotency-Key': 'add-1' };
  const first = await s.add({ product_id: plain.id, quantity: 2 }, { headers });
  const again = await s.add({ product_id: plain.id, quantity: 2 }, { headers });
  assert.equal(again.text, first.text);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.equal((await s.cart()).items[0].quantity, 2);
  expectError(await s.add({ product_id: plain.id, quantity: 3 }, { headers }), 422, 'idempotency_key_reused');
  const refused = { 'Idempotency-Key': 'add-2' };
  expectFields(await s.add({ product_id: plain.id, quantity: 0 }, { headers: refused }), { quantity: 'not_positive' });
  expectStatus(await s.add({ product_id: plain.id, quantity: 1 }, { headers: refused }), 200); // a refusal keeps nothing
});

test('a cart outlives the server', async () => {
  const s = await shopper();
  await s.add({ product_id: plain.id, quantity: 3 });
  const before = await s.cart();
  await souk.restart();
  assert.deepEqual(await s.cart(), before);
});
