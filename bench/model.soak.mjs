// Random programs of calls against the model of the store, ten million calls on SQLite and a quarter of a million on PostgreSQL; a fresh
// store every hundred thousand, whose books are checked at its end. ./dev soak model
//
//     node bench/model.soak.mjs [SQLITE CALLS] [POSTGRESQL CALLS] [MINUTES]      no more than MINUTES on each
//
// SOUK_SEED repeats it. What fails is made as short as it can be, and told with its seed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startCluster, stopCluster } from '../tests/lib/pg.mjs';

const [SQLITE, POSTGRES, MINUTES] = [10_000_000, 250_000, 1e6].map((n, i) => Number(process.argv[2 + i] ?? n));
const PER_STORE = 100_000;
const root = fileURLToPath(new URL('..', import.meta.url));

async function play(engine, wanted) {
  const { openTarget } = await import('../tests/model/lib/target.mjs');
  const { runPrograms } = await import('../tests/model/lib/run.mjs');
  const { assertInvariants } = await import('../tests/lib/checker.mjs');
  const began = Date.now();
  const sum = { calls: 0, programs: 0, stores: 0 };
  let seed = Number(process.env.SOUK_SEED ?? Date.now() % 1e9);
  console.log(`${engine}: SOUK_SEED=${seed}`);
  while (sum.calls < wanted && Date.now() - began < MINUTES * 60000) {
    const target = await openTarget();
    try {
      const calls = Math.min(PER_STORE, wanted - sum.calls);
      const run = await runPrograms(target, { seed, calls });
      if (run.failure) {
        console.log(run.failure);
        process.exitCode = 1;
        return;
      }
      sum.calls += run.calls;
      sum.programs += run.programs;
      sum.stores += 1;
      seed += run.programs;
      assertInvariants(target.souk.dbArg);
      const check = await target.souk.cli(['check']);
      assert.equal(check.code, 0, check.stdout + check.stderr);
    } finally {
      await target.stop();
    }
    if (sum.stores % 10 === 0) tell(engine, sum, began, '…');
  }
  tell(engine, sum, began, 'no difference');
}

function tell(engine, { calls, programs, stores }, began, end) {
  const seconds = (Date.now() - began) / 1000;
  console.log(
    `${engine}: ${calls} calls, ${programs} programs, ${stores} stores, ${Math.round(seconds)} s, ${Math.round(calls / seconds)} calls/s: ${end}`,
  );
}

if (process.env.SOUK_MODEL_CHILD) {
  await play(process.env.SOUK_ENGINE, Number(process.env.SOUK_MODEL_CHILD));
} else {
  const cluster = POSTGRES > 0 ? startCluster() : null;
  let failed = false;
  try {
    for (const [engine, calls] of [
      ['sqlite', SQLITE],
      ['pg', POSTGRES],
    ]) {
      if (calls === 0) continue;
      const out = spawnSync(process.execPath, ['bench/model.soak.mjs', ...process.argv.slice(2)], {
        cwd: root,
        stdio: 'inherit',
        env: {
          ...process.env,
          ...(cluster ? { SOUK_TEST_PG: cluster.url } : {}),
          SOUK_ENGINE: engine,
          SOUK_MODEL_CHILD: String(calls),
        },
      });
      failed ||= out.status !== 0;
    }
  } finally {
    if (cluster) stopCluster(cluster.dir);
  }
  process.exitCode = failed ? 1 : 0;
}
