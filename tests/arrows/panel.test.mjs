// The rules of panel.mjs on the real panel, and each rule's positive control: planted wrongs that it must find.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  filesBelow,
  importViolations,
  longLines,
  missingSettings,
  moneyArithmetic,
  moneyWords,
  strayNouns,
} from './panel.mjs';
import { plantingIn } from './planted.mjs';

const at = (where) => fileURLToPath(new URL(`../../${where}`, import.meta.url));
const SRC = at('web/src');
const WORDS = moneyWords(at('api'));
const SETTINGS = fs.readFileSync(at('src/api/admin/admin_settings.c'), 'utf8');
const planted = plantingIn(SRC);

test('there are pages to look at, and amounts in the contract', () => {
  assert.ok(filesBelow(SRC, /\.tsx$/).filter((f) => f.startsWith('pages/')).length > 20);
  for (const word of ['amount', 'total', 'price', 'balance']) assert.ok(WORDS.includes(word), word);
});

test('no page imports a page, and folders of nouns keep to themselves', () => {
  assert.deepEqual(importViolations(SRC), []);
});
test('pages are called as the server’s surfaces are', () => assert.deepEqual(strayNouns(SRC, at('src')), []));
test('every setting is on a page', () => assert.deepEqual(missingSettings(SRC, SETTINGS), []));
test('no line is longer than 120 columns', () => {
  assert.deepEqual(
    ['web/src', 'tests/web'].flatMap((dir) => longLines(at(dir))),
    [],
  );
});
test('nobody calculates with money', () => assert.deepEqual(moneyArithmetic(SRC, WORDS), []));

const wrongImports = [
  ['pages/admin_orders/order.tsx', "import { Orders } from './list';", 'a page of the same noun'],
  ['pages/admin_staff.tsx', "import { CouponDialog } from './admin_coupons/dialog';", 'a part of another noun'],
  ['pages/admin_coupons/dialog.tsx', "import { Withdrawals } from '../admin_withdrawals';", 'a page of another noun'],
  ['pages/admin_staff.tsx', "const later = import('./admin_coupons/dialog');", 'a part of another noun, later'],
  ['parts/conflict.ts', "import { PAGES } from '../pages';", 'the list of pages'],
  ['parts/conflict.ts', "import { Login } from '../pages/auth/login';", 'a page, from a shared part'],
  ['ui/basic.tsx', "import { explainConflict } from '../parts/conflict';", 'a shared part, from ui'],
];
for (const [file, line, what] of wrongImports) {
  test(`control: ${file} importing ${what} is found`, (t) => {
    const found = importViolations(planted(t, file, `${line}\n`));
    assert.equal(found.length, 1, found.join('\n'));
    assert.ok(found[0].includes(file), found[0]);
  });
}

test('control: a page about something that the server does not know is found', (t) => {
  assert.deepEqual(strayNouns(planted(t, 'pages/admin_weather/list.tsx', ''), at('src')), ['admin_weather']);
});

test('control: a setting that no page sends is found', () => {
  assert.deepEqual(missingSettings(SRC, `${SETTINGS}    {"weather", FIELD_INT, OPTIONAL},`), ['weather']);
});

test('control: a line of 121 columns is found, one of 120 is not', (t) => {
  const dir = planted(t, 'planted.ts', `${'ü'.repeat(120)}\n${'x'.repeat(121)}\n`);
  assert.deepEqual(
    longLines(dir).filter((found) => found.startsWith('planted.ts')),
    ['planted.ts:2: 121 columns'],
  );
});

test('control: arithmetic on money is found, and nothing else', (t) => {
  const lines = [
    'const left = order.total - order.refunded_amount; // wrong',
    'const signed = -amount; // wrong',
    'if (amount <= 0) stop(); // wrong',
    'const all = rows.reduce((s, r) => s + r.total, 0); // wrong',
    'if (a.total > b.total) stop(); // wrong',
    '<Money amount={-data.discount} /> // wrong',
    'const n = Number(row.balance); // wrong',
    'const text = row.price.toFixed(2); // wrong',
    'const answer = await response.json(); // wrong',
    'const body = JSON.parse(text); // wrong',
    '<Money amount={data.total} />',
    'const totals = rows.map((r) => r.total);',
    'const left = difference(order.total, order.refunded_amount);',
    "import { sum } from '../amount';",
    '// total - discount',
    'const pages = count + 1;',
  ];
  const found = moneyArithmetic(planted(t, 'planted.tsx', `${lines.join('\n')}\n`), WORDS);
  const expected = lines.flatMap((line, i) => (line.includes('wrong') ? [i + 1] : []));
  assert.deepEqual(
    found.map((v) => Number(/planted\.tsx:(\d+)/.exec(v)?.[1])),
    expected,
  );
});
