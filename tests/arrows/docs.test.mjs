// The documents say what the sources say: options, commands, states; and their links lead somewhere.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { references, rowsOf } from '../../tools/reference.mjs';
import { anchorOf } from '../../web/docs/anchors.mjs';
import { readSteps } from '../../web/docs/states.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (file) => fs.readFileSync(path.join(root, file), 'utf8');

/** Markdown of the root, docs/, docs/decisions/ and clients/. */
const documents = ['.', 'docs', 'docs/decisions', 'clients', 'web/shop'].flatMap((folder) =>
  fs
    .readdirSync(path.join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join(folder, name)),
);

test('configuration and commands are documented as they are: else run ./dev docs', () => {
  for (const [file, text] of references()) assert.ok(read(file) === text, `${file} is out of date: run ./dev docs`);
});

test('no row of the tables is lost on the way into the documents', () => {
  for (const [file, table] of [
    ['src/cli/config.c', 'options'],
    ['src/cli/commands.c', 'commands'],
  ]) {
    const body = new RegExp(`${table}\\[\\] = \\{\\n([\\s\\S]*?)\\n\\};`).exec(read(file))[1];
    assert.equal(rowsOf(read(file), table).length, body.match(/^ {4}\{"/gm).length, file);
  }
});

/** The words of an enum, from the table beside it. */
function statesOf(noun) {
  for (const file of fs.readdirSync(path.join(root, 'src/domain')).filter((f) => f.endsWith('.c'))) {
    const found = new RegExp(`${noun}_status_names\\[\\] = \\{([^}]*)\\}`).exec(read(`src/domain/${file}`));
    if (found) return [...found[1].matchAll(/"([a-z]+)"/g)].map(([, word]) => word);
  }
  return null;
}

const diagrams = [...read('docs/concepts.md').matchAll(/```states (\w+)\n([\s\S]*?)```/g)];

test('every life cycle has the states of the program, and each can be reached', () => {
  assert.deepEqual(
    diagrams.map(([, noun]) => noun),
    ['order', 'payment', 'refund', 'license', 'withdrawal', 'ticket'],
  );
  for (const [, noun, text] of diagrams) {
    const steps = readSteps(text);
    const named = new Set(steps.flatMap((s) => [s.from, s.to]).filter((s) => s !== 'start'));
    assert.deepEqual([...named].sort(), statesOf(noun).sort(), noun);
    const reached = new Set(['start']);
    for (let before = -1; before !== reached.size;) {
      before = reached.size;
      for (const { from, to } of steps) if (reached.has(from)) reached.add(to);
    }
    assert.deepEqual(
      [...named].filter((s) => !reached.has(s)),
      [],
      noun,
    );
  }
});

/** Links of a text that lead nowhere. */
function deadLinks(file, text) {
  const bare = text.replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '');
  return [...bare.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, href]) => href)
    .filter((href) => !/^[a-z]+:|^\/|^\{\{/.test(href))
    .filter((href) => {
      const [to, anchor] = href.split('#');
      const target = to ? path.join(path.dirname(file), to) : file;
      if (!fs.existsSync(path.join(root, target))) return true;
      if (!anchor) return false;
      const headings = [...read(target).matchAll(/^#+ (.+)$/gm)].map(([, words]) => anchorOf(words));
      return !headings.includes(anchor);
    });
}

test('every link between the documents leads somewhere', () => {
  const dead = documents.flatMap((file) => deadLinks(file, read(file)).map((href) => `${file}: ${href}`));
  assert.deepEqual(dead, []);
});

test('every guide is in the contents', () => {
  const listed = [...read('docs/README.md').matchAll(/\]\(([^)]+)\)/g)].map(([, href]) => path.join('docs', href));
  const guides = documents.filter((file) => /^docs\/[^/]+\.md$/.test(file) && file !== 'docs/README.md');
  assert.deepEqual(
    guides.filter((file) => !listed.includes(file)),
    [],
    'docs/README.md does not list them',
  );
});

test('control: a dead link, a dead anchor and a step that is none are found', () => {
  assert.deepEqual(deadLinks('docs/README.md', '[a](none.md) [b](concepts.md#none) [c](concepts.md#money)'), [
    'none.md',
    'concepts.md#none',
  ]);
  assert.throws(() => readSteps('a => b'));
});
