// souk move: from SQLite to PostgreSQL and back; refused where it could lose something, resumed where it was interrupted.
// runs: pg release
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { dump, tablesOf } from '../lib/dump.mjs';
import { execute, number } from '../lib/sql.mjs';
import { command } from '../lib/store.mjs';
import { expectStatus } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';
import { BINARY, freshDatabase, freshStore, runSouk, startSouk } from './lib/souk.mjs';

const WRITERS_LOCK = 1936684396; // src/db/lock.h
let shop;
before(async () => {
  shop = freshDatabase('sqlite');
  await command(shop, ['demo']);
});
after(() => shop.remove());

function nowhere(t, engine) {
  const database = freshDatabase(engine);
  t.after(() => database.remove());
  return database;
}

/** As the guide to backups has the command. */
const GUIDE = /^souk (move --from )souk\.db( --to )postgres:\S+$/m.exec(
  fs.readFileSync(new URL('../../docs/backup.md', import.meta.url), 'utf8'),
);
const run = (from, to) => runSouk(`${GUIDE[1]}${from}${GUIDE[2]}${to}`.split(' '));

async function moved(from, to) {
  const result = await run(from, to);
  assert.equal(result.code, 0, result.stderr);
  assert.match(result.stderr, /are the same on both sides, and all \d+ checks passed/);
  return result;
}

async function refused(from, to, message) {
  const result = await run(from, to);
  assert.equal(result.code, 1, result.stderr);
  assert.match(result.stderr, message);
  assert.equal(result.stdout, '');
}

test('there and back: every row is the same, and so is every digest', async (t) => {
  const [pg, back] = [nowhere(t, 'pg'), nowhere(t, 'sqlite')];
  const there = await moved(shop.dbArg, pg.dbArg);
  const expected = dump(shop.dbArg);
  assert.deepEqual(dump(pg.dbArg), expected);
  assert.equal(there.stdout.trim().split('\n').length, Object.keys(expected).length);
  const again = await moved(pg.dbArg, back.dbArg);
  assert.deepEqual(dump(back.dbArg), expected);
  const lines = (text) => text.trim().split('\n').sort();
  assert.deepEqual(lines(again.stdout), lines(there.stdout));
  // The next ids are those that would have come next: none is given twice.
  execute(
    pg.dbArg,
    `INSERT INTO product (slug, name, price, delivery_type, created_at, updated_at) VALUES ('n', 'N', 1, 'license_key', 1, 1)`,
  );
  assert.equal(
    number(pg.dbArg, 'SELECT max(id) FROM product'),
    number(shop.dbArg, `SELECT seq + 1 FROM sqlite_sequence WHERE name = 'product'`),
  );
});

test('orders under a key are answered with the same bytes on both engines, as long as the key is kept', async (t) => {
  const [pg, back] = [nowhere(t, 'pg'), nowhere(t, 'sqlite')];
  const office = freshStore('sqlite', 'office');
  t.after(() => office.remove());
  const source = await startSouk({ database: office });
  const seed = seeder(source);
  const keyFile = ['--key-file', path.join(`${office.dbArg}.d`, 'master.key')];
  const served = (database) =>
    startSouk({ t, database: { ...database, env: { ...database.env, SOUK_KEY: '' } }, args: keyFile });
  const product = seed.product({ price: 0 });
  const { token } = await source.customer();
  const asks = (souk) => async (key) =>
    souk.post('/api/v1/order/create', { product_id: product.id }, { token, headers: { 'Idempotency-Key': key } });
  const first = new Map();
  for (const key of ['kept', 'replaced', 'old']) first.set(key, expectStatus(await asks(source)(key), 200));
  const orderOf = (key) => first.get(key).json.data.order_id;
  const isSame = async (souk, keys) => {
    for (const key of keys) {
      const again = expectStatus(await asks(souk)(key), 200);
      assert.equal(again.headers['idempotent-replayed'], 'true', key);
      assert.deepEqual(again.bytes, first.get(key).bytes);
    }
  };
  await source.kill9();
  const AGE = 30 * 86400e3 + 1;
  execute(source.dbArg, `UPDATE orders SET created_at = created_at - ${AGE} WHERE id = ${orderOf('old')}`);

  await moved(source.dbArg, pg.dbArg);
  const there = await served(pg);
  await isSame(there, ['kept', 'replaced']);
  const license = number(
    there.dbArg,
    `SELECT MAX(l.id) FROM license l JOIN order_item i ON i.id = l.order_item_id
    WHERE i.order_id = ${orderOf('replaced')}`,
  );
  expectStatus(
    await there.post(`/api/admin/licenses/${license}/replace-key`, undefined, { token: office.accounts.owner.token }),
    200,
  );
  await isSame(there, ['kept', 'replaced']);
  const next = expectStatus(await asks(there)('old'), 200);
  assert.notEqual(next.json.data.order_id, orderOf('old'));
  first.set('old', next);
  await isSame(there, ['old']);
  await there.stop();

  await moved(pg.dbArg, back.dbArg);
  await isSame(await served(back), ['kept', 'replaced', 'old']);
});

