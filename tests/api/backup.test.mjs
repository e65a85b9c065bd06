// souk backup: made beside a running server, complete, sealed if asked for, refused at any damage, and a store again on either
// engine.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { dump, tablesOf } from '../lib/dump.mjs';
import { execute, number, select } from '../lib/sql.mjs';
import { openOffice } from './lib/admin.mjs';
import { HAS_FAULTS } from './lib/faults.mjs';
import { dataOf } from './lib/http.mjs';
import { BINARY, ENGINE, SLOW, freshDatabase, runSouk, startSouk } from './lib/souk.mjs';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==',
  'base64',
);

let office, souk, customer, license, dir;
before(async () => {
  office = await openOffice();
  ({ souk } = office);
  dir = office.database.dir;
  const book = await office.product({ delivery_type: 'download_url' });
  const put = { type: 'application/octet-stream' };
  dataOf(await office.staff.put(`/api/admin/products/${book.id}/file?name=book.pdf`, 'a book'.repeat(60000), put));
  dataOf(await office.owner.post(`/api/admin/products/${book.id}/images`, PNG, { type: 'image/png' }), 201);
  license = await office.product({ delivery_type: 'license_key', price: 0.01 });
  customer = await office.customer({ balance: 5000 });
  for (const product_id of [book.id, license.id]) dataOf(await customer.post('/api/v1/order/create', { product_id }));
});
after(() => office.stop());

const fileOf = (name) => path.join(dir, name);

async function ok(args, options) {
  const run = await runSouk(args, { cwd: dir, ...options });
  assert.equal(run.code, 0, `souk ${args.join(' ')}: ${run.code}\n${run.stdout}${run.stderr}`);
  return run;
}

async function refused(args, message, options) {
  const run = await runSouk(args, { cwd: dir, ...options });
  assert.equal(run.code, 1, `souk ${args.join(' ')}: ${run.code}\n${run.stdout}${run.stderr}`);
  assert.match(run.stderr, message);
  return run;
}

async function create(name, args = []) {
  const run = await souk.cli(['backup', 'create', '--to', fileOf(name), ...args]);
  assert.equal(run.code, 0, run.stderr);
  return fileOf(name);
}

async function until(isTrue) {
  const deadline = Date.now() + 30000 * SLOW;
  while (!(await isTrue())) {
    assert.ok(Date.now() < deadline, `never: ${isTrue}`);
    await sleep(50);
  }
}

/** The place of a database on this engine, with nothing there; gone after the test. */
function nowhere(t, engine) {
  const database = freshDatabase(engine);
  t.after(() => database.remove());
  const dataDir = path.join(database.dir, 'restored');
  return { ...database, dataDir, args: ['--db', database.dbArg, '--data', dataDir] };
}

const productFiles = (dataDir) => fs.readdirSync(path.join(dataDir, 'files')).sort();
const dataDirOf = (database) => database.env.SOUK_DATA ?? `${database.dbArg}.d`;

test('every table, row, id, picture and product file is inside, and comes out on either engine', async (t) => {
  // The server has work of its own (who was seen when), so what the backup holds is what was there before and after it.
  let made, expected;
  for (let n = 0; ; n++) {
    expected = dump(office.database.dbArg);
    made = await create(`all${n}.souk`);
    if (n === 20 || JSON.stringify(dump(office.database.dbArg)) === JSON.stringify(expected)) break;
  }
  assert.equal(fs.statSync(made).mode & 0o777, 0o600);
  const verified = await ok(['backup', 'verify', made]);
  assert.match(verified.stderr, /all \d+ checks passed/);
  assert.equal(verified.stdout, '');
  assert.ok(Object.keys(expected).length > 40);
  for (const engine of ENGINE === 'pg' ? ['pg', 'sqlite'] : ['sqlite']) {
    const place = nowhere(t, engine);
    await ok(['backup', 'restore', made, ...place.args]);
    assert.deepEqual(Object.keys(tablesOf(place.dbArg)), Object.keys(expected), 'the tables of the store');
    const restored = dump(place.dbArg);
    for (const table of Object.keys(expected)) assert.deepEqual(restored[table], expected[table], table);
    const files = productFiles(dataDirOf(office.database));
    assert.deepEqual(productFiles(place.dataDir), files);
    for (const name of files)
      assert.deepEqual(
        fs.readFileSync(path.join(place.dataDir, 'files', name)),
        fs.readFileSync(path.join(dataDirOf(office.database), 'files', name)),
      );
    if (engine === 'sqlite')
      for (const list of ['orders', 'license', 'transfer'])
        assert.equal(
          number(place.dbArg, `SELECT up_to FROM filing WHERE list = '${list}'`),
          number(place.dbArg, `SELECT max(id) FROM ${list}`),
          `${list} are filed by owner before a server starts`,
        );
    await refused(['backup', 'restore', made, ...place.args], /not empty/);
    assert.deepEqual(dump(place.dbArg), restored, 'a refusal changes nothing');
  }
});

