// Verification of licences: every state, every message, the binding to a machine, and signed verdicts.
import assert from 'node:assert/strict';
import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { openShop } from './lib/shop.mjs';

let shop;
let editor;
let ada;

before(async () => {
  shop = await openShop();
  editor = shop.seed.product({ name: 'Editor', price: 100 });
  ada = await shop.buyer({ balance: 1000000 });
});
after(() => shop.stop());

const call = (license, more = {}, options = {}) =>
  shop.verify(ada, { license_key: license.key, product_id: editor.id, ...more }, options);

test('a good licence: 200, who owns it, until when', async () => {
  const license = await shop.license(ada, editor);
  const answer = await call(license);
  assert.equal(answer.json.status, 'success');
  assert.equal(answer.json.message, 'License is valid');
  const data = dataOf(answer);
  assert.deepEqual(Object.keys(data).sort(), ['checked_at', 'expires_at', 'product_id', 'user_id']);
  assert.equal(data.expires_at, null, 'null: never');
  assert.equal(data.user_id, ada.id);
  assert.equal(data.product_id, editor.id);
  assert.ok(Math.abs(Date.parse(data.checked_at) - Date.now()) < 60e3);
});

test('a token that was revoked is refused at once, however often it was used before', async () => {
  const license = await shop.license(ada, editor);
  for (let round = 0; round < 3; round++) {
    const made = dataOf(
      await shop.souk.post('/api/customer/tokens', { name: 'verify', scopes: ['verify'] }, { token: ada.token }),
      201,
    );
    const ask = () => call(license, {}, { token: made.token });
    for (let i = 0; i < 5; i++) expectStatus(await ask(), 200);
    expectStatus(await shop.souk.delete(`/api/customer/tokens/${made.id}`, { token: ada.token }), 200);
    expectError(await ask(), 401, 'token_invalid');
  }
});

test('anybody with a token may ask; the owner is told', async () => {
  const license = await shop.license(ada, editor);
  const bob = await shop.buyer({ balance: 0 });
  const answer = await shop.verify(bob, { license_key: license.key, product_id: editor.id });
  assert.equal(dataOf(answer).user_id, ada.id);
});

test('the combination of key and product does not exist: 404 License not found, the same for every kind of miss', async () => {
  const license = await shop.license(ada, editor);
  const other = shop.seed.product();
  const changed = `${license.key.slice(0, -1)}${license.key.endsWith('A') ? 'B' : 'A'}`;
  const misses = [
    { license_key: license.key, product_id: other.id },
    { license_key: license.key, product_id: 4503599627370495 },
    { license_key: changed, product_id: editor.id },
    { license_key: '00000-00000-00000-00000-00000', product_id: editor.id },
    { license_key: 'nonsense', product_id: editor.id },
    { license_key: `X${license.key}`, product_id: editor.id },
    { license_key: license.key.slice(0, -1), product_id: editor.id },
    { license_key: 'ключ', product_id: editor.id },
    { license_key: "' OR 1=1 --", product_id: editor.id },
    { license_key: 'x'.repeat(255), product_id: editor.id },
  ];
  const seen = new Set();
  for (const body of misses) {
    const answer = await shop.verify(ada, body);
    expectError(answer, 404, 'not_found', 'License not found');
    const headers = { ...answer.headers, 'x-request-id': '', date: '' };
    seen.add(JSON.stringify([{ ...answer.json, request_id: '' }, headers]));
  }
  assert.equal(seen.size, 1, [...seen].join('\n'));
});

test('revoked by staff: 403 License is revoked, before everything else but not found', async () => {
  const license = await shop.license(ada, editor);
  dataOf(await call(license, { hardware_id: 'hw-1' }));
  shop.seed.update('license', license.id, { status: 'revoked', expires_at: 1 });
  expectError(await call(license), 403, 'license_revoked', 'License is revoked');
  expectError(await call(license, { hardware_id: 'hw-2' }), 403, 'license_revoked', 'License is revoked');
  shop.seed.update('license', license.id, { status: 'active', expires_at: null });
  dataOf(await call(license, { hardware_id: 'hw-1' }));
});

test('refunded and disputed orders: the same', async () => {
  const license = await shop.license(ada, editor);
  shop.seed.update('license', license.id, { status: 'refunded' });
  expectError(await call(license), 403, 'license_revoked', 'License is revoked');
  shop.seed.update('license', license.id, { status: 'active', on_hold: 1 });
  expectError(await call(license), 403, 'license_revoked', 'License is revoked');
});

