// Buying in the shop, as a guest and as a customer, without a line of script.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser, formsOf, textOf } from './lib/browser.mjs';
import { issue } from './lib/certificates.mjs';
import { openPaidShop } from './lib/gateways.mjs';
import { dataOf } from './lib/http.mjs';

let shop;
let souk;
let plain;
let choice;
const NAUGHTY = '<script>alert(1)</script> "quoted" & \'single\' ${x} {{ y }}';

const product = async (body) =>
  dataOf(
    await shop.admin('POST', '/api/admin/products', { delivery_type: 'license_key', is_active: true, ...body }),
    201,
  );

before(async () => {
  shop = await openPaidShop();
  souk = shop.souk;
  await shop.connect('sandbox', {});
  plain = await product({
    name: 'Plain Editor',
    slug: 'plain-editor',
    price: 19.99,
    description: 'Edits *plain* text.\n\n<b>raw</b> [bad](javascript:alert(1))',
  });
  choice = await product({ name: 'Choice', slug: 'choice', price: 5 });
  choice.small = dataOf(
    await shop.admin('POST', `/api/admin/products/${choice.id}/variants`, {
      name: 'Small',
      price: 5,
      is_default: true,
    }),
    201,
  );
  choice.large = dataOf(
    await shop.admin('POST', `/api/admin/products/${choice.id}/variants`, { name: 'Large', price: 50 }),
    201,
  );
  await product({ name: NAUGHTY, slug: 'naughty', price: 1, description: NAUGHTY });
  await product({ name: 'Gone', slug: 'gone', price: 1, is_active: false });
  dataOf(
    await shop.admin('POST', '/api/admin/coupons', {
      code: 'TEN',
      kind: 'percent',
      value: 10,
      max_uses_per_customer: 100,
    }),
    201,
  );
});
after(() => shop.stop());

const plainId = () => plain.id;
const browser = (options) => new Browser(souk.url, options);

/** Pays at the sandbox: the address is on the page that sends the browser on. */
async function payAtSandbox(b) {
  const link = await shop.until(async () => {
    await b.open(b.path);
    return /href="([^"]*\/sandbox\/pay\/[^"]+)"/.exec(b.page)?.[1];
  }, 'the payment page has an address');
  const answer = await fetch(link, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ action: 'pay' }),
  });
  assert.equal(answer.status, 303);
}

test('the catalogue shows what is for sale, and sets no cookie', async () => {
  const b = browser();
  const answer = await b.open('/');
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type'), /^text\/html/);
  assert.deepEqual(answer.set, []);
  assert.match(b.text, /Plain Editor .*\$19\.99/);
  assert.match(b.text, /Choice .*from \$5\.00/);
  assert.doesNotMatch(b.text, /Gone/);
  assert.doesNotMatch(b.page, /<script>alert/);
  assert.match(b.text, /<script>alert\(1\)<\/script> "quoted" & 'single'/);
});

test('the catalogue has pages; a query that cannot be read is none', async () => {
  for (let i = 0; i < 30; i++) shop.seed.product({ name: `Row ${i}`, price: 100, slug: `row-${i}` });
  const b = browser();
  await b.open('/?page=2');
  assert.match(b.text, /Page 2 of 2/);
  assert.equal((await b.open('/?page=99')).status, 404);
  assert.equal((await b.open('/?page=x')).status, 200);
  assert.equal((await b.open(`/?utm=${'x'.repeat(3000)}`)).status, 200);
  assert.equal((await b.open(`/?q=${'x'.repeat(200)}`)).status, 200);
  shop.seed.sql("UPDATE product SET is_active = 0 WHERE slug LIKE 'row-%'; UPDATE revision SET number = number + 1;");
});

test('search finds by name and description, and says when it finds nothing', async () => {
  const b = browser();
  await b.open('/?q=EDITS+plain');
  assert.match(b.text, /Plain Editor/);
  assert.doesNotMatch(b.text, /Choice/);
  await b.open(`/?q=${encodeURIComponent('"><img src=x>')}`);
  assert.match(b.text, /No products match/);
  assert.doesNotMatch(b.page, /<img src=x/);
});

