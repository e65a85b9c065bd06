// Decisions about withdrawals.
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

test('withdrawals: approved and rejected once each, by any number at once; the customer is told', async () => {
  const customer = await office.customer({ balance: 30 });
  const ask = async () => dataOf(await customer.post('/api/customer/wallet/withdraw', { amount: 10 })).withdrawal_id;
  const [one, two] = [await ask(), await ask()];
  assert.deepEqual(
    dataOf(await staff.get('/api/admin/withdrawals?status=pending')).map((w) => w.id),
    [two, one],
  );
  const answers = await Promise.all([
    ...Array.from({ length: 3 }, () => staff.post(`/api/admin/withdrawals/${one}/approve`)),
    ...Array.from({ length: 3 }, () => owner.post(`/api/admin/withdrawals/${one}/reject`, { reason: 'no' })),
  ]);
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, 409, 409, 409, 409, 409]);
  const rejected = dataOf(await staff.post(`/api/admin/withdrawals/${two}/reject`, { reason: 'wrong account' }));
  assert.deepEqual(
    [rejected.status, rejected.reason, rejected.email, rejected.decided_by],
    ['rejected', 'wrong account', customer.email, staff.id],
  );
  expectError(await staff.post(`/api/admin/withdrawals/${two}/approve`), 409, 'invalid_state');
  const kinds = dataOf(await customer.get('/api/customer/notifications'))
    .map((n) => n.kind)
    .sort();
  assert.equal(kinds.length, 2);
  assert.ok(kinds.includes('withdrawal_rejected'));
});

test('a decision under one key is one decision, with the same answer; another decision under it is refused', async () => {
  const customer = await office.customer({ balance: 30 });
  const ask = async () => dataOf(await customer.post('/api/customer/wallet/withdraw', { amount: 10 })).withdrawal_id;
  for (const [path, body] of [
    ['approve', undefined],
    ['reject', { reason: 'no' }],
  ]) {
    const id = await ask();
    const options = { headers: { 'Idempotency-Key': `decision-${id}` } };
    const first = await staff.post(`/api/admin/withdrawals/${id}/${path}`, body, options);
    dataOf(first);
    assert.equal((await staff.post(`/api/admin/withdrawals/${id}/${path}`, body, options)).text, first.text);
    expectError(await staff.post(`/api/admin/withdrawals/${id}/${path}`, body), 409, 'invalid_state');
  }
});

test('payouts by two people: large ones need both, nobody decides on their own, and the customer can take one back', async () => {
  const customer = await office.customer({ balance: 300 });
  dataOf(await owner.patch('/api/admin/settings', { second_person_above: 50, withdraw_min: 5, withdraw_max: 80 }));
  const ask = (body) => customer.post('/api/customer/wallet/withdraw', body);
  for (const amount of [4.99, 80.01]) expectFields(await ask({ amount }), { amount: 'out_of_range' });
  expectFields(await ask({ amount: 10, destination: '' }), { destination: 'too_short' });
  const id = dataOf(await ask({ amount: 60, destination: 'DE02 1203 0000 0000 2020 51' })).withdrawal_id;
  const [listed] = dataOf(await staff.get('/api/admin/withdrawals?status=pending'));
  assert.ok(!listed.destination.includes('1203'), listed.destination);
  assert.equal(dataOf(await staff.get(`/api/admin/withdrawals/${id}`)).destination, 'DE02 1203 0000 0000 2020 51');
  const first = dataOf(await staff.post(`/api/admin/withdrawals/${id}/approve`));
  assert.deepEqual([first.status, first.first_by], ['pending', staff.id]);
  expectError(await staff.post(`/api/admin/withdrawals/${id}/approve`), 409, 'second_person_needed');
  assert.equal(dataOf(await owner.post(`/api/admin/withdrawals/${id}/approve`)).status, 'approved');
  const small = dataOf(await ask({ amount: 50 })).withdrawal_id;
  assert.equal(dataOf(await staff.post(`/api/admin/withdrawals/${small}/approve`)).status, 'approved');

  const back = dataOf(await ask({ amount: 20 })).withdrawal_id;
  assert.equal(dataOf(await customer.post(`/api/customer/wallet/withdrawals/${back}/cancel`)).status, 'cancelled');
  expectError(await customer.post(`/api/customer/wallet/withdrawals/${back}/cancel`), 409, 'invalid_state');
  expectError(await staff.post(`/api/admin/withdrawals/${back}/approve`), 409, 'invalid_state');
  assert.equal(dataOf(await customer.get('/api/customer/wallet')).balance, 190);

  const credit = { amount: 50.01, description: 'Goodwill' };
  const wallet = `/api/admin/customers/${customer.id}/wallet`;
  assert.equal(dataOf(await staff.post(wallet, credit)).balance, 190);
  expectError(await staff.post(wallet, credit), 409, 'second_person_needed');
  assert.equal(dataOf(await owner.post(wallet, credit)).balance, 240.01);
  assert.equal(dataOf(await staff.post(wallet, { amount: 50, description: 'Small' })).balance, 290.01);
  expectError(
    await staff.post(`/api/admin/customers/${staff.id}/wallet`, { amount: 1, description: 'Mine' }),
    403,
    'own_account',
  );
  dataOf(await owner.post(`/api/admin/customers/${staff.id}/wallet`, { amount: 20, description: 'Gift' }));
  const own = dataOf(await staff.post('/api/customer/wallet/withdraw', { amount: 10 })).withdrawal_id;
  for (const what of ['approve', 'reject'])
    expectError(await staff.post(`/api/admin/withdrawals/${own}/${what}`), 403, 'own_account');
  dataOf(await owner.patch('/api/admin/settings', { second_person_above: 0, withdraw_min: 0, withdraw_max: 0 }));
});