test('a restored store serves with the old master key: logins, licences and downloads work, and no id is given twice', async (t) => {
  const product = await office.product({ delivery_type: 'license_key' });
  dataOf(await office.owner.delete(`/api/admin/products/${product.id}`));
  const made = await create('serve.souk');
  const place = nowhere(t);
  await ok(['backup', 'restore', made, ...place.args]);
  const key =
    office.database.env.SOUK_KEY ?? fs.readFileSync(`${dataDirOf(office.database)}/master.key`, 'utf8').trim();
  const again = await startSouk({ t, database: { ...place, env: { SOUK_KEY: key, SOUK_DATA: place.dataDir } } });
  const as = { token: customer.token };
  const orders = dataOf(await again.get('/api/customer/orders', as));
  assert.deepEqual(orders, dataOf(await souk.get('/api/customer/orders', as)));
  const order = dataOf(await again.post('/api/v1/order/create', { product_id: license.id }, as));
  assert.ok(order.order_id > Math.max(...orders.map((o) => o.id)));
  const body = { name: 'New', price: 1, delivery_type: 'license_key' };
  const created = dataOf(await again.post('/api/admin/products', body, { token: office.owner.token }), 201);
  assert.ok(created.id > product.id, `${created.id} was given before`);
});

test('made while orders are placed: sound, and with every order that was acknowledged before it began', async (t) => {
  let placing = true;
  const placed = [];
  const buyer = (async () => {
    while (placing)
      placed.push(dataOf(await customer.post('/api/v1/order/create', { product_id: license.id })).order_id);
  })();
  t.after(() => buyer);
  try {
    while (placed.length < 3) await new Promise((resolve) => setImmediate(resolve));
    const before = placed.at(-1);
    const made = await create('busy.souk', ['--verify']);
    const place = nowhere(t);
    await ok(['backup', 'restore', made, ...place.args]);
    assert.equal(number(place.dbArg, `SELECT count(*) FROM orders WHERE id = ${before}`), 1n);
    const [[orders, sold]] = select(
      place.dbArg,
      `SELECT (SELECT count(*) FROM orders WHERE status = 'confirmed'), (SELECT count(*) FROM transfer WHERE kind = 'order')`,
    );
    assert.equal(orders, sold);
  } finally {
    placing = false;
    await buyer;
  }
});

test('sealed to a public key: only the secret one opens it, and the store needs neither to verify what it has made', async (t) => {
  const secret = fileOf('secret.key');
  const other = fileOf('other.key');
  const recipient = (await ok(['backup', 'keygen', '--to', secret])).stdout.trim();
  await ok(['backup', 'keygen', '--to', other]);
  assert.equal(fs.statSync(secret).mode & 0o777, 0o600);
  await refused(['backup', 'keygen', '--to', secret], /exists/);
  const made = await create('sealed.souk', ['--backup-public-key', recipient, '--verify']);
  const bytes = fs.readFileSync(made);
  assert.ok(!bytes.includes('setting'), 'no table is named in the clear');
  await refused(['backup', 'verify', made], /sealed/);
  await refused(['backup', 'verify', made, '--secret-key-file', other], /another key/);
  await ok(['backup', 'verify', made, '--secret-key-file', secret]);
  const place = nowhere(t);
  await ok(['backup', 'restore', made, '--secret-key-file', secret, ...place.args]);
  assert.deepEqual(dump(place.dbArg).orders, dump(office.database.dbArg).orders);
  for (const at of [13, 30, 100, 130, bytes.length - 1]) {
    const damaged = Buffer.from(bytes);
    damaged[at] ^= 1;
    fs.writeFileSync(fileOf('damaged.souk'), damaged);
    await refused(['backup', 'verify', fileOf('damaged.souk'), '--secret-key-file', secret], /not good/);
  }
  const usage = await souk.cli(['backup', 'create', '--to', fileOf('x'), '--backup-public-key', 'souksec1']);
  assert.equal(usage.code, 2, 'a secret key is no recipient');
});

