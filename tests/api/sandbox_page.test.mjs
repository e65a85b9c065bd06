// The sandbox: a whole purchase without an account anywhere, over its page and its own signed webhooks.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { openPaidShop } from './lib/gateways.mjs';

let shop;
let editor;

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor <b>&', price: 4999 });
});
after(() => shop.stop());

const page = (url) => shop.souk.request('GET', new URL(url).pathname, { unchecked: true });
const press = (url, form) => shop.souk.request('POST', new URL(url).pathname,
  { body: new URLSearchParams(form).toString(), type: 'application/x-www-form-urlencoded', unchecked: true });

test('it is off, and nothing of it is there, until it is switched on', async () => {
  const buyer = await shop.buyerWith([[editor, 1]]);
  assert.equal((await shop.checkoutAnswer(buyer, 'sandbox')).status, 422);
  expectStatus(await shop.post('sandbox', '{}', {}), 404);
  for (const [method, path] of [['GET', '/sandbox/pay/x'], ['POST', '/sandbox/pay/x'], ['GET', '/sandbox/api/payments/x'], ['POST', '/sandbox/api/payments']]) {
    const answer = await shop.souk.request(method, path, { unchecked: true, type: 'application/json',
      body: method === 'POST' ? '{"reference":"r","order_ref":"1","description":"d","amount":1,"currency":"USD"}' : undefined });
    assert.ok([404, 422].includes(answer.status), `${method} ${path}: ${answer.status}`);
    assert.notEqual(answer.status, 200);
  }
  const on = await shop.connect('sandbox', {});
  assert.equal(on.mode, 'test');
  assert.equal(on.secrets.length, 1);
  assert.notEqual(on.api_key, null);
});

test('add to cart, coupon, checkout, pay, webhook, key, refund, revoked', async () => {
  shop.seed.coupon({ code: 'TEN', kind: 'percent', value: 1000 });
  const buyer = await shop.buyerWith([[editor, 1]]);
  dataOf(await shop.souk.post('/api/store/cart/coupon', { code: 'TEN' }, { token: buyer.token }));
  const bought = await shop.checkout(buyer, 'sandbox', { success_url: 'https://shop.example/thanks?a=1&b=2' });
  assert.equal(bought.total, 44.99);
  const { url } = bought.payment;
  assert.ok(url.startsWith(`${shop.souk.url}/sandbox/pay/sbx_`), url);

  const shown = await page(url);
  expectStatus(shown, 200);
  assert.match(shown.headers['content-type'], /text\/html/);
  assert.match(shown.headers['content-security-policy'], /default-src 'none'/);
  assert.match(shown.text, /SANDBOX/);
  assert.match(shown.text, /No money is taken/);
  assert.match(shown.text, /44\.99 USD/);
  assert.ok(!shown.text.includes('<script'));
  assert.equal((await shop.order(buyer, bought.order_id)).status, 'pending');

  const pressed = await press(url, { action: 'pay' });
  assert.equal(pressed.status, 303);
  assert.equal(pressed.headers.location, new URL(url).pathname);
  await shop.until(async () => (await shop.order(buyer, bought.order_id)).status === 'confirmed', 'its webhook');
  const order = await shop.order(buyer, bought.order_id);
  assert.equal(order.paid_with, 'sandbox');
  const key = order.items[0].deliveries[0].value;
  dataOf(await shop.verify(buyer, { license_key: key, product_id: editor.id }));
  const paid = await page(url);
  assert.match(paid.text, /<dd>paid<\/dd>/);
  assert.ok(paid.text.includes('href="https://shop.example/thanks?a=1&amp;b=2"'));

  await press(url, { action: 'refund_part' });
  await shop.until(async () => (await shop.order(buyer, bought.order_id)).refunded_amount === 22.49, 'half of it back');
  await press(url, { action: 'refund', twice: '1' });
  await shop.until(async () => (await shop.order(buyer, bought.order_id)).status === 'refunded', 'all of it back');
  expectError(await shop.verify(buyer, { license_key: key, product_id: editor.id }), 403, 'license_revoked', 'License is revoked');
  await shop.check();
});