test('expires_at in the past: 403 License is expired, before the hardware is looked at', async () => {
  const license = await shop.license(ada, editor);
  dataOf(await call(license, { hardware_id: 'hw-1' }));
  const soon = Date.now() + 3600e3;
  shop.seed.update('license', license.id, { expires_at: soon });
  const data = dataOf(await call(license));
  assert.equal(data.expires_at, new Date(soon).toISOString().replace(/\.\d+Z$/, 'Z'));
  shop.seed.update('license', license.id, { expires_at: Date.now() - 1 });
  expectError(await call(license), 403, 'license_expired', 'License is expired');
  expectError(await call(license, { hardware_id: 'hw-2' }), 403, 'license_expired', 'License is expired');
});

test('a licence expires by itself when its time has passed', async () => {
  const license = await shop.license(ada, editor);
  shop.seed.update('license', license.id, { expires_at: Date.now() + 4000 });
  dataOf(await call(license));
  await sleep(4100);
  expectError(await call(license), 403, 'license_expired', 'License is expired');
});

test('the first hardware id binds the licence for good', async () => {
  const license = await shop.license(ada, editor);
  assert.equal('hardware_id' in dataOf(await call(license)), false, 'without an id nothing is bound');
  assert.equal('hardware_id' in dataOf(await call(license, { hardware_id: null })), false);
  assert.equal(dataOf(await call(license, { hardware_id: 'hw-1' })).hardware_id, 'hw-1');
  assert.equal(dataOf(await call(license, { hardware_id: 'hw-1' })).hardware_id, 'hw-1');
  for (const other of ['hw-2', 'HW-1', 'hw-1x', 'hw', 'hw‑1', ' hw-1', 'hw-1 ', 'hw-1\u3000']) {
    expectError(await call(license, { hardware_id: other }), 403, 'hardware_mismatch', 'Hardware ID mismatch');
  }
  assert.equal(dataOf(await call(license, { hardware_id: 'hw-1' })).hardware_id, 'hw-1', 'a mismatch changes nothing');
  assert.equal(
    'hardware_id' in dataOf(await call(license)),
    false,
    'a bound licence without an id is valid, and says nothing',
  );
});

test('cleared by staff it can be bound again', async () => {
  const license = await shop.license(ada, editor);
  dataOf(await call(license, { hardware_id: 'hw-1' }));
  shop.seed.update('license', license.id, { hardware_id: null, bound_at: null });
  assert.equal(dataOf(await call(license, { hardware_id: 'hw-2' })).hardware_id, 'hw-2');
  expectError(await call(license, { hardware_id: 'hw-1' }), 403, 'hardware_mismatch', 'Hardware ID mismatch');
});

test('a licence that is not good is not bound', async () => {
  const license = await shop.license(ada, editor);
  shop.seed.update('license', license.id, { status: 'revoked' });
  expectError(await call(license, { hardware_id: 'thief' }), 403, 'license_revoked');
  shop.seed.update('license', license.id, { status: 'active', expires_at: 1 });
  expectError(await call(license, { hardware_id: 'thief' }), 403, 'license_expired');
  shop.seed.update('license', license.id, { expires_at: null });
  assert.equal(dataOf(await call(license, { hardware_id: 'owner' })).hardware_id, 'owner');
});

test('keys are read as people write them', async () => {
  const product = shop.seed.product({ key_prefix: 'TOOL-PRO' });
  const license = await shop.license(ada, product);
  assert.match(license.key, /^TOOL-PRO-([0-9A-Z]{5}-){4}[0-9A-Z]{5}$/);
  const k = license.key;
  const forms = [
    k,
    k.toLowerCase(),
    k.replaceAll('-', ''),
    k.replaceAll('-', ' '),
    ` ${k} `,
    k.split('').join(' '),
    k.replaceAll('1', 'I').replaceAll('0', 'O'),
    k.replaceAll('1', 'l').replaceAll('0', 'o'),
  ];
  for (const form of forms) dataOf(await shop.verify(ada, { license_key: form, product_id: product.id }));
  expectError(
    await shop.verify(ada, { license_key: k.slice('TOOL-PRO-'.length), product_id: product.id }),
    404,
    'not_found',
  );
});

