// tests/api/lib/gateways.mjs - a shop with payment gateways, and servers that play the providers (players/).
//
//     const shop = await openPaidShop();                  // a Shop (shop.mjs) whose owner can be asked for things
//     const stripe = await shop.played('stripe');         // a local server playing Stripe, connected as card_gateway_a
//     const { order_id, payment } = await shop.checkout(buyer, 'card_gateway_a');
//     await shop.event('stripe', stripeEvent('payment_intent.succeeded', …));
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import Stripe from 'stripe';
import { dataOf } from './http.mjs';
import { play } from './players/player.mjs';
import { unique } from './players/unique.mjs';
import { Shop } from './shop.mjs';
import { freshStore, startSouk } from './souk.mjs';

export { Player, play } from './players/player.mjs';

export const LABELS = {
  stripe: 'card_gateway_a',
  razorpay: 'card_gateway_b',
  paypal: 'wallet_gateway',
  btcpay: 'crypto_gateway',
};
export const SECRET = 'whsec_shop_secret';

export async function openPaidShop(options = {}) {
  const database = options.database ?? freshStore(options.engine, 'owner');
  const shop = new PaidShop(await startSouk({ ...options, database }));
  shop.database = database;
  shop.owner = database.accounts.owner.token;
  return shop;
}

export class PaidShop extends Shop {
  players = [];

  async stop() {
    for (const player of this.players) await player.stop();
    await this.souk.stop();
    this.database.remove();
  }

  admin(method, target, body) {
    return this.souk.request(method, target, { token: this.owner, body });
  }

  /** Connects a gateway; gives what the server says of it. */
  async connect(label, body) {
    return dataOf(await this.admin('PUT', `/api/admin/gateways/${label}`, { is_enabled: true, ...body }));
  }

  /** Webhooks alone, as without an API key. */
  listen(provider, more = {}) {
    return this.connect(LABELS[provider], { secrets: [SECRET], ...more });
  }

  /** A local server playing the provider, connected. */
  async played(provider, more = {}) {
    const player = await play(provider);
    this.players.push(player);
    await this.connect(LABELS[provider], { secrets: [SECRET], ...player.config, ...more });
    return player;
  }

  /** A buyer with this in the cart: [[product, quantity], …]. */
  async buyerWith(lines, options = { balance: 0 }) {
    const buyer = await this.buyer(options);
    for (const [product, quantity = 1] of lines) {
      dataOf(await this.souk.post('/api/store/cart/add', { product_id: product.id, quantity }, { token: buyer.token }));
    }
    return buyer;
  }

  checkoutAnswer(buyer, pay_with, more = {}, options = {}) {
    return this.souk.post('/api/store/cart/checkout', { pay_with, ...more }, { token: buyer.token, ...options });
  }

  async checkout(buyer, pay_with, more) {
    return dataOf(await this.checkoutAnswer(buyer, pay_with, more), 201);
  }

  async order(buyer, id) {
    return dataOf(await this.souk.get(`/api/customer/orders/${id}`, { token: buyer.token }));
  }

  async payment(buyer, reference) {
    return dataOf(await this.souk.get(`/api/customer/payments/${reference}`, { token: buyer.token }));
  }

  /** Posts raw bytes with headers to /webhook/{name}. */
  post(name, raw, headers, options = {}) {
    return this.souk.request('POST', `/webhook/${name}`, { body: raw, type: 'application/json', headers, ...options });
  }

  /** A signed event, as the provider would send it. */
  event(provider, body, { name = LABELS[provider], secret = SECRET, ...options } = {}) {
    const raw = typeof body === 'string' ? body : JSON.stringify(body);
    return this.post(name, raw, signed(provider, raw, secret, options), options);
  }

  async events(status) {
    return dataOf(await this.admin('GET', `/api/admin/webhook-events?limit=100${status ? `&status=${status}` : ''}`));
  }

