// The list of withdrawals: fields, states, pages, and nobody else's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { execute } from '../lib/sql.mjs';
import { startStore } from '../lib/store.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';

const LIST = '/api/customer/wallet/withdrawals';
const WITHDRAW = '/api/customer/wallet/withdraw';
const DECIDED_AT = Date.UTC(2026, 10, 15, 1, 23, 45);

let store, souk;
before(async () => {
  store = await startStore({ customers: { ada: '100.00', bob: '100.00', none: null, many: '100.00', decided: '30.00' } });
  souk = store.souk;
});
after(async () => {
  if (!store) return;
  try { assertInvariants(store.database.dbArg); } finally { await store.stop(); }
});

const withdraw = async (who, amount) => dataOf(await souk.post(WITHDRAW, { amount }, { token: who.token }));
const list = (who, query = '') => souk.get(LIST + query, { token: who.token });

/** What the decision of staff does to the tables; the functions that do it are tested with the domain. */
function decide(id, who, status, reason, amount) {
  const wallet = `(SELECT id FROM ledger_account WHERE owner_id = ${who.id})`;
  const to = status === 'approved' ? '4' : wallet;
  execute(store.database.dbArg, [
    `UPDATE withdrawal SET status = '${status}', reason = '${reason}', decided_at = ${DECIDED_AT} WHERE id = ${id}`,
    `INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)
       VALUES (3, ${to}, ${amount}, 'withdrawal_${status}', ${id}, 'decided', ${DECIDED_AT})`,
    ...(status === 'rejected' ? [`UPDATE ledger_account SET balance = balance + ${amount} WHERE owner_id = ${who.id}`] : []),
  ].join(';\n'));
}

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
  assert.deepEqual(dataOf(await list(store.ada)).slice(0, 3).map((w) => w.amount), [3, 2, 1]);
});

test('approved and rejected withdrawals say when, and why', async () => {
  const approved = await withdraw(store.decided, 10);
  const rejected = await withdraw(store.decided, 20);
  decide(approved.withdrawal_id, store.decided, 'approved', '', 1000);
  decide(rejected.withdrawal_id, store.decided, 'rejected', 'no such bank', 2000);
  const [second, first] = dataOf(await list(store.decided));
  assert.deepEqual(first, { ...approved, status: 'approved', decided_at: '2026-11-15T01:23:45Z', reason: null });
  assert.deepEqual(second, { ...rejected, status: 'rejected', decided_at: '2026-11-15T01:23:45Z', reason: 'no such bank' });
  const wallet = dataOf(await souk.get('/api/customer/wallet', { token: store.decided.token }));
  assert.equal(wallet.balance, 20);
  assert.equal(wallet.held, 0);
  assert.deepEqual(wallet.transactions.map((t) => [t.type, t.amount]), [['credit', 30], ['debit', 10], ['debit', 20], ['credit', 20]]);
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
  assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => b - a));
  assert.equal(dataOf(await list(store.many)).length, 20, 'the default page');
});

test('a bad limit or cursor is named', async () => {
  expectFields(await list(store.ada, '?limit=0'), { limit: 'not_positive' });
  expectFields(await list(store.ada, '?limit=101'), { limit: 'out_of_range' });
  expectFields(await list(store.ada, '?cursor=made-up'), { cursor: 'bad_cursor' });
  const foreign = (await souk.get('/api/customer/tokens?limit=1', { token: store.ada.token })).json.meta.next_cursor ?? 'AAAA';
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
