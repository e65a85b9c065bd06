// tools/coverage.mjs - what of src/ the tests reach (./dev coverage).
//
//     node tools/coverage.mjs [PHASE...]          runs these phases of tests/run.mjs and writes the report
//     node tools/coverage.mjs --more [PHASE...]   adds to what has been counted
//     node tools/coverage.mjs --report            only writes the report
//
// It writes docs/coverage.md, and in build-coverage/: html/, unreached.txt (every branch that was not reached). It fails when a
// test did, when a branch is neither reached nor in tests/coverage/unreached.txt, when that list has one that is reached or not
// there, and when the whole is under 95 %. What only a killed process saw is not counted.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CORE, areaOf, complaints, judge, measure, parseUnreached, percent, sum } from '../tests/coverage/measure.mjs';

const PHASES = ['unit', 'sim', 'api-sqlite', 'api-failing', 'api-pg', 'race-sqlite', 'race-pg', 'web'];
/** Here files run, too, that a failing database disturbs (tests/lib/phases.mjs): what they reach counts, not how they end. */
const COUNTED = 'api-failing';
/** Processes that write to the same file at once wait for each other: so many files per program. */
const PROFILES = '%4m.profraw';

const root = fileURLToPath(new URL('..', import.meta.url));
const built = path.join(root, 'build-coverage');
const profiles = path.join(built, 'profiles');
const phasesRun = path.join(built, 'phases.txt');
const merged = path.join(built, 'all.profdata');

process.exitCode = main(process.argv.slice(2));

function main(args) {
  const [mode, words] = /^--/.test(args[0] ?? '') ? [args[0], args.slice(1)] : ['', args];
  if (!['', '--more', '--report'].includes(mode)) throw new Error(`no such option: ${mode}`);
  const phases = words.length > 0 ? words : PHASES;
  const failed = mode === '--report' ? 0 : runTests(phases, mode === '--more');
  const files = measure(exported(), root, sources());
  const listed = fs.readFileSync(path.join(root, 'tests/coverage/unreached.txt'), 'utf8');
  const verdict = judge(files, parseUnreached(listed));
  const total = sum(files.values(), verdict.excused);
  fs.writeFileSync(path.join(built, 'unreached.txt'), unreachedList(files, verdict));
  fs.writeFileSync(path.join(root, 'docs/coverage.md'), report(files, verdict, total));
  writeHtml();
  const wrong = complaints(verdict, total);
  for (const line of wrong) console.log(line);
  console.log(`lines ${percent(total.lines)} %, branches ${percent(total.branches)} %; ${wrong.length} complaints`);
  return failed || wrong.length > 0 ? 1 : 0;
}

function runTests(phases, keeps) {
  if (!keeps) for (const old of [profiles, phasesRun]) fs.rmSync(old, { recursive: true, force: true });
  const judged = phases.filter((p) => p !== COUNTED);
  if (phases.includes(COUNTED)) runPhases([COUNTED], { SOUK_ALL: '1' });
  const failed = judged.length > 0 ? runPhases(judged) : 0;
  fs.appendFileSync(phasesRun, `${phases.join(' ')}\n`); // now: the first phase's build may have made a new folder
  return failed;
}

function runPhases(phases, more = {}) {
  const env = {
    ...process.env,
    ...more,
    SOUK_KIND: 'coverage',
    SOUK_SWEEP: 'all',
    LLVM_PROFILE_FILE: path.join(profiles, PROFILES),
  };
  return spawnSync(process.execPath, ['tests/run.mjs', ...phases], { cwd: root, env, stdio: 'inherit' }).status;
}

function llvm(tool, args, out = 'pipe') {
  const name = `${tool}${process.env.LLVM ?? ''}`;
  return execFileSync(name, args, {
    cwd: root,
    stdio: ['ignore', out, 'inherit'],
    maxBuffer: 1 << 30,
    encoding: 'utf8',
  });
}

/** The unit programs are made of the same library: what they count belongs to the functions of the server, too. */
function exported() {
  const raw = fs.readdirSync(profiles).map((f) => path.join(profiles, f));
  llvm('llvm-profdata', ['merge', '-o', merged, ...raw]);
  return JSON.parse(
    llvm('llvm-cov', ['export', `-instr-profile=${merged}`, '-skip-expansions', path.join(built, 'souk')]),
  );
}

