// tests/lib/tap.mjs - what a test program's TAP output says. A program that stops halfway counts as a failure.

/**
 * Takes the TAP output of tests/lib/worker.mjs as it comes; `done(file, result)` is called at each file's end.
 * A result is {passed, failed, skipped, failures: [text], lacks: [text]}: failures hold every failing test's line and its details,
 * lacks the tests that were skipped because of what this machine has not.
 */
export class FileResults {
  #lines = [];
  #rest = '';
  #file = null;
  #isEnding = false;

  constructor(done) {
    this.done = done;
  }

  /** What belongs to no file that has ended. */
  get unfinished() {
    return [...this.#lines, this.#rest].join('\n');
  }

  take(text) {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop();
    for (const line of lines) this.#takeLine(line);
  }

  #takeLine(line) {
    const begins = /^# Subtest: (.*)$/.exec(line);
    if (begins && this.#file === null) this.#file = begins[1];
    this.#lines.push(line);
    if (this.#file !== null && /^(not )?ok \d+ - /.test(line) && line.endsWith(` - ${this.#file}`))
      this.#isEnding = true;
    if (!this.#isEnding || line !== '  ...') return;
    const file = this.#file;
    const result = fileResult(this.#lines);
    this.#lines = [];
    this.#file = null;
    this.#isEnding = false;
    this.done(file, result);
  }
}

/** Of the lines of one file, whose tests are inside a suite; suites themselves do not count. */
function fileResult(lines) {
  const result = { passed: 0, failed: 0, skipped: 0, failures: failingBlocks(lines), lacks: [] };
  lines.forEach((line, i) => {
    const found = /^\s+(not )?ok \d+ - .*?( # (?:SKIP|TODO)\b.*)?$/.exec(line);
    if (!found || detailsAt(lines, i).includes("type: 'suite'")) return;
    const lack = /^\s+ok \d+ - (.*?) # SKIP (not possible here: .*)$/.exec(line);
    if (lack) result.lacks.push(`${lack[1]}: ${lack[2]}`);
    if (found[2]) result.skipped += 1;
    else if (found[1]) result.failed += 1;
    else result.passed += 1;
  });
  if (result.failed === 0 && result.failures.length > 0) {
    result.failed = result.failures.length; // hooks that fail, and a file that cannot be loaded
  } else if (result.passed + result.failed + result.skipped === 0) {
    result.failed = 1;
    result.failures.push('the file has no tests');
  }
  return result;
}

/** The YAML block under the line of a test. */
function detailsAt(lines, i) {
  const indent = /^\s*/.exec(lines[i])[0];
  if (lines[i + 1] !== `${indent}  ---`) return '';
  let end = i + 1;
  while (end < lines.length && lines[end] !== `${indent}  ...`) end++;
  return lines.slice(i + 1, end).join('\n');
}

/** Each "not ok" line with its details; a parent that failed only because of its children is left out. */
function failingBlocks(lines) {
  return lines.flatMap((line, i) => {
    if (!/^\s*not ok \d+/.test(line) || /# (SKIP|TODO)\b/.test(line)) return [];
    const details = detailsAt(lines, i);
    return /failureType: 'subtestsFailed'/.test(details) ? [] : [[line, details].filter(Boolean).join('\n')];
  });
}

/** The result of a cmocka program run with CMOCKA_MESSAGE_OUTPUT=TAP; it may hold several groups. */
export function cmockaResult(output, exit) {
  const planned = [...output.matchAll(/^1\.\.(\d+)$/gm)].reduce((sum, m) => sum + Number(m[1]), 0);
  // cmocka writes "not ok 1 # SKIP name" for a test that skipped itself.
  const skipped = [...output.matchAll(/^(?:not )?ok \d+.*# SKIP/gm)].length;
  const lines = (pattern) => [...output.matchAll(pattern)].filter((m) => !m[0].includes('# SKIP')).length;
  const passed = lines(/^ok \d+.*$/gm);
  let failed = lines(/^not ok \d+.*$/gm);
  const lost = planned - passed - failed - skipped;
  if (lost > 0) failed += lost;
  if (failed === 0 && (exit !== 0 || planned === 0)) failed = 1;
  return { passed, failed, skipped, failures: failed > 0 ? [`ended with ${exit}:\n${output}`] : [] };
}
