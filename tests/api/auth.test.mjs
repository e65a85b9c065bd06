// Accounts and tokens: register, login, logout, who am I.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { cpuNanoseconds } from '../lib/cpu.mjs';
import { HAS_FAULTS } from './lib/faults.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { startSouk } from './lib/souk.mjs';

const TOKEN = /^souk_[a-z]+_[0-9A-Za-z]{38}$/;
const ALL_SCOPES = ['customer', 'store', 'catalog', 'verify', 'order'];
const password = 'correct horse battery';

let souk;
let serial = 0;
before(async () => {
  souk = await startSouk({ dear: true });
});
after(() => souk.stop());

function freshEmail() {
  serial += 1;
  return `user${serial}@example.com`;
}

test('register gives an account and a token that works', async () => {
  const email = freshEmail();
  const answer = await souk.post('/api/auth/register', { email, password, name: 'Ada Lovelace' });
  const data = dataOf(answer, 201);
  assert.match(data.token, TOKEN);
  assert.equal(answer.headers.location, '/api/auth/me');
  assert.equal(data.account.email, email);
  assert.equal(data.account.name, 'Ada Lovelace');
  assert.ok(Number.isSafeInteger(data.account.id) && data.account.id > 0);
  assert.ok(Math.abs(Date.parse(data.account.created_at) - Date.now()) < 60_000, data.account.created_at);
  const me = dataOf(await souk.get('/api/auth/me', { token: data.token }));
  assert.deepEqual(me, { ...data.account, role: 'customer', scopes: ALL_SCOPES });
});

test('an e-mail address is trimmed and lower-cased, and taken whatever its case', async () => {
  const email = freshEmail();
  // The document asks for an address alone; what people paste is forgiven.
  const pasted = { email: `  ${email.toUpperCase()} `, password };
  const data = dataOf(await souk.post('/api/auth/register', pasted, { unchecked: true }), 201);
  assert.equal(data.account.email, email);
  expectError(
    await souk.post('/api/auth/register', { email, password }),
    409,
    'email_taken',
    'This e-mail address already has an account',
  );
  expectError(await souk.post('/api/auth/register', { email: email.toUpperCase(), password }), 409, 'email_taken');
});

test('an optional member may be null', async () => {
  const data = dataOf(await souk.post('/api/auth/register', { email: freshEmail(), password, name: null }), 201);
  assert.equal(data.account.name, '');
});

test('register names every bad field at once', async () => {
  expectFields(await souk.post('/api/auth/register', {}), { email: 'required', password: 'required' });
  expectFields(await souk.post('/api/auth/register', { email: 5, password: ['x'], name: {}, role: 'owner' }), {
    email: 'wrong_type',
    password: 'wrong_type',
    name: 'wrong_type',
    role: 'unknown_field',
  });
  expectFields(await souk.post('/api/auth/register', { email: 'nobody', password: 'short' }), {
    email: 'bad_format',
    password: 'too_short',
  });
  expectFields(await souk.post('/api/auth/register', { email: null, password: null }), {
    email: 'required',
    password: 'required',
  });
});

test('nobody gives themselves rights at registration', async () => {
  for (const extra of [{ role: 'owner' }, { is_admin: true }, { scopes: ['admin'] }, { balance: 100 }, { id: 1 }]) {
    const answer = await souk.post('/api/auth/register', { email: freshEmail(), password, ...extra });
    expectFields(answer, { [Object.keys(extra)[0]]: 'unknown_field' });
  }
});

for (const bad of [
  'a@',
  '@b.example',
  'a b@c.example',
  'a@b@c.example',
  'a@example',
  '.@',
  `${'x'.repeat(250)}@e.example`,
  'a@-example.com',
  'a@exa mple.com',
  'a\u0000@example.com',
  'a\n@example.com',
]) {
  test(`the address ${JSON.stringify(bad).slice(0, 40)} is refused`, async () => {
    const answer = await souk.post('/api/auth/register', { email: bad, password });
    if (bad.includes('\u0000')) expectError(answer, 400, 'malformed_json');
    else {
      expectError(answer, 422, 'validation_failed');
      assert.deepEqual(
        answer.json.errors.map((e) => e.field),
        ['email'],
        answer.text,
      );
    }
  });
}

test('passwords have 10 to 256 characters, counted as code points', async () => {
  const register = (text) => souk.post('/api/auth/register', { email: freshEmail(), password: text });
  expectFields(await register('123456789'), { password: 'too_short' });
  expectStatus(await register('1234567890'), 201);
  expectStatus(await register('пароль-дев'), 201);
  expectFields(await register('😀'.repeat(9)), { password: 'too_short' });
  expectStatus(await register('😀'.repeat(256)), 201);
  expectFields(await register('😀'.repeat(257)), { password: 'too_long' });
  expectFields(await register('a'.repeat(257)), { password: 'too_long' });
});

