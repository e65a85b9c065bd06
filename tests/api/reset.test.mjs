// A new password for a person who can read the account's e-mail.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { openMailShop } from './lib/mail_shop.mjs';

let shop;
let sink;
let mailTo;
let stop;
before(async () => {
  ({ shop, sink, mailTo, stop } = await openMailShop());
});
after(() => stop());

const forgot = (email) => shop.souk.post('/api/auth/password/forgot', { email });
const reset = (token, password) => shop.souk.post('/api/auth/password/reset', { token, password });
const login = (email, password) => shop.souk.post('/api/auth/login', { email, password });

test('a new password: the link works once, ends all sessions, and nobody learns who has an account', async () => {
  const who = await shop.souk.customer();
  const known = await forgot(who.email);
  const unknown = await forgot('nobody@example.com');
  assert.equal(known.status, 200);
  const bare = (a) => a.text.replace(/"request_id":"[^"]*"/, '');
  assert.equal(bare(known), bare(unknown));
  const { headers, text } = await mailTo(who.email);
  assert.equal(headers.subject, 'Your new password');
  const [, token] = /https:\/\/shop\.example\/reset\?token=(\w+)/.exec(text);
  assert.equal(sink.mails.filter((m) => m.to === 'nobody@example.com').length, 0);

  expectFields(await reset(token, 'short'), { password: 'too_short' });
  expectFields(await reset(`${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`, 'a-new-password'), {
    token: 'not_allowed',
  });
  const api = dataOf(await shop.souk.post('/api/customer/tokens', { name: 'server' }, { token: who.token }), 201).token;
  dataOf(await reset(token, 'a-new-password'));
  expectFields(await reset(token, 'another-password'), { token: 'not_allowed' });
  expectError(await login(who.email, who.password), 401, 'credentials_invalid');
  dataOf(await login(who.email, 'a-new-password'));
  expectError(await shop.souk.get('/api/auth/me', { token: who.token }), 401, 'token_invalid');
  expectError(await shop.souk.get('/api/customer/wallet', { token: api }), 401, 'token_invalid');
});

test('a newer link does not void the older; using one ends the others; after 30 minutes every link is worthless', async () => {
  const who = await shop.souk.customer();
  const tokens = [];
  for (let i = 1; i <= 2; i++) {
    dataOf(await forgot(who.email));
    tokens.push(/\?token=(\w+)/.exec((await mailTo(who.email, i)).text)[1]);
  }
  dataOf(await reset(tokens[0], 'a-new-password'));
  expectFields(await reset(tokens[1], 'another-password'), { token: 'not_allowed' });
  // As it is seen when the clock is set back: the links have not ended yet.
  shop.seed.sql(`UPDATE mail_link SET expires_at = ${Date.now() + 600_000} WHERE account_id = ${who.id};`);
  for (const used of tokens) expectFields(await reset(used, 'another-password'), { token: 'not_allowed' });
  dataOf(await forgot(who.email));
  const third = /\?token=(\w+)/.exec((await mailTo(who.email, 3)).text)[1];
  shop.seed.sql(`UPDATE mail_link SET expires_at = ${Date.now() - 1} WHERE account_id = ${who.id};`);
  expectFields(await reset(third, 'another-password'), { token: 'not_allowed' });
  dataOf(await login(who.email, 'a-new-password'));
});

test('at most three links an hour, from any caller', async () => {
  const who = await shop.souk.customer();
  for (let i = 0; i < 5; i++) dataOf(await forgot(who.email));
  const other = await shop.souk.customer();
  dataOf(await forgot(other.email));
  await mailTo(other.email);
  await mailTo(who.email, 3);
  const links = () =>
    shop.seed.number(`SELECT COUNT(*) FROM mail_link WHERE purpose = 'reset' AND account_id = ${who.id}`);
  await shop.until(
    () => shop.seed.number("SELECT COUNT(*) FROM outbox WHERE status = 'waiting'") === 0,
    'all errands done',
  );
  assert.equal(links(), 3);
  shop.seed.sql(`UPDATE mail_link SET created_at = created_at - 3600001 WHERE account_id = ${who.id};`);
  dataOf(await forgot(who.email));
  await mailTo(who.email, 4);
});

test('the token is nowhere in the clear', async () => {
  const who = await shop.souk.customer();
  dataOf(await forgot(who.email));
  const [, token] = /\?token=(\w+)/.exec((await mailTo(who.email)).text);
  assert.ok(!shop.souk.stderr.includes(token));
  if (shop.souk.engine === 'sqlite') {
    const files = fs
      .readdirSync(shop.souk.dir)
      .map((f) => path.join(shop.souk.dir, f))
      .filter((f) => fs.statSync(f).isFile());
    assert.ok(files.length > 0);
    for (const file of files) assert.ok(!fs.readFileSync(file, 'latin1').includes(token), file);
  }
});
