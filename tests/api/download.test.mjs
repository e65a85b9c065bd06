// Download links: signed, expiring, counted, resumable; bytes from our own folder and nowhere else, in bounded memory.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { openShop } from './lib/shop.mjs';

const DAY = 86400e3;
const BYTES = randomBytes(300_000);

let shop;
let ada;
let folder;

before(async () => {
  shop = await openShop();
  ada = await shop.buyer();
  const { engine, dir, dbArg } = shop.souk;
  folder = path.join(engine === 'sqlite' ? `${dbArg}.d` : path.join(dir, 'data'), 'files');
  fs.mkdirSync(folder, { recursive: true });
});
after(() => shop.stop());

/** A product whose file has these bytes. */
function fileProduct(row = {}, bytes = BYTES) {
  const file_key = row.file_key ?? `f${randomBytes(8).toString('hex')}`;
  if (bytes !== null) fs.writeFileSync(path.join(folder, file_key), bytes);
  return shop.seed.product({
    delivery_type: 'download_url',
    file_name: 'tool.zip',
    file_key,
    file_bytes: bytes?.length ?? 0,
    ...row,
  });
}

/** Buys and gives the paths of the links, a line each. */
async function link(product, quantity = 1) {
  const { delivery } = await shop.bought(ada, { product_id: product.id, quantity });
  assert.equal(delivery.type, 'download_url');
  return delivery.value.replaceAll(shop.souk.url, '');
}

const rowOf = (where) => shop.seed.sql(`SELECT fetch_count, fetched_at FROM delivery WHERE ${where};`)[0].map(Number);
const lastDelivery = () => shop.seed.number('SELECT MAX(id) FROM delivery');

test('the link gives the file, as an attachment under its name', async () => {
  const target = await link(fileProduct({ file_name: 'Mein "Tool" – größer.zip' }));
  assert.match(target, /^\/download\/[A-Za-z0-9_-]{36}$/);
  const answer = expectStatus(await shop.souk.get(target), 200);
  assert.ok(answer.bytes.equals(BYTES));
  assert.equal(answer.headers['content-length'], String(BYTES.length));
  assert.equal(answer.headers['content-type'], 'application/zip');
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
  assert.equal(answer.headers['accept-ranges'], 'bytes');
  assert.equal(answer.headers['cache-control'], 'no-store');
  assert.equal(
    answer.headers['content-disposition'],
    `attachment; filename="Mein _Tool_ _ gr__er.zip"; filename*=UTF-8''${'Mein%20%22Tool%22%20%E2%80%93%20gr%C3%B6%C3%9Fer.zip'}`,
  );
});

test('a name cannot break out of its header', async () => {
  const names = ['a\nSet-Cookie: x=1.zip', 'a\rX: y', '..\\..\\etc/passwd', '\'; x="y', '%41.zip', '\u202egnp.exe'];
  for (const file_name of names) {
    const answer = expectStatus(await shop.souk.get(await link(fileProduct({ file_name }))), 200);
    assert.equal(answer.headers['set-cookie'], undefined);
    const [, plain, coded] = /^attachment; filename="([^"\\/%]*)"; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]*)$/.exec(
      answer.headers['content-disposition'],
    );
    assert.equal(decodeURIComponent(coded), file_name);
    assert.ok([...plain].every((c) => c >= ' ' && c < '\x7f'));
  }
});

test('the type follows from the name; what is unknown is bytes', async () => {
  const types = {
    'a.pdf': 'application/pdf',
    'A.ZIP': 'application/zip',
    'x.tar.gz': 'application/gzip',
    'r.txt': 'text/plain; charset=utf-8',
    'page.html': 'application/octet-stream',
    'x.svg': 'application/octet-stream',
    '.zip': 'application/octet-stream',
    none: 'application/octet-stream',
  };
  for (const [file_name, type] of Object.entries(types)) {
    const answer = expectStatus(await shop.souk.get(await link(fileProduct({ file_name }, 'x'))), 200);
    assert.equal(answer.headers['content-type'], type, file_name);
  }
});

