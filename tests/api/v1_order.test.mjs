// Orders of the integration API: price, payment, delivery, and everything that can refuse them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { openShop } from './lib/shop.mjs';

const KEY = /^[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){4}$/;
const NOT_A_PRODUCT = 4503599627370495;

let shop;
let editor;

before(async () => {
  shop = await openShop();
  editor = shop.seed.product({ name: 'Editor', price: 1999 });
});
after(() => shop.stop());

/** The order is refused as `expect` says, and has left nothing behind. */
async function refused(customer, body, expect, options) {
  const before_ = [...shop.traces(), (await shop.wallet(customer)).balance];
  const answer = await shop.order(customer, body, options);
  expect(answer);
  assert.deepEqual(
    [...shop.traces(), (await shop.wallet(customer)).balance],
    before_,
    'a refused order left something behind',
  );
  return answer;
}

test('an order is paid out of the wallet and delivered in the same answer', async () => {
  const ada = await shop.buyer({ balance: 5000 });
  const answer = await shop.order(ada, { product_id: editor.id });
  const data = dataOf(answer);
  assert.equal(answer.json.message, 'Order confirmed');
  assert.match(answer.text, /"total":19\.99[,}]/, 'money has the decimals of its currency');
  assert.deepEqual(Object.keys(data).sort(), ['deliveries', 'delivery', 'order_id', 'status', 'total']);
  assert.equal(data.total, 19.99);
  assert.equal(data.status, 'confirmed');
  assert.deepEqual(Object.keys(data.delivery), ['type', 'value']);
  assert.equal(data.delivery.type, 'license_key');
  assert.match(data.delivery.value, KEY);
  assert.deepEqual(data.deliveries, [data.delivery]);

  const wallet = await shop.wallet(ada);
  assert.equal(wallet.balance, 30.01);
  const [gift, paid] = wallet.transactions;
  assert.equal(gift.type, 'credit');
  assert.equal(paid.type, 'debit');
  assert.equal(paid.amount, 19.99);
  assert.equal(paid.description, `Order #${data.order_id}`);

  const verdict = await shop.verify(ada, { license_key: data.delivery.value, product_id: editor.id });
  assert.equal(dataOf(verdict).user_id, ada.id);
});

test('the balance may be spent to the last cent, and not a cent further', async () => {
  const ada = await shop.buyer({ balance: 3998 });
  await shop.bought(ada, { product_id: editor.id });
  await shop.bought(ada, { product_id: editor.id });
  assert.equal((await shop.wallet(ada)).balance, 0);
  const bob = await shop.buyer({ balance: 1998 });
  const answer = await refused(bob, { product_id: editor.id }, (a) =>
    expectError(a, 402, 'insufficient_balance', 'Insufficient wallet balance'),
  );
  assert.equal(answer.json.required, 19.99);
  assert.equal(answer.json.available, 19.98);
});

test('a customer who never had money is told what an order needs', async () => {
  const ada = await shop.buyer({ balance: 0 });
  const answer = await refused(ada, { product_id: editor.id, quantity: 3 }, (a) =>
    expectError(a, 402, 'insufficient_balance', 'Insufficient wallet balance'),
  );
  assert.equal(answer.json.required, 59.97);
  assert.equal(answer.json.available, 0);
});

test('post-pay credit lets API orders reach minus the limit, and not further', async () => {
  const ada = await shop.buyer({ balance: 1000, credit_limit: 2998 });
  await shop.bought(ada, { product_id: editor.id });
  await shop.bought(ada, { product_id: editor.id });
  const wallet = await shop.wallet(ada);
  assert.equal(wallet.balance, -29.98);
  assert.equal(wallet.credit_limit, 29.98);
  const penny = shop.seed.product({ price: 1 });
  const answer = await refused(ada, { product_id: penny.id }, (a) => expectError(a, 402, 'insufficient_balance'));
  assert.equal(answer.json.required, 0.01);
  assert.equal(answer.json.available, 0);
});

