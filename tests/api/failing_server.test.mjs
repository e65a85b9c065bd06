// A server whose n-th call of the system fails while it takes a file, hands one out, shows a page or tells how it is: each answer is
// clear or the connection ends, a file is there whole or not at all, and the next request is served.
// runs: failing
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Browser } from './lib/browser.mjs';
import { openPaidShop } from './lib/gateways.mjs';
import { dataOf } from './lib/http.mjs';
import { freshStore } from './lib/souk.mjs';
import { BUILD } from '../lib/build.mjs';

/** The shim's enum how (tests/faults/faulty_calls.c). */
const HOW = { 'with an error': 1, interrupted: 2, 'at its end': 4 };
const CALLS_MAX = 150;
/** More than fits the buffers on the way: it is written in several pieces. */
const FILE = Buffer.alloc(700_000, 'souk ');

const password = 'long enough to be one';
let shop, calls, product, link;
let number = 0;

class FaultyCalls {
  constructor(file) {
    this.file = file;
    fs.writeFileSync(file, Buffer.alloc(12));
    this.fd = fs.openSync(file, 'r+');
  }
  /** The n-th call from now fails; 0: none. Gives how many have failed so far. */
  order(n, how = 1) {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32LE(how);
    fs.writeSync(this.fd, bytes, 0, 4, 8);
    bytes.writeInt32LE(n);
    fs.writeSync(this.fd, bytes, 0, 4, 0);
    fs.readSync(this.fd, bytes, 0, 4, 4);
    return bytes.readInt32LE();
  }
}

before(async () => {
  const database = freshStore('sqlite', 'owner');
  calls = new FaultyCalls(path.join(database.dir, 'calls'));
  const env = { FAULTY_CALLS: calls.file, LD_PRELOAD: path.join(BUILD, 'tests/faults/faulty_calls.so') };
  shop = await openPaidShop({ database, env, faults: false });
  const goods = { name: 'Book', price: 1, delivery_type: 'download_url', is_active: true };
  product = dataOf(await shop.admin('POST', '/api/admin/products', goods), 201);
  await upload(FILE);
  const buyer = await shop.buyer({ balance: 1000 });
  link = dataOf(await shop.souk.post('/api/v1/order/create', { product_id: product.id }, { token: buyer.token }))
    .delivery.value;
});
after(() => shop?.stop());

const upload = (bytes) =>
  shop.souk.put(`/api/admin/products/${product.id}/file?name=book.txt`, bytes, {
    token: shop.owner,
    type: 'application/octet-stream',
    unchecked: true,
  });
const ask = (target) => () => shop.souk.get(target, { unchecked: true, token: undefined });

const REQUESTS = {
  'a file is taken': () => upload(FILE),
  'a file is handed out': () => ask(link)(),
  metrics: ask('/metrics'),
  readiness: ask('/readyz'),
  'a page': ask('/'),
  'a password is hashed': () =>
    shop.souk.post('/api/auth/register', { email: `p${++number}@example.com`, password }, { unchecked: true }),
  'a customer is made': () =>
    shop
      .admin('POST', '/api/admin/customers', { email: `c${++number}@example.com`, password })
      .catch(() => ({ status: 0 })),
  'a member of staff is made': () =>
    shop
      .admin('POST', '/api/admin/staff', { email: `s${++number}@example.com`, role: 'staff', password })
      .catch(() => ({ status: 0 })),
  'a visitor registers': () =>
    new Browser(shop.souk.url).post('/register', { email: `v${++number}@example.com`, password }),
};

for (const [what, send] of Object.entries(REQUESTS))
  for (const [how, number] of Object.entries(HOW))
    test(`${what}: a call fails ${how}`, async (t) => {
      let failures = 0;
      for (let n = 1; n < CALLS_MAX; n++) {
        const before_ = calls.order(n, number);
        const answer = await send().catch((e) => ({ status: 0, text: e.message }));
        const met = calls.order(0) > before_;
        if (!met) break;
        failures += 1;
        assert.notEqual(answer.status, 500, `call ${n}: ${answer.text}`);
        const next = await ask('/livez')().catch(ask('/livez')); // the connection may have been the one that failed
        assert.equal(next.status, 200, `call ${n}`);
        const whole = await ask(link)();
        assert.equal(whole.status, 200, `call ${n}: ${whole.text.slice(0, 200)}`);
        assert.ok(whole.bytes.equals(FILE), `call ${n}: the file is another`);
      }
      t.diagnostic(`${failures} failures`);
    });

test('nothing is left of what failed', async () => {
  const left = () =>
    fs.readdirSync(shop.souk.dir, { recursive: true }).filter((name) => path.basename(name).startsWith('.upload-'));
  await shop.until(() => left().length === 0, 'unfinished files are gone');
  assert.equal(shop.souk.starts, 1);
  await shop.check();
});