test('a store that is served, and a target that is not empty, are refused, and nothing changes', async (t) => {
  const [pg, busy] = [nowhere(t, 'pg'), nowhere(t, 'pg')];
  const served = await startSouk({ database: shop });
  await refused(shop.dbArg, pg.dbArg, /in use by another souk/);
  await served.stop();
  assert.deepEqual(tablesOf(pg.dbArg), {});
  await command(busy, ['init']);
  await refused(shop.dbArg, busy.dbArg, /not empty/);
  const server = await startSouk({ t, database: busy, env: { PGAPPNAME: 'called-otherwise' } });
  await refused(busy.dbArg, path.join(server.dir, 'new.db'), /a server uses the source/);
  assert.ok(!fs.existsSync(path.join(server.dir, 'new.db')));
  await server.stop();
  // While a move has the store for itself, nobody else begins to write.
  const mover = spawn('psql', ['-XqAt', busy.dbArg], { stdio: ['pipe', 'pipe', 'inherit'] });
  mover.stdin.write(`SELECT 'held' FROM (SELECT pg_advisory_lock(${WRITERS_LOCK})) AS lock;\n`);
  await new Promise((resolve) => mover.stdout.once('data', resolve));
  const late = await server.cli(['account', 'create', '--email', 'late@example.com']);
  assert.equal(late.code, 1);
  assert.match(late.stderr, /is being moved/);
  mover.stdin.end(`SELECT pg_advisory_unlock(${WRITERS_LOCK});\n`);
  await new Promise((resolve) => mover.once('close', resolve));
  assert.equal((await server.cli(['account', 'create', '--email', 'late@example.com'])).code, 0);
});

test('interrupted by a row that PostgreSQL refuses: nobody serves the half, and the same move goes on where it was', async (t) => {
  const [pg, other, source] = [nowhere(t, 'pg'), nowhere(t, 'sqlite'), nowhere(t, 'sqlite')];
  fs.copyFileSync(shop.dbArg, source.dbArg);
  execute(source.dbArg, `UPDATE ticket_message SET body = 'a' || char(0) || 'b' WHERE id = 1`);
  await refused(source.dbArg, pg.dbArg, /ticket_message cannot be written/);
  const complete = number(pg.dbArg, 'SELECT count(*) FROM load_journal');
  assert.ok(complete > 10n, `${complete} tables were complete`);
  for (const args of [
    ['check'],
    ['serve', '--listen', '127.0.0.1:0'],
    ['backup', 'create', '--to', path.join(pg.dir, 'x')],
  ]) {
    const half = await runSouk([...args, '--db', pg.dbArg], { env: pg.env });
    assert.equal(half.code, 1);
    assert.match(half.stderr, /is not complete/);
  }
  await command(other, ['init']);
  await refused(other.dbArg, pg.dbArg, /a move of another store/);
  execute(source.dbArg, `UPDATE ticket_message SET body = 'ab' WHERE id = 1`);
  assert.match((await moved(source.dbArg, pg.dbArg)).stderr, /resumed/);
  assert.deepEqual(dump(pg.dbArg), dump(source.dbArg));
});

test('a source that changed between the interruption and the rest is noticed', async (t) => {
  const [pg, source] = [nowhere(t, 'pg'), nowhere(t, 'sqlite')];
  fs.copyFileSync(shop.dbArg, source.dbArg);
  execute(source.dbArg, `UPDATE ticket_message SET body = 'a' || char(0) || 'b' WHERE id = 1`);
  await refused(source.dbArg, pg.dbArg, /ticket_message cannot be written/);
  execute(
    source.dbArg,
    `UPDATE ticket_message SET body = 'ab' WHERE id = 1; UPDATE account SET name = 'Other' WHERE id = 1`,
  );
  await refused(source.dbArg, pg.dbArg, /account is not the same on both sides/);
});

test('interrupted on the way back, by a disk that is full', async (t) => {
  const [pg, back] = [nowhere(t, 'pg'), nowhere(t, 'sqlite')];
  await moved(shop.dbArg, pg.dbArg);
  const script = 'trap "" XFSZ; ulimit -f 900; exec "$@"';
  const full = spawnSync('sh', ['-c', script, 'sh', BINARY, 'move', '--from', pg.dbArg, '--to', back.dbArg], {
    encoding: 'utf8',
  });
  assert.equal(full.status, 1, full.stderr);
  assert.ok(number(back.dbArg, 'SELECT count(*) FROM load_journal') > 0n);
  assert.match((await moved(pg.dbArg, back.dbArg)).stderr, /resumed/);
  assert.deepEqual(dump(back.dbArg), dump(shop.dbArg));
});
