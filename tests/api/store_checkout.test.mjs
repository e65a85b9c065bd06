// Checkout: from a cart to an order, by wallet, for nothing, and through gateways that answer or do not.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { openPaidShop, play, stripeEvent } from './lib/gateways.mjs';

let shop;
let editor;
let stripe;

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor', price: 4999 });
  stripe = await shop.played('stripe');
});
after(() => shop.stop());

const cart = async (buyer) => dataOf(await shop.souk.get('/api/store/cart', { token: buyer.token }));

test('by wallet: confirmed and delivered in the answer, the cart is empty', async () => {
  const buyer = await shop.buyerWith([[editor, 2]], { balance: 20000 });
  const bought = await shop.checkout(buyer, 'wallet');
  assert.equal(bought.status, 'confirmed');
  assert.equal(bought.total, 99.98);
  assert.equal(bought.payment, null);
  assert.equal(bought.deliveries.length, 2);
  assert.equal((await cart(buyer)).items.length, 0);
  assert.equal((await shop.wallet(buyer)).balance, 100.02);
  const order = await shop.order(buyer, bought.order_id);
  assert.equal(order.paid_with, 'wallet');
  assert.equal(order.channel, 'cart');
  for (const { value } of bought.deliveries) {
    dataOf(await shop.verify(buyer, { license_key: value, product_id: editor.id }));
  }
  const told = dataOf(await shop.souk.get('/api/customer/notifications', { token: buyer.token }));
  assert.deepEqual(
    told.map((n) => n.kind),
    ['order_delivered'],
  );
  await shop.check();
});

test('what is not there cannot be spent, and nothing is changed', async () => {
  const buyer = await shop.buyerWith([[editor, 1]], { balance: 1000 });
  const before_ = shop.traces();
  const answer = expectError(
    await shop.checkoutAnswer(buyer, 'wallet'),
    402,
    'insufficient_balance',
    'Insufficient wallet balance',
  );
  assert.equal(answer.json.required, 49.99);
  assert.equal(answer.json.available, 10);
  assert.deepEqual(shop.traces(), before_);
  assert.equal((await cart(buyer)).items.length, 1);
});

test('post-pay credit is for API orders, not for carts', async () => {
  const buyer = await shop.buyerWith([[editor, 1]], { balance: 0, credit_limit: 100000 });
  expectError(await shop.checkoutAnswer(buyer, 'wallet'), 402, 'insufficient_balance');
});

test('an empty cart, an unknown way to pay, bad addresses', async () => {
  const buyer = await shop.buyer({ balance: 0 });
  expectError(await shop.checkoutAnswer(buyer, 'wallet'), 422, 'cart_empty');
  expectFields(await shop.checkoutAnswer(buyer, 'nonsense'), { pay_with: 'not_allowed' });
  expectFields(await shop.checkoutAnswer(buyer, 'card_gateway_b'), { pay_with: 'not_allowed' });
  expectFields(await shop.checkoutAnswer(buyer, 'stripe'), { pay_with: 'not_allowed' });
  expectFields(await shop.souk.post('/api/store/cart/checkout', {}, { token: buyer.token }), { pay_with: 'required' });
  expectFields(
    await shop.checkoutAnswer(buyer, 'wallet', {
      success_url: 'javascript:alert(1)',
      cancel_url: '/relative',
      price: 1,
    }),
    { success_url: 'bad_format', cancel_url: 'bad_format', price: 'unknown_field' },
  );
});

