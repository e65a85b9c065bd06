// Licence keys and serial codes at rest: a canary of each is sold, and searched for in everything that the store
// writes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';

const CANARY = 'CANARY-SERIAL-7Q4Z-1234';
let office, souk, owner, staff, buyer, pool, editor, key;
before(async () => {
  office = await openOffice({ args: ['--log-requests', '--log-level', 'debug'] });
  ({ souk, owner, staff } = office);
  buyer = await office.customer({ balance: 100 });
  pool = await office.product({ delivery_type: 'serial_code' });
  editor = await office.product();
  assert.deepEqual(
    dataOf(await owner.post(`/api/admin/products/${pool.id}/serials`, { codes: [CANARY, 'SECOND-CANARY-CODE'] })),
    { added: 2, duplicates: 0 },
  );
  const headers = { 'Idempotency-Key': 'canary' };
  assert.equal(
    dataOf(await buyer.post('/api/v1/order/create', { product_id: pool.id }, { headers })).delivery.value,
    CANARY,
  );
  key = dataOf(await buyer.post('/api/v1/order/create', { product_id: editor.id })).delivery.value;
});
after(() => office.stop());

/** Everything that the store has written: files of its folder with SQLite (database, WAL, data), a dump with PostgreSQL; and its log. */
function written() {
  const texts = [souk.stderr];
  if (souk.engine === 'pg')
    texts.push(execFileSync('pg_dump', [souk.dbArg], { encoding: 'latin1', maxBuffer: 1 << 28 }));
  const walk = (dir) => {
    for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
      const file = path.join(dir, entry.name);
      if (entry.isDirectory()) walk(file);
      else if (entry.isFile()) texts.push(fs.readFileSync(file, 'latin1'));
    }
  };
  walk(souk.dir);
  return texts;
}

test('neither the code, nor the key, nor their bytes in hex are written anywhere', () => {
  const all = written();
  assert.ok(
    all.some((text) => text.includes(buyer.email)),
    'the search finds what is there',
  );
  for (const secret of [CANARY, 'SECOND-CANARY-CODE', key, key.replaceAll('-', '')]) {
    const hex = Buffer.from(secret).toString('hex');
    for (const text of all) {
      assert.ok(!text.includes(secret), `${secret} is readable`);
      assert.ok(!text.toLowerCase().includes(hex), `${secret} is readable in hex`);
    }
  }
});

test('buyers read their own again, and a key is still verified and found', async () => {
  const orders = dataOf(await buyer.get('/api/customer/orders'));
  const values = [];
  for (const { id } of orders)
    values.push(
      ...dataOf(await buyer.get(`/api/customer/orders/${id}`)).items.flatMap((i) => i.deliveries.map((d) => d.value)),
    );
  assert.deepEqual(values.sort(), [CANARY, key].sort());
  assert.equal(dataOf(await buyer.get('/api/customer/licenses'))[0].license_key, key);
  dataOf(await buyer.post('/api/v1/license/verify', { license_key: key.toLowerCase(), product_id: editor.id }));
  assert.equal(dataOf(await staff.get(`/api/admin/licenses?q=${key}`)).length, 1);
  const again = await buyer.post(
    '/api/v1/order/create',
    { product_id: pool.id },
    { headers: { 'Idempotency-Key': 'canary' } },
  );
  assert.equal(again.json.data.delivery.value, CANARY);
});

test('a code is known again by its hash: imported twice it counts once', async () => {
  assert.deepEqual(
    dataOf(
      await owner.post(`/api/admin/products/${pool.id}/serials`, {
        codes: [CANARY, 'THIRD-CANARY-CODE', 'THIRD-CANARY-CODE'],
      }),
    ),
    { added: 1, duplicates: 2 },
  );
});

