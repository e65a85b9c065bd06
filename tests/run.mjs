// tests/run.mjs - runs every suite and ends with one line: "N passed, N failed".
//
//     node tests/run.mjs [FILTER...]         (./dev test installs what is needed first)
//     node tests/run.mjs --needs [FILTER...] only says what the machine must have for it
//
// A filter that is a phase's name (tests/lib/phases.mjs) chooses this phase alone, one that is a part of names all of these
// phases; any other chooses test files and unit programs by name. A word that chooses nothing is a failure, and nothing runs.
// A test file that does not depend on the engine or build says so in its head, e.g. `// runs: sqlite` or `// runs: release
// asan`; it is then left out of the phases of other engines and builds. Without any filter the release build runs only the files of the
// black-box suite that ask for it (lib/heads.mjs): the sanitizers' phases have all of them, one on either engine.
// The phases of the release build and those of the other builds run side by side, each lane in a run of its own (lib/lanes.mjs).
// With SOUK_KIND=coverage in the environment that build takes the place of the release build (tools/coverage.mjs).
// With SOUK_CPU=1 in the environment each phase says which programs its processor time went to, and each file what its process
// and the programs that it started have used (without PostgreSQL).
// Logs of servers and programs go to a temporary folder that is kept when something failed. Whatever goes wrong, a helper that
// does not start included, is counted as a failure, and the last line says how many there were.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CpuByProgram, cpuSeconds } from './lib/cpu.mjs';
import { memoryFolder } from './lib/memory.mjs';
import { nameOf, postmasterPid, startCluster, stopCluster } from './lib/pg.mjs';
import { belongs, isSpared, releaseEngines } from './lib/heads.mjs';
import { LANE, LANE_OF_ALL, runLanes } from './lib/lanes.mjs';
import { PHASES, choose, lanesOf, needsOf, withoutThreads } from './lib/phases.mjs';
import { prepareStores } from './lib/prepared.mjs';
import { SANITIZER_ENV, crashReport, sanitizerReport } from './lib/sanitizer.mjs';
import { FileResults, cmockaResult } from './lib/tap.mjs';

const FILE_TIMEOUT_MS = 300_000;
/** For a process whose files are done: a server that a failed test left behind would keep it. */
const END_TIMEOUT_MS = Number(process.env.SOUK_END_TIMEOUT_MS ?? 30_000);
/** Leak checks at a process's end slower than this are made for some processes only (tests/api/lib/souk.mjs). */
const LEAK_CHECK_MS = 1000;
/** How often is looked at the programs that run, with SOUK_CPU=1. */
const LOOK_MS = 200;
/** How much of a failure is repeated at the end of the run. */
const FAILURE_LINES = 15;
const FAILURE_CHARS = 2000;
/** The build that the phases of the release build use. */
const RELEASE = process.env.SOUK_KIND ?? 'release';
/** A fuzz target ends after so many inputs or seconds, whichever comes first; with SOUK_FUZZ_SECONDS after the latter alone. */
const FUZZ_INPUTS = process.env.SOUK_FUZZ_SECONDS ? -1 : 50_000;
const FUZZ_SECONDS = Number(process.env.SOUK_FUZZ_SECONDS ?? 1);

const root = fileURLToPath(new URL('..', import.meta.url));
const RUNNERS = { files: nodeFiles, units: unitPrograms, fuzzers: fuzzTargets };
const SOURCES = {
  files: { name: /^(.*\.test\.mjs)$/ },
  units: { folder: 'tests/unit', name: /^test_(.*)\.c$/ },
  fuzzers: { folder: 'tests/fuzz', name: /^fuzz_(.*)\.c$/ },
};
const total = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
const running = new Set();
/** The whole test run: of sparse phases (phases.mjs) only the files that ask for it. */
let isWhole = false;
let logs = null;
let cluster = null;
let clusterError = null;
let clusterCpu = 0;
let leaks = null;
let canBeInPlace = null;
/** Stores to copy, by engine, and builds whose validators were made: the phases of a run share them. */
const prepared = new Map();
const validated = new Set();
const programs = process.env.SOUK_CPU ? new CpuByProgram() : null;
const begun = mark();

