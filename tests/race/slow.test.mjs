// Slow clients are cut off by the deadlines while good ones are served as before.
// release: pg
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, parseAnswer } from '../api/lib/raw.mjs';
import { IS_TSAN, SLOW, startSouk, together } from '../api/lib/souk.mjs';

/**
 * Opens `count` connections that send `head` and then one byte every `every_ms`. Resolves when all were closed by the
 * server: [{ms, status}], status null when nothing was answered.
 */
async function drip(souk, count, head, every_ms, limit_ms) {
  // Each counts from its own beginning: where the machine is busy, opening them all takes longer than one deadline.
  const connections = await together(count, 50, async () => {
    const started = Date.now();
    const c = await connect(souk.url);
    c.write(head);
    return Object.assign(c, { started });
  });
  const timer = setInterval(() => {
    for (const c of connections) c.write('a');
  }, every_ms);
  const closed = await Promise.all(connections.map((c) => c.waitClosed(limit_ms)));
  clearInterval(timer);
  for (const c of connections) c.destroy();
  const open = closed.filter((x) => !x).length;
  assert.equal(open, 0, `${open} of ${count} were still open after ${limit_ms} ms`);
  return connections.map((c) => ({ ms: c.closedAt - c.started, status: parseAnswer(c.received)?.status ?? null }));
}

/** A good client beside them, with a pause after each answer: how many it got. */
async function goodClient(souk, isOver, pause_ms) {
  let count = 0;
  const client = souk.newClient({ sockets: 2 });
  const { token } = await souk.customer();
  while (!isOver()) {
    const answer = await client.get('/api/auth/me', { token });
    assert.equal(answer.status, 200, answer.text);
    count++;
    await sleep(pause_ms);
  }
  client.close();
  return count;
}

async function attack(souk, count, head, every_ms, limit_ms, pause_ms = 50) {
  let over = false;
  const good = goodClient(souk, () => over, pause_ms);
  const cut = await drip(souk, count, head, every_ms, limit_ms).finally(() => {
    over = true;
  });
  return { cut, good: await good };
}

test('1,000 connections that send their header byte by byte are all cut off', async (t) => {
  const souk = await startSouk({ t, args: ['--header-timeout-ms', '2000', '--connections-per-address', '5000'] });
  const { cut, good } = await attack(
    souk,
    IS_TSAN ? 300 : 1000,
    'GET /livez HTTP/1.1\r\nHost: a\r\nX-Slow: ',
    500,
    8000 * SLOW,
    5,
  );
  for (const { ms, status } of cut) {
    assert.ok(ms >= 1500, `cut off after ${ms} ms`);
    assert.ok(status === 408 || status === null, `answered ${status}`);
  }
  assert.ok(
    cut.some((c) => c.status === 408),
    'nobody was told why',
  );
  assert.ok(good > 20, `the good client: ${good} answers`);
  const metrics = await souk.metrics();
  assert.ok(
    metrics.get('souk_connections_open') < 20,
    `${metrics.get('souk_connections_open')} connections are still held`,
  );
});

test('with the default deadline of 10 s, one byte every 2 s does not help', async (t) => {
  const souk = await startSouk({ t });
  const { cut, good } = await attack(souk, 20, 'GET /livez HTTP/1.1\r\nHost: a\r\nX-Slow: ', 2000, 20000);
  for (const { ms } of cut) assert.ok(ms >= 9000, `cut off after ${ms} ms`);
  assert.ok(good > 0, 'the good client got no answer');
});

test('bodies that come too slowly are cut off', async (t) => {
  // Below the minimum rate, after the grace of 10 s.
  const souk = await startSouk({ t });
  const head =
    'POST /api/auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"email":"';
  const { cut } = await attack(souk, 50, head, 1000, 30000);
  for (const { ms } of cut) assert.ok(ms >= 5000, `cut off after ${ms} ms`);
});

test('idle connections are closed', async (t) => {
  const souk = await startSouk({ t, args: ['--idle-timeout-ms', '1000', '--header-timeout-ms', '1500'] });
  const connections = await together(100, 50, () => connect(souk.url));
  for (const c of connections.slice(0, 50)) c.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
  const closed = await Promise.all(connections.map((c) => c.waitClosed(6000 * SLOW)));
  assert.equal(closed.filter((x) => !x).length, 0, 'connections that did nothing stayed open');
  for (const c of connections.slice(0, 50)) assert.equal(parseAnswer(c.received).status, 200);
  for (const c of connections) c.destroy();
});

test('past the cap connections are closed at once, and taken again when others went', async (t) => {
  const souk = await startSouk({ t, args: ['--connections-max', '50'] });
  souk.client.close();
  await sleep(100);
  const held = await together(50, 10, () => connect(souk.url));
  // Those that wait for a request would be given up for new ones.
  for (const c of held) c.write('GET /livez HTTP/1.1\r\n');
  await sleep(100);
  const refused = await together(20, 10, () => connect(souk.url));
  const closed = await Promise.all(refused.map((c) => c.waitClosed(3000)));
  assert.ok(closed.filter(Boolean).length >= 15, `${closed.filter(Boolean).length} of 20 were closed`);
  for (const c of [...held, ...refused]) c.destroy();
  let status = 0;
  for (let i = 0; i < 50 && status !== 200; i++) {
    await sleep(50);
    const client = souk.newClient();
    status = await client.get('/livez').then(
      (a) => a.status,
      () => 0,
    );
    client.close();
  }
  assert.equal(status, 200);
});