  /**
   * Waits until `ready()` gives something true, and gives that. Where statements fail, work in the background that has met a failure
   * would wait for long: it is made due again and again.
   */
  async until(ready, what = String(ready), timeout_ms = 60000) {
    const deadline = Date.now() + timeout_ms;
    for (let i = 1; ; i++) {
      if (this.souk.faults && i % 10 === 0) this.#hurryFailed();
      const value = await ready();
      if (value) return value;
      if (Date.now() > deadline)
        throw new Error(`did not happen within ${timeout_ms} ms: ${what}\n${this.souk.stderr.slice(-3000)}`);
      // Who asks twenty times a second for what comes after two seconds works more than the server under test.
      await sleep(this.souk.faults ? 50 : Math.min(25 * i, 300));
    }
  }

  /** Also rows whose end could not be written down: they are claimed for 90 seconds. Nothing takes ten of them here. */
  #hurryFailed() {
    this.seed.sql(
      `UPDATE outbox SET due_at = 1000 WHERE status = 'waiting' AND (claims = 0 OR due_at < ${Date.now() + 80000});`,
    );
  }

  /** Makes everything that waits in the outbox due at once, except rows that are being worked on. */
  hurry(kind) {
    this.seed.sql(
      `UPDATE outbox SET due_at = 1 WHERE status = 'waiting' AND claims = 0${kind ? ` AND kind = '${kind}'` : ''};`,
    );
  }
}

/** The headers that a provider signs with. Stripe's own library signs for Stripe. */
export function signed(provider, raw, secret = SECRET, { timestamp } = {}) {
  const hex = (algorithm) => createHmac(algorithm, secret).update(raw).digest('hex');
  switch (provider) {
    case 'stripe':
      return { 'Stripe-Signature': Stripe.webhooks.generateTestHeaderString({ payload: raw, secret, timestamp }) };
    case 'razorpay':
      return { 'X-Razorpay-Signature': hex('sha256') };
    case 'btcpay':
      return { 'BTCPay-Sig': `sha256=${hex('sha256')}` };
    default:
      throw new Error(`no signer for ${provider}`);
  }
}

/** An event of Stripe about an order. `object` adds to or replaces members. */
export function stripeEvent(type, { order, amount, intent, currency = 'usd', ...object } = {}, event = {}) {
  const charge = type.startsWith('charge.');
  return {
    id: `evt_${unique()}`,
    object: 'event',
    api_version: '2024-06-20',
    created: Math.floor(Date.now() / 1000),
    livemode: false,
    type,
    data: {
      object: {
        id: charge ? `ch_${intent}` : intent,
        object: charge ? 'charge' : 'payment_intent',
        amount,
        ...(charge ? { payment_intent: intent } : { amount_received: type.endsWith('succeeded') ? amount : 0 }),
        currency,
        metadata: order === undefined ? {} : { order_id: String(order) },
        ...object,
      },
    },
    ...event,
  };
}

export function razorpayEvent(event, { order, amount, payment, currency = 'USD', refund, refunded = 0 } = {}) {
  return {
    entity: 'event',
    account_id: 'acc_1',
    event,
    contains: ['payment'],
    created_at: Math.floor(Date.now() / 1000),
    nonce: unique(),
    payload: {
      payment: {
        entity: {
          id: payment,
          entity: 'payment',
          amount,
          currency,
          status: 'captured',
          amount_refunded: refunded,
          notes: order === undefined ? [] : { order_id: String(order) },
        },
      },
      ...(refund ? { refund: { entity: { id: refund, amount: refunded, payment_id: payment } } } : {}),
    },
  };
}

export function btcpayEvent(type, { invoice, order, store = 'store1' }) {
  const id = unique();
  return {
    deliveryId: id,
    webhookId: 'w',
    originalDeliveryId: id,
    isRedelivery: false,
    type,
    timestamp: Math.floor(Date.now() / 1000),
    storeId: store,
    invoiceId: invoice,
    metadata: { orderId: String(order) },
  };
}
