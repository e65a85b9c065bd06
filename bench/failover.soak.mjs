// Fail-over of PostgreSQL under load: three machines with Patroni, two servers, and the leader killed, paused and cut off.
// ./dev soak failover [TIMES]
//
//     node bench/failover.soak.mjs [TIMES]      20 faults; needs root, and a kernel with network namespaces
//
// The machines are network namespaces (lib/namespaces.mjs, lib/patroni.mjs). One server names all machines in its address,
// the other goes through HAProxy. Customers buy, top up and repeat what was not answered (lib/buyers.mjs); at the end what
// they were told is held against the data: nothing lost, nothing twice.
//
// The same is done before with replication that nobody waits for, and there the comparison has to find a loss.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { memoryFolder } from '../tests/lib/memory.mjs';
import { makeNetwork, runInside, whyNoNamespaces } from './lib/namespaces.mjs';

const TIMES = Number(process.argv[2] ?? 20);
const RATE = 50;
const CLIENTS = 24;
const CODES_PER_FAULT = 1500;
const CALM_MS = 3000;
const SEVERED_MS = 3000;
const BACK_MS = 120000;
const BACK_ORDERS = 20;
const WAYS = ['all hosts in the address', 'HAProxy'];

/** What happens to the leader; each gives what heals the machine. */
const FAULTS = {
  'machine killed': async (cluster, leader) => {
    leader.powerOff();
    return () => cluster.powerOn(leader);
  },
  'postmaster killed': async (cluster, leader) => {
    cluster.killPostmaster(leader);
    return null; // Patroni sees to it
  },
  'machine paused': async (_, leader) => {
    leader.pause();
    return () => leader.resume();
  },
  'machine cut off': async (_, leader) => {
    leader.unplug();
    return () => leader.plug();
  },
  /** What is acknowledged while no standby hears the leader is lost with it. */
  'cut off from its standbys, then killed': async (cluster, leader, buyers) => {
    leader.cutFrom(cluster.nodes.filter((n) => n !== leader));
    const from = Date.now();
    await sleep(SEVERED_MS);
    if (!cluster.synchronous) await until(() => buyers.acknowledgedSince(from) >= BACK_ORDERS, 'orders to lose');
    leader.powerOff();
    return () => cluster.powerOn(leader);
  },
};
const LOSING = 'cut off from its standbys, then killed';

async function until(ready, what) {
  const deadline = Date.now() + BACK_MS;
  while (!(await ready())) {
    if (Date.now() > deadline) throw new Error(`did not happen within ${BACK_MS / 1000} s: ${what}`);
    await sleep(250);
  }
}

/** A store on the cluster with a server for each way to it. */
async function openStore(cluster, dir) {
  const { Souk } = await import('../tests/api/lib/souk.mjs');
  const { command } = await import('../tests/lib/store.mjs');
  const env = { SOUK_KEY: randomBytes(32).toString('hex'), SOUK_DATA: path.join(dir, 'data') };
  const database = (dbArg) => ({ engine: 'pg', dir, dbArg, env, remove() {} });
  const first = database(cluster.url);
  await command(first, ['init']);
  const email = ['--email', 'owner@example.com'];
  await command(first, ['account', 'create', ...email, '--role', 'owner']);
  const owner = await command(first, ['token', 'create', ...email, '--scopes', 'admin,owner']);
  const nodes = [cluster.url, cluster.proxyUrl].map((url) => new Souk({ engine: 'pg', database: database(url) }));
  for (const node of nodes) await node.start();
  return { nodes, owner };
}

/** One fault under load; gives the seconds without service, for each way. */
async function fail(cluster, buyers, kind) {
  const leader = await cluster.leader();
  const from = Date.now();
  const heal = await FAULTS[kind](cluster, leader, buyers);
  if (heal) await until(async () => ![null, leader].includes(await cluster.leader()), 'another leader');
  const since = Date.now();
  await until(() => buyers.acknowledgedSince(since) >= BACK_ORDERS, 'orders at every node');
  await heal?.();
  await cluster.whole();
  await sleep(CALM_MS);
  return WAYS.map((_, node) => buyers.longestGap(node, from));
}

