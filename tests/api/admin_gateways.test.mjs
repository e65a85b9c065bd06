// Gateways: connecting them, keeping their secrets, believing only what their API says, and calling them back.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import Stripe from 'stripe';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { LABELS, btcpayEvent, openPaidShop, play, stripeEvent } from './lib/gateways.mjs';
import { issue, paypalHeaders } from './lib/certificates.mjs';

let shop;
let editor;

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor', price: 4999 });
});
after(() => shop.stop());

async function pending(label) {
  const buyer = await shop.buyerWith([[editor, 1]]);
  const bought = await shop.checkout(buyer, label);
  return {
    buyer,
    id: bought.order_id,
    payment: bought.payment,
    status: async () => (await shop.order(buyer, bought.order_id)).status,
  };
}

test('five gateways are there to begin with, all switched off', async () => {
  const all = dataOf(await shop.admin('GET', '/api/admin/gateways'));
  assert.deepEqual(
    all.map((g) => [g.label, g.provider, g.is_enabled, g.mode]),
    [
      ['card_gateway_a', 'stripe', false, 'test'],
      ['card_gateway_b', 'razorpay', false, 'test'],
      ['wallet_gateway', 'paypal', false, 'test'],
      ['crypto_gateway', 'btcpay', false, 'test'],
      ['sandbox', 'sandbox', false, 'test'],
    ],
  );
});

test('switching one on names what is missing', async () => {
  const put = (label, body) => shop.admin('PUT', `/api/admin/gateways/${label}`, body);
  expectFields(await put('card_gateway_a', { is_enabled: true }), { secrets: 'required' });
  expectFields(await put('card_gateway_a', { secrets: [''] }), { secrets: 'too_short' });
  expectFields(await put('card_gateway_a', { secrets: ['a', 'b', 'c', 'd', 'e'] }), { secrets: 'too_many' });
  expectFields(await put('card_gateway_a', { add_secret: '' }), { add_secret: 'too_short' });
  expectFields(await put('card_gateway_b', { is_enabled: true, secrets: ['s3cret-s3cret'], api_key: 'k' }), {
    api_secret: 'required',
  });
  expectFields(await put('wallet_gateway', { is_enabled: true }), { webhook_id: 'required' });
  expectFields(await put('wallet_gateway', { is_enabled: true, webhook_id: 'WEBHOOK_ID', ca_bundle: 'x' }), {
    webhook_id: 'required',
  });
  expectFields(await put('wallet_gateway', { is_enabled: true, webhook_id: '5WH' }), { ca_bundle: 'required' });
  expectFields(await put('crypto_gateway', { is_enabled: true, secrets: ['s'], api_key: 'k' }), {
    base_url: 'required',
  });
  for (const base_url of [
    'https://x.example/',
    'https://x.example/a?b',
    'https://u:p@x.example',
    'ftp://x.example',
    'https://x.example/../y',
  ]) {
    expectFields(await put('card_gateway_a', { base_url }), { base_url: 'bad_format' });
  }
  expectFields(await put('sandbox', { mode: 'live' }), { mode: 'not_combinable' });
  expectFields(await put('brand_new', { is_enabled: true }), { provider: 'required' });
  for (const label of ['UPPER', 'a b', 'x'.repeat(41), 'wallet']) {
    expectError(await put(encodeURIComponent(label), { provider: 'stripe' }), 404, 'not_found');
  }
  const all = dataOf(await shop.admin('GET', '/api/admin/gateways'));
  assert.ok(
    all.every((g) => !g.is_enabled && g.secrets.length === 0),
    'a refused change left something behind',
  );
});

test('only owners connect gateways; every change is in the audit trail, without its secrets', async () => {
  const secret = 'whsec_audit_canary_1234';
  await shop.connect('audited', { provider: 'stripe', secrets: [secret], api_key: 'sk_audit_canary_5678' });
  const [entry] = dataOf(await shop.admin('GET', '/api/admin/audit?action=gateway'));
  assert.equal(entry.action, 'gateway.create');
  assert.ok(!JSON.stringify(entry).includes('canary'));
  assert.ok(JSON.stringify(entry).includes('1234'));
});

