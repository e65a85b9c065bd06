// Administration of the shop: products, variants, files, serials, coupons, orders, licences, withdrawals, tickets, figures.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';

let office, souk, owner, staff;
before(async () => {
  office = await openOffice({ args: ['--file-max', '200000'] });
  ({ souk, owner, staff } = office);
});
after(async () => {
  try { assertInvariants(office.database.dbArg); } finally { await office.stop(); }
});

test('a product: made, seen by customers at once, changed under If-Match, switched off after a sale', async () => {
  const made = await staff.post('/api/admin/products', { name: 'Größe & Co', price: 19.99, delivery_type: 'license_key' });
  const product = dataOf(made, 201);
  assert.equal(made.headers.location, `/api/admin/products/${product.id}`);
  assert.match(product.slug, /^[a-z0-9]+(-[a-z0-9]+)*$/);
  expectError(await souk.get(`/api/store/products/${product.slug}`), 404, 'not_found', 'Product not found');

  const etag = made.headers.etag;
  const changed = await staff.patch(`/api/admin/products/${product.id}`, { is_active: true, license_days: 30, key_prefix: 'PRO' }, { headers: { 'If-Match': etag } });
  assert.deepEqual([dataOf(changed).license_days, dataOf(changed).key_prefix], [30, 'PRO']);
  assert.equal(dataOf(await souk.get(`/api/store/products/${product.slug}`)).price, 19.99);
  expectError(await staff.patch(`/api/admin/products/${product.id}`, { price: 1 }, { headers: { 'If-Match': etag } }), 412, 'precondition_failed');
  assert.equal(dataOf(await staff.patch(`/api/admin/products/${product.id}`, { license_days: null })).license_days, null);

  const customer = await office.customer({ balance: 50 });
  const order = dataOf(await customer.post('/api/v1/order/create', { product_id: product.id }));
  assert.match(order.delivery.value, /^PRO-/);
  assert.deepEqual(dataOf(await staff.delete(`/api/admin/products/${product.id}`)), { deleted: false });
  expectError(await souk.get(`/api/store/products/${product.slug}`), 404, 'not_found');
  assert.equal(dataOf(await staff.get(`/api/admin/products/${product.id}`)).is_active, false);
  const unsold = await office.product();
  assert.deepEqual(dataOf(await staff.delete(`/api/admin/products/${unsold.id}`)), { deleted: true });
  expectError(await staff.get(`/api/admin/products/${unsold.id}`), 404, 'not_found');
});

test('two people change one product at once with the same ETag: one wins', async () => {
  const product = await office.product();
  const { etag } = (await staff.get(`/api/admin/products/${product.id}`)).headers;
  const answers = await Promise.all(Array.from({ length: 6 }, (_, i) =>
    staff.patch(`/api/admin/products/${product.id}`, { price: i + 1 }, { headers: { 'If-Match': etag } })));
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, 412, 412, 412, 412, 412]);
});

test('bodies of products are checked field by field', async () => {
  expectFields(await staff.post('/api/admin/products', { price: -1, delivery_type: 'pigeon', position: 1.5, slug: 'Not A Slug', key_prefix: 'ä', license_days: 0 }),
    { name: 'required', price: 'out_of_range', delivery_type: 'not_allowed', position: 'wrong_type', slug: 'bad_format', license_days: 'not_positive' });
  expectFields(await staff.post('/api/admin/products', { name: 'x', price: 1, delivery_type: 'license_key', key_prefix: 'lower' }), { key_prefix: 'bad_characters' });
  expectFields(await staff.post('/api/admin/products', { name: 'x', price: 1, delivery_type: 'download_url', download_url: 'ftp://x' }), { download_url: 'bad_format' });
  const product = await office.product({ slug: 'taken-slug' });
  expectError(await staff.post('/api/admin/products', { name: 'x', slug: product.slug, price: 1, delivery_type: 'license_key' }), 409, 'slug_taken');
});

