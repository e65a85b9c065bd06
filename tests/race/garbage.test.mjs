// Random bytes and mutated requests: the server answers, refuses or hangs up, and goes on serving everybody else.
// release: sqlite
import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { IS_ASAN, startSouk, together } from '../api/lib/souk.mjs';

const COUNT = Number(process.env.SOUK_GARBAGE ?? (IS_ASAN ? 20000 : 4000));

/** A small generator with a seed, so that a failure can be repeated. */
function generator(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return (z ^ (z >>> 14)) >>> 0;
  };
  return { below: (n) => next() % n, pick: (list) => list[next() % list.length] };
}

const seeds = (token) => [
  'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET /readyz HTTP/1.1\r\nHost: a\r\nX-Request-Id: abc\r\nAccept: */*\r\n\r\n',
  `GET /api/customer/tokens?limit=5&cursor=AAAA HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  `POST /api/customer/tokens HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
    'Idempotency-Key: "k"\r\nContent-Length: 48\r\n\r\n{"name":"\\u00e9\\ud83d\\ude00","scopes":["order"]}',
  'POST /api/auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n' +
    '1b;x=y\r\n{"email":"a@b.example","pas\r\n10\r\nsword":12345678}\r\n0\r\nX: y\r\n\r\n',
  `DELETE /api/customer/tokens/99 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\nHEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\nGET /%41?a=%zz HTTP/1.0\r\n\r\n',
];

const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  '\t',
  ':',
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\',
  '%',
  '%00',
  '/',
  '//',
  '..',
  '?',
  '&',
  '=',
  ',',
  ';',
  'Content-Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Host: b\r\n',
  'Expect: 100-continue\r\n',
  'HTTP/1.1',
  'HTTP/9.9',
  '\xff\xfe',
  '9999999999999999999',
  '-1',
  'ffffffff\r\n',
  'Bearer ',
  'Connection: close\r\n',
  'null',
  'true',
  '1e999',
  '\\u0000',
  'GET ',
];

function mutate(random, text) {
  let bytes = Buffer.from(text, 'latin1');
  for (let n = 1 + random.below(6); n > 0; n--) {
    const at = random.below(bytes.length + 1);
    const length = random.below(12);
    const piece = random.below(3) === 0 ? Buffer.from([random.below(256)]) : Buffer.from(random.pick(TOKENS), 'latin1');
    switch (random.below(5)) {
      case 0:
        bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
        break;
      case 1:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
        break;
      case 2:
        bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + piece.length)]);
        break;
      case 3:
        bytes = Buffer.concat([bytes, bytes.subarray(at, at + length * 8)]);
        break;
      default:
        if (at < bytes.length) {
          bytes = Buffer.from(bytes);
          bytes[at] ^= 1 << random.below(8);
        }
    }
    if (bytes.length === 0) bytes = Buffer.from('x');
  }
  return bytes;
}

/** Sends bytes, perhaps in pieces, then ends or resets; gives what came back. */
function throwAt(port, bytes, random) {
  const cut = random.below(3) === 0 ? random.below(bytes.length) : bytes.length;
  const resets = random.below(10) === 0;
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    const chunks = [];
    const timer = setTimeout(() => socket.destroy(), 3000);
    socket.on('data', (c) => chunks.push(c));
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks).toString('latin1'));
    });
    socket.on('connect', () => {
      socket.write(bytes.subarray(0, cut));
      const rest = () => {
        if (cut < bytes.length) socket.write(bytes.subarray(cut));
        if (resets) socket.resetAndDestroy();
        else socket.end();
      };
      if (cut < bytes.length) setImmediate(rest);
      else rest();
    });
  });
}

test(`${COUNT} random byte strings and mutated requests`, async () => {
  const seed = Number(process.env.SOUK_SEED ?? Date.now() % 1_000_000_007);
  const souk = await startSouk();
  const { token } = await souk.customer();
  const texts = seeds(token);
  let answered = 0;
  await together(COUNT, 32, async (i) => {
    const random = generator(seed + i);
    const bytes =
      i % 5 === 0
        ? Buffer.from(Array.from({ length: 1 + random.below(300) }, () => random.below(256)))
        : mutate(random, random.pick(texts));
    const back = await throwAt(souk.port, bytes, random);
    if (back !== '') {
      answered += 1;
      const what = `seed ${seed + i}: ${JSON.stringify(bytes.toString('latin1'))}\n${back}`;
      assert.match(back, /^HTTP\/1\.1 [1-5]\d\d /, what);
      assert.ok(!/^HTTP\/1\.1 500 /m.test(back), what);
    }
    if (i % 500 === 0) assert.equal((await souk.get('/readyz')).status, 200, `seed ${seed + i}`);
  });
  assert.ok(
    answered > COUNT / 3,
    `only ${answered} of ${COUNT} were answered: the mutations are too wild to reach anything`,
  );
  const metrics = await souk.metrics();
  assert.equal(metrics.get('souk_db_errors_total'), 0, `seed ${seed}`);
  assert.ok(metrics.get('souk_connections_open') < 64, `connections leak: ${metrics.get('souk_connections_open')}`);
  await souk.stop();
});
