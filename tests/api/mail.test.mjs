// E-mail: what customers are told, over STARTTLS.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { dataOf, expectError } from './lib/http.mjs';
import { openPaidShop, stripeEvent } from './lib/gateways.mjs';
import { openMailShop } from './lib/mail_shop.mjs';
import { openSink } from './lib/smtp.mjs';
import { runSouk } from './lib/souk.mjs';

let shop;
let sink;
let mailTo;
let dir;
let stop;
let editor;

before(async () => {
  ({ shop, sink, dir, mailTo, stop } = await openMailShop());
  editor = shop.seed.product({ name: 'Éditeur – 北京', price: 4999 });
  await shop.listen('stripe', { overpaid: 'credit' });
});
after(() => stop());

test('an order that is paid for is delivered by mail, over an encrypted connection, with a login', async () => {
  const buyer = await shop.buyerWith([[editor, 2]]);
  const { order_id } = await shop.checkout(buyer, 'card_gateway_a');
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', { order: order_id, amount: 9998, intent: 'pi_mail' }),
    ),
  );
  const { headers, text, html } = await mailTo(buyer.email);
  assert.equal(headers.subject, `Your order #${order_id}`);
  assert.match(headers.from, /<shop@shop\.example>$/);
  assert.equal(headers.to, `<${buyer.email}>`);
  assert.match(headers['message-id'], /^<souk\.\d+\.\d+@shop\.example>$/);
  assert.equal(headers['auto-submitted'], 'auto-generated');
  assert.ok(text.includes('Éditeur – 北京'), text);
  for (const { value } of (await shop.order(buyer, order_id)).items[0].deliveries) {
    assert.ok(text.includes(`  - ${value}\n`), text);
    assert.ok(html.includes(`<code>${value}</code>`), html);
  }
  assert.match(text, /^- 2 × Éditeur – 北京: \$99\.98$/m);
  assert.match(text, /^Total: \$99\.98$/m);
  assert.match(html, /<strong>Total: \$99\.98<\/strong>/);
  assert.match(html, /<a href="https:\/\/shop\.example\/order\/\w+">Your order’s page<\/a>/);
  assert.doesNotMatch(html, /<script|<img|style=|https?:\/\/(?!shop\.example)/);
  assert.doesNotMatch(text, /reset\?token/, 'who has a password needs no link to choose one');
  const [mail] = sink.mails.filter((m) => m.to === buyer.email);
  assert.deepEqual([mail.secure, mail.user, mail.from], [true, 'shop', 'shop@shop.example']);
  assert.ok(
    mail.data.split('\r\n').every((line) => line.length <= 76 && !line.startsWith('.') && /^[\x20-\x7e]*$/.test(line)),
  );
});

test('every address in a receipt is absolute, also without --base-url', async (t) => {
  const { shop, mailTo, stop } = await openMailShop({ args: ['--base-url', ''] });
  t.after(stop);
  const file = shop.seed.product({ delivery_type: 'download_url', download_url: 'https://cdn.example/x', price: 100 });
  const buyer = await shop.buyerWith([[file, 1]], { balance: 10000 });
  const { deliveries } = await shop.checkout(buyer, 'wallet');
  const origin = shop.souk.url;
  const { text } = await mailTo(buyer.email);
  assert.ok(deliveries[0].value.startsWith(`${origin}/download/`), deliveries[0].value);
  assert.ok(text.includes(deliveries[0].value), text);
  assert.match(text, new RegExp(`^${origin.replaceAll('.', '\\.')}/order/\\S+$`, 'm'));
  assert.doesNotMatch(text, /(^|\s)\/\w/m);
});

test('staff send an order’s mail again; what was not delivered has none', async () => {
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { order_id } = await shop.checkout(buyer, 'card_gateway_a');
  const send = () => shop.admin('POST', `/api/admin/orders/${order_id}/send`);
  expectError(await send(), 409, 'invalid_state');
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', { order: order_id, amount: 4999, intent: 'pi_again' }),
    ),
  );
  const first = await mailTo(buyer.email);
  const { timeline } = dataOf(await send());
  assert.equal(timeline.filter((t) => t.kind === 'sent_again').length, 1);
  const again = await mailTo(buyer.email, 2);
  assert.equal(again.text, first.text);
  const seen = (await shop.order(buyer, order_id)).timeline.map((t) => t.kind);
  assert.ok(seen.includes('delivered') && !seen.includes('sent_again'), 'what staff did by hand is theirs to know');
});

