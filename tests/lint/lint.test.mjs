// tests/lint/lint.test.mjs - the analysers have nothing to say about the project, and each of them would say it.
//
// `tools/lint --test` runs those that the test run has time for; ./dev lint runs all of them, over everything. What an analyser
// complains about changes with its version: the run asks those of Debian 12, and is skipped where there are others.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';

const VERSIONS = {
  'clang-tidy': /version 14\./,
  'clang-format': /version 14\./,
  cppcheck: /^Cppcheck 2\.10/,
  gcc: / 12\./,
};
const TIMEOUT_MS = 280_000;

/** A file with a mistake for each analyser, and nothing that another one would also find. */
const MISTAKES = {
  'format.c': 'int formatted( void );\nint formatted( void ) { return 1; }\n',
  'index.c': 'int last(void);\nint last(void)\n{\n    int a[2] = {1, 2};\n    return a[2];\n}\n',
  'free.c': '#include <stdlib.h>\n\nvoid twice(void *p);\nvoid twice(void *p)\n{\n    free(p);\n    free(p);\n}\n',
  'macro.c': '#define TWICE(x) (x * 2)\n\nint twice(int x);\nint twice(int x)\n{\n    return TWICE(x);\n}\n',
  'script.mjs': 'const   a = 1\nexport { a }\n',
  'script.sh': '#!/bin/sh\necho $1\n',
};

/** Which tools are of another version than the rules were written for. */
function strangers() {
  return Object.entries(VERSIONS)
    .filter(([tool, version]) => {
      const said = spawnSync(tool, ['--version'], { encoding: 'utf8' }).stdout ?? '';
      return !version.test(said);
    })
    .map(([tool]) => tool);
}

function lint(...args) {
  const out = spawnSync('tools/lint', args, { encoding: 'utf8', timeout: TIMEOUT_MS, maxBuffer: 1 << 26 });
  return { status: out.status, said: `${out.stdout}${out.stderr}` };
}

const others = strangers();
const skip = others.length > 0 ? `other versions than those of Debian 12: ${others.join(', ')}` : false;

test('every analyser finds the mistake that was made for it', { skip }, () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-lint-'));
  try {
    for (const [name, text] of Object.entries(MISTAKES)) fs.writeFileSync(path.join(dir, name), text);
    const { status, said } = lint('--of', dir);
    assert.equal(status, 1, said);
    for (const [tool, file] of [
      ['clang-format', 'format.c'],
      ['oxfmt', 'script.mjs'],
      ['shellcheck', 'script.sh'],
      ['cppcheck', 'index.c'],
      ['gcc -fanalyzer', 'free.c'],
      ['clang-tidy', 'macro.c'],
    ]) {
      const step = said.split(/^(?=ok {4}|FAIL {2})/m).find((part) => part.slice(6).startsWith(tool)) ?? '';
      assert.match(step, /^FAIL/, `${tool} is silent:\n${said}`);
      assert.ok(step.includes(file), `${tool} does not name ${file}:\n${step}`);
    }
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
});

test('nothing in the project is complained about', { skip }, () => {
  const { status, said } = lint('--test');
  assert.equal(status, 0, said);
});
