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
const press = (url, form) =>
  shop.souk.request('POST', new URL(url).pathname, {
    body: new URLSearchParams(form).toString(),
    type: 'application/x-www-form-urlencoded',
    unchecked: true,
  });

test('it is off, and nothing of it is there, until it is switched on', async () => {
  const buyer = await shop.buyerWith([[editor, 1]]);
  assert.equal((await shop.checkoutAnswer(buyer, 'sandbox')).status, 422);
  expectStatus(await shop.post('sandbox', '{}', {}), 404);
  for (const [method, path] of [
    ['GET', '/sandbox/pay/x'],
    ['POST', '/sandbox/pay/x'],
    ['GET', '/sandbox/api/payments/x'],
    ['POST', '/sandbox/api/payments'],
  ]) {
    const answer = await shop.souk.request(method, path, {
      unchecked: true,
      type: 'application/json',
      body:
        method === 'POST'
          ? '{"reference":"r","order_ref":"1","description":"d","amount":1,"currency":"USD"}'
          : undefined,
    });
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
  expectError(
    await shop.verify(buyer, { license_key: key, product_id: editor.id }),
    403,
    'license_revoked',
    'License is revoked',
  );
  await shop.check();
});

test('it fails on demand, and can be paid after all; twice and late', async () => {
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { order_id, payment } = await shop.checkout(buyer, 'sandbox');
  await press(payment.url, { action: 'fail', twice: '1' });
  await shop.until(async () => (await shop.order(buyer, order_id)).status === 'cancelled', 'cancelled');
  const failed = await shop.payment(buyer, payment.reference);
  assert.deepEqual([failed.status, failed.url], ['failed', payment.url], 'it may be tried once more');
  await press(payment.url, { action: 'pay', twice: '1', late: '1' });
  assert.equal((await shop.order(buyer, order_id)).status, 'cancelled');
  const waiting = shop.seed.number(
    `SELECT COUNT(*) FROM outbox WHERE kind = 'sandbox' AND status = 'waiting' AND due_at > ${Date.now() + 4000}`,
  );
  assert.equal(waiting, 2);
  shop.hurry('sandbox');
  await shop.until(async () => (await shop.order(buyer, order_id)).status === 'confirmed', 'confirmed after all');
  await shop.until(
    () => shop.seed.number("SELECT COUNT(*) FROM outbox WHERE kind = 'sandbox' AND status = 'waiting'") === 0,
    'both were sent',
  );
  assert.equal(
    shop.seed.number(`SELECT COUNT(*) FROM transfer WHERE kind = 'payment' AND reference_id = ${order_id}`),
    1,
  );
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
  await shop.until(
    async () => /<dt>Refunded<\/dt><dd>49\.99 USD/.test((await page(payment.url)).text),
    'the sandbox has given it back',
  );
  await shop.check();
});

test('top-ups work as well', async () => {
  const buyer = await shop.buyer({ balance: 0 });
  const made = dataOf(
    await shop.souk.post('/api/customer/wallet/topup', { amount: 12.5, gateway: 'sandbox' }, { token: buyer.token }),
    201,
  );
  await press(made.payment.url, { action: 'pay' });
  await shop.until(async () => (await shop.wallet(buyer)).balance === 12.5, 'credited');
});

/** A play through its API, with the key that the sandbox was given. */
const play = (ref, body) =>
  shop.souk.request('POST', `/sandbox/api/payments/${ref}/play`, {
    unchecked: true,
    headers: { Authorization: 'Sandbox sbx_key_for_tests_only' },
    body,
  });

/** A pending order and its payment at the sandbox. */
async function atSandbox() {
  await shop.connect('sandbox', { api_key: 'sbx_key_for_tests_only' });
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { order_id, payment } = await shop.checkout(buyer, 'sandbox');
  const ref = new URL(payment.url).pathname.split('/').pop();
  const order = () => shop.order(buyer, order_id);
  return {
    buyer,
    id: order_id,
    url: payment.url,
    ref,
    order,
    play: async (action, more) => dataOf(await play(ref, { action, ...more })),
    becomes: (status) => shop.until(async () => (await order()).status === status, status),
  };
}

const reviews = async (id, kind) =>
  (
    await Promise.all(
      dataOf(await shop.admin('GET', `/api/admin/reviews?limit=100&kind=${kind}`)).map(async (r) =>
        dataOf(await shop.admin('GET', `/api/admin/reviews/${r.id}`)),
      ),
    )
  ).filter((r) => r.order_id === id);

test('it plays money that is too little, too much or in another currency: for a person to look at', async () => {
  for (const action of ['pay_part', 'pay_too_much', 'pay_other_currency']) {
    const paid = await atSandbox();
    await paid.play(action);
    await shop.until(async () => (await reviews(paid.id, 'amount')).length === 1, action);
    assert.equal((await paid.order()).status, 'pending', action);
  }
  await shop.check();
});

test('it plays two payments, a payment after its page has ended, and messages in the wrong order', async () => {
  const twice = await atSandbox();
  await twice.play('pay');
  await twice.becomes('confirmed');
  await twice.play('pay_twice');
  await shop.until(
    async () =>
      (await shop.events()).some(
        (e) => e.order_ref === String(twice.id) && e.status !== 'handled' && e.kind === 'succeeded',
      ) || (await reviews(twice.id, 'duplicate')).length,
    'the second is seen',
  );

  const late = await atSandbox();
  await late.play('expire');
  await late.becomes('cancelled');
  await late.play('pay');
  await shop.until(
    async () => (await late.order()).status === 'confirmed' || (await reviews(late.id, 'late')).length === 1,
    'late money is not lost',
  );

  const swapped = await atSandbox();
  await swapped.play('pay_swapped');
  await shop.until(
    async () => (await shop.events()).some((e) => e.order_ref === String(swapped.id) && e.kind === 'refunded'),
    'the refund comes first',
  );
  assert.equal((await swapped.order()).status, 'pending');
  shop.hurry('sandbox');
  await shop.until(async () => {
    const o = await swapped.order();
    return o.status === 'confirmed' && o.refunded_amount > 0;
  }, 'both have taken effect');
  await shop.check();
});

test('it plays disputes: won, lost, lost in part, withdrawn', async () => {
  for (const [end, wanted] of [
    ['dispute_won', 'confirmed'],
    ['dispute_withdrawn', 'confirmed'],
    ['dispute_lost_part', 'confirmed'],
    ['dispute_lost', 'refunded'],
  ]) {
    const paid = await atSandbox();
    await paid.play('pay');
    await paid.becomes('confirmed');
    await paid.play('dispute');
    await shop.until(async () => (await paid.order()).on_hold, 'on hold');
    await paid.play(end, { twice: true });
    await shop.until(async () => !(await paid.order()).on_hold, end);
    await paid.becomes(wanted);
    assert.equal(
      (await paid.order()).refunded_amount,
      { dispute_lost_part: 24.99, dispute_lost: 49.99 }[end] ?? 0,
      end,
    );
    assert.equal((await play(paid.ref, { action: end })).status, 409);
  }
  await shop.check();
});

test('it plays silence, a refund that is refused, and an answer that is lost', async () => {
  const silent = await atSandbox();
  await silent.play('pay', { silent: true });
  assert.equal(shop.seed.number("SELECT COUNT(*) FROM outbox WHERE kind = 'sandbox' AND status = 'waiting'"), 0);
  shop.hurry('ask');
  await silent.becomes('confirmed');

  await silent.play('refuse_refunds');
  dataOf(await shop.admin('POST', `/api/admin/orders/${silent.id}/refund`, {}));
  const failed = await shop.until(
    async () =>
      dataOf(await shop.admin('GET', `/api/admin/orders/${silent.id}`)).refunds.find((r) => r.status === 'failed'),
    'refused',
  );
  assert.equal((await silent.order()).status, 'confirmed');
  assert.ok(failed);

  const lost = await atSandbox();
  await lost.play('pay');
  await lost.becomes('confirmed');
  await lost.play('lose_answer');
  dataOf(await shop.admin('POST', `/api/admin/orders/${lost.id}/refund`, {}));
  await shop.until(async () => {
    shop.hurry('refund');
    return (await lost.order()).status === 'refunded';
  }, 'given back');
  assert.equal(
    shop.seed.number(
      `SELECT COUNT(*) FROM sandbox_refund WHERE payment_id = (SELECT id FROM sandbox_payment WHERE ref = '${lost.ref}')`,
    ),
    1,
  );
  await shop.check();
});

test('it loses the answer to a payment that it made: the shop asks again and finds the same one', async () => {
  const first = await atSandbox();
  await first.play('lose_next_create');
  const made = () => shop.seed.number('SELECT COUNT(*) FROM sandbox_payment');
  const before_ = made();
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { order_id, payment } = await shop.checkout(buyer, 'sandbox');
  assert.equal(payment.url, null);
  const found = await shop.until(async () => {
    shop.hurry('create');
    return (await shop.order(buyer, order_id)).payment.url;
  }, 'its page');
  assert.equal(made(), before_ + 1);
  await press(found, { action: 'pay' });
  await shop.until(async () => (await shop.order(buyer, order_id)).status === 'confirmed', 'paid there');
  await shop.check();
});

test('it plays a bank that sends refunds back: each by its own name', async () => {
  const paid = await atSandbox();
  const money = async () => {
    const [p] = dataOf(await shop.admin('GET', `/api/admin/payments?order_id=${paid.id}`));
    return [p.returned, p.waiting];
  };
  const has = (wanted) => shop.until(async () => String(await money()) === String(wanted), `${wanted}`);
  await paid.play('pay');
  await paid.becomes('confirmed');
  assert.equal((await play(paid.ref, { action: 'refund_returned' })).status, 409);
  dataOf(await shop.admin('POST', `/api/admin/orders/${paid.id}/refund`, { amount: 10 }));
  await has([10, 0]);
  await paid.play('refund_returned', { twice: true });
  await has([0, 10]);
  // Another refund is not the one that came back, though that one would fit into it.
  await paid.play('refund_part');
  await has([24.99, 0]);
  await paid.play('refund_returned');
  await has([0, 24.99]);
  assert.equal((await reviews(paid.id, 'refund_failed')).length, 2);
  await shop.check();
});

test('a page that the shop closed takes no money', async () => {
  const gone = await atSandbox();
  dataOf(await shop.admin('POST', `/api/admin/orders/${gone.id}/cancel`, {}));
  await shop.until(async () => /has closed this page/.test((await page(gone.url)).text), 'closed at the sandbox, too');
  assert.equal((await play(gone.ref, { action: 'pay' })).status, 409);
  assert.equal((await press(gone.url, { action: 'pay' })).status, 409);
  assert.equal((await gone.order()).status, 'cancelled');
  assert.equal((await play(gone.ref, { action: 'rob' })).status, 422);
  assert.equal(
    (
      await shop.souk.request('POST', `/sandbox/api/payments/${gone.ref}/play`, {
        unchecked: true,
        body: { action: 'pay' },
      })
    ).status,
    401,
  );
});

test('strangers can neither pay nor sign', async () => {
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { order_id } = await shop.checkout(buyer, 'sandbox');
  expectStatus(await shop.souk.request('GET', '/sandbox/pay/sbx_guess', { unchecked: true }), 404);
  expectStatus(await press(`${shop.souk.url}/sandbox/pay/sbx_guess`, { action: 'pay' }), 404);
  assert.equal((await press(`${shop.souk.url}/sandbox/pay/sbx_guess`, { action: 'steal' })).status, 422);
  const api = (headers) =>
    shop.souk.request('POST', '/sandbox/api/payments', {
      unchecked: true,
      headers,
      body: { reference: 'r', order_ref: String(order_id), description: 'd', amount: 1, currency: 'USD' },
    });
  assert.equal((await api({})).status, 401);
  assert.equal((await api({ Authorization: 'Sandbox guess' })).status, 401);
  assert.equal((await api({ Authorization: 'Bearer guess' })).status, 401);
  const raw = JSON.stringify({
    id: 'e',
    type: 'payment.succeeded',
    created: 1,
    data: { payment: 'x', order_ref: String(order_id), amount: 4999, currency: 'USD' },
  });
  expectError(
    await shop.post('sandbox', raw, {
      'Souk-Sandbox-Signature': `t=${Math.floor(Date.now() / 1000)},v1=${'0'.repeat(64)}`,
    }),
    400,
    'signature_invalid',
  );
  assert.equal((await shop.order(buyer, order_id)).status, 'pending');
});

test('its API refuses what a provider would refuse', async () => {
  await shop.connect('sandbox', { api_key: 'sbx_known_to_the_test' });
  const call = (path, body, key = 'sbx_known_to_the_test') =>
    shop.souk.request('POST', `/sandbox/api/payments${path}`, {
      unchecked: true,
      headers: { Authorization: `Sandbox ${key}` },
      body,
    });
  const want = { reference: 'r', order_ref: '1', description: 'd', amount: 100 };
  assert.equal((await call('', { ...want, currency: 'ZZZ' })).status, 422);
  const made = await call('', { ...want, currency: 'USD' });
  expectStatus(made, 201);
  const ref = /sbx_\w+/.exec(made.text)[0];
  for (const path of ['/sbx_nobody/refund', '/sbx_nobody/close'])
    for (const [key, status] of Object.entries({ sbx_known_to_the_test: 404, guess: 401 }))
      assert.equal((await call(path, path.endsWith('refund') ? { amount: 1 } : undefined, key)).status, status, path);
  assert.ok((await call(`/${ref}/refund`, { amount: 1 })).status >= 400, 'nothing was paid');
  expectStatus(await call(`/${ref}/close`), 200);
  assert.equal((await call(`/${ref}/close`)).status, 422, 'once');
});

test('what it shows is escaped', async () => {
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { payment } = await shop
    .checkout(buyer, 'sandbox', { cancel_url: 'https://shop.example/?q="><script>alert(1)</script>' })
    .catch(() => ({}));
  if (!payment) return; // such an address is refused already
  assert.ok(!(await page(payment.url)).text.includes('<script'));
});

test('the server says loudly that it is on', async () => {
  await shop.souk.restart();
  assert.match(shop.souk.stderr, /level="?warn"?.*sandbox_is_on/);
  await shop.check();
});
