// A licence that was verified lately is in memory: every change, by the server or by another program, is seen by the next verification.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';
import { ENGINE } from './lib/souk.mjs';

let office, staff, seed, product, customer;
before(async () => {
  office = await openOffice();
  ({ staff } = office);
  seed = seeder(office.souk);
  product = await office.product();
  customer = await office.customer({ balance: 1000 });
});
after(() => office.stop());

/** A licence that was bought, and its order. */
async function bought() {
  const order = dataOf(await customer.post('/api/v1/order/create', { product_id: product.id }));
  const key = order.delivery.value;
  const [license] = dataOf(await staff.get(`/api/admin/licenses?q=${key}`));
  return { key, id: license.id, order: order.order_id };
}

const verify = (key, hardware_id, options = {}) =>
  customer.post('/api/v1/license/verify', { license_key: key, product_id: product.id, hardware_id }, options);

/** Often enough to be in memory, through every loop that the answers come from. */
async function warm(key, hardware_id) {
  for (let i = 0; i < 8; i++) expectStatus(await verify(key, hardware_id), 200);
}

test('what staff change', async () => {
  const { key, id } = await bought();
  const act = async (what, body) => dataOf(await staff.post(`/api/admin/licenses/${id}/${what}`, body));
  const expires = async (expires_at) => dataOf(await staff.patch(`/api/admin/licenses/${id}`, { expires_at }));
  for (let round = 0; round < 3; round++) {
    await warm(key);
    await act('revoke', { reason: 'charged back' });
    for (let i = 0; i < 4; i++) expectError(await verify(key), 403, 'license_revoked');
    await act('reinstate');
    await warm(key);
    await expires('2020-01-01T00:00:00Z');
    for (let i = 0; i < 4; i++) expectError(await verify(key), 403, 'license_expired');
    await expires('2120-01-01T00:00:00Z');
    assert.equal(dataOf(await verify(key)).expires_at, '2120-01-01T00:00:00Z');
    await expires(null);
    assert.equal(dataOf(await verify(key)).expires_at, null);
    await warm(key, `machine ${round}`);
    expectError(await verify(key, 'another'), 403, 'hardware_mismatch');
    await act('clear-hardware');
    await warm(key, `another ${round}`);
    expectError(await verify(key, `machine ${round}`), 403, 'hardware_mismatch');
    await act('clear-hardware');
  }
  await warm(key);
  await act('replace-key');
  const fresh = (await act('reveal')).license_key;
  for (let i = 0; i < 4; i++) expectError(await verify(key), 404, 'not_found');
  await warm(fresh);
});

test('a key that is spelled in other ways is the same licence, in memory too', async () => {
  const { key, id } = await bought();
  const spellings = [key, key.toLowerCase(), key.replaceAll('-', ''), ` ${key.toLowerCase().replaceAll('-', '')} `];
  for (const text of spellings) await warm(text);
  const act = async (what, body) => dataOf(await staff.post(`/api/admin/licenses/${id}/${what}`, body));
  await act('revoke', { reason: 'charged back' });
  for (const text of spellings) expectError(await verify(text), 403, 'license_revoked');
  await act('reinstate');
  for (const text of spellings) await warm(text);
  await act('replace-key');
  for (const text of spellings) expectStatus(await verify(text), 404);
});

test('a long hardware id is compared to its end, in memory or not', async () => {
  for (const length of [63, 64, 65, 255]) {
    const { key } = await bought();
    const machine = 'm'.repeat(length);
    await warm(key, machine);
    expectError(await verify(key, `${machine.slice(0, -1)}n`), 403, 'hardware_mismatch');
    assert.equal(dataOf(await verify(key, machine)).hardware_id, machine);
  }
});

test('an order that is refunded', async () => {
  const { key, order } = await bought();
  await warm(key);
  dataOf(await staff.post(`/api/admin/orders/${order}/refund`, { amount: 10 }));
  expectError(await verify(key), 403, 'license_revoked');
});

test('what another program writes into the database', async () => {
  const { key, id } = await bought();
  const other = await office.product();
  const changes = [
    [{ status: 'revoked' }, 403, 'license_revoked'],
    [{ status: 'active', on_hold: 1 }, 403, 'license_revoked'],
    [{ on_hold: 0, expires_at: 1 }, 403, 'license_expired'],
    [{ expires_at: null, product_id: other.id }, 404, 'not_found'],
  ];
  for (let round = 0; round < 2; round++) {
    for (const [columns, status, code] of changes) {
      seed.update('license', id, { status: 'active', on_hold: 0, expires_at: null, product_id: product.id });
      await warm(key);
      seed.update('license', id, columns);
      expectError(await verify(key), status, code);
    }
    seed.update('license', id, { product_id: product.id, hardware_id: 'theirs' });
    expectError(await verify(key, 'mine'), 403, 'hardware_mismatch');
    seed.update('license', id, { hardware_id: null });
  }
  await warm(key);
});

/** A licence that was granted: no other row is about it. */
async function granted() {
  const made = await staff.post('/api/admin/licenses', { product_id: product.id, customer_id: customer.id });
  const { id, license_key } = dataOf(made, 201);
  return { key: license_key, id };
}

