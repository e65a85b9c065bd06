// The caller's own second factor.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { readQr } from '../lib/qr.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { totp } from './lib/totp.mjs';

const PASSWORD = 'correct horse battery';
let office, souk, owner;
before(async () => {
  office = await openOffice();
  ({ souk, owner } = office);
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

const login = (email, password, more = {}) => souk.post('/api/auth/login', { email, password, ...more });

test('a second factor counts after its first code; codes and recovery codes are taken once', async () => {
  dataOf(await owner.post('/api/admin/staff', { email: 'totp@example.com', role: 'staff', password: PASSWORD }), 201);
  const { token } = dataOf(await login('totp@example.com', PASSWORD));
  expectError(await souk.post('/api/admin/me/totp/confirm', { code: '000000' }, { token }), 409, 'invalid_state');
  const { secret, uri, qr } = dataOf(await souk.post('/api/admin/me/totp', undefined, { token }));
  assert.ok(uri.includes(secret));
  assert.equal(readQr(qr), uri);
  dataOf(await login('totp@example.com', PASSWORD)); // not in force yet

  expectFields(await souk.post('/api/admin/me/totp/confirm', { code: '000000' }, { token }), { code: 'not_allowed' });
  const now = Date.now();
  const { recovery_codes } = dataOf(
    await souk.post('/api/admin/me/totp/confirm', { code: totp(secret, now) }, { token }),
  );
  assert.equal(new Set(recovery_codes).size, 10);
  expectError(await souk.post('/api/admin/me/totp', undefined, { token }), 409, 'invalid_state');
  expectError(await souk.post('/api/admin/me/totp/confirm', { code: '000000' }, { token }), 409, 'invalid_state');

  expectError(await login('totp@example.com', PASSWORD), 401, 'totp_required');
  expectError(
    await login('totp@example.com', 'wrong password!', { totp: totp(secret, now + 30000) }),
    401,
    'credentials_invalid',
  );
  expectError(await login('totp@example.com', PASSWORD, { totp: totp(secret, now) }), 401, 'credentials_invalid'); // used above
  dataOf(await login('totp@example.com', PASSWORD, { totp: totp(secret, now + 30000) }));
  expectError(
    await login('totp@example.com', PASSWORD, { totp: totp(secret, now + 30000) }),
    401,
    'credentials_invalid',
  );
  dataOf(await login('totp@example.com', PASSWORD, { totp: recovery_codes[3] }));
  expectError(await login('totp@example.com', PASSWORD, { totp: recovery_codes[3] }), 401, 'credentials_invalid');

  expectFields(await souk.post('/api/admin/me/totp/remove', { code: '123456' }, { token }), { code: 'not_allowed' });
  expectStatus(await souk.post('/api/admin/me/totp/remove', { code: recovery_codes[4] }, { token }), 200);
  dataOf(await login('totp@example.com', PASSWORD));
  expectError(await souk.post('/api/admin/me/totp/remove', { code: '123456' }, { token }), 409, 'invalid_state');
});