test('variants: one default, the next one when it goes', async () => {
  const product = await office.product();
  const make = async (body) => dataOf(await staff.post(`/api/admin/products/${product.id}/variants`, body), 201);
  const month = await make({ name: 'Monthly', price: 5, license_days: 30 });
  const year = await make({ name: 'Yearly', price: 50 });
  assert.deepEqual([month.is_default, year.is_default], [true, false]);
  dataOf(await staff.patch(`/api/admin/variants/${year.id}`, { is_default: true }));
  const shown = dataOf(await souk.get(`/api/store/products/${product.slug}`));
  assert.deepEqual([shown.price, shown.variants.map((v) => [v.name, v.is_default])], [50, [['Yearly', true], ['Monthly', false]]]);
  assert.deepEqual(dataOf(await staff.delete(`/api/admin/variants/${year.id}`)), { deleted: true });
  assert.equal(dataOf(await souk.get(`/api/store/products/${product.slug}`)).price, 5);
  expectError(await staff.patch('/api/admin/variants/999999', { price: 1 }), 404, 'not_found');
});

test('100,000 serials in one request; again: all duplicates; JSON and text; nothing half done', async () => {
  const product = await office.product({ delivery_type: 'serial_code' });
  const target = `/api/admin/products/${product.id}/serials`;
  const text = Array.from({ length: 100000 }, (_, i) => `CODE-${i}`).join('\r\n');
  assert.deepEqual(dataOf(await staff.post(target, text, { type: 'text/plain' })), { added: 100000, duplicates: 0 });
  assert.deepEqual(dataOf(await staff.post(target, { codes: ['CODE-1', 'NEW-1234567890', 'NEW-1234567890'] })), { added: 1, duplicates: 2 });
  const page = dataOf(await staff.get(`${target}?limit=2`));
  assert.deepEqual(page.pools.map((p) => [p.free, p.taken]), [[100001, 0]]);
  assert.ok(page.codes[0].code.endsWith('7890') && !page.codes[0].code.includes('NEW'), page.codes[0].code);
  expectFields(await staff.post(target, `good\nbad\u0001code`, { type: 'text/plain' }), { codes: 'bad_format' });
  expectFields(await staff.post(target, { codes: [] }), { codes: 'too_few' });
  expectFields(await staff.post(target, { codes: ['x'], variant_id: 999 }), { variant_id: 'unknown_id' });
  assert.equal(dataOf(await staff.get(target)).pools[0].free, 100001);
  assert.equal((await office.audited('serial.import')).after.added, 1);
  expectError(await staff.post(`/api/admin/products/${(await office.product()).id}/serials`, { codes: ['x'] }), 409, 'invalid_state');
});

test('a file: put, delivered, replaced, taken away; too large ones and strangers are refused', async () => {
  const product = await office.product({ delivery_type: 'download_url' });
  const target = `/api/admin/products/${product.id}/file`;
  const bytes = 'x'.repeat(150000);
  const put = (body, query = '', as = staff) => as.put(target + query, body, { type: 'application/octet-stream' });
  assert.deepEqual(dataOf(await put(bytes, '?name=book.pdf')), { id: product.id, file_name: 'book.pdf', file_bytes: 150000, version: 2 });
  const customer = await office.customer({ balance: 50 });
  const { delivery } = dataOf(await customer.post('/api/v1/order/create', { product_id: product.id }));
  const got = await souk.get(delivery.value);
  assert.equal(got.text, bytes);
  assert.match(got.headers['content-disposition'], /book\.pdf/);
  dataOf(await put('second edition'));
  assert.equal((await souk.get(delivery.value)).text, 'second edition');
  expectFields(await put('x', '?name=../../etc/passwd'), { name: 'bad_format' });
  expectError(await put('x'.repeat(200001)), 413, 'body_too_large');
  expectError(await put(bytes, '', customer), 403, 'insufficient_scope');
  assert.equal(dataOf(await staff.delete(target)).file_name, null);
  expectError(await souk.get(delivery.value), 404, 'not_found');
});

