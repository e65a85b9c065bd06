// Staff as the owner manages them; everybody's own password and second factor.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { totp } from './lib/totp.mjs';

const PASSWORD = 'correct horse battery';
let office, souk, owner, staff;
before(async () => {
  office = await openOffice();
  ({ souk, owner, staff } = office);
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

const login = (email, password, more = {}) => souk.post('/api/auth/login', { email, password, ...more });

test('staff: made, changed, removed by the owner; each step leaves an audit row', async () => {
  const made = dataOf(
    await owner.post('/api/admin/staff', { email: 'New@Example.com', name: 'New', role: 'staff', password: PASSWORD }),
    201,
  );
  assert.deepEqual([made.email, made.role, made.is_active, made.totp_is_on], ['new@example.com', 'staff', true, false]);
  assert.equal((await office.audited('staff.create')).resource_id, made.id);
  expectError(
    await owner.post('/api/admin/staff', { email: 'new@example.com', role: 'staff', password: PASSWORD }),
    409,
    'email_taken',
  );

  const { token } = dataOf(await login('new@example.com', PASSWORD));
  expectStatus(await souk.get('/api/admin/products', { token }), 200);
  expectError(await souk.get('/api/admin/staff', { token }), 403, 'forbidden');

  const changed = dataOf(await owner.patch(`/api/admin/staff/${made.id}`, { role: 'owner', name: 'Newer' }));
  assert.deepEqual([changed.role, changed.name], ['owner', 'Newer']);
  const entry = await office.audited('staff.update');
  assert.deepEqual([entry.before.role, entry.after.role, entry.actor_email], ['staff', 'owner', 'owner@example.com']);
  expectStatus(await souk.get('/api/admin/staff', { token }), 200);

  // One of two owners is switched off; what is changed then is not a question of how many are left.
  for (const change of [{ is_active: false }, { name: 'Newest' }, { is_active: true }])
    dataOf(await owner.patch(`/api/admin/staff/${made.id}`, change));
  dataOf(await owner.patch(`/api/admin/staff/${made.id}`, { role: 'staff' }));
  expectError(await souk.get('/api/admin/products', { token }), 401, 'token_invalid');
  for (const is_active of [false, false, true, true])
    assert.equal(dataOf(await owner.patch(`/api/admin/staff/${made.id}`, { is_active })).is_active, is_active);
  expectStatus(await owner.delete(`/api/admin/staff/${made.id}`), 200);
  expectError(await owner.get(`/api/admin/staff/${made.id}`), 404, 'not_found');
  const again = dataOf(await login('new@example.com', PASSWORD));
  expectError(await souk.get('/api/admin/products', { token: again.token }), 403, 'insufficient_scope');
});

test('the last owner can be neither demoted, switched off nor removed, also when two try at once', async () => {
  expectError(await owner.patch(`/api/admin/staff/${owner.id}`, { role: 'staff' }), 409, 'invalid_state');
  expectError(await owner.patch(`/api/admin/staff/${owner.id}`, { is_active: false }), 409, 'invalid_state');
  expectError(await owner.delete(`/api/admin/staff/${owner.id}`), 409, 'invalid_state');

  const other = dataOf(
    await owner.post('/api/admin/staff', { email: 'second@example.com', role: 'owner', password: PASSWORD }),
    201,
  );
  const { token } = dataOf(await login('second@example.com', PASSWORD));
  const [a, b] = await Promise.all([
    owner.patch(`/api/admin/staff/${other.id}`, { role: 'staff' }),
    souk.patch(`/api/admin/staff/${owner.id}`, { role: 'staff' }, { token }),
  ]);
  const owners = [a, b].filter((x) => x.status === 200).length;
  assert.equal(owners, 1, `${a.status} ${a.text} ${b.status} ${b.text}`);
  if (b.status === 200) {
    // the other one won: give the rights back
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
  for (const method of ['get', 'delete'])
    owner[method] = (target, options = {}) => souk[method](target, { token, ...options });
  for (const method of ['post', 'put', 'patch'])
    owner[method] = (target, body, options = {}) => souk[method](target, body, { token, ...options });
  owner.token = token;
}

test('an owner takes away a lost second factor', async () => {
  const made = dataOf(
    await owner.post('/api/admin/staff', { email: 'lost@example.com', role: 'staff', password: PASSWORD }),
    201,
  );
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
  expectFields(
    await souk.post('/api/auth/password', { current_password: 'wrong', password: 'a new password' }, { token: one }),
    { current_password: 'not_allowed' },
  );
  expectStatus(
    await souk.post('/api/auth/password', { current_password: PASSWORD, password: 'a new password' }, { token: one }),
    200,
  );
  for (const token of [one, two]) expectError(await souk.get('/api/auth/me', { token }), 401, 'token_invalid');
  expectStatus(await souk.get('/api/customer/wallet', { token: api }), 200);
  expectError(await login('pw@example.com', PASSWORD), 401, 'credentials_invalid');
  dataOf(await login('pw@example.com', 'a new password'));
});