test('a product page has its description as markup, raw HTML as text, and data for search engines', async () => {
  const b = browser();
  const answer = await b.open('/p/plain-editor');
  assert.equal(answer.status, 200);
  assert.match(b.page, /<em>plain<\/em>/);
  assert.match(b.page, /&lt;b&gt;raw&lt;\/b&gt;/);
  assert.doesNotMatch(b.page, /javascript:/);
  const data = JSON.parse(/<script type="application\/ld\+json">([\s\S]*?)<\/script>/.exec(b.page)[1]);
  assert.equal(data['@type'], 'Product');
  assert.equal(data.name, 'Plain Editor');
  assert.deepEqual(
    data.offers.map((o) => [o.price, o.priceCurrency, o.availability]),
    [['19.99', 'USD', 'https://schema.org/InStock']],
  );
  await b.open('/p/choice');
  const choices = JSON.parse(/<script type="application\/ld\+json">([\s\S]*?)<\/script>/.exec(b.page)[1]);
  assert.deepEqual(
    choices.offers.map((o) => [o.name, o.price]),
    [
      ['Small', '5.00'],
      ['Large', '50.00'],
    ],
  );
  const steps = await product({ name: 'Steps', slug: 'steps', price: 9 });
  for (const [name, price] of Object.entries({ Usual: 9, Cheap: 7, Dear: 11 }))
    dataOf(await shop.admin('POST', `/api/admin/products/${steps.id}/variants`, { name, price }), 201);
  await b.open('/?q=Steps');
  assert.match(b.text, /Steps from \$7\.00/i);
  const naughty = await b.open('/p/naughty');
  assert.equal(
    JSON.parse(/<script type="application\/ld\+json">([\s\S]*?)<\/script>/.exec(naughty.text)[1]).name,
    NAUGHTY,
  );
});

test('pages carry a strict policy and cannot be framed', async () => {
  const { headers } = await browser().open('/');
  const policy = headers.get('content-security-policy');
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.equal(headers.get('referrer-policy'), 'same-origin');
});

test('catalogue and product pages are kept ready, compressed and tagged; a change is seen at once', async () => {
  for (const path of ['/', '/p/plain-editor']) {
    const b = browser({ headers: { 'Accept-Encoding': 'gzip' } });
    const first = await b.request('GET', path);
    assert.equal(first.headers.get('content-encoding'), 'gzip');
    assert.equal(first.headers.get('cache-control'), 'public, no-cache');
    assert.match(first.headers.get('vary'), /Cookie/);
    const etag = first.headers.get('etag');
    const again = await b.request('GET', path, { headers: { 'If-None-Match': etag } });
    assert.equal(again.status, 304);
    assert.equal(again.text, '');
    const bare = await browser({ headers: { 'Accept-Encoding': 'identity' } }).request('GET', path);
    assert.equal(bare.headers.get('content-encoding'), null);
    assert.equal(bare.text, first.text);
    dataOf(await shop.admin('PATCH', `/api/admin/products/${plainId()}`, { price: 21 }));
    const changed = await b.request('GET', path, { headers: { 'If-None-Match': etag } });
    assert.equal(changed.status, 200);
    assert.match(textOf(changed.text), /\$21\.00/);
    dataOf(await shop.admin('PATCH', `/api/admin/products/${plainId()}`, { price: 19.99 }));
  }
});

