// Accounts and tokens: register, login, logout, who am I, named tokens and their scopes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { startSouk } from './lib/souk.mjs';

const TOKEN = /^souk_[a-z]+_[0-9A-Za-z]{38}$/;
const ALL_SCOPES = ['customer', 'store', 'catalog', 'verify', 'order'];
const password = 'correct horse battery';

let souk;
let serial = 0;
before(async () => { souk = await startSouk(); });
after(() => souk.stop());

function freshEmail() {
  serial += 1;
  return `user${serial}@example.com`;
}

function createToken(token, body, options) {
  return souk.post('/api/customer/tokens', body, { token, ...options });
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
  const data = dataOf(await souk.post('/api/auth/register', { email: `  ${email.toUpperCase()} `, password }), 201);
  assert.equal(data.account.email, email);
  expectError(await souk.post('/api/auth/register', { email, password }), 409, 'email_taken',
    'This e-mail address has an account already');
  expectError(await souk.post('/api/auth/register', { email: email.toUpperCase(), password }), 409, 'email_taken');
});

test('an optional member may be null', async () => {
  const data = dataOf(await souk.post('/api/auth/register', { email: freshEmail(), password, name: null }), 201);
  assert.equal(data.account.name, '');
});

test('register names every bad field at once', async () => {
  expectFields(await souk.post('/api/auth/register', {}), { email: 'required', password: 'required' });
  expectFields(await souk.post('/api/auth/register', { email: 5, password: ['x'], name: {}, role: 'owner' }),
    { email: 'wrong_type', password: 'wrong_type', name: 'wrong_type', role: 'unknown_field' });
  expectFields(await souk.post('/api/auth/register', { email: 'nobody', password: 'short' }),
    { email: 'bad_format', password: 'too_short' });
  expectFields(await souk.post('/api/auth/register', { email: null, password: null }),
    { email: 'required', password: 'required' });
});

test('nobody gives himself rights at registration', async () => {
  for (const extra of [{ role: 'owner' }, { is_admin: true }, { scopes: ['admin'] }, { balance: 100 }, { id: 1 }]) {
    const answer = await souk.post('/api/auth/register', { email: freshEmail(), password, ...extra });
    expectFields(answer, { [Object.keys(extra)[0]]: 'unknown_field' });
  }
});

