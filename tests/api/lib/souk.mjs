// tests/api/lib/souk.mjs - starts the real program on a database of its own.
//
//   SOUK_BUILD    the build folder (default: build)
//   SOUK_ENGINE   sqlite (default) or pg
//   SOUK_HELPER   the folder of the release build, in a sanitizer's phase of the whole test run (see HELPER)
//   SOUK_TEST_PG  URL of a database in a cluster where databases may be created; without it a cluster is started
//   SOUK_PREPARED stores to copy (tests/lib/prepared.mjs), as JSON; without it they are made
//   SOUK_LEAKS    `some`: only the first server of a test file is checked for leaks, where checks are slow
//   SOUK_FAULTS   1: every statement fails first (faults.mjs)
//   SOUK_LOG_DIR  where the programs' stderr is kept (default: with the database, removed at the end)
//
// Everything that a server says on stderr is collected. stop() fails the test when it was a sanitizer's report or a failed
// assertion, and when SIGTERM did not end the server with 0. A test file that forgets to stop a server fails as a whole.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BUILD, IS_ASAN, IS_TSAN, SLOW } from '../../lib/build.mjs';
import { memoryFolder } from '../../lib/memory.mjs';
import { createDatabase, dropDatabase, startCluster, stopCluster } from '../../lib/pg.mjs';
import { copyStore, prepareStores } from '../../lib/prepared.mjs';
import { SANITIZER_ENV, crashReport, sanitizerReport } from '../../lib/sanitizer.mjs';
import { Faults, HAS_FAULTS } from './faults.mjs';
import { Client } from './http.mjs';

export { IS_ASAN, IS_TSAN, SLOW };

export const ENGINE = process.env.SOUK_ENGINE ?? 'sqlite';
export const BINARY = path.join(BUILD, 'souk');

/**
 * The program for what is not the subject of a test: to start one with a sanitizer takes three times as long. Where the release build may not be there,
 * it is the one under test.
 */
export const HELPER = path.join(process.env.SOUK_HELPER ?? BUILD, 'souk');

const START_MS = 60000 * SLOW;
const STOP_MS = 40000 * (SLOW > 1 ? 3 : 1);

/** Limits off, so that tests may be quick; tests of the limits start their own server. */
const UNLIMITED = ['--rate-v1', '0', '--rate-customer', '0', '--rate-auth', '0', '--tokens-max', '1000000'];

/**
 * Passwords at the smallest cost: at the real one they were a fifth of what a test run does. Refused with these options, except by the builds with
 * sanitizers, which know a variable.
 */
const CHEAP = ['--cheap-passwords'];
const REFUSES_CHEAP = ['--listen', '--trusted-proxy'];
const CHEAP_ENV = { SOUK_TEST_CHEAP_PASSWORDS: '1' };

const live = new Set();
/** Test files that have started a server. */
const starters = new Set();
let ownCluster = null;
const ownPrepared = new Map();

process.on('exit', () => {
  for (const server of live) {
    server.child?.kill('SIGKILL');
    console.error(`a server was not stopped by its test: ${server.dir}`);
    process.exitCode = 1;
  }
  for (const { dir } of ownPrepared.values()) fs.rmSync(dir, { recursive: true, force: true });
  if (ownCluster) stopCluster(ownCluster.dir);
});

function clusterUrl() {
  if (process.env.SOUK_TEST_PG) return process.env.SOUK_TEST_PG;
  ownCluster ??= startCluster();
  return ownCluster.url;
}

function preparedStores(engine) {
  if (process.env.SOUK_PREPARED && engine === ENGINE) return JSON.parse(process.env.SOUK_PREPARED);
  if (!ownPrepared.has(engine)) ownPrepared.set(engine, prepareStores(HELPER, engine === 'pg' ? clusterUrl() : null));
  return ownPrepared.get(engine);
}