test('headers are read as they are meant', async () => {
  const ask = (target, headers) => souk.request('GET', target, { headers, unchecked: true });
  const codings = {
    gzip: true,
    'br, gzip;q=0.5': true,
    'gzip;q=0': false,
    'gzip;q=0.00': false,
    '*': true,
    '*;q=0': false,
    br: false,
  };
  for (const [accepted, isPacked] of Object.entries(codings))
    for (const target of ['/', '/assets/' + /assets\/(shop-\w+\.css)/.exec((await ask('/', {})).text)[1]]) {
      const { headers } = await ask(target, { 'Accept-Encoding': accepted });
      assert.equal(headers['content-encoding'] === 'gzip', isPacked, `${target} ${accepted}`);
    }
  const accepts = {
    'application/json;q=0.000': 406,
    'application/json;q=0.00': 406,
    'application/json;q=0;x=1': 406,
    'text/html, application/*;q=0.1': 200,
  };
  for (const [Accept, status] of Object.entries(accepts))
    assert.equal((await ask('/api/store/products', { Accept })).status, status, Accept);
  const html = { Accept: 'text/html' };
  for (const [method, target, status] of [
    ['DELETE', '/cart', 405],
    ['GET', '/no/such/page', 404],
    ['POST', '/account/settings/profile', 303],
  ]) {
    const answer = await souk.request(method, target, { headers: html, unchecked: true });
    assert.equal(answer.status, status, target);
    if (status !== 303) assert.match(answer.headers['content-type'], /^text\/html/, target);
  }
  assert.match((await ask('/webhook/a/b/c', html)).headers['content-type'], /json/);
  assert.equal((await ask('/', { Cookie: 'alone; other=1; souk=x; souk=y' })).status, 200);
});

test('forms are read as they were filled in', async () => {
  const b = browser();
  await b.open('/p/plain-editor');
  await b.submit('/cart/add', { then: 'cart' }, { expect: 303 });
  const { csrf } = b.form('/cart/update').fields;
  const send = (body) =>
    b.request('POST', '/cart/coupon', { body, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } });
  assert.equal((await send(`csrf=${csrf}&code=TEN&once`)).status, 303);
  assert.equal((await send(`csrf=${csrf}&code=%zz`)).status, 422);
  assert.equal((await send(`csrf=${csrf}&code=TEN&code=TWO`)).status, 422, 'joined with a comma');
  assert.equal((await send(`csrf=${csrf}&${'x=1&'.repeat(500)}code=TEN`)).status, 422);
  assert.equal((await send(`csrf=%zz&code=TEN`)).status, 403);
  await b.open('/checkout');
  const once = 'x'.repeat(101);
  const bought = await b.submit('/checkout', { email: 'once@example.com', pay_with: 'sandbox', once });
  assert.ok([303, 422].includes(bought.status));
});

test('a page that is kept has the cart and the csrf of the visitor who asks, and nobody else’s', async () => {
  const visitors = [];
  for (const quantity of [2, 2, 3]) {
    const b = browser({ headers: { 'Accept-Encoding': 'gzip' } });
    await b.open('/p/plain-editor');
    await b.submit('/cart/add', { quantity, then: 'cart' }, { expect: 303 });
    visitors.push({ b, quantity, csrf: b.form('/cart/update').fields.csrf });
  }
  assert.equal(new Set(visitors.map((v) => v.csrf)).size, 3);
  for (const path of ['/', '/p/plain-editor', '/', '/p/plain-editor']) {
    for (const { b, quantity, csrf } of visitors) {
      const answer = await b.open(path);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      assert.equal(answer.headers.get('content-encoding'), null);
      assert.match(b.text, new RegExp(`${quantity} items in the cart`));
      for (const other of visitors)
        assert.equal(b.page.includes(other.csrf), other.csrf === csrf && path !== '/', path);
      if (path !== '/') assert.equal(b.form('/cart/add').fields.csrf, csrf);
    }
  }
  assert.doesNotMatch((await browser().open('/')).text, /items in the cart/);
});

test('what is not there is a page for people and JSON for programs', async () => {
  const linked = ['/assets/none.css', `/media/${'0'.repeat(64)}.png`, '/download/none'];
  for (const path of ['/p/gone', '/p/nothing', '/nothing', '/order/0123', '/?page=99', ...linked]) {
    const page = await browser().open(path);
    assert.equal(page.status, 404, path);
    assert.match(page.text, /<h1>Page not found<\/h1>/);
    const json = await souk.get(path, { unchecked: true, headers: { Accept: 'application/json' } });
    assert.equal(json.status, 404);
    assert.equal(json.json.code, 'not_found');
  }
  const api = await browser().open('/api/nothing');
  assert.match(api.headers.get('content-type'), /^application\/json/);
});