test('post-pay credit cannot be withdrawn', async () => {
  const ada = await shop.buyer({ balance: 1000, credit_limit: 5000 });
  const answer = await shop.souk.post('/api/customer/wallet/withdraw', { amount: 10.01 }, { token: ada.token });
  expectFields(answer, { amount: 'exceeds_balance' });
});

test('several units are delivered one by one, and together in delivery.value', async () => {
  const ada = await shop.buyer();
  const data = await shop.bought(ada, { product_id: editor.id, quantity: 3 });
  assert.equal(data.total, 59.97);
  assert.equal(data.deliveries.length, 3);
  assert.equal(new Set(data.deliveries.map((d) => d.value)).size, 3);
  assert.equal(data.delivery.value, data.deliveries.map((d) => d.value).join('\n'));
  for (const d of data.deliveries) {
    assert.match(d.value, KEY);
    dataOf(await shop.verify(ada, { license_key: d.value, product_id: editor.id }));
  }
});

test('a thousand units are delivered, one more is refused', async () => {
  const free = shop.seed.product({ price: 0 });
  const ada = await shop.buyer({ balance: 0 });
  const data = await shop.bought(ada, { product_id: free.id, quantity: 1000 });
  assert.equal(new Set(data.deliveries.map((d) => d.value)).size, 1000);
  await refused(ada, { product_id: free.id, quantity: 1001 }, (a) => expectFields(a, { quantity: 'out_of_range' }));
});

test('serial codes come from the pool, oldest first, until it is empty', async () => {
  const product = shop.seed.product({ delivery_type: 'serial_code', price: 500 });
  shop.seed.serials(product, ['S-ONE', 'S-TWO', 'S-THREE']);
  const ada = await shop.buyer();
  const first = await shop.bought(ada, { product_id: product.id });
  assert.deepEqual(first.delivery, { type: 'serial_code', value: 'S-ONE' });
  await refused(ada, { product_id: product.id, quantity: 3 }, (a) =>
    expectError(a, 409, 'out_of_stock', 'Out of stock'),
  );
  const rest = await shop.bought(ada, { product_id: product.id, quantity: 2 });
  assert.equal(rest.delivery.value, 'S-TWO\nS-THREE');
  await refused(ada, { product_id: product.id }, (a) => expectError(a, 409, 'out_of_stock', 'Out of stock'));
});

test('a download without a file or an address is out of stock', async () => {
  const product = shop.seed.product({ delivery_type: 'download_url' });
  const ada = await shop.buyer();
  await refused(ada, { product_id: product.id }, (a) => expectError(a, 409, 'out_of_stock'));
});

test('without variant_id the default variant is bought, with one that one', async () => {
  const product = shop.seed.product({ price: 1, license_days: 10 });
  const yearly = shop.seed.variant(product, { name: 'Yearly', price: 9000, license_days: 365 });
  const monthly = shop.seed.variant(product, { name: 'Monthly', price: 900, is_default: true });
  const off = shop.seed.variant(product, { name: 'Old', price: 1, is_active: false });
  const ada = await shop.buyer();
  const standard = await shop.bought(ada, { product_id: product.id });
  assert.equal(standard.total, 9);
  const chosen = await shop.bought(ada, { product_id: product.id, variant_id: yearly.id });
  assert.equal(chosen.total, 90);

  const order = dataOf(await shop.souk.get(`/api/customer/orders/${chosen.order_id}`, { token: ada.token }));
  assert.equal(order.items[0].variant_id, yearly.id);
  assert.equal(order.items[0].variant_name, 'Yearly');
  const days = async (bought) => {
    const { expires_at, checked_at } = dataOf(
      await shop.verify(ada, { license_key: bought.delivery.value, product_id: product.id }),
    );
    return Math.round((Date.parse(expires_at) - Date.parse(checked_at)) / 86400e3);
  };
  assert.equal(await days(standard), 10, "a variant without its own takes the product's validity");
  assert.equal(await days(chosen), 365);

  const other = shop.seed.variant(shop.seed.product(), { is_default: true });
  for (const id of [off.id, other.id, NOT_A_PRODUCT]) {
    await refused(ada, { product_id: product.id, variant_id: id }, (a) =>
      expectFields(a, { variant_id: 'unknown_id' }),
    );
  }
  await refused(ada, { product_id: editor.id, variant_id: monthly.id }, (a) =>
    expectFields(a, { variant_id: 'not_combinable' }),
  );
});

