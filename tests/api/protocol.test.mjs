// The rules of every endpoint: envelopes, ids, JSON, media types, sizes, and HTTP that is broken on purpose.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startWithCut } from './lib/cut.mjs';
import { expectError, expectFields, expectStatus } from './lib/http.mjs';
import { checkAnswer } from './lib/openapi.mjs';
import { connect, once } from './lib/raw.mjs';
import { ENGINE, startSouk } from './lib/souk.mjs';

let souk;
let token;
before(async () => {
  souk = await startSouk();
  ({ token } = await souk.customer());
});
after(() => souk.stop());

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
const host = () => `Host: 127.0.0.1:${souk.port}\r\n`;
const makeToken = (body, options) => souk.post('/api/customer/tokens', body, { token, ...options });

// Envelopes and request ids.

test('an error has exactly the members that it should have, in order', async () => {
  const answer = expectError(await souk.get('/nowhere'), 404, 'not_found', 'Not found');
  assert.equal(
    answer.text,
    `{"status":"error","message":"Not found","code":"not_found","request_id":"${answer.headers['x-request-id']}"}`,
  );
  assert.equal(answer.headers['content-type'], 'application/json');
});

test("request ids are unique, the caller's own is kept, an unfit one is replaced", async () => {
  const ids = new Set();
  for (let i = 0; i < 50; i++) ids.add((await souk.get('/livez')).headers['x-request-id']);
  assert.equal(ids.size, 50);
  for (const fit of ['a', 'A-b_c.9', 'x'.repeat(64)]) {
    assert.equal((await souk.get('/livez', { headers: { 'X-Request-Id': fit } })).headers['x-request-id'], fit);
  }
  for (const unfit of ['x'.repeat(65), 'a b', 'a/b', 'a{', 'ä', '"', '<script>', '']) {
    const { answer } = await once(
      souk.url,
      `GET /livez HTTP/1.1\r\n${host()}X-Request-Id: ${unfit}\r\nConnection: close\r\n\r\n`,
    );
    assert.equal(answer.status, 200);
    assert.match(answer.headers['x-request-id'], REQUEST_ID);
    assert.notEqual(answer.headers['x-request-id'], unfit);
  }
});

test('answers are not cached and not sniffed', async () => {
  for (const answer of [
    await souk.get('/api/auth/me', { token }),
    await souk.get('/api/auth/me'),
    await souk.get('/nowhere'),
  ]) {
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.equal(answer.headers['x-content-type-options'], 'nosniff');
    assert.equal(answer.headers['x-powered-by'], undefined);
  }
});

test('what the server itself refuses has the headers of every answer', async (t) => {
  const other = await startSouk({ t, args: ['--cors-origins', 'https://shop.example'] });
  const origin = 'Origin: https://shop.example\r\n';
  for (const [status, request] of [
    [400, `GET /livez HTTP/1.1\r\n${origin}Host: x\r\nBad Header: 1\r\n\r\n`],
    [413, `POST /api/auth/login HTTP/1.1\r\n${origin}Host: x\r\nContent-Length: 9999999\r\n\r\n`],
  ]) {
    const { answer } = await once(other.url, request);
    assert.equal(answer.status, status);
    assert.equal(answer.headers['x-content-type-options'], 'nosniff');
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.equal(answer.headers['content-type'], 'application/json');
    assert.equal(answer.headers['access-control-allow-origin'], 'https://shop.example');
    assert.equal(answer.headers.vary, 'Origin');
  }
});

test('a body with a Content-Encoding is 415, wherever it goes', async () => {
  const coded = (value) => ({ token, headers: { 'Content-Encoding': value } });
  for (const target of ['/api/customer/tickets', '/api/auth/login', '/webhook/sandbox']) {
    const answer = await souk.post(target, { subject: 'x' }, { ...coded('gzip'), unchecked: true });
    expectError(answer, 415, 'unsupported_media_type');
    assert.equal(answer.headers['accept-encoding'], 'identity');
  }
  expectStatus(await makeToken({ name: 'plain', scopes: ['verify'] }, coded('identity')), 201);
  expectStatus(await souk.get('/api/auth/me', coded('gzip')), 200);
});

