// The shop's login: sessions, registration, forgotten passwords.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser } from './lib/browser.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { openMailServer, openMailShop } from './lib/mail_shop.mjs';
import { seeder } from './lib/seed.mjs';
import { freshStore, startSouk } from './lib/souk.mjs';
import { totp } from './lib/totp.mjs';

const PASSWORD = 'a long enough password';
let mail;
let shop;
let thing;

before(async () => {
  mail = await openMailShop();
  shop = mail.shop;
  const make = async (name) =>
    dataOf(
      await shop.admin('POST', '/api/admin/products', {
        name,
        slug: name.toLowerCase(),
        price: 2,
        delivery_type: 'license_key',
        is_active: true,
      }),
      201,
    );
  thing = await make('Thing');
  await make('Other');
});
after(() => mail.stop());

const browser = () => new Browser(shop.souk.url);
let number = 0;
async function registered() {
  const b = browser();
  b.email = `buyer${++number}@example.com`;
  await b.open('/register');
  await b.submit('/register', { email: b.email, password: PASSWORD, name: 'A Buyer' }, { expect: 303 });
  return b;
}
async function login(b, email, password = PASSWORD) {
  await b.open('/login');
  return b.submit('/login', { email, password });
}
const add = async (b, slug) => {
  await b.open(`/p/${slug}`);
  await b.submit('/cart/add', { then: 'cart' }, { expect: 303 });
};
/** The store's address is https: its cookie is this host's alone. */
const COOKIE = '__Host-souk';
const session = (b) => b.cookies.get(COOKIE);

test('registering logs in, and the account is the API’s', async () => {
  const b = await registered();
  assert.match(session(b), /^[A-Za-z0-9]{43}$/);
  await b.open('/');
  assert.match(b.page, /href="\/account"/);
  dataOf(await shop.souk.post('/api/auth/login', { email: b.email, password: PASSWORD }));
});

test('a refused registration comes back with what was typed, and says what is wrong', async () => {
  const taken = await registered();
  const b = browser();
  await b.open('/register');
  const short = await b.submit('/register', { email: 'x', password: 'short', name: '<b>Me</b>' });
  assert.equal(short.status, 422);
  assert.equal(b.form('/register').fields.email, 'x');
  assert.equal(b.form('/register').fields.name, '<b>Me</b>');
  assert.equal(b.form('/register').fields.password, '');
  assert.match(b.text, /This is too short/);
  const again = await b.submit('/register', { email: taken.email, password: PASSWORD });
  assert.equal(again.status, 422);
  assert.match(b.text, /An account with this address already exists/);
  assert.equal(session(b), undefined);
});

test('a wrong password and an unknown address are answered the same', async () => {
  const known = await registered();
  const b = browser();
  const texts = [];
  for (const email of [known.email, 'nobody@example.com']) {
    const answer = await login(b, email, 'not the right one');
    assert.equal(answer.status, 401);
    assert.equal(answer.headers.get('www-authenticate'), null);
    texts.push(b.text.replaceAll(email, 'X'));
    assert.equal(b.form('/login').fields.email, email);
  }
  assert.equal(texts[0], texts[1]);
  assert.equal(session(b), undefined);
});

test('a login begins a new session: one that was there before does not get in', async () => {
  const known = await registered();
  const b = browser();
  await add(b, 'thing');
  const planted = session(b);
  await login(b, known.email);
  assert.notEqual(session(b), planted);
  const thief = browser();
  thief.cookies.set(COOKIE, planted);
  await thief.open('/cart');
  assert.match(thief.text, /Your cart is empty/);
  assert.match(thief.page, /href="\/login"/);
});

test('a visitor’s cart comes along, and a customer has one cart in every browser', async () => {
  const known = await registered();
  await add(known, 'thing');
  const b = browser();
  await add(b, 'thing');
  await add(b, 'other');
  await login(b, known.email);
  await b.open('/cart');
  assert.deepEqual(
    [...b.page.matchAll(/name="quantity" type="number"[^>]*value="(\d+)"/g)].map((m) => m[1]),
    ['2', '1'],
  );
  await known.open('/cart');
  assert.match(known.text, /Other/);
});

test('who is logged in and logs in as somebody else has their cart, and leaves the first one alone', async () => {
  const first = await registered();
  await add(first, 'thing');
  const { email } = first;
  const second = await registered();
  const { csrf } = first.form('/logout').fields;
  assert.equal((await first.post('/login', { csrf, email: second.email, password: PASSWORD })).location, '/account');
  await first.open('/cart');
  assert.match(first.text, /Your cart is empty/);
  const b = browser();
  await login(b, email);
  await b.open('/cart');
  assert.match(b.text, /Thing/);
});