test('the first thing put into the cart makes a session', async () => {
  const b = browser();
  await b.open('/p/plain-editor');
  assert.equal(b.form('/cart/add').fields.csrf, undefined);
  const answer = await b.submit('/cart/add', { quantity: 2, then: 'cart' }, { expect: 303 });
  assert.equal(answer.location, '/cart');
  assert.equal(answer.set.length, 1);
  assert.match(answer.set[0], /^souk=[A-Za-z0-9]{43}; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/);
  assert.match(b.text, /Plain Editor .*\$39\.98/);
  assert.match(b.form('/cart/update').fields.csrf, /^[0-9a-f]{32}$/);
});

test('lines are changed and removed, coupons put in and taken out', async () => {
  const b = browser();
  await b.open('/p/plain-editor');
  await b.submit('/cart/add', { then: 'cart' });
  await b.submit('/cart/update', { quantity: 3 }, { expect: 303 });
  assert.match(b.text, /Total \$59\.97/);
  const bad = await b.submit('/cart/coupon', { code: 'NOPE' });
  assert.equal(bad.status, 422);
  assert.match(b.text, /The coupon code is invalid or has expired/);
  assert.match(b.page, /value="NOPE"[^>]*aria-invalid="true"/);
  await b.submit('/cart/coupon', { code: 'ten' }, { expect: 303 });
  assert.match(b.text, /Coupon TEN .*Total \$53\.97/);
  await b.submit('/cart/coupon/remove', {}, { expect: 303 });
  assert.match(b.text, /Total \$59\.97/);
  const many = await b.submit('/cart/update', { quantity: 1001 });
  assert.equal(many.status, 422);
  await b.submit('/cart/update', { quantity: 0 }, { n: 1, expect: 303 });
  assert.match(b.text, /Your cart is empty/);
});

test('a variant must be chosen, and the form comes back with what was typed', async () => {
  const b = browser();
  await b.open('/p/choice');
  assert.equal(b.form('/cart/add').fields.variant_id, String(choice.small.id));
  const none = await b.submit('/cart/add', { variant_id: null, quantity: 7 });
  assert.equal(none.status, 422);
  assert.deepEqual(none.set, []);
  assert.match(b.text, /This is required/);
  assert.equal(b.form('/cart/add').fields.quantity, '7');
  const zero = await b.submit('/cart/add', { variant_id: choice.large.id, quantity: 0 });
  assert.equal(zero.status, 422);
  assert.equal(b.form('/cart/add').fields.variant_id, String(choice.large.id));
  await b.submit('/cart/add', { variant_id: choice.large.id, quantity: 1, then: 'checkout' }, { expect: 303 });
  assert.equal(b.path, '/checkout');
  assert.match(b.text, /Choice Large \$50\.00/);
});

test('a catalogue with variants shows the lowest price; one that is sold out is not chosen beforehand', async () => {
  const sizes = await product({ name: 'Sizes', slug: 'sizes', price: 9, delivery_type: 'serial_code' });
  const variant = async (body) =>
    dataOf(await shop.admin('POST', `/api/admin/products/${sizes.id}/variants`, { price: 5, ...body }), 201);
  await variant({ name: 'Sold out', is_default: true });
  const medium = await variant({ name: 'Medium' });
  const codes = { codes: ['SIZE-1'], variant_id: medium.id };
  dataOf(await shop.admin('POST', `/api/admin/products/${sizes.id}/serials`, codes));
  const b = browser();
  await b.open('/?q=sizes');
  assert.match(b.text, /Sizes.*\$5\.00/);
  assert.doesNotMatch(b.text, /from \$5\.00/i, 'both cost the same');
  await b.open('/p/sizes');
  assert.equal(b.form('/cart/add').fields.variant_id, undefined);
  const odd = await b.submit('/cart/add', { variant_id: 'x' });
  assert.equal(odd.status, 422);
  dataOf(await shop.admin('PATCH', `/api/admin/products/${sizes.id}`, { is_active: false }));
});