test('what is cut off, changed or something else is refused in plain words, and nothing is restored', async (t) => {
  const made = await create('whole.souk');
  const bytes = fs.readFileSync(made);
  const damaged = fileOf('cut.souk');
  const cuts = [0, 5, 13, 14, 17, 300, bytes.length >> 1, bytes.length - 33, bytes.length - 1];
  for (const length of cuts) {
    fs.writeFileSync(damaged, bytes.subarray(0, length));
    await refused(['backup', 'verify', damaged], /cut off/);
  }
  fs.writeFileSync(damaged, Buffer.concat([bytes, Buffer.from([0])]));
  await refused(['backup', 'verify', damaged], /behind the end/);
  const changed = Buffer.from(bytes);
  changed[bytes.length >> 1] ^= 4;
  fs.writeFileSync(damaged, changed);
  const place = nowhere(t);
  await refused(['backup', 'restore', damaged, ...place.args], /nothing was restored: .*damaged/);
  if (ENGINE === 'sqlite') assert.ok(!fs.existsSync(place.dbArg));
  else assert.deepEqual(tablesOf(place.dbArg), {});
  fs.writeFileSync(damaged, 'SQLite format 3\0 and so on');
  await refused(['backup', 'verify', damaged], /not a souk backup/);
  await refused(['backup', 'verify', fileOf('none.souk')], /No such file/);
});

test('a disk that is full, a folder that is not there, a name that is taken: a failure, and no file', async () => {
  const leftovers = () => fs.readdirSync(dir).filter((name) => name.startsWith('full.souk'));
  const shell = (script) =>
    spawnSync(
      'sh',
      ['-c', script, 'sh', BINARY, 'backup', 'create', '--db', office.database.dbArg, '--to', fileOf('full.souk')],
      // ThreadSanitizer maps a file of its own that it writes there: cut at the limit, it would end the program.
      { encoding: 'utf8', env: { ...process.env, ...office.database.env, TMPDIR: '/nowhere' } },
    );
  const full = shell('trap "" XFSZ; ulimit -f 8; exec "$@"');
  assert.equal(full.status, 1, full.stderr);
  assert.match(full.stderr, /cannot be written: File too large/);
  assert.deepEqual(leftovers(), [], 'what was begun is removed');
  const crash = shell('ulimit -c 0; ulimit -f 8; "$@"; exit 0');
  assert.equal(crash.status, 0, crash.stderr);
  assert.ok(!fs.existsSync(fileOf('full.souk')), 'a crash leaves nothing under the name of a backup');
  const made = await create('taken.souk');
  const before = fs.readFileSync(made);
  for (const [to, why] of [
    [made, /exists/],
    [fileOf('no/such/folder.souk'), /No such file/],
  ]) {
    const run = await souk.cli(['backup', 'create', '--to', to]);
    assert.equal(run.code, 1);
    assert.match(run.stderr, why);
  }
  assert.deepEqual(fs.readFileSync(made), before);
});

test('a product file that is gone is said, and does not keep the rest from being saved', async (t) => {
  const product = await office.product({ delivery_type: 'download_url' });
  const put = { type: 'application/octet-stream' };
  dataOf(await office.staff.put(`/api/admin/products/${product.id}/file?name=gone.txt`, 'gone', put));
  const [[key]] = select(office.database.dbArg, `SELECT file_key FROM product WHERE id = ${product.id}`);
  fs.rmSync(path.join(dataDirOf(office.database), 'files', key));
  t.after(() => office.staff.delete(`/api/admin/products/${product.id}/file`));
  const run = await souk.cli(['backup', 'create', '--to', fileOf('gone.souk')]);
  assert.equal(run.code, 0, run.stderr);
  assert.match(run.stderr, /1 product files are missing/);
  assert.match((await ok(['backup', 'verify', fileOf('gone.souk')])).stderr, /1 product files were missing/);
});

test('rows that break a rule are found by verify, however well they were copied', async (t) => {
  const made = await create('sound.souk');
  const place = nowhere(t);
  await ok(['backup', 'restore', made, ...place.args]);
  execute(place.dbArg, `UPDATE ledger_account SET balance = balance + 1 WHERE kind = 'wallet'`);
  await ok(['backup', 'create', '--to', fileOf('unsound.souk'), ...place.args]);
  await refused(['backup', 'verify', fileOf('unsound.souk')], /breaks a rule: /);
});

const AT_ONCE = { skip: HAS_FAULTS && 'a backup that failed is made again after a while' };

test('a program that fails is told of; a server that starts again makes no second backup', AT_ONCE, async (t) => {
  const folder = fs.mkdtempSync(path.join(dir, 'again-'));
  const hook = path.join(folder, 'hook');
  fs.writeFileSync(hook, '#!/bin/sh\nexit 3\n', { mode: 0o755 });
  const backups = () => fs.readdirSync(folder).filter((name) => name.endsWith('.souk'));
  const server = await startSouk({ t, args: ['--backup-folder', folder, '--backup-hook', hook] });
  await until(() => /backup\.hook_failed.*it ended with 3/.test(server.stderr));
  assert.equal(backups().length, 1);
  const data = server.env.SOUK_DATA ?? `${server.dbArg}.d`;
  fs.mkdirSync(data, { recursive: true });
  fs.writeFileSync(path.join(data, 'last-backup'), 'nobody can read this');
  fs.writeFileSync(path.join(data, 'last-verified-backup'), '');
  await server.restart();
  await until(() => !fs.existsSync(path.join(data, 'last-backup')));
  await until(() => !fs.existsSync(path.join(data, 'last-verified-backup')));
  await until(() => /backup\.note_unreadable/.test(server.stderr)); // what is written comes later than what is done
  assert.equal(backups().length, 1);
  const another = fs.mkdtempSync(path.join(dir, 'unverified-'));
  const quick = await startSouk({ t, args: ['--backup-folder', another, '--backup-unverified'] });
  await until(() => /backup\.made.*verified="no"/.test(quick.stderr));
});