function sources() {
  const read = new Map();
  return (file) => {
    if (!read.has(file)) read.set(file, fs.readFileSync(path.join(root, file), 'utf8'));
    return read.get(file);
  };
}

function writeHtml() {
  const to = path.join(built, 'html');
  const options = [
    '-format=html',
    `-output-dir=${to}`,
    '-show-branches=count',
    `-ignore-filename-regex=${built}|^/usr`,
  ];
  fs.rmSync(to, { recursive: true, force: true });
  llvm('llvm-cov', ['show', `-instr-profile=${merged}`, ...options, path.join(built, 'souk')]);
}

/** Every branch that was not reached, below its reason; those that cannot be reached come first. */
function unreachedList(files, { excused, explained }) {
  const byReason = new Map();
  for (const b of [...sorted(files)].flatMap(([, f]) => f.branches.filter((one) => one.count === 0))) {
    const entry = excused.get(b) ?? explained.get(b);
    const title = entry ? `${entry.sort} ${entry.reason}` : '! no reason is known';
    byReason.set(title, [...(byReason.get(title) ?? []), b]);
  }
  return [...byReason]
    .sort(([a], [b]) => '=~?!'.indexOf(a[0]) - '=~?!'.indexOf(b[0]))
    .map(([title, list]) =>
      [title, ...list.map((b) => `${b.file} ${b.fn} ${b.side}: ${b.text}   (line ${b.line})`), ''].join('\n'),
    )
    .join('\n');
}

function sorted(files) {
  return [...files].sort(([a], [b]) => (a < b ? -1 : 1));
}

function report(files, { excused, explained }, total) {
  const cells = (of, of_) => [
    `${of}`,
    `${of_.lines.count}`,
    `${percent(of_.lines).toFixed(1)}`,
    `${of_.branches.count}`,
    `${of_.branches.excused}`,
    `${percent(of_.branches).toFixed(1)}`,
    of_.mcdc.count > 0 ? `${percent(of_.mcdc).toFixed(1)}` : '',
  ];
  const table = (what, rows) =>
    [
      [what, 'lines', '% reached', 'branches', 'excused', '% of the others reached', '% MC/DC'],
      ['---', '--:', '--:', '--:', '--:', '--:', '--:'],
      ...rows,
    ]
      .map((row) => `| ${row.join(' | ')} |`)
      .join('\n');
  const of = (chosen) =>
    sum(
      chosen.map(([, f]) => f),
      excused,
    );
  const all = sorted(files);
  const folders = [...new Set(all.map(([name]) => path.dirname(name)))];
  const reasonsOf = (entries) => {
    const counts = new Map();
    for (const { reason } of entries.values()) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    return [...counts].map(([reason, n]) => `| ${n} | ${reason.replaceAll('|', '\\|')} |`).join('\n');
  };
  return `# Coverage

Made by \`./dev coverage\`, which ran \`${[...new Set(fs.readFileSync(phasesRun, 'utf8').trim().split(/\s+/))].join(' ')}\` in a build of clang that counts. A branch is one outcome
of one condition; conditions of \`assert()\` are not counted ([0065](decisions/0065-what-coverage-counts.md)). MC/DC: conditions that were
shown to decide their expression on their own. The same with every line: \`build-coverage/html/index.html\`.

${table('', [cells('**all**', total)])}

## The core

Here every branch is reached, or excused with its reason.

${table(
  'area',
  CORE.map(({ area }) => cells(area, of(all.filter(([name]) => areaOf(name) === area)))),
)}

## What is not reached

Excused is what no test can make happen; it does not count. Which branches these are, and why, is said in
[unreached.txt](../tests/coverage/unreached.txt).

| branches excused | because |
| --: | --- |
${reasonsOf(excused)}

What could happen, and no test makes happen, counts as not reached. A run lists each of these branches in
\`build-coverage/unreached.txt\`.

| branches not reached | because |
| --: | --- |
${reasonsOf(explained)}

## Folders

${table(
  'folder',
  folders.map((dir) => cells(dir, of(all.filter(([name]) => path.dirname(name) === dir)))),
)}

## Files

${table(
  'file',
  all.map(([name, f]) => cells(name, sum([f], excused))),
)}
`;
}
