// The test tools' own tests: each check must fail where it should. A check that cannot fail is a defect.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Document } from '../api/lib/openapi.mjs';
import { compilerOf, pointerOf, validatorsOf } from '../api/lib/validators.mjs';
import { BUILD } from './build.mjs';
import { parseAnswer } from '../api/lib/raw.mjs';
import { parseMetrics } from '../api/lib/souk.mjs';
import { withDatabase } from './pg.mjs';
import { SANITIZER_ENV, crashReport, sanitizerReport } from './sanitizer.mjs';
import { FileResults, cmockaResult } from './tap.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

function scratch(t) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-harness-'));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function compileAndRun(t, flags, source) {
  const dir = scratch(t);
  fs.writeFileSync(path.join(dir, 'p.c'), source);
  const made = spawnSync('gcc', ['-g', '-O1', ...flags, 'p.c', '-o', 'p', '-lpthread'], { cwd: dir, encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  return spawnSync('./p', [], { cwd: dir, encoding: 'utf8', env: { ...process.env, ...SANITIZER_ENV } });
}

test('control: a use after free is reported and recognised', (t) => {
  const run = compileAndRun(
    t,
    ['-fsanitize=address,undefined'],
    '#include <stdlib.h>\nint main(void) { volatile char *p = malloc(4); free((void *)p); return p[1] & 1; }\n',
  );
  assert.notEqual(run.status, 0);
  assert.match(sanitizerReport(run.stderr) ?? '(none)', /heap-use-after-free/);
});

test('control: a leak is reported and recognised', (t) => {
  const run = compileAndRun(
    t,
    ['-fsanitize=address,undefined'],
    '#include <stdlib.h>\nvoid *volatile p;\nint main(void) { p = malloc(41); p = 0; return 0; }\n',
  );
  assert.notEqual(run.status, 0);
  assert.match(sanitizerReport(run.stderr) ?? '(none)', /LeakSanitizer/);
});

test('control: an overflow is reported and recognised', (t) => {
  const run = compileAndRun(
    t,
    ['-fsanitize=address,undefined'],
    '#include <limits.h>\nint main(void) { volatile int x = INT_MAX; return (x + 1) & 1; }\n',
  );
  assert.notEqual(run.status, 0);
  assert.match(sanitizerReport(run.stderr) ?? '(none)', /signed integer overflow/);
});

test('control: a data race is reported and recognised', (t) => {
  const run = compileAndRun(
    t,
    ['-fsanitize=thread'],
    [
      '#include <pthread.h>',
      'static int x;',
      'static void *f(void *a) { for (int i = 0; i < 1000; i++) x++; return a; }',
      'int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, f, 0);',
      'pthread_join(a, 0); pthread_join(b, 0); return 0; }',
      '',
    ].join('\n'),
  );
  assert.notEqual(run.status, 0);
  assert.match(sanitizerReport(run.stderr) ?? '(none)', /data race/);
});

test('control: a failed assertion is recognised', (t) => {
  const run = compileAndRun(
    t,
    [],
    '#include <assert.h>\nint main(int c, char **v) { (void)v; assert(c == 2); return 0; }\n',
  );
  assert.match(crashReport(run.stderr) ?? '(none)', /Assertion/);
});

test('ordinary logs are no report', () => {
  const log = 'level=info event=request path="/x" code=500\nlevel=error event=db message="runtime of 3 s"\n';
  assert.equal(sanitizerReport(log), null);
  assert.equal(crashReport(log), null);
});

/** What the output of a worker says of its files: [[file, passed, failed, skipped, failures, lacks]]. */
function fileResults(output, step = output.length) {
  const found = [];
  const results = new FileResults((file, r) => found.push([file, r.passed, r.failed, r.skipped, r.failures, r.lacks]));
  for (let i = 0; i < output.length; i += step) results.take(output.slice(i, i + step));
  return { found, unfinished: results.unfinished };
}

/** The output of a real worker for files with these texts. */
function work(t, texts) {
  const dir = scratch(t);
  texts.forEach((text, i) =>
    fs.writeFileSync(path.join(dir, `${i}.mjs`), `import { after, before, describe, test } from 'node:test';\n${text}`),
  );
  const worker = path.join(root, 'tests/lib/worker.mjs');
  const parent = `const { fork } = require('node:child_process');
    const child = fork(${JSON.stringify(worker)}, { execArgv: ['--test-reporter=tap'] });
    for (let i = 0; i < ${texts.length}; i++) child.send(i + '.mjs');
    child.send(null);
    child.on('exit', (code) => process.exit(code));`;
  const env = { ...process.env };
  delete env.NODE_TEST_CONTEXT;
  return spawnSync(process.execPath, ['-e', parent], { cwd: dir, encoding: 'utf8', env });
}

test('results of test files: passes, failures, hooks, suites, skips, no tests, and files that cannot be loaded', (t) => {
  const run = work(t, [
    "test('a', () => {}); test('b', () => {});",
    "test('a', () => { throw new Error('why'); }); test('b', () => {});",
    "after(() => { throw new Error('in the hook'); }); test('a', () => {});",
    "before(() => { throw new Error('in the hook'); }); test('a', () => {});",
    "describe('s', () => { test('a', async (t) => { await t.test('inner', () => {}); }); });",
    "test('a', { skip: 'not possible here: why' }, () => {}); test('d', { skip: 'x' }, () => {}); test('b', { todo: true }, () => {}); test('c', () => {});",
    '',
    "import './no-such-file.mjs';\ntest('a', () => {});",
  ]);
  assert.equal(run.status, 1, run.stderr);
  for (const step of [run.stdout.length, 7]) {
    const { found } = fileResults(run.stdout, step);
    assert.deepEqual(
      found.map((f) => f.slice(0, 4)),
      [
        ['0.mjs', 2, 0, 0],
        ['1.mjs', 1, 1, 0],
        ['2.mjs', 1, 1, 0],
        ['3.mjs', 0, 1, 0],
        ['4.mjs', 2, 0, 0],
        ['5.mjs', 1, 0, 3],
        ['6.mjs', 0, 1, 0],
        ['7.mjs', 0, 1, 0],
      ],
    );
    const texts = found.map((f) => f[4].join('\n'));
    assert.match(texts[1], /error: 'why'/);
    assert.deepEqual(found[5][5], ['a: not possible here: why']);
    assert.match(texts[2], /in the hook/);
    assert.match(texts[3], /in the hook/);
    assert.equal(texts[6], 'the file has no tests');
    assert.match(texts[7], /no-such-file/);
  }
});

test('a file that is not finished gives no result', () => {
  const { found, unfinished } = fileResults(
    'TAP version 13\n# Subtest: a.mjs\n    # Subtest: x\n    ok 1 - x\n      ---\n      ...\nok 1 - a.mjs\n',
  );
  assert.deepEqual(found, []);
  assert.match(unfinished, /Subtest: a\.mjs/);
});

test('cmocka results: passes, failures, crashes half way, several groups', () => {
  const count = (output, exit) => {
    const r = cmockaResult(output, exit);
    return [r.passed, r.failed, r.skipped];
  };
  assert.deepEqual(count('1..2\nok 1 - a\nok 2 - b\n', 0), [2, 0, 0]);
  assert.deepEqual(count('1..2\nok 1 - a\nnot ok 2 - b\n', 1), [1, 1, 0]);
  assert.deepEqual(count('1..3\nok 1 - a\n', 'SIGABRT'), [1, 2, 0]);
  assert.deepEqual(count('1..1\nok 1 - a\n1..1\nok 1 - b\n', 0), [2, 0, 0]);
  assert.deepEqual(count('', 0), [0, 1, 0]);
  assert.deepEqual(count('1..2\nok 1 - a\nnot ok 2 # SKIP b\n', 0), [1, 0, 1]);
  assert.deepEqual(count('1..1\nok 1 - a\n', 66), [1, 1, 0]);
});

test('functions that were written down refuse what those refuse that are made at once', () => {
  const text = fs.readFileSync(path.join(BUILD, 'api/openapi.json'), 'utf8');
  const written = validatorsOf(text);
  const ajv = compilerOf(JSON.parse(text));
  assert.ok(written.size > 100, `${written.size} functions`);
  const values = [{}, { status: 'success', data: [] }, { status: 'error', code: 'not_found' }, 'text', null];
  for (const [pointer, validate] of [...written].filter((_, n) => n % 10 === 0)) {
    const other = ajv.compile({ $ref: pointer });
    for (const value of values) assert.equal(validate(value), other(value), `${pointer} ${JSON.stringify(value)}`);
  }
  const login = validatorOf(written, ['/api/auth/login', 'post', 'requestBody']);
  assert.ok(login({ email: 'a@example.com', password: 'long-enough-1' }), JSON.stringify(login.errors));
  assert.ok(!login({ email: 'a@example.com' }));
});

function validatorOf(written, [template, method, part]) {
  return written.get(pointerOf(['paths', template, method, part, 'content', 'application/json', 'schema']));
}

const sample = new Document({
  openapi: '3.1.0',
  info: { title: 'x', version: '1' },
  'x-protocol-responses': {
    404: { description: 'x', content: { 'application/json': { schema: { const: { status: 'error' } } } } },
    405: { description: 'x', headers: { Allow: { required: true, schema: { type: 'string' } } } },
  },
  paths: {
    '/a/{id}': {
      post: {
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/In' } } } },
        responses: {
          200: {
            description: 'x',
            headers: { 'X-A': { required: true, schema: { pattern: '^a$' } } },
            content: { 'application/json': { schema: { $ref: '#/components/schemas/A' } } },
          },
        },
      },
    },
  },
  components: {
    schemas: {
      A: { type: 'object', additionalProperties: false, required: ['n'], properties: { n: { type: 'integer' } } },
      In: { type: 'object', additionalProperties: false, properties: { m: { type: 'integer' } } },
    },
  },
});
const good = {
  status: 200,
  headers: { 'content-type': 'application/json', 'x-a': 'a' },
  text: '{"n":1}',
  json: { n: 1 },
};
const type = 'application/json';

test('an answer as described passes', () => {
  sample.check('POST', '/a/5?x=1', good, { type, body: Buffer.from('{"m":1}') });
});

const wrongAnswers = [
  ['an undocumented member', 'POST', '/a/5', { ...good, json: { n: 1, extra: 2 } }, {}, /must NOT have additional/],
  ['a wrong type', 'POST', '/a/5', { ...good, json: { n: '1' } }, {}, /must be integer/],
  ['an undocumented status', 'POST', '/a/5', { ...good, status: 202 }, {}, /status is not in/],
  ['an undocumented path', 'GET', '/b', good, {}, /no such path/],
  ['an undocumented method', 'PUT', '/a/5', good, {}, /no such method/],
  [
    'an endpoint that is not there',
    'POST',
    '/a/5',
    { ...good, status: 404, json: { status: 'error' } },
    {},
    /status is not in/,
  ],
  ['a missing header', 'POST', '/a/5', { ...good, headers: { 'content-type': type } }, {}, /X-A is missing/],
  ['a wrong header', 'POST', '/a/5', { ...good, headers: { ...good.headers, 'x-a': 'b' } }, {}, /X-A/],
  [
    'another content type',
    'POST',
    '/a/5',
    { ...good, headers: { 'content-type': 'text/html', 'x-a': 'a' } },
    {},
    /content type/,
  ],
  [
    'an undocumented request that was accepted',
    'POST',
    '/a/5',
    good,
    { type, body: Buffer.from('{"z":1}') },
    /request that was accepted/,
  ],
  [
    'a refusal with another body',
    'GET',
    '/b',
    { ...good, status: 404, json: { status: 'x' } },
    {},
    /must be equal to constant/,
  ],
];
for (const [what, method, target, answer, request, message] of wrongAnswers) {
  test(`control: ${what} is found`, () => {
    assert.throws(() => sample.check(method, target, answer, request), message);
  });
}

/** Runs the merge on a root and one paths file given as text. */
function merge(
  t,
  pathsText,
  rootText = 'openapi: 3.1.0\ninfo: {title: x, version: "1"}\ntags: [{name: a}]\n',
  more = {},
) {
  const dir = scratch(t);
  fs.mkdirSync(path.join(dir, 'paths'));
  fs.writeFileSync(path.join(dir, 'root.yaml'), rootText);
  fs.writeFileSync(path.join(dir, 'paths/p.yaml'), pathsText);
  for (const [name, text] of Object.entries(more)) fs.writeFileSync(path.join(dir, 'paths', name), text);
  const parts = [
    'paths/p.yaml',
    ...Object.keys(more)
      .filter((n) => !n.startsWith('un'))
      .map((n) => `paths/${n}`),
  ];
  const run = spawnSync('python3', [path.join(root, 'tools/openapi.py'), 'o.json', 'o.c', 'root.yaml', ...parts], {
    cwd: dir,
    encoding: 'utf8',
  });
  return { ...run, document: run.status === 0 ? JSON.parse(fs.readFileSync(path.join(dir, 'o.json'), 'utf8')) : null };
}

const operation = (extra = '') =>
  `paths:\n  /x:\n    get:\n      operationId: x\n      tags: [a]\n      summary: s\n      security: []\n` +
  `      responses:\n        '200': { description: d }\n${extra}`;

test('the merge of a good document', (t) => {
  const run = merge(t, operation());
  assert.equal(run.status, 0, run.stderr);
  assert.deepEqual(Object.keys(run.document.paths), ['/x']);
});

const brokenDocuments = [
  [
    'a path and method twice',
    operation(),
    /get \/x is described twice/,
    { 'q.yaml': operation().replace('operationId: x', 'operationId: y') },
  ],
  ['an operationId twice', operation(), /has the operationId of/, { 'q.yaml': operation().replace('/x:', '/y:') }],
  [
    'a reference to nothing',
    operation("        '404': { $ref: '#/components/responses/Nope' }\n"),
    /Nope is not there/,
  ],
  ['a key twice', 'paths: {}\npaths: {}\n', /key given twice/],
  [
    'an open object',
    operation('components: { schemas: { S: { type: object, properties: { a: {} } } } }\n'),
    /other members/,
  ],
  ['an undeclared path parameter', operation().replace('/x:', '/x/{id}:'), /path parameters \['id'\]/],
  ['no security', operation().replace('      security: []\n', ''), /has no security/],
  [
    'a file that the build does not list',
    operation(),
    /is not in the build's list/,
    { 'unlisted.yaml': 'paths: {}\n' },
  ],
];
for (const [what, text, message, more] of brokenDocuments) {
  test(`control: the merge refuses ${what}`, (t) => {
    const run = merge(t, text, undefined, more);
    assert.equal(run.status, 1, run.stderr);
    assert.match(run.stderr, message);
  });
}

test('raw answers are parsed by length, interim ones skipped', () => {
  const one = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab';
  assert.equal(parseAnswer(Buffer.from(one.slice(0, -1))), null);
  assert.equal(parseAnswer(Buffer.from(one + one)).bytes, one.length);
  assert.deepEqual(parseAnswer(Buffer.from(`HTTP/1.1 100 Continue\r\n\r\n${one}`)).interim, [100]);
  assert.throws(() => parseAnswer(Buffer.from('HTTP/2 200\r\n\r\n')), /status line/);
});

test('metrics that no Prometheus would read are refused', () => {
  assert.equal(parseMetrics('a{x="1"} 2\n').get('a{x="1"}'), 2);
  assert.throws(() => parseMetrics('a{x=1} 2\n'), /not a sample/);
  assert.throws(() => parseMetrics('a 1\na 1\n'), /given twice/);
});

test('another database of the same cluster', () => {
  assert.equal(withDatabase('postgres://souk@/postgres?host=/tmp/x', 'y'), 'postgres://souk@/y?host=/tmp/x');
});

/** Global functions and variables that more than one object of the library defines: the linker takes any of them. */
function definedTwice(archive) {
  const run = spawnSync('nm', ['-A', '--defined-only', '--extern-only', archive], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stderr);
  const names = run.stdout
    .split('\n')
    .map((line) => /^(.*): *[0-9a-f]+ [TDBRV] (\w+)$/.exec(line))
    .filter(Boolean);
  assert.ok(names.length > 0);
  const seen = new Map();
  for (const [, where, name] of names) seen.set(name, [...(seen.get(name) ?? []), where.split(':').pop()]);
  return [...seen]
    .filter(([, places]) => places.length > 1)
    .map(([name, places]) => `${name} in ${places.join(' and ')}`);
}

test('no symbol of the library is defined twice', () => {
  assert.deepEqual(definedTwice(path.join(BUILD, 'libsouk.a')), []);
});

test('control: a symbol that is defined twice is found', (t) => {
  const dir = scratch(t);
  for (const name of ['a', 'b']) {
    fs.writeFileSync(path.join(dir, `${name}.c`), 'int twice(void);\nint twice(void) { return 1; }\n');
    assert.equal(spawnSync('gcc', ['-c', `${name}.c`], { cwd: dir }).status, 0);
  }
  assert.equal(spawnSync('ar', ['rcs', 'l.a', 'a.o', 'b.o'], { cwd: dir }).status, 0);
  assert.deepEqual(definedTwice(path.join(dir, 'l.a')), ['twice in a.o and b.o']);
});

/** Whether two files can be compiled as one, by tools/bunches.py. */
function goTogether(t, ...texts) {
  const dir = scratch(t);
  const files = texts.map((text, i) => path.join(dir, `${i}.c`));
  files.forEach((file, i) => fs.writeFileSync(file, `${texts[i]}\n`));
  const args = [path.join(root, 'tools/bunches.py'), path.join(dir, 'bunch.c'), '--', ...files];
  const run = spawnSync('python3', args, { encoding: 'utf8' });
  if (run.status !== 0) assert.match(run.stderr, /goes with no others/);
  return run.status === 0;
}

test('files that have a static function of one name are in different bunches, also where an attribute stands before it', (t) => {
  const say = 'static void say(int a)\n{\n}';
  assert.ok(goTogether(t, say, 'static void tell(int a)\n{\n}'));
  assert.ok(!goTogether(t, say, 'static int say(void)\n{\n}'));
  assert.ok(!goTogether(t, say, '__attribute__((format(printf, 1, 0))) static void say(const char *fmt)\n{\n}'));
});

/** Packages for this kind of machine that npm would leave out, without a word, with the oldest node: they are optional and want a newer one. */
function leftOut(lock) {
  return Object.entries(lock.packages)
    .filter(([, { optional, os: systems, engines }]) => optional && systems?.includes('linux') && engines?.node)
    .filter(([, { engines }]) => !/^>= ?(\d|1[0-8])(\.\d+)*$/.test(engines.node))
    .map(([name]) => name);
}

test('the compiled parts of npm packages are installed with the node of Debian 12, too', () => {
  const lock = JSON.parse(fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8'));
  assert.deepEqual(leftOut(lock), [], 'where they work with it, their engines are taken out of package-lock.json');
  lock.packages['node_modules/planted'] = { optional: true, os: ['linux'], engines: { node: '^20.19.0 || >=22.12.0' } };
  assert.deepEqual(leftOut(lock), ['node_modules/planted'], 'control');
});