test('by wallet too', async () => {
  const buyer = await shop.buyerWith([[editor, 1]], { balance: 10000 });
  const bought = await shop.checkout(buyer, 'wallet');
  assert.ok((await mailTo(buyer.email)).text.includes(bought.deliveries[0].value));
});

test('a decision on a withdrawal, and an answer to a ticket', async () => {
  const buyer = await shop.buyer({ balance: 10000 });
  const { withdrawal_id } = dataOf(
    await shop.souk.post('/api/customer/wallet/withdraw', { amount: 10 }, { token: buyer.token }),
  );
  dataOf(await shop.admin('POST', `/api/admin/withdrawals/${withdrawal_id}/reject`, { reason: 'No.' }));
  assert.match(
    (await mailTo(buyer.email, 1, { subject: 'We have your withdrawal request' })).text,
    /asked for \$10\.00/,
  );
  const decided = await mailTo(buyer.email, 1, { subject: 'Your withdrawal was rejected' });
  assert.match(decided.text, /was rejected\. \$10\.00 are back/);
  assert.match(decided.text, /^Reason: No\.$/m);
  const ask = async () =>
    dataOf(await shop.souk.post('/api/customer/wallet/withdraw', { amount: 20 }, { token: buyer.token })).withdrawal_id;
  dataOf(await shop.admin('POST', `/api/admin/withdrawals/${await ask()}/approve`));
  const approved = await mailTo(buyer.email, 1, { subject: 'Your withdrawal was approved' });
  assert.match(approved.text, /\$20\.00/);
  assert.match(approved.text, /https:\/\/shop\.example\/account\/wallet/);
  const back = await ask();
  dataOf(await shop.souk.post(`/api/customer/wallet/withdrawals/${back}/cancel`, undefined, { token: buyer.token }));
  const cancelled = await mailTo(buyer.email, 1, { subject: 'Your withdrawal was cancelled' });
  assert.match(cancelled.text, /\$20\.00/);
  const department = dataOf(await shop.admin('POST', '/api/admin/departments', { name: 'Sales' }), 201);
  const ticket = dataOf(
    await shop.souk.post(
      '/api/customer/tickets',
      { department_id: department.id, subject: '**Hi** <b>', message: 'There\n\n# you' },
      { token: buyer.token },
    ),
  );
  const answered = await shop.admin('POST', `/api/admin/tickets/${ticket.id}/replies`, { message: '.\n..\nHello' });
  assert.ok(answered.status < 300, answered.text);
  const { text, html } = await mailTo(buyer.email, 1, { subject: 'Your ticket was answered' });
  assert.ok(
    text.includes(
      `“**Hi** <b>” was answered:\n\n> .\n> ..\n> Hello\n\nRead it all, and reply:\nhttps://shop.example/account/tickets/${ticket.id}\n`,
    ),
    text,
  );
  assert.ok(html.includes('“**Hi** &lt;b&gt;”'), html);
  const staff = await mailTo('owner@example.com', 1, { subject: 'New question: **Hi** <b>' });
  assert.ok(staff.text.includes(`${buyer.email} asks`) && staff.text.includes('> There\n>\n> # you\n'), staff.text);
});

