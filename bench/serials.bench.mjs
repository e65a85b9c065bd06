// Orders of serial codes on PostgreSQL as their pool is sold, without and with an old snapshot open (a backup). Durable. `db` is
// what PostgreSQL's processes used for one order: it counts the same on a busy machine, and it must not grow.
//
//     node bench/serials.bench.mjs [ORDERS] [BUILD…]       several builds are measured side by side
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuSecondsOfFamily } from '../tests/lib/cpu.mjs';
import { postmasterPid, psqlProgram, startCluster, stopCluster } from '../tests/lib/pg.mjs';
import { holdSnapshot } from '../tests/lib/sql.mjs';

const ORDERS = Number(process.argv[2] ?? 3000);
const root = fileURLToPath(new URL('..', import.meta.url));
const builds = process.argv.slice(3).map((b) => path.resolve(b));
const SOLD = [5_000, 100_000, 500_000];
const BUYERS = 32;

if (process.env.SOUK_BENCH_CHILD) {
  console.log(JSON.stringify(await measure(Number(process.env.SOUK_BENCH_CHILD))));
} else {
  if (builds.length === 0) builds.push(path.join(root, 'build'));
  const cluster = startCluster({ fsync: true });
  try {
    for (const build of builds) {
      const out = spawnSync(process.execPath, [fileURLToPath(import.meta.url), String(ORDERS)], {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {
          ...process.env,
          SOUK_BENCH_CHILD: String(postmasterPid(cluster.dir)),
          SOUK_ENGINE: 'pg',
          SOUK_TEST_PG: cluster.url,
          SOUK_BUILD: build,
        },
      });
      if (out.status !== 0) process.exit(1);
      for (const r of JSON.parse(out.stdout)) {
        console.log(
          `${path.basename(path.dirname(build))}/${path.basename(build)}  ${String(r.sold).padStart(7)} sold${r.snapshot ? ', old snapshot' : '              '}` +
            `  ${String(r.per_second).padStart(6)}/s  p99 ${r.p99_ms.toFixed(1).padStart(7)} ms  db ${r.db_us.toFixed(0).padStart(6)} µs`,
        );
      }
    }
  } finally {
    stopCluster(cluster.dir);
  }
}

async function measure(postmaster) {
  const { openShop } = await import('../tests/api/lib/shop.mjs');
  const shop = await openShop();
  try {
    const buyers = [];
    for (let i = 0; i < BUYERS; i++) buyers.push(await shop.buyer({ balance: 1_000_000_000 }));
    const file = (name, lines) => {
      fs.writeFileSync(path.join(shop.souk.dir, name), `${lines.join('\n')}\n`);
      return path.join(shop.souk.dir, name);
    };
    const tokens = file(
      'tokens',
      buyers.map((b) => b.token),
    );
    const results = [];
    for (const snapshot of [false, true]) {
      for (const sold of SOLD) {
        const pool = shop.seed.product({ price: 1, delivery_type: 'serial_code' });
        shop.seed.sql(
          `INSERT INTO serial (product_id, variant_id, code_hash, sealed_code) SELECT ${pool.id}, 0, decode(md5(n::text), 'hex'), '' FROM generate_series(1, ${sold}) n;`,
        );
        shop.seed.serials(
          pool,
          Array.from({ length: 2 * ORDERS }, (_, i) => `code-${i}`),
        );
        const holder = snapshot ? await holdSnapshot(shop.souk.dbArg) : null;
        // As many sales would leave them: one version each, dead for everybody but the holder.
        shop.seed.sql(
          `UPDATE serial SET taken_by = 0, taken_at = 1 WHERE id IN (SELECT id FROM serial WHERE product_id = ${pool.id} ORDER BY id LIMIT ${sold});`,
        );
        execFileSync(psqlProgram(), ['-Xq', '-d', shop.souk.dbArg, '-c', 'ANALYZE', '-c', 'CHECKPOINT']);
        const body = file('bodies', [JSON.stringify({ product_id: pool.id })]);
        const load = (count) =>
          JSON.parse(
            execFileSync(
              path.join(process.env.SOUK_BUILD, 'bench/load'),
              [`127.0.0.1:${shop.souk.port}`, '/api/v1/order/create', tokens, body, '32', String(count)],
              { encoding: 'utf8' },
            ),
          );
        load(Math.min(ORDERS, 200)); // plans, hints, what scans kill
        const before = cpuSecondsOfFamily(postmaster);
        const r = load(ORDERS);
        if (r.statuses['200'] !== ORDERS) throw new Error(JSON.stringify(r));
        results.push({ ...r, sold, snapshot, db_us: ((cpuSecondsOfFamily(postmaster) - before) / ORDERS) * 1e6 });
        holder?.kill();
      }
    }
    return results;
  } finally {
    await shop.stop();
  }
}
