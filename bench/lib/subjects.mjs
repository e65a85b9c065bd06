// bench/lib/subjects.mjs - what is measured: souk on either engine, nginx, and a Fastify service, each on the real disk and with the
// processor time that it has used. A subject is {name, port, tokens, cpu(): {server, database}, stop()}, times in nanoseconds.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../tests/api/lib/port.mjs';
import { Shop } from '../../tests/api/lib/shop.mjs';
import { Souk } from '../../tests/api/lib/souk.mjs';
import { cpuNanoseconds } from '../../tests/lib/cpu.mjs';
import { createDatabase, dropDatabase, postmasterPid } from '../../tests/lib/pg.mjs';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const BUILD = process.env.SOUK_BUILD ?? path.join(ROOT, 'build');
const PEERS = path.join(ROOT, 'bench/peers');
const BUYERS = 64;

/** A folder on the disk: the tests' own databases are in memory, where an fsync costs nothing. */
export function scratch(name) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), `souk-bench-${name}-`));
  fs.chmodSync(dir, 0o755);
  return dir;
}

function childrenOf(pid) {
  return fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** Of processes that are gone meanwhile: nothing. */
function sumNanoseconds(pids) {
  let sum = 0;
  for (const pid of pids) {
    try {
      sum += cpuNanoseconds(pid);
    } catch {
      continue;
    }
  }
  return sum;
}

function clusterCpu(cluster) {
  if (!cluster) return 0;
  const pid = postmasterPid(cluster.dir);
  return sumNanoseconds([pid, ...childrenOf(pid)]);
}

/** Lines as a file for bench/load.c. */
export function lines(dir, name, list) {
  const file = path.join(dir, name);
  fs.writeFileSync(file, `${list.map((l) => (typeof l === 'string' ? l : JSON.stringify(l))).join('\n')}\n`);
  return file;
}

/** A store on the disk with buyers who have money and a product that costs 1. `cluster`: on PostgreSQL. */
export async function startStore({ cluster = null, env = {}, args = [], database = null } = {}) {
  const dir = database?.dir ?? scratch('store');
  database ??= {
    engine: cluster ? 'pg' : 'sqlite',
    dir,
    dbArg: cluster ? createDatabase(cluster.url) : path.join(dir, 'souk.db'),
    env: cluster ? { SOUK_KEY: randomBytes(32).toString('hex'), SOUK_DATA: path.join(dir, 'data') } : {},
    remove() {
      if (cluster) dropDatabase(this.dbArg);
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
  const many = ['--connections-max', '20000', '--connections-per-address', '20000', '--idle-timeout-ms', '600000'];
  const souk = new Souk({ database, env, args: [...many, ...args] });
  await souk.start();
  const shop = new Shop(souk);
  const store = {
    name: cluster ? 'souk, PostgreSQL' : 'souk, SQLite',
    shop,
    souk,
    database,
    dir,
    cluster,
    get port() {
      return souk.port;
    },
    cpu: () => ({ server: sumNanoseconds([souk.child.pid]), database: clusterCpu(cluster) }),
    async stop() {
      await souk.stop();
      database.remove();
    },
  };
  if (!database.seeded) {
    database.seeded = { product: shop.seed.product({ price: 1 }), buyers: [] };
    for (let i = 0; i < BUYERS; i++) database.seeded.buyers.push(await shop.buyer({ balance: 1_000_000_000 }));
  }
  Object.assign(store, database.seeded);
  store.tokens = lines(
    dir,
    'tokens',
    store.buyers.map((b) => b.token),
  );
  return store;
}

/** The keys of the buyers' newest licences, read through the API: they are sealed in the database. */
export async function keysOf(store, count) {
  const each = Math.ceil(count / store.buyers.length);
  const keys = [];
  for (const buyer of store.buyers) {
    let target = '/api/customer/licenses?limit=100';
    for (let got = 0; target && got < each;) {
      const answer = await store.souk.get(target, { token: buyer.token });
      got += answer.json.data.length;
      keys.push(...answer.json.data.map((l) => l.license_key));
      target = /^<([^>]+)>; rel="next"$/.exec(answer.headers.link ?? '')?.[1];
    }
  }
  return keys;
}

/** Debian's nginx: the installed one, or its package unpacked beside the build, which starts no service. */
export function nginxProgram() {
  if (fs.existsSync('/usr/sbin/nginx')) return '/usr/sbin/nginx';
  const dir = path.join(ROOT, 'build/nginx');
  if (!fs.existsSync(path.join(dir, 'usr/sbin/nginx'))) {
    fs.mkdirSync(dir, { recursive: true });
    execFileSync('apt-get', ['-q', 'download', 'nginx'], { cwd: dir, stdio: 'inherit' });
    const [file] = fs.readdirSync(dir).filter((name) => name.endsWith('.deb'));
    execFileSync('dpkg-deb', ['-x', file, '.'], { cwd: dir });
  }
  return path.join(dir, 'usr/sbin/nginx');
}

async function answers(port, target) {
  for (let i = 0; i < 200; i++) {
    const ok = await fetch(`http://127.0.0.1:${port}${target}`).then(
      () => true,
      () => false,
    );
    if (ok) return;
    await sleep(50);
  }
  throw new Error(`nothing answers on port ${port}`);
}

function ended(child) {
  return new Promise((done) => {
    if (child.exitCode !== null || child.signalCode !== null) done();
    child.once('exit', done);
  });
}

/** nginx, like souk with a worker for each core unless told otherwise: `/verify` is a constant answer of as many bytes as a verification's, `/catalogue` a file of these bytes. */
export async function startNginx(verdict, catalogue, workers = os.availableParallelism()) {
  const dir = scratch('nginx');
  const port = await freePort();
  fs.mkdirSync(`${dir}/pages`);
  fs.writeFileSync(`${dir}/pages/catalogue`, catalogue);
  fs.writeFileSync(
    `${dir}/nginx.conf`,
    `daemon off; worker_processes ${workers}; pid ${dir}/pid; error_log ${dir}/error.log;
    events { worker_connections 1024; }
    http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; open_file_cache max=100;
      default_type application/json; client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy;
      fastcgi_temp_path ${dir}/fcgi; uwsgi_temp_path ${dir}/uwsgi; scgi_temp_path ${dir}/scgi;
      server { listen 127.0.0.1:${port}; root ${dir}/pages;
        location = /api/v1/license/verify { return 200 '${verdict}'; } } }`,
  );
  const child = spawn(nginxProgram(), ['-c', `${dir}/nginx.conf`, '-p', dir], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await answers(port, '/catalogue');
  return {
    name: 'nginx',
    port,
    cpu: () => ({ server: sumNanoseconds(childrenOf(child.pid)), database: 0 }),
    async stop() {
      child.kill('SIGQUIT');
      await ended(child);
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Installs what the peer needs, once; gives its folder, or null where that is not possible. */
export function installPeers() {
  if (fs.existsSync(path.join(PEERS, 'node_modules/better-sqlite3/build'))) return PEERS;
  try {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts=false'], { cwd: PEERS, stdio: 'inherit' });
    return PEERS;
  } catch (e) {
    console.error(`the peer cannot be installed, and is left out: ${e.message}`);
    return null;
  }
}

export async function startFastify(cluster) {
  const dir = scratch('peer');
  const port = await freePort();
  const db = cluster ? createDatabase(cluster.url) : path.join(dir, 'peer.db');
  const child = spawn(
    process.execPath,
    [path.join(PEERS, 'fastify.mjs'), cluster ? 'pg' : 'sqlite', db, String(port), dir],
    { cwd: PEERS, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await new Promise((done, failed) => {
    child.stdout.on('data', (text) => String(text).includes('ready') && done());
    child.once('exit', () => failed(new Error('the peer did not start')));
  });
  return {
    name: cluster ? 'Fastify, pg' : 'Fastify, better-sqlite3',
    port,
    tokens: path.join(dir, 'tokens'),
    bodies: path.join(dir, 'bodies'),
    cpu: () => ({ server: sumNanoseconds([child.pid, ...childrenOf(child.pid)]), database: clusterCpu(cluster) }),
    async stop() {
      child.removeAllListeners('exit');
      child.kill('SIGTERM');
      await ended(child);
      if (cluster) dropDatabase(db);
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
}
