// tests/api/lib/commands.mjs - commands on a store of their own, for sweeps that make each of their steps fail.
import fs from 'node:fs';
import path from 'node:path';
import { freshDatabase, freshStore, runSouk } from './souk.mjs';

const CSV = {
  products: 'slug,name,price,delivery_type\norbit,Orbit,12.50,license_key\ncodes,Codes,1.00,serial_code\n',
  customers: 'ref,email,name\nu1,ann@example.com,Ann\nu2,ben@example.com,Ben\n',
  variants: 'product,name,price\norbit,Home,12.50\norbit,Team,50\n',
  licenses:
    'key,product,variant,email,customer_ref\nOLD-KEY-1,orbit,Home,ann@example.com,\nOLD-KEY-2,orbit,,,u2\nOLD-KEY-3,orbit,,new@example.com,\n',
  serials: 'product,code\ncodes,AAA\ncodes,BBB\n',
  wallets: 'email,customer_ref,balance\nann@example.com,,12.34\n,u2,5\n',
};

/** Commands that change nothing in the store. */
export const onlyReads = ({ name }) => /^(export|doctor|check|backup)/.test(name);

let demo = null;

/** The folder of a demo store, to copy: it has product files. */
async function demoFolder() {
  if (demo) return demo.dir;
  demo = freshDatabase('sqlite');
  process.on('exit', () => demo.remove());
  const { code, stderr } = await runSouk(['demo', '--db', demo.dbArg], { cwd: demo.dir });
  if (code !== 0) throw new Error(`souk demo: ${stderr}`);
  return demo.dir;
}

/**
 * A store with files beside it; nothing of it has failed. `empty`: there is no database yet; `full`: the demo store; otherwise there
 * is owner@example.com alone. `backup`: and made.souk.
 */
export async function commandShop({ empty = false, full = false, backup = false, before = [] } = {}) {
  const database = empty || full ? freshDatabase('sqlite') : freshStore('sqlite', 'owner');
  const { dir } = database;
  if (full) fs.cpSync(await demoFolder(), dir, { recursive: true });
  const env = { ...database.env, TMPDIR: path.join(dir, 'scratch') };
  const run = (words, more = {}, input = '') =>
    runSouk(words.includes('--db') || words[0] === 'move' ? words : [...words, '--db', database.dbArg], {
      cwd: dir,
      env: { ...env, ...more },
      input,
    });
  fs.mkdirSync(env.TMPDIR);
  for (const [kind, text] of Object.entries(CSV)) fs.writeFileSync(path.join(dir, `${kind}.csv`), text);
  fs.writeFileSync(path.join(dir, 'pass'), 'open sesame\n');
  const needed = backup ? [...before, ['backup', 'create', '--to', 'made.souk']] : before;
  for (const words of needed) {
    const { code, stderr } = await run(words);
    if (code !== 0) throw new Error(`souk ${words.join(' ')}: ${stderr}`);
  }
  return { dir, database, run, remove: () => database.remove() };
}

/**
 * {name, words, input, ...what commandShop needs}. `leaves`: a file that is there when the command succeeded, and only then. `from`
 * and `most`: the steps before and after it are left out where steps are failed one by one.
 */
export const COMMANDS = [
  { name: 'init', words: ['init'], empty: true },
  { name: 'demo', words: ['demo'], empty: true, from: 40 },
  {
    name: 'account create',
    words: ['account', 'create', '--email', 'a@example.com', '--password-stdin'],
    input: 'pw-pw-pw-pw\n',
  },
  { name: 'token create', words: ['token', 'create', '--email', 'owner@example.com'] },
  { name: 'wallet credit', words: ['wallet', 'credit', '--email', 'owner@example.com', '--amount', '1.25'] },
  { name: 'import products', words: ['import', 'products', 'products.csv'] },
  { name: 'import customers', words: ['import', 'customers', 'customers.csv'] },
  ...['variants', 'licenses', 'serials', 'wallets'].map((kind) => ({
    name: `import ${kind}`,
    words: ['import', kind, `${kind}.csv`],
    before: ['products', 'customers', ...(kind === 'licenses' ? ['variants'] : [])].map((first) => [
      'import',
      first,
      `${first}.csv`,
    ]),
  })),
  {
    name: 'serials import',
    words: ['serials', 'import', '--product', 'codes', '-'],
    input: 'AAAA-1\nAAAA-2\n',
    before: [['import', 'products', 'products.csv']],
  },
  { name: 'export products', words: ['export', 'products'], before: [['import', 'products', 'products.csv']] },
  { name: 'export all', words: ['export', 'all', '--to', 'out'] },
  { name: 'doctor', words: ['doctor'] },
  { name: 'check', words: ['check'] },
  { name: 'backup create', words: ['backup', 'create', '--to', 'b.souk'], leaves: 'b.souk', full: true },
  { name: 'backup create --verify', words: ['backup', 'create', '--to', 'b.souk', '--verify'] },
  {
    name: 'backup create --key-passphrase-file', // dear once the key is made
    words: ['backup', 'create', '--to', 'b.souk', '--key-passphrase-file', 'pass'],
    leaves: 'b.souk',
    most: 45,
  },
  { name: 'backup verify', words: ['backup', 'verify', 'made.souk'], backup: true },
  {
    name: 'backup restore',
    words: ['backup', 'restore', 'made.souk', '--db', 'back.db', '--data', 'back'],
    full: true,
    backup: true,
    leaves: 'back.db',
  },
  { name: 'backup keygen', words: ['backup', 'keygen', '--to', 'secret'], leaves: 'secret' },
  { name: 'migrate', words: ['migrate'] },
  { name: 'move', words: ['move', '--from', 'souk.db', '--to', 'moved.db'] },
];
