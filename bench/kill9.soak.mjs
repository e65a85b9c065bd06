// kill -9 under load, 20 rounds on each engine, and a 1 GiB download in constant memory. ./dev soak
//
//     node bench/kill9.soak.mjs [ROUNDS]
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startCluster, stopCluster } from '../tests/lib/pg.mjs';

const rounds = Number(process.argv[2] ?? 20);
const root = fileURLToPath(new URL('..', import.meta.url));

if (process.env.SOUK_KILL9_CHILD) {
  const { Kill9 } = await import('../tests/race/lib/kill9.mjs');
  const kill9 = await Kill9.open();
  const sum = { acknowledged: 0, repeated: 0 };
  try {
    for (let i = 1; i <= rounds; i++) {
      const r = await kill9.round();
      sum.acknowledged += r.acknowledged;
      sum.repeated += r.repeated;
    }
  } finally {
    await kill9.stop();
  }
  console.log(
    `${process.env.SOUK_ENGINE}: ${rounds} kills, ${sum.acknowledged} orders acknowledged before them and all there, ` +
      `${sum.repeated} repeated after them and all once`,
  );
} else {
  // The engine is chosen when the harness is loaded: a process of its own for each. PostgreSQL with fsync, as in life.
  const cluster = startCluster({ fsync: true });
  let failed = false;
  try {
    const env = { ...process.env, SOUK_TEST_PG: cluster.url };
    const run = (args, more) => {
      const out = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env: { ...env, ...more } });
      failed ||= out.status !== 0;
    };
    for (const engine of ['sqlite', 'pg']) {
      run(['bench/kill9.soak.mjs', String(rounds)], { SOUK_ENGINE: engine, SOUK_KILL9_CHILD: '1' });
    }
    run(['--test-name-pattern', 'large file', 'tests/api/download.test.mjs'], { SOUK_TEST_FILE_MIB: '1024' });
  } finally {
    stopCluster(cluster.dir);
  }
  process.exitCode = failed ? 1 : 0;
}
