// What one customer can take of the way to a payment provider.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openPaidShop } from './lib/gateways.mjs';
import { dataOf } from './lib/http.mjs';

const PLACES = 12; // of one gateway

let shop;
let stripe;
before(async () => {
  shop = await openPaidShop();
  stripe = await shop.played('stripe');
});
after(() => shop.stop());

test('a customer who asks for many payments at once leaves half of a slow gateway to others', async () => {
  const [greedy, other] = [await shop.buyer({ balance: 0 }), await shop.buyer({ balance: 0 })];
  const topup = (who, amount) =>
    shop.souk.post('/api/customer/wallet/topup', { amount, gateway: 'card_gateway_a' }, { token: who.token });
  const asked = (cents) => stripe.calls.filter((c) => c.raw.includes(`=${cents}`)).length;
  stripe.fail({ hang: true, times: Infinity });
  const many = Array.from({ length: 2 * PLACES }, () => topup(greedy, 50));
  await shop.until(() => asked(5000) >= PLACES / 2, 'the calls that one customer may make at once');
  const one = topup(other, 7.77);
  let isAnswered = false;
  void one.then(() => {
    isAnswered = true;
  });
  await shop.until(() => isAnswered || asked(777) === 1, 'the call for the other customer');
  assert.equal(asked(777), 1);
  stripe.release();
  for (const answer of await Promise.all([...many, one])) dataOf(answer, 201);
});
