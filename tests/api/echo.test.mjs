// The HTTP layer with echo_server behind it: what a request was read as, files, deferred answers, sinks, slow readers,
// proxies, and running out of descriptors.
// runs: sqlite
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, once } from './lib/raw.mjs';
import { startEcho } from './lib/raw_server.mjs';
import { ENGINE, SLOW, together } from './lib/souk.mjs';

const HOST = 'Host: shop.example\r\n';
const get = (target, lines = '') => `GET ${target} HTTP/1.1\r\n${HOST}${lines}\r\n`;
const MEGABYTE = 1024 * 1024;

function fnv(bytes) {
  let sum = 2166136261;
  for (let i = 0; i < bytes.length; i++) sum = Math.imul(sum ^ bytes[i], 16777619);
  return sum >>> 0;
}
const pattern = (from, n) => Buffer.from(Array.from({ length: n }, (_, i) => 97 + ((from + i) % 26)));
const descriptors = (server) => fs.readdirSync(`/proc/${server.pid}/fd`).length;

/** Milliseconds of processor time that a program has used. */
function cpuMs(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function settled(server, before) {
  for (let i = 0; i < 100 && descriptors(server) > before; i++) await sleep(20);
  assert.ok(descriptors(server) <= before, `${descriptors(server)} descriptors, ${before} before`);
}

/** Reads an answer's body at its own pace: `read(socket)` is awaited after each chunk. */
async function slowly(server, target, pace, behind = '') {
  const socket = net.connect({ port: server.port, host: '127.0.0.1', highWaterMark: 16384 });
  socket.on('error', () => {});
  socket.write(get(target, 'Connection: close\r\n'));
  const chunks = [];
  for await (const chunk of socket) {
    chunks.push(chunk);
    if (chunks.length === 1 && behind) socket.write(behind);
    await pace(chunks.length);
  }
  const all = Buffer.concat(chunks);
  return all.subarray(all.indexOf('\r\n\r\n') + 4);
}

/** A client that meant to be steady and had a longer pause than this was on a machine that had other things to do. */
const STEADY_MS = 300;

/**
 * What `attempt(step)` gives, which calls step() at every step. One that was cut (null) and was not steady counts as slow, and is made
 * again.
 */
async function steadily(attempt, onSlow) {
  for (let left = 20; ; left -= 1) {
    let at = Date.now();
    let pause = 0;
    const step = () => {
      pause = Math.max(pause, Date.now() - at);
      at = Date.now();
    };
    const result = await attempt(step);
    step();
    if (result !== null || pause < STEADY_MS || left === 0) return result;
    onSlow();
  }
}

describe('echo', { concurrency: 4, skip: ENGINE === 'pg' && 'there is no database behind it' }, () => {
  let server;
  let hasty;
  let baseline;
  let slow = 0; // requests that were too slow for `hasty`
  before(async () => {
    server = await startEcho({ trustedProxy: '127.0.0.1' });
    hasty = await startEcho({
      idleMs: 1000,
      bodyRateMin: 500,
      bodyWindowMs: 1000,
      listen: ':0',
      trustedProxy: '192.0.2.1',
    });
    await once(server.url, get('/', 'Connection: close\r\n'));
    baseline = descriptors(server);
  });
  after(async () => {
    const left = await settled(server, baseline).catch((error) => error);
    const [quiet, counted] = await Promise.all([server.stop(), hasty.stop()]);
    if (left) throw left;
    assert.equal(quiet.open, 0);
    assert.equal(counted.open, 0);
    assert.equal(counted.timeouts, slow, 'each slow one is counted');
  });

  test('a request is read as it was sent', async () => {
    const { answer } = await once(
      server.url,
      `PATCH /a/b%20c?x=1&y HTTP/1.1\r\n${HOST}X: y\r\nContent-Length: 5\r\n\r\nhello`,
    );
    assert.deepEqual(answer.json, {
      method: 'PATCH',
      path: '/a/b%20c',
      query: 'x=1&y',
      minor: 1,
      headers: 3,
      host: 'shop.example',
      peer: '127.0.0.1',
      body_bytes: 5,
      body_sum: fnv(Buffer.from('hello')),
      sunk: 0,
    });
    const absolute = await once(server.url, get('http://other.example/p?q'));
    assert.deepEqual([absolute.answer.json.path, absolute.answer.json.query], ['/p', 'q']);
    const bare = await once(server.url, get('http://other.example'));
    assert.equal(bare.answer.json.path, '/');
    const star = await once(server.url, `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`);
    assert.equal(star.answer.json.path, '*');
  });

  test('chunked bodies arrive whole, however they are cut', async () => {
    const body = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7) % 256));
    await together(20, 4, async (round) => {
      const connection = await connect(server.url);
      connection.write(`POST /c HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`);
      for (let at = 0, n = 0; at < body.length; at += n) {
        n = Math.min(body.length - at, 1 + ((at * 31 + round * 17) % 900));
        const part = body.subarray(at, at + n);
        connection.write(Buffer.concat([Buffer.from(`${n.toString(16)};x=${round}\r\n`), part, Buffer.from('\r\n')]));
        if (at % 3 === 0) await sleep(1);
      }
      connection.write('0\r\nT: x\r\n\r\n');
      const answer = await connection.answer();
      assert.equal(answer.json.body_bytes, body.length);
      assert.equal(answer.json.body_sum, fnv(body));
      connection.destroy();
    });
  });

  test('a route may take larger bodies, and no larger ones', async () => {
    const body = Buffer.alloc(5 * MEGABYTE, 'x');
    const connection = await connect(server.url);
    connection.write(`POST /big HTTP/1.1\r\n${HOST}Content-Length: ${body.length}\r\n\r\n`);
    connection.write(body);
    const answer = await connection.answer();
    assert.equal(answer.json.body_bytes, body.length);
    assert.equal(answer.json.body_sum, fnv(body));
    connection.destroy();
    const over = await once(server.url, `POST /big HTTP/1.1\r\n${HOST}Content-Length: ${16 * MEGABYTE + 1}\r\n\r\n`);
    assert.equal(over.answer.status, 413);
  });

  test('a sink takes what comes, and may refuse', async () => {
    const connection = await connect(server.url);
    connection.write(`PUT /sink HTTP/1.1\r\n${HOST}Content-Length: ${20 * MEGABYTE}\r\n\r\n`);
    for (let i = 0; i < 20; i++) connection.write(Buffer.alloc(MEGABYTE, 'x'));
    assert.equal((await connection.answer()).json.sunk, 20 * MEGABYTE);
    connection.write(get('/after'));
    assert.equal((await connection.answer()).json.path, '/after');
    connection.write(`PUT /sink?fail=1000 HTTP/1.1\r\n${HOST}Content-Length: ${2 * MEGABYTE}\r\n\r\n`);
    connection.write(Buffer.alloc(2 * MEGABYTE, 'x'));
    const refused = await connection.answer();
    assert.equal(refused.status, 422);
    assert.equal(refused.headers.connection, 'close');
    connection.destroy();
  });

  test('an answer before the body ends the connection, unless there is no body', async () => {
    const connection = await connect(server.url);
    connection.write(get('/early'));
    const kept = await connection.answer();
    assert.equal(kept.status, 401);
    assert.equal(kept.headers.connection, undefined);
    connection.write(`POST /early HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`);
    const closed = await connection.answer();
    assert.equal(closed.status, 401);
    assert.equal(closed.interim, undefined);
    assert.equal(closed.headers.connection, 'close');
    assert.ok(await connection.waitClosed());
    const asked = await once(server.url, get('/early', 'Connection: close\r\n'));
    assert.equal(asked.answer.status, 401);
    assert.ok(asked.closed);
  });

  test('deferred answers come in order, pipelined or not', async () => {
    await together(50, 50, async (i) => {
      const connection = await connect(server.url);
      connection.write(
        get(`/deferred?ms=${i % 20}`, 'X-Request-Id: a\r\n') +
          get('/now', 'X-Request-Id: b\r\n') +
          get('/deferred?ms=1', 'X-Request-Id: c\r\n'),
      );
      for (const id of ['a', 'b', 'c']) assert.equal((await connection.answer())?.headers['x-request-id'], id);
      connection.destroy();
    });
  });

  test('a client that does not wait for its deferred answer is no trouble', async () => {
    await together(60, 20, async (i) => {
      const connection = await connect(server.url);
      connection.write(get(`/deferred?ms=${20 + i}`) + get('/next'));
      await sleep(5);
      if (i % 3 === 0) connection.reset();
      else connection.destroy();
    });
    await sleep(120);
    assert.equal((await once(server.url, get('/', 'Connection: close\r\n'))).answer.status, 200);
  });

  test('what waits behind a deferred answer is bounded', async () => {
    const connection = await connect(server.url);
    connection.write(get('/deferred?ms=300'));
    await sleep(20);
    let taken = 0;
    const flood = Buffer.from(get('/x').repeat(1000));
    for (let i = 0; i < 400; i++) {
      // 20 MB and more
      connection.socket.write(flood);
      taken += flood.length;
    }
    await sleep(100);
    assert.ok(connection.socket.writableLength > taken / 2, 'the server read what it could not handle yet');
    assert.equal((await connection.answer()).json.path, '/deferred');
    assert.equal((await connection.answer()).json.path, '/x');
    connection.reset();
  });

  test('files are sent whole or in part, and closed', async () => {
    const count = descriptors(server);
    for (const [offset, bytes] of [
      [0, 0],
      [0, 1],
      [25, 100000],
      [1000003, 3 * MEGABYTE],
    ]) {
      const connection = await connect(server.url);
      connection.write(get(`/file?offset=${offset}&bytes=${bytes}`) + get('/next'));
      const answer = await connection.answer();
      assert.equal(answer.headers['content-length'], String(bytes));
      assert.ok(Buffer.from(answer.text).equals(pattern(offset, bytes)));
      assert.equal((await connection.answer()).json.path, '/next');
      connection.destroy();
    }
    const head = await connect(server.url);
    head.write('HEAD /file?bytes=12345 HTTP/1.1\r\nHost: h\r\n\r\n');
    assert.equal((await head.answer({ head: true })).headers['content-length'], '12345');
    assert.equal(head.text, '');
    head.destroy();
    const gone = await together(10, 10, () => connect(server.url));
    for (const connection of gone) connection.write(get('/file'));
    await sleep(30);
    for (const connection of gone) connection.reset();
    await settled(server, count + 20); // other cases run beside this one
  });

  test('a file that is shorter than promised ends the connection', async () => {
    const connection = await connect(server.url);
    connection.write(get(`/file?offset=${64 * MEGABYTE - 10}&bytes=20`));
    assert.ok(await connection.waitClosed());
    assert.match(connection.text, /Content-Length: 20\r\n/);
    assert.equal(connection.text.split('\r\n\r\n')[1].length, 10);
  });

  test('a slow reader gets every byte, from a file and from memory', async () => {
    const wanted = pattern(0, 26);
    await Promise.all(
      ['/file?bytes=12000000', '/large?bytes=12000000'].map(async (target) => {
        const body = await slowly(server, target, (n) => (n % 50 === 0 ? sleep(10) : null), 'nobody reads this');
        assert.equal(body.length, 12000000);
        for (let i = 0; i + 26 <= body.length; i += 26 * 999)
          assert.ok(body.subarray(i, i + 26).equals(wanted), `at ${i}`);
      }),
    );
  });

  test('other requests go on while someone reads slowly', async () => {
    const readers = await together(20, 20, () => connect(server.url));
    for (const reader of readers) {
      reader.socket.pause();
      reader.write(get('/large?bytes=50000000'));
    }
    await sleep(50);
    try {
      for (let i = 0; i < 50; i++)
        assert.equal((await once(server.url, get('/', 'Connection: close\r\n'))).answer.status, 200);
    } finally {
      for (const reader of readers) reader.destroy();
    }
  });

  test('a client that stops reading is cut', async () => {
    await Promise.all(
      ['/large?bytes=60000000', '/file?bytes=60000000'].map(async (target) => {
        const connection = await connect(hasty.url);
        connection.socket.pause();
        connection.write(get(target));
        await sleep(3000);
        connection.socket.resume();
        assert.ok(await connection.waitClosed());
        assert.ok(connection.received.length < 60000000);
        slow++;
      }),
    );
  });

  test('a client that reads slowly but steadily is not cut', async () => {
    const started = Date.now();
    const read = async (step) => {
      const body = await slowly(hasty, '/file?bytes=16000000', () => {
        step();
        return sleep(12);
      });
      return body.length === 16000000 ? body : null;
    };
    assert.ok(await steadily(read, () => slow++), 'it was cut');
    assert.ok(Date.now() - started > 1500, 'it was not slow');
  });

  test('a body that trickles in is answered 408', async () => {
    const connection = await connect(hasty.url);
    connection.write(`POST / HTTP/1.1\r\n${HOST}Content-Length: 10000\r\n\r\n`);
    const drip = setInterval(() => connection.write('x'), 20);
    const answer = await connection.answer();
    clearInterval(drip);
    assert.equal(answer?.status, 408);
    slow++;
    assert.ok(await connection.waitClosed());
  });

  test('a body that came fast and then stops is answered 408 too', async () => {
    const connection = await connect(hasty.url);
    connection.write(`POST /big HTTP/1.1\r\n${HOST}Content-Length: ${8 * MEGABYTE}\r\n\r\n`);
    connection.write(Buffer.alloc(7 * MEGABYTE, 'x'));
    assert.equal((await connection.answer())?.status, 408);
    slow++;
    connection.destroy();
  });

  test('a body that comes steadily is taken', async () => {
    const send = async (step) => {
      const connection = await connect(hasty.url);
      connection.write(`POST / HTTP/1.1\r\n${HOST}Content-Length: 25000\r\n\r\n`);
      for (let i = 0; i < 25; i++) {
        connection.write('x'.repeat(1000));
        await sleep(100);
        step();
      }
      const answer = await connection.answer();
      connection.destroy();
      return answer?.status === 408 ? null : answer;
    };
    assert.equal((await steadily(send, () => slow++))?.json.body_bytes, 25000);
  });

  test('long headers of an answer arrive', async () => {
    for (const n of [10, 15000, 16384, 100000]) {
      const { answer } = await once(server.url, get(`/wide?bytes=${n}`));
      assert.equal(answer.headers['x-wide'].length, n);
      assert.equal(answer.text, 'wide');
    }
  });

  test('the address of a client behind the trusted proxy', async () => {
    const peers = {
      '': '127.0.0.1',
      'X-Forwarded-For: 203.0.113.7\r\n': '203.0.113.7',
      'X-Forwarded-For: 6.6.6.6, 203.0.113.7\r\n': '203.0.113.7',
      'X-Forwarded-For: 203.0.113.7\r\nx-forwarded-for: 9.9.9.9 , 203.0.113.8 \r\n': '203.0.113.8',
      'X-Forwarded-For: 2001:DB8:0::1\r\n': '2001:db8::1',
      'X-Forwarded-For: [2001:db8::2]\r\n': '2001:db8::2',
      'X-Forwarded-For: ::ffff:203.0.113.9\r\n': '203.0.113.9',
      'X-Forwarded-For: unknown\r\n': '127.0.0.1',
      'X-Forwarded-For: 203.0.113.7,\r\n': '127.0.0.1',
      'X-Forwarded-For: "<script>"\r\n': '127.0.0.1',
    };
    for (const [lines, peer] of Object.entries(peers)) {
      assert.equal((await once(server.url, get('/', lines))).answer.json.peer, peer, lines);
    }
    const other = await once(hasty.url, get('/', 'X-Forwarded-For: 203.0.113.7\r\n'));
    assert.equal(other.answer.json.peer, '127.0.0.1', 'nobody else is believed');
  });

  test('IPv6, and both families on one port', async (t) => {
    if (!fs.existsSync('/proc/net/if_inet6') || !fs.readFileSync('/proc/net/if_inet6', 'utf8').trim())
      return t.skip('no IPv6 here');
    assert.equal((await once(hasty.url, get('/'))).answer.json.peer, '127.0.0.1');
    const socket = net.connect({ host: '::1', port: hasty.port });
    socket.write(get('/', 'Connection: close\r\n'));
    const chunks = [];
    for await (const chunk of socket) chunks.push(chunk);
    assert.match(Buffer.concat(chunks).toString(), /"peer":"::1"/);
  });

  test('without descriptors new clients wait, nobody spins, and all are served in the end', async () => {
    const poor = await startEcho({ loops: 1, idleMs: 60000 }, 'ulimit -n 40');
    const clients = await together(60, 20, () => connect(poor.url));
    for (const client of clients) client.write(get('/'));
    await sleep(300);
    const served = () => clients.filter((c) => c.received.length > 0).length;
    assert.ok(served() > 5 && served() < 40, `${served()} were served`);
    const busy = cpuMs(poor.pid);
    await sleep(1500);
    assert.ok(cpuMs(poor.pid) - busy < 300 * SLOW, `${cpuMs(poor.pid) - busy} ms of processor time while waiting`);
    for (const client of clients) if (client.received.length > 0) client.destroy();
    await sleep(1500 * SLOW);
    for (const client of clients) if (client.received.length > 0) client.destroy();
    for (let i = 0; i < 60 && served() < 60; i++) {
      await sleep(100);
      for (const client of clients) if (client.received.length > 0) client.destroy();
    }
    assert.equal(served(), 60);
    assert.match(poor.stderr(), /http_accept_paused/);
    await poor.stop();
  });

  test('SIGTERM lets a deferred answer out', async () => {
    const leaving = await startEcho();
    const running = await together(20, 20, () => connect(leaving.url));
    for (const connection of running) connection.write(get('/deferred?ms=3000') + get('/never'));
    const reader = net.connect({ port: leaving.port, host: '127.0.0.1' }); // it reads nothing yet
    reader.write(get('/large?bytes=40000000'));
    await new Promise((resolve) => reader.once('readable', resolve));
    await sleep(100);
    leaving.terminate();
    let bytes = 0;
    for await (const chunk of reader) bytes += chunk.length; // until the server closes the connection
    assert.ok(bytes > 40000000, `an answer that had begun was cut after ${bytes} bytes`);
    for (const connection of running) {
      const answer = await connection.answer();
      assert.equal(answer?.json.path, '/deferred');
      assert.equal(answer.headers.connection, 'close');
      assert.ok(await connection.waitClosed());
      assert.equal(connection.text, '');
    }
    const counted = await leaving.stop();
    assert.equal(counted.open, 0);
  });

  test('SIGTERM does not wait for an answer that never comes', async () => {
    const leaving = await startEcho({ drainMs: 300 });
    const running = await connect(leaving.url);
    running.write(get('/deferred?ms=60000'));
    await sleep(100);
    const started = Date.now();
    leaving.terminate();
    await leaving.stopped;
    assert.ok(Date.now() - started < 45000, 'it waited');
    running.destroy();
    await leaving.stop();
    assert.match(leaving.stderr(), /http_unanswered/);
  });
});
