// Serial codes that are kept for an order while its payment is open: off by default, limited per customer, freed in time.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser } from './lib/browser.mjs';
import { dataOf, expectError } from './lib/http.mjs';
import { LABELS, openPaidShop, stripeEvent } from './lib/gateways.mjs';
import { freshStore } from './lib/souk.mjs';

let shop;
let counter = 0;

before(async () => {
  shop = await openPaidShop();
  await shop.listen('stripe');
  await shop.listen('razorpay');
});
after(() => shop.stop());

function pool(size, name = 'Codes') {
  counter += 1;
  const product = shop.seed.product({ name, slug: `codes-${counter}`, price: 500, delivery_type: 'serial_code' });
  shop.seed.serials(
    product,
    Array.from({ length: size }, (_, i) => `RSV-${counter}-${i}`),
  );
  return product;
}
async function pending(product, quantity = 1, buyer = undefined) {
  const who = buyer ?? (await shop.buyer({ balance: 0 }));
  dataOf(await shop.souk.post('/api/store/cart/add', { product_id: product.id, quantity }, { token: who.token }));
  const { order_id: id } = await shop.checkout(who, LABELS.stripe);
  counter += 1;
  return { buyer: who, id, amount: 500 * quantity, intent: `pi_rs_${counter}`, seen: () => shop.order(who, id) };
}
const refused = async (product) => {
  const buyer = await shop.buyerWith([[product, 1]]);
  expectError(await shop.checkoutAnswer(buyer, LABELS.stripe), 409, 'out_of_stock');
};
const event = async (type, order) =>
  dataOf(
    await shop.event('stripe', stripeEvent(type, { order: order.id, amount: order.amount, intent: order.intent })),
  );
const stock = async (product) => dataOf(await shop.admin('GET', `/api/admin/products/${product.id}/serials`)).pools[0];
const inStock = async (product) => dataOf(await shop.souk.get(`/api/store/products/${product.slug}`)).in_stock;
/** The time of an order's reservation is over. */
const overdue = (order) =>
  shop.seed.sql(`UPDATE orders SET reserved_until = ${Date.now() - 1000} WHERE id = ${order.id};`);

test('off by default: two orders may wait for the last code', async () => {
  const product = pool(1);
  const first = await pending(product);
  assert.equal((await first.seen()).reserved_until, null);
  await pending(product);
  assert.deepEqual([(await stock(product)).free, (await stock(product)).reserved], [1, 0]);
});

test('switched on, the last code is kept for who checks out first, and delivered when it is paid', async () => {
  const probe = pool(50);
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { reserve_minutes: 30, reserve_codes_max: 3 }));
  await shop.until(async () => (await (await pending(probe)).seen()).reserved_until, 'the server knows the setting');
  const product = pool(1);
  const before_ = Date.now();
  const order = await pending(product);
  const minutes = (Date.parse((await order.seen()).reserved_until) - before_) / 60000;
  assert.ok(minutes > 29.9 && minutes < 35, `kept for ${minutes} minutes`);
  assert.deepEqual(await stock(product), {
    variant_id: null,
    variant_name: '',
    free: 0,
    reserved: 1,
    taken: 0,
    refunded: 0,
  });
  await shop.until(async () => (await inStock(product)) === false, 'shown as sold out');
  const [code] = dataOf(await shop.admin('GET', `/api/admin/products/${product.id}/serials`)).codes;
  assert.deepEqual([code.is_reserved, code.is_refunded], [true, false]);
  await refused(product);
  expectError(
    await shop.souk.post('/api/v1/order/create', { product_id: product.id }, { token: (await shop.buyer()).token }),
    409,
    'out_of_stock',
  );
  await shop.check();
  await event('payment_intent.succeeded', order);
  const now = await order.seen();
  assert.deepEqual([now.status, now.reserved_until, now.items[0].deliveries.length], ['confirmed', null, 1]);
  assert.deepEqual(await stock(product), {
    variant_id: null,
    variant_name: '',
    free: 0,
    reserved: 0,
    taken: 1,
    refunded: 0,
  });
  await shop.check();
});

test('several units, some of them of the shared pool, are all kept and all delivered', async () => {
  const product = pool(1);
  const variant = shop.seed.variant(product, { name: 'Pro', price: 500 });
  shop.seed.serials(product, ['RSV-PRO-1', 'RSV-PRO-2'], variant.id ?? variant);
  const buyer = await shop.buyer({ balance: 0 });
  dataOf(
    await shop.souk.post(
      '/api/store/cart/add',
      { product_id: product.id, variant_id: variant.id ?? variant, quantity: 3 },
      { token: buyer.token },
    ),
  );
  const tool = shop.seed.product({ name: 'Tool', price: 100 }); // which needs no code
  dataOf(await shop.souk.post('/api/store/cart/add', { product_id: tool.id, quantity: 1 }, { token: buyer.token }));
  const { order_id: id } = await shop.checkout(buyer, LABELS.stripe);
  assert.ok((await shop.order(buyer, id)).reserved_until);
  // While a code cannot be opened nothing is delivered, and nothing is lost: the gateway sends its message again.
  const [codes] = shop.seed.sql(`SELECT MIN(id), MAX(id) FROM serial WHERE taken_by = (SELECT MIN(id) FROM order_item
    WHERE order_id = ${id});`);
  shop.seed.sql(`CREATE TABLE kept AS SELECT id, sealed_code FROM serial WHERE id IN (${codes});`);
  const put = (which) =>
    shop.seed.sql(`UPDATE serial SET sealed_code = (SELECT k.sealed_code FROM kept k WHERE k.id ${which} serial.id)
      WHERE id IN (${codes});`);
  const succeeded = stripeEvent('payment_intent.succeeded', { order: id, amount: 1600, intent: `pi_rs_v${id}` });
  put('<>');
  expectError(await shop.event('stripe', succeeded), 500, 'internal');
  assert.equal((await shop.order(buyer, id)).status, 'pending');
  put('=');
  shop.seed.sql('DROP TABLE kept;');
  dataOf(await shop.event('stripe', succeeded));
  const delivered = (await shop.order(buyer, id)).items[0].deliveries;
  assert.deepEqual(
    delivered.map((d) => d.unit),
    [1, 2, 3],
  );
  assert.equal(new Set(delivered.map((d) => d.value)).size, 3);
  await shop.check();
});

