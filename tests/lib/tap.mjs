// tests/lib/tap.mjs - what a test program's TAP output says. A program that stops half way counts as a failure.

/**
 * The result of a Node test file (reporter `tap`), from its closing "# pass N" lines.
 * {passed, failed, skipped, failures: [text]}: failures hold every failing test's line and its details.
 */
export function nodeResult(output, exit) {
  const number = (word) => {
    const found = [...output.matchAll(new RegExp(`^# ${word} (\\d+)$`, 'gm'))].pop();
    return found ? Number(found[1]) : null;
  };
  const passed = number('pass');
  if (passed === null) {
    return { passed: 0, failed: 1, skipped: 0, failures: [`the test program did not finish (${exit}):\n${output}`] };
  }
  const result = {
    passed,
    failed: number('fail') + (number('cancelled') ?? 0),
    skipped: (number('skipped') ?? 0) + (number('todo') ?? 0),
    failures: failingBlocks(output),
  };
  if (result.failed === 0 && result.failures.length > 0) {
    result.failed = result.failures.length; // hooks that fail are not in the closing lines
  } else if (result.failed === 0 && exit !== 0) {
    result.failed = 1;
    result.failures.push(`every test passed, but the test program ended with ${exit}:\n${output}`);
  } else if (result.failed === 0 && passed + result.skipped === 0) {
    result.failed = 1;
    result.failures.push('the file has no tests');
  }
  return result;
}

/** Each "not ok" line with the YAML block under it; a parent that failed only because of its children is left out. */
function failingBlocks(output) {
  const lines = output.split('\n');
  const blocks = [];
  for (let i = 0; i < lines.length; i++) {
    const start = /^(\s*)not ok \d+/.exec(lines[i]);
    if (!start || /# (SKIP|TODO)\b/.test(lines[i])) continue;
    let end = i + 1;
    if (lines[end]?.trim() === '---') {
      while (end < lines.length && lines[end] !== `${start[1]}  ...`) end++;
    }
    const block = lines.slice(i, end).join('\n');
    if (!/failureType: 'subtestsFailed'/.test(block)) blocks.push(block);
  }
  return blocks;
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