test('what needs no database is answered while there is none', { skip: ENGINE !== 'pg' }, async (t) => {
  const cut = await startWithCut(t);
  expectError(await cut.souk.get('/download/nothing'), 404, 'not_found');
  cut.off();
  expectError(await cut.souk.get('/download/nothing'), 404, 'not_found');
  expectError(
    await cut.souk.post('/api/auth/login', { email: 'a@example.com', password: 'correct horse battery' }),
    503,
    'unavailable',
  );
  expectError(await cut.souk.get('/api/auth/me', { token }), 503, 'unavailable');
  cut.on();
});

test('unknown paths are 404 to everybody, whatever the method', async () => {
  for (const target of [
    '/api',
    '/api/',
    '/api/auth/me/',
    '/api//auth/me',
    '/API/auth/me',
    '/api/auth/me%2F',
    '/livez/..',
    '/api/auth/../auth/me',
    '/%61pi/auth/me',
    '/.env',
    '/api/customer/tokens/1/2',
  ]) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      expectError(await souk.request(method, target, { token }), 404, 'not_found');
    }
  }
});

test('a known path with another method is 405, and says what it knows', async () => {
  const answer = expectError(
    await souk.delete('/api/auth/me', { token }),
    405,
    'method_not_allowed',
    'This method is not allowed here',
  );
  assert.equal(answer.headers.allow, 'GET, HEAD, OPTIONS');
  for (const method of ['PATCH', 'PUT', 'TRACE', 'BREW', 'get', 'PROPFIND']) {
    const { answer: other } = await once(
      souk.url,
      `${method} /api/auth/me HTTP/1.1\r\n${host()}Content-Length: 0\r\n\r\n`,
    );
    assert.ok([405, 501].includes(other.status), `${method}: ${other.status}`);
    if (other.status === 405) assert.equal(other.headers.allow, 'GET, HEAD, OPTIONS');
  }
});

test('OPTIONS answers without a token, also for the server as a whole', async () => {
  const answer = expectStatus(await souk.request('OPTIONS', '/api/customer/tokens'), 200);
  assert.deepEqual(answer.headers.allow.split(', ').sort(), ['GET', 'HEAD', 'OPTIONS', 'POST']);
  assert.equal(answer.headers['access-control-allow-origin'], undefined);
  const { answer: star } = await once(souk.url, `OPTIONS * HTTP/1.1\r\n${host()}\r\n`);
  assert.equal(star.status, 200);
  assert.match(star.headers.allow, /GET/);
  expectError(await souk.request('OPTIONS', '/nowhere'), 404, 'not_found');
});

test('CORS is for configured origins only', async (t) => {
  const other = await startSouk({ t, args: ['--cors-origins', 'https://shop.example,https://b.example'] });
  const ask = (origin, method = 'OPTIONS') =>
    other.request(method, '/livez', { headers: { Origin: origin, 'Access-Control-Request-Method': 'GET' } });
  for (const method of ['OPTIONS', 'GET']) {
    const good = await ask('https://shop.example', method);
    assert.equal(good.headers['access-control-allow-origin'], 'https://shop.example');
    assert.equal(good.headers['access-control-allow-credentials'], undefined);
    assert.match(good.headers.vary, /\bOrigin\b/);
    for (const origin of [
      'https://evil.example',
      'https://shop.example.evil.example',
      'http://shop.example',
      'null',
      '*',
    ]) {
      assert.equal((await ask(origin, method)).headers['access-control-allow-origin'], undefined, origin);
    }
  }
  const preflight = await ask('https://b.example');
  assert.match(preflight.headers['access-control-allow-methods'], /GET/);
  assert.match(preflight.headers['access-control-allow-headers'], /Authorization/);
});

// Media types.

