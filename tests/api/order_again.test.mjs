// The answer to an order under its Idempotency-Key: the same bytes again, whatever became of the order since.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';
import { ENGINE } from './lib/souk.mjs';

const IS_PG = ENGINE === 'pg';
let office, seed, license, codes, link;
before(async () => {
  office = await openOffice();
  seed = seeder(office.souk);
  license = await office.product({ price: 19.99, key_prefix: 'PRO' });
  codes = await office.product({ price: 0.05, delivery_type: 'serial_code' });
  link = await office.product({ price: 3, delivery_type: 'download_url', download_url: 'https://a.example/f' });
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

let number = 0;
const stock = (list) => office.owner.post(`/api/admin/products/${codes.id}/serials`, { codes: list });

/** An order under a new key: {customer, first, data, again()}; again() is that the same bytes come, and that nothing happens. */
async function ordered(body, { customer = null } = {}) {
  const buyer = customer ?? (await office.customer({ balance: 1000 }));
  const headers = { 'Idempotency-Key': `again-${++number}` };
  const send = (changed = body) => buyer.post('/api/v1/order/create', changed, { headers });
  const first = expectStatus(await send(), 200);
  assert.equal(first.headers['idempotent-replayed'], undefined);
  const orders = () => seed.number('SELECT COUNT(*) FROM orders');
  const again = async () => {
    const before = orders();
    const second = expectStatus(await send(), 200);
    assert.equal(second.headers['idempotent-replayed'], 'true');
    assert.deepEqual(second.bytes, first.bytes);
    assert.equal(second.headers['content-type'], first.headers['content-type']);
    assert.equal(orders(), before);
    expectError(await send({ ...body, quantity: 7 }), 422, 'idempotency_key_reused');
  };
  await again();
  return { customer: buyer, first, data: dataOf(first), send, again };
}

const orderOf = async (it) => dataOf(await office.owner.get(`/api/admin/orders/${it.data.order_id}`));
const isInOrder = (it) =>
  seed.number(`SELECT COUNT(*) FROM orders WHERE id = ${it.data.order_id} AND key_hash IS NOT NULL`);

/** For any number of orders. */
async function coupon(code, value) {
  const body = { code, kind: 'percent', value, max_uses_per_customer: null };
  return dataOf(await office.owner.post('/api/admin/coupons', body), 201);
}

test('of every kind, short and long, dear and free, also after a restart', async () => {
  await stock(['A-1', 'A-2', 'A-3', 'A-4', '<&>"\\ ü 漢字 \u{1F511}']);
  const [free, part] = [await coupon('ALLOFIT', 100), await coupon('PART', 12.5)];
  const all = [];
  for (const [body, inOrder] of [
    [{ product_id: license.id }, true],
    [{ product_id: license.id, quantity: 16 }, true],
    [{ product_id: license.id, quantity: 17 }, false],
    [{ product_id: license.id, coupon_code: part.code }, true],
    [{ product_id: license.id, coupon_code: free.code }, true],
    [{ product_id: codes.id }, true],
    [{ product_id: codes.id, quantity: 4 }, true],
    [{ product_id: link.id }, false],
    [{ product_id: link.id, quantity: 2 }, false],
  ]) {
    const it = await ordered(body);
    assert.equal(isInOrder(it), !IS_PG && inOrder ? 1 : 0, JSON.stringify(body));
    const kept = seed.number(`SELECT COUNT(*) FROM idempotency WHERE account_id = ${it.customer.id} AND status = 200`);
    assert.equal(kept, !IS_PG && inOrder ? 0 : 1);
    all.push(it);
  }
  await office.souk.restart();
  for (const it of all) await it.again();
});

test('the form of the answer, which a newer program has to make again for 30 days', async () => {
  const it = await ordered({ product_id: license.id });
  const { order_id, delivery } = it.data;
  assert.equal(
    it.first.text,
    `{"status":"success","message":"Order confirmed","data":{"order_id":${order_id},"status":"confirmed","total":19.99,` +
      `"delivery":{"type":"license_key","value":"${delivery.value}"},` +
      `"deliveries":[{"type":"license_key","value":"${delivery.value}"}]}}`,
  );
});

test('the same bytes after everything that can become of an order', async () => {
  const dear = await office.product({ price: 25, key_prefix: 'OLD' });
  const kept = await ordered({ product_id: dear.id });
  const revoked = await ordered({ product_id: dear.id });
  const refunded = await ordered({ product_id: dear.id, quantity: 2 });
  const held = await ordered({ product_id: dear.id });
  const licenseOf = (it) =>
    seed.number(
      `SELECT MIN(l.id) FROM license l JOIN order_item i ON i.id = l.order_item_id WHERE i.order_id = ${it.data.order_id}`,
    );
  dataOf(await office.owner.post(`/api/admin/licenses/${licenseOf(revoked)}/revoke`, { reason: 'x' }));
  dataOf(await office.owner.post(`/api/admin/orders/${refunded.data.order_id}/refund`, { reason: 'x' }));
  seed.sql(`UPDATE orders SET on_hold = 1 WHERE id = ${held.data.order_id};`);
  dataOf(await office.owner.patch(`/api/admin/products/${dear.id}`, { name: 'Other', price: 99, is_active: false }));
  expectStatus(
    await kept.customer.post('/api/v1/license/verify', {
      license_key: kept.data.delivery.value,
      product_id: dear.id,
      hardware_id: 'h',
    }),
    200,
  );
  for (const it of [kept, revoked, refunded, held]) await it.again();
  assert.equal((await orderOf(refunded)).status, 'refunded');
  seed.sql(`UPDATE orders SET on_hold = 0 WHERE id = ${held.data.order_id};`);
});

test('a key that staff replaced: the order has the new one, the answer the old one', async () => {
  const two = await ordered({ product_id: license.id, quantity: 2 });
  const id = seed.number(`SELECT MAX(license_id) FROM delivery d JOIN order_item i ON i.id = d.order_item_id
    WHERE i.order_id = ${two.data.order_id}`);
  for (let round = 0; round < 3; round++) {
    dataOf(await office.owner.post(`/api/admin/licenses/${id}/replace-key`));
    assert.equal(isInOrder(two), 0);
    await two.again();
    const [first, second] = (await orderOf(two)).items[0].deliveries;
    assert.equal(first.unit + second.unit, 3);
    if (round === 1) await office.souk.restart();
    await two.again();
  }
  const now = dataOf(await two.customer.get(`/api/customer/orders/${two.data.order_id}`)).items[0].deliveries;
  const before = two.data.deliveries.map((d) => d.value);
  assert.deepEqual([before.includes(now[0].value), before.includes(now[1].value)], [true, false]);
});

test('a code that staff replaced out of a ticket', async () => {
  await stock(['B-1', 'B-2', 'B-3']);
  const it = await ordered({ product_id: codes.id, quantity: 2 });
  const department = dataOf(await office.staff.post('/api/admin/departments', { name: 'Help' }), 201);
  const ticket = dataOf(
    await it.customer.post('/api/customer/tickets', {
      department_id: department.id,
      subject: 's',
      message: 'm',
      order_id: it.data.order_id,
    }),
  );
  const [item] = (await orderOf(it)).items;
  expectStatus(
    await office.staff.post(`/api/admin/tickets/${ticket.id}/replace-code`, { item_id: item.item_id, unit: 2 }),
    201,
  );
  await it.again();
  const now = dataOf(await it.customer.get(`/api/customer/orders/${it.data.order_id}`)).items[0].deliveries;
  assert.notEqual(now[1].value, it.data.deliveries[1].value);
  // With the pool empty nothing is replaced, and nothing is written out either.
  const other = await ordered({ product_id: license.id });
  expectError(
    await office.staff.post(`/api/admin/tickets/${ticket.id}/replace-code`, { item_id: item.item_id, unit: 1 }),
    409,
    'out_of_stock',
  );
  for (const one of [it, other]) await one.again();
});

test('another program that changes the store changes no answer', async () => {
  const it = await ordered({ product_id: license.id });
  seed.sql(`UPDATE product SET description = 'elsewhere' WHERE id = ${license.id};`);
  await it.again();
  const next = await ordered({ product_id: license.id }, { customer: it.customer });
  seed.sql(`UPDATE product SET description = '' WHERE id = ${license.id};`);
  for (const one of [it, next]) await one.again();
});

test('what was refused leaves its key free', async () => {
  const poor = await office.customer({ balance: 1 });
  const headers = { 'Idempotency-Key': 'poor' };
  const send = () => poor.post('/api/v1/order/create', { product_id: license.id }, { headers });
  expectError(await send(), 402, 'insufficient_balance');
  expectError(await send(), 402, 'insufficient_balance');
  dataOf(await office.owner.post(`/api/admin/customers/${poor.id}/wallet`, { amount: 50, description: 'Gift' }));
  const first = expectStatus(await send(), 200);
  assert.deepEqual((await send()).bytes, first.bytes);
});
