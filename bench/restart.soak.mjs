// Restarts under load with the socket handed over: 50,000 requests on each engine, none may fail. ./dev soak restart
//
//     node bench/restart.soak.mjs [REQUESTS]
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, stopCluster } from '../tests/lib/pg.mjs';

const total = Number(process.argv[2] ?? 50000);
const root = fileURLToPath(new URL('..', import.meta.url));

if (process.env.SOUK_RESTART_CHILD) {
  const { BINARY, freshStore } = await import('../tests/api/lib/souk.mjs');
  const { command } = await import('../tests/lib/store.mjs');
  const { Supervisor, hammer } = await import('../tests/lib/supervisor.mjs');
  const { number } = await import('../tests/lib/sql.mjs');
  const database = freshStore();
  // Many customers: what one of them has is counted at each request.
  const tokens = [];
  for (let i = 0; i < 50; i++) {
    await command(database, ['account', 'create', '--email', `c${i}@example.com`]);
    tokens.push(await command(database, ['token', 'create', '--email', `c${i}@example.com`]));
  }
  const count = () => Number(number(database.dbArg, 'SELECT count(*) FROM token'));
  const options = ['--rate-customer', '0', '--tokens-max', '1000000'];
  const serve = [BINARY, 'serve', '--db', database.dbArg, ...options];
  const supervisor = new Supervisor(database.dir, serve, database.env);
  let restarts = 0;
  try {
    const port = await supervisor.port();
    await supervisor.start();
    const before = count();
    let answered = 0;
    const started = Date.now();
    const load = hammer({
      port,
      total,
      width: 64,
      onAnswer: () => (answered += 1),
      ask: (i) => ({
        method: 'POST',
        path: '/api/customer/tokens',
        headers: { authorization: `Bearer ${tokens[i % tokens.length]}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: `busy ${i}` }),
      }),
    });
    for (let part = 1; part < 20; part++) {
      const deadline = Date.now() + 120000;
      while (answered < (total * part) / 20 && Date.now() < deadline) await sleep(2);
      await supervisor.restart();
      restarts += 1;
    }
    const { statuses, failures } = await load;
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    const made = count() - before;
    console.log(
      `${process.env.SOUK_ENGINE}: ${total} requests over ${restarts} restarts in ${seconds} s: ` +
        `${JSON.stringify(statuses)}, ${failures.length} failed, ${made} rows made`,
    );
    for (const failure of failures.slice(0, 10)) console.log(`  ${failure}`);
    process.exitCode = failures.length === 0 && statuses[201] === total && made === total ? 0 : 1;
  } finally {
    await supervisor.stop();
    database.remove();
  }
} else {
  const cluster = startCluster();
  let failed = false;
  try {
    for (const engine of ['sqlite', 'pg']) {
      const env = { ...process.env, SOUK_TEST_PG: cluster.url, SOUK_ENGINE: engine, SOUK_RESTART_CHILD: '1' };
      const out = spawnSync(process.execPath, ['bench/restart.soak.mjs', String(total)], {
        cwd: root,
        stdio: 'inherit',
        env,
      });
      failed ||= out.status !== 0;
    }
  } finally {
    stopCluster(cluster.dir);
  }
  process.exitCode = failed ? 1 : 0;
}
