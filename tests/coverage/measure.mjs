// tests/coverage/measure.mjs - what a run of the tests reached: from `llvm-cov export`, with the list of what it need not reach.
//
// A branch is one outcome of one condition: `a && b` has four. Not counted are the conditions of assert(), and what happens
// when a case of a switch does not match. What is in a header is counted once, however many files include it.
import path from 'node:path';

/** Where every branch is reached or has its reason in unreached.txt. */
export const CORE = [
  { area: 'ledger', files: /^src\/domain\/ledger\.[ch]$/ },
  { area: 'money', files: /^src\/(base\/money|gateway\/amount)\.[ch]$/ },
  { area: 'JSON', files: /^src\/json\// },
  { area: 'codec', files: /^src\/http\/(codec|charset)\.[ch]$/ },
  { area: 'signatures', files: /^src\/(gateway\/(signature|paypal_signature)|domain\/signing_key)\.[ch]$/ },
  { area: 'payments', files: /^src\/domain\/(payment\w*|refund)\.[ch]$/ },
];

/** In percent, of lines and of branches that can be reached, over all files. */
export const LEAST = 95;

export function areaOf(file) {
  return CORE.find(({ files }) => files.test(file))?.area ?? null;
}

/**
 * The branches and lines of the export's files below `root`/src: {files: Map of name to {lines, mcdc, branches}}; `sourceOf`
 * gives a file's text. A branch is {file, fn, line, text, side, count}.
 */
export function measure(exported, root, sourceOf) {
  const files = new Map();
  const nameOf = (absolute) => {
    const name = path.relative(root, absolute);
    return name.startsWith('src/') ? name : null;
  };
  for (const { filename, summary } of exported.data[0].files) {
    const name = nameOf(filename);
    if (name) files.set(name, { lines: counts(summary.lines), mcdc: counts(summary.mcdc), branches: [] });
  }
  const conditions = new Map();
  for (const { name: fn, filenames, branches } of exported.data[0].functions) {
    for (const [line, column, endLine, endColumn, yes, no, fileId] of branches) {
      const file = nameOf(filenames[fileId]);
      if (!file) continue;
      const key = `${file}:${line}:${column}:${endLine}:${endColumn}`;
      const found = conditions.get(key);
      if (found) {
        found.yes += yes;
        found.no += no;
      } else {
        const text = textAt(sourceOf(file), line, column, endLine, endColumn);
        conditions.set(key, { file, fn: fn.replace(/^.*:/, ''), line, text, yes, no });
      }
    }
  }
  for (const { yes, no, ...where } of conditions.values()) {
    if (/^assert\b/.test(where.text)) continue;
    const of = files.get(where.file).branches;
    of.push({ ...where, side: 'true', count: yes });
    if (!/^(case|default)\b/.test(where.text)) of.push({ ...where, side: 'false', count: no });
  }
  return files;
}

function counts(summary) {
  return { count: summary?.count ?? 0, covered: summary?.covered ?? 0 };
}

/** A condition that a macro of the system begins has no width: the rest of the call is taken, up to the end of its line. */
function textAt(source, line, column, endLine, endColumn) {
  const lines = source.split('\n').slice(line - 1, endLine);
  if (line === endLine && column === endColumn) {
    const rest = lines[0].slice(column - 1);
    return /^\w*(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?/.exec(rest)[0] || rest;
  }
  lines[lines.length - 1] = lines.at(-1).slice(0, endColumn - 1);
  lines[0] = lines[0].slice(column - 1);
  return lines.join(' ').replace(/\s+/g, ' ').trim();
}

/**
 * unreached.txt: after a line `= REASON` the lines `FILE FUNCTION SIDE: CONDITION` that it excuses: they cannot be reached. After
 * `~ REASON` those that it only explains: they count as not reached. After `? REASON` those that depend on the moment: they count as
 * what they were in this run. SIDE is true or false. A `*` stands for anything; a line with one is a rule, which may also fit branches
 * that are reached.
 */
export function parseUnreached(text) {
  const entries = [];
  let reason = null;
  let sort = '';
  text.split('\n').forEach((line, i) => {
    if (line === '' || line.startsWith('#')) return;
    if (/^[=~?] /.test(line)) {
      reason = line.slice(2);
      sort = line[0];
      return;
    }
    const parts = /^(\S+) (\S+) (true|false): (.+)$/.exec(line);
    if (!parts || !reason)
      throw new Error(`unreached.txt, line ${i + 1}: ${reason ? 'not understood' : 'no reason'}: ${line}`);
    const [, file, fn, side, condition] = parts;
    entries.push({ file, fn, side, condition, reason, sort, line });
  });
  return entries;
}

function pattern(text) {
  return new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, (c) => (c === '*' ? '.*' : `\\${c}`))}$`);
}

/** In the text of a condition a `*` is C's own, except for ` * ` alone at its beginning or end. */
function conditionPattern(text) {
  const [, before, middle, after] = /^(\* )?(.*?)( \*)?$/.exec(text);
  const escaped = middle.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return text === '*' ? /^.*$/ : new RegExp(`^${before ? '.*' : ''}${escaped}${after ? '.*' : ''}$`);
}

/**
 * Compares what was not reached with the list: {unlisted, stale, excused, explained}. `unlisted` are branches that have no reason, and
 * those of the core that are not excused; `stale` entries that fit no branch, or only reached ones and do not depend on the moment;
 * `excused` and `explained` maps from branch to entry; a branch is in one of them at most.
 */
export function judge(files, entries) {
  const excused = new Map();
  const explained = new Map();
  const stale = [];
  const all = [...files.values()].flatMap((f) => f.branches);
  for (const entry of entries) {
    const [file, fn, condition] = [pattern(entry.file), pattern(entry.fn), conditionPattern(entry.condition)];
    const fits = all.filter(
      (b) => b.side === entry.side && file.test(b.file) && fn.test(b.fn) && condition.test(b.text),
    );
    const unreached = fits.filter((b) => b.count === 0);
    if (fits.length === 0) stale.push({ ...entry, why: 'is not there' });
    else if (unreached.length === 0 && entry.sort !== '?') stale.push({ ...entry, why: 'is reached' });
    for (const b of unreached)
      if (!excused.has(b) && !explained.has(b)) (entry.sort === '=' ? excused : explained).set(b, entry);
  }
  const hasReason = (b) => excused.has(b) || (explained.has(b) && !areaOf(b.file));
  const unlisted = all.filter((b) => b.count === 0 && !hasReason(b));
  return { unlisted, stale, excused, explained };
}

/** Sums of some files: {lines, branches, mcdc}, each {count, covered}, of branches also `excused`. */
export function sum(files, excused) {
  const total = {
    lines: { count: 0, covered: 0 },
    branches: { count: 0, covered: 0, excused: 0 },
    mcdc: { count: 0, covered: 0 },
  };
  for (const { lines, mcdc, branches } of files) {
    for (const [to, from] of [
      [total.lines, lines],
      [total.mcdc, mcdc],
    ]) {
      to.count += from.count;
      to.covered += from.covered;
    }
    total.branches.count += branches.length;
    total.branches.covered += branches.filter((b) => b.count > 0).length;
    total.branches.excused += branches.filter((b) => excused.has(b)).length;
  }
  return total;
}

/** Rounded down: 100.0 is all of it. */
export function percent({ count, covered, excused = 0 }) {
  const reachable = count - excused;
  return reachable === 0 ? 100 : Math.floor((covered / reachable) * 1000) / 10;
}

/** What is wrong, as sentences; none: the run was good. */
export function complaints({ unlisted, stale }, total) {
  return [
    ...unlisted.map((b) => `not reached: ${b.file} ${b.fn} ${b.side}: ${b.text}   (line ${b.line})`),
    ...stale.map((e) => `${e.why}, but stands in unreached.txt: ${e.line}`),
    ...['lines', 'branches']
      .filter((kind) => percent(total[kind]) < LEAST)
      .map((kind) => `${percent(total[kind])} % of the ${kind} are reached, fewer than ${LEAST} %`),
  ];
}
