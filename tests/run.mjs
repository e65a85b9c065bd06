// tests/run.mjs - runs every suite and ends with one line: "N passed, N failed".
//
//     node tests/run.mjs [FILTER...]     (./dev test installs what is needed first)
//
// A filter that is part of a phase's name chooses phases; any other chooses test files and unit programs by name.
// A test file that is the same whatever the engine or build says so in its head, e.g. `// runs: sqlite` or `// runs: release
// asan`; it is then left out of the phases of other engines and builds.
// Logs of servers and programs go to a temporary folder that is kept when something failed.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startCluster, stopCluster } from './lib/pg.mjs';
import { SANITIZER_ENV, crashReport, sanitizerReport } from './lib/sanitizer.mjs';
import { cmockaResult, nodeResult } from './lib/tap.mjs';

/**
 * The whole matrix, in order of running. `at_once` is how many files of the phase run side by side. Each sanitizer runs the
 * black-box suite on one engine; the other two combinations (`more`) run when a filter names them, and in ./dev soak.
 */
const PHASES = [
  { name: 'arrows', run: nodeFiles, folder: 'tests/arrows' },
  { name: 'harness', run: nodeFiles, folder: 'tests/lib', build: 'release' },
  { name: 'unit', run: unitPrograms, build: 'release', pg: true, at_once: 2 },
  { name: 'api-sqlite', run: nodeFiles, folder: 'tests/api', build: 'release', engine: 'sqlite', at_once: 2 },
  { name: 'api-pg', run: nodeFiles, folder: 'tests/api', build: 'release', engine: 'pg', at_once: 2 },
  { name: 'race-sqlite', run: nodeFiles, folder: 'tests/race', build: 'release', engine: 'sqlite' },
  { name: 'race-pg', run: nodeFiles, folder: 'tests/race', build: 'release', engine: 'pg' },
  { name: 'web', run: nodeFiles, folder: 'tests/web', build: 'release', engine: 'sqlite', at_once: 2 },
  { name: 'unit-asan', run: unitPrograms, build: 'asan', pg: true, at_once: 2 },
  { name: 'api-asan-sqlite', run: nodeFiles, folder: 'tests/api', build: 'asan', engine: 'sqlite', at_once: 2 },
  { name: 'api-asan-pg', run: nodeFiles, folder: 'tests/api', build: 'asan', engine: 'pg', at_once: 2, more: true },
  { name: 'race-asan', run: nodeFiles, folder: 'tests/race', build: 'asan', engine: 'sqlite' },
  { name: 'unit-tsan', run: unitPrograms, build: 'tsan', pg: true, at_once: 2 },
  { name: 'api-tsan-sqlite', run: nodeFiles, folder: 'tests/api', build: 'tsan', engine: 'sqlite', at_once: 2, more: true },
  { name: 'api-tsan-pg', run: nodeFiles, folder: 'tests/api', build: 'tsan', engine: 'pg', at_once: 2 },
  { name: 'race-tsan', run: nodeFiles, folder: 'tests/race', build: 'tsan', engine: 'pg' },
  { name: 'fuzz', run: fuzzTargets, build: 'fuzz', at_once: 2 },
];

const FILE_TIMEOUT_MS = 300_000;
/** Leak checks at a process's end slower than this are made for some processes only (tests/api/lib/souk.mjs). */
const LEAK_CHECK_MS = 1000;
const FUZZ_SECONDS = Number(process.env.SOUK_FUZZ_SECONDS ?? 10);

const root = fileURLToPath(new URL('..', import.meta.url));
const logs = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-test-'));
const total = { passed: 0, failed: 0, skipped: 0 };
const running = new Set();
let cluster = null;
let leaks = null;

process.chdir(root);
process.on('exit', cleanUp);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
await main(process.argv.slice(2));

