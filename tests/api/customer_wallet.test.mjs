// GET /api/customer/wallet and POST /api/customer/wallet/withdraw: fields, rules and refusals.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { number } from '../lib/sql.mjs';
import { command, startStore } from '../lib/store.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';

const WALLET = '/api/customer/wallet';
const WITHDRAW = '/api/customer/wallet/withdraw';

let store, souk;
before(async () => {
  store = await startStore({
    customers: {
      fresh: null,
      fields: {
        credits: [
          ['100.00', 'First <b>credit</b> & "quotes"'],
          ['0.50', 'Zweite Gutschrift: 50 ¢'],
        ],
      },
      holder: '50.00',
      exact: {
        credits: [
          ['0.1', 'a'],
          ['0.2', 'b'],
          ['0.1', 'c'],
          ['0.2', 'd'],
          ['0.1', 'e'],
          ['0.2', 'f'],
        ],
      },
      pager: '3.00',
      refused: '10.00',
      all: '7.77',
      literal: '100.00',
      repeat: '10.00',
      twice: '10.00',
      other: '5.00',
      postpay: { balance: '5.00', credit_limit: 10000 },
      scoped: '1.00',
    },
  });
  souk = store.souk;
});
after(async () => {
  if (!store) return;
  try {
    assertInvariants(store.database.dbArg);
    const check = await souk.cli(['check'], { helps: true });
    assert.equal(check.code, 0, check.stdout + check.stderr);
  } finally {
    await store.stop();
  }
});

const wallet = async (who, query = '') => dataOf(await souk.get(WALLET + query, { token: who.token }));
const withdraw = (who, body, headers) => souk.post(WITHDRAW, body, { token: who.token, headers });

test('a customer who never had money has an empty wallet', async () => {
  const answer = await souk.get(WALLET, { token: store.fresh.token });
  assert.deepEqual(dataOf(answer), {
    balance: 0,
    currency: 'USD',
    held: 0,
    credit_limit: 0,
    transactions: [],
    has_more: false,
  });
  assert.match(answer.text, /"balance":0\.00,/);
});

test('the wallet has balance, currency and transactions', async () => {
  const data = await wallet(store.fields);
  assert.equal(data.balance, 100.5);
  assert.equal(data.currency, 'USD');
  assert.equal(data.held, 0);
  assert.equal(data.credit_limit, 0);
  assert.equal(data.transactions.length, 2);
});

test('a transaction has id, type, amount, description and created_at', async () => {
  const [first, second] = (await wallet(store.fields)).transactions;
  assert.deepEqual(Object.keys(first).sort(), ['amount', 'created_at', 'description', 'id', 'type']);
  assert.ok(Number.isSafeInteger(first.id));
  assert.equal(first.type, 'credit');
  assert.equal(first.amount, 100);
  assert.equal(first.description, 'First <b>credit</b> & "quotes"');
  assert.equal(second.description, 'Zweite Gutschrift: 50 ¢');
  assert.ok(Math.abs(Date.parse(first.created_at) - Date.now()) < 600_000);
});

test('money is written with the decimals of the currency', async () => {
  const { text } = await souk.get(WALLET, { token: store.fields.token });
  assert.match(text, /"balance":100\.50,/);
  assert.match(text, /"amount":100\.00,/);
  assert.match(text, /"amount":0\.50,/);
});

test('0.1 + 0.2, three times, is 0.90', async () => {
  const { text } = await souk.get(WALLET, { token: store.exact.token });
  assert.match(text, /"balance":0\.90,/);
  assert.equal(
    number(store.database.dbArg, `SELECT balance FROM ledger_account WHERE owner_id = ${store.exact.id}`),
    90n,
  );
});

