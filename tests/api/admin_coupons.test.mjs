// Coupons as staff change them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';

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

test('coupons: percent with two decimals, fixed in money, limits that can be taken away', async () => {
  const product = await office.product({ price: 100 });
  const made = dataOf(
    await staff.post('/api/admin/coupons', {
      code: 'save-12',
      kind: 'percent',
      value: 12.5,
      product_ids: [product.id],
      max_uses: 5,
    }),
    201,
  );
  assert.deepEqual(
    [made.code, made.value, made.product_ids, made.max_uses, made.max_uses_per_customer],
    ['SAVE-12', 12.5, [product.id], 5, 1],
  );
  expectError(await staff.post('/api/admin/coupons', { code: 'SAVE-12', kind: 'fixed', value: 1 }), 409, 'code_taken');
  expectFields(await staff.post('/api/admin/coupons', { code: 'ä', kind: 'percent', value: 100.01 }), {
    code: 'bad_characters',
    value: 'out_of_range',
  });
  expectFields(await staff.post('/api/admin/coupons', { code: 'a', kind: 'percent', value: 0.001 }), {
    value: 'too_precise',
  });
  expectFields(await staff.post('/api/admin/coupons', { code: 'a', kind: 'fixed', value: 0 }), {
    value: 'not_positive',
  });
  expectFields(await staff.post('/api/admin/coupons', { code: 'a', kind: 'fixed', value: 1, product_ids: [999999] }), {
    product_ids: 'unknown_id',
  });
  expectFields(
    await staff.post('/api/admin/coupons', {
      code: 'a',
      kind: 'fixed',
      value: 1,
      starts_at: '2026-01-02T00:00:00Z',
      expires_at: '2026-01-01T00:00:00Z',
    }),
    { expires_at: 'out_of_range' },
  );
  const customer = await office.customer({ balance: 200 });
  assert.equal(
    dataOf(await customer.post('/api/v1/order/create', { product_id: product.id, coupon_code: 'save-12' })).total,
    87.5,
  );
  expectFields(await staff.patch(`/api/admin/coupons/${made.id}`, { kind: 'fixed' }), { value: 'required' });
  const changed = dataOf(
    await staff.patch(`/api/admin/coupons/${made.id}`, { max_uses: null, product_ids: [], kind: 'fixed', value: 3 }),
  );
  assert.deepEqual([changed.max_uses, changed.product_ids, changed.value, changed.uses], [null, [], 3, 1]);
  const target = `/api/admin/coupons/${made.id}`;
  const times = { starts_at: '2026-01-01T00:00:00Z', expires_at: '2999-01-01T00:00:00Z' };
  const wide = dataOf(await staff.patch(target, { ...times, min_total: 5, is_active: true, max_uses_per_customer: 9 }));
  assert.deepEqual([wide.starts_at, wide.min_total, wide.max_uses_per_customer], ['2026-01-01T00:00:00Z', 5, 9]);
  const open = dataOf(await staff.patch(target, { expires_at: null }));
  assert.deepEqual([open.starts_at, open.expires_at], ['2026-01-01T00:00:00Z', null]);
  const bare = dataOf(await staff.patch(target, { starts_at: null, expires_at: null, max_uses_per_customer: null }));
  assert.deepEqual([bare.starts_at, bare.expires_at, bare.max_uses_per_customer, bare.value], [null, null, null, 3]);
  expectFields(await staff.patch(target, { value: 9e18 }), { value: 'out_of_range' });
  dataOf(await customer.post('/api/v1/order/create', { product_id: product.id, coupon_code: 'save-12' }));
  expectFields(await staff.patch(target, { max_uses: 1 }), { max_uses: 'out_of_range' });
  assert.deepEqual(
    dataOf(await staff.get('/api/admin/coupons')).map((c) => [c.code, c.uses]),
    [['SAVE-12', 2]],
  );
  const unused = dataOf(await staff.post('/api/admin/coupons', { code: 'unused', kind: 'fixed', value: 1 }), 201);
  assert.deepEqual(dataOf(await staff.delete(`/api/admin/coupons/${unused.id}`)), { deleted: true });
  assert.deepEqual(dataOf(await staff.delete(`/api/admin/coupons/${made.id}`)), { deleted: false });
  assert.equal(dataOf(await staff.get(`/api/admin/coupons/${made.id}`)).is_active, false);
});
