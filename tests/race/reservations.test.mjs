// Reserved codes under pressure: two buyers and the last code, the end of the time at the moment of the payment, one customer
// with many carts at once.
// release: pg
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf } from '../api/lib/http.mjs';
import { LABELS, openPaidShop, signed, stripeEvent } from '../api/lib/gateways.mjs';

const ROUNDS = 5;
let shop;
let clients;
let counter = 0;

before(async () => {
  shop = await openPaidShop();
  await shop.listen('stripe');
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { reserve_minutes: 30, reserve_codes_max: 5 }));
  clients = Array.from({ length: 12 }, () => shop.souk.newClient());
  const probe = pool(50);
  await shop.until(async () => {
    const buyer = await shop.buyerWith([[probe, 1]]);
    return (await shop.order(buyer, (await shop.checkout(buyer, LABELS.stripe)).order_id)).reserved_until;
  }, 'the server knows the setting');
});
after(async () => {
  clients.forEach((c) => c.close());
  await shop.stop();
});

function pool(size) {
  counter += 1;
  const product = shop.seed.product({ price: 500, delivery_type: 'serial_code' });
  shop.seed.serials(
    product,
    Array.from({ length: size }, (_, i) => `RR-${counter}-${i}`),
  );
  return product;
}
const checkout = (client, token) => client.post('/api/store/cart/checkout', { pay_with: LABELS.stripe }, { token });
const stock = async (product) => dataOf(await shop.admin('GET', `/api/admin/products/${product.id}/serials`)).pools[0];
/** Told again while the answer is 503, as providers do: somebody else took the last code at the same moment. */
async function succeed(client, order) {
  const raw = JSON.stringify(stripeEvent('payment_intent.succeeded', { order, amount: 500, intent: `pi_rr_${order}` }));
  for (let tries = 0; ; tries++) {
    const answer = await client.request('POST', `/webhook/${LABELS.stripe}`, {
      body: raw,
      type: 'application/json',
      headers: signed('stripe', raw),
    });
    if (answer.status !== 503 || tries === 10) return answer;
  }
}

test('the last code: of buyers at once one gets an order, the others are told that it is sold out', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const product = pool(1);
    const buyers = await Promise.all(Array.from({ length: 4 }, () => shop.buyerWith([[product, 1]])));
    const answers = await Promise.all(buyers.map((b, i) => checkout(clients[i], b.token)));
    assert.deepEqual(answers.map((a) => a.json.code ?? a.status).sort(), [
      201,
      'out_of_stock',
      'out_of_stock',
      'out_of_stock',
    ]);
    assert.deepEqual([(await stock(product)).free, (await stock(product)).reserved], [0, 1]);
  }
  await shop.check();
});

test('the time ends at the moment of the payment: delivered, or the code is somebody else’s and a person looks', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const product = pool(1);
    const buyer = await shop.buyerWith([[product, 1]]);
    const { order_id: id } = await shop.checkout(buyer, LABELS.stripe);
    const rival = await shop.buyerWith([[product, 1]]);
    shop.seed.sql(`UPDATE orders SET reserved_until = ${Date.now() - 1} WHERE id = ${id};`);
    if (round % 2) await shop.until(async () => (await stock(product)).free === 1, 'freed');
    const [paid, other] = await Promise.all([succeed(clients[0], id), checkout(clients[1], rival.token)]);
    assert.equal(paid.status, 200, paid.text);
    const order = await shop.order(buyer, id);
    const isOthers = other.status === 201;
    assert.equal(order.status, isOthers ? 'pending' : 'confirmed', `${other.status} for the rival`);
    assert.equal(order.items[0].deliveries.length, isOthers ? 0 : 1);
    if (isOthers) assert.equal(shop.count(`review WHERE order_id = ${id} AND kind = 'stock' AND status = 'open'`), 1);
    assert.equal(order.reserved_until, null);
  }
  await shop.check();
});

test('one customer with many carts at once is given no more than one may have', async () => {
  const product = pool(30);
  const hoarder = await shop.buyer({ balance: 0 });
  const tokens = await Promise.all(clients.map(() => shop.token(hoarder, ['store'])));
  for (const token of tokens)
    dataOf(await shop.souk.post('/api/store/cart/add', { product_id: product.id, quantity: 1 }, { token }));
  const answers = await Promise.all(tokens.map((token, i) => checkout(clients[i], token)));
  assert.deepEqual([...new Set(answers.map((a) => a.status))], [201]);
  assert.equal((await stock(product)).reserved, 5);
  await shop.check();
});

test('many orders end and are paid at once: every code is in the pool, reserved or sold, once', async () => {
  const product = pool(8);
  const orders = [];
  for (let i = 0; i < 8; i++) {
    const buyer = await shop.buyerWith([[product, 1]]);
    orders.push({ buyer, id: (await shop.checkout(buyer, LABELS.stripe)).order_id });
  }
  shop.seed.sql(
    `UPDATE orders SET reserved_until = ${Date.now() - 1} WHERE id IN (${orders.map((o) => o.id).join(', ')});`,
  );
  const half = orders.filter((_, i) => i % 2);
  const rest = orders.filter((_, i) => i % 2 === 0);
  await Promise.all([
    ...half.map((o, i) => succeed(clients[i], o.id)),
    ...rest.map((o, i) =>
      clients[6 + i].post(`/api/customer/orders/${o.id}/cancel`, undefined, { token: o.buyer.token }),
    ),
  ]);
  await shop.until(async () => (await stock(product)).reserved === 0, 'nothing is kept any more');
  assert.deepEqual([(await stock(product)).free, (await stock(product)).taken], [4, 4]);
  for (const o of half) assert.equal((await shop.order(o.buyer, o.id)).items[0].deliveries.length, 1);
  await shop.check();
});
