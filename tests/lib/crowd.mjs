// tests/lib/crowd.mjs - makes a store large: a given number of rows in every table that grows, with one statement each.
// The values follow from the columns' names and checks in sql/*.sql; only what a planner looks at matters: how many are
// alike.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { execute, isPostgres, selectAll } from './sql.mjs';

const folder = fileURLToPath(new URL('../../sql', import.meta.url));

/** What people make by hand, and what there is one of: stays small. */
export const SMALL = [
  'setting',
  'revision',
  'mail_words',
  'stock_notice',
  'department',
  'product',
  'variant',
  'coupon',
  'coupon_product',
  'gateway',
  'reconciliation',
  'backup',
  'event_horizon',
  'webhook_endpoint',
  'setup_token',
  'own_page',
  'image',
  'media',
];
/** The word that nearly all rows have, where it is not the last of its list. */
const COMMON = {
  'event.data': '',
  'orders.status': 'confirmed',
  'withdrawal.status': 'approved',
  'license.status': 'active',
  'serial.status': 'good',
  'sandbox_payment.mood': 'willing',
  'account.role': 'customer',
  'payment.status': 'succeeded',
  'webhook_event.status': 'handled',
  'refund.status': 'done',
  'dispute.status': 'lost',
  'review.status': 'settled',
  'outbox.status': 'done',
  'outbox.kind': 'mail',
  'ledger_account.kind': 'wallet',
  'transfer.kind': 'order',
  'token.kind': 'api',
  'sandbox_payment.status': 'paid',
};
/** How many different ones there are. */
const KINDS = {
  product_id: 50,
  variant_id: 50,
  coupon_id: 20,
  department_id: 5,
  gateway_id: 4,
  actor_id: 10,
  debit_id: 2000,
  credit_id: 2000,
};

const OWNERS = 20;

/** {table: [{name, type, words, unique}]}: every table of sql/*.sql that both engines have. */
export function tables() {
  const all = {};
  for (const file of fs
    .readdirSync(folder)
    .filter((f) => f.endsWith('.sql'))
    .sort()) {
    const text = fs
      .readFileSync(path.join(folder, file), 'utf8')
      .replace(/ *--.*$/gm, '')
      .replace(/@postgres[^]*?@end/g, ''); // what one engine alone has is not filled
    for (const [, table, body] of text.matchAll(/CREATE TABLE (\w+) \(\n([\s\S]*?)\n\) /g)) {
      all[table] = body
        .split(/,\n/)
        .filter((line) => /^\s*[a-z]\w* +(@\w+|TEXT)/.test(line))
        .map(columnOf);
      for (const [, columns] of body.matchAll(/^\s*(?:UNIQUE|PRIMARY KEY) \(([^)]*)\)/gm)) mark(all[table], columns);
    }
    for (const [, table, line] of text.matchAll(/ALTER TABLE (\w+) ADD COLUMN ([^;]*);/g))
      all[table].push(columnOf(line));
    for (const [, table, columns] of text.matchAll(/CREATE UNIQUE INDEX \w+ ON (\w+) \(([^)]*)\)/g))
      mark(all[table], columns);
  }
  return all;
}

function columnOf(line) {
  const [, name, type] = /^\s*(\w+) +(@\w+|TEXT)/.exec(line);
  const list = /IN \(([^)]*)\)/
    .exec(line)?.[1]
    .split(',')
    .map((w) => w.trim());
  const ors = [...line.matchAll(new RegExp(`\\b${name} = ('\\w+')`, 'g'))].map((m) => m[1]);
  const words = list ?? (ors.length ? ors : undefined);
  return { name, type, words, unique: /UNIQUE|PRIMARY KEY/.test(line), optional: !/NOT NULL|PRIMARY KEY/.test(line) };
}

const mark = (columns, list) => {
  columns.find((c) => c.name === list.split(',').at(-1).trim()).unique = true;
};

