// HTTP/1.1 over a raw socket: what is refused, how requests are cut, kept alive, limited in time and drained. The cases
// know only statuses and connections, and run against the store and against echo_server. Cases that need an answer's
// content are in echo.test.mjs.
// runs: sqlite
// release: sqlite
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { connect, once } from './lib/raw.mjs';
import { startRawServer } from './lib/raw_server.mjs';
import { ENGINE, SLOW, together } from './lib/souk.mjs';

const HOST = 'Host: localhost\r\n';
const SMUGGLED = `GET /smuggled HTTP/1.1\r\n${HOST}\r\n`;
const BODY = `{${' '.repeat(30)}}`;

/** The limits of http/codec.h and the default size of a body. */
const TARGET_MAX = 8192;
const HEAD_MAX = 16384;
const HEADERS_MAX = 100;
const BODY_MAX = 65536;

const get = (lines = '', target = '/readyz') => `GET ${target} HTTP/1.1\r\n${HOST}${lines}\r\n`;
const post = (lines, body = '') =>
  `POST /api/auth/login HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n${lines}\r\n${body}`;
const residentBytes = (pid) =>
  Number(/VmRSS:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
const chunked = (body) => post('Transfer-Encoding: chunked\r\n', body);

/** [what, bytes, status]: each is answered once, with that status, and the connection is closed. */
const REFUSED = [
  [
    'Content-Length with Transfer-Encoding',
    post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    400,
  ],
  [
    'Transfer-Encoding with Content-Length',
    post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', '0\r\n\r\n'),
    400,
  ],
  ['two Content-Lengths', post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'), 400],
  ['two Content-Lengths that differ', post('Content-Length: 2\r\nContent-Length: 0\r\n', '{}'), 400],
  ['a list as Content-Length', post('Content-Length: 2, 2\r\n', '{}'), 400],
  ['Content-Length with a plus', post('Content-Length: +2\r\n', '{}'), 400],
  ['a negative Content-Length', post('Content-Length: -2\r\n', '{}'), 400],
  ['an empty Content-Length', post('Content-Length:\r\n', '{}'), 400],
  ['a hexadecimal Content-Length', post('Content-Length: 0x2\r\n', '{}'), 400],
  ['letters as Content-Length', post('Content-Length: two\r\n', '{}'), 400],
  ['Content-Length past int64', post('Content-Length: 9223372036854775808\r\n'), 400],
  ['Content-Length past uint64', post('Content-Length: 18446744073709551618\r\n', '{}'), 400],
  ['space before the colon', post('Content-Length : 2\r\n', '{}'), 400],
  ['tab before the colon', post('Transfer-Encoding\t: chunked\r\n', '0\r\n\r\n'), 400],
  ['space in a name', get('X Y: z\r\n'), 400],
  ['an empty name', get(': z\r\n'), 400],
  ['a line without a colon', get('nothing\r\n'), 400],
  ['a folded line', get('X: a\r\n b\r\n'), 400],
  ['a line folded by a tab', get('X: a\r\n\tb\r\n'), 400],
  ['a folded first line', `GET / HTTP/1.1\r\n X: a\r\n${HOST}\r\n`, 400],
  ['bare LF after the request line', `GET / HTTP/1.1\n${HOST}\r\n`, 400],
  ['bare LF after a header', get('X: a\nY: b\r\n'), 400],
  ['bare LF at the end of the head', `GET / HTTP/1.1\r\n${HOST}\n`, 400],
  ['bare CR in a value', get('X: a\rY: b\r\n'), 400],
  ['bare CR in the request line', `GET /\r HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['bare CR before CRLF', get('X: a\r\r\n'), 400],
  ['NUL in a value', get('X: a\0b\r\n'), 400],
  ['NUL in a name', get('X\0: a\r\n'), 400],
  ['NUL in the target', get('', '/a\0b'), 400],
  ['a control character in a value', get('X: a\x01b\r\n'), 400],
  ['DEL in a value', get('X: a\x7fb\r\n'), 400],
  ['a missing Host', 'GET / HTTP/1.1\r\n\r\n', 400],
  ['two Hosts', get('Host: localhost\r\n'), 400],
  ['a Host with a space', 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n', 400],
  ['a Host with a slash', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', 400],
  ['a Host with a user', 'GET / HTTP/1.1\r\nHost: a@b\r\n\r\n', 400],
  ['a Host with a bad port', 'GET / HTTP/1.1\r\nHost: a:b\r\n\r\n', 400],
  ['an empty chunk size', chunked('\r\n{}\r\n0\r\n\r\n'), 400],
  ['a negative chunk size', chunked('-2\r\n{}\r\n0\r\n\r\n'), 400],
  ['a chunk size with a plus', chunked('+2\r\n{}\r\n0\r\n\r\n'), 400],
  ['a chunk size with 0x', chunked('0x2\r\n{}\r\n0\r\n\r\n'), 400],
  ['a chunk size with a space before', chunked(' 2\r\n{}\r\n0\r\n\r\n'), 400],
  ['a chunk size with a space behind', chunked('2 \r\n{}\r\n0\r\n\r\n'), 400],
  ['a chunk size past int64', chunked('10000000000000002\r\n{}\r\n0\r\n\r\n'), 400],
  ['a chunk size that wraps to 2', chunked('ffffffffffffffff2\r\n{}\r\n0\r\n\r\n'), 400],
  ['bare LF after a chunk size', chunked('2\n{}\r\n0\r\n\r\n'), 400],
  ['bare CR after a chunk size', chunked('2\r{}\r\n0\r\n\r\n'), 400],
  ['no CRLF after chunk data', chunked('2\r\n{}0\r\n\r\n'), 400],
  ['bare LF after chunk data', chunked('2\r\n{}\n0\r\n\r\n'), 400],
  ['more chunk data than its size', chunked('2\r\n{ }\r\n0\r\n\r\n'), 400],
  ['bare LF in a chunk extension', chunked('2;a\nb\r\n{}\r\n0\r\n\r\n'), 400],
  ['an endless chunk extension', chunked(`2;${'x'.repeat(20000)}`), 400],
  ['a broken trailer', chunked('2\r\n{}\r\n0\r\nbroken\r\n\r\n'), 400],
  ['endless trailers', chunked(`2\r\n{}\r\n0\r\n${'X: y\r\n'.repeat(4000)}`), 400],
  ['chunks in HTTP/1.0', `POST / HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  ['Transfer-Encoding twice', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'), 400],
  ['an unknown coding', post('Transfer-Encoding: gzip\r\n'), 501],
  ['two codings', post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'), 501],
  ['chunked twice', post('Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n'), 501],
  ['identity', post('Transfer-Encoding: identity\r\n'), 501],
  ['a coding that looks like chunked', post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'), 501],
  ['a quoted coding', post('Transfer-Encoding: "chunked"\r\n', '0\r\n\r\n'), 501],
  ['HTTP/2.0', `GET / HTTP/2.0\r\n${HOST}\r\n`, 505],
  ['HTTP/1.2', `GET / HTTP/1.2\r\n${HOST}\r\n`, 505],
  ['HTTP/0.9 with its version', 'GET / HTTP/0.9\r\n\r\n', 505],
  ['HTTP/0.9 without', 'GET /\r\n', 400],
  ['a version in small letters', `GET / http/1.1\r\n${HOST}\r\n`, 400],
  ['a version without minor', `GET / HTTP/1\r\n${HOST}\r\n`, 400],
  ['a version with two digits', `GET / HTTP/1.10\r\n${HOST}\r\n`, 400],
  ['no version name', `GET / FTP/1.1\r\n${HOST}\r\n`, 400],
  ['two spaces after the method', `GET  / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['two spaces before the version', `GET /  HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['space behind the version', `GET / HTTP/1.1 \r\n${HOST}\r\n`, 400],
  ['space before the method', ` GET / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['a tab in the request line', `GET\t/ HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['three empty lines first', `\r\n\r\n\r\n${get()}`, 400],
  ['a fragment in the target', get('', '/a#b'), 400],
  ['raw UTF-8 in the target', Buffer.from(get('', '/é')), 400],
  ['a target without a slash', get('', 'a'), 400],
  ['a foreign scheme', get('', 'ftp://h/'), 400],
  ['an absolute target without a host', get('', 'http:///'), 400],
  ['an absolute target with a user', get('', 'http://u@h/'), 400],
  ['an asterisk for GET', get('', '*'), 400],
  ['CONNECT', `CONNECT localhost:80 HTTP/1.1\r\n${HOST}\r\n`, 501],
  ['a method too long', `${'A'.repeat(17)} / HTTP/1.1\r\n${HOST}\r\n`, 501],
  ['a method with quotes', `G"T / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['another expectation', post('Expect: 200-ok\r\nContent-Length: 2\r\n', '{}'), 417],
  ['a target too long', get('', `/${'a'.repeat(TARGET_MAX)}`), 414],
  ['an endless target', `GET /${'a'.repeat(TARGET_MAX * 3)}`, 414],
  ['a header too long', get(`X: ${'a'.repeat(HEAD_MAX)}\r\n`), 431],
  ['an endless header', `GET / HTTP/1.1\r\n${HOST}X: ${'a'.repeat(HEAD_MAX * 2)}`, 431],
  ['an endless name', `GET / HTTP/1.1\r\n${HOST}${'a'.repeat(HEAD_MAX * 2)}`, 431],
  ['too many headers', get('X: y\r\n'.repeat(HEADERS_MAX)), 431],
  ['a body too large', post(`Content-Length: ${BODY_MAX + 1}\r\n`, '{}'), 413],
  ['an enormous body', post('Content-Length: 999999999999999999\r\n', '{}'), 413],
  ['chunks too large together', chunked(`${`1000\r\n${' '.repeat(4096)}\r\n`.repeat(17)}0\r\n\r\n`), 413],
  ['one chunk too large', chunked(`fffffff\r\n${' '.repeat(BODY_MAX + 10)}`), 413],
  ['a TLS handshake', Buffer.from('16030100c5010000c10303', 'hex'), 400],
  ['binary noise', Buffer.from([0, 1, 2, 255, 254]), 400],
];

/** [what, bytes, 'get' or 'post']: each is read as that request. */
const ACCEPTED = [
  ['a plain request', (s) => get('', s.get.target), 'get'],
  ['one empty line first', (s) => `\r\n${get('', s.get.target)}`, 'get'],
  ['two empty lines first', (s) => `\r\n\r\n${get('', s.get.target)}`, 'get'],
  ['an absolute target', (s) => get('', `http://localhost${s.get.target}`), 'get'],
  ['an absolute target in capitals', (s) => get('', `HTTP://LOCALHOST:80${s.get.target}`), 'get'],
  ['a query', (s) => get('', `${s.get.target}?a=%20b&c`), 'get'],
  ['an empty Host', (s) => `GET ${s.get.target} HTTP/1.1\r\nHost:\r\n\r\n`, 'get'],
  ['an IPv6 Host', (s) => `GET ${s.get.target} HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n`, 'get'],
  ['opaque bytes in a value', (s) => Buffer.from(get('X: \xe9\xff\r\n', s.get.target), 'latin1'), 'get'],
  ['an empty value', (s) => get('X:\r\n', s.get.target), 'get'],
  ['white space around a value', (s) => get('X: \t a \t \r\n', s.get.target), 'get'],
  ['as many headers as allowed', (s) => get('X: y\r\n'.repeat(HEADERS_MAX - 1), s.get.target), 'get'],
  ['a body by its length', (s) => post(`Content-Length: ${BODY.length}\r\n`, BODY), 'post'],
  [
    'a body of the largest size',
    () => post(`Content-Length: ${BODY_MAX}\r\n`, `{${' '.repeat(BODY_MAX - 2)}}`),
    'post',
  ],
  ['zeros before a length', () => post(`Content-Length: 000${BODY.length}\r\n`, BODY), 'post'],
  ['a body in chunks', () => chunked(`1\r\n{\r\n1\r\n}\r\n0\r\n\r\n`), 'post'],
  [
    'chunks with extensions and trailers',
    () => chunked(`1;a=b\r\n{\r\n01;c="d"\r\n}\r\n00;e\r\nT: x\r\nU:\r\n\r\n`),
    'post',
  ],
  ['chunked in capitals', () => post('Transfer-Encoding: CHUNKED\r\n', '2\r\n{}\r\n0\r\n\r\n'), 'post'],
];

const SEEDS = [
  get(),
  get('Connection: close\r\nX-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n'),
  `HEAD / HTTP/1.0\r\n${HOST}\r\n`,
  post('Content-Length: 2\r\n', '{}'),
  chunked('1;x=y\r\n{\r\n1\r\n}\r\n0\r\nT: v\r\n\r\n'),
  post('Expect: 100-continue\r\nContent-Length: 2\r\n', '{}'),
  get('', 'http://h/x?y'),
  get() + get() + get(),
].map((text) => Buffer.from(text, 'latin1'));

/** Marsaglia's xorshift32: the same numbers for the same seed, everywhere. */
function random(seed) {
  let x = seed >>> 0 || 1;
  return (below) => {
    x ^= x << 13;
    x >>>= 0;
    x ^= x >>> 17;
    x ^= x << 5;
    x >>>= 0;
    return x % below;
  };
}

function mutated(pick) {
  if (pick(10) === 0) return Buffer.from(Array.from({ length: 1 + pick(300) }, () => pick(256)));
  let bytes = Buffer.from(SEEDS[pick(SEEDS.length)]);
  for (let n = 1 + pick(4); n > 0; n--) {
    const at = pick(bytes.length + 1);
    const end = Math.min(bytes.length, at + pick(20));
    const noise = Buffer.from(Array.from({ length: pick(4) }, () => pick(256)));
    const special = Buffer.from(['\r\n', '\r', '\n', '\0', ' ', ':', '\r\n\r\n', '0', ';', ','][pick(10)]);
    bytes = [
      () => Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at)]),
      () => Buffer.concat([bytes.subarray(0, at), special, bytes.subarray(at)]),
      () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]),
      () => Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]),
      () => bytes.subarray(0, at),
      () => {
        const copy = Buffer.from(bytes);
        if (at < copy.length) copy[at] ^= 1 << pick(8);
        return copy;
      },
    ][pick(6)]();
  }
  return bytes;
}

const descriptors = (server) => fs.readdirSync(`/proc/${server.pid}/fd`).length;

/** Both have the same HTTP layer: where time matters, one is enough. SOUK_RAW chooses. */
const kinds = process.env.SOUK_RAW?.split(',') ?? (ENGINE === 'pg' || SLOW > 1 ? ['souk'] : ['souk', 'echo']);
for (const kind of kinds) {
  describe(`${kind}: requests`, { concurrency: 8 }, () => {
    let server;
    let descriptorsBefore;
    before(async () => {
      server = await startRawServer(kind);
      await once(server.url, get('Connection: close\r\n'));
      descriptorsBefore = descriptors(server);
    });
    after(async () => {
      // Every connection of every case below is closed again, and no file is left open.
      for (let i = 0; i < 100 && descriptors(server) > descriptorsBefore; i++) await sleep(50);
      assert.ok(
        descriptors(server) <= descriptorsBefore,
        `${descriptors(server)} descriptors, ${descriptorsBefore} before`,
      );
      await server.stop();
    });

    for (const [what, bytes, status] of REFUSED) {
      test(`refused: ${what}`, async () => {
        const { answer, closed, rest } = await once(
          server.url,
          Buffer.concat([Buffer.from(bytes), Buffer.from(SMUGGLED)]),
        );
        assert.equal(answer?.status, status, `${answer?.status} ${answer?.text}`);
        assert.equal(answer.headers.connection, 'close');
        assert.equal(rest, '', 'what follows a refused request must not be answered');
        assert.ok(closed, 'the connection stayed open');
      });
    }

    for (const [what, bytes, as] of ACCEPTED) {
      test(`accepted: ${what}`, async () => {
        const connection = await connect(server.url);
        connection.write(bytes(server));
        assert.equal((await connection.answer())?.status, server[as].status);
        connection.write(get('', server.get.target)); // and the next one starts where this one ended
        const next = await connection.answer();
        assert.equal(next?.status, server.get.status);
        assert.equal(next.headers.connection, undefined);
        assert.ok(next.headers.date);
        connection.destroy();
      });
    }

    test('ten requests in one write are answered in their order', async () => {
      const connection = await connect(server.url);
      const one = (i) =>
        i % 3 === 0
          ? post(`X-Request-Id: n${i}\r\nContent-Length: ${BODY.length}\r\n`, BODY)
          : i % 3 === 1
            ? get(`X-Request-Id: n${i}\r\n`, server.get.target)
            : post(`X-Request-Id: n${i}\r\nTransfer-Encoding: chunked\r\n`, '2\r\n{}\r\n0\r\n\r\n');
      connection.write(Array.from({ length: 10 }, (_, i) => one(i)).join(''));
      for (let i = 0; i < 10; i++) {
        const answer = await connection.answer();
        assert.equal(answer?.headers['x-request-id'], `n${i}`);
        assert.equal(answer.status, i % 3 === 1 ? server.get.status : server.post.status);
      }
      connection.destroy();
    });

    test('five hundred requests in one write too', async () => {
      const connection = await connect(server.url);
      connection.write(
        Array.from({ length: 500 }, (_, i) => get(`X-Request-Id: n${i}\r\n`, server.get.target)).join(''),
      );
      for (let i = 0; i < 500; i++) assert.equal((await connection.answer())?.headers['x-request-id'], `n${i}`);
      connection.destroy();
    });

    test('pipelined requests behind one that closes are not answered', async () => {
      const connection = await connect(server.url);
      connection.write(get('', server.get.target) + get('Connection: close\r\n', server.get.target) + SMUGGLED);
      assert.equal((await connection.answer())?.status, server.get.status);
      assert.equal((await connection.answer())?.headers.connection, 'close');
      assert.ok(await connection.waitClosed());
      assert.equal(connection.text, '');
    });

    const cut = {
      'a request without a body': [() => get('Accept: */*\r\n', server.get.target), 'get'],
      'a request with a body': [() => post(`Content-Length: ${BODY.length}\r\n`, BODY), 'post'],
      'a chunked request': [() => chunked(`5;x=y\r\n{    \r\n6\r\n     }\r\n0\r\nT: v\r\n\r\n`), 'post'],
    };
    for (const [what, [make, as]] of Object.entries(cut)) {
      test(`${what}, cut at every byte`, async () => {
        const bytes = Buffer.from(make());
        await together(bytes.length - 1, 32, async (i) => {
          const connection = await connect(server.url);
          connection.write(bytes.subarray(0, i + 1));
          await sleep(3);
          connection.write(bytes.subarray(i + 1));
          assert.equal((await connection.answer())?.status, server[as].status, `cut at ${i + 1}`);
          connection.destroy();
        });
      });
      test(`${what}, byte by byte, twice`, async () => {
        const connection = await connect(server.url);
        for (let round = 0; round < 2; round++) {
          for (const byte of Buffer.from(make())) {
            connection.write(Buffer.from([byte]));
            await turn();
          }
          assert.equal((await connection.answer())?.status, server[as].status);
        }
        connection.destroy();
      });
    }

    test('HEAD has the length and not the body', async () => {
      const connection = await connect(server.url);
      connection.write(
        get('', server.get.target) + get('', server.get.target).replace('GET', 'HEAD') + get('', server.get.target),
      );
      const full = await connection.answer();
      const head = await connection.answer({ head: true });
      assert.equal(head.status, server.get.status);
      assert.ok(Number(head.headers['content-length']) > 0);
      assert.ok(Math.abs(Number(head.headers['content-length']) - full.text.length) < 5);
      assert.equal((await connection.answer())?.status, server.get.status, 'the next answer starts right behind');
      connection.destroy();
    });

    test('a refused HEAD has no body either', async () => {
      const { answer, rest, closed } = await once(server.url, `HEAD / HTTP/1.1\r\n${HOST}bad\r\n\r\n`, { head: true });
      assert.equal(answer.status, 400);
      assert.equal(rest, '');
      assert.ok(closed);
    });

    test('a connection stays open for many requests', async () => {
      const connection = await connect(server.url);
      for (let i = 0; i < 50; i++) {
        connection.write(get('', server.get.target));
        assert.equal((await connection.answer())?.status, server.get.status);
      }
      assert.ok(!connection.closed);
      connection.destroy();
    });

    test('Connection: close is kept', async () => {
      const { answer, closed } = await once(server.url, get('Connection: x, Close\r\n', server.get.target));
      assert.equal(answer.status, server.get.status);
      assert.equal(answer.headers.connection, 'close');
      assert.ok(closed);
    });

    test('HTTP/1.0 is closed', async () => {
      const { answer, closed } = await once(server.url, `GET ${server.get.target} HTTP/1.0\r\n\r\n`);
      assert.equal(answer.status, server.get.status);
      assert.equal(answer.headers.connection, 'close');
      assert.ok(closed);
    });

    test('HTTP/1.0 with keep-alive is not', async () => {
      const connection = await connect(server.url);
      for (let i = 0; i < 3; i++) {
        connection.write(`GET ${server.get.target} HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n`);
        const answer = await connection.answer();
        assert.equal(answer?.status, server.get.status);
        assert.equal(answer.headers.connection, 'keep-alive');
      }
      assert.ok(!connection.closed);
      connection.destroy();
    });

    test('100 Continue is sent when the body is awaited', async () => {
      const connection = await connect(server.url);
      for (let i = 0; i < 2; i++) {
        connection.write(post(`Expect: 100-Continue\r\nContent-Length: ${BODY.length}\r\n`));
        assert.ok(await connection.wait((c) => c.text === 'HTTP/1.1 100 Continue\r\n\r\n', 5000), connection.text);
        connection.write(BODY);
        const answer = await connection.answer();
        assert.equal(answer?.status, server.post.status);
        assert.deepEqual(answer.interim, [100]);
      }
      connection.destroy();
    });

    test('100 Continue is not sent when the body is here already, or when there is none', async () => {
      const connection = await connect(server.url);
      connection.write(post(`Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n`, BODY));
      assert.equal((await connection.answer())?.interim, undefined);
      connection.write(get('Expect: 100-continue\r\n', server.get.target));
      assert.equal((await connection.answer())?.interim, undefined);
      connection.write(
        `POST ${server.post.target} HTTP/1.0\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n` +
          `Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`,
      );
      await sleep(50);
      assert.equal(connection.text, '', 'HTTP/1.0 does not know 100 Continue');
      connection.write(BODY);
      assert.equal((await connection.answer())?.status, server.post.status);
      connection.destroy();
    });

    test('100 Continue is not sent for a body that is too large', async () => {
      const { answer, closed } = await once(
        server.url,
        post(`Expect: 100-continue\r\nContent-Length: ${BODY_MAX + 1}\r\n`),
      );
      assert.equal(answer.status, 413);
      assert.equal(answer.interim, undefined);
      assert.ok(closed);
    });

    test('413 can be read by a client that sends everything first', async () => {
      const socket = net.connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => {});
      socket.pause();
      const megabyte = Buffer.alloc(1024 * 1024, 0x20);
      socket.write(post(`Content-Length: ${20 * megabyte.length}\r\n`));
      for (let i = 0; i < 20; i++) {
        if (!socket.write(megabyte))
          await new Promise((resolve) => {
            socket.once('drain', resolve).once('close', resolve);
          });
      }
      const chunks = [];
      socket.on('data', (c) => chunks.push(c)).resume();
      await new Promise((resolve) => {
        socket.once('end', resolve).once('close', resolve);
      });
      socket.destroy();
      assert.match(Buffer.concat(chunks).toString(), /^HTTP\/1\.1 413 .*\r\n\r\n\{.*\}$/s);
    });

    test('400 can be read by a client that goes on sending', async () => {
      const connection = await connect(server.url);
      connection.write('GET / HTTP/1.1\r\nbroken\r\n');
      for (let i = 0; i < 50; i++) {
        connection.write(Buffer.alloc(4096, 0x41));
        await turn();
      }
      assert.equal((await connection.answer())?.status, 400);
      connection.destroy();
    });

    test('a client that shuts down its side still gets its answer', async () => {
      const socket = net.connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', allowHalfOpen: true });
      const chunks = [];
      socket.on('data', (c) => chunks.push(c));
      socket.end(get('', server.get.target) + post('Content-Length: 2\r\n', '{}'));
      await new Promise((resolve) => {
        socket.once('close', resolve);
        socket.once('end', () => socket.destroy());
      });
      const statuses = Buffer.concat(chunks)
        .toString()
        .match(/HTTP\/1\.1 \d+/g);
      assert.deepEqual(statuses, [`HTTP/1.1 ${server.get.status}`, `HTTP/1.1 ${server.post.status}`]);
    });

    test('clients that go away at every byte leave nothing behind', async () => {
      const bytes = Buffer.from(post(`Content-Length: ${BODY.length}\r\n`, BODY));
      await together(bytes.length + 1, 16, async (i) => {
        const connection = await connect(server.url);
        connection.write(bytes.subarray(0, i));
        await sleep(2);
        if (i % 2) connection.reset();
        else connection.destroy();
      });
      assert.equal(
        (await once(server.url, get('Connection: close\r\n', server.get.target))).answer.status,
        server.get.status,
      );
    });

    const seed = Number(process.env.SOUK_SEED ?? Date.now() % 1000000);
    test(`two thousand random and mutated requests (SOUK_SEED=${seed})`, async () => {
      const pick = random(seed);
      const inputs = Array.from({ length: 2000 }, () => mutated(pick));
      await together(inputs.length, 32, async (i) => {
        const connection = await connect(server.url);
        const { socket } = connection;
        socket.end(inputs[i]);
        assert.ok(
          await connection.waitClosed(10000),
          `no end of it (input ${i}): ${JSON.stringify(inputs[i].toString('latin1'))}`,
        );
        assert.ok(connection.text === '' || /^HTTP\/1\.1 [1-5]\d\d /.test(connection.text), connection.text);
        assert.ok(!/HTTP\/1\.1 500/.test(connection.text), `500 for ${JSON.stringify(inputs[i].toString('latin1'))}`);
      });
      assert.equal(
        (await once(server.url, get('Connection: close\r\n', server.get.target))).answer.status,
        server.get.status,
      );
    });
  });

  describe(`${kind}: time and number`, { concurrency: 8 }, () => {
    const HEADER_MS = 500 * SLOW;
    const IDLE_MS = 1000 * SLOW;
    let hasty;
    let capped;
    before(async () => {
      [hasty, capped] = await Promise.all([
        startRawServer(kind, { headerMs: HEADER_MS, idleMs: IDLE_MS }),
        startRawServer(kind, { connectionsMax: 5, loops: 2 }),
      ]);
    });
    after(() => Promise.all([hasty.stop(), capped.stop()]));

    test('a head that does not end is answered 408 in time', async () => {
      const connection = await connect(hasty.url);
      const started = Date.now();
      connection.write('GET / HT');
      const answer = await connection.answer();
      const took = Date.now() - started;
      assert.equal(answer?.status, 408);
      assert.equal(answer.headers.connection, 'close');
      assert.ok(took >= HEADER_MS * 0.9, `after ${took} ms`);
      assert.ok(await connection.waitClosed());
    });

    test('a head that trickles in is answered 408 in time too', async () => {
      const connection = await connect(hasty.url);
      connection.write(`GET / HTTP/1.1\r\n${HOST}`);
      const drip = setInterval(() => connection.write('X: y\r\n'), HEADER_MS / 25);
      const answer = await connection.answer();
      clearInterval(drip);
      assert.equal(answer?.status, 408);
      connection.destroy();
    });

    test('the deadline counts from the first byte of each request', async () => {
      for (let tries = 0, isDone = false; !isDone; tries++) {
        let since = Date.now(); // the server begins to count later than this
        const connection = await connect(hasty.url);
        for (let i = 0; i < 3; i++) {
          await sleep(HEADER_MS * 0.45); // three of them are longer than the deadline
          const began = Date.now();
          connection.write(get('', hasty.get.target));
          const answer = await connection.answer();
          isDone = Date.now() - since < HEADER_MS * 0.95; // else this machine overslept: once more
          if (!isDone && tries < 40) break;
          assert.equal(answer?.status, hasty.get.status);
          since = began;
        }
        connection.destroy();
      }
    });

    test('an idle connection is closed without a word', async () => {
      const fresh = await connect(hasty.url);
      const used = await connect(hasty.url);
      used.write(get('', hasty.get.target));
      assert.equal((await used.answer())?.status, hasty.get.status);
      const started = Date.now();
      assert.ok((await fresh.waitClosed(IDLE_MS * 3)) && (await used.waitClosed(IDLE_MS * 3)));
      assert.ok(Date.now() - started > IDLE_MS * 0.5);
      assert.equal(fresh.text + used.text, '');
    });

    test('slow clients do not slow others', async () => {
      const server = await startRawServer(kind); // a patient one: the others, too, share this machine with the slow
      try {
        const slow = await together(200, 50, () => connect(server.url));
        for (const connection of slow) connection.write('GET / HTTP/1.1\r\n');
        for (let i = 0; i < 20; i++) {
          const { answer } = await once(server.url, get('Connection: close\r\n', server.get.target));
          assert.equal(answer?.status, server.get.status);
        }
        for (const connection of slow) connection.destroy();
      } finally {
        await server.stop();
      }
    });

    test('past the cap connections are closed at once, and accepted again when there is room', async () => {
      const open = [];
      for (let i = 0; open.length < 5; i++) {
        // the connection that asked whether it is up may not be gone yet
        const connection = await connect(capped.url);
        connection.write(get('', capped.get.target));
        const status = (await connection.answer())?.status;
        if (status !== capped.get.status) {
          assert.ok(i < 100 && status === undefined, String(status));
          continue;
        }
        connection.write('GET '); // a request has begun: it does not give way
        open.push(connection);
      }
      await sleep(50);
      for (let i = 0; i < 3; i++) {
        const over = await connect(capped.url);
        assert.ok(await over.waitClosed(8000));
        assert.equal(over.text, '');
      }
      open[0].write(get('', capped.get.target).slice(4));
      assert.equal((await open[0].answer())?.status, capped.get.status, 'those that are in stay in');
      for (const connection of open) connection.destroy();
      let status;
      for (let i = 0; i < 50 && status !== capped.get.status; i++) {
        await sleep(20);
        status = await once(capped.url, get('Connection: close\r\n', capped.get.target)).then(
          (r) => r.answer?.status,
          () => 0,
        );
      }
      assert.equal(status, capped.get.status);
    });

    test('at the cap the connection that waits for longest makes room for a new one', async () => {
      const server = await startRawServer(kind, { connectionsMax: 5, loops: 1 });
      try {
        await sleep(100); // the connection that asked whether it is up is gone
        const idle = await together(5, 1, async () => {
          await sleep(10);
          return connect(server.url);
        });
        await sleep(50);
        for (let i = 0; i < 3; i++) {
          const fresh = await connect(server.url);
          fresh.write(`${get('', server.get.target)}GET `); // answered, and busy with the next
          assert.equal((await fresh.answer())?.status, server.get.status);
        }
        await idle[2].waitClosed(3000);
        assert.deepEqual(
          idle.map((c) => c.closed),
          [true, true, true, false, false],
        );
        for (const connection of idle) connection.destroy();
      } finally {
        await server.stop();
      }
    });

    test('one address has a cap of its own, and gives up its own idle connections', async () => {
      const server = await startRawServer(kind, { connectionsPerAddress: 4, loops: 1 });
      try {
        const busy = await together(4, 1, () => connect(server.url));
        for (const connection of busy) connection.write('GET ');
        await sleep(50);
        assert.ok(await (await connect(server.url)).waitClosed(8000), 'the fifth is closed');
        busy[0].destroy();
        await sleep(50);
        const idle = await connect(server.url);
        await sleep(50);
        const fresh = await connect(server.url);
        fresh.write(get('', server.get.target));
        assert.equal((await fresh.answer())?.status, server.get.status);
        assert.ok(await idle.waitClosed(8000), 'the idle one made room');
        for (const connection of [...busy, fresh]) connection.destroy();
      } finally {
        await server.stop();
      }
    });

    test('a client that says nothing is closed after the deadline of a head', async () => {
      const server = await startRawServer(kind, { headerMs: 300, idleMs: 60000 });
      try {
        const silent = await connect(server.url);
        assert.ok(await silent.waitClosed(), 'a silent connection stayed open');
        assert.equal(silent.text, '');
      } finally {
        await server.stop();
      }
    });

    test('who pipelines faster than it is served is not read any further', async () => {
      const server = await startRawServer(kind);
      try {
        const greedy = net
          .connect(Number(new URL(server.url).port), '127.0.0.1')
          .on('error', () => {})
          .resume();
        const many = Buffer.from('GET /a HTTP/1.1\r\nHost:x\r\n\r\n'.repeat(20000)); // short ones are read faster than they are served
        const before = residentBytes(server.pid);
        for (const until = Date.now() + 2000; Date.now() < until;) {
          if (!greedy.write(many))
            await Promise.race([
              new Promise((resolve) => {
                greedy.once('drain', resolve);
              }),
              sleep(500),
            ]);
        }
        const more = residentBytes(server.pid) - before;
        assert.ok(more < 24 * 1024 * 1024 * SLOW, `${more} bytes more`);
        assert.equal(
          (await once(server.url, get('Connection: close\r\n', server.get.target))).answer?.status,
          server.get.status,
        );
        greedy.destroy();
      } finally {
        await server.stop();
      }
    });

    test('bodies in memory are counted, and given back', async () => {
      const server = await startRawServer(kind, { bodyMemoryMax: 4 * 65536 }); // one address: a quarter
      try {
        const half = Buffer.alloc(40000, 0x20);
        const both = [await connect(server.url), await connect(server.url)];
        for (const connection of both) connection.write(post('Content-Length: 60000\r\n', '')).write(half);
        const [refused, kept] = await Promise.race(both.map(async (c, i) => [await c.answer(), both[1 - i]]));
        assert.equal(refused?.status, 503);
        assert.equal(refused.headers.connection, 'close');
        if (kind !== 'echo') {
          assert.equal(refused.json.code, 'overloaded');
          assert.equal(refused.headers['retry-after'], '1');
        }
        kept.destroy();
        let status = 503;
        for (let i = 0; i < 50 && status === 503; i++) {
          await sleep(20);
          const third = await connect(server.url);
          third.write(post('Content-Length: 60000\r\n', '')).write(Buffer.alloc(60000, 0x20));
          status = (await third.answer())?.status;
          third.destroy();
        }
        assert.ok(status && status !== 503, 'what was held is given back');
      } finally {
        await server.stop();
      }
    });

    test('SIGTERM: running requests end, idle connections and the port close, the program ends', async () => {
      const server = await startRawServer(kind);
      const idle = await connect(server.url);
      const used = await connect(server.url);
      const running = await connect(server.url);
      const begun = await connect(server.url);
      used.write(get('', server.get.target));
      assert.equal((await used.answer())?.status, server.get.status);
      const request = post(`Content-Length: ${BODY.length}\r\n`, BODY);
      running.write(request.slice(0, -5));
      begun.write('GET ');
      await sleep(300); // nothing says that they were read

      server.terminate();
      assert.ok((await idle.waitClosed()) && (await used.waitClosed()));
      for (let i = 0; ; i++) {
        // a connection that the kernel had queued may still be served
        const refused = await once(server.url, get()).then(
          () => false,
          (e) => e.code === 'ECONNREFUSED' || e.code === 'ECONNRESET',
        );
        if (refused) break;
        assert.ok(i < 50, 'the port stayed open');
        await sleep(20);
      }
      assert.ok(!running.closed && !begun.closed);
      running.write(request.slice(-5));
      const answer = await running.answer();
      assert.equal(answer?.status, server.post.status);
      assert.equal(answer.headers.connection, 'close');
      begun.write(get('', server.get.target).slice(4));
      assert.equal((await begun.answer())?.headers.connection, 'close');
      await server.stop();
    });

    test('SIGTERM: what does not end in time is cut', async () => {
      const server = await startRawServer(kind, { drainMs: 300 * SLOW });
      const hanging = await connect(server.url);
      hanging.write(post('Content-Length: 10\r\n', '{'));
      await sleep(300);
      server.terminate();
      assert.ok(await hanging.waitClosed());
      await server.stop();
    });
  });
}