test('what is not sold any more is refused by name', async () => {
  const old = shop.seed.product({ name: 'Old <tool>', price: 100 });
  const buyer = await shop.buyerWith(
    [
      [editor, 1],
      [old, 1],
    ],
    { balance: 100000 },
  );
  shop.seed.update('product', old.id, { is_active: 0 });
  const answer = expectFields(await shop.checkoutAnswer(buyer, 'wallet'), { items: 'unknown_id' });
  assert.equal(answer.json.product, 'Old <tool>');
  assert.equal((await cart(buyer)).items.length, 2);

  const sizes = shop.seed.product({ name: 'Sizes', price: 100 });
  const variants = ['S', 'L'].map((name) => shop.seed.variant(sizes, { name, price: 100 }));
  const other = await shop.buyer({ balance: 100000 });
  const line = { product_id: sizes.id, variant_id: variants[0].id, quantity: 1 };
  dataOf(await shop.souk.post('/api/store/cart/add', line, { token: other.token }));
  const plain = shop.seed.product({ name: 'Plain', price: 100 });
  const third = await shop.buyerWith([[plain, 1]], { balance: 100000 });
  shop.seed.variant(plain, { name: 'One', price: 100 }); // now one has to be chosen
  expectFields(await shop.checkoutAnswer(third, 'wallet'), { items: 'unknown_id' });
  for (const variant of variants) {
    shop.seed.update('variant', variant.id, { is_active: 0 }); // the chosen one, then every one
    const refused = expectFields(await shop.checkoutAnswer(other, 'wallet'), { items: 'unknown_id' });
    assert.equal(refused.json.product, 'Sizes');
  }
});

test('what staff delete while it is in a cart: never a silently higher price, never less than was shown', async () => {
  const [kept, dropped] = [shop.seed.product({ price: 1000 }), shop.seed.product({ price: 500 })];
  const coupon = shop.seed.coupon({ value: 5000 });
  const buyer = await shop.buyerWith([[kept], [dropped]], { balance: 10000 });
  dataOf(await shop.souk.post('/api/store/cart/coupon', { code: coupon.code }, { token: buyer.token }));
  const remove = async (path) => dataOf(await shop.admin('DELETE', path)).deleted;
  assert.equal(await remove(`/api/admin/coupons/${coupon.id}`), false);
  expectError(await shop.checkoutAnswer(buyer, 'wallet'), 422, 'coupon_invalid');
  assert.equal(dataOf(await shop.souk.get('/api/store/cart', { token: buyer.token })).total, 15);
  assert.equal(await remove(`/api/admin/products/${dropped.id}`), false);
  expectFields(await shop.checkoutAnswer(buyer, 'wallet'), { items: 'unknown_id' });
  const left = await shop.souk.patch(
    '/api/store/cart/items',
    { product_id: dropped.id, quantity: 0 },
    { token: buyer.token },
  );
  assert.equal(dataOf(left).total, 10);
  assert.equal(await remove(`/api/admin/products/${dropped.id}`), true);
  dataOf(await shop.checkoutAnswer(buyer, 'wallet'), 201);
});

test('a coupon is redeemed with the order; one that stopped being valid is an error', async () => {
  const coupon = shop.seed.coupon({ code: 'TEN', kind: 'percent', value: 1000 });
  const buyer = await shop.buyerWith([[editor, 1]], { balance: 100000 });
  dataOf(await shop.souk.post('/api/store/cart/coupon', { code: 'ten' }, { token: buyer.token }));
  shop.seed.update('coupon', coupon.id, { is_active: 0 });
  expectError(await shop.checkoutAnswer(buyer, 'wallet'), 422, 'coupon_invalid');
  shop.seed.update('coupon', coupon.id, { is_active: 1 });
  const bought = await shop.checkout(buyer, 'wallet');
  assert.equal(bought.total, 44.99);
  assert.equal(
    shop.seed.number(`SELECT COUNT(*) FROM coupon_use WHERE coupon_id = ${coupon.id} AND released_at IS NULL`),
    1,
  );
  assert.equal((await cart(buyer)).coupon, null);
});

test('a file that was taken away is not sold, also with a coupon that many share', async () => {
  const file = shop.seed.product({ delivery_type: 'download_url', download_url: 'https://cdn.example/x', price: 100 });
  shop.seed.coupon({ code: 'SHARED', kind: 'percent', value: 1000, max_uses: 5 });
  const buyer = await shop.buyerWith([[file, 1]], { balance: 1000 });
  dataOf(await shop.souk.post('/api/store/cart/coupon', { code: 'shared' }, { token: buyer.token }));
  shop.seed.update('product', file.id, { download_url: '' });
  expectError(await shop.checkoutAnswer(buyer, 'wallet'), 409, 'out_of_stock');
  assert.equal(shop.seed.number("SELECT uses FROM coupon WHERE code = 'SHARED'"), 0);
  assert.equal((await shop.wallet(buyer)).balance, 10);
});

