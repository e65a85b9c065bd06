// The dashboard's figures.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf } from './lib/http.mjs';

let office, staff;
before(async () => {
  office = await openOffice({ args: ['--file-max', '200000'] });
  ({ staff } = office);
});
after(async () => {
  try { assertInvariants(office.database.dbArg); } finally { await office.stop(); }
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
