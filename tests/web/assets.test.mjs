// How the panel is served, how big it is, and that it fits the contract.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { BUILD } from '../lib/build.mjs';
import { startSouk } from '../api/lib/souk.mjs';
import { bundle } from '../../web/build.mjs';
import { checkTypes, makeTypes } from '../../web/check.mjs';

const SCRIPT_BYTES_MAX = 60 * 1024;
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
  "frame-src blob:; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

let souk;
before(async () => {
  souk = await startSouk({ engine: 'sqlite' });
});
after(() => souk?.stop());

const read = (target, headers = {}) => souk.request('GET', target, { headers, unchecked: true });
const names = (page) => [...page.text.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map((m) => `/admin/${m[1]}`);

test('the page and its parts have strict headers, and nothing is inline', async () => {
  const page = await read('/admin/');
  assert.equal(page.status, 200, page.text);
  assert.equal(page.headers['cache-control'], 'no-cache');
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
  assert.doesNotMatch(page.text, /<style|style=|<script(?![^>]*src=)| on[a-z]+=/i);
  assert.equal(names(page).length, 3, page.text);
  for (const target of ['/admin/', ...names(page)]) {
    const { status, headers } = await read(target);
    assert.equal(status, 200, target);
    assert.equal(headers['content-security-policy'], POLICY, target);
    assert.equal(headers['x-content-type-options'], 'nosniff', target);
    assert.equal(headers['referrer-policy'], 'no-referrer', target);
    assert.equal(headers.vary, 'Accept-Encoding', target);
    if (target !== '/admin/') assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable', target);
  }
});

test('gzip where it is taken, plain where not, with tags of their own', async () => {
  for (const target of ['/admin/', ...names(await read('/admin/'))]) {
    const plain = await read(target);
    assert.equal(plain.headers['content-encoding'], undefined, target);
    for (const accept of ['gzip', 'br, GZIP;q=0.5', '*']) {
      const packed = await read(target, { 'Accept-Encoding': accept });
      assert.equal(packed.headers['content-encoding'], 'gzip', `${target} ${accept}`);
      assert.ok(gunzipSync(packed.bytes).equals(plain.bytes), target);
      assert.notEqual(packed.headers.etag, plain.headers.etag, target);
    }
    for (const accept of ['identity', 'gzip;q=0', 'gzip;q=0.000, *', 'br', 'gzipped']) {
      assert.equal(
        (await read(target, { 'Accept-Encoding': accept })).headers['content-encoding'],
        undefined,
        `${target} ${accept}`,
      );
    }
    assert.match(plain.headers.etag, /^"[0-9a-f]{32}"$/, 'a strong tag');
    const again = await read(target, { 'If-None-Match': plain.headers.etag });
    assert.equal(again.status, 304, target);
    assert.equal(again.bytes.length, 0);
    const head = await souk.request('HEAD', target, { unchecked: true });
    assert.equal(Number(head.headers['content-length']), plain.bytes.length, target);
  }
});

test('what is not there is 404, /admin leads to /admin/', async () => {
  for (const target of [
    '/admin/assets/index.html',
    '/admin/assets/none.js',
    '/admin/assets/..%2findex.html',
    '/admin/index.html',
  ]) {
    assert.equal((await read(target)).status, 404, target);
  }
  const moved = await read('/admin');
  assert.deepEqual([moved.status, moved.headers.location], [308, '/admin/']);
});

test('the scripts before the charts fit into 60 KB', async () => {
  const { files } = await bundle();
  const scripts = [...files].filter(([name]) => name.endsWith('.js') && !name.startsWith('chart-'));
  assert.ok(
    [...files.keys()].some((name) => name.startsWith('chart-')),
    'the charts are a chunk of their own',
  );
  const bytes = scripts.reduce((sum, [, text]) => sum + gzipSync(text, { level: 9 }).length, 0);
  assert.ok(bytes <= SCRIPT_BYTES_MAX, `${bytes} bytes of gzipped JavaScript`);
});

test('a member of an answer that has another name fails the check', async () => {
  await makeTypes(BUILD, ({ components: { schemas } }) => {
    const { properties, required } = schemas.AdminWithdrawal;
    properties.state = properties.status;
    delete properties.status;
    required[required.indexOf('status')] = 'state';
  });
  const { ok, output } = checkTypes({ only: 'pages/admin_withdrawals.tsx' });
  assert.ok(!ok, 'the types do not notice a changed answer');
  assert.match(output, /pages\/admin_withdrawals\.tsx.*'status'/);
});

/** A line per operator; the checker complains about each line that it does not refuse. */
const CALCULATIONS = `import type { Data } from '../src/api';
declare const order: Data<'/api/admin/orders/{id}'>;
// @ts-expect-error
order.total - order.discount;
// @ts-expect-error
order.total + 1;
// @ts-expect-error
order.refunded_amount > 0;
// @ts-expect-error
export const total: number = order.items[0]!.subtotal;
`;

/** What the checker says of the panel with these calculations in it, which are a file of their own. */
async function checkWithCalculations() {
  const file = fileURLToPath(new URL('../../web/generated/calculations.ts', import.meta.url));
  await makeTypes(BUILD);
  fs.writeFileSync(file, CALCULATIONS);
  try {
    return checkTypes().output.split('\n').filter(Boolean);
  } finally {
    fs.rmSync(file);
  }
}
const isOfCalculations = (line) => line.includes('generated/calculations.ts');

test('the panel uses the API as its document describes it, and cannot calculate with amounts', async () => {
  const said = await checkWithCalculations();
  assert.deepEqual(
    said.filter((line) => !isOfCalculations(line)),
    [],
    'the panel',
  );
  assert.deepEqual(said.filter(isOfCalculations), [], 'the calculations');
});