test('with --base-url the link is absolute', async (t) => {
  const other = await openShop({ args: ['--base-url', 'https://shop.example'] });
  t.after(() => other.stop());
  const product = other.seed.product({ delivery_type: 'download_url', download_url: 'https://cdn.example/x' });
  const bob = await other.buyer();
  const { order_id, deliveries, delivery } = await other.bought(bob, { product_id: product.id, quantity: 2 });
  assert.match(
    delivery.value,
    /^https:\/\/shop\.example\/download\/[\w-]{36}\nhttps:\/\/shop\.example\/download\/[\w-]{36}$/,
  );
  const order = dataOf(await other.souk.get(`/api/customer/orders/${order_id}`, { token: bob.token }));
  assert.deepEqual(
    order.items[0].deliveries.map((d) => d.value),
    deliveries.map((d) => d.value),
  );
  expectStatus(await other.souk.get(new URL(deliveries[0].value).pathname), 302);
});

test('a link with a letter that none has leads nowhere', async () => {
  const right = await link(fileProduct());
  expectStatus(await shop.souk.get(right), 200);
  expectError(await shop.souk.get(right.replace(/.$/, '~')), 404, 'not_found');
});

test('without --base-url the link is absolute, too: it leads to the address that is listened on', async () => {
  const { order_id, delivery } = await shop.bought(ada, { product_id: fileProduct().id });
  assert.ok(delivery.value.startsWith(`${shop.souk.url}/download/`), delivery.value);
  const order = dataOf(await shop.souk.get(`/api/customer/orders/${order_id}`, { token: ada.token }));
  assert.equal(order.items[0].deliveries[0].value, delivery.value);
});

test('an outside address is redirected to, within the same limits', async () => {
  const product = shop.seed.product({
    delivery_type: 'download_url',
    download_url: 'https://cdn.example/file?x=1&y=2',
    download_limit: 2,
  });
  const target = await link(product);
  expectStatus(await shop.souk.request('HEAD', target), 302);
  for (let i = 0; i < 2; i++) {
    const answer = expectStatus(await shop.souk.get(target), 302);
    assert.equal(answer.headers.location, 'https://cdn.example/file?x=1&y=2');
    assert.equal(answer.text, '');
  }
  expectError(await shop.souk.get(target), 410, 'download_used_up');
  expectError(await shop.souk.get(target, { headers: { Range: 'bytes=5-' } }), 410, 'download_used_up');
});

test('every unit has a link of its own', async () => {
  const product = fileProduct({ download_limit: 1 });
  const links = (await link(product, 3)).split('\n');
  assert.equal(new Set(links).size, 3);
  for (const target of links) expectStatus(await shop.souk.get(target), 200);
  for (const target of links) expectError(await shop.souk.get(target), 410, 'download_used_up');
});

test('only links that we signed open anything; everything else is the same 404', async () => {
  const target = await link(fileProduct());
  const token = target.slice('/download/'.length);
  const bytes = Buffer.from(token, 'base64url');
  assert.equal(bytes.length, 27);
  const forged = [];
  for (let i = 0; i < bytes.length; i++) {
    for (let bit = 0; bit < 8; bit++) {
      const copy = Buffer.from(bytes);
      copy[i] ^= 1 << bit;
      forged.push(copy.toString('base64url'));
    }
  }
  forged.push(
    'a',
    token.slice(1),
    `${token}A`,
    `${token}%00`,
    `${token}=`,
    '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
    '..%2f..%2fsouk.db',
    '..%252f..%252fetc',
    'master.key',
    '%00',
    '....//',
    token.toLowerCase() === token ? 'x' : token.toLowerCase(),
  );
  const seen = new Set();
  for (const text of forged) {
    const answer = await shop.souk.get(`/download/${text}`);
    expectError(answer, 404, 'not_found', 'Not found');
    seen.add(JSON.stringify({ ...answer.headers, 'x-request-id': '', date: '' }));
  }
  assert.equal(seen.size, 1);
  for (const raw of [
    '/download/../souk.db',
    '/download//etc/passwd',
    '/download/',
    '/download',
    `/download/${token}/x`,
  ]) {
    const answer = await shop.souk.request('GET', raw, { unchecked: true });
    assert.equal(answer.status, 404, raw);
  }
  expectStatus(await shop.souk.get(target), 200);
});