test('who buys without a password gets a link to choose one, with the order', async () => {
  const made = dataOf(await shop.admin('POST', '/api/admin/customers', { email: 'guest@example.com' }), 201);
  const { token } = dataOf(await shop.admin('POST', `/api/admin/customers/${made.id}/tokens`, { name: 't' }), 201);
  dataOf(await shop.admin('POST', `/api/admin/customers/${made.id}/wallet`, { amount: 500, description: 'Gift' }));
  const buy = async () => {
    dataOf(await shop.souk.post('/api/store/cart/add', { product_id: editor.id, quantity: 1 }, { token }));
    const { order_id } = await shop.checkout({ token }, 'wallet');
    return (await mailTo('guest@example.com', 1, { subject: `Your order #${order_id}` })).text;
  };
  const link =
    /\nYou have no password yet\. .* within 7 days, .*\(https:\/\/shop\.example\/reset\?token=(\w+)\)\n/.exec(
      await buy(),
    );
  // Three links an hour, however often somebody buys; and none for people who work here.
  for (const has of [true, true, false]) assert.equal(/reset\?token/.test(await buy()), has);
  shop.seed.sql(`UPDATE mail_link SET created_at = 1 WHERE account_id = ${made.id};`);
  shop.seed.sql(`UPDATE account SET role = 'staff' WHERE id = ${made.id};`);
  assert.doesNotMatch(await buy(), /reset\?token/);
  shop.seed.sql(`UPDATE account SET role = 'customer' WHERE id = ${made.id};`);
  dataOf(await shop.souk.post('/api/auth/password/reset', { token: link[1], password: 'a-new-password' }));
  const login = dataOf(
    await shop.souk.post('/api/auth/login', { email: 'guest@example.com', password: 'a-new-password' }),
  );
  dataOf(await shop.souk.post('/api/store/cart/add', { product_id: editor.id, quantity: 1 }, { token: login.token }));
  const { order_id } = await shop.checkout({ token: login.token }, 'wallet');
  assert.doesNotMatch(
    (await mailTo('guest@example.com', 1, { subject: `Your order #${order_id}` })).text,
    /no password yet|reset\?token/,
  );
});

test('money that moves is told: credited, refunded, cancelled; disputes and what needs a person to staff', async () => {
  const paid = async (amount, more = {}) => {
    const buyer = await shop.buyerWith([[editor, 1]]);
    const { order_id } = await shop.checkout(buyer, 'card_gateway_a');
    const intent = `pi_told_${order_id}`;
    dataOf(
      await shop.event('stripe', stripeEvent('payment_intent.succeeded', { order: order_id, amount, intent, ...more })),
    );
    return { ...buyer, order: order_id, intent };
  };
  const over = await paid(5999);
  const credited = await mailTo(over.email, 1, { subject: 'About your payment' });
  assert.ok(
    credited.text.includes(
      `About your payment for order #${over.order}: more was paid than was asked for. $10.00 were credited to your wallet.`,
    ),
    credited.text,
  );

  const buyer = await shop.buyerWith([[editor, 1]], { balance: 10000 });
  const { order_id } = await shop.checkout(buyer, 'wallet');
  dataOf(await shop.admin('POST', `/api/admin/orders/${order_id}/refund`, {}));
  const refunded = await mailTo(buyer.email, 1, { subject: 'Your money is on its way back' });
  assert.ok(
    refunded.text.includes(
      `$49.99 of your order #${order_id} were given back to your wallet.\n\nSee what became of it:\nhttps://shop.example/order/`,
    ),
    refunded.text,
  );
  assert.doesNotMatch(refunded.text, /Claim it/);

  const waiting = await shop.buyerWith([[editor, 1]]);
  const { order_id: cancelled } = await shop.checkout(waiting, 'card_gateway_a');
  dataOf(await shop.souk.post(`/api/customer/orders/${cancelled}/cancel`, undefined, { token: waiting.token }));
  await mailTo(waiting.email, 1, { subject: `Your order #${cancelled} was cancelled` });

  const disputed = await paid(4999);
  const due = Date.UTC(2030, 0, 31, 12) / 1000;
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('charge.dispute.created', {
        payment_intent: disputed.intent,
        intent: disputed.intent,
        amount: 4999,
        id: 'dp_told',
        object: 'dispute',
        metadata: {},
        status: 'needs_response',
        evidence_details: { due_by: due },
      }),
    ),
  );
  const dispute = await mailTo('owner@example.com', 1, { subject: 'A payment is disputed: $49.99' });
  assert.match(dispute.text, new RegExp(`for order #${disputed.order} is disputed: \\$49\\.99`));
  assert.match(dispute.text, /by 31 January 2030, 12:00 UTC\./);
  assert.match(dispute.text, /https:\/\/shop\.example\/admin\/#\/reviews\/\d+\n/);

  // Nothing can be called without an API key: the refund failed, and the next step is a person's.
  const other = await paid(4999);
  dataOf(await shop.admin('POST', `/api/admin/orders/${other.order}/refund`, {}));
  const failed = await mailTo('owner@example.com', 1, { subject: 'A refund failed: $49.99' });
  assert.match(failed.text, new RegExp(`\\$49\\.99 for order #${other.order} could not be given back`));
  const short = await paid(1000);
  const review = await mailTo('owner@example.com', 1, { subject: 'A payment needs a decision' });
  assert.match(review.text, new RegExp(`for order #${short.order} needs a decision: less was paid`));
});