function environment(extra, checksLeaks) {
  const env = { ...process.env, ...SANITIZER_ENV, ...extra };
  if (!checksLeaks && process.env.SOUK_LEAKS === 'some')
    env.ASAN_OPTIONS = env.ASAN_OPTIONS.replace('detect_leaks=1', 'detect_leaks=0');
  for (const name of Object.keys(env)) {
    if (
      /^SOUK_(BUILD|HELPER|ENGINE|TEST_PG|TEST_PG_STORE|PREPARED|LEAKS|LOG_DIR|TEST_FILE|FUZZ_SECONDS|FAULTS)$/.test(
        name,
      )
    )
      delete env[name];
  }
  return env;
}

/**
 * A fresh, empty database: {engine, dir, dbArg, env, remove()}. dir is a folder of its own, also for PostgreSQL. SQLite
 * keeps its master key beside the file by default; with PostgreSQL it is given through the environment.
 */
export function freshDatabase(engine = ENGINE) {
  return databaseOf(engine, (dir) =>
    engine === 'sqlite'
      ? { db: path.join(dir, 'souk.db'), env: {} }
      : {
          db: createDatabase(clusterUrl()),
          env: { SOUK_KEY: randomBytes(32).toString('hex'), SOUK_DATA: path.join(dir, 'data') },
        },
  );
}

/** A database that `souk init` has made a store, with `accounts` in it as tests/lib/prepared.mjs says of this kind. */
export function freshStore(engine = ENGINE, kind = 'store') {
  return databaseOf(engine, (dir) =>
    copyStore(preparedStores(engine), kind, dir, engine === 'pg' ? clusterUrl() : null),
  );
}

function databaseOf(engine, make) {
  assert.ok(['sqlite', 'pg'].includes(engine), `no such engine: ${engine}`);
  const dir = fs.mkdtempSync(path.join(memoryFolder(), 'souk-'));
  const { db, env, accounts } = make(dir);
  return {
    engine,
    dir,
    dbArg: db,
    env,
    accounts,
    remove() {
      if (engine === 'pg') dropDatabase(db);
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
}

/**
 * Runs `souk ARGS` to its end; gives {code, signal, stdout, stderr}. Sanitizer reports and failed assertions throw.
 * `leaks`: look for leaks also where that is slow. `helps`: the command is not the subject of the test, which makes something ready by it, or
 * asks at its end whether all is well. A command has no threads to speak of: ThreadSanitizer runs those of the test about commands
 * and servers (`talks`), AddressSanitizer all.
 */
export function runSouk(
  args,
  {
    cwd = os.tmpdir(),
    env = {},
    input = '',
    timeout_ms = 60000 * SLOW,
    leaks = false,
    helps = false,
    talks = false,
  } = {},
) {
  const program = helps || (IS_TSAN && !talks) ? HELPER : BINARY;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: environment(env, leaks), stdio: ['pipe', 'pipe', 'pipe'] });
    const out = { stdout: [], stderr: [] };
    const timer = setTimeout(() => child.kill('SIGKILL'), timeout_ms);
    child.stdout.on('data', (c) => out.stdout.push(c));
    child.stderr.on('data', (c) => out.stderr.push(c));
    child.stdin.on('error', () => {});
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      const stdout = Buffer.concat(out.stdout).toString();
      const stderr = Buffer.concat(out.stderr).toString();
      const report = sanitizerReport(stderr) ?? crashReport(stderr);
      if (report) reject(new Error(`souk ${args.join(' ')}:\n${report}`));
      else resolve({ code, signal, stdout, stderr });
    });
    child.stdin.end(input);
  });
}

/**
 * Starts a server and waits until it is ready.
 *   engine   sqlite or pg
 *   args     more options for `souk serve`
 *   env      more environment
 *   limited  true: rate limits as they are by default, and passwords at their real cost
 *   dear     true: passwords at their real cost
 *   faults   true: every statement of every request fails first (faults.mjs); SQLite
 *   database a freshDatabase() or freshStore() to use; it is then not removed by stop()
 *   t        a test context: the server is stopped at its end
 */
export async function startSouk(options = {}) {
  const server = new Souk(options);
  await server.start();
  options.t?.after(() => server.stop());
  return server;
}