test('Accept', async () => {
  const ask = (accept) => souk.get('/api/auth/me', { token, headers: { Accept: accept } });
  for (const accept of [
    '*/*',
    'application/json',
    'application/*',
    'text/html, application/json;q=0.5',
    'APPLICATION/JSON',
    'text/html,*/*;q=0.1',
    'application/json; charset=utf-8',
    'application/json;q=0.5',
    '',
  ])
    expectStatus(await ask(accept), 200);
  for (const accept of [
    'text/html',
    'application/xml',
    'application/json;q=0',
    'image/*',
    'application/jsonx',
    'text/html;q=1.0,application/json;q=0.0',
  ]) {
    expectError(await ask(accept), 406, 'not_acceptable', 'Only application/json is available here');
  }
});

test('Content-Type', async () => {
  const body = '{"name":"t"}';
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset=UTF-8',
    'application/json ; charset="utf-8"',
  ]) {
    expectStatus(await makeToken(body, { type }), 201);
  }
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'application/json, text/plain',
    'json',
    'application/json; charset=latin1',
    'multipart/form-data; boundary=x',
    null,
  ]) {
    const answer = expectError(
      await makeToken(body, { type }),
      415,
      'unsupported_media_type',
      'The body must be application/json',
    );
    assert.equal(answer.headers['accept-post'], 'application/json');
  }
});

// JSON.

const malformed = {
  nothing: '',
  space: ' ',
  'cut off': '{"name":"a"',
  'trailing comma': '{"name":"a",}',
  'single quotes': "{'name':'a'}",
  comment: '{"name":"a"/**/}',
  'trailing bytes': '{"name":"a"} x',
  'two values': '{"name":"a"}{"name":"b"}',
  'bare word': '{name:"a"}',
  NaN: '{"name":NaN}',
  Infinity: '{"name":-Infinity}',
  hex: '{"name":0x1}',
  'leading zero': '{"name":01}',
  plus: '{"name":+1}',
  dot: '{"name":1.}',
  'bare dot': '{"name":.5}',
  exponent: '{"name":1e}',
  'raw newline in text': '{"name":"a\nb"}',
  'raw tab in text': '{"name":"a\tb"}',
  'bad escape': '{"name":"\\x41"}',
  'short escape': '{"name":"\\u00"}',
  'lone high surrogate': '{"name":"\\ud800"}',
  'lone low surrogate': '{"name":"\\udc00"}',
  'NUL escaped': '{"name":"a\\u0000b"}',
  'byte order mark': '\ufeff{"name":"a"}',
  'duplicate key': '{"name":"a","name":"b"}',
  'duplicate key, escaped': '{"name":"a","n\\u0061me":"b"}',
  'depth 17': `${'['.repeat(17)}${']'.repeat(17)}`,
  'depth 100000': '['.repeat(30000),
  True: '{"name":True}',
  undefined: '{"name":undefined}',
  'no colon': '{"name" "a"}',
  'unclosed text': '{"name":"a}',
};
for (const [what, body] of Object.entries(malformed)) {
  test(`malformed JSON: ${what}`, async () => {
    const answer = await makeToken(body);
    expectError(answer, 400, 'malformed_json', 'The body is not valid JSON');
    assert.ok(answer.json.line >= 1 && answer.json.column >= 1, answer.text);
  });
}

test('malformed JSON: the answer says where', async () => {
  const at = async (body) => {
    const { line, column } = (await makeToken(body)).json;
    return [line, column];
  };
  assert.deepEqual(await at('{"name":01}'), [1, 10]);
  assert.deepEqual(await at('{\n  "name": "a",\n  "scopes": oops\n}'), [3, 13]);
  assert.deepEqual(await at('{"name":"a"} x'), [1, 14]);
});

test('field errors say what is asked for', async () => {
  const errors = (await makeToken(JSON.stringify({ name: 'x'.repeat(101), scopes: ['everything'] }))).json.errors;
  assert.deepEqual(
    errors.map(({ field, code, max, allowed }) => [field, code, max, allowed?.includes('verify')]),
    [
      ['name', 'too_long', 100, undefined],
      ['scopes', 'not_allowed', undefined, true],
    ],
  );
  assert.match(errors[0].message, /at most 100/);
  const [short] = (await souk.post('/api/auth/register', { email: 'a@example.com', password: 'short' })).json.errors;
  assert.deepEqual([short.code, short.min], ['too_short', 10]);
  assert.match(short.message, /at least 10/);
});

