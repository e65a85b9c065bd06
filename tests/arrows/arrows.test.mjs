// The rules of arrows.mjs on the real tree, and each rule's positive control: planted wrongs that it must find.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  LAYERS,
  builtSql,
  guardViolations,
  layerViolations,
  sharedNames,
  sharedTypes,
  sourceFiles,
  strayFolders,
  strayNouns,
} from './arrows.mjs';
import { plantingIn } from './planted.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SRC = path.join(ROOT, 'src');
const planted = plantingIn(SRC);

test('there are sources to look at', () => {
  assert.ok(sourceFiles(SRC).length > 20);
});

test('every source folder is a layer', () => assert.deepEqual(strayFolders(SRC), []));

for (const layer of Object.keys(LAYERS)) {
  test(`${layer} includes only what lies left of it`, () => assert.deepEqual(layerViolations(SRC, layer), []));
}

test('library headers stay behind their layer', () => assert.deepEqual(guardViolations(SRC), []));
test('a surface, its part of the document and its tests have one name', () => assert.deepEqual(strayNouns(ROOT), []));
test('no two files have one name', () => assert.deepEqual(sharedNames(SRC), []));
test('no two types have one name', () => assert.deepEqual(sharedTypes(SRC), []));
test('SQL is never built at run time', () => assert.deepEqual(builtSql(SRC), []));

const wrongArrows = [
  ['base', 'db/db.h'],
  ['json', 'http/codec.h'],
  ['http', 'json/reader.h'],
  ['db', 'domain/ledger.h'],
  ['domain', 'json/reader.h'],
  ['domain', 'view/view_order.h'],
  ['view', 'serve/request.h'],
  ['outbound', 'gateway/gateway.h'],
  ['gateway', 'outbox/errand.h'],
  ['outbox', 'serve/app.h'],
  ['serve', 'api/tables.h'],
  ['api', 'cli/command.h'],
  ['main', 'domain/ledger.h'],
];
for (const [layer, header] of wrongArrows) {
  test(`control: ${layer} including ${header} is found`, (t) => {
    const file = layer === 'main' ? 'planted.c' : `${layer}/planted.c`;
    const found = layerViolations(planted(t, file, `/* x */\n  #  include "${header}"\n`), layer);
    assert.equal(found.length, 1, found.join('\n'));
    assert.match(found[0], /planted\.c:2: /);
  });
}

test('control: one room of surfaces including another is found, its own headers are not', (t) => {
  const lines = '#include "api/admin/admin.h"\n#include "api/pay.h"\n#include "api/customer/planted.h"\n';
  const found = layerViolations(planted(t, 'api/customer/planted.c', lines), 'api');
  assert.deepEqual(found, [
    'src/api/customer/planted.c:1: api/customer must not include api/admin ("api/admin/admin.h")',
  ]);
});

test('control: a surface without a document or tests, and a document without a surface, are found', (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-arrows-'));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  const write = (file, text) => {
    fs.mkdirSync(path.dirname(path.join(dir, file)), { recursive: true });
    fs.writeFileSync(path.join(dir, file), text);
  };
  write('src/api/open/lonely.c', 'const struct route lonely_routes[] = {\n    {"GET", "/x", 0},\n};\n');
  write('src/api/open/page.c', 'const struct route page_routes[] = {\n    {"GET", "/y", 0, HIDDEN},\n};\n');
  write('api/paths/nobody.yaml', '');
  write('tests/api/x.test.mjs', '');
  write('tests/web/x.test.mjs', '');
  assert.deepEqual(strayNouns(dir), [
    'api/paths/nobody.yaml: no surface has this name',
    'lonely: no part of the OpenAPI document has this name',
    'lonely: no test in tests/api has this name',
  ]);
});

test('control: a name that two files or types bear is found', (t) => {
  assert.deepEqual(sharedNames(planted(t, 'api/open/ledger.c', '')), ['ledger: api/open/ledger, domain/ledger']);
  assert.deepEqual(sharedTypes(planted(t, 'base/planted.c', 'struct request {\n};\n')), [
    'struct request: base/planted.c, serve/request.h',
  ]);
});