test('unknown, inactive and draft products are one and the same 404', async () => {
  const ada = await shop.buyer();
  const draft = shop.seed.product({ is_active: false });
  const bodies = [];
  for (const id of [NOT_A_PRODUCT, draft.id]) {
    const answer = await refused(ada, { product_id: id }, (a) => expectError(a, 404, 'not_found', 'Product not found'));
    bodies.push({ ...answer.json, request_id: '' });
  }
  assert.deepEqual(bodies[0], bodies[1]);
});

test('what the body may hold', async () => {
  const ada = await shop.buyer();
  const bad = [
    [{}, { product_id: 'required' }],
    [{ product_id: null }, { product_id: 'required' }],
    [{ product_id: '1' }, { product_id: 'wrong_type' }],
    [{ product_id: 1.5 }, { product_id: 'wrong_type' }],
    [{ product_id: 0 }, { product_id: 'not_positive' }],
    [{ product_id: editor.id, quantity: 0 }, { quantity: 'not_positive' }],
    [{ product_id: editor.id, quantity: -1 }, { quantity: 'not_positive' }],
    [{ product_id: editor.id, quantity: '2' }, { quantity: 'wrong_type' }],
    [{ product_id: editor.id, quantity: 2.5 }, { quantity: 'wrong_type' }],
    [{ product_id: editor.id, quantity: true }, { quantity: 'wrong_type' }],
    [{ product_id: editor.id, coupon_code: 7 }, { coupon_code: 'wrong_type' }],
    [{ product_id: editor.id, coupon_code: '' }, { coupon_code: 'too_short' }],
    [
      { product_id: editor.id, price: 0.01, total: 0, account_id: 1, status: 'confirmed' },
      { price: 'unknown_field', total: 'unknown_field', account_id: 'unknown_field', status: 'unknown_field' },
    ],
    [
      { quantity: 0, product_id: [], coupon_code: {} },
      { quantity: 'not_positive', product_id: 'wrong_type', coupon_code: 'wrong_type' },
    ],
  ];
  const before_ = shop.traces();
  for (const [body, fields] of bad) expectFields(await shop.order(ada, body), fields);
  for (const text of ['{"product_id":1e0}', '{"product_id":1.0}', '{"product_id":9223372036854775808}']) {
    expectStatus(await shop.order(ada, text), 422);
  }
  expectError(await shop.order(ada, '{"product_id":'), 400, 'malformed_json');
  expectError(await shop.order(ada, '{"product_id":1,"product_id":2}'), 400, 'malformed_json');
  assert.deepEqual(shop.traces(), before_);
  await shop.bought(ada, { product_id: editor.id, variant_id: null, quantity: null, coupon_code: null });
});

test('a sum that does not fit is refused, never wrapped', async () => {
  const gold = shop.seed.product({ price: '9223372036854775807' });
  const ada = await shop.buyer();
  await refused(ada, { product_id: gold.id, quantity: 2 }, (a) => expectFields(a, { quantity: 'out_of_range' }));
  await refused(ada, { product_id: gold.id, quantity: 1000 }, (a) => expectFields(a, { quantity: 'out_of_range' }));
  await refused(ada, { product_id: gold.id }, (a) => expectError(a, 402, 'insufficient_balance'));
});

