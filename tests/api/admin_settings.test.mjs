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
  try { assertInvariants(office.database.dbArg); } finally { await office.stop(); }
});

test('settings: changed by owners, with If-Match against lost updates; the currency is fixed once there is a price', async () => {
  const first = await owner.get('/api/admin/settings');
  const etag = first.headers.etag;
  expectError(await staff.patch('/api/admin/settings', { store_name: 'x' }), 403, 'forbidden');
  const changed = await owner.patch('/api/admin/settings', { store_name: 'Ada\'s shop', rate_v1: 7 }, { headers: { 'If-Match': etag } });
  assert.deepEqual(dataOf(changed), { ...dataOf(first), store_name: 'Ada\'s shop', rate_v1: 7 });
  expectError(await owner.patch('/api/admin/settings', { store_name: 'lost' }, { headers: { 'If-Match': etag } }), 412, 'precondition_failed');
  expectFields(await owner.patch('/api/admin/settings', { currency: 'XYZ' }), { currency: 'not_allowed' });
  await office.product();
  expectError(await owner.patch('/api/admin/settings', { currency: 'EUR' }), 409, 'invalid_state');
  assert.equal(dataOf(await owner.get('/api/admin/settings')).currency, 'USD');
});

test('the checklist of a new store follows what is there, and an owner says what is done in another way', async () => {
  const open = async () => dataOf(await staff.get('/api/admin/checklist')).filter((c) => !c.is_done).map((c) => c.item);
  dataOf(await owner.patch('/api/admin/settings', { store_name: 'A name' }));
  await office.product();
  assert.deepEqual(await open(), ['gateway', 'mail', 'address', 'backup']);
  dataOf(await owner.put('/api/admin/gateways/sandbox', { is_enabled: true }));
  assert.ok((await open()).includes('gateway'), 'the sandbox takes no money');
  dataOf(await owner.put('/api/admin/gateways/card_gateway_a', { is_enabled: true, secrets: ['whsec_0123456789abcdef'] }));
  assert.deepEqual(await open(), ['mail', 'address', 'backup']);
  expectError(await staff.patch('/api/admin/checklist', { item: 'backup', is_done: true }), 403, 'forbidden');
  dataOf(await owner.patch('/api/admin/checklist', { item: 'backup', is_done: true }));
  await office.audited('settings.checklist');
  assert.deepEqual(await open(), ['mail', 'address']);
  dataOf(await owner.patch('/api/admin/checklist', { item: 'backup', is_done: false }));
  assert.deepEqual(await open(), ['mail', 'address', 'backup']);
  expectFields(await owner.patch('/api/admin/checklist', { item: 'coffee', is_done: true }), { item: 'not_allowed' });
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
