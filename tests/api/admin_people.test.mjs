// Administration of people: the first owner, staff, second factors, customers, settings, the audit trail.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { startSouk } from './lib/souk.mjs';

const PASSWORD = 'correct horse battery';
let office, souk, owner, staff;
before(async () => {
  office = await openOffice();
  ({ souk, owner, staff } = office);
});
after(async () => {
  try { assertInvariants(office.database.dbArg); } finally { await office.stop(); }
});

const login = (email, password, more = {}) => souk.post('/api/auth/login', { email, password, ...more });

/** RFC 6238 with node's crypto: an independent second opinion. */
function totp(secret, at = Date.now()) {
  let bits = '';
  for (const c of secret) bits += 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0');
  const key = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 30000)));
  const mac = createHmac('sha1', key).update(counter).digest();
  const code = (mac.readUInt32BE(mac[19] & 15) & 0x7fffffff) % 1000000;
  return String(code).padStart(6, '0');
}

test('a store without an owner prints a link once per start; of many who open it one wins, then it is gone', async (t) => {
  const fresh = await startSouk({ t });
  const link = /http:\/\/127\.0\.0\.1:\d+\/admin\/#setup=([0-9A-Za-z]{40})/.exec(fresh.stderr);
  assert.ok(link, fresh.stderr);
  const file = path.join(fresh.env.SOUK_DATA ?? `${fresh.dbArg}.d`, 'setup-link');
  assert.equal(fs.readFileSync(file, 'utf8').trim(), link[0]);
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(dataOf(await fresh.get('/api/setup')), { is_needed: true });
  expectError(await fresh.post('/api/setup', { token: 'x'.repeat(40), email: 'w@example.com', password: PASSWORD }), 404, 'not_found');

  const tries = await Promise.all(Array.from({ length: 8 }, (_, i) =>
    fresh.post('/api/setup', { token: link[1], email: `first${i}@example.com`, password: PASSWORD })));
  assert.deepEqual(tries.map((a) => a.status).sort(), [201, 404, 404, 404, 404, 404, 404, 404]);
  assert.deepEqual(dataOf(await fresh.get('/api/setup')), { is_needed: false });
  const { email } = tries.find((a) => a.status === 201).json.data.account;
  const { token } = dataOf(await fresh.post('/api/auth/login', { email, password: PASSWORD }));
  assert.equal(dataOf(await fresh.get('/api/auth/me', { token })).role, 'owner');
  await fresh.restart();
  assert.ok(!fresh.stderr.includes('#setup='), 'a store with an owner offers no link');
});

test('staff: made, changed, removed by the owner; each step leaves an audit row', async () => {
  const made = dataOf(await owner.post('/api/admin/staff', { email: 'New@Example.com', name: 'New', role: 'staff', password: PASSWORD }), 201);
  assert.deepEqual([made.email, made.role, made.is_active, made.totp_is_on], ['new@example.com', 'staff', true, false]);
  assert.equal((await office.audited('staff.create')).resource_id, made.id);
  expectError(await owner.post('/api/admin/staff', { email: 'new@example.com', role: 'staff', password: PASSWORD }), 409, 'email_taken');

  const { token } = dataOf(await login('new@example.com', PASSWORD));
  expectStatus(await souk.get('/api/admin/products', { token }), 200);
  expectError(await souk.get('/api/admin/staff', { token }), 403, 'forbidden');

  const changed = dataOf(await owner.patch(`/api/admin/staff/${made.id}`, { role: 'owner', name: 'Newer' }));
  assert.deepEqual([changed.role, changed.name], ['owner', 'Newer']);
  const entry = await office.audited('staff.update');
  assert.deepEqual([entry.before.role, entry.after.role, entry.actor_email], ['staff', 'owner', 'owner@example.com']);
  expectStatus(await souk.get('/api/admin/staff', { token }), 200);

  dataOf(await owner.patch(`/api/admin/staff/${made.id}`, { role: 'staff' }));
  expectError(await souk.get('/api/admin/products', { token }), 401, 'token_invalid');
  expectStatus(await owner.delete(`/api/admin/staff/${made.id}`), 200);
  expectError(await owner.get(`/api/admin/staff/${made.id}`), 404, 'not_found');
  const again = dataOf(await login('new@example.com', PASSWORD));
  expectError(await souk.get('/api/admin/products', { token: again.token }), 403, 'insufficient_scope');
});