test('transactions are in chronological order, oldest first', async () => {
  for (let i = 1; i <= 5; i++) expectStatus(await withdraw(store.fields, { amount: i / 100 }), 200);
  const { transactions } = await wallet(store.fields);
  assert.deepEqual(
    transactions.slice(-5).map((t) => [t.type, t.amount]),
    [
      ['debit', 0.01],
      ['debit', 0.02],
      ['debit', 0.03],
      ['debit', 0.04],
      ['debit', 0.05],
    ],
  );
  for (let i = 1; i < transactions.length; i++) {
    assert.ok(transactions[i - 1].id < transactions[i].id);
    assert.ok(transactions[i - 1].created_at <= transactions[i].created_at);
  }
});

test('without parameters the newest 100 come, oldest first; limit and before page back', async () => {
  for (let i = 0; i < 120; i++) expectStatus(await withdraw(store.pager, { amount: 0.01 }), 200);
  const all = (await wallet(store.pager, '?limit=1000')).transactions;
  assert.equal(all.length, 121);
  assert.deepEqual((await wallet(store.pager)).transactions, all.slice(-100));
  assert.deepEqual((await wallet(store.pager, '?limit=1')).transactions, all.slice(-1));
  assert.deepEqual((await wallet(store.pager, '?limit=7')).transactions, all.slice(-7));
  const paged = [];
  for (let before = ''; ;) {
    const { transactions, balance, has_more } = await wallet(store.pager, `?limit=25${before}`);
    assert.equal(balance, 1.8);
    paged.unshift(...transactions);
    assert.equal(has_more, paged.length < all.length);
    if (!has_more) break;
    before = `&before=${transactions[0].id}`;
  }
  assert.deepEqual(paged, all);
  assert.deepEqual((await wallet(store.pager, `?before=${all[100].id}`)).transactions, all.slice(0, 100));
});

test('bad paging parameters are named', async () => {
  const at = (query) => souk.get(WALLET + query, { token: store.fields.token });
  expectFields(await at('?limit=0'), { limit: 'not_positive' });
  expectFields(await at('?limit=1001'), { limit: 'out_of_range' });
  expectFields(await at('?limit=-1'), { limit: 'not_positive' });
  expectFields(await at('?limit=ten'), { limit: 'wrong_type' });
  expectFields(await at('?before=0'), { before: 'not_positive' });
  expectFields(await at('?before=1.5'), { before: 'wrong_type' });
  expectFields(await at('?before=99999999999999999999'), { before: 'out_of_range' });
  expectFields(await at('?limit=0&before=x'), { limit: 'not_positive', before: 'wrong_type' });
});

test('a withdrawal answers withdrawal_id, amount, status pending and requested_at, and nothing else', async () => {
  const answer = await withdraw(store.holder, { amount: 12.5 });
  const data = dataOf(answer);
  assert.deepEqual(Object.keys(data).sort(), ['amount', 'requested_at', 'status', 'withdrawal_id']);
  assert.ok(Number.isSafeInteger(data.withdrawal_id) && data.withdrawal_id > 0);
  assert.equal(data.amount, 12.5);
  assert.match(answer.text, /"amount":12\.50,/);
  assert.equal(data.status, 'pending');
  assert.ok(Math.abs(Date.parse(data.requested_at) - Date.now()) < 60_000);
});

test('a pending withdrawal is held: not in the balance, a debit in the history', async () => {
  const before = await wallet(store.holder);
  const { withdrawal_id } = dataOf(await withdraw(store.holder, { amount: 7.25 }));
  const now = await wallet(store.holder);
  assert.equal(now.balance, before.balance - 7.25);
  assert.equal(now.held, before.held + 7.25);
  const last = now.transactions.at(-1);
  assert.equal(last.type, 'debit');
  assert.equal(last.amount, 7.25);
  assert.equal(last.description, `Withdrawal request #${withdrawal_id}`);
});

