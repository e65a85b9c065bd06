// Everything as CSV.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectStatus } from './lib/http.mjs';

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

test('exports are CSV that a spreadsheet cannot run', async () => {
  await owner.post('/api/admin/customers', { email: 'csv@example.com', name: '=HYPERLINK("http://x","y"), "quoted"' });
  const answer = await staff.get('/api/admin/exports/customers');
  expectStatus(answer, 200);
  assert.equal(answer.headers['content-type'], 'text/csv; charset=utf-8');
  const line = answer.text.split('\r\n').find((l) => l.includes('csv@example.com'));
  assert.ok(line.includes(`"'=HYPERLINK(""http://x"",""y""), ""quoted"""`), line);
  const customer = await office.customer({ balance: 50 });
  const product = await office.product({ name: '-1' });
  dataOf(await customer.post('/api/v1/order/create', { product_id: product.id }));
  dataOf(await owner.patch(`/api/admin/customers/${customer.id}`, { is_active: false }));
  assert.match(
    (await staff.get('/api/admin/exports/customers')).text,
    new RegExp(`^${customer.id},.*(no|false|0)`, 'm'),
  );
  for (const what of ['orders', 'ledger'])
    assert.ok((await staff.get(`/api/admin/exports/${what}`)).text.split('\r\n').length > 2, what);
  for (const what of ['orders', 'ledger'])
    assert.ok((await staff.get(`/api/admin/exports/${what}`)).text.startsWith('id,'));
});

test('who has exported what is in the audit trail', async () => {
  for (const what of ['orders', 'customers', 'ledger']) {
    expectStatus(await staff.get(`/api/admin/exports/${what}?after=1`), 200);
    const row = await office.audited('export.read');
    assert.deepEqual([row.actor_id, row.label, row.after], [staff.id, what, { after: 1 }]);
  }
  expectStatus(await staff.get('/api/admin/exports/orders'), 200);
  assert.equal((await office.audited('export.read')).after, null);
});