test('a guest buys through the sandbox: the key is on the order’s page', async () => {
  const b = browser();
  await b.open('/p/plain-editor');
  await b.submit('/cart/add', { then: 'checkout' });
  const missing = await b.submit('/checkout', {});
  assert.equal(missing.status, 422);
  assert.match(b.text, /This is required/);
  const wrong = await b.submit('/checkout', { email: 'not an address' });
  assert.equal(wrong.status, 422);
  assert.equal(b.form('/checkout').fields.email, 'not an address');
  const sent = await b.submit('/checkout', { email: 'Guest@Example.com', pay_with: 'sandbox' }, { expect: 303 });
  const ref = /^\/pay\/([0-9a-f]{32}o[0-9a-f]+)$/.exec(sent.location)[1];
  await payAtSandbox(b);
  await shop.until(async () => {
    await b.open(`/order/${ref}`);
    return /Paid and delivered/.test(b.text);
  }, 'the order is delivered');
  assert.match(b.text, /guest@example\.com/);
  assert.match(b.page, /<code[^>]*>[A-Z0-9-]{29,}<\/code>/);
  const cart = await b.open('/cart');
  assert.match(textOf(cart.text), /Your cart is empty/);
  // Anybody with the address sees the order; a changed address leads nowhere.
  const other = browser();
  assert.equal((await other.open(`/order/${ref}`)).status, 200);
  const bent = ref.replace(/^./, (c) => (c === '0' ? '1' : '0'));
  assert.equal((await other.open(`/order/${bent}`)).status, 404);
  assert.equal((await other.open(`/pay/${bent}`)).status, 404);
  // The payment is over: its page leads to the order.
  assert.equal((await b.request('GET', `/pay/${ref}`)).location, `/order/${ref}`);
});

test('a pending order says so, renews itself and leads to the payment', async () => {
  const b = browser();
  await b.open('/p/plain-editor');
  await b.submit('/cart/add', { then: 'checkout' });
  const sent = await b.submit('/checkout', { email: 'waits@example.com', pay_with: 'sandbox' });
  const page = await b.open(sent.location.replace('/pay/', '/order/'));
  assert.match(b.text, /Waiting for payment/);
  assert.match(page.headers.get('refresh'), /^\d+$/);
  assert.match(b.page, new RegExp(`href="${sent.location}"`));
  const way = await shop.until(async () => {
    const answer = await b.request('GET', sent.location);
    return /^0; url=http/.test(answer.headers.get('refresh')) && answer;
  });
  assert.equal(way.status, 200);
});