test('a total of nothing is confirmed at once, whatever it was to be paid with', async () => {
  shop.seed.coupon({ code: 'FREE', kind: 'percent', value: 10000, max_uses_per_customer: null });
  for (const way of ['wallet', 'card_gateway_a']) {
    const buyer = await shop.buyerWith([[editor, 1]]);
    dataOf(await shop.souk.post('/api/store/cart/coupon', { code: 'FREE' }, { token: buyer.token }));
    const bought = await shop.checkout(buyer, way);
    assert.equal(bought.status, 'confirmed');
    assert.equal(bought.total, 0);
    assert.equal(bought.deliveries.length, 1);
    assert.equal((await shop.order(buyer, bought.order_id)).paid_with, 'free');
  }
});

test('through a gateway: pending, with the address to pay at; exactly one call, exactly as described', async () => {
  const buyer = await shop.buyerWith([[editor, 1]]);
  stripe.calls.length = 0;
  const answer = await shop.checkoutAnswer(buyer, 'card_gateway_a', {
    success_url: 'https://shop.example/ok',
    cancel_url: 'https://shop.example/no',
  });
  const bought = dataOf(answer, 201);
  assert.equal(answer.headers.location, `/api/customer/orders/${bought.order_id}`);
  assert.equal(bought.status, 'pending');
  assert.equal(bought.payment.gateway, 'card_gateway_a');
  const [session] = [...stripe.made.values()].slice(-1);
  assert.equal(bought.payment.url, session.url);
  assert.equal(bought.deliveries, undefined);
  assert.equal((await cart(buyer)).items.length, 0);

  assert.equal(stripe.calls.length, 1);
  const [call] = stripe.calls;
  assert.equal(`${call.method} ${call.path}`, 'POST /v1/checkout/sessions');
  assert.equal(call.headers['stripe-version'], '2024-06-20');
  assert.equal(call.headers['idempotency-key'], bought.payment.reference);
  assert.equal(call.headers['content-type'], 'application/x-www-form-urlencoded');
  assert.deepEqual(call.body, {
    mode: 'payment',
    client_reference_id: String(bought.order_id),
    success_url: 'https://shop.example/ok',
    cancel_url: 'https://shop.example/no',
    customer_email: buyer.email,
    expires_at: call.body.expires_at,
    'line_items[0][quantity]': '1',
    'line_items[0][price_data][currency]': 'usd',
    'line_items[0][price_data][unit_amount]': '4999',
    'line_items[0][price_data][product_data][name]': call.body['line_items[0][price_data][product_data][name]'],
    'metadata[order_id]': String(bought.order_id),
    'payment_intent_data[metadata][order_id]': String(bought.order_id),
    'metadata[reference]': bought.payment.reference,
    'payment_intent_data[metadata][reference]': bought.payment.reference,
  });
  const payment = await shop.payment(buyer, bought.payment.reference);
  assert.deepEqual(
    [payment.status, payment.order_id, payment.amount, payment.url],
    ['open', bought.order_id, 49.99, session.url],
  );
  const stranger = await shop.buyer();
  expectError(
    await shop.souk.get(`/api/customer/payments/${bought.payment.reference}`, { token: stranger.token }),
    404,
    'not_found',
  );
});

test('without an API key there is no address, and the event finds its order all the same', async () => {
  await shop.connect('no_key', { provider: 'stripe', secrets: ['whsec_no_key'] });
  const buyer = await shop.buyerWith([[editor, 1]]);
  const bought = await shop.checkout(buyer, 'no_key');
  assert.equal(bought.payment.url, null);
  assert.equal(bought.payment.expires_at, null);
  const event = stripeEvent('payment_intent.succeeded', { order: bought.order_id, amount: 4999, intent: 'pi_no_key' });
  dataOf(await shop.event('stripe', event, { name: 'no_key', secret: 'whsec_no_key' }));
  assert.equal((await shop.order(buyer, bought.order_id)).status, 'confirmed');
});

