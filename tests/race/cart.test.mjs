// Carts under concurrency: many connections on one token lose nothing, double nothing, and pass no limit.
// release: sqlite
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf, expectStatus } from '../api/lib/http.mjs';
import { seeder } from '../api/lib/seed.mjs';
import { startSouk, together } from '../api/lib/souk.mjs';

const CONNECTIONS = 32;

let souk;
let seed;
let clients;
before(async () => {
  souk = await startSouk();
  seed = seeder(souk);
  clients = Array.from({ length: CONNECTIONS }, () => souk.newClient({ sockets: 1 }));
  await Promise.all(clients.map((c) => c.get('/livez'))); // connected before the race
});
after(async () => {
  for (const c of clients) c.close();
  await souk.stop();
});

/** One request per connection, all at once. */
function all(job) {
  return Promise.all(clients.map((client, i) => job(client, i)));
}

function add(client, token, body) {
  return client.post('/api/store/cart/add', body, { token });
}

for (let round = 1; round <= 5; round++) {
  test(`32 connections add the same product: one line, 32 units (round ${round})`, async () => {
    const { token } = await souk.customer();
    const product = seed.product({ price: 100 });
    const answers = await all((client) => add(client, token, { product_id: product.id, quantity: 1 }));
    // Each saw what the one before left: every quantity from 1 to 32 was answered once.
    const seen = answers.map((a) => dataOf(a).items[0].quantity).sort((x, y) => x - y);
    assert.deepEqual(
      seen,
      Array.from({ length: CONNECTIONS }, (_, i) => i + 1),
    );
    const cart = dataOf(await souk.get('/api/store/cart', { token }));
    assert.equal(cart.items.length, 1);
    assert.equal(cart.items[0].quantity, CONNECTIONS);
    assert.equal(cart.total, CONNECTIONS);
  });
}

test('the limit of 1000 units holds', async () => {
  const { token } = await souk.customer();
  const product = seed.product({ price: 100 });
  const answers = await all((client) => add(client, token, { product_id: product.id, quantity: 90 }));
  const done = answers.filter((a) => a.status === 200).length;
  assert.equal(done, 11); // 11 * 90 = 990
  for (const a of answers) if (a.status !== 200) assert.equal(a.json.errors[0].code, 'quantity_limit', a.text);
  assert.equal(dataOf(await souk.get('/api/store/cart', { token })).items[0].quantity, 990);
});

test('the limit of 100 lines holds', async () => {
  const { token } = await souk.customer();
  const product = seed.product();
  const rows = Array.from({ length: 130 }, (_, i) => `(${product.id}, 'v${i}', 100)`).join(', ');
  seed.sql(`INSERT INTO variant (product_id, name, price) VALUES ${rows};`);
  const ids = seed.sql(`SELECT id FROM variant WHERE product_id = ${product.id} ORDER BY id;`).map((r) => Number(r[0]));
  await together(90, 16, async (i) =>
    expectStatus(
      await add(clients[i % CONNECTIONS], token, { product_id: product.id, variant_id: ids[i], quantity: 1 }),
      200,
    ),
  );
  const answers = await all((client, i) =>
    add(client, token, { product_id: product.id, variant_id: ids[90 + i], quantity: 1 }),
  );
  assert.equal(answers.filter((a) => a.status === 200).length, 10);
  for (const a of answers) if (a.status !== 200) assert.equal(a.json.code, 'cart_full', a.text);
  assert.equal(dataOf(await souk.get('/api/store/cart', { token })).items.length, 100);
});

test('one Idempotency-Key on 32 connections adds once', async () => {
  const { token } = await souk.customer();
  const product = seed.product({ price: 100 });
  const answers = await all((client) =>
    client.post(
      '/api/store/cart/add',
      { product_id: product.id, quantity: 3 },
      { token, headers: { 'Idempotency-Key': 'one' } },
    ),
  );
  assert.equal(new Set(answers.map((a) => expectStatus(a, 200).text)).size, 1);
  assert.equal(answers.filter((a) => a.headers['idempotent-replayed'] === undefined).length, 1);
  assert.equal(dataOf(await souk.get('/api/store/cart', { token })).items[0].quantity, 3);
});

test('adding, setting, clearing, coupons and reading at once: every answer is a cart that adds up', async () => {
  const { token } = await souk.customer();
  const products = [seed.product({ price: 199 }), seed.product({ price: 333 })];
  const coupon = seed.coupon({ value: 2500 });
  const line = (i) => ({ product_id: products[i % 2].id, quantity: 1 + (i % 3) });
  const calls = [
    (c, i) => c.post('/api/store/cart/add', line(i), { token }),
    (c, i) => c.patch('/api/store/cart/items', { ...line(i), quantity: 0 }, { token }),
    (c) => c.delete('/api/store/cart', { token }),
    (c) => c.post('/api/store/cart/coupon', { code: coupon.code }, { token }),
    (c) => c.delete('/api/store/cart/coupon', { token }),
    (c) => c.get('/api/store/cart', { token }),
  ];
  for (let round = 0; round < 8; round++) {
    for (const answer of await all((client, i) => calls[(i + round) % calls.length](client, i))) {
      const cart = dataOf(answer);
      const cents = (n) => Math.round(n * 100);
      const sum = cart.items.reduce((s, l) => s + cents(l.unit_price) * l.quantity, 0);
      const off = cart.coupon === null ? 0 : Math.floor((sum * 25 + 50) / 100);
      assert.ok(cart.items.length <= 2);
      assert.equal(cents(cart.discount), off, answer.text);
      assert.equal(cents(cart.total), sum - off, answer.text);
    }
  }
});