test('logging out ends the session, and the cart is there at the next login', async () => {
  const b = await registered();
  await add(b, 'thing');
  const old = session(b);
  const out = await b.submit('/logout', {}, { expect: 303 });
  assert.match(out.set[0], /^__Host-souk=; Path=\/; Max-Age=0; /);
  const thief = browser();
  thief.cookies.set(COOKIE, old);
  await thief.open('/cart');
  assert.match(thief.text, /Your cart is empty/);
  await login(b, b.email);
  await b.open('/cart');
  assert.match(b.text, /Thing/);
});

test('after the login the browser goes where it wanted to go, if that is here', async () => {
  const known = await registered();
  for (const [next, goes] of [
    ['/checkout', '/checkout'],
    ['//evil.example', '/account'],
    ['https://evil.example/', '/account'],
    ['/\\evil.example', '/account'],
    ['javascript:x', '/account'],
  ]) {
    const b = browser();
    await b.open(`/login?next=${encodeURIComponent(next)}`);
    const answer = await b.submit('/login', { email: known.email, password: PASSWORD }, { expect: 303 });
    assert.equal(answer.location, goes, next);
  }
});

test('who is logged in needs no login; odd addresses are passed over', async () => {
  const b = await registered();
  for (const path of ['/login', '/register']) assert.equal((await b.request('GET', path)).location, '/account', path);
  const guest = browser();
  for (const path of [
    `/login?next=/${'x'.repeat(199)}`,
    `/login?next=/${'x'.repeat(300)}`,
    '/login?next=%2Fa%20b',
    '/login?next=/%C3%A4',
  ])
    assert.equal((await guest.open(path)).status, 200);
  for (const path of ['/reset', '/verify-email', '/reset?token=x'])
    assert.ok((await guest.open(path)).status < 500, path);
  await add(guest, 'thing');
  const { csrf } = guest.form('/cart/update').fields;
  const from = (headers) => guest.post('/cart/coupon/remove', { csrf }, { headers });
  assert.equal((await from({ Origin: 'https://shop.example' })).status, 303, 'the address that the store is known by');
  assert.equal((await from({ 'Sec-Fetch-Site': 'none' })).status, 303);
  for (const Origin of ['https:', 'https:/', 'https:/x', 'null', 'https://shop.example.evil'])
    assert.equal((await from({ Origin })).status, 403, Origin);
  assert.equal((await guest.post('/logout', { csrf })).location, '/');
  assert.equal((await browser().post('/logout', {})).location, '/', 'without a session, too');
  const typed = await guest.request('POST', '/login', {
    body: `email=x@example.com&password=${'x'.repeat(12)}&totp=%zz`,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  });
  assert.equal(typed.status, 422);
  assert.match(typed.text, /name="totp"/, 'the field with the mistake is there');
});

test('a forgotten password is renewed through the mail, once, and ends every session', async () => {
  const b = await registered();
  const other = browser();
  await other.open('/forgot');
  await other.submit('/forgot', { email: b.email }, { expect: 303 });
  assert.match(other.text, /a message is on its way/);
  const { text } = await mail.mailTo(b.email);
  const [path] = /\/reset\?token=\w+/.exec(text);
  await other.open(path);
  const short = await other.submit('/reset', { password: 'short' });
  assert.equal(short.status, 422);
  assert.match(other.text, /This is too short/);
  await other.submit('/reset', { password: 'another long password' }, { expect: 303 });
  assert.match(other.text, /Your password was changed/);
  await b.open('/');
  assert.match(b.page, /href="\/login"/);
  await other.open(path);
  assert.match(other.text, /already used or has expired/);
  assert.equal((await login(other, b.email)).status, 401);
  assert.equal((await login(other, b.email, 'another long password')).status, 303);
});

test('a session ends with its time, and with the account', async () => {
  const b = await registered();
  const sql = (text) => shop.seed.sql(`UPDATE ${text};`);
  const account = `(SELECT id FROM account WHERE email = '${b.email}')`;
  const isIn = async () => (await b.request('GET', '/account')).status === 200;
  assert.ok(await isIn());
  sql(`account SET is_active = 0 WHERE id = ${account}`);
  assert.ok(!(await isIn()));
  assert.equal((await login(browser(), b.email)).status, 401, 'the right password opens nothing');
  sql(`account SET is_active = 1 WHERE id = ${account}`);
  sql(`token SET expires_at = ${Date.now() + 86400000} WHERE kind = 'shop' AND account_id = ${account}`);
  assert.ok(await isIn(), 'and it goes on for a month');
  sql(`token SET expires_at = 1 WHERE kind = 'shop' AND account_id = ${account}`);
  assert.ok(!(await isIn()));
});