export class Souk {
  constructor({
    engine = ENGINE,
    args = [],
    env = {},
    limited = false,
    dear = limited,
    database = null,
    binary = BINARY,
    faults = HAS_FAULTS,
  } = {}) {
    this.hasFaults = faults;
    this.binary = binary;
    this.database = database ?? freshStore(engine);
    this.ownsDatabase = database === null;
    this.engine = this.database.engine;
    this.dir = this.database.dir;
    this.dbArg = this.database.dbArg;
    const isRefused = args.some((arg) => REFUSES_CHEAP.includes(arg));
    this.env = { ...this.database.env, ...(!dear && isRefused ? CHEAP_ENV : {}), ...env };
    this.args = [...(limited ? [] : UNLIMITED), ...(dear || isRefused ? [] : CHEAP), ...args];
    this.stderr = '';
    this.starts = 0;
  }

  /** `ready: false`: it is enough that it listens. `within`: milliseconds, for a store that is large. */
  async start({ ready = true, within = START_MS } = {}) {
    this.starts += 1;
    const portFile = path.join(this.dir, `port-${process.pid}-${randomBytes(4).toString('hex')}`);
    const args = [
      'serve',
      '--create',
      '--db',
      this.dbArg,
      '--listen',
      '127.0.0.1:0',
      '--port-file',
      portFile,
      ...this.args,
    ];
    this.stderr = '';
    this.exit = null;
    if (this.hasFaults && this.engine === 'sqlite') this.faults ??= new Faults(this.dir);
    const file = path.basename(process.env.SOUK_TEST_FILE ?? process.argv[1] ?? 'souk');
    this.child = spawn(this.binary, args, {
      cwd: this.dir,
      env: environment({ ...this.env, ...this.faults?.environment(BUILD) }, !starters.has(file)),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    starters.add(file);
    live.add(this);
    this.logFile = process.env.SOUK_LOG_DIR && path.join(process.env.SOUK_LOG_DIR, `${file}-${this.child.pid}.stderr`);
    this.child.stderr.on('data', (bytes) => {
      this.stderr += bytes;
      if (this.logFile) fs.appendFileSync(this.logFile, bytes);
    });
    this.ended = new Promise((resolve) => {
      this.child.on('error', (e) => {
        this.exit = { code: null, signal: null, error: e };
        resolve(this.exit);
      });
      this.child.on('close', (code, signal) => {
        this.exit = { code, signal };
        resolve(this.exit);
      });
    });
    try {
      const port = await this.#waitForPort(portFile, within);
      this.port = port;
      this.url = `http://127.0.0.1:${port}`;
      this.faults?.servedAt(this.url);
      this.client?.close();
      this.client = this.newClient();
      if (ready) await this.#waitUntilReady();
    } catch (e) {
      this.child.kill('SIGKILL');
      await this.ended;
      live.delete(this);
      throw e;
    }
    return this;
  }

  async #waitForPort(file, within) {
    const deadline = Date.now() + within;
    for (;;) {
      if (this.exit) throw new Error(`the server did not start (${describe(this.exit)}):\n${this.stderr}`);
      const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
      if (/^\d+\n$/.test(text)) {
        fs.rmSync(file);
        return Number(text);
      }
      if (Date.now() > deadline) throw new Error(`the server gave no port within ${within} ms:\n${this.stderr}`);
      await sleep(5);
    }
  }

  async #waitUntilReady() {
    const deadline = Date.now() + START_MS;
    for (;;) {
      if (this.exit) throw new Error(`the server ended while starting (${describe(this.exit)}):\n${this.stderr}`);
      const answer = await this.client
        .request('GET', '/readyz', { unchecked: true })
        .catch((e) => ({ status: 0, text: e.message }));
      if (answer.status === 200) return;
      if (Date.now() > deadline) throw new Error(`not ready within ${START_MS} ms: ${answer.text}\n${this.stderr}`);
      await sleep(20);
    }
  }

