// tests/lib/pg.mjs - throw-away PostgreSQL clusters, reachable through a unix socket in their own folder only.
//
// System clusters are neither used nor touched. initdb refuses root, so under root everything of the cluster runs as the
// user `postgres`. As a program:
//
//     node tests/lib/pg.mjs start [--fsync]    prints two lines: the URL of its database `postgres`, and its folder
//     node tests/lib/pg.mjs stop DIR
//
// SOUK_TEST_PG_BIN names the folder of another PostgreSQL's programs than the newest installed.
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { memoryFolder } from './memory.mjs';
import { SHELL_BYTES_MAX, ask, endShells } from './shell.mjs';

const SUPERUSER = 'souk';
const SOCKET_PATH_MAX = 107;

export function binDir() {
  if (process.env.SOUK_TEST_PG_BIN) return process.env.SOUK_TEST_PG_BIN;
  const root = '/usr/lib/postgresql';
  const versions = fs.existsSync(root)
    ? fs.readdirSync(root).filter((v) => fs.existsSync(`${root}/${v}/bin/initdb`))
    : [];
  if (versions.length === 0) throw new Error('PostgreSQL is not installed (Debian package: postgresql)');
  versions.sort((a, b) => Number(b) - Number(a));
  return `${root}/${versions[0]}/bin`;
}

function isRoot() {
  return process.getuid() === 0;
}

/** Runs a program of PostgreSQL as the cluster's owner; throws with its output on failure. */
function asOwner(program, args) {
  const command = isRoot() ? 'setpriv' : program;
  const full = isRoot() ? ['--reuid=postgres', '--regid=postgres', '--clear-groups', program, ...args] : args;
  // pg_ctl hands its stdio to the postmaster: a pipe would stay open for as long as the cluster lives.
  const out = spawnSync(command, full, {
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, LC_ALL: 'C' },
  });
  if (out.error) throw out.error;
  if (out.status !== 0) throw new Error(`${path.basename(program)} failed (${out.status}): ${out.stderr}`);
}

/** The address of database `name` in the cluster that lives in `dir`. */
export function clusterUrl(dir, name) {
  return `postgres://${SUPERUSER}@/${name}?host=${dir}`;
}

/** The same cluster, another database. */
export function withDatabase(url, name) {
  return url.replace(/^(postgres(?:ql)?:\/\/[^/]*\/)[^?]*/, `$1${name}`);
}

/** The program itself: Debian's `psql` in the path is a script in Perl that looks for it, which takes five times as long. */
export function psqlProgram() {
  return `${binDir()}/psql`;
}

/** What psql with these options writes for a text of statements. On the test run's own cluster its processes are kept. */
export function psql(options, url, text) {
  const args = [...options, '-v', 'ON_ERROR_STOP=1', '-d', url, '-f', '-'];
  const isKept = process.env.SOUK_TEST_PG && withDatabase(url, '') === withDatabase(process.env.SOUK_TEST_PG, '');
  if (isKept && Buffer.byteLength(text) <= SHELL_BYTES_MAX)
    return ask(psqlProgram(), args, text, 'DISCARD ALL;', '\\echo');
  return execFileSync(psqlProgram(), args, {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    input: text,
    maxBuffer: 1 << 30,
  });
}

/** One or more statements through psql; gives the rows as text, columns between `separator`s. */
export function sql(url, text, separator = '|') {
  return psql(['-XqAt', '-F', separator], url, /;\s*$/.test(text) ? text : `${text};`).trimEnd();
}

/** The name of the database that an address leads to. */
export function nameOf(url) {
  return /^postgres(?:ql)?:\/\/[^/]*\/([^?]*)/.exec(url)[1];
}

/** A fresh, empty database beside the one that `url` names; gives its URL. */
export function createDatabase(url, template = 'template0') {
  const name = `t_${randomBytes(8).toString('hex')}`;
  sql(url, `CREATE DATABASE ${name} TEMPLATE ${template} ENCODING 'UTF8' LOCALE 'C' STRATEGY file_copy`);
  return withDatabase(url, name);
}

/** The same with everything that is in the database `source`, which nobody else may be using. */
export function copyDatabase(url, source) {
  endShells(source);
  return createDatabase(url, nameOf(source));
}

