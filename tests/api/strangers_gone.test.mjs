// Work whose client is gone is not done.
// release: sqlite
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectStatus } from './lib/http.mjs';
import { connect } from './lib/raw.mjs';
import { SLOW, metricSum, startSouk, together } from './lib/souk.mjs';

test('nobody logs in for clients that are gone', async (t) => {
  const souk = await startSouk({ t, dear: true }); // so that they wait for each other;
  const { email, password } = await souk.customer();
  const body = JSON.stringify({ email, password: 'wrong password' });
  const request = `POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const clients = SLOW > 1 ? 90 : 300; // each that is not noticed to be gone costs a password at its real cost
  const connections = await together(clients, 50, () => connect(souk.url));
  // All of them ask before the first is gone: how fast they come is not what is measured.
  await Promise.all(connections.map((c) => new Promise((resolve) => c.socket.write(request, resolve))));
  for (const c of connections) c.socket.destroy();
  expectStatus(await souk.post('/api/auth/login', { email, password }), 200);
  let abandoned = 0;
  for (let i = 0; i < 100 && abandoned < clients / 3; i++) {
    await sleep(100 * SLOW);
    abandoned = metricSum(await souk.metrics(), 'souk_requests_abandoned_total');
  }
  assert.ok(abandoned >= clients / 3, `${abandoned} of ${clients} were not run`);
});