test('an amount above the balance is a validation error and changes nothing', async () => {
  const before = await wallet(store.refused);
  const answer = expectFields(await withdraw(store.refused, { amount: 10.01 }), { amount: 'exceeds_balance' });
  assert.equal(answer.json.errors[0].field, 'amount');
  assert.equal(answer.json.message, 'The request has fields that are not valid');
  expectFields(await withdraw(store.refused, { amount: 1e15 }), { amount: 'exceeds_balance' });
  expectFields(await withdraw(store.fresh, { amount: 0.01 }), { amount: 'exceeds_balance' });
  assert.deepEqual(await wallet(store.refused), before);
  assert.equal(
    number(store.database.dbArg, `SELECT COUNT(*) FROM withdrawal WHERE account_id = ${store.refused.id}`),
    0n,
  );
});

test('an amount that is not positive is refused', async () => {
  for (const body of [
    '{"amount":0}',
    '{"amount":0.00}',
    '{"amount":-0}',
    '{"amount":-0.01}',
    '{"amount":-5}',
    '{"amount":-1e30}',
    '{"amount":0e9}',
  ]) {
    expectFields(await withdraw(store.refused, body), { amount: 'not_positive' });
  }
});

test('an amount with too many decimals is refused', async () => {
  for (const body of [
    '{"amount":0.001}',
    '{"amount":1.999}',
    '{"amount":1e-3}',
    '{"amount":0.010000000000000000000001}',
  ]) {
    expectFields(await withdraw(store.refused, body), { amount: 'too_precise' });
  }
});

test('an amount that does not fit is refused', async () => {
  for (const literal of ['92233720368547758.08', '1e17', '1e400', '9'.repeat(400)]) {
    expectFields(await withdraw(store.refused, `{"amount":${literal}}`), { amount: 'out_of_range' });
  }
  expectFields(await withdraw(store.refused, '{"amount":92233720368547758.07}'), { amount: 'exceeds_balance' });
});

test('a bad body is refused, and every bad field named', async () => {
  expectFields(await withdraw(store.refused, {}), { amount: 'required' });
  expectFields(await withdraw(store.refused, { amount: null }), { amount: 'required' });
  for (const amount of ['5', '', true, [5], { value: 5 }]) {
    expectFields(await withdraw(store.refused, { amount }), { amount: 'wrong_type' });
  }
  expectFields(await withdraw(store.refused, { amount: 5, note: 'x' }), { note: 'unknown_field' });
  expectFields(await withdraw(store.refused, { amount: 5, balance: 1000, account_id: 1, status: 'approved' }), {
    balance: 'unknown_field',
    account_id: 'unknown_field',
    status: 'unknown_field',
  });
  expectFields(await withdraw(store.refused, { Amount: 5 }), { amount: 'required', Amount: 'unknown_field' });
  expectFields(await withdraw(store.refused, []), { '': 'wrong_type' });
  expectFields(await withdraw(store.refused, '5'), { '': 'wrong_type' });
});

test('a body that is no JSON is refused as such', async () => {
  for (const body of [
    '',
    '{',
    '{"amount":5',
    '{"amount":05}',
    '{"amount":+5}',
    '{"amount":.5}',
    '{"amount":5.}',
    '{"amount":NaN}',
    '{"amount":5,"amount":6}',
    '{"amount":5}x',
    "{'amount':5}",
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x35, 0x7d]),
  ]) {
    expectError(await withdraw(store.refused, body), 400, 'malformed_json');
  }
  expectError(
    await souk.post(WITHDRAW, '{"amount":5}', { token: store.refused.token, type: 'text/plain' }),
    415,
    'unsupported_media_type',
  );
  assert.equal((await wallet(store.refused)).balance, 10);
});

test('the same amount may be written in any way', async () => {
  for (const literal of ['1', '1.0', '1.00', '1.000000000000', '1e0', '10e-1', '0.1E1', '100e-2']) {
    const answer = await withdraw(store.literal, `{"amount":${literal}}`);
    assert.match(expectStatus(answer, 200).text, /"amount":1\.00,/);
  }
  assert.equal((await wallet(store.literal)).held, 8);
});

