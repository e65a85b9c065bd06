// Idempotency-Key: one key and body, one effect, one answer.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';
import { startSouk, together } from './lib/souk.mjs';

const password = 'correct horse battery';
let souk;
before(async () => {
  souk = await startSouk();
});
after(() => souk.stop());

const freshKey = () => randomBytes(12).toString('hex');
const freshEmail = () => `i${randomBytes(8).toString('hex')}@example.com`;
const withKey = (key, token) => ({ token, headers: { 'Idempotency-Key': key } });

async function tokensOf(token) {
  return dataOf(await souk.get('/api/customer/tokens?limit=100', { token }));
}

test('the same key and body give the same answer, byte for byte, and one effect', async () => {
  const { token } = await souk.customer();
  const key = freshKey();
  const body = { name: 'once', scopes: ['verify'] };
  const first = await souk.post('/api/customer/tokens', body, withKey(key, token));
  expectStatus(first, 201);
  assert.equal(first.headers['idempotent-replayed'], undefined);
  for (let i = 0; i < 3; i++) {
    const again = await souk.post('/api/customer/tokens', body, withKey(key, token));
    assert.equal(again.status, 201);
    assert.deepEqual(again.bytes, first.bytes);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.equal(again.headers.location, first.headers.location);
    assert.equal(again.headers['content-type'], first.headers['content-type']);
    assert.notEqual(again.headers['x-request-id'], first.headers['x-request-id']);
  }
  assert.equal((await tokensOf(token)).filter((t) => t.name === 'once').length, 1);
});

test('a quoted key is the same key', async () => {
  const { token } = await souk.customer();
  const key = freshKey();
  const first = await souk.post('/api/customer/tokens', { name: 'q' }, withKey(key, token));
  const again = await souk.post('/api/customer/tokens', { name: 'q' }, withKey(`"${key}"`, token));
  assert.deepEqual(again.bytes, first.bytes);
  const half = await souk.post('/api/customer/tokens', { name: 'q' }, withKey(`"${key}`, token));
  expectStatus(half, 201);
  assert.notDeepEqual(half.bytes, first.bytes, 'one quotation mark belongs to the key');
});

test('another body under the same key is refused and has no effect', async () => {
  const { token } = await souk.customer();
  const key = freshKey();
  const first = await souk.post('/api/customer/tokens', { name: 'a' }, withKey(key, token));
  expectStatus(first, 201);
  const other = await souk.post('/api/customer/tokens', { name: 'b' }, withKey(key, token));
  expectError(other, 422, 'idempotency_key_reused', 'This Idempotency-Key was used with another request');
  assert.ok(!(await tokensOf(token)).some((t) => t.name === 'b'));
  assert.deepEqual((await souk.post('/api/customer/tokens', { name: 'a' }, withKey(key, token))).bytes, first.bytes);
});

test('register: the same key gives the same account and token', async () => {
  const key = freshKey();
  const body = { email: freshEmail(), password };
  const first = await souk.post('/api/auth/register', body, withKey(key));
  const again = await souk.post('/api/auth/register', body, withKey(key));
  expectStatus(first, 201);
  assert.deepEqual(again.bytes, first.bytes);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  expectStatus(await souk.get('/api/auth/me', { token: again.json.data.token }), 200);
  expectError(
    await souk.post('/api/auth/register', { ...body, name: 'x' }, withKey(key)),
    422,
    'idempotency_key_reused',
  );
  expectError(await souk.post('/api/auth/register', body), 409, 'email_taken');
});

test('register: somebody who knows the key but not the password gets nothing', async () => {
  const key = freshKey();
  const email = freshEmail();
  expectStatus(await souk.post('/api/auth/register', { email, password }, withKey(key)), 201);
  const thief = await souk.post('/api/auth/register', { email, password: 'another password' }, withKey(key));
  expectError(thief, 422, 'idempotency_key_reused');
});

test('a validation error stores nothing: the corrected request goes through', async () => {
  const { token } = await souk.customer();
  const key = freshKey();
  expectFields(await souk.post('/api/customer/tokens', { name: '' }, withKey(key, token)), { name: 'required' });
  expectError(await souk.post('/api/customer/tokens', '{', withKey(key, token)), 400, 'malformed_json');
  const answer = await souk.post('/api/customer/tokens', { name: 'right' }, withKey(key, token));
  expectStatus(answer, 201);
  assert.equal(answer.headers['idempotent-replayed'], undefined);
});

test('a refusal stores nothing', async () => {
  const taken = freshEmail();
  expectStatus(await souk.post('/api/auth/register', { email: taken, password }), 201);
  const key = freshKey();
  for (let i = 0; i < 2; i++) {
    const answer = await souk.post('/api/auth/register', { email: taken, password }, withKey(key));
    expectError(answer, 409, 'email_taken');
    assert.equal(answer.headers['idempotent-replayed'], undefined);
  }
});

test('keys belong to their account and to their route', async () => {
  const one = await souk.customer();
  const two = await souk.customer();
  const key = freshKey();
  const body = { name: 'mine' };
  const first = dataOf(await souk.post('/api/customer/tokens', body, withKey(key, one.token)), 201);
  const second = dataOf(await souk.post('/api/customer/tokens', body, withKey(key, two.token)), 201);
  assert.notEqual(first.token, second.token);
  expectStatus(await souk.post('/api/auth/register', { email: freshEmail(), password }, withKey(key)), 201);
});

