// The store's settings.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';

let office, owner, staff;
before(async () => {
  office = await openOffice();
  ({ owner, staff } = office);
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

test('settings: changed by owners, with If-Match against lost updates; the currency is fixed once there is a price', async () => {
  const first = await owner.get('/api/admin/settings');
  const etag = first.headers.etag;
  expectError(await staff.patch('/api/admin/settings', { store_name: 'x' }), 403, 'forbidden');
  const changed = await owner.patch(
    '/api/admin/settings',
    { store_name: "Ada's shop", rate_v1: 7 },
    { headers: { 'If-Match': etag } },
  );
  assert.deepEqual(dataOf(changed), { ...dataOf(first), store_name: "Ada's shop", rate_v1: 7 });
  expectError(
    await owner.patch('/api/admin/settings', { store_name: 'lost' }, { headers: { 'If-Match': etag } }),
    412,
    'precondition_failed',
  );
  expectFields(await owner.patch('/api/admin/settings', { currency: 'XYZ' }), { currency: 'not_allowed' });
  expectFields(await owner.patch('/api/admin/settings', { languages: ['en', 'xx'] }), { languages: 'not_allowed' });
  expectFields(await owner.patch('/api/admin/settings', { languages: ['en', 'en'] }), { languages: 'duplicate_item' });
  const words = dataOf(await owner.patch('/api/admin/settings', { tagline: 'Software', staff_mail: 'x@example.com' }));
  assert.deepEqual([words.tagline, words.staff_mail], ['Software', 'x@example.com']);
  dataOf(await owner.patch('/api/admin/settings', { tagline: '', staff_mail: '' }));
  expectFields(await owner.put('/api/admin/settings/logo', '', { type: 'application/octet-stream' }), {
    body: 'bad_format',
  });
  dataOf(await owner.patch('/api/admin/settings', { currency: 'USD' }));
  await office.product();
  expectError(await owner.patch('/api/admin/settings', { currency: 'EUR' }), 409, 'invalid_state');
  dataOf(await owner.patch('/api/admin/settings', { currency: 'usd' })); // what it is
  assert.equal(dataOf(await owner.get('/api/admin/settings')).currency, 'USD');
});

test('a changed limit holds within two seconds, without a restart', async (t) => {
  const limited = await openOffice({ args: ['--rate-v1', '-1', '--rate-customer', '0'] });
  t.after(() => limited.stop());
  const customer = await limited.customer();
  const policy = async () => (await customer.get('/api/v1/products')).headers['ratelimit-policy'];
  assert.equal(await policy(), '"v1";q=120;w=60');
  dataOf(await limited.owner.patch('/api/admin/settings', { rate_v1: 33 }));
  const deadline = Date.now() + 60000;
  while ((await policy()) !== '"v1";q=33;w=60') {
    assert.ok(Date.now() < deadline, 'the new limit was not seen');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});

test('what is older than the settings say goes; what is not, stays', async () => {
  const seed = seeder(office.souk);
  const day = 86400000;
  const now = Date.now();
  const customer = await office.customer();
  const notice = (message, age) =>
    seed.sql(
      `INSERT INTO notification (account_id, kind, message, created_at) VALUES (${customer.id}, 'order', '${message}', ${now - age * day});`,
    );
  notice('old', 400);
  notice('young', 300);
  seed.sql(
    `INSERT INTO outbox (kind, status, due_at, created_at, done_at) VALUES ('ask', 'done', 1, 1, ${now - 40 * day}),
     ('ask', 'done', 1, 1, ${now - 20 * day});`,
  );
  const audit = seed.number('SELECT COUNT(*) FROM audit');
  seed.sql(`UPDATE audit SET created_at = created_at - ${500 * day} WHERE id <= (SELECT MIN(id) FROM audit);`);
  const left = () =>
    [
      "SELECT COUNT(*) FROM notification WHERE message IN ('old', 'young')",
      'SELECT COUNT(*) FROM outbox',
      `SELECT COUNT(*) FROM audit WHERE created_at < ${now - 400 * day}`,
    ].map((sql) => seed.number(sql));
  const becomes = async (wanted, what) => {
    const deadline = Date.now() + 60000;
    while (left().join() !== wanted) {
      assert.ok(Date.now() < deadline, `${what}: ${left().join()} instead of ${wanted}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  await becomes('1,1,1', 'defaults: 365 and 30 days, the audit for ever');
  dataOf(await owner.patch('/api/admin/settings', { keep_audit_days: 400, keep_notification_days: 200 }));
  await becomes('0,1,0', 'the days that the owner chose');
  assert.ok(seed.number('SELECT COUNT(*) FROM audit') >= audit - 1, 'the others stay');
  expectFields(await owner.patch('/api/admin/settings', { keep_audit_days: -1 }), { keep_audit_days: 'out_of_range' });
  dataOf(await owner.patch('/api/admin/settings', { keep_audit_days: 0, keep_notification_days: 365 }));
});
