// The texts of mails: changed, refused, previewed, tried and put back; and what is sent follows them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser } from './lib/browser.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { openMailShop } from './lib/mail_shop.mjs';

let shop, sink, mailTo, stop, tool;
before(async () => {
  ({ shop, sink, mailTo, stop } = await openMailShop());
  tool = shop.seed.product({ name: 'Tool', price: 100 });
});
after(() => stop());

const path = (kind, language = 'en') => `/api/admin/mail-texts/${kind}/${language}`;
const read = async (kind, language) => dataOf(await shop.admin('GET', path(kind, language)));
const save = (kind, subject, body, language) => shop.admin('PUT', path(kind, language), { subject, body });
const newest = async () => dataOf(await shop.admin('GET', '/api/admin/audit?limit=1'))[0];

test('every mail is listed with its text in each language and what it may name', async () => {
  const all = dataOf(await shop.admin('GET', '/api/admin/mail-texts'));
  assert.ok(all.length >= 20);
  assert.deepEqual(
    all.find((m) => m.kind === 'order'),
    { kind: 'order', to: 'customer', changed: [] },
  );
  assert.equal(all.find((m) => m.kind === 'staff_ticket').to, 'staff');
  const text = await read('order', 'de');
  assert.equal(text.is_changed, false);
  assert.equal(text.subject, 'Deine Bestellung Nr. {{number}}');
  assert.equal(text.body, text.default_body);
  assert.deepEqual(
    text.parameters.filter((p) => ['number', 'items', 'link'].includes(p.name)),
    [
      { name: 'number', type: 'text' },
      { name: 'items', type: 'list' },
      { name: 'link', type: 'url' },
    ],
  );
  for (const [kind, language] of [
    ['order', 'xx'],
    ['pigeon', 'en'],
  ]) {
    expectError(await shop.admin('GET', path(kind, language)), 404, 'not_found');
    expectError(await shop.admin('DELETE', path(kind, language)), 404, 'not_found');
  }
});

test('a text that cannot be used is refused with the parameter that it is about, and nothing changes', async () => {
  const wrong = [
    ['{{nubmer}}', 'x', { subject: 'unknown_parameter' }, /no such parameter: \{\{nubmer\}\}/],
    ['x', 'Hello {{ answer }}', { body: 'unknown_parameter' }, /\{\{answer\}\}/],
    ['x', '{{number', { body: 'unmatched_braces' }, /braces?/],
    ['x', 'You bought {{items}}', { body: 'misplaced_parameter' }, /\{\{items\}\}/],
    ['x', '[x]({{total}})', { body: 'misplaced_parameter' }, /\{\{total\}\}/],
    ['{{items}}', '{{x}}', { subject: 'misplaced_parameter', body: 'unknown_parameter' }, /items/],
    ['y'.repeat(201), 'y'.repeat(10001), { subject: 'too_long', body: 'too_long' }, /./],
  ];
  for (const [subject, body, fields, message] of wrong) {
    for (const answer of [
      await save('order', subject, body),
      await shop.admin('POST', `${path('order')}/preview`, { subject, body }),
    ]) {
      expectFields(answer, fields);
      assert.match(answer.text, message);
    }
  }
  assert.equal((await read('order')).is_changed, false);
});

test('the preview shows both parts with samples, in the shop’s look; raw HTML is text, and nothing is fetched', async () => {
  const draft = {
    subject: 'To {{name}}',
    body: '# Hi\n\nSee <script>x</script> **{{total}}** [terms](/page/terms) ![p](https://evil.example/p.png)\n\n{{items}}\n',
  };
  const { subject, text, html } = dataOf(await shop.admin('POST', `${path('order')}/preview`, draft));
  assert.equal(subject, 'To Ada');
  assert.ok(
    text.startsWith('Hi\n\nSee <script>x</script> €99.98 terms (https://shop.example/page/terms) p\n\n- 2 × Editor'),
    text,
  );
  assert.match(html, /&lt;script&gt;x&lt;\/script&gt; <strong>€99\.98<\/strong>/);
  assert.doesNotMatch(html, /<script|<img|style|evil\.example/);
  assert.match(dataOf(await shop.admin('POST', `${path('order', 'fr')}/preview`, {})).text, /Merci\. Votre commande/);
  assert.equal((await read('order')).is_changed, false);
});

test('the logo is in mails only where the settings say so, by its whole address', async () => {
  const html = async () => dataOf(await shop.admin('POST', `${path('order')}/preview`, {})).html;
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  const { logo } = dataOf(
    await shop.souk.request('PUT', '/api/admin/settings/logo', { token: shop.owner, body: png, type: 'image/png' }),
  );
  assert.match(logo, /^\/media\//);
  assert.doesNotMatch(await html(), /<img/);
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { mail_logo: true }));
  await shop.until(async () => (await html()).includes(`<img src="https://shop.example${logo}"`), 'the logo is there');
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { mail_logo: false }));
  await shop.until(async () => !(await html()).includes('<img'), 'the logo is gone');
});