process.chdir(root);
await main(process.argv.slice(2));

async function main(args) {
  const isQuestion = args[0] === '--needs';
  const isLane = [LANE, LANE_OF_ALL].includes(args[0]); // of a run that has looked at the words already
  const words = isQuestion || isLane ? args.slice(1) : args;
  isWhole = args[0] === LANE_OF_ALL || words.length === 0;
  const { phases: chosen, fileWords } = choose(words);
  const phases = chosen.filter((p) => unitsOf(p, fileWords).length > 0);
  if (isQuestion) {
    console.log(needsOf(phases).join(' '));
    return;
  }
  const strange = isLane ? [] : fileWords.filter((word) => !chosen.some((p) => unitsOf(p, [word]).length > 0));
  if (strange.length > 0) refuse(strange, chosen);
  const lanes = lanesOf(phases);
  if (lanes.length > 1) process.exit(await runLanes(lanes, fileWords, { isAll: isWhole, started: begun.at }));
  logs = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-test-'));
  process.on('exit', cleanUp);
  process.on('uncaughtException', (e) => {
    fail('the test run itself', [e.stack ?? String(e)]);
    finish();
  });
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.on(signal, () => {
      fail('the test run', [`ended by ${signal}`]);
      finish();
    });
  if (programs) setInterval(lookAtPrograms, LOOK_MS).unref();
  await runPhases(phases, fileWords);
  if (total.passed + total.failed === 0) fail('nothing matches', [`filters: ${words.join(' ')}`]);
  finish();
}

function refuse(words, chosen) {
  for (const word of words)
    console.log(
      `FAILED ${JSON.stringify(word)} is no phase, and no test file or unit program of what runs has it in its name`,
    );
  if (words.some((word) => word.includes(','))) console.log('words are separated by spaces');
  console.log(`phases: ${(chosen.length < PHASES.length ? chosen : PHASES).map((p) => p.name).join(' ')}`);
  console.log(`0 passed, ${words.length} failed`);
  process.exit(1);
}

async function runPhases(phases, fileWords) {
  const built = new Map();
  for (const phase of phases) {
    const units = unitsOf(phase, fileWords);
    if (units.length === 0) continue;
    if (phase.build && !built.has(phase.build)) built.set(phase.build, build(phase.build));
    if (phase.build && !built.get(phase.build)) continue;
    if (hasHelper(phase) && !built.has('release')) built.set('release', build('release'));
    await runPhase(phase, units);
  }
}

/**
 * In the whole run the sanitizers' phases have the release build for commands that are not the subject of a test
 * (tests/api/lib/souk.mjs). It has been made for other phases by then. A phase that is named does without.
 */
function hasHelper(phase) {
  return isWhole && Boolean(phase.engine) && ['asan', 'tsan'].includes(phase.build);
}

/** Ends the run, at whatever point it is. */
function finish() {
  const minutes = (cpuUsed() / 60).toFixed(1);
  cleanUp();
  console.log(
    `== all: ${seconds(begun.at)}, ${minutes} CPU minutes${total.skipped ? `, ${total.skipped} skipped` : ''}`,
  );
  if (total.failed > 0) console.log(`logs: ${logs}`);
  for (const { name, texts } of failures)
    console.log([`FAILED ${name}`, ...texts.map(shortened).map(indent)].join('\n'));
  console.log(`${total.passed} passed, ${total.failed} failed`);
  process.exit(total.failed > 0 ? 1 : 0);
}

/** What a phase has that the words ask for: test files, or names of unit programs and fuzz targets. */
function unitsOf(phase, words) {
  const { folder, name } = SOURCES[phase.run];
  const dir = phase.folder ?? folder;
  const found = fs.existsSync(dir)
    ? fs
        .readdirSync(dir)
        .map((f) => name.exec(f)?.[1])
        .filter(Boolean)
        .sort()
    : [];
  const units = matching(found, words);
  if (phase.run === 'units') return units.filter((unit) => isUnitOf(phase, unit));
  if (phase.run !== 'files') return units;
  const files = units.map((f) => path.join(dir, f)).filter((f) => belongs(phase, f) && !isLeftOut(phase, f));
  if (!isWhole) return files;
  return files.filter((f) => !isSpared(phase, f) && (!phase.sparse || releaseEngines(f).includes(phase.engine)));
}

