// Two thousand kills, half on each engine, in every way of tests/race/lib/ways.mjs; a fresh store every fifty. ./dev soak kills
//
//     node bench/kills.soak.mjs [KILLS] [MINUTES]      no more than MINUTES on each engine
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startCluster, stopCluster } from '../tests/lib/pg.mjs';

const KILLS = Number(process.argv[2] ?? 2000) / 2;
const MINUTES = Number(process.argv[3] ?? 1e6);
const PER_STORE = 50;
const root = fileURLToPath(new URL('..', import.meta.url));

async function kill(engine) {
  const { killAllWays, openWays } = await import('../tests/race/lib/ways.mjs');
  const end = Date.now() + MINUTES * 60000;
  const sum = { kills: 0, acknowledged: 0, repeated: 0, ways: {} };
  while (sum.kills < KILLS && Date.now() < end) {
    const all = await openWays({ codes: 20000 });
    try {
      const { kills, acknowledged, repeated } = await killAllWays(all, Math.min(PER_STORE, KILLS - sum.kills));
      for (const [name, n] of Object.entries(kills)) {
        sum.ways[name] = (sum.ways[name] ?? 0) + n;
        sum.kills += n;
      }
      sum.acknowledged += acknowledged;
      sum.repeated += repeated;
    } finally {
      await all.stop();
    }
    console.log(
      `${engine}: ${sum.kills} kills, ${sum.acknowledged} orders acknowledged before them and all there, ` +
        `${sum.repeated} repeated after them and all once`,
    );
  }
  for (const [name, n] of Object.entries(sum.ways)) console.log(`${engine}:   ${name}: ${n}`);
}

if (process.env.SOUK_KILLS_CHILD) {
  await kill(process.env.SOUK_ENGINE);
} else {
  // The engine is chosen when the harness is loaded: a process of its own for each.
  const cluster = startCluster();
  let failed = false;
  try {
    for (const engine of ['sqlite', 'pg']) {
      const out = spawnSync(process.execPath, ['bench/kills.soak.mjs', ...process.argv.slice(2)], {
        cwd: root,
        stdio: 'inherit',
        env: { ...process.env, SOUK_TEST_PG: cluster.url, SOUK_ENGINE: engine, SOUK_KILLS_CHILD: '1' },
      });
      failed ||= out.status !== 0;
    }
  } finally {
    stopCluster(cluster.dir);
  }
  process.exitCode = failed ? 1 : 0;
}