test('staff see the ends of keys and codes; revealing one is a call of its own, in the audit trail', async () => {
  const [license] = dataOf(await staff.get('/api/admin/licenses'));
  const masked = `${'*'.repeat(key.length - 4)}${key.slice(-4)}`;
  assert.equal(license.license_key, masked);
  assert.equal(dataOf(await staff.get(`/api/admin/licenses/${license.id}`)).license_key, masked);
  const changed = dataOf(await staff.post(`/api/admin/licenses/${license.id}/revoke`, { reason: 'x' }));
  assert.equal(changed.license_key, masked);
  assert.equal((await office.audited('license.revoke')).after.license_key, masked);
  assert.equal(dataOf(await staff.post(`/api/admin/licenses/${license.id}/reveal`)).license_key, key);
  const entry = await office.audited('license.reveal');
  assert.deepEqual(
    [entry.actor_email, entry.resource_id, entry.before, entry.after],
    ['staff@example.com', license.id, null, null],
  );
  expectError(await buyer.post(`/api/admin/licenses/${license.id}/reveal`), 403, 'insufficient_scope');

  const order = dataOf(await staff.get('/api/admin/orders')).at(-1);
  const values = (o) => o.items.flatMap((i) => i.deliveries.map((d) => d.value));
  assert.deepEqual(values(dataOf(await staff.get(`/api/admin/orders/${order.id}`))), [
    `${'*'.repeat(CANARY.length - 4)}1234`,
  ]);
  assert.deepEqual(values(dataOf(await staff.post(`/api/admin/orders/${order.id}/reveal`))), [CANARY]);
  assert.equal((await office.audited('order.reveal')).resource_id, order.id);
});

test('a licence given by staff shows its key once, and the audit trail does not keep it', async () => {
  const made = dataOf(await staff.post('/api/admin/licenses', { product_id: editor.id, customer_id: buyer.id }), 201);
  assert.match(made.license_key, /^[0-9A-Z]{5}(-[0-9A-Z]{5}){4}$/);
  assert.ok(!JSON.stringify(await office.audited('license.issue')).includes(made.license_key));
  dataOf(await buyer.post('/api/v1/license/verify', { license_key: made.license_key, product_id: editor.id }));
});

test('a sealed code belongs to its row: moved to another it opens nothing, and nobody gets the wrong one', async () => {
  const seed = seeder(souk);
  const rows = seed
    .sql(`SELECT id FROM serial WHERE product_id = ${pool.id} AND taken_by IS NULL ORDER BY id;`)
    .map(([id]) => Number(id));
  seed.sql(
    `UPDATE serial SET sealed_code = (SELECT s.sealed_code FROM serial s WHERE s.id = ${rows[1]}) WHERE id = ${rows[0]};`,
  );
  for (const quantity of [1, 2])
    expectError(await buyer.post('/api/v1/order/create', { product_id: pool.id, quantity }), 500, 'internal');
  assert.equal(seed.number(`SELECT COUNT(*) FROM serial WHERE product_id = ${pool.id} AND taken_by IS NULL`), 2);
});

test('whatever is sealed and was damaged is refused as a whole, and nothing is made up', async () => {
  const seed = seeder(souk);
  const bytes = souk.engine === 'pg' ? "'\\x00'" : "X'00'";
  const other = await office.product({ delivery_type: 'serial_code' });
  dataOf(await owner.post(`/api/admin/products/${other.id}/serials`, { codes: ['DAMAGED-ONE-1', 'DAMAGED-ONE-2'] }));
  const headers = { 'Idempotency-Key': 'damaged' };
  const both = { product_id: other.id, quantity: 2 };
  const order = dataOf(await buyer.post('/api/v1/order/create', both, { headers }));
  const hook = dataOf(
    await owner.post('/api/admin/webhook-endpoints', { url: 'https://a.example/', events: ['*'], is_enabled: false }),
    201,
  );
  dataOf(await owner.put('/api/admin/gateways/card_gateway_a', { secrets: ['whsec_1'], api_key: 'sk_test_1' }));
  dataOf(await owner.post('/api/admin/me/totp'));
  const damages = {
    'serial SET sealed_code': [
      [owner, 'get', `/api/admin/products/${other.id}/serials`],
      [buyer, 'get', `/api/customer/orders/${order.order_id}`],
    ],
    'license SET sealed_key': [
      [buyer, 'get', '/api/customer/licenses'],
      [owner, 'get', '/api/admin/licenses'],
    ],
    'idempotency SET answer': [[buyer, 'post', '/api/v1/order/create', both, { headers }]],
    'webhook_endpoint SET secret': [[owner, 'get', `/api/admin/webhook-endpoints/${hook.id}`]],
    'gateway SET api_key': [[owner, 'get', '/api/admin/gateways']],
    'gateway SET secrets': [[owner, 'get', '/api/admin/gateways']],
    'account SET totp_secret': [[owner, 'post', '/api/admin/me/totp/confirm', { code: '123456' }]],
  };
  for (const [what, calls] of Object.entries(damages)) {
    const column = what.split(' ').pop();
    seed.sql(`UPDATE ${what} = ${bytes} WHERE ${column} IS NOT NULL;`);
    for (const [who, verb, ...call] of calls) expectError(await who[verb](...call), 500, 'internal');
  }
});