test('a coupon takes its part off, rounded half up, never below zero', async () => {
  const ada = await shop.buyer();
  const percent = shop.seed.coupon({ kind: 'percent', value: 1250 });
  const half = shop.seed.coupon({ kind: 'percent', value: 5000 });
  const fixed = shop.seed.coupon({ kind: 'fixed', value: 500 });
  const all = shop.seed.coupon({ kind: 'fixed', value: 100000 });
  assert.equal(
    (await shop.bought(ada, { product_id: editor.id, coupon_code: percent.code.toLowerCase() })).total,
    17.49,
  );
  assert.equal((await shop.bought(ada, { product_id: editor.id, coupon_code: half.code })).total, 9.99);
  assert.equal((await shop.bought(ada, { product_id: editor.id, coupon_code: fixed.code, quantity: 2 })).total, 34.98);

  const broke = await shop.buyer({ balance: 0 });
  const free = await shop.bought(broke, { product_id: editor.id, coupon_code: all.code });
  assert.equal(free.total, 0);
  const order = dataOf(await shop.souk.get(`/api/customer/orders/${free.order_id}`, { token: broke.token }));
  assert.equal(order.paid_with, 'free');
  assert.equal(order.discount, 19.99);
  assert.equal(order.coupon, all.code);
});

test('a coupon that cannot be used refuses the order, and is not counted', async () => {
  const ada = await shop.buyer({ balance: 10000 });
  const other = shop.seed.product();
  const now = Date.now();
  const used = shop.seed.coupon();
  await shop.bought(ada, { product_id: editor.id, coupon_code: used.code });
  const cases = [
    ['NO-SUCH-CODE', 'coupon_invalid'],
    ['not a code!', 'coupon_invalid'],
    ['x'.repeat(200), 'coupon_invalid'],
    [shop.seed.coupon({ is_active: false }).code, 'coupon_invalid'],
    [shop.seed.coupon({ starts_at: now + 3600e3 }).code, 'coupon_invalid'],
    [shop.seed.coupon({ expires_at: now - 1 }).code, 'coupon_invalid'],
    [shop.seed.coupon({ products: [other] }).code, 'coupon_not_applicable'],
    [shop.seed.coupon({ min_total: 2000 }).code, 'coupon_min_total'],
    [used.code, 'coupon_used'],
  ];
  const messages = new Set();
  for (const [code, error] of cases) {
    const answer = await refused(ada, { product_id: editor.id, coupon_code: code }, (a) => expectError(a, 422, error));
    if (error === 'coupon_invalid') messages.add(answer.json.message);
  }
  assert.deepEqual([...messages], ['The coupon code is invalid or has expired']);

  const one = shop.seed.coupon({ max_uses: 1, max_uses_per_customer: null });
  await shop.bought(ada, { product_id: editor.id, coupon_code: one.code });
  const bob = await shop.buyer();
  await refused(bob, { product_id: editor.id, coupon_code: one.code }, (a) => expectError(a, 422, 'coupon_exhausted'));

  // A good coupon in an order that fails for another reason is not used up.
  const good = shop.seed.coupon({ value: 1 });
  const poor = await shop.buyer({ balance: 5 });
  await refused(poor, { product_id: editor.id, coupon_code: good.code }, (a) =>
    expectError(a, 402, 'insufficient_balance'),
  );
  shop.fund(poor, 5000);
  await shop.bought(poor, { product_id: editor.id, coupon_code: good.code });
});

test('the same key and body: one order, the same bytes again', async () => {
  const ada = await shop.buyer({ balance: 10000 });
  const headers = { 'Idempotency-Key': 'order-1' };
  const first = expectStatus(await shop.order(ada, { product_id: editor.id }, { headers }), 200);
  assert.equal(first.headers['idempotent-replayed'], undefined);
  for (let i = 0; i < 3; i++) {
    const again = expectStatus(await shop.order(ada, { product_id: editor.id }, { headers }), 200);
    assert.equal(again.text, first.text);
    assert.equal(again.headers['idempotent-replayed'], 'true');
  }
  assert.equal((await shop.wallet(ada)).balance, 80.01);
  expectError(
    await shop.order(ada, { product_id: editor.id, quantity: 2 }, { headers }),
    422,
    'idempotency_key_reused',
  );

  // Somebody else's key of the same name is another key.
  const bob = await shop.buyer({ balance: 10000 });
  const bobs = await shop.order(bob, { product_id: editor.id }, { headers });
  assert.notEqual(dataOf(bobs).order_id, first.json.data.order_id);
});