test('what is saved is sent, until it is put back; both are audited', async () => {
  const saved = dataOf(
    await save(
      'order',
      '{{store}}: order {{number}}',
      'Thanks *{{name}}*!\n\n{{items}}\n\nNo password: {{password_link}}\n',
    ),
  );
  assert.equal(saved.is_changed, true);
  assert.ok(Date.parse(saved.updated_at) > 0);
  assert.notEqual(saved.body, saved.default_body);
  assert.equal((await newest()).action, 'mail_text.update');
  assert.deepEqual(dataOf(await shop.admin('GET', '/api/admin/mail-texts')).find((m) => m.kind === 'order').changed, [
    'en',
  ]);
  const buyer = await shop.buyerWith([[tool, 1]], { balance: 1000 });
  const { order_id, deliveries } = await shop.checkout(buyer, 'wallet');
  const { text } = await mailTo(buyer.email, 1, { subject: `souk: order ${order_id}` });
  assert.ok(text.startsWith(`Thanks Customer!\n\n- 1 × Tool: $1.00\n  - ${deliveries[0].value}\n\n-- \n`), text);
  const reset = dataOf(await shop.admin('DELETE', path('order')));
  assert.deepEqual([reset.is_changed, reset.body, reset.updated_at], [false, reset.default_body, null]);
  assert.equal((await newest()).action, 'mail_text.reset');
  const again = await shop.buyerWith([[tool, 1]], { balance: 1000 });
  const second = await shop.checkout(again, 'wallet');
  await mailTo(again.email, 1, { subject: `Your order #${second.order_id}` });
});

test('a test mail goes to the caller, with the text being written', async () => {
  const body = { subject: 'Try {{number}}', body: 'Only a try.' };
  assert.deepEqual(dataOf(await shop.admin('POST', `${path('order')}/test`, body)), {
    to: 'owner@example.com',
    sent: true,
    error: null,
  });
  assert.match((await mailTo('owner@example.com', 1, { subject: 'Try 1042' })).text, /^Only a try\./);
  sink.refuse = 550;
  const refused = dataOf(await shop.admin('POST', `${path('order')}/test`, {}));
  sink.refuse = 0;
  assert.deepEqual([refused.sent, refused.error], [false, '550 refused']);
  assert.equal((await newest()).action, 'mail_text.test');
});

test('a mail is written in the language that its receiver read in the shop, where the shop has it', async () => {
  const register = async (email, language) =>
    dataOf(
      await shop.souk.post(
        '/api/auth/register',
        { email, password: 'a-long-password' },
        { headers: { 'Accept-Language': language } },
      ),
      201,
    );
  dataOf(
    await shop.admin('PATCH', '/api/admin/settings', {
      languages: ['en', 'de'],
      store_name: 'Läden & Co',
      accent: '#b00020',
    }),
  );
  await shop.until(
    async () =>
      (await (await fetch(`${shop.souk.url}/login`, { headers: { 'Accept-Language': 'de' } })).text()).includes(
        'lang="de"',
      ),
    'the languages are known',
  );
  await register('de@example.com', 'de-AT, fr;q=0.5');
  await register('fr@example.com', 'fr');
  const german = await mailTo('de@example.com', 1, { proof: true });
  assert.equal(german.headers.subject, 'Willkommen bei Läden & Co');
  assert.match(german.headers.from, /^Läden & Co <shop@shop\.example>$/);
  assert.match(german.html, /<html lang="de">/);
  assert.match(german.html, /bgcolor="#b00020"/);
  assert.match(german.html, /<b>Läden &amp; Co<\/b>/);
  assert.equal((await mailTo('fr@example.com', 1, { proof: true })).headers.subject, 'Welcome to Läden & Co');
  // A later login in the shop, in another language.
  const b = new Browser(shop.souk.url, { language: 'de' });
  await b.open('/login');
  await b.submit('/login', { email: 'fr@example.com', password: 'a-long-password' }, { expect: 303 });
  dataOf(await shop.souk.post('/api/auth/password/forgot', { email: 'fr@example.com' }));
  await mailTo('fr@example.com', 1, { subject: 'Dein neues Passwort' });
});

test('staff hear of orders and of codes that run low where the settings say so, once until there are more', async () => {
  dataOf(
    await shop.admin('PATCH', '/api/admin/settings', {
      languages: ['en'],
      mail_new_order: true,
      low_stock: 2,
      staff_mail: 'desk@shop.example',
    }),
  );
  expectFields(await shop.admin('PATCH', '/api/admin/settings', { staff_mail: 'nobody' }), {
    staff_mail: 'bad_format',
  });
  const card = shop.seed.product({ name: 'Card', price: 100, delivery_type: 'serial_code' });
  const add = (...codes) => shop.admin('POST', `/api/admin/products/${card.id}/serials`, { codes });
  const low = () => sink.mails.filter((m) => m.to === 'desk@shop.example' && /Low stock/.test(m.data)).length;
  dataOf(await add('A1', 'A2', 'A3', 'A4'));
  const buyer = await shop.buyerWith([[card, 2]], { balance: 1000 });
  const { order_id } = await shop.checkout(buyer, 'wallet');
  const order = await mailTo('desk@shop.example', 1, { subject: `New order #${order_id}: $2.00` });
  assert.ok(order.text.includes(`${buyer.email} bought:\n\n- 2 × Card: $2.00\n\n`), order.text);
  assert.doesNotMatch(order.text, /A1/);
  const told = await mailTo('desk@shop.example', 1, { subject: 'Low stock: Card' });
  assert.match(told.text, /that are left: 2\n/);
  assert.match(told.text, new RegExp(`https://shop\\.example/admin/#/products/${card.id}\n`));
  const other = await shop.buyerWith([[card, 1]], { balance: 1000 });
  await shop.checkout(other, 'wallet');
  dataOf(await add('A5', 'A6', 'A7'));
  await shop.until(() => shop.seed.number('SELECT COUNT(*) FROM stock_notice') === 0, 'filled up');
  assert.equal(low(), 1);
  const third = await shop.buyerWith([[card, 3]], { balance: 1000 });
  await shop.checkout(third, 'wallet');
  await mailTo('desk@shop.example', 2, { subject: 'Low stock: Card' });
  assert.equal(low(), 2);
});
