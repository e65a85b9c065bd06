// The rules of prose.mjs on the real tree, and a positive control for each.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RULES, lostTests, offences, prose, testTexts } from './prose.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('comments, messages and documents keep the mechanical rules', () => assert.deepEqual(offences(ROOT), []));

test('every test that docs/spec-tests.md names is there', () => {
  assert.deepEqual(lostTests(fs.readFileSync(path.join(ROOT, 'docs/spec-tests.md'), 'utf8'), testTexts(ROOT)), []);
});

const wrong = [
  'It can not be done.',
  'It needs not be done.',
  'So he asks again.',
  'Whoever asks is told.',
  'It is made anew.',
  'All but for the first.',
  'It was used of late.',
  'Money hangs on it.',
  'Inside the own network.',
  'It has so many at once.',
  'As it stands, it works.',
  'They come by the thousand.',
  'It is the same whatever comes.',
  'It is to be rolled back.',
  "It is nobody's business.",
  'All informations are here.',
  'It is one.  And two.',
  'It is the the end.',
  'It is a TODO for now.',
];
test('there is a control for every rule', () => assert.equal(wrong.length, RULES.length));

for (const [i, sentence] of wrong.entries()) {
  test(`control: "${sentence}" is found in a comment, a message and a document, and not in code`, (t) => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-prose-'));
    t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
    fs.mkdirSync(path.join(dir, 'src'));
    fs.writeFileSync(path.join(dir, 'src/a.c'), `/* ${sentence} */\nfail("${sentence}");\n`);
    fs.writeFileSync(path.join(dir, 'README.md'), `Text.\n${sentence}\n\n\`\`\`\n${sentence}\n\`\`\`\n`);
    const found = offences(dir, [RULES[i]]);
    assert.deepEqual(
      found.map((f) => f.split(': ')[0]),
      ['README.md:2', 'src/a.c:1', 'src/a.c:2'],
    );
  });
}

test('control: code is not prose, and neither is a literal without spaces', () => {
  assert.equal(prose('x.c', 'his = he("him"); /* they */').trim(), '/* they */');
});

test('control: a test that is not there is found', () => {
  assert.deepEqual(lostTests('a: *one … three*; *two*; **bold**', "test('one and three')"), ['two']);
});