/** With SOUK_ALL=1 nothing is left out: for what is counted, not judged (tools/coverage.mjs). */
function isLeftOut(phase, file) {
  return !process.env.SOUK_ALL && (phase.leaves_out ?? []).includes(path.basename(file, '.test.mjs'));
}

/** The build with ThreadSanitizer has no programs without threads (tests/unit/meson.build). */
function isUnitOf(phase, unit) {
  return phase.build !== 'tsan' || !withoutThreads(fs.readFileSync('tests/unit/meson.build', 'utf8')).includes(unit);
}

function matching(names, words) {
  return words.length === 0 ? names : names.filter((name) => words.some((word) => name.includes(word)));
}

async function runPhase(phase, units) {
  const start = mark();
  const before = { ...total };
  console.log(`== ${phase.name}`);
  phase.logs = path.join(logs, phase.name);
  fs.mkdirSync(phase.logs, { recursive: true });
  try {
    if (phase.pg || phase.engine === 'pg') needCluster();
    prepare(phase);
    await RUNNERS[phase.run](phase, units);
    checkServerLogs(phase);
  } catch (e) {
    fail(`${phase.name} did not run`, [e.stack ?? String(e)]);
  }
  const skipped = total.skipped - before.skipped;
  console.log(
    `   ${phase.name}: ${total.passed - before.passed} passed, ${total.failed - before.failed} failed` +
      `${skipped ? `, ${skipped} skipped` : ''}, ${spent(start)}`,
  );
  if (programs) sayPrograms(cpuUsed() - start.cpu);
}

function lookAtPrograms() {
  programs.look([process.pid, ...(cluster ? [postmasterPid(cluster.dir)] : [])]);
}

function sayPrograms(seconds_) {
  lookAtPrograms();
  const found = programs.take();
  const unseen = seconds_ - found.reduce((sum, [, s]) => sum + s, 0);
  console.log(
    `     of it ${[...found, ['ended unseen', unseen]]
      .filter(([, s]) => s >= 0.5)
      .map(([name, s]) => `${name} ${s.toFixed(1)}`)
      .join(', ')}`,
  );
}

/** Stores for the phase's tests to copy: for unit programs one on each engine. */
function prepare(phase) {
  if (phase.engine) makeValidators(phase);
  if (phase.engine) phase.prepared = storesOn(phase.engine, phase);
  else if (phase.run === 'units')
    phase.stored = ['pg', 'sqlite'].map((engine) => storesOn(engine, phase, ['store']).kinds.store.db);
}

/** Whichever build makes a store, it is the same: what an earlier phase has made is used again. */
function storesOn(engine, phase, kinds) {
  const souk = path.join(buildDir(hasHelper(phase) ? 'release' : (phase.build ?? 'release')), 'souk');
  prepared.set(engine, prepareStores(souk, engine === 'pg' ? cluster.url : null, kinds, prepared.get(engine)));
  return prepared.get(engine);
}

/** What holds answers against the OpenAPI document: made here, so that the test processes do not all make it at once. */
function makeValidators(phase) {
  const file = 'tests/api/lib/validators.mjs';
  const dir = buildDir(hasHelper(phase) ? 'release' : (phase.build ?? 'release'));
  if (validated.has(dir) || !fs.existsSync(file)) return;
  const env = { ...process.env, SOUK_BUILD: dir };
  const made = spawnSync(process.execPath, [file], { encoding: 'utf8', env });
  if (made.status !== 0) throw made.error ?? new Error(made.stderr);
  validated.add(dir);
}

/** One cluster for the whole run. When it does not start, every phase that needs it says why, and none tries again. */
function needCluster() {
  if (clusterError) throw clusterError;
  try {
    cluster ??= startCluster();
  } catch (e) {
    clusterError = e;
    fs.writeFileSync(path.join(logs, 'postgresql.log'), `${e.stack}\n`);
    throw e;
  }
}

