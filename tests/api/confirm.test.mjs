// Callers prove again who they are: sensitive steps, powerful tokens, guesses of codes, what a new password ends.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { callsAs, openOffice } from './lib/admin.mjs';
import { Browser } from './lib/browser.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';
import { startSouk } from './lib/souk.mjs';
import { totp } from './lib/totp.mjs';

const PASSWORD = 'correct horse battery';
const soon = () => new Date(Date.now() + 3600e3).toISOString();
let office,
  souk,
  seed,
  number = 0;
before(async () => {
  office = await openOffice({ dear: true });
  ({ souk } = office);
  seed = seeder(souk);
});
after(() => office.stop());

/** A person with a role and a fresh login: {id, email, token, get, post …}. */
async function person(role = 'owner') {
  const email = `${role}${++number}@example.com`;
  const made =
    role === 'customer'
      ? dataOf(await office.owner.post('/api/admin/customers', { email, password: PASSWORD }), 201)
      : dataOf(await office.owner.post('/api/admin/staff', { email, role, password: PASSWORD }), 201);
  const { token } = dataOf(await login(email));
  return { id: made.id, email, token, ...callsAs(souk, token) };
}
const login = (email, more = {}) => souk.post('/api/auth/login', { email, password: PASSWORD, ...more });
/** As if the last proof of all sessions of this account were older than ten minutes. */
const age = (who) => seed.sql(`UPDATE token SET confirmed_at = ${Date.now() - 601e3} WHERE account_id = ${who.id};`);
const events = async (who) =>
  dataOf(await office.owner.get(`/api/admin/audit?action=auth&actor_id=${who.id}`)).map((e) => e.action);

test('ten minutes after the last proof sensitive calls ask for one, and a proof is good for ten minutes', async () => {
  const owner = await person();
  dataOf(await owner.patch('/api/admin/settings', { store_name: 'Fresh' })); // the login is a proof
  age(owner);
  const calls = [
    () => owner.patch('/api/admin/settings', { store_name: 'Stolen' }),
    () => owner.post('/api/admin/staff', { email: 'x@example.com', role: 'owner', password: PASSWORD }),
    () => owner.patch(`/api/admin/staff/${office.staff.id}`, { role: 'owner' }),
    () => owner.delete(`/api/admin/staff/${office.staff.id}`),
    () => owner.delete(`/api/admin/staff/${office.staff.id}/totp`),
    () => owner.put('/api/admin/gateways/sandbox', { is_enabled: true }),
    () => owner.post('/api/admin/me/totp'),
    () => owner.post('/api/admin/me/totp/remove', { code: '123456' }),
    () => owner.post('/api/admin/withdrawals/1/approve'),
    () => owner.post('/api/customer/tokens', { name: 'power', scopes: ['admin'], expires_at: soon() }),
  ];
  for (const call of calls)
    expectError(await call(), 403, 'confirmation_required', 'Confirm this with your password first');
  dataOf(await owner.get('/api/admin/settings'));
  expectStatus(await owner.get('/api/admin/orders'), 200);

  expectError(await owner.post('/api/auth/confirm', { password: 'not the password' }), 401, 'credentials_invalid');
  expectError(await calls[0](), 403, 'confirmation_required');
  const { confirmed_until } = dataOf(await owner.post('/api/auth/confirm', { password: PASSWORD }));
  assert.ok(Math.abs(Date.parse(confirmed_until) - Date.now() - 600e3) < 60e3, confirmed_until);
  assert.equal(dataOf(await calls[0]()).store_name, 'Stolen');
  assert.deepEqual(await events(owner), ['auth.confirm', 'auth.confirm_failed', 'auth.login']);
});

test('a proof belongs to the session that gave it', async () => {
  const owner = await person();
  const { token } = dataOf(await login(owner.email));
  age(owner);
  dataOf(await owner.post('/api/auth/confirm', { password: PASSWORD }));
  expectError(await souk.patch('/api/admin/settings', { store_name: 'x' }, { token }), 403, 'confirmation_required');
});

test('with a second factor a proof needs a code, and a password change does, too', async () => {
  const owner = await person();
  const { secret } = dataOf(await owner.post('/api/admin/me/totp'));
  const now = Date.now();
  const codes = dataOf(await owner.post('/api/admin/me/totp/confirm', { code: totp(secret, now) })).recovery_codes;
  expectError(await owner.post('/api/auth/confirm', { password: PASSWORD }), 401, 'totp_required');
  expectError(
    await owner.post('/api/auth/confirm', { password: PASSWORD, totp: '000000' }),
    401,
    'credentials_invalid',
  );
  dataOf(await owner.post('/api/auth/confirm', { password: PASSWORD, totp: codes[0] }));
  const change = (more) =>
    owner.post('/api/auth/password', { current_password: PASSWORD, password: 'another password', ...more });
  expectError(await change({}), 401, 'totp_required');
  expectFields(await change({ totp: '000000' }), { totp: 'not_allowed' });
  expectFields(await change({ current_password: 'wrong', totp: codes[1] }), { current_password: 'not_allowed' });
  expectStatus(await change({ totp: codes[1] }), 200);
});