test('secrets go in and never come out: not in answers, not in the database, not in logs', async () => {
  const canaries = ['canary-secret-Zq1', 'canary-old-secret-Zq2', 'canary-api-key-Zq3', 'canary-api-secret-Zq4'];
  const shown = await shop.connect('canaries', {
    provider: 'razorpay',
    secrets: canaries.slice(0, 2),
    api_key: canaries[2],
    api_secret: canaries[3],
  });
  assert.deepEqual([shown.secrets, shown.api_key, shown.api_secret], [['-Zq1', '-Zq2'], '-Zq3', '-Zq4']);
  const answers = [
    await shop.admin('GET', '/api/admin/gateways'),
    await shop.admin('PUT', '/api/admin/gateways/canaries', {}),
  ];
  // Fail once with each, so that there is something to log.
  const buyer = await shop.buyerWith([[editor, 1]]);
  await shop.connect('canaries', { base_url: 'http://127.0.0.1:9' });
  dataOf(await shop.checkoutAnswer(buyer, 'canaries'), 201);
  await shop.post('canaries', '{}', { 'X-Razorpay-Signature': 'x' });
  const places = [...answers.map((a) => a.text), shop.souk.stderr];
  if (shop.souk.engine === 'sqlite') {
    for (const file of fs.readdirSync(shop.souk.dir)) {
      const full = path.join(shop.souk.dir, file);
      if (fs.statSync(full).isFile()) places.push(fs.readFileSync(full, 'latin1'));
    }
  } else {
    places.push(
      shop.seed.sql('SELECT * FROM gateway;').flat().join(' '),
      shop.seed.sql('SELECT * FROM audit;').flat().join(' '),
    );
  }
  for (const canary of canaries)
    for (const place of places) assert.ok(!place.includes(canary), `${canary} is readable`);
  // Short ones are not shown at all.
  assert.deepEqual((await shop.connect('short', { provider: 'stripe', secrets: ['abc'] })).secrets, ['****']);
});

test('a provider cannot change under payments; null takes values away', async () => {
  const made = await shop.connect('changing', {
    provider: 'stripe',
    secrets: ['s3cret-s3cret'],
    api_key: 'sk_1_long_enough',
  });
  assert.equal((await shop.connect('changing', { api_key: null })).api_key, null);
  for (const provider of ['razorpay', 'stripe'])
    assert.equal((await shop.connect('changing', { provider })).provider, provider, 'nothing came through it yet');
  const buyer = await shop.buyerWith([[editor, 1]]);
  await shop.checkout(buyer, 'changing');
  expectError(await shop.admin('PUT', '/api/admin/gateways/changing', { provider: 'razorpay' }), 409, 'invalid_state');
  const stale = await shop.souk.request('PUT', '/api/admin/gateways/changing', {
    token: shop.owner,
    body: { mode: 'live' },
    headers: { 'If-Match': `"${made.version}"` },
  });
  expectError(stale, 412, 'precondition_failed');
});

test("the server that plays Stripe is honest: Stripe's own client can talk to it", async () => {
  const player = await play('stripe');
  shop.players.push(player);
  const { hostname, port } = new URL(player.url);
  const client = new Stripe('sk_test_played', {
    host: hostname,
    port: Number(port),
    protocol: 'http',
    maxNetworkRetries: 0,
  });
  const session = await client.checkout.sessions.create(
    {
      mode: 'payment',
      client_reference_id: '42',
      success_url: 'https://shop.example/ok',
      line_items: [
        { quantity: 1, price_data: { currency: 'usd', unit_amount: 4999, product_data: { name: 'Order 42' } } },
      ],
      payment_intent_data: { metadata: { order_id: '42' } },
    },
    { idempotencyKey: 'k-1' },
  );
  assert.match(session.url, /^https:/);
  assert.equal((await client.checkout.sessions.retrieve(session.id)).amount_total, 4999);
  player.charge('pi_1', 4999);
  const refund = await client.refunds.create({ payment_intent: 'pi_1', amount: 100 }, { idempotencyKey: 'k-2' });
  assert.equal(refund.amount, 100);
  // What its client sends and what we send are the same words.
  const theirs = Object.keys(player.calls[0].body).sort();
  const ours = await shop.played('stripe');
  await pending(LABELS.stripe);
  const words = Object.keys(ours.calls[0].body);
  for (const word of theirs) assert.ok(words.includes(word), `${word} is missing in ${words}`);
});