test('freed when the order is cancelled, when its payment fails, and when the time is over', async () => {
  const ends = {
    cancelled: async (order) =>
      dataOf(await shop.souk.post(`/api/customer/orders/${order.id}/cancel`, undefined, { token: order.buyer.token })),
    failed: (order) => event('payment_intent.payment_failed', order),
    over: overdue,
  };
  for (const [how, end] of Object.entries(ends)) {
    const product = pool(1, how);
    const order = await pending(product);
    await refused(product);
    await end(order);
    await shop.until(async () => (await stock(product)).free === 1, `the code is free: ${how}`);
    assert.equal((await order.seen()).reserved_until, null);
    await shop.until(() => inStock(product), 'shown as in stock');
    assert.ok((await (await pending(product)).seen()).reserved_until, 'somebody else can have it');
    await shop.check();
  }
});

test('paid after the time: another code if there is one, else a person looks', async () => {
  const product = pool(1);
  const late = await pending(product);
  overdue(late);
  await shop.until(async () => (await stock(product)).free === 1, 'freed');
  const rival = await pending(product);
  await event('payment_intent.succeeded', late);
  assert.equal((await late.seen()).status, 'pending');
  const reviews = dataOf(await shop.admin('GET', '/api/admin/reviews?status=open&kind=stock'));
  assert.ok(reviews.some((r) => r.order_id === late.id));
  await event('payment_intent.succeeded', rival);
  assert.equal((await rival.seen()).status, 'confirmed');
  await shop.check();
});

test('a customer has so many codes at once; orders beyond that are made without, and others get theirs', async () => {
  const product = pool(20);
  const hoarder = await shop.buyer({ balance: 0 });
  assert.ok((await (await pending(product, 2, hoarder)).seen()).reserved_until);
  assert.equal((await (await pending(product, 2, hoarder)).seen()).reserved_until, null);
  assert.ok((await (await pending(product, 1, hoarder)).seen()).reserved_until);
  assert.equal((await (await pending(product, 1, hoarder)).seen()).reserved_until, null);
  assert.equal((await (await pending(product, 4)).seen()).reserved_until, null);
  assert.equal((await stock(product)).reserved, 3);
  assert.ok((await (await pending(product, 3)).seen()).reserved_until);
  await shop.check();
});

test('paying another way does not keep the codes any longer', async () => {
  const order = await pending(pool(1));
  const until = (await order.seen()).reserved_until;
  dataOf(
    await shop.souk.post(
      `/api/customer/orders/${order.id}/pay`,
      { pay_with: LABELS.razorpay },
      { token: order.buyer.token },
    ),
    201,
  );
  assert.equal((await order.seen()).reserved_until, until);
  await shop.check();
});

test('of guests in one network ten orders a day keep codes; orders beyond that are made without', async (t) => {
  const database = freshStore(undefined, 'owner');
  const small = await openPaidShop({ t, database, limited: true });
  t.after(() => small.stop());
  await small.listen('stripe');
  dataOf(await small.admin('PATCH', '/api/admin/settings', { reserve_minutes: 30, reserve_codes_max: 1 }));
  const product = small.seed.product({ name: 'Codes', slug: 'codes', price: 500, delivery_type: 'serial_code' });
  small.seed.serials(
    product,
    Array.from({ length: 14 }, (_, i) => `GUEST-${i}`),
  );
  const b = new Browser(small.souk.url);
  let guests = 0;
  const order = async () => {
    await b.open('/p/codes');
    await b.submit('/cart/add', { then: 'cart' }, { expect: 303 });
    await b.open('/checkout');
    await b.submit('/checkout', { email: `guest${++guests}@example.com`, pay_with: LABELS.stripe }, { expect: 303 });
  };
  const kept = () => small.count('orders WHERE reserved_until IS NOT NULL');
  await small.until(async () => {
    await order();
    return kept() === 1;
  }, 'the server knows the setting');
  for (let i = 0; i < 12; i++) await order();
  assert.equal(kept(), 10);
  assert.equal(dataOf(await small.admin('GET', `/api/admin/products/${product.id}/serials`)).pools[0].reserved, 10);
  const buyer = await small.buyerWith([[product, 1]]);
  const { order_id: id } = await small.checkout(buyer, LABELS.stripe);
  assert.ok((await small.order(buyer, id)).reserved_until, 'those who have an account have theirs');
  await small.check();
});
