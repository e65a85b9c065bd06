// tests/lib/sql.mjs - reads and writes a store's database behind the server's back, with the engines' own programs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { psql, psqlProgram } from './pg.mjs';
import { sqlite } from './sqlite.mjs';

const FIELD = '\x1f';
const ROW = '\x1e';

export function isPostgres(dbArg) {
  return /^postgres(ql)?:\/\//.test(dbArg);
}

/** The rows of each SELECT, all seen in one snapshot: a list of lists of arrays of texts; NULL is null. */
export function selectAll(dbArg, texts) {
  const NULL = '\x1d';
  const END = '\x1c';
  const script = texts.map((text) => `${text};\nSELECT '${END}';\n`).join('');
  const out = isPostgres(dbArg)
    ? psql(
        ['-XqAt', '-F', FIELD, '-R', ROW, '-P', `null=${NULL}`],
        dbArg,
        `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;\n${script}COMMIT;\n`,
      )
    : sqlite(
        ['-list', '-separator', FIELD, '-newline', ROW, '-nullvalue', NULL],
        dbArg,
        `.timeout 10000\nBEGIN;\n${script}COMMIT;\n`,
        true,
      );
  // psql ends each result with a line end, sqlite3 each row with ROW.
  return out
    .split(END)
    .slice(0, -1)
    .map((part) => {
      const rows = part.replace(/^[\n\x1e]/, '').replace(/[\n\x1e]$/, '');
      return rows === '' ? [] : rows.split(ROW).map((row) => row.split(FIELD).map((v) => (v === NULL ? null : v)));
    });
}

/** The rows of one SELECT. */
export function select(dbArg, text) {
  return selectAll(dbArg, [text])[0];
}

/** The first column of the first row, as a BigInt. */
export function number(dbArg, text) {
  return BigInt(select(dbArg, text)[0][0]);
}

/** Any statements, in one transaction. On SQLite checks and foreign keys are not asked, and nothing is checkpointed. */
export function execute(dbArg, text) {
  if (isPostgres(dbArg)) {
    psql(['-Xq'], dbArg, `BEGIN;\n${text};\nCOMMIT;\n`);
  } else {
    const calm =
      '.timeout 10000\nPRAGMA wal_autocheckpoint = 0;\nPRAGMA foreign_keys = OFF;\nPRAGMA ignore_check_constraints = ON;\n';
    sqlite([], dbArg, `${calm}BEGIN IMMEDIATE;\n${text};\nCOMMIT;\n`);
  }
}

/** The engine's plan for a SELECT with its parameters written out. */
export function plan(dbArg, text) {
  if (isPostgres(dbArg))
    return select(dbArg, `EXPLAIN ${text}`)
      .map((r) => r[0])
      .join('\n');
  return select(dbArg, `EXPLAIN QUERY PLAN ${text}`)
    .map((r) => r.at(-1))
    .join('\n');
}

/** PostgreSQL: somebody who keeps looking at the database as it is now, as a backup does; a process, to be killed. */
export async function holdSnapshot(dbArg) {
  const child = spawn(psqlProgram(), ['-XqAt', '-d', dbArg], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.write('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT COUNT(*) FROM serial;\n');
  await once(child.stdout, 'data');
  return child;
}
