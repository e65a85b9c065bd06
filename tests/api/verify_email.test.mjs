// E-mail addresses are proved by a link; what was made without proof ends.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser } from './lib/browser.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { openMailShop } from './lib/mail_shop.mjs';
import { startSouk } from './lib/souk.mjs';

let shop, souk, mailTo, stop;
before(async () => {
  ({ shop, mailTo, stop } = await openMailShop());
  ({ souk } = shop);
});
after(() => stop());

const linkTo = async (who, count = 1) => {
  const { text } = await mailTo(who.email, count, { proof: true });
  return /https:\/\/shop\.example\/verify-email\?token=(\w+)/.exec(text)[1];
};
const prove = (token, session) => souk.post('/api/auth/verify-email', { token }, session ? { token: session } : {});
const wallet = (token) => souk.get('/api/customer/wallet', { token });

test('registering sends a link; proving ends what was made before, except the session that proves', async () => {
  const who = await souk.customer();
  const thief = dataOf(await souk.post('/api/auth/login', { email: who.email, password: who.password })).token;
  const api = dataOf(await souk.post('/api/customer/tokens', { name: 'kept for later' }, { token: thief }), 201).token;
  const link = await linkTo(who);
  expectFields(await prove(`${link.slice(0, -1)}${link.at(-1) === 'x' ? 'y' : 'x'}`, who.token), {
    token: 'not_allowed',
  });
  expectStatus(await wallet(thief), 200);
  expectStatus(await prove(link, who.token), 200);
  expectStatus(await wallet(who.token), 200);
  for (const token of [thief, api]) expectError(await wallet(token), 401, 'token_invalid');
  expectFields(await prove(link, who.token), { token: 'not_allowed' });
});

test('proved without a session, every one ends; a session of somebody else is neither kept nor ended', async () => {
  const [who, other] = [await souk.customer(), await souk.customer()];
  const link = await linkTo(who);
  const ended = dataOf(await souk.post('/api/auth/login', { email: other.email, password: other.password })).token;
  shop.seed.sql(`UPDATE token SET expires_at = 1 WHERE hint = '${ended.slice(-4)}';`);
  const { token: left } = dataOf(await souk.post('/api/auth/login', { email: other.email, password: other.password }));
  expectStatus(await souk.request('POST', '/api/auth/logout', { token: left }), 200);
  for (const token of ['souk_login_nobodys', ended, left, `${other.token.slice(0, -1)}x`])
    expectFields(await prove('A'.repeat(43), token), { token: 'not_allowed' });
  expectStatus(await prove(link, other.token), 200);
  expectError(await wallet(who.token), 401, 'token_invalid');
  expectStatus(await wallet(other.token), 200);
  const again = dataOf(await souk.post('/api/auth/login', { email: who.email, password: who.password })).token;
  expectStatus(await wallet(again), 200);
});

test('another link on request, three an hour; none once the address is proved', async () => {
  const who = await souk.customer();
  const links = [await linkTo(who)];
  const send = () => souk.post('/api/auth/verify-email/send', undefined, { token: who.token });
  for (let i = 2; i <= 3; i++) {
    expectStatus(await send(), 200);
    links.push(await linkTo(who, i));
  }
  expectStatus(await send(), 200);
  const count = () => shop.seed.number(`SELECT COUNT(*) FROM mail_link WHERE account_id = ${who.id}`);
  assert.equal(count(), 3);
  expectStatus(await prove(links[0], who.token), 200);
  shop.seed.sql(`UPDATE mail_link SET created_at = 1 WHERE account_id = ${who.id};`);
  expectStatus(await send(), 200);
  assert.equal(count(), 3);
});

test('a link that is too old, and one of another purpose, prove nothing', async () => {
  const who = await souk.customer();
  const link = await linkTo(who);
  dataOf(await souk.post('/api/auth/password/forgot', { email: who.email }));
  const reset = /\?token=(\w+)/.exec((await mailTo(who.email)).text)[1];
  expectFields(await prove(reset), { token: 'not_allowed' });
  expectFields(await souk.post('/api/auth/password/reset', { token: link, password: 'a-new-password' }), {
    token: 'not_allowed',
  });
  shop.seed.sql(`UPDATE mail_link SET expires_at = ${Date.now() - 1} WHERE account_id = ${who.id};`);
  expectFields(await prove(link), { token: 'not_allowed' });
});

