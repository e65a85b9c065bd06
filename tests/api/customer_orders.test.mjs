// What a customer has bought, read again.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { openShop } from './lib/shop.mjs';

const NOT_A_PRODUCT = 4503599627370495;

let shop;
let editor;

before(async () => {
  shop = await openShop();
  editor = shop.seed.product({ name: 'Editor', price: 1999 });
});
after(() => shop.stop());

test('delivered keys and codes can be read again, by their owner alone', async () => {
  const ada = await shop.buyer();
  const bob = await shop.buyer();
  const bought = await shop.bought(ada, { product_id: editor.id, quantity: 2 });
  const order = dataOf(await shop.souk.get(`/api/customer/orders/${bought.order_id}`, { token: ada.token }));
  assert.equal(order.id, bought.order_id);
  assert.equal(order.status, 'confirmed');
  assert.equal(order.channel, 'api');
  assert.equal(order.paid_with, 'wallet');
  assert.equal(order.total, 39.98);
  assert.equal(order.refunded_amount, 0);
  assert.equal(order.coupon, null);
  assert.equal(order.closed_at, null);
  assert.ok(Math.abs(Date.parse(order.confirmed_at) - Date.now()) < 60e3);
  assert.equal(order.items.length, 1);
  assert.equal(order.items[0].name, 'Editor');
  assert.equal(order.items[0].unit_price, 19.99);
  assert.deepEqual(
    order.items[0].deliveries.map((d) => [d.unit, d.type, d.value, d.is_revoked]),
    bought.deliveries.map((d, i) => [i + 1, 'license_key', d.value, false]),
  );

  expectError(await shop.souk.get(`/api/customer/orders/${bought.order_id}`, { token: bob.token }), 404, 'not_found');
  expectError(await shop.souk.get(`/api/customer/orders/${NOT_A_PRODUCT}`, { token: ada.token }), 404, 'not_found');
  assert.deepEqual(dataOf(await shop.souk.get('/api/customer/orders', { token: bob.token })), []);
});

test('an order keeps the name and price of its time', async () => {
  const product = shop.seed.product({ name: 'Old name', price: 700 });
  const ada = await shop.buyer();
  const bought = await shop.bought(ada, { product_id: product.id });
  shop.seed.update('product', product.id, { name: 'New name', price: 900, is_active: false });
  const order = dataOf(await shop.souk.get(`/api/customer/orders/${bought.order_id}`, { token: ada.token }));
  assert.equal(order.items[0].name, 'Old name');
  assert.equal(order.items[0].unit_price, 7);
});

test('the list of orders goes from the newest back, page by page', async () => {
  const ada = await shop.buyer();
  const ids = [];
  for (let i = 0; i < 5; i++) ids.unshift((await shop.bought(ada, { product_id: editor.id })).order_id);
  const seen = [];
  let path = '/api/customer/orders?limit=2';
  for (let page = 0; page < 3; page++) {
    const answer = expectStatus(await shop.souk.get(path, { token: ada.token }), 200);
    seen.push(...answer.json.data.map((o) => o.id));
    assert.ok(answer.json.data.every((o) => o.items.length === 1 && o.items[0].deliveries === undefined));
    assert.equal(answer.json.meta.has_more, page < 2);
    if (page < 2) path = /^<([^>]+)>; rel="next"$/.exec(answer.headers.link)[1];
    else assert.equal(answer.json.meta.next_cursor, null);
  }
  assert.deepEqual(seen, ids);
  expectFields(await shop.souk.get('/api/customer/orders?cursor=nonsense', { token: ada.token }), {
    cursor: 'bad_cursor',
  });
  expectFields(await shop.souk.get('/api/customer/orders?limit=101', { token: ada.token }), { limit: 'out_of_range' });
});

test('the books are in order after all of this', () => shop.check());