test('what the body may hold', async () => {
  const license = await shop.license(ada, editor);
  const good = { license_key: license.key, product_id: editor.id };
  expectFields(await shop.verify(ada, {}), { license_key: 'required', product_id: 'required' });
  expectFields(await shop.verify(ada, { ...good, license_key: '' }), { license_key: 'required' });
  expectFields(await shop.verify(ada, { ...good, license_key: 'x'.repeat(256) }), { license_key: 'too_long' });
  expectFields(await shop.verify(ada, { ...good, license_key: 5 }), { license_key: 'wrong_type' });
  expectFields(await shop.verify(ada, { ...good, product_id: '5' }), { product_id: 'wrong_type' });
  expectFields(await shop.verify(ada, { ...good, hardware_id: '' }), { hardware_id: 'too_short' });
  expectFields(await shop.verify(ada, { ...good, hardware_id: 'x'.repeat(256) }), { hardware_id: 'too_long' });
  expectFields(await shop.verify(ada, { ...good, hardware_id: 'a\nb' }), { hardware_id: 'bad_characters' });
  expectFields(await shop.verify(ada, { ...good, hardware: 'x' }), { hardware: 'unknown_field' });
  const long = '🔑'.repeat(255);
  assert.equal(
    dataOf(await shop.verify(ada, { ...good, hardware_id: long })).hardware_id,
    long,
    'lengths count code points',
  );
});

test('a token with the scope `verify` alone can verify, and nothing else', async () => {
  const license = await shop.license(ada, editor);
  const token = await shop.token(ada, ['verify']);
  dataOf(await call(license, {}, { token }));
  const others = [
    ['GET', '/api/v1/products'],
    ['POST', '/api/v1/order/create', { product_id: editor.id }],
    ['GET', '/api/customer/wallet'],
    ['GET', '/api/customer/orders'],
    ['GET', '/api/customer/licenses'],
    ['GET', '/api/customer/tokens'],
    ['POST', '/api/customer/tokens', { name: 'more', scopes: ['order'] }],
    ['GET', '/api/store/cart'],
    ['POST', '/api/customer/wallet/withdraw', { amount: 1 }],
  ];
  for (const [method, path, body] of others) {
    expectError(await shop.souk.request(method, path, { token, body }), 403, 'insufficient_scope');
  }
  for (const scope of ['customer', 'order', 'catalog', 'store']) {
    const wrong = await shop.token(ada, [scope]);
    expectError(await call(license, {}, { token: wrong }), 403, 'insufficient_scope');
  }
});

test('the licences of a customer, newest first, with what happened to them', async () => {
  const bob = await shop.buyer();
  const product = shop.seed.product({ name: 'Game', license_days: 30 });
  const first = await shop.license(bob, product);
  const second = await shop.license(bob, product);
  dataOf(await shop.verify(bob, { license_key: second.key, product_id: product.id, hardware_id: 'pc' }));
  shop.seed.update('license', first.id, { status: 'revoked' });
  const list = dataOf(await shop.souk.get('/api/customer/licenses', { token: bob.token }));
  assert.deepEqual(
    list.map((l) => l.id),
    [second.id, first.id],
  );
  assert.equal(list[0].license_key, second.key);
  assert.equal(list[0].product_name, 'Game');
  assert.equal(list[0].status, 'active');
  assert.equal(list[0].hardware_id, 'pc');
  assert.equal(Math.round((Date.parse(list[0].expires_at) - Date.parse(list[0].created_at)) / 86400e3), 30);
  assert.equal(list[1].status, 'revoked');
  assert.equal(list[1].hardware_id, null);
  const page = expectStatus(await shop.souk.get('/api/customer/licenses?limit=1', { token: bob.token }), 200);
  assert.equal(page.json.meta.has_more, true);
  const next = await shop.souk.get(`/api/customer/licenses?limit=1&cursor=${page.json.meta.next_cursor}`, {
    token: bob.token,
  });
  assert.deepEqual(
    dataOf(next).map((l) => l.id),
    [first.id],
  );
  const nobody = await shop.buyer({ balance: 0 });
  assert.deepEqual(dataOf(await shop.souk.get('/api/customer/licenses', { token: nobody.token })), []);
});