test('staff refund an order: the gateway is told once, also when it answers late or not at all', async () => {
  const player = await shop.played('stripe');
  const order = await pending(LABELS.stripe);
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', {
        order: order.id,
        amount: 4999,
        intent: player.charge('pi_refund', 4999),
      }),
    ),
  );
  player.fail({ status: 500, match: /refunds/, effect: true });
  dataOf(await shop.admin('POST', `/api/admin/orders/${order.id}/refund`, { amount: 10 }));
  // Nothing is booked before the gateway agrees.
  assert.equal((await shop.order(order.buyer, order.id)).refunded_amount, 0);
  await shop.until(() => player.to('POST', '/v1/refunds').length >= 2, 'the refund is tried again');
  await shop.until(
    () => shop.seed.number("SELECT COUNT(*) FROM outbox WHERE kind = 'refund' AND status = 'waiting'") === 0,
    'it is done',
  );
  const calls = player.to('POST', '/v1/refunds');
  const key = calls[0].headers['idempotency-key'];
  assert.deepEqual(calls[0].body, { payment_intent: 'pi_refund', amount: '1000', 'metadata[reference]': key });
  assert.deepEqual(
    calls.slice(1).map((c) => [c.raw, c.headers['idempotency-key']]),
    calls.slice(1).map(() => [calls[0].raw, key]),
  );
  assert.equal(player.refunds.size, 1);
  // The gateway tells us what it did for us: nothing more happens.
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('charge.refunded', { amount: 4999, intent: 'pi_refund', amount_refunded: 1000, refunded: false }),
    ),
  );
  assert.equal((await shop.order(order.buyer, order.id)).refunded_amount, 10);
  dataOf(await shop.admin('POST', `/api/admin/orders/${order.id}/refund`, {}));
  await shop.until(() => player.to('POST', '/v1/refunds').length === 3, 'the rest is refunded');
  await shop.until(async () => (await order.status()) === 'refunded', 'it is booked');
  assert.equal(player.to('POST', '/v1/refunds')[2].body.amount, '3999');
});

test('a refund that the gateway refuses is told to staff', async () => {
  const player = shop.players[shop.players.length - 1];
  const order = await pending(LABELS.stripe);
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', { order: order.id, amount: 4999, intent: 'pi_refused' }),
    ),
  );
  player.fail({ status: 400, match: /refunds/ });
  dataOf(await shop.admin('POST', `/api/admin/orders/${order.id}/refund`, {}));
  await shop.until(
    () => shop.seed.number("SELECT COUNT(*) FROM outbox WHERE kind = 'refund' AND status = 'failed'") === 1,
    'given up',
  );
  assert.ok(shop.seed.number("SELECT COUNT(*) FROM notification WHERE kind = 'gateway_failed'") > 0);
});

test('a lost webhook loses no sale: the gateway is asked', async () => {
  const player = await shop.played('stripe');
  const paid = await pending(LABELS.stripe);
  const open = await pending(LABELS.stripe);
  const expired = await pending(LABELS.stripe);
  const session = (order) => [...player.made.values()].find((s) => s.client_reference_id === String(order.id));
  Object.assign(session(paid), { status: 'complete', payment_status: 'paid', payment_intent: 'pi_swept' });
  Object.assign(session(expired), { status: 'expired' });
  shop.hurry('ask');
  await shop.until(
    async () => (await paid.status()) === 'confirmed' && (await expired.status()) === 'cancelled',
    'both are settled',
  );
  assert.equal(await open.status(), 'pending');
  // The webhook that comes after all changes nothing.
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', { order: paid.id, amount: 4999, intent: 'pi_swept' }),
    ),
  );
  assert.equal(
    shop.seed.number(`SELECT COUNT(*) FROM transfer WHERE kind = 'payment' AND reference_id = ${paid.id}`),
    1,
  );
  assert.equal(
    shop.seed.number("SELECT COUNT(*) FROM outbox WHERE kind = 'ask' AND status = 'waiting' AND attempts > 0") >= 1,
    true,
  );
});

