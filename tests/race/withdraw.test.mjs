// Double spend: 64 withdrawals of 1.00, released together, from a wallet of 20.00. Exactly 20 may succeed.
// release: sqlite pg
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { dataOf } from '../api/lib/http.mjs';
import { ENGINE, SLOW, Souk } from '../api/lib/souk.mjs';
import { assertInvariants } from '../lib/checker.mjs';
import { countStatuses, releaseTogether } from '../lib/race.mjs';
import { number } from '../lib/sql.mjs';
import { startStore } from '../lib/store.mjs';

const WITHDRAW = '/api/customer/wallet/withdraw';
const CONNECTIONS = 64;
const AFFORDABLE = 20;
const ROUNDS = SLOW > 1 ? 2 : 5;

const requestsTo = (urls, token, more = {}) =>
  Array.from({ length: CONNECTIONS }, (_, i) => ({
    url: urls[i % urls.length],
    path: WITHDRAW,
    token,
    body: { amount: 1 },
    ...more,
  }));

/** The one verdict, used on the server and on the control. */
function verdict(answers) {
  const counts = countStatuses(answers);
  return counts[200] === AFFORDABLE && counts[422] === CONNECTIONS - AFFORDABLE && Object.keys(counts).length === 2
    ? 'sound'
    : counts;
}

async function assertSettled(store, who) {
  const wallet = dataOf(await store.souk.get('/api/customer/wallet', { token: who.token }));
  assert.equal(wallet.balance, 0);
  assert.equal(wallet.held, AFFORDABLE);
  assert.equal(wallet.transactions.length, 1 + AFFORDABLE);
  assertInvariants(store.database.dbArg);
  const check = await store.souk.cli(['check']);
  assert.equal(check.code, 0, check.stdout + check.stderr);
}

const customers = (n, balance = `${AFFORDABLE}.00`) =>
  Object.fromEntries(Array.from({ length: n }, (_, i) => [`racer${i}`, balance]));

test('one server: 20 succeed, 44 are refused, nothing is left and nothing is missing', async () => {
  const store = await startStore({ customers: customers(ROUNDS) });
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const who = store[`racer${round}`];
      const answers = await releaseTogether(requestsTo([store.souk.url], who.token));
      assert.equal(verdict(answers), 'sound');
      for (const a of answers.filter((x) => x.status === 422)) assert.equal(a.json.errors[0].code, 'exceeds_balance');
      const ids = answers.filter((x) => x.status === 200).map((x) => x.json.data.withdrawal_id);
      assert.equal(new Set(ids).size, AFFORDABLE);
      await assertSettled(store, who);
    }
  } finally {
    await store.stop();
  }
});

test('two servers on one database', { skip: ENGINE !== 'pg' }, async () => {
  const store = await startStore({ customers: customers(ROUNDS) });
  const second = new Souk({ database: store.database });
  await second.start();
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const who = store[`racer${round}`];
      assert.equal(verdict(await releaseTogether(requestsTo([store.souk.url, second.url], who.token))), 'sound');
      await assertSettled(store, who);
    }
  } finally {
    await second.stop();
    await store.stop();
  }
});

test('one Idempotency-Key on 64 connections is one withdrawal', async () => {
  const store = await startStore({ customers: customers(1) });
  try {
    const { token, id } = store.racer0;
    const headers = { 'Idempotency-Key': 'the-one' };
    const answers = await releaseTogether(requestsTo([store.souk.url], token, { headers }));
    assert.deepEqual(countStatuses(answers), { 200: CONNECTIONS });
    assert.equal(new Set(answers.map((a) => a.text)).size, 1);
    assert.equal(answers.filter((a) => a.headers['idempotent-replayed'] === 'true').length, CONNECTIONS - 1);
    assert.equal(number(store.database.dbArg, `SELECT COUNT(*) FROM withdrawal WHERE account_id = ${id}`), 1n);
    assertInvariants(store.database.dbArg);
  } finally {
    await store.stop();
  }
});

test('64 decisions about one withdrawal: one is made', async () => {
  const store = await startStore({ customers: { racer: '20.00', sam: { role: 'staff' } } });
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const made = dataOf(await store.souk.post(WITHDRAW, { amount: 1 }, { token: store.racer.token }));
      const path = (verb) => `/api/admin/withdrawals/${made.withdrawal_id}/${verb}`;
      const answers = await releaseTogether(
        Array.from({ length: CONNECTIONS }, (_, i) => ({
          url: store.souk.url,
          token: store.sam.token,
          ...(i % 2 ? { path: path('approve') } : { path: path('reject'), body: {} }),
        })),
      );
      assert.deepEqual(countStatuses(answers), { 200: 1, 409: CONNECTIONS - 1 });
      const { status } = answers.find((a) => a.status === 200).json.data;
      const [listed] = dataOf(await store.souk.get('/api/customer/wallet/withdrawals', { token: store.racer.token }));
      assert.equal(listed.status, status);
      assertInvariants(store.database.dbArg);
    }
    assert.equal(
      dataOf(await store.souk.get('/api/customer/notifications', { token: store.racer.token })).length,
      ROUNDS,
    );
  } finally {
    await store.stop();
  }
});

test('control: a wallet that reads and then writes is caught by the same harness', async () => {
  let balance = AFFORDABLE;
  const writers = [];
  const naive = http.createServer((req, res) => {
    req.resume().on('end', () => {
      const seen = balance;
      writers.push(() => {
        if (seen >= 1) balance = seen - 1;
        res.writeHead(seen >= 1 ? 200 : 422, { 'Content-Length': 0 }).end();
      });
      if (writers.length === CONNECTIONS) for (const write of writers) write(); // all have read: no request waits for an answer
    });
  });
  await new Promise((resolve) => {
    naive.listen(0, '127.0.0.1', resolve);
  });
  try {
    const url = `http://127.0.0.1:${naive.address().port}`;
    assert.notEqual(verdict(await releaseTogether(requestsTo([url], 'any'))), 'sound');
  } finally {
    naive.closeAllConnections();
    await new Promise((resolve) => {
      naive.close(resolve);
    });
  }
});
