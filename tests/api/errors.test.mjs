// The error index explains every code that the server can give, and nothing else.
// runs: sqlite release
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const root = new URL('../../', import.meta.url);
const list = readFileSync(new URL('src/base/errors.def', root), 'utf8');
const index = readFileSync(new URL('docs/errors.md', root), 'utf8');
const codes = new Set(
  [...list.matchAll(/^E\((\w+),\s*(\d+),\s*"(\w+)"/gm)]
    .filter(([, , status]) => status !== '0')
    .map(([, , , code]) => code),
);
const sections = [...index.matchAll(/^## (\w+)$/gm)].map(([, code]) => code);

test('every error code has a section in docs/errors.md', () => {
  assert.ok(codes.size > 40);
  assert.deepEqual(
    [...codes].filter((code) => !sections.includes(code)),
    [],
  );
});

test('docs/errors.md has no section for a code that is not there, and none twice', () => {
  assert.deepEqual(
    sections.filter((code) => !codes.has(code)),
    [],
  );
  assert.equal(new Set(sections).size, sections.length);
});