test('the last owner can be neither demoted, switched off nor removed, also when two try at once', async () => {
  expectError(await owner.patch(`/api/admin/staff/${owner.id}`, { role: 'staff' }), 409, 'invalid_state');
  expectError(await owner.patch(`/api/admin/staff/${owner.id}`, { is_active: false }), 409, 'invalid_state');
  expectError(await owner.delete(`/api/admin/staff/${owner.id}`), 409, 'invalid_state');

  const other = dataOf(await owner.post('/api/admin/staff', { email: 'second@example.com', role: 'owner', password: PASSWORD }), 201);
  const { token } = dataOf(await login('second@example.com', PASSWORD));
  const [a, b] = await Promise.all([
    owner.patch(`/api/admin/staff/${other.id}`, { role: 'staff' }),
    souk.patch(`/api/admin/staff/${owner.id}`, { role: 'staff' }, { token }),
  ]);
  const owners = [a, b].filter((x) => x.status === 200).length;
  assert.equal(owners, 1, `${a.status} ${a.text} ${b.status} ${b.text}`);
  if (b.status === 200) { // the other one won: give the rights back
    dataOf(await souk.patch(`/api/admin/staff/${owner.id}`, { role: 'owner' }, { token }));
    await renewOwner();
    dataOf(await owner.delete(`/api/admin/staff/${other.id}`));
  }
});

async function renewOwner() {
  dataOf(await souk.get('/livez'));
  await souk.stop();
  const { command } = await import('../lib/store.mjs');
  const token = await command(office.database, ['token', 'create', '--email', 'owner@example.com']);
  await souk.start();
  for (const method of ['get', 'delete']) owner[method] = (target, options = {}) => souk[method](target, { token, ...options });
  for (const method of ['post', 'put', 'patch']) owner[method] = (target, body, options = {}) => souk[method](target, body, { token, ...options });
  owner.token = token;
}

test('a second factor counts after its first code; codes and recovery codes are taken once', async () => {
  dataOf(await owner.post('/api/admin/staff', { email: 'totp@example.com', role: 'staff', password: PASSWORD }), 201);
  const { token } = dataOf(await login('totp@example.com', PASSWORD));
  const { secret, uri } = dataOf(await souk.post('/api/admin/me/totp', undefined, { token }));
  assert.ok(uri.includes(secret));
  dataOf(await login('totp@example.com', PASSWORD)); // not in force yet

  expectFields(await souk.post('/api/admin/me/totp/confirm', { code: '000000' }, { token }), { code: 'not_allowed' });
  const now = Date.now();
  const { recovery_codes } = dataOf(await souk.post('/api/admin/me/totp/confirm', { code: totp(secret, now) }, { token }));
  assert.equal(new Set(recovery_codes).size, 10);
  expectError(await souk.post('/api/admin/me/totp', undefined, { token }), 409, 'invalid_state');

  expectError(await login('totp@example.com', PASSWORD), 401, 'totp_required');
  expectError(await login('totp@example.com', 'wrong password!', { totp: totp(secret, now + 30000) }), 401, 'credentials_invalid');
  expectError(await login('totp@example.com', PASSWORD, { totp: totp(secret, now) }), 401, 'credentials_invalid'); // used above
  dataOf(await login('totp@example.com', PASSWORD, { totp: totp(secret, now + 30000) }));
  expectError(await login('totp@example.com', PASSWORD, { totp: totp(secret, now + 30000) }), 401, 'credentials_invalid');
  dataOf(await login('totp@example.com', PASSWORD, { totp: recovery_codes[3] }));
  expectError(await login('totp@example.com', PASSWORD, { totp: recovery_codes[3] }), 401, 'credentials_invalid');

  expectFields(await souk.post('/api/admin/me/totp/remove', { code: '123456' }, { token }), { code: 'not_allowed' });
  expectStatus(await souk.post('/api/admin/me/totp/remove', { code: recovery_codes[4] }, { token }), 200);
  dataOf(await login('totp@example.com', PASSWORD));
});

test('an owner takes away a lost second factor', async () => {
  const made = dataOf(await owner.post('/api/admin/staff', { email: 'lost@example.com', role: 'staff', password: PASSWORD }), 201);
  const { token } = dataOf(await login('lost@example.com', PASSWORD));
  const { secret } = dataOf(await souk.post('/api/admin/me/totp', undefined, { token }));
  dataOf(await souk.post('/api/admin/me/totp/confirm', { code: totp(secret) }, { token }));
  assert.equal(dataOf(await owner.get(`/api/admin/staff/${made.id}`)).totp_is_on, true);
  expectStatus(await owner.delete(`/api/admin/staff/${made.id}/totp`), 200);
  expectError(await owner.delete(`/api/admin/staff/${made.id}/totp`), 409, 'invalid_state');
  dataOf(await login('lost@example.com', PASSWORD));
});