test('the sweep believes no other amount either', async () => {
  const player = shop.players[shop.players.length - 1];
  const order = await pending(LABELS.stripe);
  const session = [...player.made.values()].find((s) => s.client_reference_id === String(order.id));
  Object.assign(session, { status: 'complete', payment_status: 'paid', payment_intent: 'pi_short', amount_total: 1 });
  shop.hurry('ask');
  await shop.until(async () => (await shop.events('review')).some((e) => e.order_id === order.id), 'it is for review');
  assert.equal(await order.status(), 'pending');
});

test('BTCPay: an event is a hint, the invoice decides', async () => {
  const player = await shop.played('btcpay');
  const settle = async (state, claim = 'InvoiceSettled') => {
    const order = await pending(LABELS.btcpay);
    const invoice = [...player.made.values()].find((i) => i.metadata.orderId === String(order.id));
    Object.assign(invoice, state);
    dataOf(await shop.event('btcpay', btcpayEvent(claim, { invoice: invoice.id, order: order.id })));
    return { order, invoice };
  };
  const cases = [
    [{ status: 'Settled' }, 'confirmed'],
    [{ status: 'Settled', additionalStatus: 'PaidOver' }, 'confirmed'],
    [{ status: 'Processing' }, 'pending'],
    [{ status: 'New' }, 'pending'],
    [{ status: 'Settled', additionalStatus: 'PaidLate' }, 'pending'],
    [{ status: 'Settled', additionalStatus: 'Marked' }, 'pending'],
    [{ status: 'Expired', additionalStatus: 'PaidPartial' }, 'pending'],
    [{ status: 'Expired' }, 'cancelled'],
    [{ status: 'Invalid' }, 'cancelled'],
    [{ status: 'Settled', amount: '0.01' }, 'pending'],
    [{ status: 'Settled', currency: 'EUR' }, 'pending'],
    [{ status: 'Settled', storeId: 'other' }, 'pending'],
  ];
  for (const [state, wanted] of cases) {
    const { order } = await settle(state);
    assert.equal(await order.status(), wanted, JSON.stringify(state));
  }
  // The server of the invoice does not answer: 503, and the sender tries again.
  const order = await pending(LABELS.btcpay);
  const invoice = [...player.made.values()].find((i) => i.metadata.orderId === String(order.id));
  invoice.status = 'Settled';
  const event = btcpayEvent('InvoiceSettled', { invoice: invoice.id, order: order.id });
  // A question may be put again at once on a fresh connection, when a kept one turns out to be dead; and others ask, too.
  for (const failure of [{ status: 500 }, { reset: true }]) {
    player.fail({ ...failure, times: 20, match: /^GET/ });
    expectError(await shop.event('btcpay', event), 503, 'unavailable');
    player.failures.length = 0;
  }
  assert.equal(await order.status(), 'pending');
  dataOf(await shop.event('btcpay', { ...event, deliveryId: 'again', isRedelivery: true }));
  assert.equal(await order.status(), 'confirmed');
  // An invoice that is not there.
  dataOf(await shop.event('btcpay', btcpayEvent('InvoiceSettled', { invoice: 'nowhere', order: order.id })));
  assert.match((await shop.events('review'))[0].reason, /does not confirm/);
});

