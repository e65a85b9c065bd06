// The first owner: a link, once.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError } from './lib/http.mjs';
import { startSouk } from './lib/souk.mjs';

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

test('a store without an owner prints a link once per start; of many who open it one wins, then it is gone', async (t) => {
  const fresh = await startSouk({ t });
  const link = /http:\/\/127\.0\.0\.1:\d+\/admin\/#setup=([0-9A-Za-z]{40})/.exec(fresh.stderr);
  assert.ok(link, fresh.stderr);
  const file = path.join(fresh.env.SOUK_DATA ?? `${fresh.dbArg}.d`, 'setup-link');
  assert.equal(fs.readFileSync(file, 'utf8').trim(), link[0]);
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(dataOf(await fresh.get('/api/setup')), { is_needed: true });
  expectError(
    await fresh.post('/api/setup', { token: 'x'.repeat(40), email: 'w@example.com', password: PASSWORD }),
    404,
    'not_found',
  );

  const tries = await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      fresh.post('/api/setup', { token: link[1], email: `first${i}@example.com`, password: PASSWORD }),
    ),
  );
  assert.deepEqual(tries.map((a) => a.status).sort(), [201, 404, 404, 404, 404, 404, 404, 404]);
  assert.deepEqual(dataOf(await fresh.get('/api/setup')), { is_needed: false });
  const { email } = tries.find((a) => a.status === 201).json.data.account;
  const { token } = dataOf(await fresh.post('/api/auth/login', { email, password: PASSWORD }));
  assert.equal(dataOf(await fresh.get('/api/auth/me', { token })).role, 'owner');
  await fresh.restart();
  assert.ok(!fresh.stderr.includes('#setup='), 'a store with an owner offers no link');
});