test('coupons: percent with two decimals, fixed in money, limits that can be taken away', async () => {
  const product = await office.product({ price: 100 });
  const made = dataOf(await staff.post('/api/admin/coupons', { code: 'save-12', kind: 'percent', value: 12.5, product_ids: [product.id], max_uses: 5 }), 201);
  assert.deepEqual([made.code, made.value, made.product_ids, made.max_uses, made.max_uses_per_customer], ['SAVE-12', 12.5, [product.id], 5, 1]);
  expectError(await staff.post('/api/admin/coupons', { code: 'SAVE-12', kind: 'fixed', value: 1 }), 409, 'code_taken');
  expectFields(await staff.post('/api/admin/coupons', { code: 'ä', kind: 'percent', value: 100.01 }), { code: 'bad_characters', value: 'out_of_range' });
  expectFields(await staff.post('/api/admin/coupons', { code: 'a', kind: 'percent', value: 0.001 }), { value: 'too_precise' });
  expectFields(await staff.post('/api/admin/coupons', { code: 'a', kind: 'fixed', value: 0 }), { value: 'not_positive' });
  expectFields(await staff.post('/api/admin/coupons', { code: 'a', kind: 'fixed', value: 1, product_ids: [999999] }), { product_ids: 'unknown_id' });
  expectFields(await staff.post('/api/admin/coupons', { code: 'a', kind: 'fixed', value: 1, starts_at: '2026-01-02T00:00:00Z', expires_at: '2026-01-01T00:00:00Z' }), { expires_at: 'out_of_range' });
  const customer = await office.customer({ balance: 200 });
  assert.equal(dataOf(await customer.post('/api/v1/order/create', { product_id: product.id, coupon_code: 'save-12' })).total, 87.5);
  expectFields(await staff.patch(`/api/admin/coupons/${made.id}`, { kind: 'fixed' }), { value: 'required' });
  const changed = dataOf(await staff.patch(`/api/admin/coupons/${made.id}`, { max_uses: null, product_ids: [], kind: 'fixed', value: 3 }));
  assert.deepEqual([changed.max_uses, changed.product_ids, changed.value, changed.uses], [null, [], 3, 1]);
  assert.deepEqual(dataOf(await staff.delete(`/api/admin/coupons/${made.id}`)), { deleted: false });
  assert.equal(dataOf(await staff.get(`/api/admin/coupons/${made.id}`)).is_active, false);
});

test('orders: found by number and address; refunded in part, then whole; what was delivered is closed', async () => {
  const product = await office.product({ price: 40 });
  const customer = await office.customer({ balance: 100 });
  const order = dataOf(await customer.post('/api/v1/order/create', { product_id: product.id }));
  const target = `/api/admin/orders/${order.order_id}`;
  for (const q of [String(order.order_id), customer.email.slice(0, 6)]) {
    assert.ok(dataOf(await staff.get(`/api/admin/orders?q=${encodeURIComponent(q)}`)).some((o) => o.id === order.order_id), q);
  }
  assert.ok(dataOf(await staff.get(`/api/admin/orders?status=refunded&customer_id=${customer.id}`)).length === 0);
  assert.equal(dataOf(await staff.get(target)).items[0].deliveries[0].value, order.delivery.value);

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
});