test('BTCPay without an API key: nothing is believed, nothing is lost', async () => {
  const player = await play('btcpay');
  shop.players.push(player);
  await shop.connect('keyless', { provider: 'btcpay', secrets: ['keyless-secret'] });
  const order = await pending('keyless');
  assert.equal(order.payment.url, null);
  const made = {
    id: 'inv9',
    storeId: 'store1',
    amount: '49.99',
    currency: 'USD',
    metadata: { orderId: String(order.id) },
    status: 'Settled',
    additionalStatus: 'None',
  };
  player.made.set('inv9', made);
  dataOf(
    await shop.event('btcpay', btcpayEvent('InvoiceSettled', { invoice: 'inv9', order: order.id }), {
      name: 'keyless',
      secret: 'keyless-secret',
    }),
  );
  assert.equal(await order.status(), 'pending');
  const [event] = await shop.events('review');
  assert.match(event.reason, /API key/);
  // Staff put the key in and try again.
  const { provider, ...config } = player.config;
  await shop.connect('keyless', config);
  const replay = () => shop.admin('POST', `/api/admin/webhook-events/${event.id}/replay`);
  player.fail({ status: 500, match: /^GET/ });
  expectError(await replay(), 503, 'unavailable');
  player.failures.length = 0;
  assert.equal((await shop.events('review'))[0].id, event.id, 'it still waits');
  assert.equal(dataOf(await replay()).status, 'handled');
  assert.equal(await order.status(), 'confirmed');
});

test('PayPal: signature, certificate, confirmation, capture, refund', async () => {
  const made = issue('messageverificationcerts.sandbox.paypal.com', { rsa: true });
  const player = await shop.played('paypal', { ca_bundle: made.authority });
  player.certificate = made.certificate;
  const send = (body, options) => {
    const raw = typeof body === 'string' ? body : JSON.stringify(body);
    return shop.post('wallet_gateway', raw, paypalHeaders(raw, made.key, options));
  };
  const event = (type, resource) => ({
    id: `WH-${Math.random()}`,
    create_time: new Date().toISOString(),
    event_type: type,
    resource,
  });

  // The customer approves: we capture, and the capture's answer is the payment.
  const order = await pending(LABELS.paypal);
  const theirs = [...player.made.values()].find((o) => o.purchase_units?.[0].custom_id === String(order.id));
  theirs.status = 'APPROVED';
  dataOf(
    await send(event('CHECKOUT.ORDER.APPROVED', { id: theirs.id, purchase_units: [{ custom_id: String(order.id) }] })),
  );
  await shop.until(async () => (await order.status()) === 'confirmed', 'captured');
  const [call] = player.to('POST', /capture$/);
  assert.match(call.headers['paypal-request-id'], new RegExp(`^${order.payment.reference}-\\d+-capture$`));
  const capture = theirs.purchase_units[0].payments.captures[0];
  dataOf(await send(event('PAYMENT.CAPTURE.COMPLETED', capture)));
  assert.equal(
    shop.seed.number(`SELECT COUNT(*) FROM transfer WHERE kind = 'payment' AND reference_id = ${order.id}`),
    1,
  );

  // A genuine signature around a body that somebody made up: the API knows better.
  const victim = await pending(LABELS.paypal);
  const forged = event('PAYMENT.CAPTURE.COMPLETED', {
    id: 'CAPFORGED',
    amount: { currency_code: 'USD', value: '49.99' },
    custom_id: String(victim.id),
    status: 'COMPLETED',
  });
  dataOf(await send(forged));
  assert.equal(await victim.status(), 'pending');
  // The real capture of another order under this order's name: its own amount and name count.
  dataOf(await send(event('PAYMENT.CAPTURE.COMPLETED', { ...capture, custom_id: String(victim.id) })));
  assert.equal(await victim.status(), 'pending');

  // The same envelope around another body is refused.
  const first = event('PAYMENT.CAPTURE.PENDING', capture);
  dataOf(await send(first, { id: 'tr-fixed' }));
  dataOf(await send(first, { id: 'tr-fixed' }));
  expectError(await send({ ...first, id: 'WH-other' }, { id: 'tr-fixed' }), 400, 'signature_invalid');

  // Wrong in every way that can be told without asking anybody.
  const raw = JSON.stringify(event('PAYMENT.CAPTURE.COMPLETED', capture));
  const good = paypalHeaders(raw, made.key);
  const other = issue('messageverificationcerts.sandbox.paypal.com', { rsa: true, another: true });
  const bad = [
    { 'paypal-cert-url': 'https://evil.example/v1/notifications/certs/CERT-1' },
    { 'paypal-cert-url': `${player.url}/v1/notifications/certs/CERT-1` },
    { 'paypal-cert-url': 'https://api.paypal.com/v1/notifications/certs/CERT-1' },
    { 'paypal-auth-algo': 'SHA1withRSA' },
    { 'paypal-transmission-id': 'x' },
    { 'paypal-transmission-time': '2020-01-01T00:00:00Z' },
    { 'paypal-transmission-sig': 'AAAA' },
    { 'paypal-transmission-sig': paypalHeaders(raw, other.key)['paypal-transmission-sig'] },
    { 'paypal-transmission-sig': paypalHeaders(raw, made.key, { webhookId: 'WEBHOOK_ID' })['paypal-transmission-sig'] },
  ];
  for (const change of bad)
    expectError(await shop.post('wallet_gateway', raw, { ...good, ...change }), 400, 'signature_invalid');
  expectError(await shop.post('wallet_gateway', raw.replace('WH-', 'WX-'), good), 400, 'signature_invalid');

  // Its certificate cannot be fetched now, or is not there.
  player.fail({ status: 500, match: /certs\/CERT-2/ });
  expectError(await send(raw, { path: 'CERT-2' }), 503, 'unavailable');
  player.fail({ status: 404, match: /certs\/CERT-3/ });
  expectError(await send(raw, { path: 'CERT-3' }), 400, 'signature_invalid');
  // The API cannot be asked now.
  player.fail({ status: 500, match: /captures/ });
  expectError(await send(event('PAYMENT.CAPTURE.COMPLETED', capture)), 503, 'unavailable');
  // One certificate was fetched once.
  assert.equal(player.to('GET', /CERT-1$/).length, 1);

  // Staff give it back; what PayPal then tells is asked again, too.
  dataOf(await shop.admin('POST', `/api/admin/orders/${order.id}/refund`, {}));
  await shop.until(() => player.to('POST', /refund$/).length === 1, 'refunded at PayPal');
  const [refundCall] = player.to('POST', /refund$/);
  assert.equal(refundCall.path, `/v2/payments/captures/${capture.id}/refund`);
  assert.deepEqual(refundCall.body.amount, { currency_code: 'USD', value: '49.99' });
  const refund = [...player.made.values()].find((m) => m.id.startsWith('REF'));
  dataOf(await send(event('PAYMENT.CAPTURE.REFUNDED', refund)));
  assert.equal(await order.status(), 'refunded');
});

