// A synchronous standby that does not answer: what only the leader has is not acknowledged, neither at first nor when repeated.
// runs: pg release
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase, sql, startCluster, stopCluster } from '../lib/pg.mjs';
import { command } from '../lib/store.mjs';
import { PaidShop, stripeEvent } from './lib/gateways.mjs';
import { dataOf, expectError } from './lib/http.mjs';
import { startSouk } from './lib/souk.mjs';

let cluster, shop, buyer, product;

/** A cluster of its own: whom commits wait for holds for all databases. */
before(async () => {
  cluster = startCluster({ fsync: true });
  const dir = fs.mkdtempSync(path.join(cluster.dir, 'store-'));
  const env = { SOUK_KEY: randomBytes(32).toString('hex'), SOUK_DATA: path.join(dir, 'data') };
  const database = { engine: 'pg', dir, dbArg: createDatabase(cluster.url), env, remove() {} };
  await command(database, ['init']);
  const email = ['--email', 'owner@example.com'];
  await command(database, ['account', 'create', ...email, '--role', 'owner']);
  shop = new PaidShop(await startSouk({ database }));
  shop.owner = await command(database, ['token', 'create', ...email, '--scopes', 'admin,owner']);
  await shop.listen('stripe');
  buyer = await shop.buyer();
  product = shop.seed.product();
});
after(async () => {
  await shop.souk.stop();
  stopCluster(cluster.dir);
});

/** Commits wait for this standby; '': for none. */
async function waitFor(standby) {
  sql(cluster.url, `ALTER SYSTEM SET synchronous_standby_names = '${standby}'`);
  sql(cluster.url, 'SELECT pg_reload_conf()');
  await shop.until(() => sql(cluster.url, 'SHOW synchronous_standby_names') === standby, 'the setting is read');
}

/** The answer to a request; who waits for the standby meanwhile is thrown out, as by a leader that is shut down, or told not to wait. */
async function whileAlone(request, end = 'pg_terminate_backend') {
  let answer = null;
  const settled = request().then((a) => (answer = a));
  while (!answer) {
    sql(
      cluster.url,
      `SELECT ${end}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'`,
    );
    await Promise.race([settled, sleep(50)]);
  }
  return answer;
}

const orderWith = (key) =>
  shop.souk.post(
    '/api/v1/order/create',
    { product_id: product.id },
    { token: buyer.token, headers: { 'Idempotency-Key': key }, timeout_ms: 90_000 },
  );

for (const end of ['pg_terminate_backend', 'pg_cancel_backend'])
  test(`an order and its repetition are unknown until the standby has the order (${end})`, async () => {
    const order = () => orderWith(end);
    const before = shop.count('orders');
    await waitFor('nobody');
    try {
      expectError(await whileAlone(order, end), 503, 'outcome_unknown');
      assert.equal(shop.count('orders'), before + 1); // seen, and on one machine
      expectError(await whileAlone(order, end), 503, 'outcome_unknown');
    } finally {
      await waitFor('');
    }
    dataOf(await order());
    assert.equal(shop.count('orders'), before + 1);
  });

test('nobody ends the wait: the outcome is unknown, never a failure; meanwhile reads are served', async () => {
  const before = shop.count('orders');
  await waitFor('nobody');
  try {
    const [first, repeated] = [orderWith('silent'), orderWith('silent')];
    await shop.until(
      () => sql(cluster.url, "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") > 0,
      'the commit waits',
    );
    assert.equal(shop.count('orders'), before, 'nobody sees it');
    dataOf(await shop.souk.get('/api/store/products'));
    expectError(await first, 503, 'outcome_unknown');
    assert.match((await repeated).json.code, /^(outcome_unknown|unavailable)$/); // the second one may not have come to its commit
  } finally {
    await waitFor('');
  }
  const { order_id } = dataOf(await orderWith('silent'));
  assert.equal(dataOf(await orderWith('silent')).order_id, order_id);
  assert.equal(shop.count('orders'), before + 1);
});

test('a message of a gateway is not taken until the standby has it', async () => {
  const event = stripeEvent('payment_intent.succeeded', { order: 'nobody', amount: 100, intent: 'pi_1' });
  const tell = () => shop.event('stripe', event);
  await waitFor('nobody');
  try {
    expectError(await whileAlone(tell), 503, 'outcome_unknown');
    assert.equal(shop.count('webhook_event'), 1);
    expectError(await whileAlone(tell), 503, 'outcome_unknown');
  } finally {
    await waitFor('');
  }
  dataOf(await tell());
  assert.equal(shop.count('webhook_event'), 1);
});
