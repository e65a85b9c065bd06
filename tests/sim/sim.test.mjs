// The store in one process on one thread, with the power cut after every step of its disk: tests/sim/sim.c. A short run here,
// hours of it in ./dev soak sim.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = path.join(path.resolve(root, process.env.SOUK_BUILD ?? 'build'), 'tests/sim/sim');

function sim(...args) {
  const { status, signal, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  assert.equal(status, 0, `sim ${args.join(' ')} ended with ${status ?? signal}:\n${stdout}${stderr}`);
  return stdout;
}

const numberOf = (text, pattern) => Number(pattern.exec(text)?.[1]);

test('after a power cut at any step everything acknowledged is there, once; and what is broken on purpose is found', () => {
  const said = sim('--seed', '1', '--runs', '1');
  assert.doesNotMatch(said, /NOT CAUGHT|FAILED/);
  assert.ok(said.match(/^control /gm).length >= 6, said);
  assert.ok(numberOf(said, /(\d+) crash images/) > 5000, said);
  for (const what of [/(\d+) webhooks/, /(\d+) restarts/, /(\d+) failing disks/, /(\d+) when read/])
    assert.ok(numberOf(said, what) > 0, said);
});

test('a seed gives the same run again', () => {
  const again = () => sim('--seed', '3', '--step', '700').replace(/[\d.]+ s of CPU time.*/, '');
  assert.equal(again(), again());
});