async function main(filters) {
  const isPhase = (word) => PHASES.some((p) => p.name.includes(word));
  const phaseWords = filters.filter(isPhase);
  const fileWords = filters.filter((word) => !isPhase(word));
  const started = Date.now();
  const built = new Map();

  for (const phase of PHASES) {
    if (phaseWords.length > 0 && !phaseWords.some((word) => phase.name.includes(word))) continue;
    if (phaseWords.length === 0 && phase.more) continue;
    const units = unitsOf(phase, fileWords);
    if (units && units.length === 0) continue;
    if (phase.build && !built.has(phase.build)) built.set(phase.build, build(phase.build));
    if (phase.build && !built.get(phase.build)) continue;
    await runPhase(phase, units, fileWords);
  }
  console.log(`== all: ${seconds(started)}${total.skipped ? `, ${total.skipped} skipped` : ''}`);
  if (total.passed + total.failed === 0) fail('nothing matches', [`filters: ${filters.join(' ')}`]);
  if (total.failed > 0) console.log(`logs: ${logs}`);
  process.exitCode = total.failed > 0 ? 1 : 0;
  cleanUp();
  console.log(`${total.passed} passed, ${total.failed} failed`);
}

/** Files of a phase of Node tests; null for phases that learn what they have from the build. */
function unitsOf(phase, words) {
  if (!phase.folder) return null;
  const files = fs.existsSync(phase.folder) ? fs.readdirSync(phase.folder).filter((f) => f.endsWith('.test.mjs')).sort() : [];
  return matching(files, words).map((f) => path.join(phase.folder, f)).filter((f) => belongs(phase, f));
}

function belongs(phase, file) {
  const words = /^\/\/ runs: (.*)$/m.exec(fs.readFileSync(file, 'utf8').slice(0, 2000))?.[1].split(' ') ?? [];
  const allows = (choices, value) => !value || !words.some((w) => choices.includes(w)) || words.includes(value);
  return allows(['sqlite', 'pg'], phase.engine) && allows(['release', 'asan', 'tsan'], phase.build);
}

function matching(names, words) {
  return words.length === 0 ? names : names.filter((name) => words.some((word) => name.includes(word)));
}

async function runPhase(phase, units, words) {
  const started = Date.now();
  const before = { ...total };
  console.log(`== ${phase.name}`);
  if ((phase.pg || phase.engine === 'pg') && !cluster) cluster = startCluster();
  phase.logs = path.join(logs, phase.name);
  fs.mkdirSync(phase.logs, { recursive: true });
  await phase.run(phase, units ?? words);
  checkServerLogs(phase);
  const skipped = total.skipped - before.skipped;
  console.log(`   ${phase.name}: ${total.passed - before.passed} passed, ${total.failed - before.failed} failed` +
    `${skipped ? `, ${skipped} skipped` : ''}, ${seconds(started)}`);
}

function build(kind) {
  const started = Date.now();
  const out = spawnSync('./dev', ['build', kind], { encoding: 'utf8' });
  console.log(`== build ${kind}: ${seconds(started)}`);
  if (out.status === 0) return true;
  fail(`build ${kind}`, [out.stdout + out.stderr]);
  return false;
}

function buildDir(kind) {
  return path.join(root, kind === 'release' ? 'build' : `build-${kind}`);
}

function environment(phase) {
  const env = { ...process.env, ...SANITIZER_ENV, SOUK_LOG_DIR: phase.logs };
  if (phase.build) env.SOUK_BUILD = buildDir(phase.build);
  if (phase.engine) env.SOUK_ENGINE = phase.engine;
  if (cluster) env.SOUK_TEST_PG = cluster.url;
  if (phase.build === 'asan') env.SOUK_LEAKS = leakChecks();
  delete env.NODE_OPTIONS;
  return env;
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

/** Runs `job` for every item, so many at once as the phase says. */
async function sideBySide(phase, items, job) {
  const waiting = [...items];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await job(item);
  };
  await Promise.all(Array.from({ length: phase.at_once ?? 1 }, worker));
}

async function nodeFiles(phase, files) {
  await sideBySide(phase, files, async (file) => {
    const started = Date.now();
    const run = await program(process.execPath, ['--test-reporter=tap', file], environment(phase), FILE_TIMEOUT_MS);
    count(`${phase.name} ${file}`, nodeResult(run.output, run.exit), started);
  });
}

