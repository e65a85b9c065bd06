// tests/lib/prepared.mjs - stores that were made once, by the program's own commands, and are copied for each test that wants
// one: to make a schema takes ten times as long as to copy it.
//
// The test run makes them and names them in SOUK_PREPARED; a test file that is run by itself makes its own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { memoryFolder } from './memory.mjs';
import { copyDatabase, createDatabase } from './pg.mjs';
import { SANITIZER_ENV, crashReport, sanitizerReport } from './sanitizer.mjs';

/** What is in each of them, besides what `souk init` makes: accounts, in order, and the scopes of their tokens. */
const KINDS = {
  store: [],
  /** An owner alone, whose token can do everything that staff can (api/lib/gateways.mjs). */
  owner: [{ name: 'owner', args: ['--role', 'owner'], scopes: ['--scopes', 'admin,owner'] }],
  /** An owner and a member of staff with tokens as they are by default (api/lib/admin.mjs). */
  office: [
    { name: 'owner', args: ['--role', 'owner', '--name', 'owner'], scopes: [] },
    { name: 'staff', args: ['--role', 'staff', '--name', 'staff'], scopes: [] },
  ],
};

/**
 * Makes one store of each kind with the program `souk`. cluster: the address of a PostgreSQL to make them in; null: SQLite. earlier: what
 * was made before for the same engine, to which only the missing kinds are added.
 * Gives {dir, key, kinds: {name: {db, accounts: {name: {id, token}}}}}, which can be written as JSON; `dir` is to be removed
 * when nobody copies any more.
 */
export function prepareStores(souk, cluster = null, kinds = Object.keys(KINDS), earlier = null) {
  const prepared = earlier ?? {
    dir: fs.mkdtempSync(path.join(memoryFolder(), 'souk-prepared-')),
    key: randomBytes(32).toString('hex'),
    kinds: {},
  };
  for (const kind of kinds.filter((k) => !(k in prepared.kinds))) {
    const home = path.join(prepared.dir, kind);
    fs.mkdirSync(home);
    const db = cluster ? createDatabase(cluster) : path.join(home, 'souk.db');
    const env = cluster ? { SOUK_KEY: prepared.key, SOUK_DATA: path.join(home, 'data') } : {};
    const command = (args) => run(souk, [...args, '--db', db], env);
    command(['init']);
    const made = {};
    for (const { name, args, scopes } of KINDS[kind]) {
      const email = ['--email', `${name}@example.com`];
      made[name] = {
        id: Number(command(['account', 'create', ...email, ...args])),
        token: command(['token', 'create', ...email, ...scopes]),
      };
    }
    prepared.kinds[kind] = { db, accounts: made };
  }
  return prepared;
}

function run(souk, args, env) {
  const out = spawnSync(souk, args, { encoding: 'utf8', env: { ...process.env, ...SANITIZER_ENV, ...env } });
  if (out.error) throw out.error;
  const report = sanitizerReport(out.stderr) ?? crashReport(out.stderr);
  assert.ok(
    !report && out.status === 0,
    `souk ${args.join(' ')}: ${out.status ?? out.signal}\n${report ?? out.stderr}`,
  );
  return out.stdout.trimEnd();
}

/** A copy of the store of this kind, in the folder `dir`: {db, env, accounts}. */
export function copyStore(prepared, kind, dir, cluster = null) {
  const { db, accounts } = prepared.kinds[kind];
  if (cluster)
    return {
      db: copyDatabase(cluster, db),
      env: { SOUK_KEY: prepared.key, SOUK_DATA: path.join(dir, 'data') },
      accounts,
    };
  fs.cpSync(path.dirname(db), dir, { recursive: true });
  return { db: path.join(dir, 'souk.db'), env: {}, accounts };
}
