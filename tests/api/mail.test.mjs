// E-mail: what customers are told, over STARTTLS, and new passwords.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { openPaidShop, stripeEvent } from './lib/gateways.mjs';
import { issue } from './lib/certificates.mjs';
import { openSink, readMail } from './lib/smtp.mjs';
import { runSouk } from './lib/souk.mjs';

let shop;
let sink;
let editor;
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-mail-'));

before(async () => {
  const made = issue('127.0.0.1');
  fs.writeFileSync(path.join(dir, 'ca.pem'), made.authority);
  sink = await openSink({ ...made, login: { user: 'shop', password: 'p4ss' } });
  shop = await openPaidShop({
    args: ['--smtp-url', `smtp://127.0.0.1:${sink.port}`, '--smtp-user', 'shop', '--mail-from', 'shop@shop.example', '--ca-file', path.join(dir, 'ca.pem'),
      '--base-url', 'https://shop.example'],
    env: { SOUK_SMTP_PASSWORD: 'p4ss' },
  });
  editor = shop.seed.product({ name: 'Éditeur – 北京', price: 4999 });
  await shop.listen('stripe');
});
after(async () => {
  await shop.stop();
  await sink.stop();
  fs.rmSync(dir, { recursive: true, force: true });
});

/** Waits for the next mail to this address. */
async function mailTo(email, count = 1) {
  const all = await shop.until(() => {
    const found = sink.mails.filter((m) => m.to === email);
    return found.length >= count && found;
  }, `mail number ${count} to ${email}`);
  return readMail(all[count - 1].data);
}

test('an order that is paid for is delivered by mail, over an encrypted connection, with a login', async () => {
  const buyer = await shop.buyerWith([[editor, 2]]);
  const { order_id } = await shop.checkout(buyer, 'card_gateway_a');
  dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', { order: order_id, amount: 9998, intent: 'pi_mail' })));
  const { headers, text } = await mailTo(buyer.email);
  assert.equal(headers.subject, `Your order #${order_id}`);
  assert.match(headers.from, /<shop@shop\.example>$/);
  assert.equal(headers.to, `<${buyer.email}>`);
  assert.match(headers['message-id'], /^<souk\.\d+\.\d+@shop\.example>$/);
  assert.equal(headers['auto-submitted'], 'auto-generated');
  assert.ok(text.includes('Éditeur – 北京'), text);
  for (const { value } of (await shop.order(buyer, order_id)).items[0].deliveries) assert.ok(text.includes(value), text);
  const [mail] = sink.mails.filter((m) => m.to === buyer.email);
  assert.deepEqual([mail.secure, mail.user, mail.from], [true, 'shop', 'shop@shop.example']);
  assert.ok(mail.data.split('\r\n').every((line) => line.length <= 76 && !line.startsWith('.') && /^[\x20-\x7e]*$/.test(line)));
});

test('by wallet too', async () => {
  const buyer = await shop.buyerWith([[editor, 1]], { balance: 10000 });
  const bought = await shop.checkout(buyer, 'wallet');
  assert.ok((await mailTo(buyer.email)).text.includes(bought.deliveries[0].value));
});

test('a decision on a withdrawal, and an answer to a ticket', async () => {
  const buyer = await shop.buyer({ balance: 10000 });
  const { withdrawal_id } = dataOf(await shop.souk.post('/api/customer/wallet/withdraw', { amount: 10 }, { token: buyer.token }));
  dataOf(await shop.admin('POST', `/api/admin/withdrawals/${withdrawal_id}/reject`, { reason: 'No.' }));
  const decided = await mailTo(buyer.email);
  assert.equal(decided.headers.subject, 'Your withdrawal was rejected');
  assert.match(decided.text, /rejected: No\./);
  const department = dataOf(await shop.admin('POST', '/api/admin/departments', { name: 'Sales' }), 201);
  const ticket = dataOf(await shop.souk.post('/api/customer/tickets', { department_id: department.id, subject: 'Hi', message: 'There' }, { token: buyer.token }));
  const answered = await shop.admin('POST', `/api/admin/tickets/${ticket.id}/replies`, { message: '.\n..\nHello' });
  assert.ok(answered.status < 300, answered.text);
  assert.equal((await mailTo(buyer.email, 2)).headers.subject, 'Your ticket was answered');
});

test('a server that is busy is tried again; one that refuses is not', async () => {
  sink.refusals.push('450 later');
  const buyer = await shop.buyerWith([[editor, 1]], { balance: 10000 });
  await shop.checkout(buyer, 'wallet');
  await mailTo(buyer.email);
  sink.refusals.push('550 no such user');
  const other = await shop.buyerWith([[editor, 1]], { balance: 10000 });
  await shop.checkout(other, 'wallet');
  await shop.until(() => shop.seed.number("SELECT COUNT(*) FROM outbox WHERE kind = 'mail' AND status = 'failed'") === 1, 'given up');
  assert.equal(sink.mails.filter((m) => m.to === other.email).length, 0);
});