test('control: an include outside of the layer form is found', (t) => {
  assert.equal(
    layerViolations(planted(t, 'base/planted.c', '#include "str.h"\n#include "base/../db/db.h"\n'), 'base').length,
    2,
  );
});

test('control: sqlite3.h and libpq-fe.h outside of their files are found', (t) => {
  assert.equal(
    guardViolations(planted(t, 'domain/planted.c', '#include <sqlite3.h>\n#include <libpq-fe.h>\n')).length,
    2,
  );
});

test('control: sqlite3.h inside db/sqlite.c is no violation', (t) => {
  assert.deepEqual(guardViolations(planted(t, 'db/sqlite_planted.c', '#include <sqlite3.h>\n')), []);
});

test('control: an include in a comment is no violation', (t) => {
  assert.deepEqual(layerViolations(planted(t, 'base/planted.c', '/*\n#include "db/db.h"\n*/\n'), 'base'), []);
});

test('control: a folder that is no layer is found', (t) => {
  assert.deepEqual(strayFolders(planted(t, 'misc/planted.c', '')), ['misc']);
});

test('control: a banned function does not compile', (t) => {
  const dir = planted(t, 'base/planted.c', 'int f(const char *s);\nint f(const char *s) { return atoi(s); }\n');
  const compile = (file) =>
    spawnSync('gcc', ['-D_GNU_SOURCE', '-include', 'base/banned.h', '-I.', '-fsyntax-only', file], {
      cwd: dir,
      encoding: 'utf8',
    });
  assert.match(compile('base/planted.c').stderr, /attempt to use poisoned "atoi"/);
  assert.equal(compile('base/str.c').status, 0);
});

test('control: SQL built at run time is found', (t) => {
  const lines = [
    'static const char fixed[] = "SELECT 1";',
    'static const char *const table[] = {"SELECT 2"};',
    'char made[100];',
    'db_prepare(db, fixed);',
    'db_run(db_prepare(db, up ? fixed : "SELECT 3"));',
    'db_prepare(db, table[i]);',
    'db_prepare(db, db_sql(db, fixed, table[0]));',
    'db_prepare(db, buf.data); /* wrong */',
    'db_prepare(db, made); /* wrong */',
    'db_prepare(db, up ? fixed : made); /* wrong */',
    'db_prepare(db, str_printf(a, "%s", x)); /* wrong */',
    'x = str_printf(a, "SELECT %s", column); /* wrong */',
    'snprintf(made, sizeof made, "%s WHERE name = \'%s\'", fixed, name); /* wrong */',
    'str_printf(a, "where it is: %s", x);',
  ];
  const expected = lines.map((line, i) => (line.includes('wrong') ? i + 1 : 0)).filter(Boolean);
  const found = builtSql(planted(t, 'domain/planted.c', `${lines.join('\n')}\n`));
  assert.deepEqual(
    found.map((v) => Number(/planted\.c:(\d+)/.exec(v)?.[1])),
    expected,
  );
});

test('no two flags of a route share a bit', () => {
  const text = fs.readFileSync(path.join(SRC, 'serve/route.h'), 'utf8');
  const flags = /enum route_flags \{([\s\S]*?)\};/.exec(text)[1];
  const values = [...flags.matchAll(/^\s+([A-Z_]+) = ([^,]+),/gm)].filter(([, , value]) => !value.includes('|'));
  assert.ok(values.length > 8);
  for (const [, name, value] of values) assert.match(value, /^1 << \d+$/, name);
  assert.equal(
    new Set(values.map(([, , value]) => value)).size,
    values.length,
    values.map(([, n, v]) => `${n} = ${v}`).join(', '),
  );
});

test('each decision has a number of its own, which its title tells', () => {
  const files = fs.readdirSync(path.join(ROOT, 'docs/decisions')).filter((f) => /^\d{4}-/.test(f));
  const numbers = files.map((f) => f.slice(0, 4));
  assert.deepEqual(
    numbers.filter((n, i) => numbers.indexOf(n) !== i),
    [],
  );
  for (const f of files) {
    const title = fs.readFileSync(path.join(ROOT, 'docs/decisions', f), 'utf8').split('\n')[0];
    assert.ok(!/^# \d{4}/.test(title) || title.startsWith(`# ${f.slice(0, 4)}`), `${f}: ${title}`);
  }
});
