// Every libFuzzer target in turn, on as many cores as asked for: counts inputs, keeps what covers something new, and shows the
// grown corpus to the sanitizers. ./dev soak fuzz
//
//     node bench/fuzz.soak.mjs [MINUTES [CORES]]
//
// The targets of build-fuzz-soak have no AddressSanitizer and run several times as many inputs; what they keep is then read once
// by those of the test run's build, which have it. A line for each target is appended to build-fuzz-soak/report.txt; the corpus of
// the soak is beside it, and -merge of libFuzzer takes from it what belongs into tests/fuzz/corpus.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const minutes = Number(process.argv[2] ?? 60);
const cores = Number(process.argv[3] ?? os.cpus().length);
const soak = path.join(root, 'build-fuzz-soak');
const report = path.join(soak, 'report.txt');
const ROUND_S = 60;
/** Small languages: longer inputs are more of the same. */
const LONGEST = { csv: 256, cursor: 64, http: 1024, image: 32, money: 64, server: 1024, signature: 256, time: 40 };
const sums = new Map();
let failed = false;

const built = spawnSync('./dev', ['build', 'fuzz-soak'], { cwd: root, stdio: 'inherit' });
if (built.status !== 0) process.exit(1);

const targets = fs
  .readdirSync(path.join(root, 'tests/fuzz'))
  .map((f) => /^fuzz_(.*)\.c$/.exec(f)?.[1])
  .filter((name) => name && fs.existsSync(path.join(soak, 'tests/fuzz', `fuzz_${name}`)))
  .sort();

function corpusOf(name) {
  const kept = path.join(soak, 'corpus', name);
  fs.mkdirSync(kept, { recursive: true });
  const seeds = path.join(root, 'tests/fuzz/corpus', name);
  return fs.existsSync(seeds) ? [kept, seeds] : [kept];
}

function run(file, args) {
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
    let tail = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (tail = (tail + text).slice(-8000)));
    child.on('close', (code, signal) => resolve({ exit: code ?? signal, tail }));
  });
}

async function turn(name, seconds) {
  const started = Date.now();
  const { exit, tail } = await run(path.join(soak, 'tests/fuzz', `fuzz_${name}`), [
    `-max_total_time=${seconds}`,
    '-timeout=20',
    '-rss_limit_mb=2048',
    '-print_final_stats=1',
    '-verbosity=0',
    `-artifact_prefix=${soak}/${name}-`,
    ...(LONGEST[name] ? [`-max_len=${LONGEST[name]}`] : []),
    ...corpusOf(name),
  ]);
  const sum = sums.get(name) ?? { inputs: 0, ms: 0 };
  sum.inputs += Number(/stat::number_of_executed_units:\s*(\d+)/.exec(tail)?.[1] ?? 0);
  sum.ms += Date.now() - started;
  sums.set(name, sum);
  if (exit !== 0) fail(name, `ended with ${exit}`, tail);
}

function fail(name, what, said) {
  failed = true;
  console.log(`FAILED ${name}: ${what}\n${said}`);
  fs.appendFileSync(report, `FAILED ${name}: ${what}\n${said}\n`);
}

/** The corpus once more, with all sanitizers, where that build is there. */
function replay(name) {
  const checked = ['build-asan']
    .map((dir) => path.join(root, dir, 'tests/fuzz', `fuzz_${name}`))
    .find((file) => fs.existsSync(file));
  if (!checked) return '';
  const [kept] = corpusOf(name);
  const out = spawnSync(checked, ['-runs=0', '-timeout=20', kept], { encoding: 'utf8', cwd: root });
  if (out.status !== 0) fail(name, `the sanitizers end with ${out.status ?? out.signal}`, out.stderr.slice(-8000));
  return `, ${fs.readdirSync(kept).length} kept and read with sanitizers`;
}

async function main() {
  const end = Date.now() + minutes * 60_000;
  const waiting = [];
  const worker = async () => {
    while (Date.now() < end && !failed) {
      if (waiting.length === 0) waiting.push(...targets);
      const left = Math.ceil((end - Date.now()) / 1000);
      await turn(waiting.shift(), Math.max(1, Math.min(ROUND_S, left)));
    }
  };
  await Promise.all(Array.from({ length: cores }, worker));
  const lines = targets
    .filter((name) => sums.has(name))
    .map((name) => {
      const { inputs, ms } = sums.get(name);
      return `${name}: ${inputs} inputs in ${(ms / 1000).toFixed(0)} s${replay(name)}`;
    });
  const all = [...sums.values()].reduce((sum, s) => sum + s.inputs, 0);
  const head = `${new Date().toISOString()}, ${minutes} minutes on ${cores} of ${os.cpus().length} cores: ${all} inputs`;
  fs.appendFileSync(report, `${[head, ...lines].join('\n')}\n`);
  console.log([head, ...lines].join('\n'));
  process.exitCode = failed ? 1 : 0;
}

await main();