test('where the store asks for it, an unproven account that registered itself spends nothing', async () => {
  const spend = (token) => [
    souk.post('/api/v1/order/create', { product_id: 1 }, { token }),
    souk.post('/api/store/cart/checkout', { pay_with: 'wallet' }, { token }),
    souk.post('/api/customer/wallet/topup', { amount: 5, gateway: 'sandbox' }, { token }),
    souk.post('/api/customer/wallet/withdraw', { amount: 5 }, { token }),
  ];
  const who = await souk.customer();
  for (const answer of await Promise.all(spend(who.token))) assert.notEqual(answer.status, 403, answer.text);
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { require_verified_email: true }));
  try {
    for (const answer of await Promise.all(spend(who.token)))
      expectError(answer, 403, 'email_unverified', 'Confirm your e-mail address first');
    // Before anything is said about what they sent.
    for (const body of [{}, { product_id: 'x', quantity: 0 }, '{']) {
      const answer = await souk.post('/api/v1/order/create', body, { token: who.token });
      expectError(answer, 403, 'email_unverified', 'Confirm your e-mail address first');
      assert.deepEqual(Object.keys(answer.json).sort(), ['code', 'message', 'request_id', 'status']);
    }
    expectStatus(await wallet(who.token), 200);
    expectStatus(await prove(await linkTo(who), who.token), 200);
    for (const answer of await Promise.all(spend(who.token))) assert.notEqual(answer.status, 403, answer.text);
    // Made by staff: they know whom they deal with.
    const made = dataOf(await shop.admin('POST', '/api/admin/customers', { email: 'by-staff@example.com' }), 201);
    const { token } = dataOf(await shop.admin('POST', `/api/admin/customers/${made.id}/tokens`, { name: 't' }), 201);
    for (const answer of await Promise.all(spend(token))) assert.notEqual(answer.status, 403, answer.text);
    // A new password by mail is a proof, too.
    const forgetful = await souk.customer();
    dataOf(await souk.post('/api/auth/password/forgot', { email: forgetful.email }));
    const reset = /\?token=(\w+)/.exec((await mailTo(forgetful.email)).text)[1];
    dataOf(await souk.post('/api/auth/password/reset', { token: reset, password: 'a-new-password' }));
    const login = dataOf(
      await souk.post('/api/auth/login', { email: forgetful.email, password: 'a-new-password' }),
    ).token;
    for (const answer of await Promise.all(spend(login))) assert.notEqual(answer.status, 403, answer.text);
  } finally {
    dataOf(await shop.admin('PATCH', '/api/admin/settings', { require_verified_email: false }));
  }
});

test('what is sent to an address that nobody proved carries no words of those who typed it', async () => {
  const NAMES = [
    'You won: https://evil.example/x',
    'evil.example',
    'Call 0900 12345',
    'Call 1234',
    '[x](http://evil.example)',
    'x@y',
  ];
  const register = async (email, name) => {
    const { data } = (await souk.post('/api/auth/register', { email, password: 'correct horse', name })).json;
    return data.token;
  };
  const welcome = async (email) => (await mailTo(email, 1, { proof: true })).text;
  for (const [i, name] of [...NAMES, 'A'.repeat(61)].entries()) {
    await register(`typed${i}@example.com`, name);
    const text = await welcome(`typed${i}@example.com`);
    assert.ok(!text.includes(name) && !text.includes('evil') && !/^Hello/.test(text), text);
  }
  for (const [i, name] of ["J. R. O'Neil-Smith", 'Zoë Müller', '山田 太郎', 'Customer 123'].entries()) {
    await register(`real${i}@example.com`, name);
    assert.ok((await welcome(`real${i}@example.com`)).includes(`Hello ${name},`));
  }
  // Once the address is proved, a name is the owner's business; another address has to be proved again.
  const b = new Browser(souk.url);
  const who = { email: 'mover@example.com', password: 'correct horse' };
  const token = await register(who.email, NAMES[0]);
  expectStatus(await prove(await linkTo(who), token), 200);
  await b.open('/login');
  await b.submit('/login', who, { expect: 303 });
  await b.open('/account/settings');
  const change = { email: 'victim@example.com', password: who.password };
  await b.submit('/account/settings/email', change, { expect: 303 });
  const notice = await mailTo(who.email, 1, { subject: 'Your e-mail address is about to change' });
  assert.ok(notice.text.includes(NAMES[0]));
  assert.ok(!(await welcome('victim@example.com')).includes('evil'));
});

test('without a mail server nothing is sent, and asking for a link is said to be useless', async (t) => {
  const quiet = await startSouk({ t });
  const who = await quiet.customer();
  expectError(await quiet.post('/api/auth/verify-email/send', undefined, { token: who.token }), 409, 'mail_off');
});