test('the same key: one order, one payment, one call, the same answer', async () => {
  const buyer = await shop.buyerWith([[editor, 1]]);
  stripe.calls.length = 0;
  const key = { headers: { 'Idempotency-Key': randomUUID() } };
  const first = await shop.checkoutAnswer(buyer, 'card_gateway_a', {}, key);
  const again = await shop.checkoutAnswer(buyer, 'card_gateway_a', {}, key);
  assert.equal(dataOf(first, 201).payment.url !== null, true);
  assert.equal(again.text, first.text);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.equal(stripe.calls.length, 1);
  expectError(await shop.checkoutAnswer(buyer, 'wallet', {}, key), 422, 'idempotency_key_reused');
});

test('a gateway that answers 500, late, or hangs up: the order is there, the address comes later, one session is made', async () => {
  for (const failure of [
    { status: 500 },
    { status: 503, effect: true },
    { reset: true, effect: true },
    { reset: true },
  ]) {
    const buyer = await shop.buyerWith([[editor, 1]]);
    const sessions = stripe.made.size;
    stripe.fail({ ...failure, match: /^POST/ }); // its books may be read at any time, which is a GET;
    const bought = await shop.checkout(buyer, 'card_gateway_a');
    assert.equal(bought.status, 'pending');
    assert.equal(bought.payment.url, null);
    const payment = await shop.until(
      async () => {
        const p = await shop.payment(buyer, bought.payment.reference);
        return p.url && p;
      },
      `an address after ${JSON.stringify(failure)}`,
    );
    assert.equal(payment.status, 'open');
    assert.equal(stripe.made.size, sessions + 1);
    const keys = stripe
      .to('POST', '/v1/checkout/sessions')
      .slice(-2)
      .map((c) => c.headers['idempotency-key']);
    assert.deepEqual(keys, [bought.payment.reference, bought.payment.reference]);
  }
});

test('a gateway that refuses for good: 502, the order is cancelled, the cart is as it was', async () => {
  const coupon = shop.seed.coupon({ code: 'BACK', kind: 'fixed', value: 100 });
  const buyer = await shop.buyerWith([[editor, 2]]);
  dataOf(await shop.souk.post('/api/store/cart/coupon', { code: 'BACK' }, { token: buyer.token }));
  const full = await cart(buyer);
  const key = { headers: { 'Idempotency-Key': randomUUID() } };
  for (const status of [400, 401, 402, 404]) {
    stripe.fail({ status, match: /^POST/ });
    expectError(await shop.checkoutAnswer(buyer, 'card_gateway_a', {}, key), 502, 'gateway_failed');
    assert.deepEqual(await cart(buyer), full);
    assert.equal(
      shop.seed.number(`SELECT COUNT(*) FROM coupon_use WHERE coupon_id = ${coupon.id} AND released_at IS NULL`),
      0,
    );
  }
  const orders = dataOf(await shop.souk.get('/api/customer/orders', { token: buyer.token }));
  assert.deepEqual(
    orders.map((o) => o.status),
    ['cancelled', 'cancelled', 'cancelled', 'cancelled'],
  );
  // The key is free: the next attempt is a new one.
  const bought = dataOf(await shop.checkoutAnswer(buyer, 'card_gateway_a', {}, key), 201);
  assert.equal(bought.total, 98.98);
  await shop.check();
});

test('logins do not wait for a gateway that hangs', async () => {
  const buyers = await Promise.all(Array.from({ length: 6 }, () => shop.buyerWith([[editor, 1]])));
  const customer = await shop.souk.customer();
  stripe.fail({ delay_ms: 6000, status: 500, times: 6, match: /sessions$/ });
  const pending = buyers.map((b) => shop.checkoutAnswer(b, 'card_gateway_a'));
  let answered = 0;
  for (const p of pending)
    void p.then(() => {
      answered += 1;
    });
  dataOf(await shop.souk.post('/api/auth/login', { email: customer.email, password: customer.password }));
  assert.equal(answered, 0, 'the login came after checkouts that wait for the gateway');
  for (const answer of await Promise.all(pending)) dataOf(answer, 201);
});