/** Builds with warnings as errors; what takes the place of the release build may be another compiler's, with warnings of its own. */
function build(wanted) {
  const start = mark();
  const kind = kindOf(wanted);
  const strict = kind === wanted ? ['--strict'] : [];
  const out = spawnSync('./dev', ['build', ...strict, kind], { encoding: 'utf8', maxBuffer: 1 << 28 });
  console.log(`== build ${kind}: ${spent(start)}`);
  if (out.status === 0) return true;
  const said = out.error ? String(out.error.stack) : out.stdout + out.stderr;
  fs.writeFileSync(path.join(logs, `build-${kind}.log`), said);
  fail(`build ${kind}`, [said]);
  return false;
}

function kindOf(build_) {
  return build_ === 'release' ? RELEASE : build_;
}

function buildDir(build_) {
  const kind = kindOf(build_);
  return path.join(root, kind === 'release' ? 'build' : `build-${kind}`);
}

function environment(phase) {
  const env = { ...process.env, ...SANITIZER_ENV, SOUK_LOG_DIR: phase.logs, ...phase.env };
  if (phase.build) env.SOUK_BUILD = buildDir(phase.build);
  if (hasHelper(phase)) env.SOUK_HELPER = buildDir('release');
  if (phase.engine) env.SOUK_ENGINE = phase.engine;
  if (cluster) env.SOUK_TEST_PG = cluster.url;
  if (phase.engine) env.SOUK_PREPARED = JSON.stringify(phase.prepared);
  if (phase.run === 'units') {
    const [pg, file] = phase.stored;
    Object.assign(env, { SOUK_TEST_PG_STORE: nameOf(pg), SOUK_TEST_SQLITE_STORE: file, TMPDIR: memoryFolder() });
  }
  if (phase.stores && isWhole) env.SOUK_UNIT_STORES = phase.stores;
  if (phase.build === 'asan') env.SOUK_LEAKS = leakChecks();
  delete env.NODE_OPTIONS;
  delete env.SOUK_KIND;
  delete env.SOUK_ALL;
  return env;
}

/**
 * A command of the phase, without random addresses under ThreadSanitizer where the system allows that: with them, programs start themselves once more
 * on some machines (arm64).
 */
function inPlace(phase, command) {
  if (phase.build !== 'tsan') return command;
  canBeInPlace ??= spawnSync('setarch', ['-R', 'true']).status === 0;
  return canBeInPlace ? ['setarch', '-R', ...command] : command;
}

/** Which processes are checked for leaks. On some machines (gcc 12 on arm64) a check takes seconds: then not every one. */
function leakChecks() {
  if (!leaks) {
    const started = Date.now();
    spawnSync(path.join(buildDir('asan'), 'souk'), ['version'], { env: { ...process.env, ...SANITIZER_ENV } });
    leaks = Date.now() - started > LEAK_CHECK_MS ? 'some' : 'all';
  }
  return leaks;
}

/** Runs `job` for every item, as many at once as the phase says. */
async function sideBySide(phase, items, job) {
  const waiting = [...items];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await job(item);
  };
  await Promise.all(Array.from({ length: phase.at_once ?? 1 }, worker));
}

/** Test files, several to a process (tests/lib/worker.mjs). A process that ends before its time is followed by another. */
async function nodeFiles(phase, files) {
  const waiting = [...files];
  const worker = async () => {
    while (waiting.length > 0) await runWorker(phase, waiting);
  };
  await Promise.all(Array.from({ length: Math.min(phase.at_once ?? 1, files.length) }, worker));
}