test('nothing outside the folder of files can be reached, whatever the database says', async () => {
  fs.writeFileSync(path.join(folder, '..', 'secret'), 'secret');
  fs.writeFileSync(path.join(folder, 'plain'), 'plain');
  fs.symlinkSync('/etc/passwd', path.join(folder, 'link'));
  fs.symlinkSync('plain', path.join(folder, 'inner'));
  fs.mkdirSync(path.join(folder, 'dir'));
  fs.writeFileSync(path.join(folder, 'dir', 'x'), 'x');
  fs.writeFileSync(path.join(folder, '.hidden'), 'x');
  const keys = [
    '../secret',
    '../master.key',
    '/etc/passwd',
    'link',
    'inner',
    'dir',
    'dir/x',
    '.',
    '..',
    '.hidden',
    'missing',
    'a b',
    'x'.repeat(200),
    'plain/',
    './plain',
    'plain\\',
  ];
  for (const file_key of keys) {
    const target = await link(fileProduct({ file_key }, null));
    expectError(await shop.souk.get(target), 404, 'not_found');
  }
  assert.equal(
    expectStatus(await shop.souk.get(await link(fileProduct({ file_key: 'plain' }, null))), 200).text,
    'plain',
  );
});

test('an expired link is gone', async () => {
  const product = fileProduct({ download_days: 3 });
  const { order_id, delivery } = await shop.bought(ada, { product_id: product.id });
  const target = new URL(delivery.value).pathname;
  const order = dataOf(await shop.souk.get(`/api/customer/orders/${order_id}`, { token: ada.token }));
  const [unit] = order.items[0].deliveries;
  assert.equal(Math.round((Date.parse(unit.expires_at) - Date.now()) / DAY), 3);
  expectStatus(await shop.souk.get(target), 200);
  shop.seed.update('delivery', lastDelivery(), { expires_at: Date.now() - 1 });
  expectError(await shop.souk.get(target), 410, 'download_expired', 'This download has expired');
  expectError(await shop.souk.get(target, { headers: { Range: 'bytes=1-' } }), 410, 'download_expired');
  expectStatus(await shop.souk.request('HEAD', target), 410);
  const page = await shop.souk.get(target, { headers: { Accept: 'text/html' }, unchecked: true });
  assert.equal(page.status, 410);
  assert.match(page.headers['content-type'], /^text\/html/);
});

test('refunded and disputed orders: 404', async () => {
  const target = await link(fileProduct());
  const id = lastDelivery();
  shop.seed.update('delivery', id, { is_revoked: 1 });
  expectError(await shop.souk.get(target), 404, 'not_found');
  shop.seed.update('delivery', id, { is_revoked: 0 });
  const order = shop.seed.number(
    `SELECT i.order_id FROM order_item i JOIN delivery d ON d.order_item_id = i.id WHERE d.id = ${id}`,
  );
  shop.seed.update('orders', order, { on_hold: 1 });
  expectError(await shop.souk.get(target), 404, 'not_found');
  shop.seed.update('orders', order, { on_hold: 0 });
  expectStatus(await shop.souk.get(target), 200);
});

test('fetches are counted when they begin; resuming, looking and 304 are free', async () => {
  const target = await link(fileProduct({ download_limit: 2 }));
  const where = `id = ${lastDelivery()}`;
  const head = expectStatus(await shop.souk.request('HEAD', target), 200);
  assert.equal(head.headers['content-length'], String(BYTES.length));
  assert.equal(rowOf(where)[0], 0, 'HEAD');
  const first = expectStatus(await shop.souk.get(target), 200);
  assert.equal(rowOf(where)[0], 1);
  const etag = first.headers.etag;
  assert.equal(etag, head.headers.etag);
  expectStatus(await shop.souk.get(target, { headers: { 'If-None-Match': etag } }), 304);
  expectStatus(await shop.souk.get(target, { headers: { Range: 'bytes=1000-' } }), 206);
  expectStatus(await shop.souk.get(target, { headers: { Range: 'bytes=-10' } }), 206);
  expectError(
    await shop.souk.get(target, { headers: { Range: `bytes=${BYTES.length}-` } }),
    416,
    'range_not_satisfiable',
  );
  assert.equal(rowOf(where)[0], 1, 'ranges, 304 and 416');
  expectStatus(await shop.souk.get(target, { headers: { Range: 'bytes=0-' } }), 206);
  assert.equal(rowOf(where)[0], 2, 'a range from the first byte on is a fetch');

  expectError(await shop.souk.get(target), 410, 'download_used_up');
  const page = await shop.souk.get(target, { headers: { Accept: 'text/html' }, unchecked: true });
  assert.match(page.text, /This download is over/, 'a page says so to people');
  expectError(await shop.souk.get(target, { headers: { Range: 'bytes=0-0' } }), 410, 'download_used_up');
  expectStatus(
    await shop.souk.get(target, { headers: { Range: 'bytes=1000-' } }),
    206,
    'the last fetch may still be resumed',
  );
  shop.seed.update('delivery', lastDelivery(), { fetched_at: Date.now() - DAY });
  expectError(await shop.souk.get(target, { headers: { Range: 'bytes=1000-' } }), 410, 'download_used_up');
  assert.equal(rowOf(where)[0], 2);
});

