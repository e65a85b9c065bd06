// Random programs of calls by customers, staff and providers, against a model of the store: every answer is compared.
// bench/model.soak.mjs plays more of them. SOUK_SEED chooses others.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ENGINE } from '../api/lib/souk.mjs';
import { assertInvariants } from '../lib/checker.mjs';
import { LEFT_OUT } from './lib/left_out.mjs';
import { OPS } from './lib/ops.mjs';
import { runPrograms } from './lib/run.mjs';
import { openTarget } from './lib/target.mjs';
import { WRONG } from './lib/wrong.mjs';

const SEED = Number(process.env.SOUK_SEED ?? 20261116);
/** On PostgreSQL a call costs ten times as much; the long run is bench/model.soak.mjs. */
const CALLS = ENGINE === 'sqlite' ? 50000 : 3000;
/** Within which a wrong rule must be seen. */
const CONTROL_CALLS = 4000;
/** Of a program that shows it: what is found in a long one is made shorter by many more calls. */
const CONTROL_LENGTH = 100;

let target;

before(async () => {
  target = await openTarget();
});
after(() => target.stop());

test('every route is in the model, or left out for a reason; and no route is in both, or in none', () => {
  const modelled = new Set(Object.values(OPS).map((op) => op.route));
  const reasons = new Map(Object.entries(LEFT_OUT).flatMap(([reason, routes]) => routes.map((r) => [r, reason])));
  const all = Object.keys(target.routes);
  assert.deepEqual(
    all.filter((r) => !modelled.has(r) && !reasons.has(r)),
    [],
    'neither in the model nor left out',
  );
  assert.deepEqual(
    [...reasons.keys()].filter((r) => modelled.has(r)),
    [],
    'in the model, and left out',
  );
  assert.deepEqual(
    [...modelled, ...reasons.keys()].filter((r) => !all.includes(r)),
    [],
    'no such route',
  );
});

// The model is the same on both engines: its controls run on one.
for (const [name, Rules] of ENGINE === 'sqlite' ? Object.entries(WRONG) : []) {
  test(`the model notices a wrong rule: ${name}`, async (t) => {
    const run = await runPrograms(target, {
      seed: SEED,
      calls: CONTROL_CALLS,
      length: CONTROL_LENGTH,
      width: 2,
      Rules,
    });
    assert.ok(run.failure, `${run.calls} calls did not show it`);
    t.diagnostic(`seen after ${run.calls} calls: ${run.failure.split('\n')[0]}`);
    assert.match(run.failure, /the shortest program/);
  });
}

test(`${CALLS} calls are answered as the model says`, async (t) => {
  const began = Date.now();
  const run = await runPrograms(target, { seed: SEED, calls: CALLS });
  assert.equal(run.failure, null, run.failure ?? '');
  t.diagnostic(`${run.calls} calls in ${run.programs} programs, ${Date.now() - began} ms`);
  const never =
    ENGINE === 'pg'
      ? []
      : Object.keys(OPS).filter((name) => !OPS[name].isAlwaysRefused && !(run.count[name]?.good > 0));
  assert.deepEqual(never, [], 'never answered well: not shown by this run');
  assertInvariants(target.souk.dbArg);
  const check = await target.souk.cli(['check']);
  assert.equal(check.code, 0, check.stdout + check.stderr);
});