test('it fails on demand, and can be paid after all; twice and late', async () => {
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { order_id, payment } = await shop.checkout(buyer, 'sandbox');
  await press(payment.url, { action: 'fail', twice: '1' });
  await shop.until(async () => (await shop.order(buyer, order_id)).status === 'cancelled', 'cancelled');
  await press(payment.url, { action: 'pay', twice: '1', late: '1' });
  assert.equal((await shop.order(buyer, order_id)).status, 'cancelled');
  const waiting = shop.seed.number(`SELECT COUNT(*) FROM outbox WHERE kind = 'sandbox' AND status = 'waiting' AND due_at > ${Date.now() + 4000}`);
  assert.equal(waiting, 2);
  shop.hurry('sandbox');
  await shop.until(async () => (await shop.order(buyer, order_id)).status === 'confirmed', 'confirmed after all');
  await shop.until(() => shop.seed.number("SELECT COUNT(*) FROM outbox WHERE kind = 'sandbox' AND status = 'waiting'") === 0, 'both were sent');
  assert.equal(shop.seed.number(`SELECT COUNT(*) FROM transfer WHERE kind = 'payment' AND reference_id = ${order_id}`), 1);
  assert.equal((await press(payment.url, { action: 'pay' })).status, 409);
  await press(payment.url, { action: 'dispute' });
  await shop.until(async () => (await shop.order(buyer, order_id)).on_hold, 'on hold');
});

test('staff refund through its API', async () => {
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { order_id, payment } = await shop.checkout(buyer, 'sandbox');
  await press(payment.url, { action: 'pay' });
  await shop.until(async () => (await shop.order(buyer, order_id)).status === 'confirmed', 'confirmed');
  dataOf(await shop.admin('POST', `/api/admin/orders/${order_id}/refund`, {}));
  await shop.until(async () => /<dt>Refunded<\/dt><dd>49\.99 USD/.test((await page(payment.url)).text), 'the sandbox has given it back');
  await shop.check();
});

test('top-ups work as well', async () => {
  const buyer = await shop.buyer({ balance: 0 });
  const made = dataOf(await shop.souk.post('/api/customer/wallet/topup', { amount: 12.5, gateway: 'sandbox' }, { token: buyer.token }), 201);
  await press(made.payment.url, { action: 'pay' });
  await shop.until(async () => (await shop.wallet(buyer)).balance === 12.5, 'credited');
});

test('strangers can neither pay nor sign', async () => {
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { order_id } = await shop.checkout(buyer, 'sandbox');
  expectStatus(await shop.souk.request('GET', '/sandbox/pay/sbx_guess', { unchecked: true }), 404);
  expectStatus(await press(`${shop.souk.url}/sandbox/pay/sbx_guess`, { action: 'pay' }), 404);
  assert.equal((await press(`${shop.souk.url}/sandbox/pay/sbx_guess`, { action: 'steal' })).status, 422);
  const api = (headers) => shop.souk.request('POST', '/sandbox/api/payments', { unchecked: true, headers,
    body: { reference: 'r', order_ref: String(order_id), description: 'd', amount: 1, currency: 'USD' } });
  assert.equal((await api({})).status, 401);
  assert.equal((await api({ Authorization: 'Sandbox guess' })).status, 401);
  const raw = JSON.stringify({ id: 'e', type: 'payment.succeeded', created: 1, data: { payment: 'x', order_ref: String(order_id), amount: 4999, currency: 'USD' } });
  expectError(await shop.post('sandbox', raw, { 'Souk-Sandbox-Signature': `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}` }), 400, 'signature_invalid');
  assert.equal((await shop.order(buyer, order_id)).status, 'pending');
});

test('what it shows is escaped', async () => {
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { payment } = await shop.checkout(buyer, 'sandbox', { cancel_url: 'https://shop.example/?q="><script>alert(1)</script>' }).catch(() => ({}));
  if (!payment) return; // such an address is refused already
  assert.ok(!(await page(payment.url)).text.includes('<script'));
});

test('the server says loudly that it is on', async () => {
  await shop.souk.restart();
  assert.match(shop.souk.stderr, /level="?warn"?.*sandbox_is_on/);
  await shop.check();
});
