// A store with many orders: backed up and restored (how fast), moved from SQLite to PostgreSQL and back, with kill -9 in the
// middle of each move, and every digest is the same at the end. ./dev soak move
//
//     node bench/move.soak.mjs [ORDERS]     (default 100000)
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BINARY, freshDatabase, freshStore, runSouk } from '../tests/api/lib/souk.mjs';
import { execute } from '../tests/lib/sql.mjs';
import { command } from '../tests/lib/store.mjs';

const ORDERS = Number(process.argv[2] ?? 100_000);
const KILLS = 3;

/** Orders of one customer, each with an item, a licence, a delivery and a transfer, written into the database directly. */
async function fill(database) {
  const customer = await command(database, ['account', 'create', '--email', 'c@example.com']);
  const series = `WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${ORDERS})`;
  execute(
    database.dbArg,
    `INSERT INTO ledger_account (id, kind, owner_id, balance) VALUES (100, 'wallet', ${customer}, 0);
    INSERT INTO transfer (debit_id, credit_id, amount, kind, description, created_at)
      VALUES (5, 100, ${ORDERS} * 250, 'adjustment', 'Gift', 1);
    INSERT INTO product (id, slug, name, price, delivery_type, is_active, created_at, updated_at)
      VALUES (1, 'keys', 'Keys', 250, 'license_key', 1, 1, 1);
    ${series} INSERT INTO orders (id, account_id, status, channel, paid_with, subtotal, discount, total, coupon_code, created_at, confirmed_at)
      SELECT n, ${customer}, 'confirmed', 'api', 'wallet', 250, 0, 250, '', 1000 + n, 1000 + n FROM s;
    ${series} INSERT INTO order_item (id, order_id, product_id, name, delivery_type, quantity, unit_price, subtotal)
      SELECT n, n, 1, 'Keys', 'license_key', 1, 250, 250 FROM s;
    ${series} INSERT INTO license (id, sealed_key, key_hash, product_id, account_id, order_item_id, created_at)
      SELECT n, randomblob(60), randomblob(16), 1, ${customer}, n, 1000 + n FROM s;
    ${series} INSERT INTO delivery (order_item_id, unit, type, license_id, created_at) SELECT n, 1, 'license_key', n, 1000 + n FROM s;
    ${series} INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)
      SELECT 100, 1, 250, 'order', n, 'Order', 1000 + n FROM s`,
  );
  await command(database, ['check']);
}

async function timed(what, args, bytes) {
  const began = performance.now();
  const run = await runSouk(args, { timeout_ms: 3_600_000 });
  assert.equal(run.code, 0, `souk ${args.join(' ')}: ${run.stderr}`);
  const seconds = (performance.now() - began) / 1000;
  const rate = bytes ? `, ${(bytes() / 1e6 / seconds).toFixed(1)} MB/s of the database's file` : '';
  console.log(`${what}: ${seconds.toFixed(1)} s${rate}`);
  return run;
}

/** Killed in the middle, again and again, then let through. How long each time lasts: a part of what the first whole one takes. */
async function moveWithKills(from, to) {
  let kills = 0;
  for (let ms = 700; kills < KILLS; ms *= 2) {
    const child = spawn(BINARY, ['move', '--from', from, '--to', to], { stdio: 'ignore' });
    const ended = once(child, 'close');
    await Promise.race([sleep(ms), ended]);
    assert.equal(child.exitCode, null, `the move was over before it was killed ${KILLS} times: give more orders`);
    child.kill('SIGKILL');
    await ended;
    kills++;
  }
  const run = await timed(`  after ${kills} kills, the rest`, ['move', '--from', from, '--to', to]);
  assert.match(run.stderr, /resumed/);
  return run.stdout.trim().split('\n').sort();
}

const databases = [];
const place = (engine) => {
  databases.push(freshDatabase(engine));
  return databases.at(-1);
};
try {
  const store = freshStore('sqlite');
  databases.push(store);
  await fill(store);
  const bytes = () => fs.statSync(store.dbArg).size + fs.statSync(`${store.dbArg}-wal`).size;
  console.log(`${ORDERS} orders, ${(bytes() / 1e6).toFixed(0)} MB`);
  const backup = path.join(store.dir, 'a.souk');
  await timed('backup create', ['backup', 'create', '--db', store.dbArg, '--to', backup], bytes);
  console.log(`  the backup has ${(fs.statSync(backup).size / 1e6).toFixed(0)} MB`);
  await timed('backup verify', ['backup', 'verify', backup, '--scratch', store.dir], bytes);
  const onPg = place('pg');
  await timed(
    'backup restore, PostgreSQL',
    ['backup', 'restore', backup, '--db', onPg.dbArg, '--data', onPg.dir],
    bytes,
  );
  const again = path.join(store.dir, 'b.souk');
  await timed(
    'backup create, PostgreSQL',
    ['backup', 'create', '--db', onPg.dbArg, '--data', onPg.dir, '--to', again],
    bytes,
  );

  const [pg, back] = [place('pg'), place('sqlite')];
  console.log('move to PostgreSQL');
  const there = await moveWithKills(store.dbArg, pg.dbArg);
  console.log('move back to SQLite');
  assert.deepEqual(await moveWithKills(pg.dbArg, back.dbArg), there);
  console.log(`${there.length} tables, the same digests there and back`);
} finally {
  for (const database of databases) database.remove();
}