/** One process, until nothing waits any more or it has ended. */
function runWorker(phase, waiting) {
  const patience = FILE_TIMEOUT_MS * (phase.patience ?? 1);
  const command = inPlace(phase, [process.execPath, '--test-reporter=tap', 'tests/lib/worker.mjs']);
  const child = spawn(command[0], command.slice(1), {
    env: environment(phase),
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let now = null;
  let timer = null;
  let failed = 0;
  let late = '';
  const said = [];
  const next = () => {
    clearTimeout(timer);
    const file = waiting.shift();
    now = file === undefined ? null : { file, started: Date.now(), cpu: programs ? cpuSeconds(child.pid) : 0 };
    timer = setTimeout(expire, now ? patience : END_TIMEOUT_MS);
    if (child.connected) child.send(file ?? null, () => {});
  };
  const expire = () => {
    late = `timeout after ${(now ? patience : END_TIMEOUT_MS) / 1000} s`;
    killGroup(child.pid);
  };
  const results = new FileResults((file, result) => {
    failed += result.failed;
    const cpu = programs ? `${(cpuSeconds(child.pid) - now.cpu).toFixed(1)} CPU s` : '';
    count(`${phase.name} ${file}`, result, now.started, cpu);
    next();
  });
  child.stdout.setEncoding('utf8').on('data', (text) => results.take(text));
  child.stderr.setEncoding('utf8').on('data', (text) => said.push(text));
  child.on('error', (e) => said.push(String(e)));
  if (child.pid) running.add(child.pid);
  next();
  return new Promise((resolve) => {
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (child.pid) {
        killGroup(child.pid);
        running.delete(child.pid);
      }
      const exit = late || (code ?? signal ?? 'no start');
      const output = () => `${results.unfinished}\n${said.join('').slice(-20000)}`;
      if (now) fail(`${phase.name} ${now.file}`, [`the test program did not finish (${exit}):\n${output()}`]);
      else if (exit !== 0 && failed === 0)
        fail(phase.name, [`every test passed, but a test program ended with ${exit}:\n${output()}`]);
      resolve();
    });
  });
}

/** Unit programs; each of their cmocka tests counts. Meson knows how to start them. */
async function unitPrograms(phase, names) {
  const listed = spawnSync('meson', ['introspect', buildDir(phase.build), '--tests'], { encoding: 'utf8' });
  if (listed.status !== 0) throw listed.error ?? new Error(`meson introspect failed: ${listed.stdout}${listed.stderr}`);
  const tests = new Map(JSON.parse(listed.stdout).map((t) => [t.name, t]));
  await sideBySide(phase, names, async (name) => {
    const test = tests.get(name);
    if (!test) {
      fail(`${phase.name} ${name}`, ['meson does not list it']);
      return;
    }
    const started = Date.now();
    const env = { ...environment(phase), ...test.env, CMOCKA_MESSAGE_OUTPUT: 'TAP' };
    const command = inPlace(phase, test.cmd);
    const run = await program(command[0], command.slice(1), env, FILE_TIMEOUT_MS, test.workdir ?? undefined);
    const result = cmockaResult(run.output, run.exit);
    const report = sanitizerReport(run.output);
    if (report && result.failed === 0) {
      result.failed = 1;
      result.failures.push(report);
    }
    count(`${phase.name} ${name}`, result, started);
  });
}

/** libFuzzer targets for a short time: one test each, passed when it ran inputs and found nothing. */
async function fuzzTargets(phase, names) {
  await sideBySide(phase, names, async (name) => {
    const started = Date.now();
    const found = path.join(phase.logs, name);
    fs.mkdirSync(found);
    const seeds = path.join(root, 'tests/fuzz/corpus', name);
    const args = [
      `-max_total_time=${FUZZ_SECONDS}`,
      `-runs=${FUZZ_INPUTS}`,
      '-timeout=5',
      '-rss_limit_mb=2048',
      '-print_final_stats=1',
      `-artifact_prefix=${phase.logs}/${name}-`,
      found,
      ...(fs.existsSync(seeds) ? [seeds] : []),
    ];
    const run = await program(
      path.join(buildDir(phase.build), 'tests/fuzz', `fuzz_${name}`),
      args,
      environment(phase),
      (FUZZ_SECONDS + 120) * 1000,
    );
    const executed = Number(/stat::number_of_executed_units:\s*(\d+)/.exec(run.output)?.[1] ?? 0);
    const good = run.exit === 0 && executed > 0;
    count(
      `${phase.name} ${name}`,
      {
        passed: good ? 1 : 0,
        failed: good ? 0 : 1,
        skipped: 0,
        failures: good ? [] : [`ended with ${run.exit} after ${executed} inputs:\n${run.output.slice(-20000)}`],
      },
      started,
      `${executed} inputs`,
    );
  });
}

