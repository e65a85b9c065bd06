// The test run and ./dev themselves: what they choose, and that whatever breaks ends with the promised line.
// runs: release
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CpuByProgram, cpuSeconds } from './cpu.mjs';
import { belongs, differs, isSpared, releaseEngines } from './heads.mjs';
import { summary } from './lanes.mjs';
import { PHASES, choose, lanesOf, needsOf, withoutThreads } from './phases.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const names = (words) => choose(words).phases.map((p) => p.name);

function scratch(t) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-runner-'));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function write(dir, name, text, mode = 0o644) {
  const file = path.join(dir, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text, { mode });
}

/** A tree with the real test run and nothing to test but what the test adds; its ./dev is `dev`. */
function smallTree(t, dev = '#!/bin/sh\nexit 0\n') {
  const dir = scratch(t);
  fs.cpSync(path.join(root, 'tests/lib'), path.join(dir, 'tests/lib'), {
    recursive: true,
    filter: (f) => !f.endsWith('.test.mjs'),
  });
  fs.copyFileSync(path.join(root, 'tests/run.mjs'), path.join(dir, 'tests/run.mjs'));
  write(dir, 'dev', dev, 0o755);
  return dir;
}

function environment(dir, more = {}) {
  const env = { ...process.env, TMPDIR: dir, ...more };
  for (const name of ['NODE_TEST_CONTEXT', 'NODE_OPTIONS', 'SOUK_LOG_DIR', 'SOUK_BUILD', 'SOUK_TEST_PG'])
    delete env[name];
  return env;
}

function runTests(dir, words, env = {}) {
  return spawnSync(process.execPath, ['tests/run.mjs', ...words], {
    cwd: dir,
    encoding: 'utf8',
    env: environment(dir, env),
  });
}

/** The run failed, said so in its last line, and kept its log: gives the log's text. */
function expectPromise(run, last, logName) {
  assert.equal(run.stdout.trimEnd().split('\n').pop(), last, run.stdout + run.stderr);
  assert.equal(run.status, 1);
  const logs = /^logs: (.*)$/m.exec(run.stdout)?.[1];
  assert.ok(logs && fs.existsSync(logs), `no folder of logs is named:\n${run.stdout}`);
  return logName ? fs.readFileSync(path.join(logs, logName), 'utf8') : '';
}

test('a phase by its name is this phase alone; a part of names is all of them; more only when named', () => {
  assert.deepEqual(names(['unit']), ['unit']);
  assert.deepEqual(names(['unit-']), ['unit-asan', 'unit-tsan']);
  assert.deepEqual(names(['unit', 'arrows']), ['arrows', 'unit']);
  assert.deepEqual(names(['api-asan-pg']), ['api-asan-pg']);
  assert.deepEqual(
    names([]),
    PHASES.filter((p) => !p.more).map((p) => p.name),
  );
  assert.deepEqual(choose(['unit', 'base64']).fileWords, ['base64']);
  assert.deepEqual(names(['base64']), names([]));
});

test('a part of the run asks for what it needs and for no more', () => {
  const needs = (...words) => needsOf(choose(words).phases);
  assert.deepEqual(needs('unit'), ['build', 'postgresql']);
  assert.deepEqual(needs('arrows'), ['gcc']);
  assert.deepEqual(needs('web'), ['build', 'chromium', 'tools']);
  assert.deepEqual(needs('fuzz'), ['build', 'clang']);
  assert.deepEqual(needs(), [
    'build',
    'chromium',
    'clang',
    'clients',
    'gcc',
    'lint',
    'package',
    'postgresql',
    'promtool',
    'tools',
  ]);
  const said = spawnSync(process.execPath, ['tests/run.mjs', '--needs', 'base64'], { cwd: root, encoding: 'utf8' });
  assert.equal(said.stdout, 'build clang postgresql\n', 'only the unit programs have a base64');
});

test('processor time counts children that have ended', () => {
  const before = cpuSeconds();
  spawnSync(process.execPath, ['-e', 'const end = Date.now() + 300; while (Date.now() < end);']);
  assert.ok(cpuSeconds() > before);
  assert.equal(cpuSeconds(2 ** 30), 0);
});