test('the whole balance can be withdrawn, and then nothing more', async () => {
  expectStatus(await withdraw(store.all, { amount: 7.77 }), 200);
  const data = await wallet(store.all);
  assert.equal(data.balance, 0);
  assert.equal(data.held, 7.77);
  expectFields(await withdraw(store.all, { amount: 0.01 }), { amount: 'exceeds_balance' });
});

test('the same amount may be requested again: two requests, two holds', async () => {
  const one = dataOf(await withdraw(store.twice, { amount: 4 }));
  const two = dataOf(await withdraw(store.twice, { amount: 4 }));
  assert.notEqual(one.withdrawal_id, two.withdrawal_id);
  assert.equal((await wallet(store.twice)).balance, 2);
});

test('an Idempotency-Key makes a repeated request one withdrawal', async () => {
  const headers = { 'Idempotency-Key': randomBytes(8).toString('hex') };
  const first = expectStatus(await withdraw(store.repeat, { amount: 3 }, headers), 200);
  for (let i = 0; i < 3; i++) {
    const again = await withdraw(store.repeat, { amount: 3 }, headers);
    assert.deepEqual(again.bytes, first.bytes);
    assert.equal(again.headers['idempotent-replayed'], 'true');
  }
  expectError(await withdraw(store.repeat, { amount: 4 }, headers), 422, 'idempotency_key_reused');
  assert.equal((await wallet(store.repeat)).balance, 7);
});

test('a refusal is not kept under its Idempotency-Key', async () => {
  const headers = { 'Idempotency-Key': randomBytes(8).toString('hex') };
  expectFields(await withdraw(store.repeat, { amount: 1000 }, headers), { amount: 'exceeds_balance' });
  expectStatus(await withdraw(store.repeat, { amount: 1 }, headers), 200);
});

test('post-pay credit is shown and cannot be withdrawn', async () => {
  const data = await wallet(store.postpay);
  assert.equal(data.balance, 5);
  assert.equal(data.credit_limit, 100);
  expectFields(await withdraw(store.postpay, { amount: 5.01 }), { amount: 'exceeds_balance' });
  expectStatus(await withdraw(store.postpay, { amount: 5 }), 200);
  expectFields(await withdraw(store.postpay, { amount: 0.01 }), { amount: 'exceeds_balance' });
});

test('a customer sees only their own wallet', async () => {
  const data = await wallet(store.other);
  assert.equal(data.balance, 5);
  assert.deepEqual(
    data.transactions.map((t) => t.amount),
    [5],
  );
});

test('the wallet needs a token with the scope customer', async (t) => {
  expectError(await souk.get(WALLET), 401, 'token_missing');
  expectError(await souk.post(WITHDRAW, { amount: 1 }), 401, 'token_missing');
  expectError(await souk.get(WALLET, { token: 'souk_api_nonsense' }), 401, 'token_invalid');
  const made = dataOf(
    await souk.post(
      '/api/customer/tokens',
      { name: 'v', scopes: ['verify', 'store', 'order', 'catalog'] },
      { token: store.scoped.token },
    ),
    201,
  );
  for (const [method, path] of [
    ['GET', WALLET],
    ['POST', WITHDRAW],
    ['GET', '/api/customer/wallet/withdrawals'],
  ]) {
    expectError(
      await souk.request(method, path, { token: made.token, body: method === 'POST' ? { amount: 1 } : undefined }),
      403,
      'insufficient_scope',
    );
  }
});

