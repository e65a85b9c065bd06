// Amounts stay exact: from the answer's text to the screen, and from a field to the body of a request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

/** A module of the panel, without a browser. */
async function moduleOf(file) {
  const { outputFiles } = await esbuild.build({
    entryPoints: [fileURLToPath(new URL(`../../web/src/${file}`, import.meta.url))],
    bundle: true,
    format: 'esm',
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

const { ZERO, amountOf, difference, isPositive, isZero, negated, readJson, sum, writeJson } =
  await moduleOf('amount.ts');
const of = (text) => readJson(`[${text}]`)[0];

test('numbers that a double cannot hold come through JSON unchanged, both ways', () => {
  const text =
    '{"a":92233720368547758.07,"b":[-0.10,19.90,1e3],"c":"1.50 \\"2.50\\\\","d":9223372036854775807,"e":null,"f":{}}';
  assert.equal(writeJson(readJson(text)), text);
  assert.equal(writeJson({ left_out: undefined, kept: null }), '{"kept":null}');
});

test('whole numbers are plain numbers, texts and names are left alone', () => {
  assert.deepEqual(readJson('{"id":7,"1.5":"2.5","x":true}'), { id: 7, 1.5: '2.5', x: true });
  assert.throws(() => readJson('{"a":1.5'), SyntaxError);
});

test('sums and differences are exact, whatever the currency’s decimals', () => {
  const cases = [
    [['0.10', '0.20'], '0.30'],
    [['92233720368547758.07', '0.01'], '92233720368547758.08'],
    [['-0.05', '0.02'], '-0.03'],
    [['1.005', '-1.005'], '0.000'],
    [['1000', '1'], '1001'],
    [[], '0'],
  ];
  for (const [parts, expected] of cases) assert.equal(String(sum(parts.map(of))), expected, parts.join(' + '));
  assert.equal(String(difference(of('100.00'), of('99.99'))), '0.01');
  assert.equal(String(difference(of('5'), of('7'))), '-2');
});

test('signs', () => {
  assert.deepEqual(
    ['0.00', '0', '0.01', '-0.01', '5'].map((t) => isPositive(of(t))),
    [false, false, true, false, true],
  );
  assert.deepEqual(
    ['0.00', '0.01', '0', '-10'].map((t) => isZero(of(t))),
    [true, false, true, false],
  );
  assert.deepEqual(
    ['1.50', '-1.50', '0.00', '3'].map((t) => String(negated(of(t)))),
    ['-1.50', '1.50', '0.00', '-3'],
  );
  assert.ok(isZero(ZERO));
});

test('typed text is taken literally, and an ambiguous one is refused', () => {
  const taken = {
    12: '12',
    ' 12.30 ': '12.30',
    '12,3': '12.3',
    '+1': '1',
    '-0.5': '-0.5',
    '.5': '0.5',
    '007.10': '7.10',
    0: '0',
    1000.005: '1000.005',
  };
  for (const [typed, expected] of Object.entries(taken)) assert.equal(String(amountOf(typed)), expected, typed);
  for (const typed of ['', '1,000', '1.000,00', '1,000.00', '1e3', '12.', '.', '-', 'x', '1 000', '0x1', '٣']) {
    assert.equal(amountOf(typed), null, typed);
  }
});