test('processor time is told by program', async () => {
  const programs = new CpuByProgram();
  const child = spawn('sh', ['-c', 'echo ready; while :; do :; done'], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  const deadline = Date.now() + 30000;
  let seen = 0;
  while (seen < 0.1 && Date.now() < deadline) {
    programs.look([process.pid]);
    seen = Object.fromEntries(programs.take()).sh + seen;
  }
  child.kill('SIGKILL');
  assert.ok(seen >= 0.1, 'a shell that is busy is seen');
  assert.deepEqual(programs.take(), []);
});

test('a good run says its processor time, then how many passed; nothing is kept', (t) => {
  const dir = smallTree(t);
  write(dir, 'tests/arrows/a.test.mjs', "import { test } from 'node:test';\ntest('x', () => {});\n");
  const run = runTests(dir, ['arrows']);
  assert.match(run.stdout, /\n== all: [0-9.]+ s, [0-9.]+ CPU minutes\n1 passed, 0 failed\n$/);
  assert.equal(run.status, 0);
  assert.deepEqual(
    fs.readdirSync(dir).filter((f) => f.startsWith('souk-test-')),
    [],
  );
});

test('control: a build that fails is a failure, with its output', (t) => {
  const dir = smallTree(t, '#!/bin/sh\necho "no compiler: $*" >&2\nexit 3\n');
  write(dir, 'tests/unit/test_a.c', '');
  assert.match(
    expectPromise(runTests(dir, ['unit']), '0 passed, 1 failed', 'build-release.log'),
    /no compiler: build --strict release/,
  );
});

test('control: without ./dev the builds fail, and nothing else', (t) => {
  const dir = smallTree(t);
  fs.rmSync(path.join(dir, 'dev'));
  write(dir, 'tests/unit/test_a.c', '');
  assert.match(expectPromise(runTests(dir, ['unit']), '0 passed, 1 failed', 'build-release.log'), /ENOENT/);
});

test('control: a PostgreSQL that does not start is a failure of each phase that needs it', (t) => {
  const dir = smallTree(t);
  for (const name of ['initdb', 'pg_ctl'])
    write(dir, `bin/${name}`, '#!/bin/sh\necho "no room for a cluster" >&2\nexit 1\n', 0o755);
  fs.chmodSync(dir, 0o755);
  write(dir, 'tests/unit/test_a.c', '');
  const run = runTests(dir, ['unit', 'unit-asan'], { SOUK_TEST_PG_BIN: path.join(dir, 'bin') });
  assert.match(expectPromise(run, '0 passed, 2 failed', 'postgresql.log'), /no room for a cluster/);
});

test('control: a build without what it should have made', (t) => {
  const dir = smallTree(t);
  write(dir, 'tests/fuzz/fuzz_a.c', '');
  const run = runTests(dir, ['fuzz']);
  expectPromise(run, '0 passed, 1 failed');
  assert.match(run.stdout, /ENOENT/);
});

test('control: nothing runs with a word that chooses nothing, such as phases with a comma between them', (t) => {
  const dir = smallTree(t);
  write(dir, 'tests/arrows/good.test.mjs', "import { test } from 'node:test';\ntest('good', () => {});\n");
  const last = (words) => {
    const run = runTests(dir, words);
    const lines = run.stdout.trimEnd().split('\n');
    return [lines[0], lines.at(-1), run.status];
  };
  for (const words of [['nothing-like-it'], ['arrows', 'goood'], ['arrows,unit']]) {
    const [first, ...end] = last(words);
    assert.deepEqual(end, ['0 passed, 1 failed', 1]);
    assert.ok(first.startsWith(`FAILED "${words.at(-1)}" is no phase`), first);
  }
  assert.deepEqual(last(['arrows', 'good']).slice(1), ['1 passed, 0 failed', 0]);
});

test('control: a file that ends the process fails, the others are run all the same; so does a process that ends badly', (t) => {
  const dir = smallTree(t);
  const good = "import { test } from 'node:test';\ntest('x', () => {});\n";
  write(dir, 'tests/arrows/a.test.mjs', good);
  write(
    dir,
    'tests/arrows/b.test.mjs',
    "import { test } from 'node:test';\ntest('x', () => { process.kill(process.pid, 'SIGKILL'); });\n",
  );
  write(dir, 'tests/arrows/c.test.mjs', good);
  const run = runTests(dir, ['arrows']);
  expectPromise(run, '2 passed, 1 failed');
  assert.match(run.stdout, /b\.test\.mjs: 0 passed, 1 FAILED[^]*did not finish \(SIGKILL\)/);
  write(
    dir,
    'tests/arrows/b.test.mjs',
    `${good}process.on('exit', () => { console.error('not stopped'); process.exitCode = 1; });\n`,
  );
  const bad = runTests(dir, ['arrows']);
  expectPromise(bad, '3 passed, 1 failed');
  assert.match(bad.stdout, /every test passed, but a test program ended with 1:[^]*not stopped/);
  write(dir, 'tests/arrows/b.test.mjs', `${good}setInterval(() => {}, 1000);\n`);
  const stuck = runTests(dir, ['arrows'], { SOUK_END_TIMEOUT_MS: '500' });
  expectPromise(stuck, '3 passed, 1 failed');
  assert.match(stuck.stdout, /every test passed, but a test program ended with timeout after 0\.5 s/);
});

test('control: a run that is told to end says so in its last line', async (t) => {
  const dir = smallTree(t);
  write(
    dir,
    'tests/arrows/a.test.mjs',
    "import { test } from 'node:test';\ntest('x', () => new Promise((r) => setTimeout(r, 60000)));\n",
  );
  const child = spawn(process.execPath, ['tests/run.mjs', 'arrows'], { cwd: dir, env: environment(dir) });
  let stdout = '';
  child.stdout.on('data', (c) => {
    if (!stdout) child.kill('SIGTERM');
    stdout += c;
  });
  const [status] = await once(child, 'close');
  assert.match(expectPromise({ stdout, stderr: '', status }, '0 passed, 1 failed'), /^/);
});

/** A project of one file that gcc warns about, with the real ./dev. */
function warningProject(t) {
  const dir = scratch(t);
  fs.copyFileSync(path.join(root, 'dev'), path.join(dir, 'dev'));
  write(
    dir,
    'meson.build',
    "project('x', 'c', default_options: ['warning_level=2'])\nexecutable('souk', 'main.c')\n# web/build.mjs\n",
  );
  write(dir, 'main.c', 'int main(void)\n{\n    int unused_name;\n    return 0;\n}\n');
  write(dir, 'package-lock.json', '{}\n');
  write(dir, 'node_modules/.installed-lock', '{}\n');
  return dir;
}

test('a warning stops the strict build and no other', (t) => {
  const dir = warningProject(t);
  const dev = (...args) => spawnSync('./dev', args, { cwd: dir, encoding: 'utf8', env: environment(dir) });
  assert.equal(dev('build').status, 0);
  const strict = dev('build', '--strict');
  assert.equal(strict.status, 1);
  assert.match(strict.stderr, /unused_name/);
  const log = /its output is kept in (\S+)/.exec(strict.stderr)?.[1];
  assert.match(fs.readFileSync(log, 'utf8'), /unused_name/);
  const after = dev('build');
  assert.equal(after.status, 0, `a folder that was left strict still builds: ${after.stderr}`);
});

/**
 * Of unit programs of the release build, those that start threads or switch fibers, by their tables of symbols. One readelf reads
 * all of them in a tenth of a second; nm takes that for each.
 */
function threadedOf(names) {
  const calls = /(pthread_create|thrd_create|uv_(thread_create|queue_work|getaddrinfo|getnameinfo|fs_|random))/.source;
  const isThreaded = new RegExp(` UND ${calls}| FUNC +(GLOBAL|LOCAL) +\\w+ +\\d+ fiber_`);
  const listed = spawnSync('readelf', ['--syms', '--wide', ...names.map((name) => `test_${name}`)], {
    cwd: path.join(root, 'build/tests/unit'),
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  assert.equal(listed.status, 0, listed.stderr);
  const tables = listed.stdout.split(/^File: test_/m).slice(1);
  assert.equal(tables.length, names.length);
  for (const table of tables) assert.match(table, / FUNC +GLOBAL +\w+ +\d+ main\n/, 'a program without its symbols');
  return tables.filter((table) => isThreaded.test(table)).map((table) => /^\w+/.exec(table)[0]);
}

test('the unit programs that ThreadSanitizer does not see start no thread and switch no fiber, and all others do', () => {
  const all = fs
    .readdirSync(path.join(root, 'tests/unit'))
    .map((f) => /^test_(.*)\.c$/.exec(f)?.[1])
    .filter(Boolean)
    .sort();
  const threaded = new Set(threadedOf(all));
  const listed = withoutThreads(fs.readFileSync(path.join(root, 'tests/unit/meson.build'), 'utf8'));
  assert.ok(threaded.has('tx') && threaded.has('fiber') && !threaded.has('str'));
  assert.deepEqual(
    listed.sort(),
    all.filter((name) => !threaded.has(name)),
  );
});

/** A folder that is configured with the other sign of char: that of the test run when it is there, which ./dev says last of all. */
function otherCharFolder(t) {
  const folder = path.join(root, 'build-asan');
  const said = path.join(folder, 'dev-options');
  if (fs.existsSync(said) && fs.readFileSync(said, 'utf8').includes('-Dother_char=true')) return folder;
  const dir = path.join(scratch(t), 'b');
  const made = spawnSync('meson', ['setup', dir, '-Dother_char=true', '-Dpanel=disabled'], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, CC: 'gcc' },
  });
  assert.equal(made.status, 0, made.stdout + made.stderr);
  return dir;
}

test('the build with the other sign of char has it', (t) => {
  const folder = otherCharFolder(t);
  const isUnsigned = /__CHAR_UNSIGNED__/.test(
    spawnSync('gcc', ['-dM', '-E', '-x', 'c', '/dev/null'], { encoding: 'utf8' }).stdout,
  );
  const commands = JSON.parse(fs.readFileSync(path.join(folder, 'compile_commands.json'), 'utf8')).filter((c) =>
    /\.c$/.test(c.file),
  );
  assert.ok(commands.length > 100);
  const flag = isUnsigned ? ' -fsigned-char ' : ' -funsigned-char ';
  assert.deepEqual(
    commands.filter((c) => !c.command.includes(flag)).map((c) => c.file),
    [],
  );
});

test('control: npm that fails ends ./dev test with the promised line, and its log is kept', (t) => {
  const dir = smallTree(t, fs.readFileSync(path.join(root, 'dev')));
  write(dir, 'tests/unit/test_a.c', '');
  write(dir, 'package-lock.json', '{}\n');
  write(dir, 'bin/npm', '#!/bin/sh\necho "the registry is away"\nexit 1\n', 0o755);
  const run = spawnSync('./dev', ['test', 'unit'], {
    cwd: dir,
    encoding: 'utf8',
    env: environment(dir, { PATH: `${dir}/bin:${process.env.PATH}` }),
  });
  assert.equal(run.stdout, '0 passed, 1 failed\n');
  assert.equal(run.status, 1);
  const log = /its output is kept in (\S+)/.exec(run.stderr)?.[1];
  assert.match(fs.readFileSync(log, 'utf8'), /the registry is away/);
});

/** The demo shop of every ./dev up here: made by the first, kept for the next. */
const shop = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-up-'));
after(() => fs.rmSync(shop, { recursive: true, force: true }));

/** Starts ./dev up; gives {child, stderr(), ready: the address it prints}. */
async function up(t, args) {
  const child = spawn('./dev', ['up', ...args], {
    cwd: root,
    env: environment(os.tmpdir(), { DEV_DATA: path.join(shop, 'data') }),
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  t.after(() => child.kill('SIGTERM'));
  let text = '';
  const ready = new Promise((resolve, reject) => {
    child.stderr.on('data', (c) => {
      text += c;
      const found = /^souk is ready at (\S+)\n[^]*Ctrl-C/m.exec(text);
      if (found) resolve(found[1]);
    });
    child.on('close', (code) => reject(new Error(`./dev up ended with ${code}:\n${text}`)));
  });
  return { child, stderr: () => text, ready: await ready };
}

async function stop(child) {
  child.kill('SIGTERM');
  const [status] = await once(child, 'close');
  assert.equal(status, 0);
}

test('./dev up says where it serves, also when 8080 is taken, and what to try', async (t) => {
  const squatter = net
    .createServer()
    .on('error', () => {})
    .listen(8080, '127.0.0.1'); // or somebody else has it
  t.after(() => squatter.close());
  const { child, stderr, ready } = await up(t, []);
  assert.notEqual(new URL(ready).port, '8080');
  assert.match(stderr(), /port 8080 is taken/);
  const [, command] = /a first request +(curl .*)$/m.exec(stderr());
  assert.match(
    spawnSync(
      'sh',
      [
        '-c',
        command.replace(
          'curl -s',
          `${process.execPath} -e 'fetch(process.argv[1]).then((r) => r.text()).then(console.log)'`,
        ),
      ],
      { encoding: 'utf8' },
    ).stdout,
    /"status":"success"/,
  );
  const [, email, password] = /log in as (\S+) with the password (\S+)$/m.exec(stderr());
  const login = await fetch(`${ready}/api/auth/login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  assert.equal(login.status, 200);
  await stop(child);
});

test('./dev up --listen with a port of 0 says the port that it became', async (t) => {
  const { child, ready } = await up(t, ['--listen', '127.0.0.1:0']);
  assert.notEqual(new URL(ready).port, '0');
  assert.equal((await fetch(`${ready}/livez`)).status, 200);
  await stop(child);
});

test('phases of the release build and those of the others run side by side, each in its lane', () => {
  const lanes = (words) => lanesOf(choose(words).phases).map((lane) => lane.map((p) => p.name));
  const [release, others] = lanes([]);
  assert.deepEqual([...release, ...others].sort(), names([]).sort());
  assert.ok(
    release.includes('arrows') && release.includes('web') && others.includes('unit-asan') && others.includes('fuzz'),
  );
  assert.deepEqual(lanes(['unit', 'api-sqlite']), [['unit', 'api-sqlite']]);
  assert.deepEqual(lanes(['unit', 'fuzz']), [['unit'], ['fuzz']]);
});

test('the release build runs a file in the whole run where the file says so', (t) => {
  const dir = scratch(t);
  const engines = (head) => {
    write(dir, 'a.test.mjs', `// About something.\n${head}\n`);
    return releaseEngines(path.join(dir, 'a.test.mjs')).join(' ');
  };
  assert.equal(engines(''), '');
  assert.equal(engines('// runs: pg'), '');
  assert.equal(engines('// runs: asan'), '');
  assert.equal(engines('// runs: release'), 'sqlite pg');
  assert.equal(engines('// runs: pg release'), 'pg');
  assert.equal(engines('// runs: asan release\n// release: pg'), 'pg');
  assert.equal(engines('// release: pg'), 'pg');
  assert.equal(engines('// release: sqlite pg'), 'sqlite pg');
});

test('what skips the sanitizers or does less there is told from what only waits longer', (t) => {
  const dir = scratch(t);
  const told = (text) => {
    write(dir, 'a.test.mjs', `import { IS_ASAN, SLOW } from './lib/souk.mjs';\n${text}\n`);
    return differs(path.join(dir, 'a.test.mjs'));
  };
  for (const text of ['const N = SLOW > 1 ? 1 : 9;', '{ skip: SLOW === 1 }', 'if (!IS_ASAN) f();', 'IS_TSAN ? 1 : 2'])
    assert.ok(told(text), text);
  for (const text of ['await f(5000 * SLOW);', '']) assert.ok(!told(text), text);
});

test('every file runs wherever it can make a difference', () => {
  for (const folder of ['tests/api', 'tests/race']) {
    const phases = PHASES.filter((p) => p.folder === folder && !p.more);
    const files = fs.readdirSync(path.join(root, folder)).filter((f) => f.endsWith('.test.mjs'));
    for (const file of files.map((f) => path.join(root, folder, f))) {
      const whole = phases.filter((p) => belongs(p, file) && !isSpared(p, file));
      const runs = whole.filter((p) => !p.sparse || releaseEngines(file).includes(p.engine));
      assert.deepEqual(new Set(runs.map((p) => p.engine)), new Set(whole.map((p) => p.engine)), `${file}: engines`);
      for (const { build } of whole.filter((p) => p.build !== 'release'))
        assert.ok(
          runs.some((p) => p.build === build),
          `${file}: ${build}`,
        );
      if (folder === 'tests/race' || differs(file))
        assert.ok(
          whole.length === 0 || runs.some((p) => p.build === 'release'),
          `${file} must say on which engines the release build runs it: // release: sqlite pg`,
        );
    }
  }
});

test('files are left out of the release build, or spared, in the whole run alone: a phase that is named has all of them', (t) => {
  const dir = smallTree(t);
  const good = "import { test } from 'node:test';\ntest('good', () => {});\n";
  write(dir, 'tests/race/one.test.mjs', `// release: pg\n${good}`);
  write(dir, 'tests/race/two.test.mjs', good);
  write(dir, 'tests/race/three.test.mjs', `// release: sqlite\n${good}`);
  write(dir, 'tests/race/four.test.mjs', `// release: sqlite\n// spares: release\n${good}`);
  write(dir, 'build/souk', '#!/bin/sh\necho 1\n', 0o755);
  const count = (args) => Number(/race-sqlite: (\d+) passed/.exec(runTests(dir, args).stdout)?.[1]);
  assert.equal(count(['race-sqlite']), 4);
  assert.equal(count(['--lane', 'race-sqlite']), 4);
  assert.equal(count(['--lane-of-all', 'race-sqlite']), 1);
});

test('lanes are summed up, and one that broke off has failed', () => {
  const lane = (exit, ...tail) => ({ exit, tail, args: ['x'] });
  const good = lane(0, '== all: 3.0 s, 1.5 CPU minutes, 2 skipped', '10 passed, 0 failed');
  const bad = lane(1, '== all: 4.0 s, 0.5 CPU minutes', 'logs: /l', 'FAILED y', '5 passed, 1 failed');
  assert.deepEqual(summary([good, bad]), {
    passed: 15,
    failed: 1,
    skipped: 2,
    minutes: 2,
    told: ['logs: /l', 'FAILED y'],
  });
  for (const broken of [
    lane('SIGKILL'),
    lane(1, ...good.tail),
    lane(0, ...bad.tail),
    lane(0, '== all: 1 s, 1.0 CPU minutes'),
  ])
    assert.ok(summary([good, broken]).failed > 0, JSON.stringify(broken));
});

test('a run with two lanes ends with one sum, and with a failure of either', (t) => {
  const dir = smallTree(t);
  const at = (phase) => PHASES.find((p) => p.name === phase).folder;
  write(dir, `${at('arrows')}/good.test.mjs`, "import { test } from 'node:test';\ntest('good', () => {});\n");
  write(
    dir,
    `${at('api-asan-sqlite')}/lane.test.mjs`,
    "import { test } from 'node:test';\ntest('bad', () => { throw new Error('no'); });\n",
  );
  const run = runTests(dir, ['arrows', 'api-asan-sqlite']);
  const lines = run.stdout.trimEnd().split('\n');
  assert.equal(run.status, 1, run.stdout + run.stderr);
  assert.match(lines.at(-1), /^1 passed, [1-9]\d* failed$/);
  assert.equal(lines.filter((line) => line.startsWith('== all: ')).length, 1);
});