const badUtf8 = {
  'lone continuation': [0x80],
  overlong: [0xc0, 0xaf],
  'overlong 3': [0xe0, 0x80, 0xaf],
  surrogate: [0xed, 0xa0, 0x80],
  'beyond U+10FFFF': [0xf4, 0x90, 0x80, 0x80],
  'cut short': [0xe2, 0x82],
  F8: [0xf8, 0x88, 0x80, 0x80, 0x80],
  'raw NUL': [0x00],
};
for (const [what, bytes] of Object.entries(badUtf8)) {
  test(`malformed JSON: invalid UTF-8, ${what}`, async () => {
    const body = Buffer.concat([Buffer.from('{"name":"a'), Buffer.from(bytes), Buffer.from('"}')]);
    expectError(await makeToken(body), 400, 'malformed_json');
  });
}

test('well-formed JSON in unusual clothes is read', async () => {
  const read = async (body, name) => {
    const answer = expectStatus(await makeToken(body), 201);
    assert.equal(answer.json.data.name, name);
  };
  await read('\r\n\t {"name"\t:\n"spaced"} \n', 'spaced');
  await read('{"n\\u0061me":"\\u0061\\/\\"\\\\"}', 'a/"\\');
  await read('{"name":"\\ud83d\\ude00"}', '😀');
  await read('{"name":"日本語 ñ 🛒"}', '日本語 ñ 🛒');
  await read('{"name":"<script>&\u2028</script>"}', '<script>&\u2028</script>');
  await read('{"name":"x","scopes":null,"expires_at":null}', 'x');
  await read(`{"name":"padded"${' '.repeat(60000)}}`, 'padded');
});

test('what goes into HTML unescaped by mistake does no harm', async () => {
  const answer = await makeToken({ name: '</script><b>&\u2028' });
  expectStatus(answer, 201);
  assert.ok(!/[<>&\u2028]/.test(answer.text), answer.text);
});

test('depth 16 is read, 17 is not', async () => {
  const nested = (n) => `{"name":${'['.repeat(n - 1)}${']'.repeat(n - 1)}}`;
  expectFields(await makeToken(nested(16)), { name: 'wrong_type' });
  expectError(await makeToken(nested(17)), 400, 'malformed_json');
});

test('unknown members are named, at most 100 of them', async () => {
  expectFields(await makeToken({ name: 'x', nam: 1, Name: 2 }), { nam: 'unknown_field', Name: 'unknown_field' });
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i]));
  const answer = expectError(await makeToken(many), 422, 'validation_failed');
  assert.equal(answer.json.errors.length, 100);
});

// Sizes.