test('the list of a large order ends with a whole line; money that nobody here knows of is told all the same', async () => {
  const pool = shop.seed.product({ name: 'Pool', price: 1, delivery_type: 'serial_code' });
  const codes = Array.from({ length: 300 }, (_, i) => `${i}-`.padEnd(255, 'x'));
  dataOf(await shop.admin('POST', `/api/admin/products/${pool.id}/serials`, { codes }));
  const buyer = await shop.buyerWith([[pool, 300]], { balance: 10000 });
  const { order_id } = await shop.checkout(buyer, 'wallet');
  const { text } = await mailTo(buyer.email, 1, { subject: `Your order #${order_id}` });
  const listed = text.match(/^ {2}- .*$/gm).map((line) => line.slice(4));
  assert.ok(listed.length > 200 && listed.length < 300, `${listed.length}`);
  assert.ok(listed.every((code) => codes.includes(code)));

  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('charge.dispute.created', { intent: 'pi_nobody', id: 'dp_nobody', object: 'dispute' }),
    ),
  );
  const told = await mailTo('owner@example.com', 2, { subject: 'A payment needs a decision' });
  assert.ok(told.text.startsWith('A payment for an unknown order needs a decision: it fits no payment.'), told.text);
});

test('a server that is busy is tried again; one that refuses is not', async () => {
  const buyerWhoseMailIs = async (refusal) => {
    const buyer = await shop.buyerWith([[editor, 1]], { balance: 10000 });
    await mailTo(buyer.email, 1, { proof: true });
    sink.refusals.set(buyer.email, [refusal]);
    await shop.checkout(buyer, 'wallet');
    return buyer.email;
  };
  const busy = await buyerWhoseMailIs('450 later');
  const strange = await buyerWhoseMailIs('650 what nobody says');
  for (const email of [busy, strange]) {
    await mailTo(email);
    assert.deepEqual(sink.refusals.get(email), []);
  }

  const failed = () => shop.seed.number("SELECT COUNT(*) FROM outbox WHERE kind = 'mail' AND status = 'failed'");
  const before = failed();
  const refused = await buyerWhoseMailIs('550 no such user');
  await shop.until(() => failed() === before + 1, 'given up');
  assert.equal(sink.mails.filter((m) => m.to === refused).length, 1); // to prove the address
});

test('nothing that is mailed is readable in the outbox', async () => {
  const kept = shop.seed.number(
    "SELECT COUNT(*) FROM outbox WHERE kind = 'mail' AND status = 'done' AND payload IS NOT NULL",
  );
  assert.equal(kept, 0);
});

test('without a mail server nothing is queued, and no password can be asked for', async () => {
  const quiet = await openPaidShop();
  try {
    const tool = quiet.seed.product({ name: 'Tool', price: 100 });
    const buyer = await quiet.buyerWith([[tool, 1]], { balance: 1000 });
    await quiet.checkout(buyer, 'wallet');
    assert.equal(quiet.seed.number('SELECT COUNT(*) FROM outbox'), 0);
    expectError(await quiet.souk.post('/api/auth/password/forgot', { email: buyer.email }), 409, 'mail_off');
  } finally {
    await quiet.stop();
  }
});