test('a changed password ends every login, and asks for the present one', async () => {
  dataOf(await owner.post('/api/admin/customers', { email: 'pw@example.com', password: PASSWORD }), 201);
  const one = dataOf(await login('pw@example.com', PASSWORD)).token;
  const two = dataOf(await login('pw@example.com', PASSWORD)).token;
  const api = dataOf(await souk.post('/api/customer/tokens', { name: 'server' }, { token: one }), 201).token;
  expectFields(await souk.post('/api/auth/password', { current_password: 'wrong', password: 'a new password' }, { token: one }), { current_password: 'not_allowed' });
  expectStatus(await souk.post('/api/auth/password', { current_password: PASSWORD, password: 'a new password' }, { token: one }), 200);
  for (const token of [one, two]) expectError(await souk.get('/api/auth/me', { token }), 401, 'token_invalid');
  expectStatus(await souk.get('/api/auth/me', { token: api }), 200);
  expectError(await login('pw@example.com', PASSWORD), 401, 'credentials_invalid');
  dataOf(await login('pw@example.com', 'a new password'));
});

test('customers: found by part of address or name, wildcards mean themselves', async () => {
  dataOf(await owner.post('/api/admin/customers', { email: 'under_score@example.com', name: 'Ünï 100% Müller' }), 201);
  const found = async (q) => dataOf(await staff.get(`/api/admin/customers?q=${encodeURIComponent(q)}`)).map((c) => c.email);
  assert.deepEqual(await found('UNDER_SC'), ['under_score@example.com']);
  assert.deepEqual(await found('100%'), ['under_score@example.com']);
  assert.deepEqual(await found('under%score'), []);
  assert.deepEqual(await found("' OR 1=1 --"), []);
});

test('customers: switching one off ends the tokens, switching on again needs new ones', async () => {
  const customer = await office.customer();
  dataOf(await staff.patch(`/api/admin/customers/${customer.id}`, { is_active: false }));
  expectError(await customer.get('/api/customer/wallet'), 401, 'token_invalid');
  dataOf(await staff.patch(`/api/admin/customers/${customer.id}`, { is_active: true }));
  expectError(await customer.get('/api/customer/wallet'), 401, 'token_invalid');
  const { id, token } = dataOf(await staff.post(`/api/admin/customers/${customer.id}/tokens`, { name: 'new', scopes: ['customer'] }), 201);
  expectStatus(await souk.get('/api/customer/wallet', { token }), 200);
  expectError(await souk.get('/api/store/cart', { token }), 403, 'insufficient_scope');
  expectStatus(await staff.delete(`/api/admin/customers/${customer.id}/tokens/${id}`), 200);
  expectError(await souk.get('/api/customer/wallet', { token }), 401, 'token_invalid');
  expectError(await staff.delete(`/api/admin/customers/${customer.id}/tokens/${id}`), 404, 'not_found');
});

test('nobody makes tokens of staff, or changes staff, through the customers\' routes', async () => {
  expectError(await staff.post(`/api/admin/customers/${owner.id}/tokens`, { name: 'x' }), 403, 'forbidden');
  expectError(await staff.patch(`/api/admin/customers/${owner.id}`, { is_active: false }), 404, 'not_found');
  expectFields(await staff.post(`/api/admin/customers/${(await office.customer()).id}/tokens`, { name: 'x', scopes: ['admin'] }), { scopes: 'not_allowed' });
});

test('wallets are credited and debited by hand, never below zero, with a reason for the customer', async () => {
  const customer = await office.customer();
  const wallet = `/api/admin/customers/${customer.id}/wallet`;
  dataOf(await staff.post(wallet, { amount: 20.5, description: 'Welcome' }));
  const after = dataOf(await staff.post(wallet, { amount: -0.5, description: 'Correction' }));
  assert.equal(after.balance, 20);
  assert.deepEqual(after.transactions.map((t) => [t.type, t.amount, t.description]), [['credit', 20.5, 'Welcome'], ['debit', 0.5, 'Correction']]);
  expectFields(await staff.post(wallet, { amount: -20.01, description: 'x' }), { amount: 'exceeds_balance' });
  expectFields(await staff.post(wallet, { amount: 0, description: 'x' }), { amount: 'out_of_range' });
  expectFields(await staff.post(wallet, { amount: 0.001, description: '' }), { amount: 'too_precise', description: 'required' });
  assert.deepEqual(dataOf(await customer.get('/api/customer/wallet')), after);
  const entry = await office.audited('customer.wallet_adjust');
  assert.deepEqual([entry.before.balance, entry.after.balance], [20.5, 20]);
});

test('the same Idempotency-Key credits a wallet once', async () => {
  const customer = await office.customer();
  const headers = { 'Idempotency-Key': 'credit-1' };
  const answers = await Promise.all(Array.from({ length: 6 }, () =>
    staff.post(`/api/admin/customers/${customer.id}/wallet`, { amount: 5, description: 'Gift' }, { headers })));
  assert.equal(new Set(answers.map((a) => a.text)).size, 1);
  assert.equal(dataOf(await customer.get('/api/customer/wallet')).balance, 5);
});

