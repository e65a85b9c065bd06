// bench/lib/filler.mjs - makes a store large: orders with item, licence, delivery and transfer, by one statement per table, while no
// server runs. Keys that were really bought are then moved to rows all over the table, so that verifying them touches all of it.
import { execFileSync } from 'node:child_process';
import { sql as postgres } from '../../tests/lib/pg.mjs';

const SLICE = 500_000;

/** Both engines: numbers n from $from to $to, bytes from a number. */
const dialect = {
  sqlite: {
    numbers: (from, to) =>
      `(WITH RECURSIVE g(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM g WHERE n < ${to}) SELECT n FROM g) AS g`,
    hash: () => 'randomblob(16)',
    sealed: () => 'zeroblob(80)',
  },
  pg: {
    numbers: (from, to) => `generate_series(${from}::bigint, ${to}::bigint) AS g (n)`,
    hash: (salt) => `decode(md5('${salt}' || g.n), 'hex')`,
    sealed: () => `decode(repeat('00', 80), 'hex')`,
  },
};

function run(database, text) {
  if (database.engine === 'pg') return postgres(database.dbArg, text);
  return execFileSync('sqlite3', [database.dbArg], {
    encoding: 'utf8',
    input: `PRAGMA synchronous=OFF;\nPRAGMA cache_size=-1000000;\nPRAGMA temp_store=MEMORY;\n${text}`,
    maxBuffer: 1 << 30,
  });
}

/** Orders `from` … `to` (numbers) beyond those that were bought. */
function slice(database, { product, buyers }, from, to, base) {
  const d = dialect[database.engine];
  const g = d.numbers(from, to);
  const who = (what) => `(SELECT ${what} FROM bench_buyer b WHERE b.place = g.n % ${buyers.length})`;
  const now = Date.now() - 40 * 86_400_000;
  const id = `(${base} + g.n)`;
  return `BEGIN;
INSERT INTO orders (id, account_id, status, channel, paid_with, subtotal, total, created_at, confirmed_at)
  SELECT ${id}, ${who('account_id')}, 'confirmed', 'api', 'wallet', 1, 1, ${now}, ${now} FROM ${g};
INSERT INTO order_item (id, order_id, product_id, name, delivery_type, quantity, unit_price, subtotal)
  SELECT ${id}, ${id}, ${product.id}, 'Product', 'license_key', 1, 1, 1 FROM ${g};
INSERT INTO license (id, sealed_key, key_hash, product_id, account_id, order_item_id, created_at)
  SELECT ${id}, ${d.sealed()}, ${d.hash(`${base}-`)}, ${product.id}, ${who('account_id')}, ${id}, ${now} FROM ${g};
INSERT INTO delivery (id, order_item_id, unit, type, license_id, created_at)
  SELECT ${id}, ${id}, 1, 'license_key', ${id}, ${now} FROM ${g};
INSERT INTO transfer (id, debit_id, credit_id, amount, kind, reference_id, description, created_at)
  SELECT ${id}, ${who('wallet_id')}, 1, 1, 'order', ${id}, 'Order', ${now} FROM ${g};
COMMIT;
`;
}

/** So that the store has at least `count` orders. The server of the store must not run. */
export function fill(database, count) {
  const isPg = database.engine === 'pg';
  const have = Number(run(database, 'SELECT count(*) FROM orders;').trim());
  if (have >= count) return;
  const places = database.seeded.buyers.map((b, i) => `(${b.id}, ${i})`).join(', ');
  run(
    database,
    `DROP TABLE IF EXISTS bench_buyer;
     CREATE TABLE bench_buyer (place BIGINT PRIMARY KEY, account_id BIGINT, wallet_id BIGINT);
     INSERT INTO bench_buyer (account_id, place, wallet_id)
       SELECT v.column1, v.column2, l.id FROM (VALUES ${places}) AS v JOIN ledger_account l ON l.owner_id = v.column1;`,
  );
  const tables = ['orders', 'order_item', 'license', 'delivery', 'transfer'];
  const base = Number(
    run(
      database,
      `SELECT max(m) FROM (${tables.map((t) => `SELECT coalesce(max(id), 0) AS m FROM ${t}`).join(' UNION ALL ')}) AS x;`,
    ),
  );
  const missing = count - have;
  for (let from = 1; from <= missing; from += SLICE)
    run(database, slice(database, database.seeded, from, Math.min(missing, from + SLICE - 1), base));
  if (isPg)
    run(
      database,
      tables.map((t) => `SELECT setval('${t}_id_seq', (SELECT max(id) FROM ${t}));`).join('\n') +
        `\nDROP TABLE bench_buyer;\nVACUUM ANALYZE;\nCHECKPOINT;`,
    );
  else run(database, 'DROP TABLE bench_buyer;\nPRAGMA wal_checkpoint(TRUNCATE);');
}

/** Moves the keys that were bought (sealed bytes that are not all zero) to `count` rows spread evenly over the table. */
export function spread(database, count) {
  const zero = dialect[database.engine].sealed();
  const fresh = database.engine === 'pg' ? `decode(md5('moved' || id), 'hex')` : 'randomblob(16)';
  const greatest = database.engine === 'pg' ? 'greatest' : 'max';
  run(
    database,
    `BEGIN;
     CREATE TEMPORARY TABLE real_key AS SELECT row_number() OVER (ORDER BY id DESC) AS place, id, key_hash, sealed_key
       FROM license WHERE sealed_key <> ${zero} ORDER BY id DESC LIMIT ${count};
     CREATE TEMPORARY TABLE target AS SELECT row_number() OVER (ORDER BY id) AS place, id FROM
       (SELECT id, row_number() OVER (ORDER BY id) AS n FROM license WHERE sealed_key = ${zero}) AS f
       WHERE f.n % (SELECT ${greatest}(1, count(*) / ${count}) FROM license WHERE sealed_key = ${zero}) = 0;
     CREATE INDEX real_key_place ON real_key (place);
     CREATE INDEX target_id ON target (id);
     CREATE INDEX target_place ON target (place);
     UPDATE license SET key_hash = ${fresh}, sealed_key = ${zero} WHERE id IN
       (SELECT r.id FROM real_key r JOIN target t ON t.place = r.place);
     UPDATE license SET key_hash = (SELECT r.key_hash FROM target t JOIN real_key r ON r.place = t.place WHERE t.id = license.id),
       sealed_key = (SELECT r.sealed_key FROM target t JOIN real_key r ON r.place = t.place WHERE t.id = license.id)
       WHERE id IN (SELECT t.id FROM target t JOIN real_key r ON r.place = t.place);
     COMMIT;`,
  );
}
