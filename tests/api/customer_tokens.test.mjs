// A customer's named tokens: scopes, ends, pages.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';
import { startSouk } from './lib/souk.mjs';

const TOKEN = /^souk_[a-z]+_[0-9A-Za-z]{38}$/;
const ALL_SCOPES = ['customer', 'store', 'catalog', 'verify', 'order'];

let souk;
let serial = 0;
before(async () => {
  souk = await startSouk();
});
after(() => souk.stop());

function freshEmail() {
  serial += 1;
  return `user${serial}@example.com`;
}

function createToken(token, body, options) {
  return souk.post('/api/customer/tokens', body, { token, ...options });
}

test('nobody who was switched off is let in by a token', async () => {
  const who = await souk.customer();
  const { token } = dataOf(await createToken(who.token, { name: 'kept' }), 201);
  seeder(souk).sql(`UPDATE account SET is_active = 0 WHERE id = ${who.id};`);
  expectError(await souk.get('/api/customer/wallet', { token }), 401, 'token_invalid');
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

  expectError(
    await souk.get('/api/customer/tokens', { token: made.token }),
    403,
    'insufficient_scope',
    'The token does not allow this',
  );
  expectStatus(await souk.delete(`/api/customer/tokens/${made.id}`, { token: who.token }), 200);
  expectError(await souk.get('/api/v1/products', { token: made.token }), 401, 'token_invalid');
  expectError(await souk.delete(`/api/customer/tokens/${made.id}`, { token: who.token }), 404, 'not_found');
  assert.ok(!dataOf(await souk.get('/api/customer/tokens', { token: who.token })).some((t) => t.id === made.id));
});

test('without scopes a token gets those of its maker', async () => {
  const who = await souk.customer();
  const made = dataOf(await createToken(who.token, { name: 'all' }), 201);
  assert.deepEqual([...made.scopes].sort(), [...ALL_SCOPES].sort());
});

test('nobody hands on more than they have', async () => {
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
  const soon = new Date(Date.now() + 6000).toISOString();
  const made = dataOf(await createToken(token, { name: 'short', expires_at: soon }), 201);
  assert.ok(Math.abs(Date.parse(made.expires_at) - Date.parse(soon)) <= 1000, made.expires_at);
  expectStatus(await souk.get('/api/customer/wallet', { token: made.token }), 200);
  await new Promise((resolve) => {
    setTimeout(resolve, 7100);
  });
  const answer = expectError(
    await souk.get('/api/customer/wallet', { token: made.token }),
    401,
    'token_expired',
    'The token has expired',
  );
  assert.equal(answer.headers['www-authenticate'], 'Bearer realm="souk", error="invalid_token"');
});

test('a token that has ended already cannot be made', async () => {
  const { token } = await souk.customer();
  expectError(await createToken(token, { name: 'old', expires_at: '2020-01-01T00:00:00Z' }), 422, 'validation_failed');
});

test("another customer's token is not there", async () => {
  const owner = await souk.customer();
  const other = await souk.customer();
  const made = dataOf(await createToken(owner.token, { name: 'mine' }), 201);
  expectError(
    await souk.delete(`/api/customer/tokens/${made.id}`, { token: other.token }),
    404,
    'not_found',
    'Not found',
  );
  expectStatus(await souk.get('/api/customer/wallet', { token: made.token }), 200);
  assert.ok(
    !dataOf(await souk.get('/api/customer/tokens?limit=100', { token: other.token })).some((t) => t.id === made.id),
  );
});

test('ids in a path are plain positive numbers', async () => {
  const { token } = await souk.customer();
  for (const id of [
    '0',
    '-1',
    '1.0',
    '1e0',
    '01',
    'x',
    '%31x',
    '9007199254740993',
    '99999999999999999999',
    '%00',
    '%',
  ]) {
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
  assert.deepEqual(
    seen,
    [...seen].sort((a, b) => b - a),
  );
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

test("a cursor is the customer's own list only, and a flipped bit is seen", async () => {
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
