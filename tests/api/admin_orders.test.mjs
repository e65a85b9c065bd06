// Orders as staff see them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';

let office, owner, staff;
before(async () => {
  office = await openOffice({ args: ['--file-max', '200000'] });
  ({ owner, staff } = office);
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

test('orders: found by number and address; refunded in part, then whole; what was delivered is closed', async () => {
  const product = await office.product({ price: 40 });
  const customer = await office.customer({ balance: 100 });
  const order = dataOf(await customer.post('/api/v1/order/create', { product_id: product.id }));
  const target = `/api/admin/orders/${order.order_id}`;
  for (const q of [String(order.order_id), customer.email.slice(0, 6)]) {
    assert.ok(
      dataOf(await staff.get(`/api/admin/orders?q=${encodeURIComponent(q)}`)).some((o) => o.id === order.order_id),
      q,
    );
  }
  assert.ok(dataOf(await staff.get(`/api/admin/orders?status=refunded&customer_id=${customer.id}`)).length === 0);
  assert.equal(dataOf(await staff.get(target)).items[0].deliveries[0].value.slice(-4), order.delivery.value.slice(-4));

  expectError(await staff.post(`${target}/cancel`), 409, 'invalid_state');
  expectError(await staff.post(`${target}/confirm`), 409, 'invalid_state');
  const part = dataOf(await staff.post(`${target}/refund`, { amount: 10 }));
  assert.deepEqual([part.status, part.refunded_amount], ['confirmed', 10]);
  expectFields(await staff.post(`${target}/refund`, { amount: 30.01 }), { amount: 'out_of_range' });
  const verify = { license_key: order.delivery.value, product_id: product.id };
  expectStatus(await customer.post('/api/v1/license/verify', verify), 200);
  const whole = dataOf(await staff.post(`${target}/refund`));
  assert.deepEqual([whole.status, whole.refunded_amount], ['refunded', 40]);
  expectError(await customer.post('/api/v1/license/verify', verify), 403, 'license_revoked', 'License is revoked');
  assert.equal(dataOf(await customer.get('/api/customer/wallet')).balance, 100);
  expectError(await staff.post(`${target}/refund`), 409, 'invalid_state');
  const entry = await office.audited('order.refund');
  assert.deepEqual([entry.before.status, entry.after.status], ['confirmed', 'refunded']);
  const gift = await office.product({ price: 0 });
  const free = dataOf(await customer.post('/api/v1/order/create', { product_id: gift.id }));
  const closed = await staff.post(`/api/admin/orders/${free.order_id}/refund`);
  assert.equal(dataOf(closed).status, 'refunded');
  assert.match(closed.json.message, /nothing to refund/);
});

test('an order that waits is found by the reference of its payment, and confirmed by hand', async () => {
  dataOf(
    await owner.put('/api/admin/gateways/card_gateway_a', { is_enabled: true, secrets: ['whsec_0123456789abcdef'] }),
  );
  const product = await office.product({ price: 15 });
  const customer = await office.customer();
  dataOf(await customer.post('/api/store/cart/add', { product_id: product.id, quantity: 1 }));
  const { order_id, payment } = dataOf(
    await customer.post('/api/store/cart/checkout', { pay_with: 'card_gateway_a' }),
    201,
  );
  const found = dataOf(await staff.get(`/api/admin/orders?q=${encodeURIComponent(payment.reference)}`));
  assert.deepEqual(
    found.map((o) => [o.id, o.status]),
    [[order_id, 'pending']],
  );
  assert.deepEqual(dataOf(await staff.get('/api/admin/orders?q=no-such-reference')), []);
  const confirmed = dataOf(await staff.post(`/api/admin/orders/${order_id}/confirm`));
  assert.deepEqual(
    [confirmed.status, confirmed.paid_with, confirmed.items[0].deliveries.length],
    ['confirmed', 'manual', 1],
  );
  expectError(await staff.post(`/api/admin/orders/${order_id}/confirm`), 409, 'invalid_state');
});

test('notes of staff stand in their timeline, and not in the customer’s', async () => {
  const product = await office.product();
  const customer = await office.customer({ balance: 50 });
  const { order_id } = dataOf(await customer.post('/api/v1/order/create', { product_id: product.id }));
  const once = { headers: { 'Idempotency-Key': `note-${order_id}` } };
  for (let i = 0; i < 2; i++)
    dataOf(await staff.post(`/api/admin/orders/${order_id}/notes`, { note: 'Called <twice>,\nno answer' }, once), 201);
  const notes = dataOf(await owner.get(`/api/admin/orders/${order_id}`)).timeline.filter((t) => t.kind === 'note');
  assert.deepEqual(
    notes.map((n) => [n.note, n.by_email]),
    [['Called <twice>,\nno answer', 'staff@example.com']],
  );
  assert.equal((await office.audited('order.note')).after.note, 'Called <twice>,\nno answer');
  assert.ok(!(await customer.get(`/api/customer/orders/${order_id}`)).text.includes('twice'));
  expectFields(await staff.post(`/api/admin/orders/${order_id}/notes`, { note: ' ' }), { note: 'required' });
  expectError(await staff.post('/api/admin/orders/999999/notes', { note: 'x' }), 404, 'not_found');
});