test('a key is kept for 30 days, and then forgotten', async () => {
  const ada = await shop.buyer({ balance: 10000 });
  const send = (key) => shop.order(ada, { product_id: editor.id }, { headers: { 'Idempotency-Key': key } });
  const old = dataOf(await send('old')).order_id;
  const oldest = shop.seed.number('SELECT COALESCE(MAX(id), 0) FROM idempotency');
  const young = dataOf(await send('young')).order_id;
  const age = (ms) => {
    const at = Date.now() - ms;
    shop.seed.sql(`UPDATE idempotency SET created_at = ${at} WHERE id <= ${oldest};
      UPDATE orders SET created_at = ${at} WHERE id = ${old};`);
  };
  age(30 * 86400e3 - 60e3);
  await sleep(1500);
  assert.equal(dataOf(await send('old')).order_id, old, 'a minute is left');
  age(30 * 86400e3 + 60e3);
  const deadline = Date.now() + 60000;
  while (shop.count(`idempotency WHERE id <= ${oldest}`) > 0 && Date.now() < deadline) await sleep(100);
  const next = dataOf(await send('old')).order_id;
  assert.notEqual(next, old);
  assert.equal(dataOf(await send('old')).order_id, next);
  assert.equal(dataOf(await send('young')).order_id, young);
  await shop.souk.restart();
  assert.equal(dataOf(await send('old')).order_id, next);
  assert.equal(dataOf(await send('young')).order_id, young);
});

test('a refused order does not use up its key', async () => {
  const ada = await shop.buyer({ balance: 100 });
  const headers = { 'Idempotency-Key': 'order-2' };
  await refused(ada, { product_id: editor.id }, (a) => expectError(a, 402, 'insufficient_balance'), { headers });
  await refused(ada, { product_id: editor.id, quantity: 0 }, (a) => expectFields(a, { quantity: 'not_positive' }), {
    headers,
  });
  shop.fund(ada, 10000);
  const answer = expectStatus(await shop.order(ada, { product_id: editor.id }, { headers }), 200);
  assert.equal(answer.headers['idempotent-replayed'], undefined);
});

test('orders need the scope `order`', async () => {
  const ada = await shop.buyer();
  for (const scope of ['customer', 'store', 'catalog', 'verify']) {
    const token = await shop.token(ada, [scope]);
    await refused(ada, { product_id: editor.id }, (a) => expectError(a, 403, 'insufficient_scope'), { token });
  }
  await shop.bought(ada, { product_id: editor.id }, { token: await shop.token(ada, ['order']) });
});

test('past the limit of v1 the answer is 429 Too Many Requests, with the time to wait', async (t) => {
  const small = await openShop({ limited: true, args: ['--rate-v1', '5'] });
  t.after(() => small.stop());
  const product = small.seed.product({ price: 1 });
  const ada = await small.buyer();
  const statuses = [];
  let last;
  for (let i = 0; i < 8; i++) {
    last = await small.order(ada, { product_id: product.id });
    statuses.push(last.status);
    assert.match(last.headers['ratelimit-policy'], /^"v1";q=5;w=60$/);
  }
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429, 429, 429]);
  expectError(last, 429, 'rate_limited', 'Too Many Requests');
  assert.ok(Number(last.headers['retry-after']) >= 1);
  assert.match(last.headers.ratelimit, /^"v1";r=0;t=\d+$/);
  assert.equal(small.count('orders'), 5);
  expectError(await small.verify(ada, { license_key: 'x', product_id: 1 }), 429, 'rate_limited', 'Too Many Requests');
  expectStatus(await small.souk.get('/api/customer/orders', { token: ada.token }), 200);
});

test('the books are in order after all of this', () => shop.check());
