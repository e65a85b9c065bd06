// The reference and the guides in a browser: nothing comes from elsewhere, and nothing is against the policy.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { checkAccessibleInBoth, openPanel } from './lib/panel.mjs';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; " +
  "base-uri 'none'; frame-ancestors 'none'";
const OTHER_CODINGS = 'identity';
/** Swagger UI reads the whole document before it shows anything. */
const PATIENCE_MS = 120000;

let panel, page, requests;
before(async () => {
  panel = await openPanel();
  page = await panel.newPage();
  requests = [];
  page.on('request', (r) => requests.push(r));
});
after(() => panel?.stop());

const read = (target, headers = {}) => panel.souk.request('GET', target, { headers, unchecked: true });

test('pages and parts are served with strict headers, packed or not, and nothing is inline', async () => {
  for (const [bare, folder] of [
    ['/docs', '/docs/'],
    ['/docs/guide', '/docs/guide/'],
  ]) {
    const moved = await read(bare);
    assert.deepEqual([moved.status, moved.headers.location], [308, folder]);
    const start = await read(folder);
    assert.equal(start.status, 200, start.text);
    assert.equal(start.headers['cache-control'], 'no-cache');
    assert.doesNotMatch(start.text, /<style|style=|<script(?![^>]*src=)| on[a-z]+=/i);
    const parts = [...start.text.matchAll(/(?:src|href)="([./]*assets\/[^"]+)"/g)];
    const names = parts.map(([, name]) => new URL(name, `http://shop${folder}`).pathname);
    assert.ok(names.length >= 3, start.text);
    for (const target of [folder, ...names]) {
      const plain = await read(target, { 'Accept-Encoding': OTHER_CODINGS });
      const packed = await read(target, { 'Accept-Encoding': 'gzip' });
      assert.equal(plain.status, 200, target);
      assert.equal(plain.headers['content-security-policy'], POLICY, target);
      assert.equal(plain.headers['x-content-type-options'], 'nosniff', target);
      assert.equal(packed.headers['content-encoding'], 'gzip', target);
      assert.ok(gunzipSync(packed.bytes).equals(plain.bytes), target);
      assert.notEqual(packed.headers.etag, plain.headers.etag, target);
      assert.equal((await read(target, { 'If-None-Match': plain.headers.etag })).status, 304, target);
      if (target !== folder) {
        assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable', target);
      }
    }
  }
  for (const target of ['/docs/assets/index.html', '/docs/assets/none.js', '/docs/guide/index', '/docs/guide/none']) {
    assert.equal((await read(target)).status, 404, target);
  }
});

test('the document is the same packed and not', async () => {
  const plain = await panel.souk.get('/openapi.json');
  assert.equal(plain.headers['content-encoding'], undefined);
  const packed = await fetch(`${panel.souk.url}/openapi.json`, { headers: { 'Accept-Encoding': 'gzip' } });
  assert.equal(packed.headers.get('content-encoding'), 'gzip');
  assert.equal(await packed.text(), plain.text);
  const again = await panel.souk.get('/openapi.json', { headers: { 'If-None-Match': plain.headers.etag } });
  assert.equal(again.status, 304);
});

test('the reference lists the operations and calls one with the token that the reader gives', async () => {
  const customer = await panel.souk.customer();
  await page.goto(`${panel.souk.url}/docs/`);
  const tag = page.locator('#operations-tag-wallet');
  await tag.waitFor({ timeout: PATIENCE_MS });
  await tag.click();
  const operation = page.locator('#operations-wallet-getWallet');
  await operation.waitFor();
  const known = Object.values((await panel.souk.get('/openapi.json')).json.paths).flatMap((item) =>
    Object.keys(item).filter((m) => ['get', 'put', 'post', 'patch', 'delete'].includes(m)),
  );
  assert.ok((await page.locator('.opblock-tag').count()) > 10 && known.length > 100);

  await page.locator('button.authorize').first().click();
  await page.locator('.auth-container input').fill(customer.token);
  await page.locator('.auth-container button.authorize').click();
  await page.locator('.auth-container button.btn-done').click();
  await operation.locator('.opblock-summary-control').click();
  await operation.getByRole('button', { name: 'Try it out' }).click();
  const called = page.waitForResponse((r) => new URL(r.url()).pathname === '/api/customer/wallet');
  await operation.getByRole('button', { name: 'Execute' }).click();
  const answer = await called;
  assert.equal(answer.status(), 200);
  assert.equal((await answer.request().allHeaders()).authorization, `Bearer ${customer.token}`);
  await operation.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor();
  assert.match(await operation.locator('.live-responses-table').innerText(), /"balance"/);
});

test('a guide is a page of its own, in light and dark, and links lead on', async () => {
  await page.goto(`${panel.souk.url}/docs/guide/`);
  await page.getByRole('main').getByRole('link', { name: 'Payments' }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  assert.equal(page.url(), `${panel.souk.url}/docs/guide/payments`);
  await checkAccessibleInBoth(page, 'the guide of payments');
  await page.goto(`${panel.souk.url}/docs/guide/concepts`);
  await checkAccessibleInBoth(page, 'the guide with diagrams');
});

test('every link of every guide is served, and what it points at is in the page', async () => {
  const pages = new Map();
  const waiting = ['/docs/guide/'];
  const wanted = [];
  while (waiting.length > 0) {
    const target = waiting.pop();
    if (pages.has(target)) continue;
    const { status, text } = await read(target);
    assert.equal(status, 200, target);
    pages.set(target, text);
    if (!target.startsWith('/docs/guide/')) continue;
    assert.doesNotMatch(text, /<style|style=|<script| on[a-z]+=|undefined/, target);
    for (const [, href] of text.matchAll(/<a [^>]*href="([^"]+)"/g)) {
      const to = new URL(href, `http://shop${target}`);
      if (to.host !== 'shop') continue;
      waiting.push(to.pathname);
      if (to.hash) wanted.push({ from: target, page: to.pathname, id: decodeURIComponent(to.hash.slice(1)) });
    }
  }
  for (const { from, page: at, id } of wanted) assert.ok(pages.get(at).includes(` id="${id}"`), `${from}: ${at}#${id}`);
  for (const name of ['quickstart', 'concepts', 'operations', 'threat-model', 'proof', 'cli', 'decisions', 'readme']) {
    assert.ok(pages.has(`/docs/guide/${name}`), name);
  }
  assert.equal(pages.get('/docs/guide/concepts').match(/<svg /g).length, 6);
});

test('no request went elsewhere, and the browser had nothing to complain about', () => {
  assert.ok(requests.length > 10);
  const foreign = requests.map((r) => r.url()).filter((url) => !url.startsWith(`${panel.souk.url}/`));
  assert.deepEqual(foreign, []);
  panel.checkComplaints();
});