test('a range is no way around the count', async () => {
  const target = await link(fileProduct({ download_limit: 1 }));
  const where = `id = ${lastDelivery()}`;
  expectStatus(await shop.souk.get(target, { headers: { Range: 'bytes=1-' } }), 206);
  assert.equal(rowOf(where)[0], 1, 'there was no fetch to resume: it is one itself');
  expectError(await shop.souk.get(target), 410, 'download_used_up');
});

test('ranges are free up to twenty times the file: a link that is used up is not everybody’s but for its first byte', async () => {
  const target = await link(fileProduct({ download_limit: 2 }));
  const where = `id = ${lastDelivery()}`;
  const rest = () => shop.souk.get(target, { headers: { Range: 'bytes=1-' } });
  expectStatus(await shop.souk.get(target), 200);
  for (let i = 0; i < 20; i++) expectStatus(await rest(), 206);
  assert.equal(rowOf(where)[0], 1);
  expectStatus(await rest(), 206);
  assert.equal(rowOf(where)[0], 2, 'past that it is a fetch');
  expectError(await rest(), 410, 'download_used_up');
});

test('a broken fetch is resumed where it ended', async () => {
  const target = await link(fileProduct());
  const got = [];
  await new Promise((resolve, reject) => {
    const req = http.get(new URL(target, shop.souk.url), (res) => {
      res.on('data', (c) => {
        got.push(c);
        if (Buffer.concat(got).length > 60_000) res.destroy();
      });
      res.on('error', resolve);
      res.on('close', resolve);
    });
    req.on('error', reject);
  });
  const start = Buffer.concat(got);
  assert.ok(start.length > 60_000 && start.length < BYTES.length);
  const etag = (await shop.souk.request('HEAD', target)).headers.etag;
  const rest = expectStatus(
    await shop.souk.get(target, { headers: { Range: `bytes=${start.length}-`, 'If-Range': etag } }),
    206,
  );
  assert.equal(rest.headers['content-range'], `bytes ${start.length}-${BYTES.length - 1}/${BYTES.length}`);
  assert.equal(rest.headers['content-length'], String(BYTES.length - start.length));
  assert.ok(Buffer.concat([start, rest.bytes]).equals(BYTES));
});

test('single ranges are served exactly, everything else gives the whole', async () => {
  const target = await link(fileProduct());
  const size = BYTES.length;
  const parts = [
    [`bytes=0-0`, 0, 0],
    ['bytes=10-19', 10, 19],
    [`bytes=${size - 1}-`, size - 1, size - 1],
    ['bytes=-1', size - 1, size - 1],
    [`bytes=65535-65536`, 65535, 65536],
    [`bytes=5-${size * 2}`, 5, size - 1],
    [`bytes=-${size * 2}`, 0, size - 1],
  ];
  for (const [range, first, last] of parts) {
    const answer = expectStatus(await shop.souk.get(target, { headers: { Range: range } }), 206);
    assert.equal(answer.headers['content-range'], `bytes ${first}-${last}/${size}`);
    assert.ok(answer.bytes.equals(BYTES.subarray(first, last + 1)), range);
  }
  for (const range of ['bytes=0-1,5-6', 'bytes=x-y', 'lines=1-2', 'bytes=9-5', 'bytes=']) {
    const answer = expectStatus(await shop.souk.get(target, { headers: { Range: range } }), 200);
    assert.equal(answer.bytes.length, size, range);
  }
  const outside = await shop.souk.get(target, { headers: { Range: `bytes=${size}-` } });
  expectError(outside, 416, 'range_not_satisfiable');
  assert.equal(outside.headers['content-range'], `bytes */${size}`);
  expectStatus(await shop.souk.get(target, { headers: { Range: 'bytes=1-', 'If-Range': '"another"' } }), 200);
  expectStatus(
    await shop.souk.get(target, { headers: { Range: 'bytes=1-', 'If-Range': 'Sun, 06 Nov 1994 08:49:37 GMT' } }),
    200,
  );
  const head = expectStatus(await shop.souk.request('HEAD', target, { headers: { Range: 'bytes=1-5' } }), 200);
  assert.equal(head.headers['content-length'], String(size), 'ranges are for GET');
});

