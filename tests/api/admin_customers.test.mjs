// Customers as staff see them: found, switched off, credited.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';

let office, souk, owner, staff;
before(async () => {
  office = await openOffice();
  ({ souk, owner, staff } = office);
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

test('customers: found by part of address or name, wildcards mean themselves', async () => {
  dataOf(await owner.post('/api/admin/customers', { email: 'under_score@example.com', name: 'Ünï 100% Müller' }), 201);
  const found = async (q) =>
    dataOf(await staff.get(`/api/admin/customers?q=${encodeURIComponent(q)}`)).map((c) => c.email);
  assert.deepEqual(await found('UNDER_SC'), ['under_score@example.com']);
  assert.deepEqual(await found('100%'), ['under_score@example.com']);
  assert.deepEqual(await found('under%score'), []);
  assert.deepEqual(await found("' OR 1=1 --"), []);
});

test('customers: staff are not among them', async () => {
  const customer = await office.customer();
  const rows = dataOf(await staff.get('/api/admin/customers?limit=100'));
  assert.ok(rows.some((c) => c.id === customer.id));
  assert.deepEqual(
    rows.filter((c) => c.role !== 'customer'),
    [],
  );
  const { email } = dataOf(await owner.get(`/api/admin/staff/${staff.id}`));
  assert.deepEqual(dataOf(await owner.get(`/api/admin/customers?q=${encodeURIComponent(email)}`)), []);
});

test('customers: switching one off ends the tokens, switching on again needs new ones', async () => {
  const customer = await office.customer();
  dataOf(await staff.patch(`/api/admin/customers/${customer.id}`, { is_active: false }));
  expectError(await customer.get('/api/customer/wallet'), 401, 'token_invalid');
  dataOf(await staff.patch(`/api/admin/customers/${customer.id}`, { is_active: true }));
  expectError(await customer.get('/api/customer/wallet'), 401, 'token_invalid');
  const { id, token } = dataOf(
    await staff.post(`/api/admin/customers/${customer.id}/tokens`, { name: 'new', scopes: ['customer'] }),
    201,
  );
  expectStatus(await souk.get('/api/customer/wallet', { token }), 200);
  const listed = dataOf(await staff.get(`/api/admin/customers/${customer.id}/tokens`));
  assert.ok(listed.some((t) => t.id === id && t.name === 'new'));
  expectError(await souk.get('/api/store/cart', { token }), 403, 'insufficient_scope');
  expectStatus(await staff.delete(`/api/admin/customers/${customer.id}/tokens/${id}`), 200);
  expectError(await souk.get('/api/customer/wallet', { token }), 401, 'token_invalid');
  expectError(await staff.delete(`/api/admin/customers/${customer.id}/tokens/${id}`), 404, 'not_found');
  expectError(await staff.delete(`/api/admin/customers/${customer.id}/tokens/x`), 404, 'not_found');
  expectError(await staff.delete(`/api/admin/customers/${staff.id}/tokens/1`), 403, 'forbidden');
  const wallet = `/api/admin/customers/${customer.id}/wallet`;
  const most = { amount: 60000000000000000, description: 'Most' };
  dataOf(await owner.post(wallet, most));
  expectFields(await owner.post(wallet, most), { amount: 'out_of_range' });
  dataOf(await owner.post(wallet, { amount: -60000000000000000, description: 'Back' }));
  assert.equal(dataOf(await owner.get(`${wallet}?limit=1`)).transactions.length, 1);
});

test("nobody makes tokens of staff, or changes staff, through the customers' routes", async () => {
  expectError(await staff.post(`/api/admin/customers/${owner.id}/tokens`, { name: 'x' }), 403, 'forbidden');
  expectError(await staff.patch(`/api/admin/customers/${owner.id}`, { is_active: false }), 404, 'not_found');
  expectFields(
    await staff.post(`/api/admin/customers/${(await office.customer()).id}/tokens`, { name: 'x', scopes: ['admin'] }),
    { scopes: 'not_allowed' },
  );
});

test('wallets are credited and debited by hand, never below zero, with a reason for the customer', async () => {
  const customer = await office.customer();
  const wallet = `/api/admin/customers/${customer.id}/wallet`;
  dataOf(await staff.post(wallet, { amount: 20.5, description: 'Welcome' }));
  const after = dataOf(await staff.post(wallet, { amount: -0.5, description: 'Correction' }));
  assert.equal(after.balance, 20);
  assert.deepEqual(
    after.transactions.map((t) => [t.type, t.amount, t.description]),
    [
      ['credit', 20.5, 'Welcome'],
      ['debit', 0.5, 'Correction'],
    ],
  );
  expectFields(await staff.post(wallet, { amount: -20.01, description: 'x' }), { amount: 'exceeds_balance' });
  expectFields(await staff.post(wallet, { amount: 0, description: 'x' }), { amount: 'out_of_range' });
  expectFields(await staff.post(wallet, { amount: 0.001, description: '' }), {
    amount: 'too_precise',
    description: 'required',
  });
  assert.deepEqual(dataOf(await customer.get('/api/customer/wallet')), after);
  assert.deepEqual(dataOf(await staff.get(wallet)), after);
  const entry = await office.audited('customer.wallet_adjust');
  assert.deepEqual([entry.before.balance, entry.after.balance], [20.5, 20]);
});

test('the same Idempotency-Key credits a wallet once', async () => {
  const customer = await office.customer();
  const headers = { 'Idempotency-Key': 'credit-1' };
  const answers = await Promise.all(
    Array.from({ length: 6 }, () =>
      staff.post(`/api/admin/customers/${customer.id}/wallet`, { amount: 5, description: 'Gift' }, { headers }),
    ),
  );
  assert.equal(new Set(answers.map((a) => a.text)).size, 1);
  assert.equal(dataOf(await customer.get('/api/customer/wallet')).balance, 5);
});

test('a credit limit cannot be set below what is owed', async () => {
  const customer = await office.customer({ credit_limit: 50 });
  const product = await office.product({ price: 30 });
  dataOf(await customer.post('/api/v1/order/create', { product_id: product.id }));
  assert.equal(dataOf(await staff.get(`/api/admin/customers/${customer.id}`)).balance, -30);
  expectError(await staff.patch(`/api/admin/customers/${customer.id}`, { credit_limit: 29.99 }), 409, 'invalid_state');
  dataOf(await staff.patch(`/api/admin/customers/${customer.id}`, { credit_limit: 30 }));
  expectFields(await staff.patch(`/api/admin/customers/${customer.id}`, { credit_limit: -1 }), {
    credit_limit: 'out_of_range',
  });
});
