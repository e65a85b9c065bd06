// Every route, with the n-th allocation of the server failing, for n = 1, 2, 3 …: whatever fails, the answer is clear and nothing is half
// done. And a server that gets no more memory at all, which must be able to wait until there is some.
// runs: release
//
//   SOUK_STRIDE   n grows by so much (default: a stride that makes the run short; ./dev soak faults: 1)
//
// On PostgreSQL each failure of libpq costs a connection: the short run has fewer of them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { openPaidShop } from './lib/gateways.mjs';
import { dataOf } from './lib/http.mjs';
import { ENGINE, SLOW, freshStore, together } from './lib/souk.mjs';
import { BUILD } from '../lib/build.mjs';
import { assertInvariants } from '../lib/checker.mjs';
import { openapi, plausibleRequests } from '../lib/plausible.mjs';

const STRIDE = Number(process.env.SOUK_STRIDE ?? (ENGINE === 'pg' ? 163 : 29));
const ALLOCATIONS_MAX = 4000;
let shop, memory;

/** The shim's numbers: see faulty_memory.c. */
class FaultyMemory {
  constructor(file) {
    this.file = file;
    this.bytes = Buffer.alloc(16);
    fs.writeFileSync(file, this.bytes);
    this.fd = fs.openSync(file, 'r+');
  }
  /** Only those of libpq are counted, and fail. */
  onlyOfLibpq(only) {
    this.bytes.writeInt32LE(only ? 1 : 0, 12);
    fs.writeSync(this.fd, this.bytes, 12, 4, 12);
  }
  /** The n-th allocation from now fails; 0: none. Gives how many have failed so far. */
  order(n, times = 1) {
    this.bytes.writeInt32LE(times, 4);
    fs.writeSync(this.fd, this.bytes, 4, 4, 4);
    this.bytes.writeInt32LE(n, 0);
    fs.writeSync(this.fd, this.bytes, 0, 4, 0);
    fs.readSync(this.fd, this.bytes, 0, 12, 0);
    return this.bytes.readInt32LE(8);
  }
}

const SKIP = { skip: SLOW > 1 && 'the sanitizers have an allocator of their own' };

before(async () => {
  if (SLOW > 1) return;
  const database = freshStore(ENGINE, 'owner');
  memory = new FaultyMemory(path.join(database.dir, 'memory'));
  const env = { FAULTY_MEMORY: memory.file, LD_PRELOAD: path.join(BUILD, 'tests/faults/faulty_memory.so') };
  shop = await openPaidShop({ database, env });
});
after(() => shop?.stop());

/** Until the reserve is whole again. */
const enough = () =>
  shop.until(
    async () => (await shop.souk.get('/readyz', { unchecked: true })).status === 200,
    'memory is enough again',
  );

test('an allocation that fails anywhere in a request: an answer, and nothing half done', SKIP, async (t) => {
  const product = shop.seed.product({ name: 'Editor', price: 100, delivery_type: 'license_key' });
  shop.seed.department({ name: 'Sales' });
  const buyer = await shop.buyer({ balance: 1_000_000 });
  dataOf(await shop.souk.post('/api/v1/order/create', { product_id: product.id, quantity: 2 }, { token: buyer.token }));
  await shop.played('stripe');
  let requests = 0;
  let failures = 0;
  const statuses = new Map();
  for (const r of plausibleRequests(openapi(BUILD), { slug: 'editor' })) {
    const token = r.who === 'staff' ? shop.owner : r.who === 'customer' ? buyer.token : undefined;
    if (/auth\/(logout|password$|sessions)|admin\/(staff|me\/|settings)|metrics$/.test(r.target)) continue; // ends our own tokens
    for (let n = 1; n < ALLOCATIONS_MAX; n += STRIDE) {
      const headers = r.takesKey ? { 'Idempotency-Key': `memory-${requests}` } : {};
      const send = () =>
        shop.souk.request(r.method, r.target, { token, body: r.body, type: r.type, headers, unchecked: true });
      const failed = memory.order(n);
      requests++;
      const answer = await send();
      const meant = memory.order(0) > failed;
      if (meant) failures++;
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      assert.notEqual(answer.status, 500, `${r.route}, allocation ${n}: ${answer.text}`);
      if (answer.status === 503) {
        assert.match(answer.text, /unavailable|overloaded|outcome_unknown/, r.route);
        await enough();
      }
      if (!meant) break;
    }
  }
  t.diagnostic(`${requests} requests, ${failures} met a failure, answers ${JSON.stringify([...statuses])}`);
  assert.ok(failures > 20, 'allocations do fail');
  await enough();
  assert.equal(shop.souk.starts, 1);
  await shop.check();
  assertInvariants(shop.souk.dbArg);
});