test('a token of the same account replays, a revoked one does not', async () => {
  const who = await souk.customer();
  const key = freshKey();
  const first = await souk.post('/api/customer/tokens', { name: 'x', scopes: ['customer'] }, withKey(key, who.token));
  const other = first.json.data.token;
  const again = await souk.post('/api/customer/tokens', { name: 'x', scopes: ['customer'] }, withKey(key, other));
  assert.deepEqual(again.bytes, first.bytes);
  expectStatus(await souk.delete(`/api/customer/tokens/${first.json.data.id}`, { token: who.token }), 200);
  expectError(
    await souk.post('/api/customer/tokens', { name: 'x', scopes: ['customer'] }, withKey(key, other)),
    401,
    'token_invalid',
  );
});

test('keys have 1 to 255 printable characters', async () => {
  const { token } = await souk.customer();
  const send = (key) => souk.post('/api/customer/tokens', { name: 'k' }, withKey(key, token));
  expectStatus(await send('k'.repeat(255)), 201);
  expectStatus(await send(`"${'q'.repeat(255)}"`), 201);
  expectStatus(await send('!'), 201);
  for (const key of ['k'.repeat(256), '""', 'a\tb', 'caf\u00e9', '']) {
    const answer = expectError(await send(key), 422, 'validation_failed');
    assert.equal(answer.json.errors[0].field, 'Idempotency-Key', answer.text);
  }
});

test('20 requests at once with one key: one effect, one answer', async () => {
  const { token } = await souk.customer();
  for (let round = 0; round < 3; round++) {
    const key = freshKey();
    const answers = await together(20, 20, () =>
      souk.post('/api/customer/tokens', { name: `r${round}` }, withKey(key, token)),
    );
    for (const answer of answers) {
      expectStatus(answer, 201);
      assert.deepEqual(answer.bytes, answers[0].bytes);
    }
    assert.equal(answers.filter((a) => a.headers['idempotent-replayed'] !== 'true').length, 1);
    assert.equal((await tokensOf(token)).filter((t) => t.name === `r${round}`).length, 1);
  }
});

test('20 registrations at once with one key: one account', async () => {
  const key = freshKey();
  const body = { email: freshEmail(), password };
  const answers = await together(20, 20, () => souk.post('/api/auth/register', body, withKey(key)));
  // A copy that comes while the first is still being worked on waits for its answer.
  for (const answer of answers) expectStatus(answer, 201);
  assert.equal(new Set(answers.map((a) => a.text)).size, 1);
});

test('20 registrations at once of one address without a key: one account', async () => {
  const body = { email: freshEmail(), password };
  const answers = await together(20, 20, () => souk.post('/api/auth/register', body));
  assert.equal(answers.filter((a) => a.status === 201).length, 1);
  for (const answer of answers.filter((a) => a.status !== 201)) expectError(answer, 409, 'email_taken');
});

test('a kept answer outlives a restart', async () => {
  const { token } = await souk.customer();
  const key = freshKey();
  const first = await souk.post('/api/customer/tokens', { name: 'kept' }, withKey(key, token));
  await souk.restart();
  const again = await souk.post('/api/customer/tokens', { name: 'kept' }, withKey(key, token));
  assert.deepEqual(again.bytes, first.bytes);
  assert.equal(again.headers['idempotent-replayed'], 'true');
});

test('a row that another program takes out and puts back is found again', async () => {
  const { id, token } = await souk.customer();
  const seed = seeder(souk);
  const key = freshKey();
  const ask = () => souk.post('/api/customer/tokens', { name: 'elsewhere' }, withKey(key, token));
  const first = expectStatus(await ask(), 201);
  const columns = 'account_id, key_hash, request_hash, status, answer, created_at';
  seed.sql(`CREATE TABLE elsewhere AS SELECT ${columns} FROM idempotency WHERE account_id = ${id};
    DELETE FROM idempotency WHERE account_id = ${id};`);
  const second = expectStatus(await ask(), 201);
  assert.notDeepEqual(second.bytes, first.bytes, 'nobody knows of the first');
  seed.sql(`DELETE FROM idempotency WHERE account_id = ${id};
    INSERT INTO idempotency (${columns}) SELECT ${columns} FROM elsewhere;
    DROP TABLE elsewhere;`);
  const again = expectStatus(await ask(), 201);
  assert.deepEqual(again.bytes, first.bytes);
  assert.equal(again.headers['idempotent-replayed'], 'true');
});

test('a key without an account belongs to its network', async (t) => {
  const other = await startSouk({ t, args: ['--trusted-proxy', '127.0.0.1'] });
  const body = { email: freshEmail(), password };
  const headers = (from) => ({ headers: { 'Idempotency-Key': 'mine', 'X-Forwarded-For': from } });
  const first = expectStatus(await other.post('/api/auth/register', body, headers('192.0.2.1')), 201);
  assert.deepEqual(
    expectStatus(await other.post('/api/auth/register', body, headers('192.0.2.1')), 201).bytes,
    first.bytes,
  );
  expectError(await other.post('/api/auth/register', body, headers('192.0.2.2')), 409, 'email_taken');
});