test('wallet credit: bad use is refused in words, and moves nothing', async () => {
  const db = await startStore({ customers: { ann: '1.00' } });
  await db.souk.stop();
  try {
    const credit = (...args) => command(db.database, ['wallet', 'credit', ...args], 2);
    const failing = (...args) => command(db.database, ['wallet', 'credit', ...args], 1);
    await credit('--amount', '5');
    await credit('--email', 'no address', '--amount', '5');
    await credit('--email', db.ann.email);
    for (const amount of ['0', '-1', '1.234', 'ten', '1,5', '', ' 5', '+5', '1e30', '92233720368547758.08']) {
      await credit('--email', db.ann.email, `--amount=${amount}`);
    }
    await credit('--email', db.ann.email, '--amount', '5', '--description', 'x'.repeat(256));
    await credit('--email', db.ann.email, '--amount', '5', '--description', 'two\nlines');
    await failing('--email', 'nobody@example.com', '--amount', '5');
    await failing('--email', db.ann.email, '--amount', '92233720368547758.07');
    assert.equal(
      await command(db.database, ['wallet', 'credit', '--email', ' ANN@example.com ', '--amount', '2.50']),
      '3.50',
    );
    assertInvariants(db.database.dbArg);
  } finally {
    db.database.remove();
  }
});

test('wallet credit works beside a server', async () => {
  const before = (await wallet(store.scoped)).balance;
  const run = await souk.cli(['wallet', 'credit', '--email', store.scoped.email, '--amount', '1.25']);
  assert.equal(run.code, 0, run.stderr);
  assert.equal((await wallet(store.scoped)).balance, before + 1.25);
});

test('JPY: no decimals', async () => {
  const jpy = await startStore({ currency: 'JPY', customers: { yuki: '1500' } });
  try {
    const token = jpy.yuki.token;
    const first = await jpy.souk.get(WALLET, { token });
    assert.equal(dataOf(first).currency, 'JPY');
    assert.match(first.text, /"balance":1500,/);
    expectFields(await jpy.souk.post(WITHDRAW, { amount: 1.5 }, { token }), { amount: 'too_precise' });
    expectFields(await jpy.souk.post(WITHDRAW, { amount: 1501 }, { token }), { amount: 'exceeds_balance' });
    assert.match(
      expectStatus(await jpy.souk.post(WITHDRAW, '{"amount":500.00}', { token }), 200).text,
      /"amount":500,/,
    );
    assert.match((await jpy.souk.get(WALLET, { token })).text, /"balance":1000,.*"held":500,/);
    assertInvariants(jpy.database.dbArg);
  } finally {
    await jpy.stop();
  }
});

test('KWD: three decimals', async () => {
  const kwd = await startStore({ currency: 'KWD', customers: { dana: '1.234' } });
  try {
    const token = kwd.dana.token;
    assert.match((await kwd.souk.get(WALLET, { token })).text, /"balance":1\.234,"currency":"KWD"/);
    expectFields(await kwd.souk.post(WITHDRAW, { amount: 0.0001 }, { token }), { amount: 'too_precise' });
    assert.match(
      expectStatus(await kwd.souk.post(WITHDRAW, { amount: 0.001 }, { token }), 200).text,
      /"amount":0\.001,/,
    );
    assert.match((await kwd.souk.get(WALLET, { token })).text, /"balance":1\.233,/);
    assertInvariants(kwd.database.dbArg);
  } finally {
    await kwd.stop();
  }
});

test('the largest amount is exact, in and out', async () => {
  const rich = await startStore({ customers: { croesus: '92233720368547758.07', midas: '92233720368547758.07' } });
  try {
    const token = rich.croesus.token;
    assert.match((await rich.souk.get(WALLET, { token })).text, /"balance":92233720368547758\.07,/);
    const answer = await rich.souk.post(WITHDRAW, '{"amount":92233720368547758.06}', { token });
    assert.match(expectStatus(answer, 200).text, /"amount":92233720368547758\.06,/);
    assert.match((await rich.souk.get(WALLET, { token })).text, /"balance":0\.01,.*"held":92233720368547758\.06,/);
    expectFields(await rich.souk.post(WITHDRAW, '{"amount":0.02}', { token }), { amount: 'exceeds_balance' });
    assertInvariants(rich.database.dbArg);
    const check = await rich.souk.cli(['check'], { helps: true });
    assert.equal(check.code, 0, check.stdout + check.stderr);
  } finally {
    await rich.stop();
  }
});
