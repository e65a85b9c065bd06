// The doubles of payment providers keep the providers' rules: each rule that a test of the server relies on is tried
// here.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { play } from '../api/lib/players/player.mjs';

const HOUR = 3600 * 1000;
const players = {};

before(async () => {
  for (const p of ['stripe', 'razorpay', 'paypal', 'btcpay']) players[p] = await play(p);
});
after(async () => {
  for (const p of Object.values(players)) await p.stop();
});

async function call(player, method, path, { body, headers = {}, form } = {}) {
  const auth = {
    stripe: 'Bearer sk_test_played',
    razorpay: `Basic ${btoa('rzp_key:rzp_secret')}`,
    paypal: `Bearer ${player.token}`,
    btcpay: 'token btc_token',
  };
  const answer = await fetch(player.url + path, {
    method,
    body: form ? new URLSearchParams(form) : body && JSON.stringify(body),
    headers: {
      authorization: auth[player.provider],
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...headers,
    },
  });
  return { status: answer.status, body: await answer.json(), headers: answer.headers };
}

const session = (more) => ({
  mode: 'payment',
  success_url: 'https://x',
  client_reference_id: '1',
  'line_items[0][price_data][currency]': 'usd',
  'line_items[0][price_data][unit_amount]': '4999',
  ...more,
});

test('stripe: a key is one request for a day: repeated as it was, refused with another body, new after 24 hours', async () => {
  const player = players.stripe;
  const make = (key, more) =>
    call(player, 'POST', '/v1/checkout/sessions', { form: session(more), headers: { 'Idempotency-Key': key } });
  const first = await make('k1');
  const again = await make('k1');
  assert.equal(again.body.id, first.body.id);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  const other = await make('k1', { success_url: 'https://y' });
  assert.deepEqual([other.status, other.body.error.type], [400, 'idempotency_error']);
  player.fail({ status: 500, stored: true });
  assert.equal((await make('k2')).status, 500);
  assert.equal((await make('k2')).status, 500, 'the first answer, even a 500');
  assert.equal((await make('k3', { 'line_items[0][price_data][unit_amount]': '10' })).status, 400);
  assert.equal((await make('k3')).status, 200, 'a refusal is not remembered');
  player.forward(24 * HOUR + 1);
  assert.notEqual((await make('k1')).body.id, first.body.id);
});

test('stripe: two at once with one key: the second is told to wait', async () => {
  const player = players.stripe;
  player.fail({ delay_ms: 300 });
  const make = () =>
    call(player, 'POST', '/v1/checkout/sessions', { form: session(), headers: { 'Idempotency-Key': 'at-once' } });
  const [a, b] = await Promise.all([make(), make()]);
  assert.deepEqual([a.status, b.status].sort(), [200, 409]);
});

test('stripe: sessions end between 30 minutes and 24 hours, and only open ones can be expired', async () => {
  const player = players.stripe;
  const at = (s) =>
    call(player, 'POST', '/v1/checkout/sessions', { form: session({ expires_at: String(player.seconds() + s) }) });
  assert.equal((await at(60)).status, 400);
  assert.equal((await at(90000)).status, 400);
  const made = await at(3600);
  assert.equal((await call(player, 'POST', `/v1/checkout/sessions/${made.body.id}/expire`)).body.status, 'expired');
  assert.equal((await call(player, 'POST', `/v1/checkout/sessions/${made.body.id}/expire`)).status, 400);
});

test('stripe: no more is given back than was paid', async () => {
  const player = players.stripe;
  player.charge('pi_x', 1000);
  const give = (amount) => call(player, 'POST', '/v1/refunds', { form: { payment_intent: 'pi_x', amount } });
  assert.deepEqual(
    [(await give(600)).status, (await give(600)).status, (await give(400)).status, (await give(1)).status],
    [200, 400, 200, 400],
  );
});

