// A customer's lists are whole and in order, wherever their rows lie: on SQLite many are filed at once, behind the answer
// (domain/filing.h).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { dataOf } from './lib/http.mjs';
import { openShop, Shop } from './lib/shop.mjs';
import { ENGINE, freshStore, startSouk } from './lib/souk.mjs';

const WORTH = 24_576; // FILING_WORTH
const BATCH = 32_768;
const IS_PG = ENGINE === 'pg';

let shop, product, buyer, other;
before(async () => {
  shop = await openShop();
  product = shop.seed.product({ price: 1 });
  buyer = await shop.buyer({ balance: 100_000 });
  other = await shop.buyer({ balance: 100_000 });
});
after(() => shop?.stop());

const numbers = (count) =>
  IS_PG
    ? `generate_series(1, ${count}) AS g (n)`
    : `(WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < ${count}) SELECT n FROM g) AS g`;

/** Orders, licences and debits of somebody else, by another program. */
function crowd(count) {
  const hash = IS_PG ? `decode(md5(random()::text || n), 'hex')` : 'randomblob(16)';
  const wallet = `(SELECT id FROM ledger_account WHERE owner_id = ${other.id})`;
  shop.seed.sql(`
    INSERT INTO orders (account_id, status, channel, subtotal, total, created_at, closed_at)
      SELECT ${other.id}, 'cancelled', 'api', 0, 0, 1, 1 FROM ${numbers(count)};
    INSERT INTO license (sealed_key, key_hash, product_id, account_id, created_at)
      SELECT ${hash}, ${hash}, ${product.id}, ${other.id}, 1 FROM ${numbers(count)};
    INSERT INTO transfer (debit_id, credit_id, amount, kind, description, created_at)
      SELECT ${wallet}, 5, 1, 'adjustment', 'x', 1 FROM ${numbers(count)};
    UPDATE ledger_account SET balance = balance - ${count} WHERE owner_id = ${other.id};`);
}

const filedUpTo = () => shop.seed.number('SELECT MIN(up_to) FROM filing');

/** Until a mark has moved; PostgreSQL has none. */
async function filed(upTo) {
  for (let i = 0; !IS_PG && filedUpTo() < upTo; i++) {
    assert.ok(i < 600, `filed up to ${filedUpTo()} of ${upTo}`);
    await sleep(100);
  }
}

async function pages(target, limit) {
  const rows = [];
  for (let next = `${target}?limit=${limit}`; next;) {
    const answer = await shop.souk.get(next, { token: buyer.token });
    rows.push(...dataOf(answer));
    next = /^<([^>]+)>; rel="next"$/.exec(answer.headers.link ?? '')?.[1];
  }
  return rows;
}

const ids = (sql) => shop.seed.sql(sql).map(([id]) => Number(id));

/** Every list through pages of a few, against the tables. */
async function compare() {
  const orders = ids(`SELECT id FROM orders WHERE account_id = ${buyer.id} ORDER BY id DESC;`);
  const licenses = ids(`SELECT id FROM license WHERE account_id = ${buyer.id} ORDER BY id DESC;`);
  for (const limit of [1, 3, 100]) {
    assert.deepEqual(
      (await pages('/api/customer/orders', limit)).map((o) => o.id),
      orders,
    );
    assert.deepEqual(
      (await pages('/api/customer/licenses', limit)).map((l) => l.id),
      licenses,
    );
  }
  const { transactions } = await shop.wallet(buyer);
  assert.deepEqual(
    transactions.map((t) => t.id),
    ids(`SELECT t.id FROM transfer t JOIN ledger_account a ON a.owner_id = ${buyer.id} AND a.id IN (t.debit_id, t.credit_id)
      ORDER BY t.id;`).slice(-transactions.length),
  );
  assert.equal(transactions.length, orders.length + 1); // and what the wallet was given
  return orders.length;
}

test('lists are whole before, behind and across the mark', async () => {
  const buy = async (count) => {
    for (let i = 0; i < count; i++) await shop.bought(buyer, { product_id: product.id });
  };
  await buy(3);
  assert.equal(await compare(), 3);
  crowd(WORTH);
  await buy(2);
  await compare();
  await filed(WORTH);
  await compare();
  await buy(2);
  assert.equal(await compare(), 7); // of which two are behind the mark
  await shop.souk.kill9();
  await shop.souk.start();
  assert.equal(await compare(), 7);
  if (!IS_PG) assert.equal(filedUpTo(), WORTH + 7); // a start files the rest
  await buy(1);
  crowd(2 * WORTH + 10);
  await buy(1);
  await filed(WORTH + BATCH);
  assert.equal(await compare(), 9);
  await shop.check();
});

/** A store on a disk that can be filled; null without the right to mount. */
function storeOnSmallDisk(t) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-disk-'));
  const made = freshStore();
  t.after(() => {
    spawnSync('umount', ['--lazy', dir]);
    fs.rmSync(dir, { recursive: true, force: true });
    made.remove();
  });
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', dir]).status !== 0) return null;
  fs.cpSync(made.dir, dir, { recursive: true });
  return { ...made, disk: dir, dbArg: path.join(dir, path.basename(made.dbArg)) };
}

test('a server starts on a full disk, and its lists are whole', { skip: IS_PG }, async (t) => {
  const database = storeOnSmallDisk(t);
  if (!database) return t.skip('needs the right to mount');
  const full = new Shop(await startSouk({ t, database, faults: false }));
  const one = full.seed.product({ price: 1 });
  const customer = await full.buyer({ balance: 100 });
  const orders = [];
  for (let i = 0; i < 3; i++) orders.unshift((await full.bought(customer, { product_id: one.id })).order_id);
  await full.souk.kill9();
  const ballast = path.join(database.disk, 'ballast');
  const fd = fs.openSync(ballast, 'w');
  for (const bytes of [1 << 20, 4096])
    try {
      for (;;) fs.writeSync(fd, Buffer.alloc(bytes));
    } catch (e) {
      assert.equal(e.code, 'ENOSPC');
    }
  fs.closeSync(fd);
  await full.souk.start({ ready: false });
  const list = async () => dataOf(await full.souk.get('/api/customer/orders', { token: customer.token }));
  assert.deepEqual(
    (await list()).map((o) => o.id),
    orders,
  );
  assert.equal((await full.order(customer, { product_id: one.id })).status, 503);
  fs.rmSync(ballast);
  await full.bought(customer, { product_id: one.id });
  assert.equal((await list()).length, 4);
});