test('the server makes backups by itself: verified, recorded, handed on; only so many are kept', AT_ONCE, async (t) => {
  const folder = fs.mkdtempSync(path.join(dir, 'scheduled-'));
  const [hook, handed] = [path.join(folder, 'hook'), path.join(folder, 'handed')];
  fs.writeFileSync(
    hook,
    `#!/bin/sh\nprintf '%s\\n' "$@" "$(env | grep -c ^SOUK_)" >'${handed}.new' && mv '${handed}.new' '${handed}'\n`,
    { mode: 0o755 },
  );
  const old = ['souk-20200101T000000Z.souk', 'souk-20200102T000000Z.souk', 'souk-20200103T000000Z.souk'];
  for (const name of [...old, 'another.souk']) fs.writeFileSync(path.join(folder, name), 'old');
  const recipient = (await ok(['backup', 'keygen', '--to', path.join(folder, 'secret')])).stdout.trim();
  const args = [
    '--backup-folder',
    folder,
    '--backup-keep',
    '2',
    '--backup-hook',
    hook,
    '--backup-public-key',
    recipient,
  ];
  const server = await startSouk({ t, args, env: { SOUK_SMTP_PASSWORD: 'secret' } });
  await until(() => fs.existsSync(handed));
  const [made, ...more] = fs.readFileSync(handed, 'utf8').trim().split('\n');
  assert.deepEqual(more, ['0'], 'the program gets one argument, and none of the options in the environment');
  assert.match(path.basename(made), /^souk-\d{8}T\d{6}Z\.souk$/);
  const left = fs.readdirSync(folder).filter((name) => name.endsWith('.souk'));
  assert.deepEqual(left.sort(), ['another.souk', old[2], path.basename(made)].sort(), 'the oldest are removed');
  await ok(['backup', 'verify', made, '--secret-key-file', path.join(folder, 'secret')]);
  const [[name, isVerified]] = select(server.dbArg, 'SELECT name, verified_at >= made_at FROM backup');
  assert.equal(name, path.basename(made));
  assert.match(isVerified, /^(1|t)$/);
  const metrics = await server.metrics();
  assert.equal(metrics.get('souk_backup_failures_total'), 0);
});

test('dashboard, checklist and metrics know the backups that commands make beside the server', async () => {
  const isDone = async () =>
    dataOf(await office.staff.get('/api/admin/checklist')).find((c) => c.item === 'backup').is_done;
  const stats = async () => dataOf(await office.staff.get('/api/admin/stats')).backup;
  const last = (await stats()).made_at;
  await create('noted.souk');
  // Times are told in seconds: two backups can have the same.
  const isNoted = (name) => select(souk.dbArg, `SELECT COUNT(*) FROM backup WHERE name = '${name}'`)[0][0] === '1';
  await until(() => isNoted('noted.souk'));
  assert.ok((await stats()).made_at >= (last ?? '1'));
  await create('proven.souk', ['--verify']);
  await until(() => isNoted('proven.souk'));
  assert.ok((await stats()).verified_at >= (last ?? '1'));
  assert.ok(await isDone());
  const seconds = Date.parse((await stats()).verified_at) / 1000;
  await until(async () => (await souk.metrics()).get('souk_backup_verified_timestamp_seconds') >= seconds);
});

test('a folder that cannot be written is said and counted, and the store goes on selling', async (t) => {
  const server = await startSouk({ t, args: ['--backup-folder', path.join(dir, 'not-there')] });
  await until(async () => (await server.metrics()).get('souk_backup_failures_total') === 1);
  await until(() => /event="backup.failed" reason="[^"]*No such file/.test(server.stderr));
  assert.equal((await server.get('/readyz')).status, 200);
});

test('wrong options of the schedule are refused at the start', async () => {
  for (const wrong of [
    ['--backup-every-hours', '0'],
    ['--backup-keep', '-1'],
    ['--backup-public-key', 'soukpub1'],
  ]) {
    const run = await souk.cli(['serve', ...wrong]);
    assert.equal(run.code, 2, run.stderr);
    assert.match(run.stderr, /--backup/);
  }
});