test('an unencrypted server is used only on request, and only inside the private network', async () => {
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
    const other = await openPaidShop({
      args: ['--smtp-url', `smtp://127.0.0.1:${plain.port}`, '--mail-from', 'shop@shop.example', ...args],
    });
    const product = other.seed.product({ name: 'Tool', price: 100 });
    const buyer = await other.buyerWith([[product, 1]], { balance: 1000 });
    await other.checkout(buyer, 'wallet');
    return other;
  };
  try {
    // A server without STARTTLS gets nothing from a shop that wants it.
    const strict = await tool([]);
    await strict
      .until(() => strict.seed.number("SELECT COUNT(*) FROM outbox WHERE last_error <> ''") > 0, 'refused to send')
      .finally(() => strict.stop());
    assert.equal(plain.mails.length, 0);
    const lax = await tool(['--smtp-plain']);
    await lax.until(() => plain.mails.length > 0, 'sent in the clear, as told').finally(() => lax.stop());
  } finally {
    await plain.stop();
  }
});

test('top-ups, money on its way back, and a gateway that refuses; what the account reads is in its language', async () => {
  const stripe = await shop.played('stripe', { overpaid: 'refund' });
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { languages: ['en', 'de'] }));
  const buyer = await shop.buyerWith([[editor, 1]]);
  shop.seed.sql(`UPDATE account SET language = 'de' WHERE id = ${buyer.id};`);
  dataOf(
    await shop.souk.post(
      '/api/customer/wallet/topup',
      { amount: 20, gateway: 'card_gateway_a' },
      { token: buyer.token },
    ),
    201,
  );
  const topup = stripe.calls.at(-1).body.client_reference_id;
  const succeeded = (order, amount) =>
    shop.event('stripe', stripeEvent('payment_intent.succeeded', { order, amount, intent: `pi_${order}` }));
  dataOf(await succeeded(topup, 2000));
  const credited = await mailTo(buyer.email, 1, { subject: 'Dein Guthaben wurde aufgeladen' });
  assert.match(credited.text, /20,00\s\$/);
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('charge.refunded', { amount: 2000, intent: `pi_${topup}`, amount_refunded: 500, refunded: false }),
    ),
  );
  const back = await mailTo(buyer.email, 1, { subject: 'Dein Geld ist auf dem Weg zurück' });
  assert.match(back.text, /Aufladung Nr\. \d+ wurden 5,00\s\$ erstattet/);
  assert.match(back.text, /https:\/\/shop\.example\/account\/wallet/);
  const { order_id } = await shop.checkout(buyer, 'card_gateway_a');
  dataOf(await succeeded(order_id, 5999));
  const returned = await mailTo(buyer.email, 1, { subject: 'Zu deiner Zahlung' });
  assert.match(returned.text, /10,00\s\$/);
  const told = dataOf(await shop.souk.get('/api/customer/notifications', { token: buyer.token }));
  const number = topup.split('-')[1];
  const said = told.map((n) => n.message.replace(/\s/g, ' '));
  for (const message of [
    `Deine Bestellung Nr. ${order_id} ist bestätigt und geliefert.`,
    `Deine Zahlung (Bestellung Nr. ${order_id}): es wurde mehr bezahlt als verlangt. 10,00 $ werden auf dem Weg zurückgegeben, auf dem du bezahlt hast.`,
    `Deine Aufladung Nr. ${number} wurde deinem Guthaben gutgeschrieben.`,
  ])
    assert.ok(said.includes(message), said.join('\n'));
  const other = await shop.buyerWith([[editor, 1]]);
  stripe.fail({ status: 503, match: /^POST \/v1\/checkout\/sessions/ });
  stripe.fail({ status: 402, match: /^POST \/v1\/checkout\/sessions/ });
  const { order_id: refused } = await shop.checkout(other, 'card_gateway_a');
  const failed = await mailTo('owner@example.com', 1, { subject: 'A call to card_gateway_a failed' });
  assert.match(failed.text, new RegExp(`order #${refused}`));
});