function valueOf(table, c, isPg, rows) {
  if (c.unique) return c.type === 'TEXT' ? "'u' || n" : c.type === '@bytes' ? blob(isPg) : 'n';
  if (c.name === 'account_id') return `101 + n * 7919 % ${OWNERS} * ${Math.floor(rows / OWNERS)}`; // from all over the table
  if (c.name in KINDS) return `1 + n * 7919 % ${KINDS[c.name]}`;
  if (c.words) {
    const common = COMMON[`${table}.${c.name}`]
      ? `'${COMMON[`${table}.${c.name}`]}'`
      : c.words[c.words[0] === '0' ? 0 : c.words.length - 1];
    return `CASE n % 1000 ${c.words.map((w, i) => `WHEN ${i} THEN ${w}`).join(' ')} ELSE ${common} END`;
  }
  if (c.name === 'taken_by') return 'CASE WHEN n % 5 > 0 THEN n END'; // sold
  if (c.type === 'TEXT' && `${table}.${c.name}` in COMMON) return `'${COMMON[`${table}.${c.name}`]}'`;
  if (c.type === 'TEXT') return c.name === 'action' ? "'a' || n % 30" : "'t' || n";
  if (c.type === '@bytes') return c.optional ? 'NULL' : blob(isPg);
  return c.optional && /_at$|^(hardware_id|decided_by)$/.test(c.name) ? 'CASE WHEN n % 2 > 0 THEN n END' : 'n';
}

const blob = (isPg) => (isPg ? "decode(md5(n::text), 'hex')" : 'CAST(n AS BLOB)');

/**
 * PostgreSQL: [statements that take checks, references and indexes away, statements that make the indexes again]. An index of rows that
 * are there takes a fraction of the time that it takes to add them one by one.
 */
function withoutRules(dbArg) {
  const [rules, indexes, unlogged] = selectAll(dbArg, [
    `SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) FROM pg_constraint
    WHERE contype IN ('c', 'f') AND connamespace = 'public'::regnamespace`,
    `SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid) FROM pg_index
    JOIN pg_class c ON c.oid = indrelid AND c.relnamespace = 'public'::regnamespace
    WHERE NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)`,
    `SELECT format('ALTER TABLE %s SET UNLOGGED', oid::regclass) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  ]);
  return [[...rules, ...indexes, ...unlogged].map(([drop]) => drop), indexes.map(([, make]) => make)];
}

/** Fills the tables and lets the engine count them. The rows break checks and references: for looking at plans only. */
export function crowd(dbArg, rows) {
  const isPg = isPostgres(dbArg);
  const [drops, indexes] = isPg ? withoutRules(dbArg) : [[], []];
  if (isPg) execute(dbArg, drops.join(';\n'));
  const series = (n) =>
    isPg
      ? `generate_series(101, ${n + 100}) AS s(n)`
      : `(WITH RECURSIVE s(n) AS (SELECT 101 UNION ALL SELECT n + 1 FROM s WHERE n < ${n + 100}) SELECT n FROM s) AS s`;
  const inserts = Object.entries(tables())
    .filter(([table]) => !['setting', 'revision', 'gateway'].includes(table))
    .map(([table, columns]) => {
      const filled = columns.filter((c) => !/^@id/.test(c.type));
      return (
        `INSERT INTO ${table} (${filled.map((c) => c.name).join(', ')}) SELECT ${filled.map((c) => valueOf(table, c, isPg, rows)).join(', ')}` +
        ` FROM ${series(SMALL.includes(table) ? 50 : rows)}`
      );
    });
  execute(dbArg, [...inserts, ...indexes].join(';\n'));
  // A word that one row in a thousand has must be in the sample of 300 times as many rows as the target.
  execute(dbArg, `${isPg ? 'SET default_statistics_target = 40' : 'SELECT 1'}; COMMIT; ANALYZE; BEGIN`);
}