test('a body of 64 KiB is read, one byte more is refused before it is read', async () => {
  const sized = (n) => `{"name":"${'a'.repeat(n - 11)}"}`;
  assert.equal(sized(100).length, 100);
  expectFields(await makeToken(sized(65536)), { name: 'too_long' });
  const refused = expectError(await makeToken(sized(65537)), 413, 'body_too_large', 'The body is too large');
  assert.equal(refused.headers.connection, 'close');

  const connection = await connect(souk.url);
  connection.write(
    `POST /api/customer/tokens HTTP/1.1\r\n${host()}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
      'Content-Length: 1000000000\r\n\r\n',
  );
  const early = await connection.answer();
  assert.equal(early.status, 413);
  assert.equal(early.json.code, 'body_too_large');
  assert.ok(await connection.waitClosed());
  connection.destroy();
});

test('Expect: 100-continue is answered, or refused before the body is sent', async () => {
  const good = await connect(souk.url);
  good.write(
    `POST /api/customer/tokens HTTP/1.1\r\n${host()}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
      'Content-Length: 12\r\nExpect: 100-continue\r\n\r\n',
  );
  assert.ok(await good.wait((c) => c.text.startsWith('HTTP/1.1 100 ')));
  good.write('{"name":"e"}');
  const answer = await good.answer();
  assert.equal(answer.status, 201);
  good.destroy();

  const early = await connect(souk.url);
  early.write(
    `POST /api/customer/tokens HTTP/1.1\r\n${host()}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
      'Content-Length: 12\r\nExpect: 100-continue\r\n\r\n{"name":',
  );
  await sleep(50);
  assert.equal(early.text, '', 'who does not wait is not asked');
  early.write('"f"}');
  assert.equal((await early.answer()).status, 201);
  early.destroy();

  const large = await once(
    souk.url,
    `POST /api/customer/tokens HTTP/1.1\r\n${host()}Content-Type: application/json\r\n` +
      'Content-Length: 99999999\r\nExpect: 100-continue\r\n\r\n',
  );
  assert.equal(large.answer.status, 413);
  assert.equal(large.answer.interim, undefined);
  const strange = await once(
    souk.url,
    `POST /api/auth/login HTTP/1.1\r\n${host()}Content-Length: 0\r\nExpect: 200-ok\r\n\r\n`,
  );
  assert.equal(strange.answer.status, 417);
});

test('a long target is 414, long headers are 431', async () => {
  const { answer: long } = await once(souk.url, `GET /${'a'.repeat(9000)} HTTP/1.1\r\n${host()}\r\n`);
  assert.equal(long.status, 414);
  assert.equal(long.json.code, 'uri_too_long');
  const { answer: wide } = await once(souk.url, `GET /livez HTTP/1.1\r\n${host()}X: ${'a'.repeat(20000)}\r\n\r\n`);
  assert.equal(wide.status, 431);
  assert.equal(wide.json.code, 'headers_too_large');
  const { answer: many } = await once(souk.url, `GET /livez HTTP/1.1\r\n${host()}${'X: 1\r\n'.repeat(200)}\r\n`);
  assert.equal(many.status, 431);
});

// HTTP that two parsers could read in two ways.

const REST = 'Connection: keep-alive\r\n';
const body2 = (headers, body = '{}') => `POST /api/auth/login HTTP/1.1\r\n@HOST${headers}\r\n${body}`;
const broken = {
  'two Content-Length': body2('Content-Length: 2\r\nContent-Length: 2\r\n'),
  'Content-Length list': body2('Content-Length: 2, 2\r\n'),
  'negative Content-Length': body2('Content-Length: -2\r\n'),
  'signed Content-Length': body2('Content-Length: +2\r\n'),
  'hex Content-Length': body2('Content-Length: 0x2\r\n'),
  'empty Content-Length': body2('Content-Length:\r\n'),
  'huge Content-Length': body2('Content-Length: 99999999999999999999\r\n'),
  'Content-Length and Transfer-Encoding': body2(
    'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n',
    '2\r\n{}\r\n0\r\n\r\n',
  ),
  'Transfer-Encoding and Content-Length': body2(
    'Transfer-Encoding: chunked\r\nContent-Length: 2\r\n',
    '2\r\n{}\r\n0\r\n\r\n',
  ),
  'two Transfer-Encoding': body2('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  'chunked in HTTP/1.0': 'POST /api/auth/login HTTP/1.0\r\n@HOSTTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'obs-fold': `GET /livez HTTP/1.1\r\n@HOSTX: a\r\n b\r\n${REST}\r\n`,
  'space before colon': `GET /livez HTTP/1.1\r\n@HOSTX : a\r\n${REST}\r\n`,
  'no colon': `GET /livez HTTP/1.1\r\n@HOSTnonsense\r\n${REST}\r\n`,
  'empty header name': `GET /livez HTTP/1.1\r\n@HOST: a\r\n${REST}\r\n`,
  'leading space in the first header': `GET /livez HTTP/1.1\r\n X: a\r\n@HOST${REST}\r\n`,
  'bare LF': `GET /livez HTTP/1.1\n@HOST\n\n`,
  'bare LF in headers': `GET /livez HTTP/1.1\r\n@HOSTX: a\nY: b\r\n\r\n`,
  'bare CR in a header': `GET /livez HTTP/1.1\r\n@HOSTX: a\rb\r\n\r\n`,
  'NUL in a header': `GET /livez HTTP/1.1\r\n@HOSTX: a\0b\r\n\r\n`,
  'control character in a header': `GET /livez HTTP/1.1\r\n@HOSTX: a\x01b\r\n\r\n`,
  'no Host': `GET /livez HTTP/1.1\r\n${REST}\r\n`,
  'two Hosts': `GET /livez HTTP/1.1\r\n@HOST@HOST\r\n`,
  'no version': `GET /livez\r\n@HOST\r\n`,
  'two spaces': `GET  /livez HTTP/1.1\r\n@HOST\r\n`,
  'tab instead of space': `GET\t/livez\tHTTP/1.1\r\n@HOST\r\n`,
  'lower-case version': `GET /livez http/1.1\r\n@HOST\r\n`,
  'target without slash': `GET livez HTTP/1.1\r\n@HOST\r\n`,
  'control character in the target': `GET /li\x01vez HTTP/1.1\r\n@HOST\r\n`,
  'star without OPTIONS': `GET * HTTP/1.1\r\n@HOST\r\n`,
  'TLS hello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'bad chunk size': body2('Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n', 'zz\r\n{}\r\n0\r\n\r\n'),
  'negative chunk size': body2(
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n',
    '-2\r\n{}\r\n0\r\n\r\n',
  ),
  'huge chunk size': body2(
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n',
    'ffffffffffffffffff\r\n{}\r\n0\r\n\r\n',
  ),
  'chunk without its line end': body2(
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n',
    '2\r\n{}XX0\r\n\r\n',
  ),
  'bare LF after a chunk size': body2(
    'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n',
    '2\n{}\r\n0\r\n\r\n',
  ),
};
for (const [what, bytes] of Object.entries(broken)) {
  test(`broken HTTP: ${what} is 400, and the connection is closed`, async () => {
    // A second request rides behind: it must never be read as one.
    const smuggled = `GET /openapi.json HTTP/1.1\r\n${host()}\r\n`;
    const raw = Buffer.from(bytes.replace(/@HOST/g, host()) + smuggled, 'latin1');
    const { answer, closed, rest } = await once(souk.url, raw);
    assert.ok(answer, 'no answer');
    assert.ok([400, 413].includes(answer.status), `${answer.status} ${answer.text}`);
    assert.equal(answer.json.status, 'error');
    assert.equal(answer.json.code, answer.status === 400 ? 'bad_request' : 'body_too_large');
    checkAnswer('POST', '/api/auth/login', answer, {});
    assert.match(answer.headers['x-request-id'], REQUEST_ID);
    assert.equal(answer.headers.connection, 'close');
    assert.ok(closed, 'the connection stayed open');
    assert.equal(rest, '', 'something was answered behind it');
  });
}

for (const [what, bytes, status, code] of [
  ['a transfer coding that is not spoken', body2('Transfer-Encoding: gzip, chunked\r\n', ''), 501, 'not_implemented'],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\n@HOST\r\n', 501, 'not_implemented'],
  ['HTTP/2 by prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505, 'version_not_supported'],
  ['HTTP/1.2', 'GET /livez HTTP/1.2\r\n@HOST\r\n', 505, 'version_not_supported'],
  ['HTTP/0.9', 'GET /livez HTTP/0.9\r\n@HOST\r\n', 505, 'version_not_supported'],
]) {
  test(`${what}: ${status}`, async () => {
    const { answer, closed } = await once(souk.url, bytes.replace(/@HOST/g, host()));
    assert.ok(answer, 'no answer');
    assert.ok([status, 400].includes(answer.status), `${answer.status} ${answer.text}`);
    if (answer.status === status) assert.equal(answer.json.code, code);
    assert.ok(closed);
  });
}

test('chunked bodies are read', async () => {
  const chunks = '3;ext="a b"\r\n{"n\r\n1\r\na\r\n9\r\nme":"ch"}\r\n0\r\nTrailer: x\r\n\r\n';
  const { answer } = await once(
    souk.url,
    `POST /api/customer/tokens HTTP/1.1\r\n${host()}Authorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
  );
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.json.data.name, 'ch');
});

