// What ./dev coverage makes of an export of llvm-cov, and when it complains.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { complaints, judge, measure, parseUnreached, percent, sum } from '../coverage/measure.mjs';

const LEDGER = 'src/domain/ledger.c';
const SOURCE = [
  'bool pay(int sum) {',
  '    assert(sum >= 0);',
  '    if (sum > limit && !is_open) return false;',
  '    switch (kind) {',
  '    case WALLET: return true;',
  '    }',
  '}',
].join('\n');

/** An export with one file that has two conditions, an assertion and a case; `counts`: [true, false] of the conditions. */
function exportOf(counts, file = LEDGER, lines = { count: 100, covered: 100 }) {
  const at = (line, from, to, [yes, no]) => [line, from, line, to, yes, no, 0, 0, 4];
  const branches = [
    at(2, 5, 5, [0, 9]),
    at(3, 9, 20, counts[0]),
    at(3, 24, 32, counts[1]),
    at(5, 5, 16, [3, 0]),
    [1, 1, 1, 4, 0, 0, 1, 0, 4],
  ];
  const filename = `/home/souk/${file}`;
  return {
    data: [
      {
        files: [
          { filename, summary: { lines } },
          { filename: '/usr/include/stdio.h', summary: { lines } },
        ],
        functions: [{ name: 'ledger.c:pay', filenames: [filename, '/usr/include/stdio.h'], branches }],
      },
    ],
  };
}

function complain(exported, listed) {
  const files = measure(exported, '/home/souk', () => SOURCE);
  const verdict = judge(files, parseUnreached(listed));
  return complaints(verdict, sum(files.values(), verdict.excused));
}

test('an export is read: conditions with their text, no assertion, one outcome of a case, nothing of the system', () => {
  const files = measure(
    exportOf([
      [1, 2],
      [0, 1],
    ]),
    '/home/souk',
    () => SOURCE,
  );
  assert.deepEqual([...files.keys()], [LEDGER]);
  const told = files.get(LEDGER).branches.map((b) => `${b.fn} ${b.line} ${b.side} ${b.count}: ${b.text}`);
  assert.deepEqual(told, [
    'pay 3 true 1: sum > limit',
    'pay 3 false 2: sum > limit',
    'pay 3 true 0: !is_open',
    'pay 3 false 1: !is_open',
    'pay 5 true 3: case WALLET',
  ]);
  assert.equal(percent(sum(files.values(), new Map()).branches), 80);
});

test('what is in a header is counted once, with what all files that include it reached', () => {
  const one = exportOf([
    [1, 0],
    [1, 1],
  ]);
  const other = exportOf([
    [0, 1],
    [0, 0],
  ]);
  one.data[0].functions.push(...other.data[0].functions);
  assert.deepEqual(complain(one, ''), []);
});

test('a branch of the core that is not reached is a complaint, unless it is listed with its reason', () => {
  const exported = exportOf([
    [1, 1],
    [0, 1],
  ]);
  const wrong = complain(exported, '');
  assert.equal(wrong.length, 2, wrong.join('\n'));
  assert.match(wrong[0], /^not reached: src\/domain\/ledger\.c pay true: !is_open +\(line 3\)$/);
  assert.match(wrong[1], /^80 % of the branches/);
  assert.deepEqual(complain(exported, `= nobody closes it\n${LEDGER} pay true: !is_open\n`), []);
  assert.deepEqual(complain(exported, `= nobody closes it\nsrc/domain/* * true: !is_open\n`), []);
});

test('what is only explained counts as not reached, and in the core it is no excuse', () => {
  const counts = [
    [1, 1],
    [0, 1],
  ];
  const listed = '~ nobody has tried\n* * true: !is_open\n';
  assert.deepEqual(complain(exportOf(counts, 'src/cli/open.c'), listed), [
    '80 % of the branches are reached, fewer than 95 %',
  ]);
  assert.match(complain(exportOf(counts), listed)[0], /^not reached: src\/domain\/ledger\.c pay true: !is_open/);
  const files = measure(exportOf(counts, 'src/cli/open.c'), '/home/souk', () => SOURCE);
  const { excused, explained } = judge(files, parseUnreached(listed));
  assert.deepEqual([excused.size, [...explained.values()].map((e) => e.reason)], [0, ['nobody has tried']]);
});

test('elsewhere, too, a branch without a reason is a complaint', () => {
  const counts = [
    [1, 1],
    [0, 1],
  ];
  const [unlisted, ...others] = complain(exportOf(counts, 'src/cli/open.c'), '');
  assert.match(unlisted, /^not reached: src\/cli\/open\.c pay true: !is_open/);
  assert.deepEqual(others, ['80 % of the branches are reached, fewer than 95 %']);
});

test('what depends on the moment may be reached or not, counts as it was, and is no excuse in the core', () => {
  const [seen, unseen] = [1, 0].map((n) => [
    [1, 1],
    [n, 1],
  ]);
  const listed = '? two threads meet\n* pay true: !is_open\n';
  assert.deepEqual(complain(exportOf(seen, 'src/cli/open.c'), listed), []);
  assert.deepEqual(complain(exportOf(unseen, 'src/cli/open.c'), listed), [
    '80 % of the branches are reached, fewer than 95 %',
  ]);
  assert.match(complain(exportOf(unseen), listed)[0], /^not reached: src\/domain\/ledger\.c/);
  assert.match(complain(exportOf(seen, 'src/cli/open.c'), '? two meet\n* go true: !is_open\n')[0], /^is not there/);
});

test('a listed branch that is reached, or not there, is a complaint', () => {
  const exported = exportOf([
    [1, 1],
    [1, 1],
  ]);
  const [reached, absent, ...others] = complain(
    exported,
    `= nobody closes it\n${LEDGER} pay true: !is_open\n${LEDGER} pay true: is_closed\n`,
  );
  assert.match(reached, /^is reached, but stands in unreached\.txt: .*!is_open$/);
  assert.match(absent, /^is not there, but stands in unreached\.txt: .*is_closed$/);
  assert.deepEqual(others, []);
});

test('too few lines are a complaint', () => {
  const full = [
    [1, 1],
    [1, 1],
  ];
  assert.deepEqual(complain(exportOf(full, LEDGER, { count: 1000, covered: 950 }), ''), []);
  assert.deepEqual(complain(exportOf(full, LEDGER, { count: 1000, covered: 949 }), ''), [
    '94.9 % of the lines are reached, fewer than 95 %',
  ]);
});

test('the list: every line is understood and has a reason', () => {
  assert.throws(() => parseUnreached(`${LEDGER} pay true: x\n`), /no reason/);
  assert.throws(() => parseUnreached(`= because\n${LEDGER} pay maybe: x\n`), /line 2: not understood/);
  const text = fs.readFileSync(fileURLToPath(new URL('../coverage/unreached.txt', import.meta.url)), 'utf8');
  for (const { file } of parseUnreached(text)) assert.ok(file.includes('*') || fs.existsSync(file), file);
});