test('behind TLS the cookie is for this host alone', async () => {
  const b = new Browser(shop.souk.url);
  await b.open('/p/thing');
  const answer = await b.post('/cart/add', { product_id: thing.id, quantity: 1 });
  assert.match(
    answer.set[0],
    /^__Host-souk=[A-Za-z0-9]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure$/,
  );
});

test('the link in the first mail proves the address, by a button, once; this browser stays logged in', async () => {
  const b = await registered();
  const { text } = await mail.mailTo(b.email, 1, { proof: true });
  const [path] = /\/verify-email\?token=\w+/.exec(text);
  const stranger = browser();
  await stranger.open(path);
  assert.match(stranger.text, /Confirm your e-mail address/);
  await b.open(path);
  await b.submit('/verify-email', {}, { expect: 303 });
  assert.match(b.text, /is confirmed/);
  assert.equal((await b.request('GET', '/account')).status, 200);
  const again = await stranger.submit('/verify-email');
  assert.equal(again.status, 422);
  assert.match(stranger.text, /already used or has expired/);
});

test('a new address is proved by its own link; the old one is told, and its links end', async () => {
  const b = await registered();
  const old = b.email;
  const next = `next-${old}`;
  const taken = await registered();
  await b.open('/account/settings');
  const change = (fields) => b.submit('/account/settings/email', fields);
  assert.equal((await change({ email: next, password: 'not this one' })).status, 422);
  assert.equal(b.form('/account/settings/email').fields.email, next);
  assert.equal((await change({ email: taken.email, password: PASSWORD })).status, 422);
  await b.submit('/account/settings/email', { email: next, password: PASSWORD }, { expect: 303 });
  assert.match(b.text, /sent a link to the new address/);
  const { text } = await mail.mailTo(next, 1, { proof: true });
  const [path] = /\/verify-email\?token=\w+/.exec(text);
  const { text: notice } = await mail.mailTo(old, 1, { subject: 'Your e-mail address is about to change' });
  assert.ok(notice.includes(next) && !notice.includes('token='), 'the old address is told, without the link');
  const stranger = browser();
  await stranger.open('/forgot');
  await stranger.submit('/forgot', { email: old }, { expect: 303 });
  const [reset] = /\/reset\?token=\w+/.exec((await mail.mailTo(old, 1, { subject: 'Your new password' })).text);
  await stranger.open('/login');
  assert.equal(
    (await stranger.submit('/login', { email: next, password: PASSWORD })).status,
    401,
    'nothing is changed yet',
  );

  await b.open(path);
  await b.submit('/verify-email', {}, { expect: 303 });
  assert.equal((await b.request('GET', '/account')).status, 200);
  await stranger.open('/login');
  await stranger.submit('/login', { email: next, password: PASSWORD }, { expect: 303 });
  assert.ok(
    (await mail.mailTo(old, 1, { subject: 'Your e-mail address was changed' })).text.includes(next),
    'the old address is told that it was changed',
  );
  await stranger.open(reset);
  assert.match(stranger.text, /already used or has expired/);
  const again = await b.post('/verify-email', {
    csrf: stranger.form('/logout').fields.csrf,
    token: /\w+$/.exec(path)[0],
  });
  assert.notEqual(again.status, 303);
});

/** Somebody who knows the password asks for a change to an address of their own: {link, owner}. */
async function stolen() {
  const owner = await registered();
  const thief = browser();
  const theirs = `thief-${owner.email}`;
  await thief.open('/login');
  await thief.submit('/login', { email: owner.email, password: PASSWORD }, { expect: 303 });
  await thief.open('/account/settings');
  await thief.submit('/account/settings/email', { email: theirs, password: PASSWORD }, { expect: 303 });
  const { text } = await mail.mailTo(theirs, 1, { proof: true });
  return { owner, theirs, link: /\/verify-email\?token=(\w+)/.exec(text)[1] };
}
const mailedPassword = async (email, count = 1) => {
  const { text } = await mail.mailTo(email, count, { subject: 'Your new password' });
  return /\/reset\?token=(\w+)/.exec(text)[1];
};
const reset = (token) => shop.souk.post('/api/auth/password/reset', { token, password: 'another long password' });