test('the other providers are called as described', async () => {
  const cases = {
    razorpay: (call, bought, buyer) => {
      assert.equal(`${call.method} ${call.path}`, 'POST /v1/payment_links');
      assert.deepEqual(
        { ...call.body, expire_by: 0, description: '' },
        {
          amount: 4999,
          currency: 'USD',
          reference_id: bought.payment.reference,
          description: '',
          customer: { email: buyer.email },
          notify: { sms: false, email: false },
          notes: { order_id: String(bought.order_id), reference: bought.payment.reference },
          expire_by: 0,
          callback_url: 'https://shop.example/ok',
          callback_method: 'get',
        },
      );
    },
    paypal: (call, bought) => {
      assert.equal(`${call.method} ${call.path}`, 'POST /v2/checkout/orders');
      assert.equal(call.headers['paypal-request-id'], bought.payment.reference);
      assert.equal(call.body.intent, 'CAPTURE');
      const [unit] = call.body.purchase_units;
      assert.deepEqual(unit.amount, { currency_code: 'USD', value: '49.99' });
      assert.deepEqual([unit.custom_id, unit.invoice_id], [String(bought.order_id), bought.payment.reference]);
      assert.equal(call.body.payment_source.paypal.experience_context.return_url, 'https://shop.example/ok');
    },
    btcpay: (call, bought) => {
      assert.equal(`${call.method} ${call.path}`, 'POST /api/v1/stores/store1/invoices');
      assert.deepEqual(
        [call.body.amount, call.body.currency, call.body.metadata.orderId, call.body.metadata.reference],
        ['49.99', 'USD', String(bought.order_id), bought.payment.reference],
      );
      assert.deepEqual(call.body.checkout, { expirationMinutes: 60, redirectURL: 'https://shop.example/ok' });
    },
  };
  for (const [provider, check] of Object.entries(cases)) {
    const player = await shop.played(provider, provider === 'paypal' ? { ca_bundle: 'not looked at here' } : {});
    const buyer = await shop.buyerWith([[editor, 1]]);
    const label = { razorpay: 'card_gateway_b', paypal: 'wallet_gateway', btcpay: 'crypto_gateway' }[provider];
    const bought = await shop.checkout(buyer, label, { success_url: 'https://shop.example/ok' });
    assert.match(bought.payment.url, /^https:\/\//, provider);
    // Its books may be read at any time, which is a GET.
    check(player.calls.filter((c) => c.method === 'POST').at(-1), bought, buyer);
  }
});

test('a second attempt looks first where repeating would make a second page', async () => {
  for (const provider of ['razorpay', 'btcpay']) {
    const player = await play(provider);
    shop.players.push(player);
    const label = `second_${provider}`;
    await shop.connect(label, { secrets: ['s3cret-enough'], ...player.config });
    const buyer = await shop.buyerWith([[editor, 1]]);
    player.fail({ reset: true, effect: true, match: /^POST/ });
    const bought = await shop.checkout(buyer, label);
    assert.equal(bought.payment.url, null);
    await shop.until(
      async () => (await shop.payment(buyer, bought.payment.reference)).url,
      `an address at ${provider}`,
    );
    assert.equal(player.made.size, 1, provider);
    const [first, ...later] = player.calls.map((c) => c.method);
    assert.deepEqual([first, [...new Set(later)]], ['POST', ['GET']], provider);
  }
});

test('PayPal: one token for many calls, a new one when it is not taken any more', async () => {
  const player = shop.players.find((p) => p.provider === 'paypal');
  player.calls.length = 0;
  for (let i = 0; i < 3; i++) {
    const buyer = await shop.buyerWith([[editor, 1]]);
    if (i === 2) player.token = 'another one';
    assert.match((await shop.checkout(buyer, 'wallet_gateway')).payment.url, /paypal\.played/);
  }
  const isBook = (c) => /customer\/disputes|reporting\//.test(c.path); // reconciliation may come round meanwhile
  assert.deepEqual(
    player.calls.filter((c) => !isBook(c)).map((c) => c.path.replace(/^\/v\d\//, '')),
    ['checkout/orders', 'checkout/orders', 'checkout/orders', 'oauth2/token', 'checkout/orders'],
  );
});

test('the books are in order', () => shop.check());
