// Rolling upgrades: a node of tomorrow's program brings the schema a step ahead while today's nodes sell; they go on, and one that
// starts then starts. A step that today's program would notice is refused.
// runs: pg release
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BINARY, startSouk } from '../api/lib/souk.mjs';
import { psqlProgram } from '../lib/pg.mjs';
import { openNodes } from './lib/nodes.mjs';

const NEXT = path.join(path.dirname(BINARY), 'tests/next/souk-next');
let shop, product, buyer;

before(async () => {
  shop = await openNodes();
  product = shop.seed.product({ name: 'Tool', price: 1 });
  buyer = await shop.buyer({ balance: 1000000 });
});
after(() => shop.stop());

const order = (node) => node.post('/api/v1/order/create', { product_id: product.id }, { token: buyer.token });
const ready = async (node) => (await node.request('GET', '/readyz', { unchecked: true })).status;
const version = () => shop.seed.number('SELECT MAX(version) FROM schema_migration');

test('a step that only adds: nodes of two versions sell side by side', async (t) => {
  const nodes = [...shop.nodes];
  const answers = [];
  let isOver = false;
  const load = Array.from({ length: 8 }, async (_, i) => {
    while (!isOver) answers.push((await order(nodes[i % nodes.length])).status);
  });
  const today = version();
  // Somebody holds the table: the step waits briefly, lets the others by, and tries again.
  const holder = spawn(psqlProgram(), ['-Xq', shop.souk.dbArg], { stdio: ['pipe', 'ignore', 'inherit'] });
  holder.stdin.end('BEGIN; LOCK TABLE orders IN ROW EXCLUSIVE MODE; SELECT pg_sleep(2); COMMIT;\n');
  const next = await startSouk({ database: shop.souk.database, binary: NEXT });
  try {
    assert.equal(version(), today + 1, 'the schema is a step ahead');
    nodes.push(next);
    const before = answers.length;
    for (let i = 0; i < 200 && answers.length < before + 50; i += 1) await sleep(50);
    for (const node of nodes) assert.equal(await ready(node), 200);
    const late = await startSouk({ database: shop.souk.database });
    assert.equal(await ready(late), 200, 'a node of today starts beside it');
    assert.equal((await order(late)).status, 200);
    await late.stop();
    assert.equal((await order(next)).status, 200);
  } finally {
    isOver = true;
    await Promise.all(load);
    await next.stop();
  }
  t.diagnostic(`${answers.length} orders meanwhile`);
  assert.deepEqual(
    answers.filter((status) => status !== 200),
    [],
    'no order failed',
  );
  await shop.check();
});

test('a step that takes away, or two at once, are refused', async () => {
  const now = Number(version());
  const add = (n, isExpand) =>
    shop.seed.sql(
      `INSERT INTO schema_migration (version, name, hash, is_expand, applied_at) VALUES (${n}, 'x', 'x', ${isExpand}, 1);`,
    );
  add(now + 1, 1);
  assert.equal(await ready(shop.souk), 503, 'two steps ahead');
  shop.seed.sql(`DELETE FROM schema_migration WHERE version >= ${now};`);
  add(now, 0);
  assert.equal(await ready(shop.souk), 503, 'one step that may have taken away');
  const run = await shop.souk.cli(['check']);
  assert.notEqual(run.code, 0);
  await assert.rejects(startSouk({ database: shop.souk.database }), /newer souk/);
  shop.seed.sql(`UPDATE schema_migration SET is_expand = 1 WHERE version = ${now};`);
  assert.equal(await ready(shop.souk), 200);
});