for (const bad of ['a@', '@b.example', 'a b@c.example', 'a@b@c.example', 'a@example', '.@', `${'x'.repeat(250)}@e.example`,
  'a@-example.com', 'a@exa mple.com', 'a\u0000@example.com', 'a\n@example.com']) {
  test(`the address ${JSON.stringify(bad).slice(0, 40)} is refused`, async () => {
    const answer = await souk.post('/api/auth/register', { email: bad, password });
    if (bad.includes('\u0000')) expectError(answer, 400, 'malformed_json');
    else {
      expectError(answer, 422, 'validation_failed');
      assert.deepEqual(answer.json.errors.map((e) => e.field), ['email'], answer.text);
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

test('a wrong password and an unknown address cost the same', async () => {
  const who = await souk.customer();
  const median = async (email) => {
    const times = [];
    for (let i = 0; i < 9; i++) {
      times.push((await souk.post('/api/auth/login', { email, password: 'not the password' })).ms);
    }
    return times.sort((a, b) => a - b)[4];
  };
  await median(who.email);
  const known = await median(who.email);
  const unknown = await median('nobody@example.com');
  const ratio = Math.max(known, unknown) / Math.min(known, unknown);
  assert.ok(ratio < 2.5, `known ${known.toFixed(1)} ms, unknown ${unknown.toFixed(1)} ms`);
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
  const me = (authorization) => souk.get('/api/auth/me', { headers: authorization === null ? {} : { Authorization: authorization } });
  const who = await souk.customer();
  const missing = expectError(await me(null), 401, 'token_missing', 'A bearer token is required');
  assert.equal(missing.headers['www-authenticate'], 'Bearer realm="souk"');
  expectError(await me('Basic YWRhOmFkYQ=='), 401, 'token_missing');
  const last = who.token.at(-1) === 'a' ? 'b' : 'a';
  for (const text of ['x', 'souk_login_', `${who.token}x`, who.token.slice(0, -1), who.token.slice(0, -1) + last,
    who.token.toUpperCase(), who.token.replace(/^souk_[a-z]+_/, ''), `souk_login_${'0'.repeat(38)}`]) {
    const answer = expectError(await me(`Bearer ${text}`), 401, 'token_invalid', 'The token is not valid');
    assert.equal(answer.headers['www-authenticate'], 'Bearer realm="souk", error="invalid_token"');
  }
  expectStatus(await me(`bearer ${who.token}`), 200);
});

test('a customer makes, lists and revokes named tokens', async () => {
  const who = await souk.customer();
  const answer = await createToken(who.token, { name: 'shop server', scopes: ['order', 'catalog'] });
  const made = dataOf(answer, 201);
  assert.match(made.token, TOKEN);
  assert.equal(made.name, 'shop server');
  assert.deepEqual([...made.scopes].sort(), ['catalog', 'order']);
  assert.equal(made.expires_at, null);
  assert.equal(answer.headers.location, `/api/customer/tokens/${made.id}`);

  const list = await souk.get('/api/customer/tokens', { token: who.token });
  const listed = dataOf(list).find((t) => t.id === made.id);
  assert.equal(listed.name, 'shop server');
  assert.ok(!list.text.includes(made.token), 'the text of a token is shown once');
  assert.ok(made.token.includes(listed.hint.replace(/[^0-9A-Za-z_]/g, '')), `hint ${listed.hint}`);
  assert.deepEqual(list.json.meta, { has_more: false, next_cursor: null });

  expectError(await souk.get('/api/customer/tokens', { token: made.token }), 403, 'insufficient_scope', 'The token does not allow this');
  expectStatus(await souk.delete(`/api/customer/tokens/${made.id}`, { token: who.token }), 200);
  expectError(await souk.get('/api/auth/me', { token: made.token }), 401, 'token_invalid');
  expectError(await souk.delete(`/api/customer/tokens/${made.id}`, { token: who.token }), 404, 'not_found');
  assert.ok(!dataOf(await souk.get('/api/customer/tokens', { token: who.token })).some((t) => t.id === made.id));
});

test('without scopes a token gets those of its maker', async () => {
  const who = await souk.customer();
  const made = dataOf(await createToken(who.token, { name: 'all' }), 201);
  assert.deepEqual([...made.scopes].sort(), [...ALL_SCOPES].sort());
});

test('nobody hands on more than he has', async () => {
  const who = await souk.customer();
  expectFields(await createToken(who.token, { name: 'x', scopes: ['admin'] }), { scopes: 'not_allowed' });
  const narrow = dataOf(await createToken(who.token, { name: 'n', scopes: ['customer', 'verify'] }), 201).token;
  expectFields(await createToken(narrow, { name: 'x', scopes: ['order'] }), { scopes: 'not_allowed' });
  const copy = dataOf(await createToken(narrow, { name: 'copy' }), 201);
  assert.deepEqual([...copy.scopes].sort(), ['customer', 'verify']);
});

test('the body of a token is checked', async () => {
  const { token } = await souk.customer();
  expectFields(await createToken(token, {}), { name: 'required' });
  expectFields(await createToken(token, { name: '' }), { name: 'required' });
  expectFields(await createToken(token, { name: '   ' }), { name: 'required' });
  expectFields(await createToken(token, { name: 'a\u0007b' }), { name: 'bad_characters' });
  expectFields(await createToken(token, { name: 'a'.repeat(1000) }), { name: 'too_long' });
  expectFields(await createToken(token, { name: 'x', scopes: [] }), { scopes: 'too_few' });
  expectFields(await createToken(token, { name: 'x', scopes: 'order' }), { scopes: 'wrong_type' });
  expectFields(await createToken(token, { name: 'x', scopes: ['root'] }), { scopes: 'not_allowed' });
  expectFields(await createToken(token, { name: 'x', expires_at: 'tomorrow' }), { expires_at: 'bad_format' });
  expectFields(await createToken(token, { name: 'x', expires_at: 1800000000 }), { expires_at: 'wrong_type' });
  expectFields(await createToken(token, { name: 'x', token: 'mine' }), { token: 'unknown_field' });
});

test('a token ends when it says', async () => {
  const { token } = await souk.customer();
  const soon = new Date(Date.now() + 2500).toISOString();
  const made = dataOf(await createToken(token, { name: 'short', expires_at: soon }), 201);
  assert.ok(Math.abs(Date.parse(made.expires_at) - Date.parse(soon)) <= 1000, made.expires_at);
  expectStatus(await souk.get('/api/auth/me', { token: made.token }), 200);
  await new Promise((resolve) => { setTimeout(resolve, 3600); });
  const answer = expectError(await souk.get('/api/auth/me', { token: made.token }), 401, 'token_expired', 'The token has expired');
  assert.equal(answer.headers['www-authenticate'], 'Bearer realm="souk", error="invalid_token"');
});

test('a token that has ended already can not be made', async () => {
  const { token } = await souk.customer();
  expectError(await createToken(token, { name: 'old', expires_at: '2020-01-01T00:00:00Z' }), 422, 'validation_failed');
});

test('another customer\'s token is not there', async () => {
  const owner = await souk.customer();
  const other = await souk.customer();
  const made = dataOf(await createToken(owner.token, { name: 'mine' }), 201);
  expectError(await souk.delete(`/api/customer/tokens/${made.id}`, { token: other.token }), 404, 'not_found', 'Not found');
  expectStatus(await souk.get('/api/auth/me', { token: made.token }), 200);
  assert.ok(!dataOf(await souk.get('/api/customer/tokens?limit=100', { token: other.token })).some((t) => t.id === made.id));
});

test('ids in a path are plain positive numbers', async () => {
  const { token } = await souk.customer();
  for (const id of ['0', '-1', '1.0', '1e0', '01', 'x', '%31x', '9007199254740993', '99999999999999999999', '%00', '%']) {
    expectError(await souk.delete(`/api/customer/tokens/${id}`, { token }), 404, 'not_found');
  }
});

test('lists come in pages, newest first, none lost, none twice', async () => {
  const { token } = await souk.customer();
  const made = [];
  for (let i = 0; i < 7; i++) made.push(dataOf(await createToken(token, { name: `t${i}` }), 201).id);
  const seen = [];
  let target = '/api/customer/tokens?limit=3';
  for (let page = 0; target; page++) {
    assert.ok(page < 5);
    const answer = await souk.get(target, { token });
    const data = dataOf(answer);
    seen.push(...data.map((t) => t.id));
    const { has_more: more, next_cursor: cursor } = answer.json.meta;
    assert.equal(more, cursor !== null);
    assert.equal(data.length, more ? 3 : data.length);
    const link = answer.headers.link;
    assert.equal(link !== undefined, more);
    target = more ? /^<([^>]+)>; rel="next"$/.exec(link)[1] : null;
    if (more) assert.ok(target.includes(`cursor=${encodeURIComponent(cursor)}`) && target.includes('limit=3'), target);
  }
  assert.equal(new Set(seen).size, seen.length);
  assert.deepEqual(seen, [...seen].sort((a, b) => b - a));
  for (const id of made) assert.ok(seen.includes(id));
});

test('bad page parameters are refused', async () => {
  const { token } = await souk.customer();
  const list = (query) => souk.get(`/api/customer/tokens?${query}`, { token });
  for (const limit of ['0', '101', '-1', 'x', '1.5', '1e1', '', '99999999999999999999']) {
    const answer = expectError(await list(`limit=${limit}`), 422, 'validation_failed');
    assert.equal(answer.json.errors[0].field, 'limit', answer.text);
  }
  for (const cursor of ['x', 'AAAA', `${'A'.repeat(32)}`, 'A'.repeat(201)]) {
    const answer = expectError(await list(`cursor=${cursor}`), 422, 'validation_failed');
    assert.equal(answer.json.errors[0].field, 'cursor', answer.text);
  }
  expectFields(await list('cursor=AAAA'), { cursor: 'bad_cursor' });
  expectFields(await list('limit=1&limit=2'), { limit: 'not_combinable' });
  expectFields(await list('page=2'), { page: 'unknown_field' });
  expectStatus(await list('limit=100'), 200);
});

test('a cursor is the customer\'s own list only, and a flipped bit is seen', async () => {
  const { token } = await souk.customer();
  for (let i = 0; i < 3; i++) await createToken(token, { name: `t${i}` });
  const cursor = (await souk.get('/api/customer/tokens?limit=1', { token })).json.meta.next_cursor;
  for (let i = 0; i < cursor.length; i++) {
    const flipped = cursor.slice(0, i) + (cursor[i] === 'A' ? 'B' : 'A') + cursor.slice(i + 1);
    const answer = await souk.get(`/api/customer/tokens?cursor=${flipped}`, { token });
    // The last character of base64 has bits that mean nothing; all others matter.
    if (i < cursor.length - 1) expectFields(answer, { cursor: 'bad_cursor' });
  }
});