test('a password is taken as it is: spaces count', async () => {
  const email = freshEmail();
  expectStatus(await souk.post('/api/auth/register', { email, password: '  spaces around  ' }), 201);
  expectError(await souk.post('/api/auth/login', { email, password: 'spaces around' }), 401, 'credentials_invalid');
  expectStatus(await souk.post('/api/auth/login', { email, password: '  spaces around  ' }), 200);
});

test('login gives a fresh token each time, with an end', async () => {
  const who = await souk.customer();
  const one = dataOf(await souk.post('/api/auth/login', { email: who.email, password: who.password }));
  const two = dataOf(await souk.post('/api/auth/login', { email: who.email.toUpperCase(), password: who.password }));
  assert.notEqual(one.token, two.token);
  assert.equal(one.account.id, who.id);
  assert.ok(Date.parse(one.expires_at) > Date.now() + 3600_000, one.expires_at);
  for (const { token } of [one, two, who]) {
    assert.equal(dataOf(await souk.get('/api/auth/me', { token })).id, who.id);
  }
});

test('a wrong password and an unknown address get the same answer', async () => {
  const who = await souk.customer();
  const wrong = await souk.post('/api/auth/login', { email: who.email, password: 'not the password' });
  const unknown = await souk.post('/api/auth/login', { email: 'nobody@example.com', password: 'not the password' });
  for (const answer of [wrong, unknown]) {
    expectError(answer, 401, 'credentials_invalid', 'The e-mail address or the password is wrong');
  }
  const shape = (answer) => {
    const headers = { ...answer.headers };
    for (const name of ['date', 'x-request-id']) delete headers[name];
    return { headers, body: { ...answer.json, request_id: '' } };
  };
  assert.deepEqual(shape(wrong), shape(unknown));
});

const REPEATED = { skip: HAS_FAULTS && 'each request is sent as often as it has statements' };

test('a wrong password and an unknown address cost the same', REPEATED, async () => {
  const who = await souk.customer();
  // In processor time of the server, because what the clock shows depends on what else the machine does.
  const cost = async (email) => {
    const before_ = cpuNanoseconds(souk.child.pid);
    for (let i = 0; i < 5; i++) await souk.post('/api/auth/login', { email, password: 'not the password' });
    return cpuNanoseconds(souk.child.pid) - before_;
  };
  const known = await cost(who.email);
  const unknown = await cost('nobody@example.com');
  const ratio = Math.max(known, unknown) / Math.min(known, unknown);
  assert.ok(ratio < 2, `known ${known / 1e6} ms, unknown ${unknown / 1e6} ms`);
});

test('logout ends the token that was used, and no other', async () => {
  const who = await souk.customer();
  const other = dataOf(await souk.post('/api/auth/login', { email: who.email, password: who.password })).token;
  expectStatus(await souk.request('POST', '/api/auth/logout', { token: other }), 200);
  expectError(await souk.get('/api/auth/me', { token: other }), 401, 'token_invalid');
  expectError(await souk.request('POST', '/api/auth/logout', { token: other }), 401, 'token_invalid');
  expectStatus(await souk.get('/api/auth/me', { token: who.token }), 200);
});

test('a token is missing, malformed, made up or in the wrong scheme', async () => {
  const me = (authorization) =>
    souk.get('/api/auth/me', { headers: authorization === null ? {} : { Authorization: authorization } });
  const who = await souk.customer();
  const missing = expectError(await me(null), 401, 'token_missing', 'A bearer token is required');
  assert.equal(missing.headers['www-authenticate'], 'Bearer realm="souk"');
  expectError(await me('Basic YWRhOmFkYQ=='), 401, 'token_missing');
  const last = who.token.at(-1) === 'a' ? 'b' : 'a';
  for (const text of [
    'x',
    'souk_login_',
    `${who.token}x`,
    who.token.slice(0, -1),
    who.token.slice(0, -1) + last,
    who.token.toUpperCase(),
    who.token.replace(/^souk_[a-z]+_/, ''),
    `souk_login_${'0'.repeat(38)}`,
  ]) {
    const answer = expectError(await me(`Bearer ${text}`), 401, 'token_invalid', 'The token is not valid');
    assert.equal(answer.headers['www-authenticate'], 'Bearer realm="souk", error="invalid_token"');
  }
  expectStatus(await me(`bearer ${who.token}`), 200);
});