test('nobody helps themselves to a new password or out of their second factor through the staff routes', async () => {
  const owner = await person();
  expectError(await owner.patch(`/api/admin/staff/${owner.id}`, { password: 'another password' }), 403, 'own_account');
  expectError(await owner.delete(`/api/admin/staff/${owner.id}/totp`), 403, 'own_account');
  assert.equal(dataOf(await owner.patch(`/api/admin/staff/${owner.id}`, { name: 'Me' })).name, 'Me');
});

test('a token with power is made only when asked for, with an end, and audited', async () => {
  const owner = await person();
  const create = (body) => owner.post('/api/customer/tokens', { name: 't', ...body });
  const plain = dataOf(await create({}), 201);
  assert.deepEqual(plain.scopes.sort(), ['catalog', 'customer', 'order', 'store', 'verify']);
  expectError(await souk.get('/api/admin/orders', { token: plain.token }), 403, 'insufficient_scope');
  for (const scopes of [['admin'], ['owner'], ['admin', 'owner']]) {
    expectFields(await create({ scopes }), { expires_at: 'required' });
  }
  const admin = dataOf(await create({ scopes: ['admin'], expires_at: soon() }), 201).token;
  expectStatus(await souk.get('/api/admin/orders', { token: admin }), 200);
  expectError(
    await souk.patch('/api/admin/settings', { store_name: 'x' }, { token: admin }),
    403,
    'insufficient_scope',
  );
  const both = dataOf(await create({ scopes: ['admin', 'owner'], expires_at: soon() }), 201).token;
  dataOf(await souk.patch('/api/admin/settings', { store_name: 'By a program' }, { token: both }));
  assert.deepEqual((await events(owner)).slice(0, 2), ['auth.token_create', 'auth.token_create']);
  const staff = await person('staff');
  expectFields(await staff.post('/api/customer/tokens', { name: 't', scopes: ['owner'], expires_at: soon() }), {
    scopes: 'not_allowed',
  });
});

test('a token with power is revoked with an audit row, through the API and in the shop', async () => {
  const owner = await person();
  const make = async (body) => dataOf(await owner.post('/api/customer/tokens', { name: 't', ...body }), 201);
  const power = () => make({ scopes: ['admin'], expires_at: soon() });
  const [first, second, plain] = [await power(), await power(), await make({})];
  const count = async () => (await events(owner)).filter((action) => action === 'auth.token_revoke').length;
  for (const { id } of [plain, first]) expectStatus(await owner.delete(`/api/customer/tokens/${id}`), 200);
  assert.equal(await count(), 1);
  const b = new Browser(souk.url);
  await b.open('/login');
  await b.submit('/login', { email: owner.email, password: PASSWORD }, { expect: 303 });
  await b.open('/account/settings');
  await b.submit(`/account/settings/tokens/${second.id}/revoke`, {}, { expect: 303 });
  assert.equal(await count(), 2);
});

test('an API token that ends makes none that lasts longer', async () => {
  const owner = await person();
  const make = (body, token = owner.token) => souk.post('/api/customer/tokens', { name: 't', ...body }, { token });
  const [before, end, after] = [30, 60, 90].map((min) =>
    new Date(Date.now() + min * 60_000).toISOString().replace(/\.\d+/, ''),
  );
  for (const scopes of [['customer'], ['customer', 'admin', 'owner']]) {
    const { token } = dataOf(await make({ scopes, expires_at: end }), 201);
    for (const wanted of [scopes, ['customer']])
      expectFields(await make({ scopes: wanted, expires_at: after }, token), { expires_at: 'out_of_range' });
    assert.equal(dataOf(await make({ scopes, expires_at: before }, token), 201).expires_at, before);
    const made = dataOf(await make({ scopes: ['customer'] }, token), 201);
    assert.equal(made.expires_at, end);
    expectFields(await make({ expires_at: after }, made.token), { expires_at: 'out_of_range' });
  }
  const { token } = dataOf(await make({}), 201);
  assert.equal(dataOf(await make({}, token), 201).expires_at, null);
});

test('tokens made on the command line are audited when they have power', async () => {
  const made = dataOf(await office.owner.get('/api/admin/audit?action=auth.token_create&limit=100')).filter(
    (e) => e.actor_id === null,
  );
  assert.deepEqual(made.map((e) => e.label).sort(), ['owner@example.com', 'staff@example.com']);
});

