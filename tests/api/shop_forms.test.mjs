// Every form of the shop, out of the route table: without its csrf field, with another browser's, or from another site it
// is refused with a page, and nothing is changed. With its csrf the same form is heard.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { selectAll } from '../lib/sql.mjs';
import { Browser } from './lib/browser.mjs';
import { openPaidShop } from './lib/gateways.mjs';
import { dataOf } from './lib/http.mjs';
import { runSouk } from './lib/souk.mjs';

const listed = await runSouk(['routes', '--pages']);
const FORMS = listed.stdout
  .trim()
  .split('\n')
  .map((line) => line.split(' '))
  .filter(([method, path]) => method === 'POST' && !/^\/(api|webhook|v1|sandbox)\//.test(path))
  .map(([, path]) => path);
/** Forms for visitors who have no session yet. */
const FIRST = ['/cart/add', '/login', '/register', '/forgot', '/reset', '/verify-email'];
/** These end the session or begin another: they are sent last. */
const LAST = ['/account/settings/password', '/logout', ...FIRST.filter((path) => path !== '/cart/add')];
/** What forms change, in tables. */
const TABLES = [
  'account', 'token', 'cart', 'cart_line', 'orders', 'license', 'ticket', 'ticket_message', 'withdrawal',
  'ledger_account', 'transfer', 'mail_link', 'recovery_code', 'notification',
]; // oxfmt-ignore
const PASSWORD = 'correct horse battery';

let shop;
let product;
let department;
const browsers = {};
/** What the forms of a path with an id are about: the customer's own things. */
const own = {};

/** A customer with something of each kind that a form can change. */
async function customer(email) {
  const b = new Browser(shop.souk.url);
  await b.open('/register');
  await b.submit('/register', { email, password: PASSWORD }, { expect: 303 });
  [{ id: b.id }] = dataOf(await shop.admin('GET', `/api/admin/customers?q=${email}`));
  return b;
}

async function buy(b, pay_with) {
  await b.open('/p/thing');
  await b.submit('/cart/add', { then: 'checkout' }, { expect: 303 });
  const { location } = await b.submit('/checkout', { pay_with }, { expect: 303 });
  await b.open('/account/orders');
  return { ref: location.split('/').at(-1), id: /href="\/account\/orders\/(\d+)"/.exec(b.page)[1] };
}

before(async () => {
  shop = await openPaidShop();
  await shop.connect('sandbox', {});
  const goods = { name: 'Thing', slug: 'thing', price: 1, delivery_type: 'license_key', is_active: true };
  product = dataOf(await shop.admin('POST', '/api/admin/products', goods), 201);
  department = dataOf(await shop.admin('POST', '/api/admin/departments', { name: 'Help' }), 201);
  dataOf(await shop.admin('POST', '/api/admin/coupons', { code: 'TEN', kind: 'percent', value: 10 }), 201);
  const mine = (browsers.mine = await customer('mine@example.com'));
  shop.fund(mine, 10000);
  await buy(mine, 'wallet');
  own.licenses = dataOf(await shop.admin('GET', '/api/admin/licenses?q=mine@example.com'))[0].id;
  const pending = await buy(mine, 'sandbox');
  own.orders = pending.id;
  own.order = pending.ref;
  await mine.open('/account/tickets');
  const question = { subject: 'Why?', message: 'Because.' };
  own.tickets = /\d+$/.exec((await mine.submit('/account/tickets', question, { expect: 303 })).location)[0];
  await mine.open('/account/wallet');
  await mine.submit('/account/wallet/withdraw', { amount: '5', destination: 'DE00' }, { expect: 303 });
  own.withdrawals = /withdrawals\/(\d+)\/cancel/.exec(mine.page)[1];
  await mine.open('/account/settings');
  await mine.submit('/account/settings/tokens', { name: 'mine', scopes: 'store' });
  own.tokens = /tokens\/(\d+)\/revoke/.exec(mine.page)[1];
  const elsewhere = new Browser(shop.souk.url);
  await elsewhere.open('/login');
  await elsewhere.submit('/login', { email: 'mine@example.com', password: PASSWORD }, { expect: 303 });
  own.sessions = /sessions\/(\d+)\/end/.exec((await mine.open('/account/settings')).text)[1];
  browsers.other = await customer('other@example.com');
  for (const b of Object.values(browsers)) {
    await b.open('/p/thing');
    await b.submit('/cart/add', { then: 'cart' }, { expect: 303 });
  }
});
after(() => shop.stop());

const csrfOf = async (b) => {
  await b.open('/cart');
  return b.form('/cart/update').fields.csrf;
};
/** The address of a form: its {id} or {ref} is that of the thing before it. */
const target = (path) => path.replace(/([a-z]+)\/\{[a-z]+\}/, (_, noun) => `${noun}/${own[noun]}`);

/** Everything that a form could have changed. Payments are only counted: the gateway's link is added to them later. */
const state = () =>
  JSON.stringify(
    selectAll(shop.souk.dbArg, [
      ...TABLES.map((table) => `SELECT * FROM ${table} ORDER BY 1, 2`),
      'SELECT COUNT(*) FROM payment',
    ]),
  );

/** Fields with which the form does something. */
const fields = (path) => ({
  product_id: product.id,
  quantity: 5,
  code: 'TEN',
  email: 'x@example.com',
  password: 'long enough to be one',
  current_password: PASSWORD,
  pay_with: 'wallet',
  once: `once-${path}`,
  department_id: department.id,
  subject: 'Subject',
  message: 'Message',
  amount: '3',
  gateway: 'sandbox',
  destination: 'DE01',
  name: path.includes('tokens') ? 'another' : 'Name',
  ...(path.includes('tokens') ? { scopes: 'store' } : {}),
  up_to: 1000000,
  token: 'x',
});

test('the route table has forms, and every address with an id is one of the customer’s own things', () => {
  assert.ok(FORMS.length >= 30, listed.stdout);
  for (const path of FORMS) assert.doesNotMatch(target(path), /\{|undefined/);
});

let known;
for (const path of FORMS) {
  test(`POST ${path} without csrf, with another browser's, or from elsewhere changes nothing`, async () => {
    known ??= state();
    const { mine, other } = browsers;
    const right = await csrfOf(mine);
    const wrong = await csrfOf(other);
    const tries = {
      'no csrf': [{}],
      'empty csrf': [{ csrf: '' }],
      "another browser's csrf": [{ csrf: wrong }],
      'another origin': [{ csrf: right }, { Origin: 'https://evil.example' }],
      'origin null': [{ csrf: right }, { Origin: 'null' }],
      'cross-site': [{ csrf: right }, { 'Sec-Fetch-Site': 'cross-site' }],
    };
    for (const [what, [csrf, headers]] of Object.entries(tries)) {
      const answer = await mine.post(target(path), { ...fields(path), ...csrf }, { headers });
      assert.equal(answer.status, 403, `${what}: ${answer.status}`);
      assert.match(answer.headers.get('content-type'), /^text\/html/);
      assert.deepEqual(answer.set, [], what);
    }
    assert.equal(state(), known);
  });
}

for (const path of FIRST) {
  test(`POST ${path} by a visitor without a session is refused from elsewhere`, async () => {
    assert.ok(FORMS.includes(path));
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
    assert.equal(state(), known);
  });
}

test('with the right csrf every one of these forms is heard', async () => {
  const { mine } = browsers;
  const rest = FORMS.filter((path) => !LAST.includes(path));
  const order = [...rest.filter((path) => path !== '/checkout'), '/checkout', ...LAST];
  assert.deepEqual([...order].sort(), [...FORMS].sort());
  for (const path of order) {
    // The checkout empties the cart, where the csrf is read; a session that is gone has none.
    await mine.open('/p/thing');
    const { csrf } = mine.form('/cart/add').fields;
    const answer = await mine.post(target(path), csrf ? { ...fields(path), csrf } : fields(path));
    assert.ok(answer.status !== 403 && answer.status < 500, `${path}: ${answer.status}`);
    assert.ok(answer.status !== 404 || !path.includes('{'), `${path} is about nothing`);
  }
  assert.notEqual(state(), known);
});

test('a form of another content type is refused', async () => {
  const b = new Browser(shop.souk.url);
  const headers = { 'Content-Type': 'application/json' };
  const answer = await b.request('POST', '/cart/add', { body: '{"product_id":1}', headers });
  assert.equal(answer.status, 415);
});
