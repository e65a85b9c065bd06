// The list of withdrawals: fields, states, pages, and never another customer's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { startStore } from '../lib/store.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';

const LIST = '/api/customer/wallet/withdrawals';
const WITHDRAW = '/api/customer/wallet/withdraw';

let store, souk;
before(async () => {
  store = await startStore({
    customers: { ada: '100.00', bob: '100.00', none: null, many: '100.00', decided: '30.00', sam: { role: 'staff' } },
  });
  souk = store.souk;
});
after(async () => {
  if (!store) return;
  try {
    assertInvariants(store.database.dbArg);
  } finally {
    await store.stop();
  }
});

const withdraw = async (who, amount) => dataOf(await souk.post(WITHDRAW, { amount }, { token: who.token }));
const list = (who, query = '') => souk.get(LIST + query, { token: who.token });

const decide = (id, verb, body) => souk.post(`/api/admin/withdrawals/${id}/${verb}`, body, { token: store.sam.token });
const told = async (who) => dataOf(await souk.get('/api/customer/notifications', { token: who.token }));

test('a customer without withdrawals has an empty list', async () => {
  const answer = await list(store.none);
  assert.deepEqual(dataOf(answer), []);
  assert.deepEqual(answer.json.meta, { has_more: false, next_cursor: null });
});

test('a pending withdrawal in the list: the four members, not decided, no reason', async () => {
  const made = await withdraw(store.ada, 12.34);
  const [first] = dataOf(await list(store.ada));
  assert.deepEqual(first, { ...made, decided_at: null, reason: null });
  assert.deepEqual(dataOf(await souk.get(`${LIST}/${made.withdrawal_id}`, { token: store.ada.token })), first);
});

test('the newest comes first', async () => {
  for (const amount of [1, 2, 3]) await withdraw(store.ada, amount);
  assert.deepEqual(
    dataOf(await list(store.ada))
      .slice(0, 3)
      .map((w) => w.amount),
    [3, 2, 1],
  );
});

test('approved: the money is paid out, the list says when, and the customer is told', async () => {
  const made = await withdraw(store.decided, 10);
  expectStatus(await decide(made.withdrawal_id, 'approve'), 200);
  const [listed] = dataOf(await list(store.decided));
  assert.ok(Math.abs(Date.parse(listed.decided_at) - Date.now()) < 60_000);
  assert.deepEqual({ ...listed, decided_at: '' }, { ...made, status: 'approved', decided_at: '', reason: null });
  const wallet = dataOf(await souk.get('/api/customer/wallet', { token: store.decided.token }));
  assert.deepEqual([wallet.balance, wallet.held], [20, 0]);
  assert.deepEqual(
    wallet.transactions.map((t) => [t.type, t.amount]),
    [
      ['credit', 30],
      ['debit', 10],
    ],
  );
  const [note] = await told(store.decided);
  assert.equal(note.kind, 'withdrawal_approved');
  assert.equal(note.reference_id, made.withdrawal_id);
  assert.equal(note.message, `Your withdrawal request #${made.withdrawal_id} was approved.`);
});

test('rejected: the money comes back as a credit, with the reason, and the customer is told', async () => {
  const made = await withdraw(store.decided, 20);
  expectStatus(await decide(made.withdrawal_id, 'reject', { reason: 'no such bank' }), 200);
  const [listed] = dataOf(await list(store.decided));
  assert.equal(listed.status, 'rejected');
  assert.equal(listed.reason, 'no such bank');
  const wallet = dataOf(await souk.get('/api/customer/wallet', { token: store.decided.token }));
  assert.deepEqual([wallet.balance, wallet.held], [20, 0]);
  assert.deepEqual(
    wallet.transactions.slice(-2).map((t) => [t.type, t.amount]),
    [
      ['debit', 20],
      ['credit', 20],
    ],
  );
  const [note] = await told(store.decided);
  assert.equal(note.kind, 'withdrawal_rejected');
  assert.equal(note.reference_id, made.withdrawal_id);
  assert.equal(note.message, `Your withdrawal request #${made.withdrawal_id} was rejected: no such bank`);
});

test('a decision is made once', async () => {
  for (const first of ['approve', 'reject']) {
    const { withdrawal_id } = await withdraw(store.decided, 1);
    expectStatus(await decide(withdrawal_id, first, first === 'reject' ? {} : undefined), 200);
    const before = [
      await told(store.decided),
      dataOf(await souk.get('/api/customer/wallet', { token: store.decided.token })),
    ];
    expectError(await decide(withdrawal_id, 'approve'), 409, 'invalid_state');
    expectError(await decide(withdrawal_id, 'reject', {}), 409, 'invalid_state');
    assert.deepEqual(
      [await told(store.decided), dataOf(await souk.get('/api/customer/wallet', { token: store.decided.token }))],
      before,
    );
  }
  expectError(await decide(999999, 'approve'), 404, 'not_found');
  expectError(await decide(999999, 'reject', {}), 404, 'not_found');
});

test('pages follow the cursor to the end, each withdrawal once', async () => {
  for (let i = 0; i < 25; i++) await withdraw(store.many, 0.01);
  const ids = [];
  for (let next = `${LIST}?limit=10`, pages = 1; next; pages++) {
    const answer = await souk.get(next, { token: store.many.token });
    ids.push(...dataOf(answer).map((w) => w.withdrawal_id));
    const { has_more, next_cursor } = answer.json.meta;
    assert.equal(has_more, pages < 3);
    assert.equal(answer.headers.link, has_more ? `<${LIST}?limit=10&cursor=${next_cursor}>; rel="next"` : undefined);
    next = has_more ? `${LIST}?limit=10&cursor=${next_cursor}` : null;
  }
  assert.equal(ids.length, 25);
  assert.deepEqual(
    ids,
    [...new Set(ids)].sort((a, b) => b - a),
  );
  assert.equal(dataOf(await list(store.many)).length, 20, 'the default page');
});

test('a bad limit or cursor is named', async () => {
  expectFields(await list(store.ada, '?limit=0'), { limit: 'not_positive' });
  expectFields(await list(store.ada, '?limit=101'), { limit: 'out_of_range' });
  expectFields(await list(store.ada, '?cursor=made-up'), { cursor: 'bad_cursor' });
  const foreign =
    (await souk.get('/api/customer/tokens?limit=1', { token: store.ada.token })).json.meta.next_cursor ?? 'AAAA';
  expectFields(await list(store.ada, `?cursor=${foreign}`), { cursor: 'bad_cursor' });
});

test("somebody else's withdrawal is not found, nor in the list", async () => {
  const mine = await withdraw(store.ada, 1);
  expectError(await souk.get(`${LIST}/${mine.withdrawal_id}`, { token: store.bob.token }), 404, 'not_found');
  assert.ok(!dataOf(await list(store.bob, '?limit=100')).some((w) => w.withdrawal_id === mine.withdrawal_id));
  for (const id of ['999999999', '0', 'x', '-1', '1.0', '99999999999999999999']) {
    expectError(await souk.get(`${LIST}/${id}`, { token: store.ada.token }), 404, 'not_found');
  }
  expectStatus(await souk.get(`${LIST}/${mine.withdrawal_id}`, { token: store.ada.token }), 200);
});

test('the list needs a token', async () => {
  expectError(await souk.get(LIST), 401, 'token_missing');
  expectError(await souk.get(`${LIST}/1`), 401, 'token_missing');
});
