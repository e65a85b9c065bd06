// What the server keeps to itself: logs without secrets, metrics for authorised readers, headers of pages, the closed
// process.
// release: sqlite
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import { after, before, test } from 'node:test';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { IS_ASAN, IS_TSAN, startSouk } from './lib/souk.mjs';

let office, souk, owner;
before(async () => {
  office = await openOffice({ args: ['--log-requests', '--log-level', 'debug'] });
  ({ souk, owner } = office);
});
after(() => office.stop());

test('the token of a download is in no log; a file is served in a sandbox', async () => {
  const product = await office.product({ delivery_type: 'download_url' });
  expectStatus(
    await souk.put(`/api/admin/products/${product.id}/file?name=page.html`, '<script>alert(1)</script>', {
      token: owner.token,
      type: 'application/octet-stream',
    }),
    200,
  );
  const buyer = await office.customer({ balance: 50 });
  const { value } = dataOf(await buyer.post('/api/v1/order/create', { product_id: product.id })).delivery;
  const target = value.slice(value.indexOf('/download/'));
  const answer = expectStatus(await souk.get(target), 200);
  assert.equal(answer.headers['content-security-policy'], "sandbox; default-src 'none'");
  expectStatus(await souk.get(`${target}x`), 404);
  const token = target.slice('/download/'.length);
  await souk.get('/livez');
  assert.match(souk.stderr, /path="\/download\/\{token\}" status=200/);
  assert.ok(!souk.stderr.includes(token), 'the token is in the log');
});

test('answers belong to their origin; pages name what they may do', async () => {
  for (const target of ['/livez', '/api/store/products', '/nowhere', '/admin/']) {
    assert.equal(
      (await souk.get(target, { unchecked: true })).headers['cross-origin-resource-policy'],
      'same-origin',
      target,
    );
  }
  const page = await souk.get('/admin/', { unchecked: true });
  if (page.status === 200) {
    assert.match(page.headers['permissions-policy'], /camera=\(\).*geolocation=\(\).*payment=\(\)/);
    assert.match(page.headers['content-security-policy'], /require-trusted-types-for 'script'; trusted-types 'none'/);
  }
  assert.equal((await souk.get('/livez')).headers['permissions-policy'], undefined);
});

test('metrics: on this machine they are open; with a token only to who has it', async (t) => {
  expectStatus(await souk.get('/metrics'), 200);
  const guarded = await startSouk({ t, env: { SOUK_METRICS_TOKEN: 'a-token-for-prometheus' } });
  const ask = (authorization) =>
    guarded.get('/metrics', { headers: authorization ? { Authorization: authorization } : {} });
  const missing = expectError(await ask(), 401, 'token_missing');
  assert.equal(missing.headers['www-authenticate'], 'Bearer realm="souk"');
  expectError(await ask('Bearer a-token-for-prometheuS'), 401, 'token_invalid');
  expectError(await ask('Bearer a-token'), 401, 'token_invalid');
  expectError(await ask('Basic a-token-for-prometheus'), 401, 'token_missing');
  expectStatus(await ask('Bearer a-token-for-prometheus'), 200);
});

test('metrics: not to clients of a proxy, and not on a public address', async (t) => {
  const proxied = await startSouk({ t, args: ['--trusted-proxy', '127.0.0.1'] });
  expectError(await proxied.get('/metrics', { headers: { 'X-Forwarded-For': '203.0.113.5' } }), 401, 'token_missing');
  expectStatus(await proxied.get('/metrics'), 200);
  const open = await startSouk({ t, args: ['--listen', '0.0.0.0:0'] });
  expectError(await open.get('/metrics'), 401, 'token_missing');
  expectStatus(await open.get('/livez'), 200);
});

test('a cell of an export begins no formula, whatever separates cells', async () => {
  const names = ['x;=1+1', 'x|@SUM(1)', 'a, +1', 'b; "=2"', '-3', 'Ann; Bob', 'a-b=c+d@e'];
  for (const [i, name] of names.entries())
    dataOf(await owner.post('/api/admin/customers', { email: `csv${i}@example.com`, name }), 201);
  const { text } = await owner.get('/api/admin/exports/customers');
  const wanted = [`"x;'=1+1"`, `"x|'@SUM(1)"`, `"a, '+1"`, `"b; ""'=2"""`, `"'-3"`, '"Ann; Bob"', 'a-b=c+d@e'];
  for (const [i, cell] of wanted.entries()) {
    const line = text.split('\r\n').find((l) => l.includes(`csv${i}@example.com`));
    assert.ok(line.includes(`csv${i}@example.com,${cell}`), `${cell}: ${line}`);
  }
});

test(
  'the process is closed: no new rights, no core dumps, not to be looked into',
  { skip: os.platform() !== 'linux' && 'Linux only' },
  () => {
    const of = (file) => fs.readFileSync(`/proc/${souk.child.pid}/${file}`, 'utf8');
    assert.match(of('status'), /^NoNewPrivs:\t1$/m);
    assert.match(of('limits'), /^Max core file size +0 +0 +bytes/m);
    // What may not be dumped belongs to root in /proc, whatever user runs it. Sanitizers need to look in; as root nothing shows.
    if (!IS_ASAN && !IS_TSAN && process.getuid() !== 0)
      assert.equal(fs.statSync(`/proc/${souk.child.pid}/environ`).uid, 0);
  },
);