for (const [how, change] of [
  [
    'in the shop',
    async ({ owner }) => {
      await owner.open('/account/settings');
      const fields = { current_password: PASSWORD, password: 'another long password' };
      await owner.submit('/account/settings/password', fields, { expect: 303 });
    },
  ],
  [
    'through the API',
    async ({ owner }) => {
      const who = { email: owner.email, password: PASSWORD };
      const { token } = dataOf(await shop.souk.post('/api/auth/login', who));
      const body = { current_password: PASSWORD, password: 'another long password' };
      dataOf(await shop.souk.post('/api/auth/password', body, { token }));
    },
  ],
  [
    'by mail',
    async ({ owner }) => {
      dataOf(await shop.souk.post('/api/auth/password/forgot', { email: owner.email }));
      dataOf(await reset(await mailedPassword(owner.email, 2)));
    },
  ],
])
  test(`a new password ends the links to another address and to other passwords: ${how}`, async () => {
    const theft = await stolen();
    const { owner, theirs, link } = theft;
    dataOf(await shop.souk.post('/api/auth/password/forgot', { email: owner.email }));
    const older = await mailedPassword(owner.email);
    await change(theft);
    expectFields(await shop.souk.post('/api/auth/verify-email', { token: link }), { token: 'not_allowed' });
    expectFields(await reset(older), { token: 'not_allowed' });
    const login = (email) => shop.souk.post('/api/auth/login', { email, password: 'another long password' });
    expectError(await login(theirs), 401, 'credentials_invalid');
    dataOf(await login(owner.email));
  });

test('a proved address is told of a new password, and of a second factor that is switched off; tokens end if wanted', async () => {
  const b = await registered();
  const { text: proof } = await mail.mailTo(b.email, 1, { proof: true });
  await b.open(/\/verify-email\?token=\w+/.exec(proof)[0]);
  await b.submit('/verify-email', {}, { expect: 303 });
  await b.open('/account/settings');
  assert.equal(b.form('/account/settings/password').fields.end_api_tokens, undefined);
  await b.submit('/account/settings/tokens', { name: 'program' });
  const [token] = /souk_\w+/.exec(b.page);
  dataOf(await shop.souk.get('/api/customer/wallet', { token }));
  let password = PASSWORD;
  const change = async (fields) => {
    await b.open('/account/settings');
    const next = `another ${password}`;
    const body = { current_password: password, password: next, ...fields };
    await b.submit('/account/settings/password', body, { expect: 303 });
    password = next;
    await login(b, b.email, password);
  };
  await change({});
  dataOf(await shop.souk.get('/api/customer/wallet', { token }));
  await change({ end_api_tokens: 'true' });
  expectError(await shop.souk.get('/api/customer/wallet', { token }), 401, 'token_invalid');
  const { text } = await mail.mailTo(b.email, 2, { subject: 'Your password was changed' });
  assert.ok(text.includes('https://shop.example/forgot'), text);

  const page = '/account/settings/second-factor';
  await b.open(page);
  await b.submit(page, { password });
  const [, secret] = /<code data-copy[^>]*>([A-Z2-7]{32})<\/code>/.exec(b.page);
  await b.submit(`${page}/confirm`, { code: totp(secret) });
  const [, code] = /<li><code>([A-Za-z0-9]+)<\/code>/.exec(b.page);
  await b.open(page);
  await b.submit(`${page}/remove`, { password, totp: code }, { expect: 303 });
  await mail.mailTo(b.email, 1, { subject: 'Your second factor was switched off' });
});

test('a new address is asked for three times an hour', async () => {
  const b = await registered();
  await b.open('/account/settings');
  for (let i = 0; i < 3; i++)
    await b.submit('/account/settings/email', { email: `n${i}-${b.email}`, password: PASSWORD }, { expect: 303 });
  await b.open('/account/settings');
  const refused = await b.submit('/account/settings/email', { email: `n3-${b.email}`, password: PASSWORD });
  assert.equal(refused.status, 429);
  assert.equal(mail.sink.mails.filter((m) => m.to === `n3-${b.email}`).length, 0);
});

test('where the store asks for a proved address, an unproven account does not buy', async () => {
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { require_verified_email: true }));
  const b = await registered();
  await add(b, 'thing');
  await b.open('/checkout');
  const refused = await b.submit('/checkout', { pay_with: 'wallet' });
  assert.equal(refused.status, 403);
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { require_verified_email: false }));
});

test('nobody locks an address with a second factor that they have not proved', async () => {
  const squatter = await registered();
  const begin = async (b) => {
    await b.open('/account/settings/second-factor');
    return (await b.submit('/account/settings/second-factor', { password: PASSWORD })).status;
  };
  assert.equal(await begin(squatter), 403);
  assert.match(squatter.text, /confirm your e-mail address first: a link was sent to it/);
  const { text } = await mail.mailTo(squatter.email, 1, { proof: true });
  await squatter.open(/\/verify-email\?token=\w+/.exec(text)[0]);
  await squatter.submit('/verify-email', {}, { expect: 303 });
  assert.equal(await begin(squatter), 200);
  assert.match(squatter.page, /otpauth:/);
});