test('a credit limit can not be set below what is owed', async () => {
  const customer = await office.customer({ credit_limit: 50 });
  const product = await office.product({ price: 30 });
  dataOf(await customer.post('/api/v1/order/create', { product_id: product.id }));
  assert.equal(dataOf(await staff.get(`/api/admin/customers/${customer.id}`)).balance, -30);
  expectError(await staff.patch(`/api/admin/customers/${customer.id}`, { credit_limit: 29.99 }), 409, 'invalid_state');
  dataOf(await staff.patch(`/api/admin/customers/${customer.id}`, { credit_limit: 30 }));
  expectFields(await staff.patch(`/api/admin/customers/${customer.id}`, { credit_limit: -1 }), { credit_limit: 'out_of_range' });
});

test('settings: changed by owners, with If-Match against lost updates; the currency is fixed once there is a price', async () => {
  const first = await owner.get('/api/admin/settings');
  const etag = first.headers.etag;
  expectError(await staff.patch('/api/admin/settings', { store_name: 'x' }), 403, 'forbidden');
  const changed = await owner.patch('/api/admin/settings', { store_name: 'Ada\'s shop', rate_v1: 7 }, { headers: { 'If-Match': etag } });
  assert.deepEqual(dataOf(changed), { ...dataOf(first), store_name: 'Ada\'s shop', rate_v1: 7 });
  expectError(await owner.patch('/api/admin/settings', { store_name: 'lost' }, { headers: { 'If-Match': etag } }), 412, 'precondition_failed');
  expectFields(await owner.patch('/api/admin/settings', { currency: 'XYZ' }), { currency: 'not_allowed' });
  await office.product();
  expectError(await owner.patch('/api/admin/settings', { currency: 'EUR' }), 409, 'invalid_state');
  assert.equal(dataOf(await owner.get('/api/admin/settings')).currency, 'USD');
});

test('a changed limit holds within two seconds, without a restart', async (t) => {
  const limited = await openOffice({ args: ['--rate-v1', '-1', '--rate-customer', '0'] });
  t.after(() => limited.stop());
  const customer = await limited.customer();
  const policy = async () => (await customer.get('/api/v1/products')).headers['ratelimit-policy'];
  assert.equal(await policy(), '"v1";q=120;w=60');
  dataOf(await limited.owner.patch('/api/admin/settings', { rate_v1: 33 }));
  const deadline = Date.now() + 10000;
  while ((await policy()) !== '"v1";q=33;w=60') {
    assert.ok(Date.now() < deadline, 'the new limit was not seen');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});

test('the audit trail is filtered by action, actor and resource, and pages', async () => {
  const customer = await office.customer();
  dataOf(await staff.patch(`/api/admin/customers/${customer.id}`, { name: 'Renamed' }));
  const mine = dataOf(await owner.get(`/api/admin/audit?actor_id=${staff.id}&action=customer&resource_id=${customer.id}`));
  assert.deepEqual(mine.map((e) => [e.action, e.actor_email, e.after.name, e.label]), [['customer.update', 'staff@example.com', 'Renamed', customer.email]]);
  assert.ok(mine[0].request_id && mine[0].address);
  assert.deepEqual(dataOf(await owner.get(`/api/admin/audit?action=custom&resource_id=${customer.id}`)), []);
  const seen = [];
  for (let next = '/api/admin/audit?limit=7&action=customer'; next;) {
    const page = await owner.get(next);
    seen.push(...dataOf(page).map((e) => e.id));
    next = page.json.meta.has_more ? /<(.*)>/.exec(page.headers.link)[1] : null;
  }
  assert.equal(new Set(seen).size, seen.length);
  assert.deepEqual(seen, [...seen].sort((a, b) => b - a));
});

test('exports are CSV that a spreadsheet can not run', async () => {
  await owner.post('/api/admin/customers', { email: 'csv@example.com', name: '=HYPERLINK("http://x","y"), "quoted"' });
  const answer = await staff.get('/api/admin/exports/customers');
  expectStatus(answer, 200);
  assert.equal(answer.headers['content-type'], 'text/csv; charset=utf-8');
  const line = answer.text.split('\r\n').find((l) => l.includes('csv@example.com'));
  assert.ok(line.includes(`"'=HYPERLINK(""http://x"",""y""), ""quoted"""`), line);
  for (const what of ['orders', 'ledger']) assert.ok((await staff.get(`/api/admin/exports/${what}`)).text.startsWith('id,'));
});
