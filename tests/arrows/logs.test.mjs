// docs/logs.md lists every event that the sources log, with all of its fields, and no others.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The arguments between the parenthesis at `at` and its end. */
function argumentsAt(code, at) {
  let depth = 0;
  for (let i = at; i < code.length; i++) {
    depth += { '(': 1, ')': -1 }[code[i]] ?? 0;
    if (depth === 0) return code.slice(at + 1, i);
  }
  throw new Error('no end');
}

/** Map of event → set of fields. Names that are handed over as a parameter are found where they are given. */
function logged() {
  const events = new Map();
  const add = (name, fields) => events.set(name, new Set([...(events.get(name) ?? []), ...fields]));
  const files = fs.readdirSync(path.join(root, 'src'), { recursive: true }).filter((f) => /\.c$/.test(f));
  for (const file of files) {
    const code = fs.readFileSync(path.join(root, 'src', file), 'utf8');
    for (const m of code.matchAll(/\blog_event\(/g)) {
      const text = argumentsAt(code, m.index + m[0].length - 1).replaceAll(/\s+/g, ' ');
      const fields = [...text.matchAll(/\bLOG[SCI]\("(\w+)"/g)].map((f) => f[1]);
      if (/\bLOGT\(/.test(text)) fields.push('trace_id');
      const name = /^[^"]*?, "([\w.]+)"/.exec(text)?.[1];
      if (name && !/^[^"]*LOG[SCI]\(/.test(text)) add(name, fields);
      else if (text.includes(', event,'))
        for (const given of code.matchAll(/\brefused\([^;]*?"(\w+)"/g)) add(given[1], fields);
      else if (text.includes('err_info(e)->code, LOGS'))
        for (const given of ['overloaded', 'rate_limited']) add(given, fields);
      else assert.fail(`${file}: which event is logged by ${text}?`);
    }
  }
  return events;
}

test('every event and field of the log is documented, and nothing else is', () => {
  const rows = [
    ...fs
      .readFileSync(path.join(root, 'docs/logs.md'), 'utf8')
      .matchAll(/^\| `([\w.]+)` \| ([^|]+) \| ([^|]*) \| (.+) \|$/gm),
  ];
  const documented = new Map(rows.map((r) => [r[1], r[3].trim()]));
  assert.equal(documented.size, rows.length, 'an event has two lines');
  const events = logged();
  assert.ok(events.size > 30);
  assert.deepEqual([...documented.keys()].sort(), [...events.keys()].sort());
  for (const [name, fields] of events) {
    const said = documented.get(name) === '-' ? [] : documented.get(name).split(/, | or /);
    assert.deepEqual([...said].sort(), [...fields].sort(), `fields of ${name}`);
  }
});
