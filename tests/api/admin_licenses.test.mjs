// Licences as staff see them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';

let office, staff;
before(async () => {
  office = await openOffice({ args: ['--file-max', '200000'] });
  ({ staff } = office);
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

test('licences: revoke and reinstate, unbind, extend, give', async () => {
  const product = await office.product();
  const customer = await office.customer({ balance: 50 });
  dataOf(await staff.post('/api/admin/licenses', { product_id: product.id, customer_id: customer.id }), 201);
  const key = dataOf(await customer.post('/api/v1/order/create', { product_id: product.id })).delivery.value;
  const verify = (hardware_id) =>
    customer.post('/api/v1/license/verify', { license_key: key, product_id: product.id, hardware_id });
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

  assert.equal(dataOf(await staff.patch(`/api/admin/licenses/${license.id}`, {})).expires_at, null);
  const given = dataOf(
    await staff.post('/api/admin/licenses', { product_id: product.id, customer_id: customer.id }),
    201,
  );
  assert.equal(given.order_id, null);
  const pro = dataOf(await staff.post(`/api/admin/products/${product.id}/variants`, { name: 'Pro', price: 9 }), 201);
  const better = dataOf(
    await staff.post('/api/admin/licenses', { product_id: product.id, variant_id: pro.id, customer_id: customer.id }),
    201,
  );
  assert.equal(better.variant_id, pro.id);
  const behind = async (limit) => {
    const { next_cursor } = (await staff.get(`/api/admin/licenses?limit=${limit}`)).json.meta;
    return dataOf(await staff.get(`/api/admin/licenses?q=${key}&cursor=${next_cursor}`)).map((l) => l.id);
  };
  assert.deepEqual([await behind(1), await behind(3)], [[license.id], []], 'a key is on one page');
  expectStatus(
    await customer.post('/api/v1/license/verify', { license_key: given.license_key, product_id: product.id }),
    200,
  );
  expectFields(await staff.post('/api/admin/licenses', { product_id: 999999, customer_id: customer.id }), {
    product_id: 'unknown_id',
  });
  expectFields(await staff.post('/api/admin/licenses', { product_id: product.id, customer_id: 999999 }), {
    customer_id: 'unknown_id',
  });
  expectFields(await staff.post('/api/admin/licenses', { product_id: 999999, customer_id: 999999 }), {
    product_id: 'unknown_id',
    customer_id: 'unknown_id',
  });
  expectFields(
    await staff.post('/api/admin/licenses', { product_id: product.id, variant_id: 999999, customer_id: 999999 }),
    { variant_id: 'unknown_id', customer_id: 'unknown_id' },
  );
});
