// Commands on a database that fails at their n-th statement: each says so, ends with an error and leaves a store whose rules hold.
// runs: failing
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Faults } from './lib/faults.mjs';
import { BUILD } from '../lib/build.mjs';
import { freshDatabase, freshStore, runSouk } from './lib/souk.mjs';

/** Statements that are failed one by one; then only some, up to STATEMENTS_MAX. */
const ONE_BY_ONE = 20;
const STATEMENTS_MAX = 3000;

const CSV = {
  products: 'slug,name,price,delivery_type\norbit,Orbit,12.50,license_key\ncodes,Codes,1.00,serial_code\n',
  customers: 'email,name\nann@example.com,Ann\nben@example.com,Ben\n',
};

/** [name, arguments in a folder, its standard input, what it needs first] */
const COMMANDS = [
  ['init', () => ['init'], { empty: true }],
  ['demo', () => ['demo'], { empty: true, from: 60 }],
  [
    'account create',
    () => ['account', 'create', '--email', 'a@example.com', '--password-stdin'],
    { input: 'pw-pw-pw-pw\n' },
  ],
  ['token create', () => ['token', 'create', '--email', 'owner@example.com'], {}],
  ['wallet credit', () => ['wallet', 'credit', '--email', 'owner@example.com', '--amount', '1.25'], {}],
  ['import products', (dir) => ['import', 'products', path.join(dir, 'products.csv')], {}],
  ['import customers', (dir) => ['import', 'customers', path.join(dir, 'customers.csv')], {}],
  ['export products', () => ['export', 'products'], {}],
  ['export all', (dir) => ['export', 'all', '--to', path.join(dir, 'out')], {}],
  ['doctor', () => ['doctor'], {}],
  ['check', () => ['check'], {}],
  ['backup create', (dir) => ['backup', 'create', '--to', path.join(dir, 'b.souk')], {}],
  ['backup verify', (dir) => ['backup', 'verify', path.join(dir, 'made.souk')], { backup: true }],
  ['migrate', () => ['migrate'], {}],
  ['move', (dir) => ['move', '--to', path.join(dir, 'moved.db')], {}],
];

function next(n) {
  return n < ONE_BY_ONE ? n + 1 : Math.ceil(n * 1.4);
}

for (const [name, args, { input = '', empty = false, backup = false, from = 1 }] of COMMANDS) {
  test(`souk ${name}`, async (t) => {
    let failed = 0;
    for (let n = from; n < STATEMENTS_MAX; n = next(n)) {
      const database = empty ? freshDatabase('sqlite') : freshStore('sqlite', 'owner');
      const { dir } = database;
      const run = (words, more = {}) =>
        runSouk([...words, '--db', database.dbArg], { cwd: dir, env: { ...database.env, ...more }, input });
      try {
        for (const [kind, text] of Object.entries(CSV)) fs.writeFileSync(path.join(dir, `${kind}.csv`), text);
        if (backup) assert.equal((await run(['backup', 'create', '--to', path.join(dir, 'made.souk')])).code, 0);
        const faults = new Faults(dir);
        faults.order(n);
        const { code, signal, stderr } = await run(args(dir), faults.environment(BUILD));
        assert.equal(signal, null, `${n}: ended by ${signal}\n${stderr}`);
        if (faults.order(0) === 0) break; // it has fewer statements
        failed += 1;
        if (code !== 0) assert.match(stderr, /\S/, `${n}: it does not say why`);
        if (!empty) assert.equal((await run(['check'])).code, 0, `${n}: the store is broken`);
      } finally {
        database.remove();
      }
    }
    t.diagnostic(`${failed} failures`);
    assert.ok(failed > 0, 'nothing failed');
  });
}
