// Top-ups: money into the wallet through a gateway, once.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { openPaidShop, stripeEvent } from './lib/gateways.mjs';

let shop;
let stripe;

before(async () => {
  shop = await openPaidShop();
  stripe = await shop.played('stripe');
});
after(() => shop.stop());

const topup = (buyer, body, options) =>
  shop.souk.post('/api/customer/wallet/topup', body, { token: buyer.token, ...options });
const balance = async (buyer) => (await shop.wallet(buyer)).balance;
/** Our own reference, as the gateway was given it. */
const reference = () => stripe.calls[stripe.calls.length - 1].body.client_reference_id;

test('the currency cannot change under a payment', async () => {
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { currency: 'EUR' }));
  dataOf(await shop.admin('PATCH', '/api/admin/settings', { currency: 'USD' }));
  const buyer = await shop.buyer({ balance: 0 });
  dataOf(await topup(buyer, { amount: 5, gateway: 'card_gateway_a' }), 201);
  assert.equal(shop.seed.number('SELECT COUNT(*) FROM transfer'), 0);
  expectError(await shop.admin('PATCH', '/api/admin/settings', { currency: 'EUR' }), 409, 'invalid_state');
});

test('a payment at the gateway; its success credits the wallet, once', async () => {
  const buyer = await shop.buyer({ balance: 0 });
  const answer = await topup(buyer, {
    amount: 50,
    gateway: 'card_gateway_a',
    success_url: 'https://shop.example/wallet',
  });
  const made = dataOf(answer, 201);
  assert.deepEqual([made.status, made.amount], ['pending', 50]);
  assert.match(made.payment.url, /^https:/);
  assert.equal(answer.headers.location, `/api/customer/payments/${made.payment.reference}`);
  assert.match(reference(), /^topup-\d+$/);
  assert.equal(await balance(buyer), 0);
  const event = stripeEvent('payment_intent.succeeded', { order: reference(), amount: 5000, intent: 'pi_top' });
  for (let i = 0; i < 3; i++) dataOf(await shop.event('stripe', event));
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', { order: reference(), amount: 5000, intent: 'pi_top' }),
    ),
  );
  assert.equal(await balance(buyer), 50);
  const [transaction] = (await shop.wallet(buyer)).transactions;
  assert.deepEqual([transaction.type, transaction.amount], ['credit', 50]);
  assert.equal((await shop.payment(buyer, made.payment.reference)).status, 'succeeded');
  const told = dataOf(await shop.souk.get('/api/customer/notifications', { token: buyer.token }));
  assert.deepEqual(
    told.map((n) => n.kind),
    ['topup_credited'],
  );
});

test('another amount credits nothing', async () => {
  const buyer = await shop.buyer({ balance: 0 });
  dataOf(await topup(buyer, { amount: 50, gateway: 'card_gateway_a' }), 201);
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', { order: reference(), amount: 4999, intent: 'pi_less' }),
    ),
  );
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', { order: reference(), amount: 5000, currency: 'eur', intent: 'pi_eur' }),
    ),
  );
  assert.equal(await balance(buyer), 0);
});

test('a refund takes it out again, as far as it is there', async () => {
  const buyer = await shop.buyer({ balance: 0 });
  dataOf(await topup(buyer, { amount: 20, gateway: 'card_gateway_a' }), 201);
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', { order: reference(), amount: 2000, intent: 'pi_back' }),
    ),
  );
  const refund = (total) =>
    shop.event(
      'stripe',
      stripeEvent('charge.refunded', {
        amount: 2000,
        intent: 'pi_back',
        amount_refunded: total,
        refunded: total === 2000,
      }),
    );
  dataOf(await refund(500));
  assert.equal(await balance(buyer), 15);
  dataOf(await shop.souk.post('/api/customer/wallet/withdraw', { amount: 14 }, { token: buyer.token }));
  dataOf(await refund(2000));
  // What is gone is owed, and the next money that comes in repays it.
  let wallet = await shop.wallet(buyer);
  assert.deepEqual([wallet.balance, wallet.debt], [0, 14]);
  dataOf(await shop.admin('POST', `/api/admin/customers/${buyer.id}/wallet`, { amount: 20, description: 'Gift' }));
  wallet = await shop.wallet(buyer);
  assert.deepEqual([wallet.balance, wallet.debt], [6, undefined]);
});

test('bad requests', async () => {
  const buyer = await shop.buyer({ balance: 0 });
  for (const [body, fields] of [
    [{ amount: 0, gateway: 'card_gateway_a' }, { amount: 'not_positive' }],
    [{ amount: -1, gateway: 'card_gateway_a' }, { amount: 'not_positive' }],
    [{ amount: 1.005, gateway: 'card_gateway_a' }, { amount: 'too_precise' }],
    [{ amount: 5, gateway: 'wallet' }, { gateway: 'not_allowed' }],
    [{ amount: 5, gateway: 'sandbox' }, { gateway: 'not_allowed' }],
    [{ amount: 5, gateway: 'stripe' }, { gateway: 'not_allowed' }],
    [
      { amount: 0, gateway: 'stripe' },
      { amount: 'not_positive', gateway: 'not_allowed' },
    ],
    [
      { amount: 'x', gateway: 'nobody', success_url: 'y' },
      { amount: 'wrong_type', gateway: 'not_allowed', success_url: 'bad_format' },
    ],
    [{ gateway: 'card_gateway_a' }, { amount: 'required' }],
    [{ amount: 5 }, { gateway: 'required' }],
    [{ amount: 5, gateway: 'card_gateway_a', currency: 'EUR' }, { currency: 'unknown_field' }],
  ])
    expectFields(await topup(buyer, body), fields);
  assert.equal(shop.seed.number(`SELECT COUNT(*) FROM payment WHERE account_id = ${buyer.id}`), 0);
});

test('the same key makes one payment', async () => {
  const buyer = await shop.buyer({ balance: 0 });
  const key = { headers: { 'Idempotency-Key': randomUUID() } };
  const first = await topup(buyer, { amount: 5, gateway: 'card_gateway_a' }, key);
  const again = await topup(buyer, { amount: 5, gateway: 'card_gateway_a' }, key);
  assert.equal(again.text, first.text);
  assert.equal(shop.seed.number(`SELECT COUNT(*) FROM payment WHERE account_id = ${buyer.id}`), 1);
});

test('a gateway that refuses: 502, and the key is free', async () => {
  const buyer = await shop.buyer({ balance: 0 });
  const key = { headers: { 'Idempotency-Key': randomUUID() } };
  stripe.fail({ status: 402, match: /^POST/ });
  expectError(await topup(buyer, { amount: 5, gateway: 'card_gateway_a' }, key), 502, 'gateway_failed');
  dataOf(await topup(buyer, { amount: 5, gateway: 'card_gateway_a' }, key), 201);
});

test('the books are in order', () => shop.check());