// As docs/operations.md has it for those who have switched the triggers off.
const afterwards = `ALTER TABLE license ENABLE ALWAYS TRIGGER license_updated;
  ALTER TABLE license ENABLE ALWAYS TRIGGER license_deleted;
  ALTER TABLE license ENABLE ALWAYS TRIGGER license_emptied;
  INSERT INTO license_change VALUES (pg_current_xact_id()::text::bigint, 0) ON CONFLICT DO NOTHING;`;

test('however another program goes about it: PostgreSQL', { skip: ENGINE !== 'pg' && 'PostgreSQL only' }, async () => {
  const revoke = (id) => `UPDATE license SET status = 'revoked' WHERE id = ${id};`;
  const ways = [
    (id) => `SAVEPOINT a; ${revoke(id)} RELEASE a; SAVEPOINT b; DELETE FROM license WHERE id = ${id}; ROLLBACK TO b;`,
    (id) => `DO $$ BEGIN ${revoke(id)} EXCEPTION WHEN others THEN NULL; END $$;`,
    (id) =>
      `INSERT INTO license SELECT * FROM license WHERE id = ${id} ON CONFLICT (id) DO UPDATE SET status = 'revoked';`,
    (id) => `SET LOCAL session_replication_role = replica; ${revoke(id)}`,
    (id) => `SET LOCAL search_path = pg_catalog; UPDATE public.license SET status = 'revoked' WHERE id = ${id};`,
    (id) => `CREATE TEMP TABLE license_change (xid BIGINT, license_id BIGINT) ON COMMIT DROP; ${revoke(id)}`,
    (id) => `ALTER TABLE license DISABLE TRIGGER USER; ${revoke(id)} ${afterwards}`,
  ];
  for (const way of ways) {
    const { key, id } = await granted();
    await warm(key);
    seed.sql(way(id));
    expectError(await verify(key), 403, 'license_revoked');
  }
});

test('an id that changes, a row that goes and comes back', async () => {
  const { key, id } = await granted();
  await warm(key);
  seed.sql(`UPDATE license SET id = ${id + 1000000}, status = 'revoked' WHERE id = ${id};`);
  expectError(await verify(key), 403, 'license_revoked');
  seed.sql(`UPDATE license SET id = ${id}, status = 'active' WHERE id = ${id + 1000000};`);
  await warm(key);
  for (const odd of [-id, 0]) {
    seed.sql(`UPDATE license SET id = ${odd} WHERE id = ${id};`);
    await warm(key);
    seed.sql(`UPDATE license SET status = 'revoked' WHERE id = ${odd};`);
    expectError(await verify(key), 403, 'license_revoked');
    seed.sql(`UPDATE license SET id = ${id}, status = 'active' WHERE id = ${odd};`);
  }
  await warm(key);
  seed.sql(`CREATE TABLE aside AS SELECT * FROM license WHERE id = ${id}; DELETE FROM license WHERE id = ${id};`);
  expectError(await verify(key), 404, 'not_found');
  seed.sql('INSERT INTO license SELECT * FROM aside; DROP TABLE aside;');
  await warm(key);
});

test('all licences at once', async () => {
  const { key } = await granted();
  await warm(key);
  seed.sql('UPDATE license SET on_hold = 1;');
  expectError(await verify(key), 403, 'license_revoked');
  seed.sql('UPDATE license SET on_hold = 0;');
  await warm(key);
});

test('between two changes by another program, one by the server', async () => {
  const [first, second] = [await bought(), await bought()];
  for (let round = 0; round < 5; round++) {
    await warm(first.key);
    await warm(second.key);
    seed.update('license', first.id, { status: 'revoked' });
    dataOf(await staff.post(`/api/admin/licenses/${second.id}/revoke`, { reason: '' }));
    expectError(await verify(first.key), 403, 'license_revoked');
    expectError(await verify(second.key), 403, 'license_revoked');
    dataOf(await staff.post(`/api/admin/licenses/${second.id}/reinstate`));
    seed.update('license', first.id, { status: 'active' });
  }
});

test('a licence that a command brings in', async () => {
  const key = 'BROUGHT-ALONG-0001';
  for (let i = 0; i < 4; i++) expectError(await verify(key), 404, 'not_found');
  const rows = `key,product,email\n${key},${product.slug},${customer.email}\n`;
  const { code, stderr } = await office.souk.cli(['import', 'licenses', '-'], { talks: true, input: rows });
  assert.equal(code, 0, stderr);
  await warm(key);
});

test('a token that another program takes away: on PostgreSQL, where it may be another node, within a second', async () => {
  const { key } = await bought();
  for (let round = 0; round < 3; round++) {
    const made = dataOf(await customer.post('/api/customer/tokens', { name: 'verify', scopes: ['verify'] }), 201);
    const ask = () => verify(key, undefined, { token: made.token });
    for (let i = 0; i < 8; i++) expectStatus(await ask(), 200);
    seed.sql(`DELETE FROM token WHERE id = ${made.id};`);
    let answer = await ask();
    for (const until = Date.now() + 20000; ENGINE === 'pg' && answer.status === 200 && Date.now() < until;) {
      await sleep(20);
      answer = await ask();
    }
    expectError(answer, 401, 'token_invalid');
  }
});