test('a changed password ends the API tokens, too, when asked to; one set by an owner always does', async () => {
  const who = await person('staff');
  const api = async (token) =>
    dataOf(await souk.post('/api/customer/tokens', { name: 'server' }, { token }), 201).token;
  const first = await api(who.token);
  expectStatus(
    await who.post('/api/auth/password', { current_password: PASSWORD, password: PASSWORD, end_api_tokens: true }),
    200,
  );
  expectError(await souk.get('/api/customer/wallet', { token: first }), 401, 'token_invalid');
  const again = dataOf(await login(who.email)).token;
  const second = await api(again);
  dataOf(await office.owner.patch(`/api/admin/staff/${who.id}`, { password: 'set by an owner' }));
  for (const token of [again, second])
    expectError(await souk.get('/api/customer/wallet', { token }), 401, 'token_invalid');
});

test('who got in, who failed, from where: in the audit trail and in the log', async () => {
  const who = await person('customer');
  expectError(await login(who.email, { password: 'wrong password' }), 401, 'credentials_invalid');
  expectStatus(await who.post('/api/auth/logout'), 200);
  const [logout, failed, ok] = dataOf(await office.owner.get(`/api/admin/audit?action=auth&actor_id=${who.id}`));
  assert.deepEqual([logout.action, failed.action, ok.action], ['auth.logout', 'auth.login_failed', 'auth.login']);
  assert.deepEqual([failed.address, failed.actor_email, failed.resource_id], ['127.0.0.1', who.email, who.id]);
  assert.match(
    souk.stderr,
    new RegExp(`event="auth" action="login" account=${who.id} peer="127.0.0.1" result="credentials_invalid"`),
  );
  assert.match(souk.stderr, new RegExp(`event="auth" action="login" account=${who.id} peer="127.0.0.1" result="ok"`));
});

test('expired tokens are told that they have ended for a week, then they are gone', async () => {
  const who = await person('customer');
  const ids = [];
  for (const days of [1, 8]) {
    const { id } = dataOf(await who.post('/api/customer/tokens', { name: `${days}`, expires_at: soon() }), 201);
    seed.sql(`UPDATE token SET expires_at = ${Date.now() - days * 86400e3} WHERE id = ${id};`);
    ids.push(id);
  }
  const left = () => seed.sql(`SELECT id FROM token WHERE id IN (${ids});`).map(([id]) => Number(id));
  const deadline = Date.now() + 40e3;
  while (left().length > 1 && Date.now() < deadline) await sleep(250);
  assert.deepEqual(left(), [ids[0]]);
});

test('codes are limited wherever they are tried', async (t) => {
  const limited = await startSouk({ t, limited: true, args: ['--rate-auth', '3', '--rate-customer', '0'] });
  const link = /#setup=(\w+)/.exec(limited.stderr)[1];
  dataOf(await limited.post('/api/setup', { token: link, email: 'o@example.com', password: PASSWORD }), 201);
  const enter = (more = {}) => limited.post('/api/auth/login', { email: 'o@example.com', password: PASSWORD, ...more });
  const me = callsAs(limited, dataOf(await enter()).token);
  const { secret } = dataOf(await me.post('/api/admin/me/totp'));
  const guess = async (call, status) => {
    for (let i = 0; i < 3; i++) expectStatus(await call('000000'), status);
    const refused = expectError(await call('000000'), 429, 'rate_limited', 'Too Many Requests');
    assert.ok(Number(refused.headers['retry-after']) > 5, refused.headers['retry-after']);
  };
  await guess((code) => me.post('/api/admin/me/totp/confirm', { code }), 422);
  await limited.restart(); // counts are in memory
  const renewed = callsAs(limited, dataOf(await enter()).token);
  const codes = dataOf(await renewed.post('/api/admin/me/totp/confirm', { code: totp(secret) })).recovery_codes;
  await guess((code) => renewed.post('/api/admin/me/totp/remove', { code }), 422);
  await guess((code) => enter({ totp: code }), 401);
  expectError(await enter({ totp: codes[0] }), 429, 'rate_limited'); // the right one does not get in behind the limit
  expectError(await renewed.post('/api/auth/confirm', { password: PASSWORD, totp: codes[0] }), 429, 'rate_limited');
});

test('a password costs the same to check for every account', async () => {
  for (const role of ['owner', 'staff', 'customer']) {
    const who = await person(role);
    const [[hash]] = seed.sql(`SELECT password_hash FROM account WHERE id = ${who.id};`);
    assert.ok(hash.startsWith('$argon2id$v=19$m=19456,t=2,p=1$'), `${role}: ${hash}`);
  }
});