test('each answer has its own time', async () => {
  const license = await shop.license(ada, editor);
  const before = await call(license);
  await sleep(1100);
  const after = await call(license);
  assert.ok(Date.parse(dataOf(after).checked_at) >= Date.parse(dataOf(before).checked_at) + 1000);
  assert.ok(Date.parse(after.headers.date) > Date.parse(before.headers.date));
});

test('verifications are counted, some seconds late, good ones only', async () => {
  const license = await shop.license(ada, editor);
  for (let i = 0; i < 7; i++) dataOf(await call(license, { hardware_id: 'hw' }));
  for (let i = 0; i < 3; i++) expectStatus(await call(license, { hardware_id: 'other' }), 403);
  const deadline = Date.now() + 60000;
  while (shop.seed.number(`SELECT seen_count FROM license WHERE id = ${license.id}`) < 7 && Date.now() < deadline)
    await sleep(100);
  const [count, last] = shop.seed
    .sql(`SELECT seen_count, last_seen_at FROM license WHERE id = ${license.id};`)[0]
    .map(Number);
  assert.equal(count, 7);
  assert.ok(Math.abs(last - Date.now()) < 60e3);
  await shop.souk.restart(); // writes whatever is left
  assert.equal(shop.seed.number(`SELECT seen_count FROM license WHERE id = ${license.id}`), 7, 'written once');
});

test('what was counted last is written when the server ends', async () => {
  const license = await shop.license(ada, editor);
  for (let i = 0; i < 5; i++) dataOf(await call(license));
  await shop.souk.restart();
  assert.equal(shop.seed.number(`SELECT seen_count FROM license WHERE id = ${license.id}`), 5);
});