test('PayPal: an expired certificate, or one for another name, signs nothing', async () => {
  const other = issue('evil.example', { rsa: true });
  const player = shop.players[shop.players.length - 1];
  const raw = JSON.stringify({ id: 'WH-x', event_type: 'PAYMENT.CAPTURE.COMPLETED', resource: {} });
  await shop.connect('wallet_gateway', { ca_bundle: other.authority });
  player.certificate = other.certificate;
  expectError(
    await shop.post('wallet_gateway', raw, paypalHeaders(raw, other.key, { path: 'CERT-evil' })),
    400,
    'signature_invalid',
  );
  // By an authority that we do not know: our bundle may be old, so the sender should try again.
  await shop.connect('wallet_gateway', { ca_bundle: issue('x.example').authority });
  expectError(
    await shop.post('wallet_gateway', raw, paypalHeaders(raw, other.key, { path: 'CERT-evil' })),
    503,
    'unavailable',
  );
});

test('a store has so many gateways and no more; money that is too much or too little is not just taken', async () => {
  const put = (label, body) => shop.admin('PUT', `/api/admin/gateways/${label}`, body);
  expectFields(await put('card_gateway_a', { overpaid: 'accept' }), { overpaid: 'not_allowed' });
  dataOf(await put('card_gateway_a', { base_url: null }));
  let answer;
  for (let i = 0; (answer = await put(`more_${i}`, { provider: 'stripe', is_enabled: false })).status === 200; i++)
    assert.ok(i < 100);
  expectFields(answer, { label: 'too_many' });
});

test('the books are in order', () => shop.check());
