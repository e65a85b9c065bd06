// What strangers can take: bodies are not read for callers that nobody knows, and nobody's work is done when nobody waits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOffice } from './lib/admin.mjs';
import { expectStatus } from './lib/http.mjs';
import { connect } from './lib/raw.mjs';
import { SLOW, metricSum, startSouk, together } from './lib/souk.mjs';

const importHead = (token, length) => 'POST /api/admin/products/1/serials HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n' +
  `Authorization: Bearer ${token}\r\n${length}\r\n\r\n`;

test('a long body is not read before its token was looked up', async (t) => {
  const { souk, owner, stop } = await openOffice();
  t.after(stop);
  const { token } = await souk.customer();
  const revoked = (await souk.customer()).token;
  expectStatus(await souk.post('/api/auth/logout', undefined, { token: revoked }), 200);
  for (const length of ['Content-Length: 10000000', 'Transfer-Encoding: chunked']) {
    for (const [who, status] of [[revoked, 401], [token, 403]]) {
      const c = await connect(souk.url);
      c.write(importHead(who, length)); // and not one byte of the body
      assert.equal((await c.answer()).status, status);
      c.destroy();
    }
    const c = await connect(souk.url);
    c.write(importHead(owner.token, length).replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'));
    assert.ok(await c.wait(() => c.text.startsWith('HTTP/1.1 100 Continue')), 'who may send it is asked to go on');
    c.destroy();
  }
});

test('nobody logs in for clients that are gone', async (t) => {
  const souk = await startSouk({ t });
  const { email, password } = await souk.customer();
  const body = JSON.stringify({ email, password: 'wrong password' });
  const request = `POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  await together(300, 50, async () => {
    const c = await connect(souk.url);
    await new Promise((resolve) => { c.socket.write(request, resolve); });
    c.socket.destroy();
  });
  expectStatus(await souk.post('/api/auth/login', { email, password }), 200);
  let abandoned = 0;
  for (let i = 0; i < 100 && abandoned < 200; i++) {
    await sleep(100 * SLOW);
    abandoned = metricSum(await souk.metrics(), 'souk_requests_abandoned_total');
  }
  assert.ok(abandoned >= 200, `${abandoned} of 300 were not run`);
});

test('who shuts down only their own side still gets their answer', async (t) => {
  const souk = await startSouk({ t });
  const { email, password } = await souk.customer();
  const body = JSON.stringify({ email, password });
  const c = await connect(souk.url);
  c.socket.end(`POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  assert.equal((await c.answer()).status, 200);
});