test('a chunked body past the limit is refused', async () => {
  const chunk = `4000\r\n${'a'.repeat(0x4000)}\r\n`;
  const connection = await connect(souk.url);
  connection.write(
    `POST /api/auth/login HTTP/1.1\r\n${host()}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  for (let i = 0; i < 6; i++) connection.write(chunk);
  const answer = await connection.answer();
  assert.equal(answer.status, 413);
  assert.ok(await connection.waitClosed());
  connection.destroy();
});

test('requests sent one behind the other are answered in their order', async () => {
  const connection = await connect(souk.url);
  const ids = Array.from({ length: 30 }, (_, i) => `pipe-${i}`);
  const targets = ['/livez', '/readyz', '/nowhere', '/api/auth/me'];
  connection.write(
    ids
      .map(
        (id, i) =>
          `GET ${targets[i % 4]} HTTP/1.1\r\n${host()}X-Request-Id: ${id}\r\n` +
          `Authorization: Bearer ${token}\r\n\r\n`,
      )
      .join(''),
  );
  for (const [i, id] of ids.entries()) {
    const answer = await connection.answer();
    assert.equal(answer.headers['x-request-id'], id);
    assert.equal(answer.status, i % 4 === 2 ? 404 : 200);
  }
  connection.destroy();
});

test('a request that comes byte by byte is read', async () => {
  const connection = await connect(souk.url);
  for (const byte of `GET /livez HTTP/1.1\r\n${host()}X-Request-Id: slow\r\n\r\n`) {
    connection.write(byte);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  const answer = await connection.answer();
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['x-request-id'], 'slow');
  connection.destroy();
});

test('HTTP/1.0 and Connection: close end the connection, HTTP/1.1 keeps it', async () => {
  const ten = await once(souk.url, 'GET /livez HTTP/1.0\r\n\r\n');
  assert.equal(ten.answer.status, 200);
  assert.equal(ten.answer.headers.connection, 'close');
  assert.ok(ten.closed);
  const close = await once(souk.url, `GET /livez HTTP/1.1\r\n${host()}Connection: close\r\n\r\n`);
  assert.equal(close.answer.headers.connection, 'close');
  assert.ok(close.closed);
  const keep = await connect(souk.url);
  for (let i = 0; i < 3; i++) {
    keep.write(`GET /livez HTTP/1.1\r\n${host()}\r\n`);
    assert.equal((await keep.answer()).status, 200);
  }
  assert.ok(!keep.closed);
  keep.destroy();
});

test('absolute-form targets are understood', async () => {
  const { answer } = await once(souk.url, `GET http://shop.example/livez HTTP/1.1\r\nHost: shop.example\r\n\r\n`);
  assert.equal(answer.status, 200);
});

test('HEAD says the length that GET has', async () => {
  const get = await souk.get('/api/auth/me', { token });
  const connection = await connect(souk.url);
  connection.write(`HEAD /api/auth/me HTTP/1.1\r\n${host()}Authorization: Bearer ${token}\r\n\r\n`);
  const head = await connection.answer({ head: true });
  assert.equal(head.status, 200);
  assert.equal(head.headers['content-length'], get.headers['content-length']);
  // Nothing of a body follows: the next answer starts right behind.
  connection.write(`GET /livez HTTP/1.1\r\n${host()}\r\n`);
  assert.equal((await connection.answer()).status, 200);
  connection.destroy();
});

test('a client that goes away in the middle of a request harms nobody', async () => {
  const whole =
    `POST /api/customer/tokens HTTP/1.1\r\n${host()}Authorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
    'Content-Length: 13\r\n\r\n{"name":"go"} ';
  for (let cut = 1; cut < whole.length; cut += 7) {
    const connection = await connect(souk.url);
    connection.write(whole.slice(0, cut));
    if (cut % 2) connection.reset();
    else connection.destroy();
  }
  expectStatus(await souk.get('/readyz'), 200);
});