test('nothing that is mailed is readable in the outbox', async () => {
  const kept = shop.seed.number("SELECT COUNT(*) FROM outbox WHERE kind = 'mail' AND status = 'done' AND payload IS NOT NULL");
  assert.equal(kept, 0);
});

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
  const [, token] = /https:\/\/shop\.example\/reset#token=(\w+)/.exec(text);
  assert.equal(sink.mails.filter((m) => m.to === 'nobody@example.com').length, 0);

  expectFields(await reset(token, 'short'), { password: 'too_short' });
  expectFields(await reset(`${token.slice(0, -1)}x`, 'a-new-password'), { token: 'not_allowed' });
  dataOf(await reset(token, 'a-new-password'));
  expectFields(await reset(token, 'another-password'), { token: 'not_allowed' });
  expectError(await login(who.email, who.password), 401, 'credentials_invalid');
  dataOf(await login(who.email, 'a-new-password'));
  expectError(await shop.souk.get('/api/auth/me', { token: who.token }), 401, 'token_invalid');
});

test('asking again makes the first link worthless; after 30 minutes every link is', async () => {
  const who = await shop.souk.customer();
  const tokens = [];
  for (let i = 1; i <= 2; i++) {
    dataOf(await forgot(who.email));
    tokens.push(/#token=(\w+)/.exec((await mailTo(who.email, i)).text)[1]);
  }
  expectFields(await reset(tokens[0], 'a-new-password'), { token: 'not_allowed' });
  shop.seed.sql(`UPDATE password_reset SET expires_at = ${Date.now() - 1} WHERE account_id = ${who.id};`);
  expectFields(await reset(tokens[1], 'a-new-password'), { token: 'not_allowed' });
  dataOf(await login(who.email, who.password));
});

test('the token is nowhere in the clear', async () => {
  const who = await shop.souk.customer();
  dataOf(await forgot(who.email));
  const [, token] = /#token=(\w+)/.exec((await mailTo(who.email)).text);
  assert.ok(!shop.souk.stderr.includes(token));
  if (shop.souk.engine === 'sqlite') {
    const files = fs.readdirSync(shop.souk.dir).map((f) => path.join(shop.souk.dir, f)).filter((f) => fs.statSync(f).isFile());
    assert.ok(files.length > 0);
    for (const file of files) assert.ok(!fs.readFileSync(file, 'latin1').includes(token), file);
  }
});

test('without a mail server nothing is queued, and no password can be asked for', async () => {
  const quiet = await openPaidShop();
  try {
    const tool = quiet.seed.product({ name: 'Tool', price: 100 });
    const buyer = await quiet.buyerWith([[tool, 1]], { balance: 1000 });
    await quiet.checkout(buyer, 'wallet');
    assert.equal(quiet.seed.number('SELECT COUNT(*) FROM outbox'), 0);
    expectError(await quiet.souk.post('/api/auth/password/forgot', { email: buyer.email }), 503, 'unavailable');
  } finally {
    await quiet.stop();
  }
});

test('an unencrypted server is used only when that is asked for, and only inside the own network', async () => {
  const usage = async (args) => {
    const run = await runSouk(['serve', '--db', path.join(dir, 'x.db'), '--listen', '127.0.0.1:0', ...args]);
    assert.equal(run.code, 2, run.stderr);
  };
  await usage(['--smtp-url', 'smtp://mail.example.com:25', '--mail-from', 'a@b.example', '--smtp-plain']);
  await usage(['--smtp-url', 'http://127.0.0.1:25', '--mail-from', 'a@b.example']);
  await usage(['--smtp-url', 'smtp://127.0.0.1:25']);
  await usage(['--smtp-url', 'smtp://127.0.0.1:25', '--mail-from', 'a@b>\r\nX: y']);
  const plain = await openSink();
  const tool = async (args) => {
    const other = await openPaidShop({ args: ['--smtp-url', `smtp://127.0.0.1:${plain.port}`, '--mail-from', 'shop@shop.example', ...args] });
    const product = other.seed.product({ name: 'Tool', price: 100 });
    const buyer = await other.buyerWith([[product, 1]], { balance: 1000 });
    await other.checkout(buyer, 'wallet');
    return other;
  };
  try {
    // A server without STARTTLS gets nothing from a shop that wants it.
    const strict = await tool([]);
    await strict.until(() => strict.seed.number("SELECT COUNT(*) FROM outbox WHERE last_error <> ''") === 1, 'refused to send');
    await strict.stop();
    assert.equal(plain.mails.length, 0);
    const lax = await tool(['--smtp-plain']);
    await lax.until(() => plain.mails.length === 1, 'sent in the clear, as told');
    await lax.stop();
  } finally {
    await plain.stop();
  }
});
