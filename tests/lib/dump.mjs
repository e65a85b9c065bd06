// tests/lib/dump.mjs - everything that is in a database, read with the engines' own programs: the same value for the same store,
// whichever engine it is in. Shares no code with the server's own copies and digests.
import { isPostgres, select, selectAll } from './sql.mjs';

/** What the program keeps for itself in one database, and does not take along. */
const OF_ONE_STORE = [
  'schema_migration',
  'license_change',
  'filing',
  'orders_filed',
  'license_filed',
  'transfer_filed',
  'license_key_filed',
  'idempotency_page',
  'orders_key_page',
];

/** {table: [[column, type]]}, without the tables that only the program's own machinery uses. */
export function tablesOf(dbArg) {
  const rows = isPostgres(dbArg)
    ? select(
        dbArg,
        `SELECT table_name, column_name, CASE data_type WHEN 'bigint' THEN 'INTEGER' WHEN 'text' THEN 'TEXT' ELSE 'BLOB' END
          FROM information_schema.columns WHERE table_schema = 'public'`,
      )
    : select(
        dbArg,
        `SELECT m.name, c.name, c.type FROM sqlite_schema m JOIN pragma_table_info(m.name) c
          WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`,
      );
  const tables = {};
  for (const [table, column, type] of rows.sort()) {
    if (OF_ONE_STORE.includes(table)) continue;
    (tables[table] ??= []).push([column, type]);
  }
  return tables;
}

/** {table: rows as texts, sorted}. */
export function dump(dbArg) {
  const hex = (column) => (isPostgres(dbArg) ? `upper(encode("${column}", 'hex'))` : `hex("${column}")`);
  const tables = tablesOf(dbArg);
  const texts = Object.entries(tables).map(([table, columns]) => {
    const list = columns.map(([name, type]) =>
      type === 'BLOB' ? `CASE WHEN "${name}" IS NULL THEN NULL ELSE ${hex(name)} END` : `"${name}"`,
    );
    return `SELECT ${list.join(', ')} FROM "${table}"`;
  });
  const results = selectAll(dbArg, texts);
  return Object.fromEntries(
    Object.keys(tables).map((table, i) => [table, results[i].map((row) => JSON.stringify(row)).sort()]),
  );
}