export function dropDatabase(url) {
  endShells(url);
  sql(withDatabase(url, 'postgres'), `DROP DATABASE IF EXISTS ${nameOf(url)} WITH (FORCE)`);
}

/**
 * Starts a cluster. With `fsync` it is as durable as the disk allows; without, it is fast. `isInMemory`: where its files are; a test that
 * kills processes and takes files away itself needs no disk for it. `options`: more for the server's command line.
 * Gives {dir, url}: url is the database `postgres`, whose user may create others.
 */
export function startCluster({ fsync = false, isInMemory = !fsync, options = [] } = {}) {
  const bin = binDir();
  // Not os.tmpdir(): that may be a folder which the user postgres cannot enter.
  const dir = fs.mkdtempSync(path.join(isInMemory ? memoryFolder('/tmp') : '/tmp', 'souk-pg-'));
  if (`${dir}/.s.PGSQL.5432`.length > SOCKET_PATH_MAX) throw new Error(`${dir} is too long for a unix socket`);
  if (isRoot()) {
    const owner = execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' }).trim();
    fs.chownSync(dir, Number(owner), -1);
  }
  try {
    asOwner(`${bin}/initdb`, [
      '-D',
      `${dir}/data`,
      '-U',
      SUPERUSER,
      '--auth=trust',
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
    ]);
    startAgain({ dir, fsync, options });
  } catch (e) {
    const log = fs.existsSync(`${dir}/log`) ? fs.readFileSync(`${dir}/log`, 'utf8').slice(-20000) : '(none)';
    fs.rmSync(dir, { recursive: true, force: true });
    throw new Error(`PostgreSQL did not start: ${e.message}\nits log: ${log}`);
  }
  return { dir, url: clusterUrl(dir, 'postgres') };
}

/** What makes a cluster cheap that may be lost at any time, and whose databases live for seconds. */
const CHEAP = [
  '-c fsync=off',
  '-c full_page_writes=off',
  '-c wal_level=minimal',
  '-c max_wal_senders=0',
  '-c max_wal_size=256MB',
  '-c autovacuum=off',
];
const DURABLE = ['-c fsync=on', '-c full_page_writes=on', '-c autovacuum=on'];

/** Starts the server of an existing cluster folder, after a stop or a kill. */
export function startAgain({ dir, fsync = false, options = [] }) {
  const all = [
    `-c unix_socket_directories=${dir}`,
    '-c listen_addresses=',
    '-c max_connections=200',
    '-c shared_buffers=64MB',
    '-c log_min_messages=warning',
    '-c jit=off',
    '-c dynamic_shared_memory_type=mmap', // in the folder: a killed server's segments are removed with it
    ...(fsync ? DURABLE : CHEAP),
    ...options,
  ].join(' ');
  asOwner(`${binDir()}/pg_ctl`, ['-D', `${dir}/data`, '-l', `${dir}/log`, '-w', '-t', '60', '-o', all, 'start']);
}

/** The postmaster's process id. */
export function postmasterPid(dir) {
  return Number(fs.readFileSync(`${dir}/data/postmaster.pid`, 'utf8').split('\n')[0]);
}

/** Stops the server without removing the folder. mode: fast or immediate. */
export function stopServer(dir, mode = 'fast') {
  asOwner(`${binDir()}/pg_ctl`, ['-D', `${dir}/data`, '-m', mode, '-w', '-t', '60', 'stop']);
}

/** Ends the cluster and removes it. */
export function stopCluster(dir) {
  if (!/\/souk-pg-[^/]+$/.test(dir)) throw new Error(`not a folder of a throw-away cluster: ${dir}`);
  if (fs.existsSync(`${dir}/data/postmaster.pid`)) stopServer(dir, 'immediate');
  fs.rmSync(dir, { recursive: true, force: true });
}

function main(args) {
  if (args[0] === 'start') {
    const cluster = startCluster({ fsync: args.includes('--fsync') });
    console.log(cluster.url);
    console.log(cluster.dir);
  } else if (args[0] === 'stop' && args.length === 2) {
    stopCluster(args[1]);
  } else {
    console.error('usage: node tests/lib/pg.mjs start [--fsync] | stop DIR');
    process.exitCode = 2;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main(process.argv.slice(2));
