// Decisions about withdrawals.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError } from './lib/http.mjs';

let office, owner, staff;
before(async () => {
  office = await openOffice({ args: ['--file-max', '200000'] });
  ({ owner, staff } = office);
});
after(async () => {
  try { assertInvariants(office.database.dbArg); } finally { await office.stop(); }
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