test('a guest whose payment failed tries it again, or buys the same once more', async () => {
  const b = browser();
  await b.open('/p/plain-editor');
  await b.submit('/cart/add', { then: 'checkout', quantity: 2 }, { expect: 303 });
  await b.submit('/checkout', { email: 'again@example.com', pay_with: 'sandbox' }, { expect: 303 });
  const [way, order] = [b.path, b.path.replace('/pay/', '/order/')];
  const link = await shop.until(async () => {
    await b.open(way);
    return /href="([^"]*\/sandbox\/pay\/[^"]+)"/.exec(b.page)?.[1];
  }, 'the payment page has an address');
  await fetch(link, { method: 'POST', redirect: 'manual', body: new URLSearchParams({ action: 'fail' }) });
  await shop.until(async () => {
    await b.open(order);
    return /Cancelled/.test(b.text);
  }, 'the attempt has failed');
  assert.ok(b.page.includes(`href="${way}"`), 'the payment can be tried again');
  const payment = (set) => shop.seed.sql(`UPDATE payment SET ${set} WHERE order_id = (SELECT MAX(id) FROM orders);`);
  for (const [broken, mended] of [
    ["url = ''", `url = '${link}'`],
    ['ended_at = 1', 'ended_at = NULL'],
  ]) {
    payment(broken);
    await b.open(order);
    assert.ok(!b.page.includes(`href="${way}"`), broken);
    assert.equal((await b.request('GET', way)).location, order);
    payment(mended);
  }
  shop.seed.sql("UPDATE product SET is_active = 0 WHERE slug = 'plain-editor';");
  const { csrf } = b.form(`${order}/again`).fields;
  assert.equal((await b.post(`${order}/again`, { csrf })).location, '/', 'nothing of it is sold any more');
  shop.seed.sql("UPDATE product SET is_active = 1 WHERE slug = 'plain-editor';");
  const stranger = browser();
  assert.equal((await stranger.post(`${order}/again`, {})).location, '/checkout', 'for who has no session yet');
  await b.open(order);
  await b.submit(`${order}/again`, {}, { expect: 303 });
  assert.equal(b.path, '/checkout');
  assert.match(b.text, /Plain Editor .*\$39\.98/);

  await b.open(way);
  await payAtSandbox(b);
  await shop.until(async () => {
    await b.open(order);
    return /Paid and delivered/.test(b.text);
  }, 'the money came after all');
  assert.doesNotMatch(b.page, /\/again"/);
  await b.open('/cart');
  assert.equal((await b.post(`${order}/again`, { csrf: b.form('/cart/update').fields.csrf })).status, 409);
});

test('forms of a visitor without a session, and references that are none', async () => {
  const b = browser();
  for (const [path, fields, location] of [
    ['/cart/update', { product_id: 1, quantity: 1 }, '/cart'],
    ['/cart/coupon', { code: 'TEN' }, '/cart'],
    ['/cart/coupon/remove', {}, '/cart'],
    ['/checkout', { pay_with: 'sandbox', email: 'nobody@example.com' }, '/cart'],
  ])
    assert.equal((await b.post(path, fields)).location, location, path);
  for (const path of ['/order/x', '/pay/x', `/order/${'0'.repeat(32)}p1`, `/pay/${'0'.repeat(32)}o1`])
    assert.equal((await b.open(path)).status, 404, path);
});

test('an address alone opens no wallet', async () => {
  const rich = await shop.buyer({ balance: 100000 });
  const b = browser();
  await b.open('/p/plain-editor');
  await b.submit('/cart/add', { then: 'checkout' });
  assert.doesNotMatch(b.page, /value="wallet"/);
  const refused = await b.submit('/checkout', { email: rich.email, pay_with: 'wallet' });
  assert.equal(refused.status, 422);
  assert.equal((await shop.wallet(rich)).balance, 1000);
  shop.seed.sql(`UPDATE account SET is_active = 0 WHERE id = ${rich.id};`);
  await b.open('/checkout');
  const off = await b.submit('/checkout', { email: rich.email, pay_with: 'sandbox' });
  assert.equal(off.status, 422, 'nothing is sold to an account that staff have switched off');
});

test('the same form sent 20 times at once makes one order', async () => {
  const b = browser();
  await b.open('/p/plain-editor');
  await b.submit('/cart/add', { then: 'checkout' });
  const { fields } = b.form('/checkout');
  const body = { ...fields, email: 'twenty@example.com', pay_with: 'sandbox' };
  const answers = await Promise.all(Array.from({ length: 20 }, () => b.post('/checkout', body)));
  assert.deepEqual([...new Set(answers.map((a) => a.status))], [303]);
  assert.equal(new Set(answers.map((a) => a.location)).size, 1);
  // The back button and another choice: the same order still.
  const again = await b.post('/checkout', { ...body, email: 'other@example.com' });
  assert.equal(again.location, answers[0].location);
  const orders = dataOf(await shop.admin('GET', '/api/admin/orders?q=twenty@example.com'));
  assert.equal(orders.length, 1);
});

test('what costs nothing is delivered at once', async () => {
  dataOf(
    await shop.admin('POST', '/api/admin/coupons', {
      code: 'ALL',
      kind: 'percent',
      value: 100,
      max_uses_per_customer: 100,
    }),
    201,
  );
  const b = browser();
  await b.open('/p/choice');
  await b.submit('/cart/add', { then: 'cart' });
  await b.submit('/cart/coupon', { code: 'ALL' });
  await b.open('/checkout');
  assert.match(b.text, /nothing to pay/);
  const sent = await b.submit('/checkout', { email: 'free@example.com' }, { expect: 303 });
  assert.match(sent.location, /^\/order\//);
  assert.match(b.text, /Paid and delivered/);
  const way = await b.request('GET', sent.location.replace('/order/', '/pay/'));
  assert.equal(way.location, sent.location, 'there is no payment to go to');
  shop.seed.sql("UPDATE orders SET paid_with = 'manual' WHERE id = (SELECT MAX(id) FROM orders);");
  await b.open(b.path);
  assert.match(b.text, /Paid and delivered/);
});

test('each provider has its words at the checkout; codes and links are shown as such', async () => {
  const http = { base_url: 'http://127.0.0.1:1' };
  const config = {
    card_gateway_a: { secrets: ['whsec_1'], api_key: 'sk_test_1' },
    card_gateway_b: { secrets: ['x'], api_key: 'rzp_test_1', api_secret: 's' },
    wallet_gateway: { api_key: 'id', api_secret: 's', webhook_id: 'w', ca_bundle: issue('127.0.0.1').authority },
    crypto_gateway: { secrets: ['x'], api_key: 'k', store_id: 's' },
  };
  const labels = [];
  for (const [label, fields] of Object.entries(config)) {
    const answer = await shop.admin('PUT', `/api/admin/gateways/${label}`, { is_enabled: true, ...http, ...fields });
    assert.equal(answer.status, 200, answer.text);
    labels.push(label);
  }
  const codes = await product({ name: 'Codes', slug: 'codes', price: 0, delivery_type: 'serial_code' });
  dataOf(await shop.admin('POST', `/api/admin/products/${codes.id}/serials`, { codes: ['CODE-IN-THE-SHOP'] }));
  const b = browser();
  await b.open('/p/codes');
  await b.submit('/cart/add', { then: 'checkout' }, { expect: 303 });
  await b.submit('/checkout', { email: 'codes@example.com' }, { expect: 303 });
  assert.match(b.text, /CODE-IN-THE-SHOP/);
  await b.open('/p/plain-editor');
  await b.submit('/cart/add', { then: 'checkout' }, { expect: 303 });
  for (const label of labels) assert.ok(b.page.includes(`value="${label}"`), label);
  const stripe = await shop.played('stripe');
  stripe.fail({ status: 402, match: /sessions$/ });
  const refused = await b.submit('/checkout', { email: 'refused@example.com', pay_with: 'card_gateway_a' });
  assert.equal(refused.status, 502, 'the gateway refuses');
  assert.match(b.text, /Plain Editor/, 'and the form is there to choose another way');
  assert.equal(b.form('/checkout').fields.pay_with, 'card_gateway_a');
  for (const label of labels) dataOf(await shop.admin('PUT', `/api/admin/gateways/${label}`, { is_enabled: false }));
});

test('every language has its words; the store offers those of its setting', async () => {
  const b = browser({ language: 'de-AT,de;q=0.9,en;q=0.5' });
  const english = await b.open('/');
  assert.equal(english.headers.get('content-language'), 'en');
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { languages: ['en', 'de', 'fr', 'es'] }));
  const german = await shop.until(async () => {
    const answer = await b.open('/');
    return answer.headers.get('content-language') === 'de' && answer;
  });
  assert.match(german.text, /<html lang="de">/);
  assert.match(german.text, /19,99\u00a0\$/);
  for (const [language, words] of [
    ['fr', 'Panier'],
    ['es', 'Carrito'],
    ['it', 'Cart'],
  ]) {
    assert.match((await browser({ language }).open('/')).text, new RegExp(words));
  }
});

test('with the storefront switched off only what mails lead to is left', async () => {
  const buyer = browser();
  await buyer.open('/p/plain-editor');
  await buyer.submit('/cart/add', { then: 'checkout' }, { expect: 303 });
  await buyer.submit('/checkout', { email: 'off@example.com', pay_with: 'sandbox' }, { expect: 303 });
  const cancelled = buyer.path.replace('/pay/', '/order/');
  shop.seed.sql("UPDATE orders SET status = 'cancelled' WHERE id = (SELECT MAX(id) FROM orders);");
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { storefront: false }));
  const b = browser();
  await shop.until(async () => (await b.open('/cart')).status === 404);
  const root = await b.open('/');
  assert.equal(root.status, 200);
  assert.match(root.text, /href="\/docs"/);
  assert.match(root.text, /href="\/admin\/"/);
  assert.equal((await b.open('/p/plain-editor')).status, 404);
  assert.equal((await b.open('/login')).status, 404);
  assert.equal((await b.open(cancelled)).status, 200);
  assert.doesNotMatch(b.page, /\/again"/);
  assert.equal(formsOf(root.text).length, 0);
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { storefront: true }));
});
