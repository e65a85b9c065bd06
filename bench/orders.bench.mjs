// Orders and verifications per second over HTTP, SQLite and PostgreSQL side by side. Durable: SQLite with synchronous=FULL,
// PostgreSQL with fsync. The load comes from bench/load.c on the same machine, so it takes its share of the cores; `cpu` is what
// the server's own process used for one request, `db` what PostgreSQL's processes did.
//
//     node bench/orders.bench.mjs [ORDERS] [VERIFICATIONS]
//
//   SOUK_BEFORE=DIR   another build folder, measured first: before and after, one beside the other
//   SOUK_ENGINE=pg    PostgreSQL only; sqlite: SQLite only
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuSeconds, cpuSecondsOfFamily } from '../tests/lib/cpu.mjs';
import { postmasterPid, startCluster, stopCluster } from '../tests/lib/pg.mjs';

const ORDERS = Number(process.argv[2] ?? 20000);
const VERIFICATIONS = Number(process.argv[3] ?? 200000);
const BUYERS = 64;
const root = fileURLToPath(new URL('..', import.meta.url));
const build = process.env.SOUK_BUILD ?? path.join(root, 'build');
const postmaster = Number(process.env.SOUK_BENCH_CHILD);

if (postmaster) {
  const { openShop } = await import('../tests/api/lib/shop.mjs');
  const shop = await openShop();
  try {
    console.log(JSON.stringify(await measure(shop)));
  } finally {
    await shop.stop();
  }
} else {
  const cluster = startCluster({ fsync: true });
  const runs = [
    ...(process.env.SOUK_BEFORE ? [{ name: 'SQLite, before', engine: 'sqlite', build: process.env.SOUK_BEFORE }] : []),
    { name: 'SQLite', engine: 'sqlite', build },
    ...(process.env.SOUK_BEFORE ? [{ name: 'PostgreSQL, before', engine: 'pg', build: process.env.SOUK_BEFORE }] : []),
    { name: 'PostgreSQL', engine: 'pg', build },
  ].filter((run) => !process.env.SOUK_ENGINE || run.engine === process.env.SOUK_ENGINE);
  try {
    for (const run of runs) {
      const out = spawnSync(process.execPath, [fileURLToPath(import.meta.url), String(ORDERS), String(VERIFICATIONS)], {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {
          ...process.env,
          SOUK_BENCH_CHILD: String(postmasterPid(cluster.dir)),
          SOUK_ENGINE: run.engine,
          SOUK_TEST_PG: cluster.url,
          SOUK_BUILD: run.build,
        },
      });
      if (out.status !== 0) throw new Error(`${run.name} could not be measured`);
      run.results = JSON.parse(out.stdout);
    }
  } finally {
    stopCluster(cluster.dir);
  }
  const number = (n, width, digits = 0) => n.toFixed(digits).padStart(width);
  for (const name of Object.keys(runs[0].results)) {
    console.log(name);
    for (const run of runs) {
      const r = run.results[name];
      console.log(
        `  ${run.name.padEnd(20)} ${number(r.per_second, 7)}/s  p50 ${number(r.p50_ms, 6, 2)} ms  p99 ${number(r.p99_ms, 7, 2)} ms` +
          `  cpu ${number(r.cpu_us, 6, 1)} µs  db ${number(r.db_us, 6, 1)} µs`,
      );
    }
  }
}

/** Keys of the buyers' licences, read through the API: they are sealed in the database. */
async function keysOf(shop, buyers, count) {
  const keys = [];
  for (const buyer of buyers) {
    let target = '/api/customer/licenses?limit=100';
    while (target && keys.length < count) {
      const answer = await shop.souk.get(target, { token: buyer.token });
      keys.push(...answer.json.data.map((l) => l.license_key));
      target = /^<([^>]+)>; rel="next"$/.exec(answer.headers.link ?? '')?.[1];
    }
  }
  return keys.slice(0, count);
}

async function measure(shop) {
  const product = shop.seed.product({ price: 1 });
  const codes = shop.seed.product({ price: 1, delivery_type: 'serial_code' });
  for (let i = 0; i < ORDERS; i += 5000) {
    shop.seed.serials(
      codes,
      Array.from({ length: Math.min(5000, ORDERS - i) }, (_, n) => `B-${i + n}`),
    );
  }
  const buyers = [];
  for (let i = 0; i < BUYERS; i++) buyers.push(await shop.buyer({ balance: 1_000_000_000 }));
  const file = (name, lines) => {
    const target = path.join(shop.souk.dir, name);
    fs.writeFileSync(target, `${lines.join('\n')}\n`);
    return target;
  };
  const tokens = file(
    'tokens',
    buyers.map((b) => b.token),
  );
  const bodies = (list) =>
    file(
      'bodies',
      list.map((b) => JSON.stringify(b)),
    );
  const load = (target, body, connections, count, ...keys) => {
    const before = cpuSeconds(shop.souk.child.pid);
    const dbBefore = cpuSecondsOfFamily(postmaster);
    const out = execFileSync(
      path.join(build, 'bench/load'),
      [`127.0.0.1:${shop.souk.port}`, target, tokens, bodies(body), String(connections), String(count), ...keys],
      { encoding: 'utf8' },
    );
    const result = JSON.parse(out);
    result.cpu_us = ((cpuSeconds(shop.souk.child.pid) - before) / count) * 1e6;
    result.db_us = ((cpuSecondsOfFamily(postmaster) - dbBefore) / count) * 1e6;
    if (result.statuses['200'] !== count) throw new Error(`${target}: ${out}`);
    return result;
  };
  const order = '/api/v1/order/create';
  const verify = '/api/v1/license/verify';
  const results = {};
  load(order, [{ product_id: product.id }], 64, 2000); // warm
  results['order, licence key, 64 connections'] = load(order, [{ product_id: product.id }], 64, ORDERS);
  results['order, licence key, 256 connections'] = load(order, [{ product_id: product.id }], 256, ORDERS);
  results['order with Idempotency-Key, 64'] = load(order, [{ product_id: product.id }], 64, ORDERS, 'bench');
  results['order, serial code, 64'] = load(order, [{ product_id: codes.id }], 64, ORDERS);
  const licenses = await keysOf(shop, buyers, 20000);
  const plain = licenses.map((license_key) => ({ license_key, product_id: product.id }));
  load(verify, plain, 64, 20000);
  results['verify, 64 connections'] = load(verify, plain, 64, VERIFICATIONS);
  results['verify, first binding, 64'] = load(
    verify,
    plain.map((b, i) => ({ ...b, hardware_id: `hw-${i}` })),
    64,
    licenses.length,
  );
  results['verify, bound, 64'] = load(
    verify,
    plain.map((b, i) => ({ ...b, hardware_id: `hw-${i}` })),
    64,
    VERIFICATIONS,
  );
  results['verify, 1 connection'] = load(verify, plain, 1, 20000);
  return results;
}
