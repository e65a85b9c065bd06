// 100,000 events in order, with kills in between, on each engine. ./dev soak events
//
//     node bench/events.soak.mjs [EVENTS]
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startCluster, stopCluster } from '../tests/lib/pg.mjs';

const events = Number(process.argv[2] ?? 100000);

if (process.env.SOUK_EVENTS_CHILD) {
  const { sendInOrder } = await import('../tests/race/lib/in_order.mjs');
  const done = await sendInOrder({ orders: Math.ceil(events / 3), kills: 5 });
  console.log(
    `${process.env.SOUK_ENGINE}: ${done.events} events in order, ${done.repeated} of them twice after 5 kills, ${done.seconds.toFixed(0)} s`,
  );
} else {
  const cluster = startCluster({ fsync: true });
  try {
    for (const engine of ['sqlite', 'pg']) {
      const run = spawnSync(process.execPath, [fileURLToPath(import.meta.url), String(events)], {
        stdio: 'inherit',
        env: { ...process.env, SOUK_EVENTS_CHILD: '1', SOUK_ENGINE: engine, SOUK_TEST_PG: cluster.url },
      });
      if (run.status !== 0) process.exitCode = 1;
    }
  } finally {
    stopCluster(cluster.dir);
  }
}