async function run({ synchronous, kinds }) {
  const { Patroni, TTL_S } = await import('./lib/patroni.mjs');
  const { Buyers } = await import('./lib/buyers.mjs');
  const dir = process.env.SOUK_FAILOVER_DIR;
  makeNetwork();
  const cluster = await Patroni.start(dir, { synchronous });
  const { nodes, owner } = await openStore(cluster, dir);
  const buyers = await Buyers.open(nodes, owner, { codes: Math.max(3, kinds.length) * CODES_PER_FAULT });
  console.log(`${synchronous ? 'synchronous' : 'asynchronous'} replication, ttl ${TTL_S} s, ${RATE} requests/s`);
  buyers.start(RATE, CLIENTS);
  await sleep(CALM_MS);
  const seconds = {};
  for (const [i, kind] of kinds.entries()) {
    const gaps = await fail(cluster, buyers, kind);
    (seconds[kind] ??= WAYS.map(() => [])).forEach((list, way) => list.push(gaps[way]));
    const each = gaps.map((s, way) => `${s.toFixed(1)} s (${WAYS[way]})`).join(', ');
    console.log(`  ${i + 1}. ${kind}: without service for ${each}`);
  }
  await buyers.rest();
  return { buyers, nodes, seconds };
}

async function end({ buyers, nodes }) {
  await buyers.stop();
  for (const node of nodes) await node.stop();
}

function tellSeconds(seconds) {
  const row = (list) => {
    const sorted = [...list].sort((a, b) => a - b);
    const half = sorted.length / 2;
    const median = (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
    return [sorted[0], median, sorted.at(-1)].map((s) => s.toFixed(1)).join(' / ');
  };
  for (const [kind, lists] of Object.entries(seconds))
    console.log(
      `  ${kind}, ${lists[0].length} times: ${lists.map((l, way) => `${row(l)} s (${WAYS[way]})`).join('; ')}`,
    );
}

/** Nobody waits for a standby: the comparison finds orders that are lost, and codes that were sold again. */
async function control() {
  const it = await run({ synchronous: false, kinds: [LOSING] });
  const { lost, twice } = it.buyers.compare(await it.buyers.read());
  await end(it);
  assert.ok(lost.length > 0 && twice.length > 0, 'nothing was lost without synchronous replication: nobody is looking');
  console.log(
    `control: of ${it.buyers.log.size} acknowledged requests ${lost.length} are lost, ${twice.length} codes were sold twice`,
  );
}

async function soak() {
  const names = Object.keys(FAULTS);
  const it = await run({ synchronous: true, kinds: Array.from({ length: TIMES }, (_, i) => names[i % names.length]) });
  const { buyers } = it;
  const { lost, twice, wrong } = buyers.compare(await buyers.read());
  const others = await buyers.repeatAll();
  for (const line of [...lost, ...twice, ...wrong, ...others].slice(0, 20)) console.log(`  ${line}`);
  console.log('seconds without service (least / median / most):');
  tellSeconds(it.seconds);
  console.log(`clients met: ${JSON.stringify(buyers.met)}`);
  console.log(
    `${TIMES} faults, ${buyers.log.size} requests acknowledged, ${buyers.told.size} top-ups paid: ${lost.length} lost, ` +
      `${twice.length} twice, ${wrong.length} wrong, ${others.length} repeated with another answer`,
  );
  await buyers.checkStore();
  await end(it);
  return [lost, twice, wrong, others].every((list) => list.length === 0);
}

if (process.env.SOUK_FAILOVER_PART) {
  // Whatever is left is ended by the kernel, with this namespace.
  const part = process.env.SOUK_FAILOVER_PART === 'control' ? control : soak;
  const good = await part().catch((e) => {
    console.error(e);
    return false;
  });
  process.exit(good === false ? 1 : 0);
} else {
  const why = whyNoNamespaces();
  if (why) {
    console.log(`skipped: ${why}`);
    process.exit(0);
  }
  for (const part of ['control', 'soak']) {
    const dir = fs.mkdtempSync(path.join(memoryFolder('/tmp'), 'souk-failover-'));
    fs.chmodSync(dir, 0o755); // PostgreSQL runs as another user
    try {
      const env = { SOUK_FAILOVER_PART: part, SOUK_FAILOVER_DIR: dir };
      process.exitCode = await runInside(fileURLToPath(import.meta.url), [String(TIMES)], env);
    } finally {
      if (process.env.SOUK_FAILOVER_KEEP) console.log(`kept: ${dir}`);
      else fs.rmSync(dir, { recursive: true, force: true });
    }
    if (process.exitCode) break;
  }
}
