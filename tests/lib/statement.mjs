// tests/lib/statement.mjs - the SQL that the program really sends, taken from its sources, and how the engines run it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isPostgres, selectAll } from './sql.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

const LITERALS = String.raw`((?:\s*"(?:[^"\\]|\\.)*")+)`;

/**
 * The SQL inside the definition of FUNCTION in src/FILE: of `static const char NAME[]`, of `NAME = db_sql(db, …, …)`, or, without
 * a name, of its one db_sql(db, …, …).
 */
export function statementOf(file, fn, name, dbArg) {
  const code = execFileSync('gcc', ['-E', '-P', '-D_GNU_SOURCE', '-I', 'src', path.join('src', file)], { cwd: root, encoding: 'utf8' });
  const start = code.search(new RegExp(`\\b${fn}\\([^;{]*\\)\\s*\\{`));
  assert.ok(start >= 0, `${fn} is not defined in ${file}`);
  const body = code.slice(start);
  const pair = new RegExp(`${name ? `\\b${name} = ` : ''}db_sql\\(\\s*\\(db\\)\\s*,${LITERALS},${LITERALS}\\)`).exec(body);
  const literals = pair ? pair[isPostgres(dbArg) ? 2 : 1] : new RegExp(`static const char ${name}\\[\\] =${LITERALS};`).exec(body)?.[1];
  assert.ok(literals, `${fn} in ${file} has no statement ${name ?? ''}`);
  return [...literals.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((m) => JSON.parse(`"${m[1]}"`)).join('');
}

/** How the engine runs a statement whose parameters it does not know beforehand. `values` stand for $1, $2 … */
export function planOf(dbArg, statement, values) {
  if (!isPostgres(dbArg)) return selectAll(dbArg, [`EXPLAIN QUERY PLAN ${statement}`])[0].map((row) => row.at(-1)).join('\n');
  const [, , plan] = selectAll(dbArg, ['SET LOCAL plan_cache_mode = force_generic_plan', `PREPARE asked AS ${statement}`,
    `EXPLAIN EXECUTE asked (${values.join(', ')})`]);
  return plan.map((row) => row[0]).join('\n');
}