test(
  'an allocation of libpq that fails: the connection is given up at once, and nobody waits until PostgreSQL ends it',
  { skip: SKIP.skip || (ENGINE !== 'pg' && 'PostgreSQL alone') },
  async (t) => {
    memory.onlyOfLibpq(true);
    t.after(() => memory.onlyOfLibpq(false));
    const product = shop.seed.product({ name: 'Reader', price: 100, delivery_type: 'license_key' });
    const buyer = await shop.buyer({ balance: 1_000_000 });
    const order = { product_id: product.id, quantity: 1 };
    const all = process.env.SOUK_STRIDE ? ALLOCATIONS_MAX : 0;
    const read = () => shop.admin('GET', '/api/admin/checklist');
    const write = (key) =>
      shop.souk.post('/api/v1/order/create', order, { token: buyer.token, headers: { 'Idempotency-Key': key } });
    const sweep = async (most, stride, call) => {
      let failures = 0;
      for (let n = 1; n <= most; n += stride) {
        const failed = memory.order(n);
        const answer = await call(`libpq-${n}`);
        if (memory.order(0) === failed) break;
        failures++;
        assert.ok(answer.status === 200 || /unavailable|outcome_unknown/.test(answer.text), answer.text);
      }
      return failures;
    };
    const reads = await sweep(all || 20, 1, read);
    const keys = [];
    const writes = await sweep(all || 60, all ? 1 : 7, (key) => write(keys[keys.push(key) - 1]));
    t.diagnostic(`${reads} failures while reading, ${writes} while writing`);
    assert.ok(reads > 10 && writes > 4, `${reads} and ${writes}: libpq does allocate`);
    for (const key of keys) dataOf(await write(key));
    assert.equal(shop.seed.number(`SELECT COUNT(*) FROM orders WHERE account_id = ${buyer.id}`), keys.length);
    assert.match(shop.souk.stderr, /db.connection_lost.*out of memory/);
    assert.doesNotMatch(shop.souk.stderr, /25P03|no answer in time/, 'the end of an idle transaction');
    await shop.check();
  },
);

const limitSpace = (soft) => execFileSync('prlimit', ['--pid', String(shop.souk.child.pid), `--as=${soft}:`]);

test(
  'no memory for anybody: what has begun is finished, the rest is refused, and all is well once there is some',
  { skip: SKIP.skip || (ENGINE === 'pg' && !process.env.SOUK_STRIDE && 'the same as on SQLite') },
  async (t) => {
    t.after(() => limitSpace('unlimited'));
    const product = shop.seed.product({ name: 'Plugin', price: 100, delivery_type: 'license_key' });
    const buyer = await shop.buyer({ balance: 1_000_000 });
    const order = (key) =>
      shop.souk.post(
        '/api/v1/order/create',
        { product_id: product.id, quantity: 1 },
        { token: buyer.token, headers: { 'Idempotency-Key': key } },
      );
    dataOf(await order('first'));
    const size =
      Number(/^VmSize:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${shop.souk.child.pid}/status`, 'utf8'))[1]) * 1024;
    limitSpace(size);
    const answered = new Map();
    const body = JSON.stringify({ name: 'x'.repeat(60_000) });
    await together(300, 60, async (i) => {
      if (i % 3) {
        const answer = await shop.admin('POST', '/api/admin/products', body);
        assert.ok([422, 503].includes(answer.status), `${answer.status} ${answer.text}`);
      } else {
        const answer = await order(`short-${i}`);
        assert.ok([200, 503].includes(answer.status), `${answer.status} ${answer.text}`);
        if (answer.status === 200) answered.set(`short-${i}`, answer.json.data.order_id);
      }
    });
    limitSpace('unlimited');
    await enough();
    for (const [key, id] of answered) assert.equal(dataOf(await order(key)).order_id, id);
    dataOf(await order('last'));
    assert.equal(shop.souk.starts, 1);
    await shop.check();
  },
);
