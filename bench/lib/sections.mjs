// bench/lib/sections.mjs - the sections of the report: each measures one thing and gives its text.
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, stopCluster } from '../../tests/lib/pg.mjs';
import { fill, spread } from './filler.mjs';
import { ORDER, VERIFY, bare, best, get, post } from './load.mjs';
import { bars, curves } from './plot.mjs';
import { canProfile, profile } from './profile.mjs';
import { BUILD, keysOf, lines, startFastify, startNginx, startStore } from './subjects.mjs';

const n = (value) => Math.round(value).toLocaleString('en');
const us = (value) => (value >= 100 ? value.toFixed(0) : value.toFixed(1));
const ms = (value) => value.toFixed(value >= 10 ? 0 : 2);
const ratio = (value) => `${value.toFixed(2)}×`;
const picture = (context, name, alt, svg) => {
  context.plots.set(name, svg);
  return `![${alt}](performance/${name}.svg)`;
};

/** Stops whatever was started, in the reverse order, also after a failure. */
async function withSubjects(starters, job) {
  const started = [];
  try {
    for (const start of starters) started.push(await start());
    return await job(...started);
  } finally {
    for (const subject of started.reverse()) await subject?.stop();
  }
}

async function buy(store, count, options) {
  return post(store, ORDER, [{ product_id: store.product.id }], { count, ...options });
}

async function verdicts(store, count) {
  const keys = await keysOf(store, count);
  return lines(
    store.dir,
    'verdicts',
    keys.map((license_key) => ({ license_key, product_id: store.product.id })),
  );
}

