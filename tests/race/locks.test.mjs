// Row locks on PostgreSQL: who waits for whom, on two servers of one store.
// runs: pg release
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { psqlProgram } from '../lib/pg.mjs';
import { releaseTogether } from '../lib/race.mjs';
import { expectStatus } from '../api/lib/http.mjs';
import { openNodes } from './lib/nodes.mjs';

const PATIENCE_MS = 20000;
const PATH = '/api/v1/order/create';

let shop;

before(async () => {
  shop = await openNodes();
});
after(() => shop.stop());

/** Somebody else's transaction: run(sql) gives what it answers, end() rolls back. */
function openTransaction(t) {
  const psql = spawn(psqlProgram(), ['-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', shop.souk.dbArg], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => psql.kill()); // also when the test fails: else nobody could stop the servers
  psql.stdin.write('BEGIN;\n');
  return {
    async run(text) {
      psql.stdin.write(`${text};\nSELECT 'done';\n`);
      await once(psql.stdout, 'data');
    },
    async end() {
      psql.stdin.end('ROLLBACK;\n');
      await once(psql, 'close');
    },
  };
}

/** Until a connection of the store waits for a lock that another one holds. */
async function untilSomebodyWaits() {
  const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  const deadline = Date.now() + PATIENCE_MS;
  while (shop.seed.number(waiting) === 0) {
    assert.ok(Date.now() < deadline, 'nobody waits for a lock');
    await sleep(20);
  }
}

const retries = async () => {
  let sum = 0;
  for (const node of shop.nodes) sum += (await node.metrics()).get('souk_db_retries_total');
  return sum;
};

for (const [what, perCustomer] of [
  ['once per customer', 1],
  ['as often as they like', null],
]) {
  test(`a coupon without a limit over all customers, ${what}: an order that holds it makes no other wait`, async (t) => {
    const product = shop.seed.product({ price: 1000 });
    const coupon = shop.seed.coupon({ value: 1000, max_uses_per_customer: perCustomer });
    const [stuck, ...others] = await Promise.all([1, 2, 3, 4].map(() => shop.buyer({ balance: 100000 })));
    const order = (who, i) => shop.any(i).post(PATH, { product_id: product.id, coupon_code: coupon.code }, who);

    const holder = openTransaction(t);
    await holder.run(`UPDATE ledger_account SET balance = balance WHERE owner_id = ${stuck.id}`);
    let ended = false;
    const waiting = order(stuck, 0).finally(() => {
      ended = true;
    });
    await untilSomebodyWaits(); // it has redeemed the coupon, and waits for its wallet
    for (const [i, other] of others.entries()) expectStatus(await order(other, i), 200);
    assert.equal(ended, false, 'the order with the locked wallet still waits');
    await holder.end();
    expectStatus(await waiting, 200);
    assert.equal(shop.count(`coupon_use WHERE coupon_id = ${coupon.id}`), 4);
    await shop.check();
  });
}

test('a coupon that gets a limit while orders redeem it counts all of them, and holds the limit', async () => {
  const product = shop.seed.product({ price: 100 });
  const coupon = shop.seed.coupon({ value: 1000, max_uses_per_customer: null });
  const buyers = await Promise.all(Array.from({ length: 8 }, () => shop.buyer({ balance: 100000 })));
  const LIMIT = 60;
  const limit = (async () => {
    while (shop.count(`coupon_use WHERE coupon_id = ${coupon.id}`) < 5) await sleep(5);
    // As staff change it: the row is held, then counted in a second statement, which sees what was committed meanwhile.
    shop.seed.sql(`UPDATE coupon SET version = version WHERE id = ${coupon.id};
      UPDATE coupon SET max_uses = ${LIMIT}, version = version + 1,
        uses = (SELECT count(*) FROM coupon_use WHERE coupon_id = ${coupon.id} AND released_at IS NULL)
        WHERE id = ${coupon.id};`);
  })();
  const answers = [];
  for (let round = 0; round < 4; round++) {
    answers.push(
      ...(await releaseTogether(
        Array.from({ length: 32 }, (_, i) => ({
          url: shop.any(i).url,
          path: PATH,
          token: buyers[i % buyers.length].token,
          body: { product_id: product.id, coupon_code: coupon.code },
        })),
      )),
    );
  }
  await limit;
  const placed = answers.filter((a) => a.status === 200).length;
  assert.equal(answers.length, 128);
  assert.ok(answers.every((a) => a.status === 200 || a.json.code === 'coupon_exhausted'));
  assert.equal(shop.count(`coupon_use WHERE coupon_id = ${coupon.id}`), placed);
  assert.equal(placed, LIMIT);
  await shop.check();
});

test('two servers place batches over the same wallets in opposite order: every order is placed', async () => {
  const product = shop.seed.product({ price: 1 });
  const buyers = await Promise.all(Array.from({ length: 24 }, () => shop.buyer({ balance: 1000 })));
  const ROUNDS = 5;
  const request = (node, buyer) => ({
    url: shop.nodes[node].url,
    path: PATH,
    token: buyer.token,
    body: { product_id: product.id },
  });
  for (let round = 0; round < ROUNDS; round++) {
    const answers = await releaseTogether([
      ...buyers.map((b) => request(0, b)),
      ...[...buyers].reverse().map((b) => request(1, b)),
    ]);
    for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  }
  for (const b of buyers) assert.equal((await shop.wallet(b)).balance, (1000 - 2 * ROUNDS) / 100);
  await shop.check();
});

test('a deadlock reaches no client: the order is placed by another try, which is counted', async (t) => {
  const product = shop.seed.product({ price: 100 });
  const coupon = shop.seed.coupon({ kind: 'fixed', value: 1, max_uses: 5 });
  const buyer = await shop.buyer({ balance: 1000 });
  const before_ = await retries();

  // It holds the wallet and will want the coupon; the order holds the coupon and wants the wallet. Who looks for deadlocks first
  // is rolled back: the other transaction is told to look late.
  const other = openTransaction(t);
  await other.run(`SET LOCAL deadlock_timeout = '60s'`);
  await other.run(`UPDATE ledger_account SET balance = balance WHERE owner_id = ${buyer.id}`);
  const order = shop.souk.post(PATH, { product_id: product.id, coupon_code: coupon.code }, buyer);
  await untilSomebodyWaits();
  await other.run(`UPDATE coupon SET value = value WHERE id = ${coupon.id}`);
  await other.end();
  expectStatus(await order, 200);
  assert.ok((await retries()) > before_, 'the second try was counted');
  await shop.check();
});