test('razorpay: a reference is one link; a refund key is one refund and one body; only created links are cancelled', async () => {
  const player = players.razorpay;
  const body = { amount: 4999, currency: 'INR', reference_id: 'r1', notes: { order_id: '1' } };
  const link = await call(player, 'POST', '/v1/payment_links', { body });
  assert.equal((await call(player, 'POST', '/v1/payment_links', { body })).status, 400);
  assert.equal(
    (
      await call(player, 'POST', '/v1/payment_links', {
        body: { ...body, reference_id: 'r2', expire_by: player.seconds() + 60 },
      })
    ).status,
    400,
  );
  assert.equal(
    (await call(player, 'POST', '/v1/payment_links', { body: { ...body, reference_id: 'r3', amount: 99 } })).status,
    400,
  );
  player.charge('pay_1', 4999);
  const refund = (key, amount) =>
    call(player, 'POST', '/v1/payments/pay_1/refund', { body: { amount }, headers: { 'X-Refund-Idempotency': key } });
  const first = await refund('refund-key-1', 1000);
  assert.equal((await refund('refund-key-1', 1000)).body.id, first.body.id);
  assert.equal((await refund('refund-key-1', 2000)).status, 400);
  assert.equal((await refund('short', 1000)).status, 400);
  assert.equal((await call(player, 'POST', `/v1/payment_links/${link.body.id}/cancel`)).body.status, 'cancelled');
  assert.equal((await call(player, 'POST', `/v1/payment_links/${link.body.id}/cancel`)).status, 400);
});

test('paypal: an order lapses, is captured once, and its refunds add up', async () => {
  const player = players.paypal;
  player.token = 't';
  const create = (key) =>
    call(player, 'POST', '/v2/checkout/orders', {
      body: {
        intent: 'CAPTURE',
        purchase_units: [{ custom_id: '1', amount: { currency_code: 'USD', value: '49.99' } }],
      },
      headers: { 'PayPal-Request-Id': key },
    });
  const order = await create('o1');
  const again = await create('o1');
  assert.deepEqual([order.status, again.status, again.body.id], [201, 200, order.body.id]);
  const capture = (key) =>
    call(player, 'POST', `/v2/checkout/orders/${order.body.id}/capture`, {
      body: {},
      headers: { 'PayPal-Request-Id': key },
    });
  assert.equal((await capture('c1')).body.details[0].issue, 'ORDER_NOT_APPROVED');
  player.pay('1');
  const captured = await capture('c2');
  assert.equal((await capture('c2')).status, 200);
  assert.equal((await capture('c3')).body.details[0].issue, 'ORDER_ALREADY_CAPTURED');
  const [{ id }] = captured.body.purchase_units[0].payments.captures;
  const refund = (value) =>
    call(player, 'POST', `/v2/payments/captures/${id}/refund`, {
      body: value ? { amount: { currency_code: 'USD', value } } : {},
    });
  assert.equal((await refund('10.00')).body.seller_payable_breakdown.total_refunded_amount.value, '10.00');
  assert.equal((await refund('40.00')).body.details[0].issue, 'REFUND_AMOUNT_EXCEEDED');
  assert.equal((await refund()).body.seller_payable_breakdown.total_refunded_amount.value, '49.99');
  assert.equal((await refund('1.00')).body.details[0].issue, 'CAPTURE_FULLY_REFUNDED');
  const other = await create('o2');
  player.forward(3 * HOUR + 1);
  assert.equal(
    (await call(player, 'GET', `/v2/checkout/orders/${other.body.id}`)).body.details[0].issue,
    'INVALID_RESOURCE_ID',
  );
  player.forward(3 * HOUR);
  assert.notEqual((await create('o2')).body.id, other.body.id, 'the request id is forgotten after six hours');
});

test('btcpay: nothing is idempotent, nothing is capped, and a refund wants a variant and a known method', async () => {
  const player = players.btcpay;
  const create = () =>
    call(player, 'POST', '/api/v1/stores/store1/invoices', {
      body: { amount: '10.00', currency: 'USD', metadata: { orderId: '1' }, checkout: {} },
    });
  const [one, two] = [await create(), await create()];
  assert.notEqual(one.body.id, two.body.id);
  const refund = (body) => call(player, 'POST', `/api/v1/stores/store1/invoices/${one.body.id}/refund`, { body });
  const custom = { refundVariant: 'Custom', customAmount: '10.00', customCurrency: 'USD' };
  assert.equal((await refund(custom)).body.code, 'non-refundable');
  player.pay('1');
  assert.equal((await refund({})).status, 422);
  assert.equal((await refund({ ...custom, payoutMethodId: 'BTC-LN' })).status, 422);
  assert.equal((await refund(custom)).status, 200);
  assert.equal((await refund(custom)).status, 200);
  assert.equal(player.refunds.size, 2);
  const status = (id) =>
    call(player, 'POST', `/api/v1/stores/store1/invoices/${id}/status`, { body: { status: 'Invalid' } });
  assert.equal((await status(two.body.id)).body.status, 'Invalid');
  assert.equal((await status(one.body.id)).status, 422);
});
