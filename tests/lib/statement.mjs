// tests/lib/statement.mjs - the SQL that the program really sends, taken from its sources, and how the engines run it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isPostgres, selectAll } from './sql.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A source as the compiler sees it; with the headers that the build has made. */
function preprocessed(file) {
  const made = path.join(path.resolve(root, process.env.SOUK_BUILD ?? 'build'), 'src');
  return execFileSync('gcc', ['-E', '-P', '-D_GNU_SOURCE', '-I', 'src', '-I', made, file], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
}

const LITERALS = String.raw`((?:\s*"(?:[^"\\]|\\.)*")+)`;

/**
 * The SQL inside the definition of FUNCTION in src/FILE: of `static const char NAME[]`, of `NAME = db_sql(db, …, …)`, or, without
 * a name, of its one db_sql(db, …, …).
 */
export function statementOf(file, fn, name, dbArg) {
  const code = preprocessed(path.join('src', file));
  const start = code.search(new RegExp(`\\b${fn}\\([^;{]*\\)\\s*\\{`));
  assert.ok(start >= 0, `${fn} is not defined in ${file}`);
  const body = code.slice(start);
  const pair = new RegExp(`${name ? `\\b${name} = ` : ''}db_sql\\(\\s*\\(db\\)\\s*,${LITERALS},${LITERALS}\\)`).exec(
    body,
  );
  const literals = pair
    ? pair[isPostgres(dbArg) ? 2 : 1]
    : new RegExp(`static const char ${name}\\[\\] =${LITERALS};`).exec(body)?.[1];
  assert.ok(literals, `${fn} in ${file} has no statement ${name ?? ''}`);
  return [...literals.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((m) => JSON.parse(`"${m[1]}"`)).join('');
}

/** How the engine runs a statement whose parameters it does not know beforehand. `values` stand for $1, $2 … */
export function planOf(dbArg, statement, values) {
  if (!isPostgres(dbArg))
    return selectAll(dbArg, [`EXPLAIN QUERY PLAN ${statement}`])[0]
      .map((row) => row.at(-1))
      .join('\n');
  const [, , plan] = selectAll(dbArg, [
    'SET LOCAL plan_cache_mode = force_generic_plan',
    `PREPARE asked AS ${statement}`,
    `EXPLAIN EXECUTE asked (${values.join(', ')})`,
  ]);
  return plan.map((row) => row[0]).join('\n');
}

const joined = (literals) =>
  [...literals.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((m) => JSON.parse(`"${m[1]}"`)).join('');

/**
 * Every SQL text of src/domain for this engine: [{file, name, text}]. Of a text that only one engine understands the name says so:
 * it is the argument of db_sql in its engine's place, or begins with `sqlite` or `postgres`.
 */
export function allStatements(dbArg) {
  const own = isPostgres(dbArg) ? 2 : 1;
  const found = [];
  for (const file of fs
    .readdirSync(path.join(root, 'src/domain'))
    .filter((f) => f.endsWith('.c'))
    .sort()) {
    const code = preprocessed(`src/domain/${file}`);
    const add = (name, literals) => {
      const text = joined(literals);
      if (/^(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text)) found.push({ file, name, text });
    };
    for (const m of code.matchAll(new RegExp(`db_sql\\(\\s*\\(db\\)\\s*,${LITERALS},${LITERALS}\\)`, 'g')))
      add('a page', m[own]);
    for (const m of code.matchAll(new RegExp(`static const char (\\w+)\\[\\] =${LITERALS};`, 'g'))) {
      const foreign = isPostgres(dbArg) ? /^sqlite/ : /^postgres/;
      const asOther = new RegExp(`db_sql\\([^;]*,\\s*${m[1]}\\s*${isPostgres(dbArg) ? ',' : '\\)'}`).test(
        code.slice(m.index, m.index + 6000).split(/\n}\n/)[0],
      );
      if (!foreign.test(m[1]) && !asOther) add(m[1], m[2]);
    }
  }
  return found;
}

/** The plans of all these texts, in their order; a text that the engine refuses gives its complaint. */
export function plansOf(dbArg, texts) {
  const MARK = '=====';
  if (!isPostgres(dbArg)) {
    const out = spawnSync('sqlite3', ['-batch', '-list', dbArg], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      input: texts.map((t) => `.print ${MARK}\nEXPLAIN QUERY PLAN ${t};\n`).join(''),
    });
    assert.equal(out.stderr, '', out.stderr);
    return out.stdout.split(`${MARK}\n`).slice(1);
  }
  const highest = (t) => Math.max(0, ...[...t.matchAll(/\$(\d+)/g)].map((m) => Number(m[1])));
  const values = (t) => (highest(t) ? `(${Array(highest(t)).fill('NULL').join(', ')})` : '');
  const input = texts
    .map((t, i) => `\\echo ${MARK}\nPREPARE q${i} AS ${t};\nEXPLAIN EXECUTE q${i} ${values(t)};\n`)
    .join('');
  const out = spawnSync('bash', ['-c', 'exec psql -XqAt -d "$1" -f - 2>&1', 'bash', dbArg], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    input: `SET plan_cache_mode = force_generic_plan;\n${input}`,
  });
  assert.equal(out.status, 0, out.stdout);
  return out.stdout.split(`${MARK}\n`).slice(1);
}
