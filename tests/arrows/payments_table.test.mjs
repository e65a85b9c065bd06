// The tables of docs/payments.md name tests that exist: every cell of the first is a test or says that it cannot happen.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { PROVIDERS, SITUATIONS, happens } from '../api/lib/situations.mjs';

const root = new URL('../../', import.meta.url);
const read = (file) => fs.readFileSync(new URL(file, root), 'utf8');
const exists = (file) => fs.existsSync(new URL(file, root));

/** The tables of a Markdown text: each a list of rows, each row an object by the names of the columns. */
function tables(text) {
  const found = [];
  let rows = null;
  for (const line of text.split('\n')) {
    if (!line.startsWith('|')) {
      rows = null;
      continue;
    }
    const cells = line
      .slice(1, -1)
      .split('|')
      .map((c) => c.trim());
    if (!rows) {
      rows = [];
      found.push({ names: cells, rows });
    } else if (!/^-+$/.test(cells[0])) rows.push(cells);
  }
  return found.map(({ names, rows: all }) =>
    all.map((cells) => Object.fromEntries(names.map((n, i) => [n, cells[i]]))),
  );
}

const all = tables(read('docs/payments.md')).filter((rows) => rows[0]?.situation);
const [byProvider, forAll] = [all.find((rows) => 'stripe' in rows[0]), all.find((rows) => 'test' in rows[0])];

/** What is wrong with the table. */
function wrong(rows) {
  const bad = [];
  const names = rows.map((r) => r.situation);
  for (const s of SITUATIONS) if (!names.includes(s.name)) bad.push(`${s.name} is missing`);
  for (const row of rows) {
    const s = SITUATIONS.find(({ name }) => name === row.situation);
    if (!s) {
      bad.push(`${row.situation} has no tests`);
      continue;
    }
    for (const provider of PROVIDERS) {
      if (!row[provider]?.startsWith(happens(s, provider) ? '●' : '–'))
        bad.push(`${provider}: ${s.name} is ${row[provider]}`);
    }
  }
  return bad;
}

test('every situation at every provider has its test, or cannot happen there', () => {
  assert.deepEqual(Object.keys(byProvider[0]).slice(-5), PROVIDERS);
  assert.deepEqual(wrong(byProvider), []);
  const source = read('tests/api/payment_table.test.mjs');
  assert.ok(source.includes('test(`${provider}: ${s.name}`'), 'tests are called as the page says'); // eslint-disable-line no-template-curly-in-string
});

test('the control: a cell that nobody tests, a row too many and a row too few are seen', () => {
  assert.notDeepEqual(wrong(byProvider.map((r) => (r.situation === 'disputed' ? { ...r, btcpay: '●' } : r))), []);
  assert.notDeepEqual(wrong([...byProvider, { situation: 'lost in the post' }]), []);
  assert.notDeepEqual(wrong(byProvider.slice(1)), []);
});

test('every test that is named exists', () => {
  for (const { situation, test: named } of forAll) {
    for (const one of named.split(' · ')) {
      if (one.startsWith('tests/')) {
        assert.ok(exists(`${one}.test.mjs`), one);
        continue;
      }
      const [, file, name] = /^(\w+): (.*?)( …)?$/.exec(one) ?? assert.fail(`${situation}: ${one}`);
      const tests = [...read(`tests/api/${file}.test.mjs`).matchAll(/^\s*test\(\s*(['"`])(.*?)\1,/gm)].map((m) =>
        m[2].replaceAll("\\'", "'"),
      );
      assert.ok(
        tests.some((t) => (one.endsWith('…') ? t.startsWith(name) : t === name)),
        `${situation}: no test of ${file} is called “${name}”`,
      );
    }
  }
});