/** Runs a program in a process group of its own; gives {output, exit}, exit being a number or a word. */
function program(file, args, env, timeoutMs, cwd = root) {
  return new Promise((resolve) => {
    const child = spawn(file, args, { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks = [];
    let late = false;
    if (child.pid) running.add(child.pid);
    const timer = setTimeout(() => {
      late = true;
      killGroup(child.pid);
    }, timeoutMs);
    child.stdout.on('data', (c) => chunks.push(c));
    child.stderr.on('data', (c) => chunks.push(c));
    child.on('error', (e) => chunks.push(Buffer.from(String(e))));
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (child.pid) {
        killGroup(child.pid);
        running.delete(child.pid);
      }
      const exit = late ? `timeout after ${timeoutMs / 1000} s` : (code ?? signal ?? 'no start');
      resolve({ output: Buffer.concat(chunks).toString(), exit });
    });
  });
}

function killGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    /* all of it has ended already */
  }
}

/** What servers wrote to stderr, also those that no test stopped or looked at. */
function checkServerLogs(phase) {
  for (const file of fs.readdirSync(phase.logs).filter((f) => f.endsWith('.stderr'))) {
    const text = fs.readFileSync(path.join(phase.logs, file), 'utf8');
    const report = sanitizerReport(text) ?? crashReport(text);
    if (report) fail(`${phase.name} ${file}`, [report]);
  }
}

function count(name, result, started, note = '') {
  total.passed += result.passed;
  total.failed += result.failed;
  total.skipped += result.skipped;
  const skipped = result.skipped ? `, ${result.skipped} skipped` : '';
  const failed = result.failed ? `, ${result.failed} FAILED` : '';
  console.log(`   ${name}: ${result.passed} passed${failed}${skipped}${note ? `, ${note}` : ''}, ${seconds(started)}`);
  for (const text of result.lacks ?? []) console.log(indent(`skipped: ${text}`));
  for (const text of result.failures) console.log(indent(text));
  if (result.failed > 0) failures.push({ name, texts: result.failures });
}

/** The head of a failure, to be told once more at the end: a long run's output is often read from its end. */
function shortened(text) {
  return text.split('\n').slice(0, FAILURE_LINES).join('\n').slice(0, FAILURE_CHARS);
}

function fail(name, texts) {
  count(name, { passed: 0, failed: 1, skipped: 0, failures: texts }, Date.now());
}

function indent(text) {
  return text
    .split('\n')
    .map((line) => `     | ${line}`)
    .join('\n');
}

function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}

function mark() {
  return { at: Date.now(), cpu: cpuUsed() };
}

/** Time by the clock, and of the processors. */
function spent(start) {
  return `${seconds(start.at)}, ${(cpuUsed() - start.cpu).toFixed(1)} CPU s`;
}

/** Of this run until now. The servers of PostgreSQL are daemons, no children: those of the run's own cluster are added. */
function cpuUsed() {
  return cpuSeconds() + (cluster ? clusterSeconds() : clusterCpu);
}

function clusterSeconds() {
  try {
    return cpuSeconds(postmasterPid(cluster.dir));
  } catch {
    return 0;
  }
}

function cleanUp() {
  for (const pid of running) killGroup(pid);
  running.clear();
  for (const { dir } of prepared.values()) fs.rmSync(dir, { recursive: true, force: true });
  prepared.clear();
  if (cluster) {
    const { dir } = cluster;
    clusterCpu = clusterSeconds();
    cluster = null;
    try {
      stopCluster(dir);
    } catch (e) {
      fail('the PostgreSQL of the run did not stop', [e.stack ?? String(e)]);
    }
  }
  if (total.failed === 0) fs.rmSync(logs, { recursive: true, force: true });
}