test('an order that waits is found by the reference of its payment, and confirmed by hand', async () => {
  dataOf(await owner.put('/api/admin/gateways/card_gateway_a', { is_enabled: true, secrets: ['whsec_0123456789abcdef'] }));
  const product = await office.product({ price: 15 });
  const customer = await office.customer();
  dataOf(await customer.post('/api/store/cart/add', { product_id: product.id, quantity: 1 }));
  const { order_id, payment } = dataOf(await customer.post('/api/store/cart/checkout', { pay_with: 'card_gateway_a' }), 201);
  const found = dataOf(await staff.get(`/api/admin/orders?q=${encodeURIComponent(payment.reference)}`));
  assert.deepEqual(found.map((o) => [o.id, o.status]), [[order_id, 'pending']]);
  assert.deepEqual(dataOf(await staff.get('/api/admin/orders?q=no-such-reference')), []);
  const confirmed = dataOf(await staff.post(`/api/admin/orders/${order_id}/confirm`));
  assert.deepEqual([confirmed.status, confirmed.paid_with, confirmed.items[0].deliveries.length], ['confirmed', 'manual', 1]);
  expectError(await staff.post(`/api/admin/orders/${order_id}/confirm`), 409, 'invalid_state');
});

test('licences: revoke and reinstate, unbind, extend, give', async () => {
  const product = await office.product();
  const customer = await office.customer({ balance: 50 });
  const key = dataOf(await customer.post('/api/v1/order/create', { product_id: product.id })).delivery.value;
  const verify = (hardware_id) => customer.post('/api/v1/license/verify', { license_key: key, product_id: product.id, hardware_id });
  const [license] = dataOf(await staff.get(`/api/admin/licenses?q=${key}`));
  const act = (what, body) => staff.post(`/api/admin/licenses/${license.id}/${what}`, body);

  expectStatus(await verify('machine-1'), 200);
  expectError(await verify('machine-2'), 403, 'hardware_mismatch', 'Hardware ID mismatch');
  dataOf(await act('clear-hardware'));
  expectStatus(await verify('machine-2'), 200);
  expectError(await verify('machine-1'), 403, 'hardware_mismatch');

  assert.equal(dataOf(await act('revoke', { reason: 'charged back' })).reason, 'charged back');
  expectError(await verify('machine-2'), 403, 'license_revoked', 'License is revoked');
  expectError(await act('revoke'), 409, 'invalid_state');
  dataOf(await act('reinstate'));
  expectError(await act('reinstate'), 409, 'invalid_state');
  expectStatus(await verify('machine-2'), 200);

  dataOf(await staff.patch(`/api/admin/licenses/${license.id}`, { expires_at: '2020-01-01T00:00:00Z' }));
  expectError(await verify('machine-2'), 403, 'license_expired', 'License is expired');
  assert.equal(dataOf(await staff.patch(`/api/admin/licenses/${license.id}`, { expires_at: null })).expires_at, null);
  expectStatus(await verify('machine-2'), 200);

  const given = dataOf(await staff.post('/api/admin/licenses', { product_id: product.id, customer_id: customer.id }), 201);
  assert.equal(given.order_id, null);
  expectStatus(await customer.post('/api/v1/license/verify', { license_key: given.license_key, product_id: product.id }), 200);
  expectFields(await staff.post('/api/admin/licenses', { product_id: 999999, customer_id: customer.id }), { product_id: 'unknown_id' });
  expectFields(await staff.post('/api/admin/licenses', { product_id: product.id, customer_id: 999999 }), { customer_id: 'unknown_id' });
});

test('withdrawals: approved and rejected once each, by any number at once; the customer is told', async () => {
  const customer = await office.customer({ balance: 30 });
  const ask = async () => dataOf(await customer.post('/api/customer/wallet/withdraw', { amount: 10 })).withdrawal_id;
  const [one, two] = [await ask(), await ask()];
  assert.deepEqual(dataOf(await staff.get('/api/admin/withdrawals?status=pending')).map((w) => w.id), [two, one]);
  const answers = await Promise.all([
    ...Array.from({ length: 3 }, () => staff.post(`/api/admin/withdrawals/${one}/approve`)),
    ...Array.from({ length: 3 }, () => owner.post(`/api/admin/withdrawals/${one}/reject`, { reason: 'no' })),
  ]);
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, 409, 409, 409, 409, 409]);
  const rejected = dataOf(await staff.post(`/api/admin/withdrawals/${two}/reject`, { reason: 'wrong account' }));
  assert.deepEqual([rejected.status, rejected.reason, rejected.email, rejected.decided_by], ['rejected', 'wrong account', customer.email, staff.id]);
  expectError(await staff.post(`/api/admin/withdrawals/${two}/approve`), 409, 'invalid_state');
  const kinds = dataOf(await customer.get('/api/customer/notifications')).map((n) => n.kind).sort();
  assert.equal(kinds.length, 2);
  assert.ok(kinds.includes('withdrawal_rejected'));
});