async function measureVerify(context) {
  const count = Math.round(60_000 * context.scale);
  const peer = (cluster) => () => (context.peers ? startFastify(cluster) : null);
  return withSubjects(
    [
      () => startStore({ args: ['--loops', '1'] }),
      () => startStore(),
      () => startStore({ cluster: context.cluster }),
      peer(null),
      peer(context.cluster),
    ],
    async (single, sqlite, pg, nodeSqlite, nodePg) => {
      const bodies = [];
      for (const store of [single, sqlite, pg]) {
        await buy(store, 10_000);
        bodies.push(await verdicts(store, 10_000));
      }
      const sample = await sqlite.shop.verify(
        sqlite.buyers[0],
        JSON.parse(fs.readFileSync(bodies[1], 'utf8').split('\n')[0]),
      );
      const verdict = sample.text.replaceAll("'", '');
      const peers = [() => startNginx(verdict, '{}', 1), () => startNginx(verdict, '{}')];
      return withSubjects(peers, async (worker, nginx) => {
        worker.tokens = single.tokens;
        nginx.tokens = sqlite.tokens;
        const jobs = [
          ['nginx, `return 200`, one worker', () => post(worker, VERIFY, bodies[0], { count })],
          [`${sqlite.name}, one loop`, () => post(single, VERIFY, bodies[0], { count })],
          ['nginx, `return 200`', () => post(nginx, VERIFY, bodies[1], { count })],
          [sqlite.name, () => post(sqlite, VERIFY, bodies[1], { count })],
          [pg.name, () => post(pg, VERIFY, bodies[2], { count })],
          ...(nodeSqlite
            ? [[nodeSqlite.name, () => post(nodeSqlite, VERIFY, nodeSqlite.bodies, { count: count / 4 })]]
            : []),
          ...(nodePg ? [[nodePg.name, () => post(nodePg, VERIFY, nodePg.bodies, { count: count / 4 })]] : []),
        ];
        const found = await best(
          4,
          jobs.map(([, job]) => job),
        );
        const raw = await bare('bare_postgres', [pg.database.dbArg, 'verify', 50_000, 32]);
        const rows = jobs.map(([name], i) => {
          const r = found[i];
          return [
            name,
            us(r.cpu_us),
            us(r.db_us),
            us(r.own_us),
            ratio((r.cpu_us + r.db_us) / found[i < 2 ? 0 : 2].cpu_us),
            n(r.per_second),
            ms(r.p50_ms),
            ms(r.p99_ms),
          ];
        });
        rows.push([
          'libpq alone, 32 keys a statement',
          us(raw.cpu_us),
          us(raw.db_us),
          '',
          ratio((raw.cpu_us + raw.db_us) / found[2].cpu_us),
          n(raw.per_second),
          '',
          '',
        ]);
        return `Where it is not said, nginx has a worker and souk a loop for each core; each is held against the nginx with as many. A server
that is less busy is woken more often, for fewer requests: one worker, which has all of them, looks cheaper than two.

${context.table(['64 connections', 'server, µs', 'database, µs', 'load, µs', 'of nginx', 'a second', 'p50, ms', 'p99, ms'], rows)}

${picture(
  context,
  'verify',
  'Processor time of one verification',
  bars(
    'Processor time of one verification, µs',
    jobs.map(([name], i) => [name.replaceAll('`', ''), [found[i].cpu_us, found[i].db_us]]),
    ['server', 'database'],
  ),
)}`;
      });
    },
  );
}

async function measureCatalogue(context) {
  const count = Math.round(20_000 * context.scale);
  return withSubjects([() => startStore(), () => startStore({ cluster: context.cluster })], async (sqlite, pg) => {
    for (const store of [sqlite, pg])
      for (let i = 0; i < 19; i++) store.shop.seed.product({ name: `Product number ${i}`, price: 100 + i });
    await sleep(3000); // the catalogue in memory follows its revision
    const target = '/api/store/products';
    const answer = await sqlite.souk.get(target);
    return withSubjects([() => startNginx('{}', answer.text)], async (nginx) => {
      const jobs = [
        ['nginx, a file', () => get(nginx, '/catalogue', { count })],
        [sqlite.name, () => get(sqlite, target, { count })],
        [pg.name, () => get(pg, target, { count })],
      ];
      const found = await best(
        6,
        jobs.map(([, job]) => job),
      );
      return `${answer.text.length} bytes of JSON, 20 products.

${context.table(
  ['16 connections', 'server, µs', 'of nginx', 'a second'],
  jobs.map(([name], i) => [
    name,
    us(found[i].cpu_us),
    ratio(found[i].cpu_us / found[0].cpu_us),
    n(found[i].per_second),
  ]),
)}`;
    });
  });
}

/** The rows of one engine's orders: the bare program first, at the batch size that souk reached. */
async function orderRows(context, store, peer) {
  const count = Math.round(12_000 * context.scale);
  const codes = store.shop.seed.product({ price: 1, delivery_type: 'serial_code' });
  for (let i = 0; i < count * 3; i += 5000)
    store.shop.seed.serials(
      codes,
      Array.from({ length: Math.min(5000, count * 3 - i) }, (_, k) => `S-${i + k}`),
    );
  await buy(store, 2000);
  const batches = async () => {
    const m = await store.souk.metrics();
    return [m.get('souk_db_batches_total') ?? 0, m.get('souk_db_batch_jobs_total') ?? 0];
  };
  const before = await batches();
  const jobs = [
    ['order, 64 connections', () => buy(store, count)],
    ['order, 256 connections', () => buy(store, count, { connections: 256 })],
    ['with an Idempotency-Key, 64', (round) => buy(store, count, { key: `bench-${round}` })],
    ['of a serial code, 64', () => post(store, ORDER, [{ product_id: codes.id }], { count })],
    ...(peer
      ? [
          [
            `${peer.name}, 64`,
            () => post(peer, ORDER, lines(store.dir, 'peer', [{ product_id: 1 }]), { count: count / 4 }),
          ],
        ]
      : []),
  ];
  const found = await best(
    3,
    jobs.map(([, job]) => job),
  );
  const after = await batches();
  const batch =
    after[0] > before[0] && after[1] > before[1] ? Math.round((after[1] - before[1]) / (after[0] - before[0])) : 32;
  return { jobs, found, batch, count };
}

/**
 * How much more an order with an Idempotency-Key costs: both by turns in one store, the first of a pair the second of the next, so
 * that what the store has grown meanwhile meets both alike. The median: lists are filed after some tens of thousands of orders, in
 * whatever turn that happens to be.
 */
async function keyCost(context, store) {
  const count = Math.round(2000 * context.scale);
  const spent = { plain: [], keyed: [] };
  const rates = { plain: [], keyed: [] };
  for (let round = 0; round < 15; round++) {
    for (const kind of round % 2 ? ['keyed', 'plain'] : ['plain', 'keyed']) {
      const r = await buy(store, count, kind === 'keyed' ? { key: `turn-${round}` } : {});
      spent[kind].push(r.cpu_us + r.db_us);
      rates[kind].push(r.per_second);
    }
  }
  const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
  return { time: median(spent.keyed) / median(spent.plain) - 1, rate: 1 - median(rates.keyed) / median(rates.plain) };
}

async function measureOrders(context) {
  const parts = [];
  const drawn = [];
  for (const cluster of [null, context.cluster]) {
    await withSubjects(
      [() => startStore({ cluster }), () => (context.peers ? startFastify(cluster) : null)],
      async (store, peer) => {
        const { jobs, found, count } = await orderRows(context, store, peer);
        const more = await keyCost(context, store);
        const raw = [];
        for (const batch of [32, 64]) {
          if (cluster) raw.push([batch, await bare('bare_postgres', [store.database.dbArg, 'orders', count, batch])]);
        }
        if (!cluster) {
          await store.souk.kill9(); // the bare program has the file for itself
          for (const batch of [32, 64])
            raw.push([batch, await bare('bare_sqlite', [store.database.dbArg, count, batch])]);
          await store.souk.start();
        }
        const line = (name, r) => [
          name,
          us(r.cpu_us),
          us(r.db_us),
          n(r.per_second),
          r.p50_ms ? ms(r.p50_ms) : '',
          r.p99_ms ? ms(r.p99_ms) : '',
        ];
        const rows = [
          ...raw.map(([batch, r]) => line(`bare program, ${batch} a transaction`, r)),
          ...jobs.map(([name], i) => line(name, found[i])),
        ];
        const bareRate = Math.max(...raw.map(([, r]) => r.per_second));
        const rate = Math.max(found[0].per_second, found[1].per_second);
        parts.push(`**${store.name}.** ${context.table(['', 'server, µs', 'database, µs', 'a second', 'p50, ms', 'p99, ms'], rows).replace(/^/, '\n\n')}

${(rate / bareRate).toFixed(2)} of the bare program's rate; by turns in one store, an order with an Idempotency-Key
costs ${(more.time * 100).toFixed(0)} % more processor time than one without, and ${(more.rate * 100).toFixed(0)} % fewer are placed a second.`);
        drawn.push(
          ...raw.slice(1).map(([, r]) => [`bare program, ${cluster ? 'libpq' : 'SQLite'}`, [r.cpu_us, r.db_us]]),
          [store.name, [found[0].cpu_us, found[0].db_us]],
          ...(peer ? [[peer.name, [found.at(-1).cpu_us, found.at(-1).db_us]]] : []),
        );
      },
    );
  }
  return `${parts.join('\n\n')}

${picture(context, 'orders', 'Processor time of one durable order', bars('Processor time of one durable order, µs', drawn, ['server', 'database']))}`;
}

async function measureGrowth(context) {
  const sizes = context.isFull
    ? [10_000, 100_000, 1_000_000, 10_000_000]
    : context.scale < 1
      ? [10_000, 30_000]
      : [10_000, 100_000, 1_000_000];
  // So many that SQLite's lists are filed twice meanwhile (decision 0085).
  const count = Math.round(50_000 * context.scale) + 1000;
  const series = [];
  const rows = [];
  for (const cluster of [null, context.cluster]) {
    let store = await startStore({ cluster });
    const { database } = store;
    const mine = [];
    try {
      await buy(store, 10_000);
      const bodies = fs.readFileSync(await verdicts(store, 10_000), 'utf8');
      for (const size of sizes) {
        await store.souk.kill9();
        fill(database, size);
        if (size > 20_000) spread(database, 10_000);
        await store.souk.start({ within: 600_000 }); // files the lists of what was added
        fs.writeFileSync(path.join(store.dir, 'verdicts'), bodies);
        const file = path.join(store.dir, 'verdicts');
        await post(store, VERIFY, file, { count: 20_000 });
        await buy(store, count);
        const [verify, order] = await best(3, [
          () => post(store, VERIFY, file, { count: 40_000 }),
          () => buy(store, count),
        ]);
        mine.push({ size, verify, order });
      }
    } finally {
      await store.stop();
      store = null;
    }
    const engine = cluster ? 'PostgreSQL' : 'SQLite';
    const cost = (r) => r.cpu_us + r.db_us;
    for (const { size, verify, order } of mine)
      rows.push([
        engine,
        n(size),
        us(cost(verify)),
        ratio(cost(verify) / cost(mine[0].verify)),
        n(verify.per_second),
        us(cost(order)),
        ratio(cost(order) / cost(mine[0].order)),
        n(order.per_second),
      ]);
    series.push(
      [`verify, ${engine}`, mine.map((m) => [m.size, cost(m.verify)])],
      [`order, ${engine}`, mine.map((m) => [m.size, cost(m.order)])],
    );
  }
  return `Licences that are verified lie all over the table. Times are server and database together.

${context.table(['', 'orders and licences', 'verify, µs', 'growth', 'a second', 'order, µs', 'growth', 'a second'], rows)}

${picture(context, 'growth', 'Processor time as a store grows', curves('Processor time of one request as a store grows', series))}`;
}

async function measureBeside(context) {
  const rows = [];
  const seconds = context.scale < 1 ? 1 : 4;
  for (const cluster of [null, context.cluster]) {
    await withSubjects([() => startStore({ cluster })], async (store) => {
      await buy(store, 5000);
      const file = await verdicts(store, 5000);
      const alone = await post(store, VERIFY, file, { connections: 4, seconds });
      const orders = buy(store, 10_000_000, { seconds: seconds + 1 });
      await sleep(300);
      const beside = await post(store, VERIFY, file, { connections: 4, seconds });
      const placed = await orders;
      rows.push(
        [`${store.name}, alone`, n(alone.per_second), ms(alone.p50_ms), ms(alone.p99_ms), ''],
        [
          `${store.name}, beside orders on 64 connections`,
          n(beside.per_second),
          ms(beside.p50_ms),
          ms(beside.p99_ms),
          n(placed.per_second),
        ],
      );
    });
  }
  return context.table(['4 connections verify', 'a second', 'p50, ms', 'p99, ms', 'orders a second'], rows);
}

async function measureSlowDisk(context) {
  const library = path.join(os.tmpdir(), `souk-slow-fsync-${process.pid}.so`);
  fs.copyFileSync(path.join(BUILD, 'bench/slow_fsync.so'), library); // where the user postgres can read it
  fs.chmodSync(library, 0o755);
  const rows = [];
  const seconds = context.scale < 1 ? 1 : 3;
  try {
    for (const delay of [0, 1, 4]) {
      const env = { LD_PRELOAD: library, SOUK_FSYNC_US: String(delay * 1000) };
      const row = [`${delay} ms`];
      await withSubjects([() => startStore({ env })], async (store) => {
        await buy(store, 1000);
        for (const connections of [64, 256])
          row.push(n((await buy(store, 10_000_000, { seconds, connections })).per_second));
      });
      Object.assign(process.env, env);
      let cluster;
      try {
        cluster = startCluster({ fsync: true, options: ['-c shared_buffers=256MB', '-c max_wal_size=4GB'] });
      } finally {
        for (const name of Object.keys(env)) delete process.env[name];
      }
      try {
        await withSubjects([() => startStore({ cluster })], async (store) => {
          await buy(store, 1000);
          for (const connections of [64, 256])
            row.push(n((await buy(store, 10_000_000, { seconds, connections })).per_second));
        });
      } finally {
        stopCluster(cluster.dir);
      }
      rows.push(row);
    }
  } finally {
    fs.rmSync(library);
  }
  return `Orders a second with each fsync made slower by so much.

${context.table(['', 'SQLite, 64 connections', '256', 'PostgreSQL, 64 connections', '256'], rows)}`;
}

function residentKiB(pid) {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
}

async function connectMany(port, count) {
  const sockets = [];
  for (let i = 0; i < count; i += 200) {
    await Promise.all(
      Array.from(
        { length: Math.min(200, count - i) },
        () =>
          new Promise((done, failed) => {
            const s = net.connect(port, '127.0.0.1', done);
            s.on('error', failed);
            sockets.push(s);
          }),
      ),
    );
  }
  return sockets;
}

async function measureIdle(context) {
  const count = 10_000;
  return withSubjects([() => startStore()], async (store) => {
    await buy(store, 2000);
    const file = await verdicts(store, 2000);
    const { pid } = store.souk.child;
    const [alone] = await best(2, [() => post(store, VERIFY, file, { count: 30_000 })]);
    const before = residentKiB(pid);
    const sockets = await connectMany(store.port, count);
    await sleep(500);
    const memory = residentKiB(pid) - before;
    const from = store.cpu().server;
    await sleep(3000);
    const idle = (store.cpu().server - from) / 3e9;
    const [beside] = await best(2, [() => post(store, VERIFY, file, { count: 30_000 })]);
    for (const s of sockets) s.destroy();
    return context.table(
      ['10,000 idle connections', ''],
      [
        ['memory for each', `${(memory / count).toFixed(1)} KiB`],
        ['processor while nothing happens', `${(idle * 100).toFixed(1)} % of a core`],
        ['verify without them', `${us(alone.cpu_us)} µs`],
        ['verify beside them', `${us(beside.cpu_us)} µs`],
      ],
    );
  });
}

const CROWD = 8000; // clients: more than any queue holds

async function measureOverload(context) {
  const rows = [];
  const seconds = context.scale < 1 ? 2 : 5;
  for (const cluster of [null, context.cluster]) {
    await withSubjects([() => startStore({ cluster })], async (store) => {
      await buy(store, 2000);
      const bestOf = [];
      for (const connections of [64, 256]) bestOf.push(await buy(store, 10_000_000, { seconds: 3, connections }));
      const top = bestOf.sort((a, b) => b.per_second - a.per_second)[0];
      const rate = top.per_second * 10;
      await sleep(500);
      const hard = await buy(store, 10_000_000, { seconds, connections: CROWD, rate: Math.round(rate), all: false });
      rows.push(
        [`${store.name}, at its best`, n(top.per_second), n(top.ok_per_second), '', ms(top.ok_p99_ms), ''],
        [
          `${store.name}, 10 times that`,
          n(hard.per_second),
          n(hard.ok_per_second),
          `${((hard.ok_per_second / top.ok_per_second) * 100).toFixed(0)} %`,
          ms(hard.ok_p99_ms),
          n(hard.statuses['503'] ?? 0),
        ],
      );
    });
  }
  return `Ten times as many orders as were placed at best are sent, whatever comes back, through ${n(CROWD)} connections, each with one order
under way at a time. The load takes its share of the same cores. Refusals go out at a pace (decision 0066), so that most of the crowd waits.

${context.table(['', 'answered a second', 'orders placed a second', 'of the best', 'p99 of these, ms', '503 overloaded'], rows)}`;
}

/** Where the processor time of the server goes, and that of PostgreSQL: parts, and the functions that take most. */
async function measureProfiles(context) {
  if (!canProfile()) return 'Not measured: `perf` is not there, or may not look at other processes.';
  const rows = [];
  let turn = 0;
  const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
  const count = (of) => Math.round(of * context.scale);
  for (const cluster of [null, context.cluster]) {
    await withSubjects([() => startStore({ cluster })], async (store) => {
      await buy(store, count(20_000));
      const file = await verdicts(store, count(20_000));
      await post(store, VERIFY, file, { count: count(20_000) });
      const jobs = [
        ['verify', () => post(store, VERIFY, file, { count: count(400_000) })],
        ['order', () => buy(store, count(60_000))],
        ['order with a key', () => buy(store, count(60_000), { key: `profile-${++turn}` })],
      ];
      for (const [name, job] of jobs) {
        const programs = [{ name: 'souk', pid: store.souk.child.pid }, ...(cluster ? [{ name: 'postgres' }] : [])];
        for (const program of programs) {
          const { parts, functions } = await profile(context.dir, program, job);
          rows.push([
            `${name}, ${cluster ? 'PostgreSQL' : 'SQLite'}`,
            program.name,
            parts.map(([part, share]) => `${part} ${percent(share)}`).join(', '),
            functions
              .slice(0, 6)
              .map(([symbol, , share]) => `\`${symbol}\` ${percent(share)}`)
              .join(', '),
          ]);
        }
      }
    });
  }
  return `Shares of what the program used, while the load was on; 64 connections. \`program\` is the program's own code.

${context.table(['', 'of', 'parts', 'most'], rows)}`;
}

export const sections = [
  { name: 'verify', title: 'Verification', measure: measureVerify, hasPeers: true },
  { name: 'catalogue', title: 'Catalogue', measure: measureCatalogue },
  { name: 'orders', title: 'Durable orders', measure: measureOrders, hasPeers: true },
  { name: 'beside', title: 'Verification beside orders', measure: measureBeside },
  { name: 'overload', title: 'Overload', measure: measureOverload },
  { name: 'idle', title: 'Idle connections', measure: measureIdle },
  { name: 'disk', title: 'Slower disks', measure: measureSlowDisk },
  { name: 'profile', title: 'Where the time goes', measure: measureProfiles },
  { name: 'growth', title: 'Growth', measure: measureGrowth },
];
