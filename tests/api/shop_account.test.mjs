// The account's pages in the shop: orders, licences, wallet, support, notifications, settings.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readQr } from '../lib/qr.mjs';
import { Browser, formsOf, unescape } from './lib/browser.mjs';
import { openPaidShop } from './lib/gateways.mjs';
import { dataOf } from './lib/http.mjs';
import { totp } from './lib/totp.mjs';

const PASSWORD = 'a long enough password';
let shop;
let product;
let department;

before(async () => {
  shop = await openPaidShop();
  await shop.connect('sandbox', {});
  product = dataOf(
    await shop.admin('POST', '/api/admin/products', {
      name: 'Thing',
      slug: 'thing',
      price: 2.5,
      delivery_type: 'license_key',
      is_active: true,
    }),
    201,
  );
  department = dataOf(await shop.admin('POST', '/api/admin/departments', { name: 'Sales' }), 201);
});
after(() => shop.stop());

let number = 0;
/** A customer who is logged in, with money: a Browser with {id, email}. */
async function customer({ balance = 10000 } = {}) {
  const b = new Browser(shop.souk.url);
  b.email = `c${++number}@example.com`;
  await b.open('/register');
  await b.submit('/register', { email: b.email, password: PASSWORD, name: `Customer ${number}` }, { expect: 303 });
  [{ id: b.id }] = dataOf(await shop.admin('GET', `/api/admin/customers?q=${b.email}`));
  if (balance) shop.fund(b, balance);
  return b;
}
async function bought(b, { quantity = 1 } = {}) {
  await b.open('/p/thing');
  await b.submit('/cart/add', { quantity, then: 'checkout' }, { expect: 303 });
  const { location } = await b.submit('/checkout', { pay_with: 'wallet' }, { expect: 303 });
  assert.match(location, /^\/order\//);
  await b.open('/account/orders');
  return /href="(\/account\/orders\/\d+)"/.exec(b.page)[1];
}
const PAGES = [
  '/account',
  '/account/orders',
  '/account/licenses',
  '/account/wallet',
  '/account/tickets',
  '/account/notifications',
  '/account/settings',
];

test('visitors who are not logged in are sent to the login, and then back', async () => {
  for (const page of [...PAGES, '/account/orders/1', '/account/tickets/1']) {
    const answer = await new Browser(shop.souk.url).request('GET', page);
    assert.equal(answer.status, 303, page);
    assert.equal(answer.location, `/login?next=${page}`);
  }
});

test('a customer pays from the wallet and finds order, key and movement', async () => {
  const b = await customer();
  const order = await bought(b, { quantity: 2 });
  await b.open(order);
  assert.match(b.text, /Paid and delivered/);
  const keys = [...b.page.matchAll(/<code[^>]*>([A-Z0-9-]{20,})<\/code>/g)].map((m) => m[1]);
  assert.equal(keys.length, 2);
  await b.open('/account/licenses');
  for (const key of keys) assert.ok(b.page.includes(key));
  await b.open('/account/wallet');
  assert.match(b.text, /Balance \$95\.00/);
  assert.match(b.text, /−\$5\.00/);
  await b.open('/account');
  assert.match(b.text, /Hello, Customer/);
  assert.match(b.text, /Paid and delivered/);
  await b.open('/account/notifications');
  assert.match(b.text, /is confirmed and delivered/);
});

test('somebody else’s things are not there', async () => {
  const owner = await customer();
  const order = await bought(owner);
  await owner.open('/account/tickets');
  const ticket = (await owner.submit('/account/tickets', { subject: 'Mine', message: 'Mine' }, { expect: 303 }))
    .location;
  await owner.open('/account/settings');
  const session = /\/account\/settings\/sessions\/\d+\/end/.exec(owner.page)[0];
  const license = dataOf(await shop.admin('GET', `/api/admin/licenses?q=${owner.email}`))[0];
  const thief = await customer();
  for (const path of [order, ticket]) assert.equal((await thief.open(path)).status, 404, path);
  await thief.open('/account/settings');
  const { csrf } = thief.form('/account/settings/profile').fields;
  for (const path of [
    `${order}/cancel`,
    `${ticket}/reply`,
    `${ticket}/close`,
    session,
    `/account/licenses/${license.id}/move`,
  ]) {
    assert.equal((await thief.post(path, { csrf, message: 'x' })).status, 404, path);
  }
  const about = await thief.post('/account/tickets', {
    csrf,
    department_id: department.id,
    subject: 's',
    message: 'm',
    order_id: /\d+$/.exec(order)[0],
  });
  assert.equal(about.status, 404);
});

test('support: ask about an order, read the answer, reply, close', async () => {
  const b = await customer();
  const order = await bought(b);
  await b.open(`/account/tickets?order_id=${/\d+$/.exec(order)[0]}`);
  const empty = await b.submit('/account/tickets', { subject: 'Why?', message: '' });
  assert.equal(empty.status, 422);
  assert.equal(b.form('/account/tickets').fields.subject, 'Why?');
  const { location } = await b.submit(
    '/account/tickets',
    { subject: 'Why?', message: '<b>Because</b>\nof that' },
    { expect: 303 },
  );
  assert.match(b.text, /<b>Because<\/b> of that/);
  assert.ok(b.page.includes(`href="${order}"`), 'the ticket leads to its order');
  const id = /\d+$/.exec(location)[0];
  dataOf(await shop.admin('POST', `/api/admin/tickets/${id}/replies`, { message: 'So that it works.' }), 201);
  await b.open(location);
  assert.match(b.text, /So that it works\./);
  assert.match(b.text, /Answered/);
  await b.submit(`${location}/reply`, { message: 'Thank you' }, { expect: 303 });
  assert.match(b.text, /Waiting for an answer/);
  await b.submit(`${location}/close`, {}, { expect: 303 });
  assert.match(b.text, /Closed/);
});

test('a new computer opens a ticket that names the licence', async () => {
  const b = await customer();
  await bought(b);
  const license = dataOf(await shop.admin('GET', `/api/admin/licenses?q=${b.email}`))[0];
  await b.open('/account/licenses');
  assert.doesNotMatch(b.text, /I have a new computer/);
  const [, key] = /<code[^>]*>([A-Z0-9-]{20,})<\/code>/.exec(b.page);
  const token = dataOf(await shop.admin('POST', `/api/admin/customers/${b.id}/tokens`, { name: 'x' }), 201).token;
  dataOf(
    await shop.souk.post(
      '/api/v1/license/verify',
      { license_key: key, product_id: product.id, hardware_id: 'old' },
      { token },
    ),
  );
  await b.open('/account/licenses');
  await b.submit(`/account/licenses/${license.id}/move`, {}, { expect: 303 });
  assert.ok(b.page.includes(key));
  const ticket = dataOf(await shop.admin('GET', `/api/admin/tickets/${/\d+$/.exec(b.path)[0]}`));
  assert.deepEqual([ticket.license_id, ticket.order_id], [license.id, license.order_id]);
  const found = dataOf(await shop.admin('GET', `/api/admin/licenses?q=${b.email}`))[0];
  assert.equal(found.hardware_id, 'old');
  dataOf(await shop.admin('POST', `/api/admin/tickets/${ticket.id}/clear-hardware`, {}), 201);
  await b.open(b.path);
  assert.match(b.text, /is free again/);
  await b.open('/account/licenses');
  assert.doesNotMatch(b.text, /I have a new computer/);
});

test('licences in every state; a computer is moved from good ones alone', async () => {
  const b = await customer();
  await bought(b, { quantity: 5 });
  const ids = dataOf(await shop.admin('GET', `/api/admin/licenses?q=${b.email}`)).map((l) => l.id);
  const set = (id, what) =>
    shop.seed.sql(`UPDATE license SET hardware_id = 'pc', bound_at = 1, ${what} WHERE id = ${id};`);
  set(ids[0], "status = 'refunded'");
  set(ids[1], "status = 'revoked', on_hold = 1");
  set(ids[2], 'on_hold = 1');
  set(ids[3], 'expires_at = 1000');
  set(ids[4], `expires_at = ${Date.now() + 1e9}`);
  await b.open('/account/licenses');
  for (const word of ['Refunded', 'Revoked', 'Expired', 'Active']) assert.ok(b.text.includes(word), word);
  const { csrf } = b.form('/logout').fields;
  for (const id of ids.slice(0, 4))
    assert.equal((await b.post(`/account/licenses/${id}/move`, { csrf, message: 'x' })).status, 409);
  shop.seed.sql('UPDATE department SET is_active = 0;');
  const nobody = await b.post(`/account/licenses/${ids[4]}/move`, { csrf, message: 'x' });
  assert.equal(nobody.status, 503, 'nobody takes questions');
  shop.seed.sql('UPDATE department SET is_active = 1;');
  await b.submit(`/account/licenses/${ids[4]}/move`, { message: 'The old one is broken' }, { expect: 303 });
  assert.match(b.text, /The old one is broken/);
  assert.deepEqual(
    dataOf(
      await shop.souk.get('/api/customer/licenses', {
        token: dataOf(await shop.admin('POST', `/api/admin/customers/${b.id}/tokens`, { name: 'l' }), 201).token,
      }),
    )
      .map((l) => l.status)
      .sort(),
    ['active', 'active', 'refunded', 'revoked', 'revoked'],
  );
  shop.seed.sql(`UPDATE license SET hardware_id = NULL, bound_at = NULL, on_hold = 0 WHERE account_id = ${b.id};`);
});

test('long lists go on on the next page', async () => {
  const b = await customer();
  for (let i = 0; i < 5; i++) shop.seed.product({ name: `${'Ä'.repeat(50)} 1${i}`, slug: `long-${i}`, price: 1 });
  shop.seed.sql('UPDATE revision SET number = number + 1;');
  for (let i = 0; i < 5; i++) {
    await b.open(`/p/long-${i}`);
    await b.submit('/cart/add', { then: 'checkout', quantity: 9 }, { expect: 303 });
  }
  assert.equal((await b.open('/')).status, 200, 'with a full cart');
  await b.open('/checkout');
  await b.submit('/checkout', { pay_with: 'wallet' }, { expect: 303 });
  await b.open('/account/orders');
  assert.match(b.page, /Ä{50} 10, Ä+…</);
  assert.doesNotMatch(b.page, /\ufffd/);
  await b.open('/account/tickets');
  const ticket = (await b.submit('/account/tickets', { subject: 'Settled matter', message: 'm' }, { expect: 303 }))
    .location;
  await b.submit(`${ticket}/close`, {}, { expect: 303 });
  await b.open('/account');
  assert.doesNotMatch(b.text, /Settled matter/);
  await b.open('/account/wallet');
  await b.submit('/account/wallet/withdraw', { amount: '1', destination: 'DE00' }, { expect: 303 });
  const [, id] = /withdrawals\/(\d+)\/cancel/.exec(b.page);
  dataOf(await shop.admin('POST', `/api/admin/withdrawals/${id}/reject`, { reason: 'No such account' }));
  await b.open('/account/wallet');
  assert.match(b.text, /No such account/);
  await b.open('/account/settings');
  assert.match(b.text, /Place orders order None chosen: all of these\./);
  await b.submit('/account/settings/tokens', { name: 'All' });
  await b.open('/account/settings');
  await b.post('/account/settings/tokens', [
    ['csrf', b.form('/logout').fields.csrf],
    ['name', 'Two'],
    ['scopes', 'store'],
    ['scopes', 'verify'],
  ]);
  await b.open('/account/settings');
  assert.match(b.text, /Two .*Cart and checkout, Check licences .*All /);
  const kinds = ['order_confirmed', 'ticket_answered', 'withdrawal_approved', 'topup_confirmed', 'other', 'order_lost'];
  shop.seed.sql(
    Array.from(
      { length: 25 },
      (_, i) =>
        `INSERT INTO notification (account_id, kind, message, reference_id, created_at)
         VALUES (${b.id}, '${kinds[i % 6]}', 'News ${i}', ${i % 6 === 5 ? 0 : 1}, 1);`,
    ).join('\n'),
  );
  for (let i = 0; i < 25; i++) shop.fund(b, 100);
  await b.open('/account/notifications');
  assert.match(b.page, /News 24[\s\S]*href="\/account\/tickets\/1"/);
  await b.open(/href="(\/account\/notifications\?before=\d+)"/.exec(b.page)[1]);
  assert.match(b.page, /News 0/);
  await b.open('/account/wallet');
  const older = /href="(\/account\/wallet\?before=\d+)"/.exec(b.page)[1];
  await b.open(older);
  assert.doesNotMatch(b.page, /wallet\?before=/);
  assert.equal((await b.open('/account/notifications?before=nothing')).status, 200);
  await b.open('/account/tickets?x=1');
  await b.open('/account/tickets?order_id=0');
  assert.equal((await b.open('/account/tickets?order_id=999999')).status, 200);
  const { csrf, department_id } = b.form('/account/tickets').fields;
  const ask = (more) => b.post('/account/tickets', { csrf, department_id, subject: 's', message: 'm', ...more });
  assert.equal((await ask({ license_id: 999999 })).status, 404);
  assert.equal((await ask({ department_id: 999999 })).status, 422);
});

test('the wallet is topped up through the sandbox, and money asked back', async () => {
  const b = await customer({ balance: 0 });
  await b.open('/account/wallet');
  const bad = await b.submit('/account/wallet/topup', { amount: '1,234' });
  assert.equal(bad.status, 422);
  assert.equal(b.form('/account/wallet/topup').fields.amount, '1,234');
  await b.submit('/account/wallet/topup', { amount: '12,50', gateway: 'sandbox' }, { expect: 303 });
  const noOrder = b.path.replace('/pay/', '/order/');
  assert.equal((await b.request('GET', noOrder)).status, 404, 'a payment of the wallet is no order');
  const again = await b.post(`${noOrder}/again`, { csrf: formsOf(b.page).find((f) => f.fields.csrf).fields.csrf });
  assert.equal(again.status, 404);
  const link = await shop.until(async () => {
    await b.open(b.path);
    return /href="([^"]*\/sandbox\/pay\/[^"]+)"/.exec(b.page)?.[1];
  });
  await fetch(link, { method: 'POST', redirect: 'manual', body: new URLSearchParams({ action: 'pay' }) });
  await shop.until(async () => {
    await b.open('/account/wallet');
    return /Balance \$12\.50/.test(b.text);
  });
  const much = await b.submit('/account/wallet/withdraw', { amount: '13' });
  assert.equal(much.status, 422);
  assert.match(b.text, /more than your balance/);
  assert.equal(b.form('/account/wallet/withdraw').fields.amount, '13');
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { withdraw_min: 2 }));
  assert.equal((await b.submit('/account/wallet/withdraw', { amount: '1.99' })).status, 422, 'less than the least');
  const { csrf: mine } = b.form('/account/wallet/withdraw').fields;
  const broken = await b.request('POST', '/account/wallet/withdraw', {
    body: `csrf=${mine}&amount=%zz`,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  });
  assert.equal(broken.status, 422);
  await b.submit('/account/wallet/withdraw', { amount: '2.50', destination: 'DE02 1203 <b>' }, { expect: 303 });
  assert.match(b.text, /Balance \$10\.00/);
  assert.match(b.text, /DE02 1203 <b> Under review/);
  assert.equal((await b.submit('/account/wallet/topup', { amount: '5', gateway: 'none' })).status, 422);
  for (const amount of ['0', '-5', '1 5', '5:', '1,5,5', '7e1'])
    assert.equal((await b.submit('/account/wallet/withdraw', { amount })).status, 422, amount);
  await b.open('/account/wallet');
  const back = /\/account\/wallet\/withdrawals\/\d+\/cancel/.exec(b.page)[0];
  await b.submit(back, {}, { expect: 303 });
  assert.match(b.text, /Balance \$12\.50/);
  assert.equal((await b.post(back, { csrf: b.form('/logout').fields.csrf })).status, 409);
});