/** Every program that meson lists in the suite `unit`; each of its cmocka tests counts. */
async function unitPrograms(phase, words) {
  const listed = JSON.parse(spawnSync('meson', ['introspect', buildDir(phase.build), '--tests'], { encoding: 'utf8' }).stdout);
  const tests = listed.filter((t) => t.suite.some((s) => s.endsWith('unit')));
  if (tests.length === 0) fail(phase.name, ['meson lists no unit tests']);
  await sideBySide(phase, matching(tests.map((t) => t.name), words), async (name) => {
    const test = tests.find((t) => t.name === name);
    const started = Date.now();
    const env = { ...environment(phase), ...test.env, CMOCKA_MESSAGE_OUTPUT: 'TAP' };
    const run = await program(test.cmd[0], test.cmd.slice(1), env, FILE_TIMEOUT_MS, test.workdir ?? undefined);
    const result = cmockaResult(run.output, run.exit);
    const report = sanitizerReport(run.output);
    if (report && result.failed === 0) {
      result.failed = 1;
      result.failures.push(report);
    }
    count(`${phase.name} ${name}`, result, started);
  });
}

/** Every libFuzzer target for a short time: one test each, passed when it ran inputs and found nothing. */
async function fuzzTargets(phase, words) {
  const dir = path.join(buildDir('fuzz'), 'tests/fuzz');
  const targets = fs.existsSync(dir) ? fs.readdirSync(dir).filter((f) => /^fuzz_[a-z0-9_]+$/.test(f)).sort() : [];
  await sideBySide(phase, matching(targets, words), async (target) => {
    const started = Date.now();
    const name = target.replace(/^fuzz_/, '');
    const found = path.join(phase.logs, name);
    fs.mkdirSync(found);
    const seeds = path.join(root, 'tests/fuzz/corpus', name);
    const args = [`-max_total_time=${FUZZ_SECONDS}`, '-timeout=5', '-rss_limit_mb=2048', '-print_final_stats=1',
      `-artifact_prefix=${phase.logs}/${name}-`, found, ...(fs.existsSync(seeds) ? [seeds] : [])];
    const run = await program(path.join(dir, target), args, environment(phase), (FUZZ_SECONDS + 120) * 1000);
    const executed = Number(/stat::number_of_executed_units:\s*(\d+)/.exec(run.output)?.[1] ?? 0);
    const good = run.exit === 0 && executed > 0;
    count(`${phase.name} ${name}`, {
      passed: good ? 1 : 0, failed: good ? 0 : 1, skipped: 0,
      failures: good ? [] : [`ended with ${run.exit} after ${executed} inputs:\n${run.output.slice(-20000)}`],
    }, started, `${executed} inputs`);
  });
}

/** Runs a program in a process group of its own; gives {output, exit}, exit being a number or a word. */
function program(file, args, env, timeoutMs, cwd = root) {
  return new Promise((resolve) => {
    const child = spawn(file, args, { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks = [];
    let late = false;
    running.add(child.pid);
    const timer = setTimeout(() => { late = true; killGroup(child.pid); }, timeoutMs);
    child.stdout.on('data', (c) => chunks.push(c));
    child.stderr.on('data', (c) => chunks.push(c));
    child.on('error', (e) => chunks.push(Buffer.from(String(e))));
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (child.pid) { killGroup(child.pid); running.delete(child.pid); }
      const exit = late ? `timeout after ${timeoutMs / 1000} s` : code ?? signal ?? 'no start';
      resolve({ output: Buffer.concat(chunks).toString(), exit });
    });
  });
}

function killGroup(pid) {
  try { process.kill(-pid, 'SIGKILL'); } catch { /* all of it has ended already */ }
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
  for (const text of result.failures) console.log(indent(text));
}

function fail(name, texts) {
  count(name, { passed: 0, failed: 1, skipped: 0, failures: texts }, Date.now());
}

function indent(text) {
  return text.split('\n').map((line) => `     | ${line}`).join('\n');
}

function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}

function cleanUp() {
  for (const pid of running) killGroup(pid);
  running.clear();
  if (cluster) {
    const { dir } = cluster;
    cluster = null;
    stopCluster(dir);
  }
  if (total.failed === 0) fs.rmSync(logs, { recursive: true, force: true });
}
