// Every form of the shop, from the route table: without its csrf field, with another browser's, or from another site it
// is refused with a page, and nothing is changed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser } from './lib/browser.mjs';
import { openPaidShop } from './lib/gateways.mjs';
import { dataOf } from './lib/http.mjs';
import { runSouk } from './lib/souk.mjs';

const listed = await runSouk(['routes', '--pages']);
const FORMS = listed.stdout
  .trim()
  .split('\n')
  .map((line) => line.split(' '))
  .filter(([method, path]) => method === 'POST' && !/^\/(api|webhook|v1|sandbox)\//.test(path));
/** Forms for visitors who have no session yet. */
const FIRST = ['/cart/add', '/login', '/register', '/forgot', '/reset', '/verify-email'];

let shop;
let product;
const browsers = {};

before(async () => {
  shop = await openPaidShop();
  product = dataOf(
    await shop.admin('POST', '/api/admin/products', {
      name: 'Thing',
      slug: 'thing',
      price: 1,
      delivery_type: 'license_key',
      is_active: true,
    }),
    201,
  );
  for (const name of ['mine', 'other']) {
    const b = (browsers[name] = new Browser(shop.souk.url));
    await b.open('/p/thing');
    await b.submit('/cart/add', { then: 'cart' }, { expect: 303 });
  }
});
after(() => shop.stop());

const csrfOf = async (b) => {
  await b.open('/cart');
  return b.form('/cart/update').fields.csrf;
};
const target = (path) => path.replace(/\{[a-z]+\}/g, '1');

/** What a change would show up in. */
const state = async () => {
  const cart = await browsers.mine.open('/cart');
  const orders = dataOf(await shop.admin('GET', '/api/admin/orders'));
  const customers = dataOf(await shop.admin('GET', '/api/admin/customers'));
  return JSON.stringify([cart.text, orders.length, customers.length, [...browsers.mine.cookies]]);
};

test('the route table has forms', () => assert.ok(FORMS.length >= 10, listed.stdout));

/** Fields that would do something. */
const fields = (path) => ({
  product_id: product.id,
  quantity: 5,
  code: 'X',
  email: 'x@example.com',
  password: 'long enough to be one',
  pay_with: 'wallet',
  once: `once-${path}`,
});

for (const [, path] of FORMS) {
  test(`POST ${path} without csrf, with another browser's, or from elsewhere changes nothing`, async () => {
    const before = await state();
    const { mine, other } = browsers;
    const right = await csrfOf(mine);
    const tries = {
      'no csrf': () => mine.post(target(path), fields(path)),
      'empty csrf': () => mine.post(target(path), { ...fields(path), csrf: '' }),
      "another browser's csrf": async () => mine.post(target(path), { ...fields(path), csrf: await csrfOf(other) }),
      'another origin': () =>
        mine.post(target(path), { ...fields(path), csrf: right }, { headers: { Origin: 'https://evil.example' } }),
      'origin null': () => mine.post(target(path), { ...fields(path), csrf: right }, { headers: { Origin: 'null' } }),
      'cross-site': () =>
        mine.post(target(path), { ...fields(path), csrf: right }, { headers: { 'Sec-Fetch-Site': 'cross-site' } }),
    };
    for (const [what, send] of Object.entries(tries)) {
      const answer = await send();
      assert.equal(answer.status, 403, `${what}: ${answer.status}`);
      assert.match(answer.headers.get('content-type'), /^text\/html/);
      assert.deepEqual(answer.set, [], what);
    }
    assert.equal(await state(), before);
  });
}

for (const [, path] of FORMS.filter(([, p]) => FIRST.includes(p))) {
  test(`POST ${path} by a visitor without a session is refused from elsewhere`, async () => {
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site', Origin: 'https://sub.evil.example' },
    ]) {
      const answer = await new Browser(shop.souk.url).post(path, fields(path), { headers });
      assert.equal(answer.status, 403);
      assert.deepEqual(answer.set, []);
    }
  });
}

test('a form of another content type is refused', async () => {
  const b = new Browser(shop.souk.url);
  const answer = await b.request('POST', '/cart/add', {
    body: '{"product_id":1}',
    headers: { 'Content-Type': 'application/json' },
  });
  assert.equal(answer.status, 415);
});
