// Where an account is logged in: the list, ending one or all, and the end of unused sessions.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { callsAs, openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';

const PASSWORD = 'correct horse battery';
const HOUR = 3600e3;
let office, souk, seed;
before(async () => {
  office = await openOffice({ args: ['--trusted-proxy', '127.0.0.1'] });
  ({ souk } = office);
  seed = seeder(souk);
});
after(() => office.stop());

async function login(email, address = '198.51.100.7') {
  const { token } = dataOf(
    await souk.post('/api/auth/login', { email, password: PASSWORD }, { headers: { 'X-Forwarded-For': address } }),
  );
  return { token, ...callsAs(souk, token) };
}
async function member(email, role = 'staff') {
  return dataOf(await office.owner.post('/api/admin/staff', { email, role, password: PASSWORD }), 201).id;
}
const used = (id, ago) =>
  seed.sql(`UPDATE token SET last_used_at = ${Date.now() - ago} WHERE account_id = ${id} AND kind = 'login';`);

test('a list of sessions says from where and until when; one, or all others, can be ended', async () => {
  const { email, id } = dataOf(
    await office.owner.post('/api/admin/customers', { email: 'me@example.com', password: PASSWORD }),
    201,
  );
  const [first, second, third] = [await login(email), await login(email, '2001:db8:1:2::9'), await login(email)];
  const api = dataOf(await first.post('/api/customer/tokens', { name: 'server' }), 201).token;
  const list = dataOf(await third.get('/api/auth/sessions'));
  assert.deepEqual(
    list.map((s) => [s.network, s.is_current]),
    [
      ['198.51.100.7', true],
      ['2001:db8:1:2::/64', false],
      ['198.51.100.7', false],
    ],
  );
  assert.ok(
    list.every(
      (s) => Math.abs(Date.parse(s.last_used_at) - Date.now()) < 60e3 && Date.parse(s.expires_at) > Date.now(),
    ),
  );
  expectStatus(await third.delete(`/api/auth/sessions/${list[1].id}`), 200);
  expectError(await second.get('/api/auth/me'), 401, 'token_invalid');
  expectError(await third.delete(`/api/auth/sessions/${list[1].id}`), 404, 'not_found');
  expectStatus(await third.delete('/api/auth/sessions'), 200);
  expectError(await first.get('/api/auth/me'), 401, 'token_invalid');
  expectStatus(await third.get('/api/auth/me'), 200);
  expectStatus(await souk.get('/api/customer/wallet', { token: api }), 200);
  const audited = dataOf(await office.owner.get(`/api/admin/audit?action=auth&actor_id=${id}&limit=2`)).map(
    (e) => e.action,
  );
  assert.deepEqual(audited, ['auth.end_sessions', 'auth.end_session']);
});

test("a session of staff that nobody used for an hour has ended; a customer's has not", async () => {
  const id = await member('idle@example.com');
  const staff = await login('idle@example.com');
  used(id, HOUR - 60e3);
  expectStatus(await staff.get('/api/admin/orders'), 200);
  // Another one: the use of the first is still on its way into the database.
  const other = await member('longer@example.com');
  const longer = await login('longer@example.com');
  used(other, HOUR + 1000);
  expectError(await longer.get('/api/admin/orders'), 401, 'token_expired');
  const { email, id: customer } = dataOf(
    await office.owner.post('/api/admin/customers', { email: 'slow@example.com', password: PASSWORD }),
    201,
  );
  const buyer = await login(email);
  used(customer, 20 * HOUR);
  expectStatus(await buyer.get('/api/customer/wallet'), 200);
});

test('using a session keeps it: its last use is written down, soon and not each time', async () => {
  const id = await member('busy@example.com');
  const staff = await login('busy@example.com');
  used(id, HOUR / 2);
  expectStatus(await staff.get('/api/admin/orders'), 200);
  const last = () => seed.number(`SELECT last_used_at FROM token WHERE account_id = ${id}`);
  const deadline = Date.now() + 60e3;
  while (Date.now() - last() > 60e3 && Date.now() < deadline) await sleep(100);
  const noted = last();
  assert.ok(Date.now() - noted < 60e3);
  expectStatus(await staff.get('/api/admin/orders'), 200);
  await sleep(1500);
  assert.equal(last(), noted, 'a use within the same minute is not written');
});

test('an owner sees where staff are logged in, and ends it', async () => {
  const id = await member('laptop@example.com');
  const staff = await login('laptop@example.com');
  const target = `/api/admin/staff/${id}/sessions`;
  assert.deepEqual(
    dataOf(await office.owner.get(target)).map((s) => s.network),
    ['198.51.100.7'],
  );
  expectError(await staff.delete(target), 403, 'forbidden');
  expectStatus(await office.owner.delete(target), 200);
  assert.equal((await office.audited('staff.end_sessions')).resource_id, id);
  expectError(await staff.get('/api/admin/orders'), 401, 'token_invalid');
  assert.deepEqual(dataOf(await office.owner.get(target)), []);
  const second = await member('second@example.com', 'owner');
  const [here, there] = [await login('second@example.com'), await login('second@example.com')];
  expectStatus(await here.delete(`/api/admin/staff/${second}/sessions`), 200);
  expectError(await there.get('/api/admin/orders'), 401, 'token_invalid');
  expectStatus(await here.get('/api/admin/orders'), 200, 'who ends their own keeps the one that they do it in');
});