test('a replaced file has another ETag, so that parts of two are never put together', async () => {
  const product = fileProduct();
  const target = await link(product);
  const before_ = (await shop.souk.get(target)).headers.etag;
  const other = randomBytes(BYTES.length);
  fs.writeFileSync(path.join(folder, 'replaced'), other);
  shop.seed.update('product', product.id, { file_key: 'replaced' });
  const answer = expectStatus(
    await shop.souk.get(target, { headers: { Range: 'bytes=10-', 'If-Range': before_ } }),
    200,
  );
  assert.notEqual(answer.headers.etag, before_);
  assert.ok(answer.bytes.equals(other), 'a link gives the present file');
});

test('an empty file', async () => {
  const target = await link(fileProduct({}, Buffer.alloc(0)));
  const answer = expectStatus(await shop.souk.get(target), 200);
  assert.equal(answer.headers['content-length'], '0');
  expectError(await shop.souk.get(target, { headers: { Range: 'bytes=0-' } }), 416, 'range_not_satisfiable');
});

test('other methods are refused', async () => {
  const target = await link(fileProduct());
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    const answer = await shop.souk.request(method, target);
    expectError(answer, 405, 'method_not_allowed');
    assert.equal(answer.headers.allow, 'GET, HEAD, OPTIONS');
  }
});

test('the limit holds however many begin at once', async () => {
  const target = await link(fileProduct({ download_limit: 5 }));
  const answers = await Promise.all(Array.from({ length: 40 }, () => shop.souk.get(target)));
  const statuses = answers.map((a) => a.status).sort();
  assert.deepEqual(statuses, [...Array(5).fill(200), ...Array(35).fill(410)]);
});

test('a large file is streamed: memory stays flat, for slow readers too', async () => {
  const size = Number(process.env.SOUK_TEST_FILE_MIB ?? 256) * 1024 * 1024;
  const key = 'large';
  fs.writeFileSync(path.join(folder, key), '');
  fs.truncateSync(path.join(folder, key), size);
  const target = await link(fileProduct({ file_key: key, file_bytes: size, download_limit: null }, null));
  const status = () =>
    Number(/VmHWM:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${shop.souk.child.pid}/status`, 'utf8'))[1]);
  const hash = createHash('sha256');
  const fetch = (stopAt) =>
    new Promise((resolve, reject) => {
      http
        .get(new URL(target, shop.souk.url), (res) => {
          let n = 0;
          res.on('data', (c) => {
            n += c.length;
            if (stopAt === undefined) hash.update(c);
            else if (n >= stopAt) {
              res.pause();
              resolve(res);
            }
          });
          res.on('end', () => resolve(n));
          res.on('error', reject);
        })
        .on('error', reject);
    });
  const before_ = status();
  const slow = await Promise.all([1, 1, 1, 1].map((n) => fetch(n)));
  assert.equal(await fetch(), size);
  const grown = status() - before_;
  slow.forEach((res) => {
    res.on('error', () => {});
    res.destroy();
  });
  assert.equal(hash.digest('hex'), createHash('sha256').update(Buffer.alloc(size)).digest('hex'));
  assert.ok(grown < 24 * 1024, `memory grew by ${grown} KiB while ${size / 1048576} MiB were sent`);
});