test('a pending order is cancelled once', async () => {
  const b = await customer();
  await b.open('/p/thing');
  await b.submit('/cart/add', { then: 'checkout' });
  await b.submit('/checkout', { pay_with: 'sandbox' }, { expect: 303 });
  await b.open('/account/orders');
  const order = /href="(\/account\/orders\/\d+)"/.exec(b.page)[1];
  await b.open(order);
  assert.match(b.page, /href="\/pay\/[0-9a-f]+o[0-9a-f]+"/);
  await b.submit(`${order}/cancel`, {}, { expect: 303 });
  assert.match(b.text, /Cancelled/);
  const { csrf } = b.form('/logout').fields;
  assert.equal((await b.post(`${order}/cancel`, { csrf })).status, 409, 'once');
  const byStaff = await shop.admin('POST', `/api/admin/orders/${order.split('/').pop()}/cancel`);
  assert.equal(byStaff.status, 409, 'by staff as well');
  const paid = await bought(b);
  const late = await b.post(`${paid}/cancel`, { csrf });
  assert.equal(late.status, 409);
  assert.match(late.text, /no longer possible/);
  shop.seed.sql(`UPDATE orders SET status = 'cancelled' WHERE id = ${paid.split('/').pop()};`);
  assert.doesNotMatch((await b.open(paid)).text, /href="\/pay\//, 'an order without a payment has no way to pay');
  shop.seed.sql(`UPDATE orders SET status = 'confirmed' WHERE id = ${paid.split('/').pop()};`);
});

test('an order says what happened to it, how long codes are kept, and where a refund is claimed', async () => {
  const b = await customer();
  await b.open('/p/thing');
  await b.submit('/cart/add', { then: 'checkout' });
  await b.submit('/checkout', { pay_with: 'sandbox' }, { expect: 303 });
  await b.open('/account/orders');
  const order = /href="(\/account\/orders\/\d+)"/.exec(b.page)[1];
  const id = order.split('/').pop();
  shop.seed.sql(`UPDATE orders SET reserved_until = ${Date.now() + 3600000} WHERE id = ${id};`);
  await b.open(order);
  assert.match(b.text, /What happened.*Ordered \$2\.50.*Payment begun \$2\.50/s);
  assert.match(b.text, /kept for you until/);
  shop.seed.sql(`UPDATE orders SET reserved_until = NULL WHERE id = ${id};`);
  await b.submit(`${order}/pay`, { pay_with: 'wallet' }, { expect: 303 });
  assert.match(b.text, /Delivered.*Payment closed/s);
  assert.doesNotMatch(b.text, /kept for you until|Claim your refund/);
  dataOf(await shop.admin('POST', `/api/admin/orders/${id}/refund`, { reason: 'not for the customer' }));
  dataOf(await shop.admin('POST', `/api/admin/orders/${id}/notes`, { note: 'a note not for the customer' }), 201);
  const refund = (set) => shop.seed.sql(`UPDATE refund SET ${set} WHERE order_id = ${id};`);
  for (const set of [
    "status = 'requested', claim_url = 'https://btcpay.example/'",
    "status = 'done', claim_url = ''",
  ]) {
    refund(set);
    await b.open(order);
    assert.doesNotMatch(b.page, /btcpay|Claim your refund/, set);
  }
  shop.seed.sql(`UPDATE refund SET claim_url = 'https://btcpay.example/pull-payments/x' WHERE order_id = ${id};`);
  await b.open(order);
  assert.match(b.text, /Refund under way \$2\.50.*Refunded \$2\.50/s);
  assert.match(b.page, /href="https:\/\/btcpay\.example\/pull-payments\/x"/);
  assert.doesNotMatch(b.text, /not for the customer|owner@example/);
});

test('an order that waits is paid another way', async () => {
  const b = await customer();
  await b.open('/p/thing');
  await b.submit('/cart/add', { then: 'checkout' });
  await b.submit('/checkout', { pay_with: 'sandbox' }, { expect: 303 });
  await b.open('/account/orders');
  const order = /href="(\/account\/orders\/\d+)"/.exec(b.page)[1];
  await b.open(order);
  const bad = await b.submit(`${order}/pay`, { pay_with: 'nothing' });
  assert.equal(bad.status, 422);
  await b.open(order);
  const again = await b.submit(`${order}/pay`, { pay_with: 'sandbox' }, { expect: 303 });
  assert.match(again.location, /^\/pay\/[0-9a-f]+o[0-9a-f]+$/, 'a new attempt at the gateway');
  await b.open(order);
  await b.submit(`${order}/pay`, { pay_with: 'wallet' }, { expect: 303 });
  assert.match(b.text, /Paid and delivered/);
  const { csrf } = b.form('/logout').fields;
  assert.equal((await b.post(`${order}/pay`, { csrf, pay_with: 'wallet' })).status, 409);
});

test('name, sessions and tokens', async () => {
  const b = await customer();
  await b.open('/account/settings');
  await b.submit('/account/settings/profile', { name: 'New <i>Name</i>' }, { expect: 303 });
  assert.match(b.text, /Saved\./);
  const { csrf, name } = b.form('/account/settings/profile').fields;
  assert.equal(name, 'New <i>Name</i>');
  // Nobody could send the link that proves another address.
  const moved = await b.post('/account/settings/email', { csrf, email: `new-${b.email}`, password: PASSWORD });
  assert.equal(moved.status, 409);

  const second = new Browser(shop.souk.url);
  await second.open('/login');
  await second.submit('/login', { email: b.email, password: PASSWORD }, { expect: 303 });
  await b.open('/account/settings');
  const ends = [...b.page.matchAll(/This browser|\/account\/settings\/sessions\/\d+\/end/g)].map((m) => m[0]);
  assert.equal(ends.filter((e) => e.startsWith('/')).length, 2);
  await b.submit(
    ends.find((e) => e.startsWith('/')),
    {},
    { expect: 303 },
  );
  assert.equal((await second.request('GET', '/account')).status, 303);
  assert.equal((await b.request('GET', '/account')).status, 200);

  await b.open('/account/settings');
  const made = await b.submit('/account/settings/tokens', { name: 'My program', scopes: 'verify' });
  assert.equal(made.status, 200);
  const token = /souk_api_\w+/.exec(b.page)[0];
  assert.equal((await shop.souk.get('/api/customer/wallet', { token })).status, 403);
  await b.open('/account/settings');
  assert.ok(!b.page.includes(token));
  assert.match(b.text, /My program .*Check licences/);
  dataOf(await shop.souk.post('/api/auth/login', { email: b.email, password: PASSWORD }));
  await b.open('/account/settings');
  assert.equal(b.page.match(/\/tokens\/\d+\/revoke/g).length, 1, 'the login of a program is no token');
  await b.submit(/\/account\/settings\/tokens\/\d+\/revoke/.exec(b.page)[0], {}, { expect: 303 });
  assert.equal((await shop.souk.get('/api/customer/wallet', { token })).status, 401);
  const admin = await b.post('/account/settings/tokens', {
    csrf: b.form('/logout').fields.csrf,
    name: 'x',
    scopes: 'admin',
  });
  assert.equal(admin.status, 422);
});

test('a new password ends every session', async () => {
  const b = await customer();
  await b.open('/account/settings');
  const wrong = await b.submit('/account/settings/password', {
    current_password: 'not this one',
    password: 'another long password',
  });
  assert.equal(wrong.status, 422);
  await b.submit(
    '/account/settings/password',
    { current_password: PASSWORD, password: 'another long password' },
    { expect: 303 },
  );
  assert.equal((await b.request('GET', '/account')).status, 303);
});

test('notifications are new until they are marked; what came since stays new', async () => {
  const b = await customer();
  await bought(b);
  await b.open('/account');
  assert.match(b.text, /New notifications/);
  await b.open('/account/notifications');
  assert.match(b.text, /New Your order #\d+ is confirmed/);
  const { csrf, up_to } = b.form('/account/notifications/read').fields;
  await bought(b);
  assert.equal((await b.post('/account/notifications/read', { csrf, up_to })).status, 303);
  await b.open('/account/notifications');
  assert.equal((b.page.match(/class="tag">New</g) ?? []).length, 1);
  await b.submit('/account/notifications/read', {}, { expect: 303 });
  assert.doesNotMatch(b.page, /class="tag">New<|notifications\/read/);
  await b.open('/account');
  assert.doesNotMatch(b.text, /New notifications/);
  const stranger = await customer();
  await bought(stranger);
  assert.equal(
    (await b.post('/account/notifications/read', { csrf: b.form('/logout').fields.csrf, up_to: '999999' })).status,
    303,
  );
  await stranger.open('/account/notifications');
  assert.match(stranger.page, /class="tag">New</);
});

test('a second factor is set up with password and code, asked for at the login, and taken away with both', async () => {
  const b = await customer();
  const PAGE = '/account/settings/second-factor';
  await b.open('/account/settings');
  assert.ok(b.page.includes(`href="${PAGE}"`));
  await b.open(PAGE);
  const wrong = await b.submit(PAGE, { password: 'not this one' });
  assert.equal(wrong.status, 422);
  assert.equal((await b.submit(PAGE, { password: PASSWORD })).status, 200);
  const [, secret] = /<code data-copy[^>]*>([A-Z2-7]{32})<\/code>/.exec(b.page);
  const [, size, path] = /viewBox="0 0 (\d+) \1"[^>]*><path d="([^"]+)"/.exec(b.page);
  const uri = `otpauth://totp/souk:${encodeURIComponent(b.email)}?secret=${secret}&issuer=souk`;
  assert.equal(readQr({ size: Number(size), path }), uri);
  assert.ok(unescape(b.page).includes(`href="${uri}"`), 'for the app on the same phone');
  const late = Date.now() - 600_000;
  assert.equal((await b.submit(`${PAGE}/confirm`, { code: totp(secret, late) })).status, 422);
  assert.ok(b.page.includes(secret), 'the same key is shown again');
  const first = totp(secret);
  assert.equal((await b.submit(`${PAGE}/confirm`, { code: first })).status, 200);
  const codes = [...b.page.matchAll(/<li><code>([A-Za-z0-9]+)<\/code>/g)].map((m) => m[1]);
  assert.equal(codes.length, 10);
  await b.open(PAGE);
  assert.ok(!b.page.includes(codes[0]) && !b.page.includes(secret), 'both are shown once');
  const twice = await b.post(`${PAGE}/confirm`, { csrf: b.form('/logout').fields.csrf, code: first });
  assert.equal(twice.status, 409, 'it is on already');
  assert.ok(!twice.text.includes(secret));
  const short = await b.post(`${PAGE}/confirm`, { csrf: b.form('/logout').fields.csrf, code: '1' });
  assert.equal(short.status, 422, 'no code at all');
  assert.ok(!short.text.includes(secret));

  const phone = new Browser(shop.souk.url);
  await phone.open('/login');
  assert.equal((await phone.submit('/login', { email: b.email, password: PASSWORD })).status, 401);
  assert.match(phone.page, /name="totp"/);
  await phone.submit('/login', { email: b.email, password: PASSWORD, totp: codes[0] }, { expect: 303 });
  const { csrf } = phone.form('/logout').fields;
  const change = (path, fields) => phone.post(`/account/settings/${path}`, { csrf, ...fields });
  const forms = {
    password: { current_password: PASSWORD, password: 'another long password' },
    email: { password: PASSWORD, email: `new-${b.email}` },
  };
  for (const [path, fields] of Object.entries(forms)) {
    assert.ok([401, 422].includes((await change(path, fields)).status), `${path} without a code`);
    const refused = await change(path, { ...fields, totp: '000000' });
    assert.equal(refused.status, 422, `${path} with a wrong one`);
    assert.match(refused.text, /id="(email-)?totp-problem"/, 'and the code is what is wrong');
    assert.doesNotMatch(refused.text, /id="(current|email-password)-problem"/);
  }
  assert.equal((await phone.post(`${PAGE}/remove`, { csrf, password: PASSWORD })).status, 422, 'without a code');
  assert.equal(
    (await new Browser(shop.souk.url).post('/login', { email: b.email, password: PASSWORD, totp: 'x'.repeat(99) }))
      .status,
    422,
  );
  await phone.open(PAGE);
  assert.equal(
    (await phone.submit(`${PAGE}/remove`, { password: PASSWORD, totp: codes[0] })).status,
    422,
    'a recovery code works once',
  );
  assert.equal((await phone.submit(`${PAGE}/remove`, { password: 'not this one', totp: codes[1] })).status, 422);
  await phone.submit(`${PAGE}/remove`, { password: PASSWORD, totp: codes[1] }, { expect: 303 });
  assert.equal((await phone.post(`${PAGE}/remove`, { csrf, password: PASSWORD })).status, 409, 'there is none');
  const again = new Browser(shop.souk.url);
  await again.open('/login');
  await again.submit('/login', { email: b.email, password: PASSWORD }, { expect: 303 });
});