test('to one address a stranger can have ten gifts sent a day, and the owner of an account as many as there are', async (t) => {
  const database = freshStore(undefined, 'owner');
  const souk = await startSouk({ t, database, limited: true });
  t.after(() => database.remove());
  const body = { name: 'Gift', slug: 'gift', price: 0, delivery_type: 'license_key', is_active: true };
  dataOf(await souk.post('/api/admin/products', body, { token: database.accounts.owner.token }), 201);
  const b = new Browser(souk.url);
  const order = async (fields) => {
    await b.open('/p/gift');
    await b.submit('/cart/add', { then: 'cart' }, { expect: 303 });
    await b.open('/checkout');
    return (await b.submit('/checkout', fields)).status;
  };
  for (let i = 0; i < 10; i++) assert.equal(await order({ email: 'victim@example.com' }), 303);
  assert.equal(await order({ email: 'Victim@Example.com' }), 429);
  assert.equal(await order({ email: 'other@example.com' }), 303);
  await b.open('/register');
  await b.submit('/register', { email: 'third@example.com', password: PASSWORD }, { expect: 303 });
  for (let i = 0; i < 12; i++) assert.equal(await order({}), 303);
});

test('one network registers so many accounts a day, orders of guests included; others and this machine go on', async (t) => {
  const database = freshStore(undefined, 'owner');
  const args = ['--rate-auth', '1', '--trusted-proxy', '127.0.0.1'];
  const souk = await startSouk({ t, database, limited: true, dear: false, args });
  t.after(() => database.remove());
  const gift = { name: 'Gift', slug: 'gift', price: 0, delivery_type: 'license_key', is_active: true };
  dataOf(await souk.post('/api/admin/products', gift, { token: database.accounts.owner.token }), 201);
  let number = 0;
  const register = (from) =>
    souk.post(
      '/api/auth/register',
      { email: `new${++number}@example.com`, password: PASSWORD },
      { headers: from ? { 'X-Forwarded-For': from } : {} },
    );
  for (let i = 0; i < 99; i++) dataOf(await register('203.0.113.7'), 201);

  const b = new Browser(souk.url, { headers: { 'X-Forwarded-For': '203.0.113.7' } });
  const order = async (email, pay_with) => {
    await b.open('/p/gift');
    await b.submit('/cart/add', { then: 'cart' }, { expect: 303 });
    await b.open('/checkout');
    return (await b.submit('/checkout', { email, pay_with })).status;
  };
  seeder(souk).sql('UPDATE product SET price = 100;');
  await souk.put('/api/admin/gateways/sandbox', { is_enabled: true }, { token: database.accounts.owner.token });
  assert.equal(await order('guest1@example.com', 'sandbox'), 303);
  assert.equal(await order('guest2@example.com', 'sandbox'), 429);
  await b.open('/register');
  assert.equal((await b.submit('/register', { email: 'third@example.com', password: PASSWORD })).status, 429);
  const refused = await register('203.0.113.7');
  expectError(refused, 429, 'rate_limited');
  assert.ok(Number(refused.headers['retry-after']) > 60, refused.headers['retry-after']);
  dataOf(await register('203.0.113.8'), 201);
  dataOf(await register(), 201);
});

test('who has not proved the address has ten gifts a day sent there', async (t) => {
  const server = await openMailServer();
  const database = freshStore(undefined, 'owner');
  const { args, env } = server;
  const souk = await startSouk({ database, limited: true, dear: false, args, env });
  t.after(async () => {
    await souk.stop();
    await server.stop();
    database.remove();
  });
  const owner = { token: database.accounts.owner.token };
  const body = { name: 'Gift', price: 0, delivery_type: 'license_key', is_active: true };
  const product_id = dataOf(await souk.post('/api/admin/products', body, owner), 201).id;
  const who = { email: 'somebody.else@example.com', password: PASSWORD };
  const { token, account } = dataOf(await souk.post('/api/auth/register', who), 201);
  const order = async () => {
    dataOf(await souk.post('/api/store/cart/add', { product_id, quantity: 1 }, { token }));
    return souk.post('/api/store/cart/checkout', { pay_with: 'wallet' }, { token });
  };
  for (let i = 0; i < 10; i++) assert.ok((await order()).status < 300);
  expectError(await order(), 429, 'rate_limited');
  seeder(souk).sql(`UPDATE account SET is_unproven = 0 WHERE id = ${account.id};`);
  assert.ok((await order()).status < 300);
});