  request(method, target, options) {
    return this.client.request(method, target, options);
  }
  get(target, options) {
    return this.client.get(target, options);
  }
  post(target, body, options) {
    return this.client.post(target, body, options);
  }
  put(target, body, options) {
    return this.client.put(target, body, options);
  }
  patch(target, body, options) {
    return this.client.patch(target, body, options);
  }
  delete(target, options) {
    return this.client.delete(target, options);
  }

  /** Another client with connections of its own. */
  newClient(options) {
    return new Client(this.url, { ...options, faults: this.faults });
  }

  /** Runs `souk ARGS --db DB` beside the server. */
  cli(args, options = {}) {
    return runSouk([...args, '--db', this.dbArg], { cwd: this.dir, ...options, env: { ...this.env, ...options.env } });
  }

  /** A customer with a token of every scope: {email, password, token, id}. */
  async customer(name = 'Customer') {
    const email = `c${randomBytes(6).toString('hex')}@example.com`;
    const password = `pw-${randomBytes(8).toString('hex')}`;
    const answer = await this.post('/api/auth/register', { email, password, name });
    assert.equal(answer.status, 201, answer.text);
    return { email, password, token: answer.json.data.token, id: answer.json.data.account.id };
  }

  /** All samples of /metrics: Map from `name{labels}` to number. */
  async metrics() {
    const answer = await this.get('/metrics');
    assert.equal(answer.status, 200, answer.text);
    return parseMetrics(answer.text);
  }

  /** SIGTERM, and the server must end by itself, with 0, having reported nothing bad. Removes its database. */
  async stop() {
    if (!live.has(this)) return;
    this.client?.close();
    this.child.kill('SIGTERM');
    const late = setTimeout(() => {
      this.late = true;
      this.child.kill('SIGKILL');
    }, STOP_MS);
    await this.ended;
    clearTimeout(late);
    live.delete(this);
    this.checkReports();
    if (this.ownsDatabase) this.database.remove();
    assert.ok(!this.late, `the server did not end within ${STOP_MS} ms of SIGTERM:\n${this.stderr.slice(-4000)}`);
    assert.deepEqual(
      this.exit,
      { code: 0, signal: null },
      `the server ended with ${describe(this.exit)}:\n${this.stderr.slice(-8000)}`,
    );
  }

  /** kill -9. The database stays; start() or restart() goes on with it. */
  async kill9() {
    this.child.kill('SIGKILL');
    await this.ended;
    live.delete(this);
    this.client?.close();
    this.checkReports();
  }

  /** Ends the server (by SIGTERM unless it was killed) and starts it again on the same database. */
  async restart() {
    if (live.has(this)) {
      const owns = this.ownsDatabase;
      this.ownsDatabase = false;
      try {
        await this.stop();
      } finally {
        this.ownsDatabase = owns;
      }
    }
    return this.start();
  }

  checkReports() {
    const report = sanitizerReport(this.stderr) ?? crashReport(this.stderr);
    if (report) throw new Error(`the server reported:\n${report}`);
  }
}

function describe(exit) {
  return exit.error ? String(exit.error) : (exit.signal ?? `exit code ${exit.code}`);
}

/** Prometheus' text format, as strictly as its readers are. */
export function parseMetrics(text) {
  const samples = new Map();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*\})?) (\S+)$/.exec(line);
    assert.ok(match, `not a sample: ${line}`);
    const value = match[2] === '+Inf' ? Infinity : Number(match[2]);
    assert.ok(!Number.isNaN(value), `not a number: ${line}`);
    assert.ok(!samples.has(match[1]), `given twice: ${match[1]}`);
    samples.set(match[1], value);
  }
  return samples;
}

/** The sum of all samples of a metric, whatever their labels. */
export function metricSum(samples, name) {
  let sum = 0;
  for (const [key, value] of samples) if (key === name || key.startsWith(`${name}{`)) sum += value;
  return sum;
}

/** Runs `job(i)` for i = 0 … n-1 with at most `width` at once. */
export async function together(n, width, job) {
  const results = new Array(n);
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(width, n) }, async () => {
      for (let i = next++; i < n; i = next++) results[i] = await job(i);
    }),
  );
  return results;
}
