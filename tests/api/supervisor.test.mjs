// runs: sqlite
// A server under a supervisor, as systemd is one: the socket comes from it, and it is told how the server is.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { command } from '../lib/store.mjs';
import { Supervisor, hammer } from '../lib/supervisor.mjs';
import { number } from '../lib/sql.mjs';
import { BINARY, SLOW, freshStore } from './lib/souk.mjs';

const WATCH_MS = 400 * SLOW;
let database, supervisor, port, token;

before(async () => {
  database = freshStore();
  await command(database, ['account', 'create', '--email', 'ann@example.com']);
  token = await command(database, ['token', 'create', '--email', 'ann@example.com']);
  // The key comes as systemd's credential; the one in the data folder is gone.
  const credentials = path.join(database.dir, 'credentials');
  fs.mkdirSync(credentials);
  fs.renameSync(`${database.dbArg}.d/master.key`, path.join(credentials, 'master.key'));
  const options = ['--loops', '2', '--rate-customer', '0', '--tokens-max', '100000', '--drain-idle-ms', '5000'];
  supervisor = new Supervisor(database.dir, [BINARY, 'serve', '--db', database.dbArg, ...options], {
    WATCHDOG_USEC: String(WATCH_MS * 1000),
    CREDENTIALS_DIRECTORY: credentials,
  });
  port = await supervisor.port();
});
after(async () => {
  await supervisor.stop();
  database.remove();
});

const newToken = (i) => ({
  method: 'POST',
  path: '/api/customer/tokens',
  headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  body: JSON.stringify({ name: `busy ${i}` }),
});

test('clients that connect before the server is there wait for it; it says when it is ready', async () => {
  const early = hammer({ port, total: 8, width: 8, ask: () => ({ path: '/livez' }) });
  await supervisor.start();
  assert.deepEqual(await early, { statuses: { 200: 8 }, failures: [] });
  assert.match(supervisor.stderr, new RegExp(`event="listening" listen="127\\.0\\.0\\.1:${port}"`));
});

test('restarts under load: every request is answered once, none fails', async () => {
  const total = 2000;
  let answered = 0;
  const before = number(database.dbArg, 'SELECT count(*) FROM token');
  const load = hammer({ port, total, width: 24, ask: newToken, onAnswer: () => (answered += 1) });
  for (const part of [0.2, 0.5, 0.8]) {
    for (const deadline = Date.now() + 60000; answered < total * part && Date.now() < deadline;) await sleep(2);
    await supervisor.restart();
  }
  assert.deepEqual(await load, { statuses: { 201: total }, failures: [] });
  assert.equal(Number(number(database.dbArg, 'SELECT count(*) FROM token') - before), total);
});

test('the watchdog hears of a server that works, not of one whose writer is stuck', async () => {
  const beats = () => supervisor.lines.filter((line) => line === 'notify WATCHDOG=1').length;
  const more = async (than) => {
    for (const deadline = Date.now() + 60000; beats() <= than; await sleep(10))
      assert.ok(Date.now() < deadline, supervisor.lines.join('\n'));
  };
  await more(beats() + 1);
  const holder = spawn('sqlite3', [database.dbArg]);
  try {
    holder.stdin.write("BEGIN IMMEDIATE; SELECT 'held';\n");
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    // While another process has the write lock there is a silence longer than the watchdog's patience.
    for (const deadline = Date.now() + 60000; ;) {
      const count = beats();
      await sleep(2 * WATCH_MS);
      if (beats() === count) break;
      assert.ok(Date.now() < deadline, 'it is told that all is well');
    }
  } finally {
    holder.stdin.end('ROLLBACK;\n');
  }
  await more(beats());
});

test('SIGTERM: it says that it stops, and ends with 0; the socket stays with the supervisor', async () => {
  const from = supervisor.lines.length;
  supervisor.say('stop');
  const at = await supervisor.line(/^notify STOPPING=1$/, from);
  assert.equal(supervisor.lines[await supervisor.line(/^exit /, at)], 'exit 0');
  const early = hammer({ port, total: 1, width: 1, ask: () => ({ path: '/readyz' }) });
  await supervisor.start();
  assert.deepEqual((await early).failures, []);
});
