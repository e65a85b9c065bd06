// The store's settings.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';

let office, owner, staff;
before(async () => {
  office = await openOffice();
  ({ owner, staff } = office);
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

test('settings: changed by owners, with If-Match against lost updates; the currency is fixed once there is a price', async () => {
  const first = await owner.get('/api/admin/settings');
  const etag = first.headers.etag;
  expectError(await staff.patch('/api/admin/settings', { store_name: 'x' }), 403, 'forbidden');
  const changed = await owner.patch(
    '/api/admin/settings',
    { store_name: "Ada's shop", rate_v1: 7 },
    { headers: { 'If-Match': etag } },
  );
  assert.deepEqual(dataOf(changed), { ...dataOf(first), store_name: "Ada's shop", rate_v1: 7 });
  expectError(
    await owner.patch('/api/admin/settings', { store_name: 'lost' }, { headers: { 'If-Match': etag } }),
    412,
    'precondition_failed',
  );
  expectFields(await owner.patch('/api/admin/settings', { currency: 'XYZ' }), { currency: 'not_allowed' });
  await office.product();
  expectError(await owner.patch('/api/admin/settings', { currency: 'EUR' }), 409, 'invalid_state');
  assert.equal(dataOf(await owner.get('/api/admin/settings')).currency, 'USD');
});

test('a changed limit holds within two seconds, without a restart', async (t) => {
  const limited = await openOffice({ args: ['--rate-v1', '-1', '--rate-customer', '0'] });
  t.after(() => limited.stop());
  const customer = await limited.customer();
  const policy = async () => (await customer.get('/api/v1/products')).headers['ratelimit-policy'];
  assert.equal(await policy(), '"v1";q=120;w=60');
  dataOf(await limited.owner.patch('/api/admin/settings', { rate_v1: 33 }));
  const deadline = Date.now() + 10000;
  while ((await policy()) !== '"v1";q=33;w=60') {
    assert.ok(Date.now() < deadline, 'the new limit was not seen');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});