test('tickets: answered, moved, closed; the customer sees the answer and is told', async () => {
  const sales = dataOf(await staff.post('/api/admin/departments', { name: 'Sales' }), 201);
  const tech = dataOf(await staff.post('/api/admin/departments', { name: 'Tech' }), 201);
  expectError(await staff.post('/api/admin/departments', { name: 'Tech' }), 409, 'name_taken');
  const customer = await office.customer();
  const ticket = dataOf(await customer.post('/api/customer/tickets', { department_id: sales.id, subject: 'Help', message: 'It does not start' }));
  assert.ok(dataOf(await staff.get(`/api/admin/tickets?status=open&department_id=${sales.id}`)).some((t) => t.id === ticket.id));
  const answered = dataOf(await staff.post(`/api/admin/tickets/${ticket.id}/replies`, { message: 'Try again' }), 201);
  assert.deepEqual([answered.status, answered.messages.map((m) => [m.author, m.body])], ['answered', [['customer', 'It does not start'], ['staff', 'Try again']]]);
  assert.equal(dataOf(await customer.get(`/api/customer/tickets/${ticket.id}`)).messages.length, 2);
  assert.deepEqual(dataOf(await customer.get('/api/customer/notifications')).map((n) => n.kind), ['ticket_answered']);
  const moved = dataOf(await staff.patch(`/api/admin/tickets/${ticket.id}`, { department_id: tech.id, status: 'closed' }));
  assert.deepEqual([moved.department, moved.status], ['Tech', 'closed']);
  expectFields(await staff.patch(`/api/admin/tickets/${ticket.id}`, { department_id: 999999 }), { department_id: 'unknown_id' });
  expectError(await staff.delete(`/api/admin/departments/${tech.id}`), 409, 'invalid_state');
  dataOf(await staff.patch(`/api/admin/departments/${tech.id}`, { is_active: false }));
  assert.ok(!dataOf(await souk.get('/api/support/departments')).some((d) => d.id === tech.id));
  const empty = dataOf(await staff.post('/api/admin/departments', { name: 'Empty' }), 201);
  expectStatus(await staff.delete(`/api/admin/departments/${empty.id}`), 200);
});

test('figures: sales of today, open work, low stock', async () => {
  const before = dataOf(await staff.get('/api/admin/stats?days=7'));
  assert.equal(before.sales.length, 7);
  const pool = await office.product({ delivery_type: 'serial_code', price: 2.5 });
  dataOf(await staff.post(`/api/admin/products/${pool.id}/serials`, { codes: ['only-one-left', 'and-this-one'] }));
  const customer = await office.customer({ balance: 50 });
  dataOf(await customer.post('/api/v1/order/create', { product_id: pool.id }));
  dataOf(await customer.post('/api/customer/wallet/withdraw', { amount: 1 }));
  const now = dataOf(await staff.get('/api/admin/stats?days=7'));
  assert.equal(now.sales.at(-1).day, new Date().toISOString().slice(0, 10));
  assert.equal(now.sales.at(-1).orders, before.sales.at(-1).orders + 1);
  assert.equal(Math.round((now.sales.at(-1).total - before.sales.at(-1).total) * 100), 250);
  assert.equal(now.open.withdrawals, before.open.withdrawals + 1);
  assert.deepEqual(now.low_stock.filter((s) => s.product_id === pool.id).map((s) => s.free), [1]);
});
