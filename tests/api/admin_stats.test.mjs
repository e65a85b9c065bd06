// The dashboard: its figures, and what a new store still needs.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';

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
  assert.deepEqual(
    now.low_stock.filter((s) => s.product_id === pool.id).map((s) => s.free),
    [1],
  );
});

test('the checklist of a new store follows what is there, and an owner says what is done in another way', async () => {
  const open = async () =>
    dataOf(await staff.get('/api/admin/checklist'))
      .filter((c) => !c.is_done)
      .map((c) => c.item);
  dataOf(await owner.patch('/api/admin/settings', { store_name: 'A name' }));
  await office.product();
  assert.deepEqual(await open(), ['gateway', 'mail', 'address', 'backup']);
  dataOf(await owner.put('/api/admin/gateways/sandbox', { is_enabled: true }));
  assert.ok((await open()).includes('gateway'), 'the sandbox takes no money');
  dataOf(
    await owner.put('/api/admin/gateways/card_gateway_a', { is_enabled: true, secrets: ['whsec_0123456789abcdef'] }),
  );
  assert.deepEqual(await open(), ['mail', 'address', 'backup']);
  expectError(await staff.patch('/api/admin/checklist', { item: 'backup', is_done: true }), 403, 'forbidden');
  dataOf(await owner.patch('/api/admin/checklist', { item: 'backup', is_done: true }));
  await office.audited('settings.checklist');
  assert.deepEqual(await open(), ['mail', 'address']);
  dataOf(await owner.patch('/api/admin/checklist', { item: 'backup', is_done: false }));
  assert.deepEqual(await open(), ['mail', 'address', 'backup']);
  expectFields(await owner.patch('/api/admin/checklist', { item: 'coffee', is_done: true }), { item: 'not_allowed' });
});