const digestOf = (bytes) => `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;

/** Checks a signed answer as a client would, from the RFCs; gives the parameters of the signature. */
async function checkSigned(answer, label, asked = digestOf(answer.sent)) {
  const published = dataOf(await shop.souk.get('/api/v1/license/public-key'));
  const key = createPublicKey({ key: published.jwk, format: 'jwk' });
  const digest = digestOf(answer.bytes);
  assert.equal(answer.headers['content-digest'], digest);
  const input = answer.headers['signature-input'];
  assert.ok(input.startsWith(`${label}=`), input);
  const params = input.slice(label.length + 1);
  const base = `"@status": ${answer.status}\n"content-digest": ${digest}\n"content-digest";req: ${asked}\n"@signature-params": ${params}`;
  const match = /^([^=]+)=:([A-Za-z0-9+/=]+):$/.exec(answer.headers.signature);
  assert.equal(match[1], label);
  const signature = Buffer.from(match[2], 'base64');
  const good = (text) => verifySignature(null, Buffer.from(text), key, signature);
  assert.ok(good(base), 'the signature does not fit');
  for (let i = 0; i < base.length; i += 7) {
    const changed = Buffer.from(base);
    changed[i] ^= 1;
    assert.ok(!good(changed), `the signature still fits with byte ${i} changed`);
  }
  const found = Object.fromEntries(
    [...params.matchAll(/;([a-z]+)=(?:"((?:[^"\\]|\\.)*)"|(\d+))/g)].map(([, name, text, number]) => [
      name,
      number === undefined ? text.replace(/\\(.)/g, '$1') : Number(number),
    ]),
  );
  assert.equal(found.keyid, published.keyid);
  assert.ok(Math.abs(found.created - Date.now() / 1000) < 60);
  return found;
}

test('a verdict, good or bad, is signed for callers that ask', async () => {
  const license = await shop.license(ada, editor);
  const headers = { 'Accept-Signature': 'sig1=("@status" "content-digest");created;nonce="abc\\"d"' };
  const good = await call(license, { hardware_id: 'hw' }, { headers });
  expectStatus(good, 200);
  assert.equal((await checkSigned(good, 'sig1')).nonce, 'abc"d');

  const bad = [
    [await call(license, { hardware_id: 'other' }, { headers }), 403, 'hardware_mismatch'],
    [await call({ key: 'nonsense' }, {}, { headers }), 404, 'not_found'],
  ];
  shop.seed.update('license', license.id, { expires_at: 1 });
  bad.push([await call(license, {}, { headers }), 403, 'license_expired']);
  shop.seed.update('license', license.id, { status: 'revoked' });
  bad.push([await call(license, {}, { headers }), 403, 'license_revoked']);
  for (const [answer, status, code] of bad) {
    expectError(answer, status, code);
    assert.equal((await checkSigned(answer, 'sig1')).nonce, 'abc"d');
  }
});

test('a signed verdict belongs to its question: the digest as sent when it is true, else the true one', async () => {
  const license = await shop.license(ada, editor);
  const ask = (sent) =>
    call(
      license,
      { hardware_id: ' with spaces ' },
      { headers: { 'Accept-Signature': 'x=("content-digest";req)', ...sent } },
    );
  const plain = await ask({});
  await checkSigned(plain, 'x');
  assert.equal(plain.json.data.hardware_id, ' with spaces ');
  const own = digestOf(plain.sent);
  const both = `sha-512=:${createHash('sha512').update(plain.sent).digest('base64')}:, ${own}`;
  await checkSigned(await ask({ 'Content-Digest': both }), 'x', both);
  await checkSigned(await ask({ 'Content-Digest': digestOf('another body') }), 'x', own);
  await checkSigned(await ask({ 'Content-Digest': 'nonsense' }), 'x', own);
});

test('the signature is what was asked for', async () => {
  const license = await shop.license(ada, editor);
  const keyid = dataOf(await shop.souk.get('/api/v1/license/public-key')).keyid;
  const ask = (value) => call(license, {}, { headers: { 'Accept-Signature': value } });
  const plain = await checkSigned(await ask('x=()'), 'x');
  assert.deepEqual(Object.keys(plain).sort(), ['alg', 'created', 'keyid']);
  const full = await checkSigned(
    await ask(`my_sig-2=("content-digest");keyid="${keyid}";alg="ed25519";tag="app";expires;nonce="n"`),
    'my_sig-2',
  );
  assert.equal(full.tag, 'app');
  assert.equal((await checkSigned(await ask(String.raw`s=();tag="a\\b\"c"`), 's')).tag, 'a\\b"c');
  assert.equal(full.expires - full.created, 86400);
  await checkSigned(await ask('a=("@method";req), b=("@status")'), 'b');
});

test('what cannot be given or read is ignored, and callers that do not ask get no signature', async () => {
  const license = await shop.license(ada, editor);
  const fields = [
    undefined,
    '',
    'sig1=(',
    'sig1=("@authority")',
    'sig1=();keyid="another"',
    'sig1=();alg="hmac-sha256"',
    '?',
    'sig1',
    `sig1=();nonce="${'n'.repeat(513)}"`,
  ];
  for (const field of fields) {
    const answer = await call(license, {}, { headers: field === undefined ? {} : { 'Accept-Signature': field } });
    expectStatus(answer, 200);
    for (const name of ['signature', 'signature-input', 'content-digest'])
      assert.equal(answer.headers[name], undefined, field);
  }
  const stranger = await shop.verify(
    ada,
    { license_key: license.key, product_id: editor.id },
    { token: '', headers: { 'Accept-Signature': 'sig1=()' } },
  );
  expectStatus(stranger, 401);
  assert.equal(stranger.headers.signature, undefined, 'nothing is signed for strangers');
});

test('the public key is the same in all its forms, and after a restart', async () => {
  const answer = await shop.souk.get('/api/v1/license/public-key');
  assert.equal(answer.headers['cache-control'], 'public, max-age=3600');
  const { public_key, pem, jwk, keyid } = dataOf(answer);
  const raw = Buffer.from(public_key, 'base64');
  assert.equal(raw.length, 32);
  assert.equal(Buffer.from(jwk.x, 'base64url').toString('hex'), raw.toString('hex'));
  assert.equal(createPublicKey(pem).export({ format: 'jwk' }).x, jwk.x);
  const thumbprint = createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x: jwk.x }))
    .digest('base64url');
  assert.equal(keyid, thumbprint);
  await shop.souk.restart();
  assert.deepEqual(dataOf(await shop.souk.get('/api/v1/license/public-key')), answer.json.data);
});

test('neither the signing key nor plain secrets are in the settings', () => {
  const rows = shop.seed.sql("SELECT value FROM setting WHERE name = 'license_key_seed';");
  assert.equal(rows.length, 1);
  assert.equal(rows[0][0].length, 2 * (24 + 32 + 16), 'a sealed seed: nonce, 32 bytes, tag');
});
