// tests/api/lib/gateways.mjs - a shop with payment gateways, and servers that play the providers.
//
//     const shop = await openPaidShop();                  // a Shop (shop.mjs) whose owner can be asked for things
//     const stripe = await shop.played('stripe');         // a local server playing Stripe, connected as card_gateway_a
//     const { order_id, payment } = await shop.checkout(buyer, 'card_gateway_a');
//     await shop.event('stripe', stripeEvent('payment_intent.succeeded', …));
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import Stripe from 'stripe';
import { dataOf } from './http.mjs';
import { Shop } from './shop.mjs';
import { freshStore, runSouk, startSouk } from './souk.mjs';

export const LABELS = { stripe: 'card_gateway_a', razorpay: 'card_gateway_b', paypal: 'wallet_gateway', btcpay: 'crypto_gateway' };
export const SECRET = 'whsec_shop_secret';

export async function openPaidShop(options = {}) {
  const database = options.database ?? await freshStore(options.engine);
  const cli = async (args) => {
    const run = await runSouk([...args, '--db', database.dbArg], { cwd: database.dir, env: database.env });
    assert.equal(run.code, 0, run.stderr);
    return run.stdout.trim();
  };
  await cli(['account', 'create', '--email', 'owner@example.com', '--role', 'owner']);
  const token = await cli(['token', 'create', '--email', 'owner@example.com', '--scopes', 'admin']);
  const shop = new PaidShop(await startSouk({ ...options, database }));
  shop.database = database;
  shop.owner = token;
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

  /** Waits until `ready()` gives something true, and gives that. */
  async until(ready, what = String(ready), timeout_ms = 20000) {
    const deadline = Date.now() + timeout_ms;
    for (;;) {
      const value = await ready();
      if (value) return value;
      if (Date.now() > deadline) throw new Error(`did not happen within ${timeout_ms} ms: ${what}\n${this.souk.stderr.slice(-3000)}`);
      await sleep(50);
    }
  }

  /** Makes everything that waits in the outbox due at once. */
  hurry(kind) {
    this.seed.sql(`UPDATE outbox SET due_at = 1 WHERE status = 'waiting'${kind ? ` AND kind = '${kind}'` : ''};`);
  }
}

/** The headers that a provider signs with. Stripe's own library signs for Stripe. */
export function signed(provider, raw, secret = SECRET, { timestamp } = {}) {
  const hex = (algorithm) => createHmac(algorithm, secret).update(raw).digest('hex');
  switch (provider) {
    case 'stripe': return { 'Stripe-Signature': Stripe.webhooks.generateTestHeaderString({ payload: raw, secret, timestamp }) };
    case 'razorpay': return { 'X-Razorpay-Signature': hex('sha256') };
    case 'btcpay': return { 'BTCPay-Sig': `sha256=${hex('sha256')}` };
    default: throw new Error(`no signer for ${provider}`);
  }
}

const unique = () => randomBytes(8).toString('hex');

/** An event of Stripe about an order. `object` adds to or replaces members. */
export function stripeEvent(type, { order, amount, intent, currency = 'usd', ...object } = {}, event = {}) {
  const charge = type.startsWith('charge.');
  return {
    id: `evt_${unique()}`, object: 'event', api_version: '2024-06-20', created: Math.floor(Date.now() / 1000), livemode: false, type,
    data: {
      object: {
        id: charge ? `ch_${intent}` : intent, object: charge ? 'charge' : 'payment_intent', amount,
        ...(charge ? { payment_intent: intent } : { amount_received: type.endsWith('succeeded') ? amount : 0 }),
        currency, metadata: order === undefined ? {} : { order_id: String(order) }, ...object,
      },
    },
    ...event,
  };
}

export function razorpayEvent(event, { order, amount, payment, currency = 'USD', refund, refunded = 0 } = {}) {
  return {
    entity: 'event', account_id: 'acc_1', event, contains: ['payment'], created_at: Math.floor(Date.now() / 1000), nonce: unique(),
    payload: {
      payment: {
        entity: { id: payment, entity: 'payment', amount, currency, status: 'captured', amount_refunded: refunded,
          notes: order === undefined ? [] : { order_id: String(order) } },
      },
      ...(refund ? { refund: { entity: { id: refund, amount: refunded, payment_id: payment } } } : {}),
    },
  };
}

export function btcpayEvent(type, { invoice, order, store = 'store1' }) {
  const id = unique();
  return { deliveryId: id, webhookId: 'w', originalDeliveryId: id, isRedelivery: false, type, timestamp: Math.floor(Date.now() / 1000),
    storeId: store, invoiceId: invoice, metadata: { orderId: String(order) } };
}

/** Starts a server that plays a provider: {url, config, calls, answer(), stop()}. */
export async function play(provider) {
  const player = new Player(provider);
  await player.start();
  return player;
}

/**
 * Plays a provider. `calls` has every request as {method, path, headers, body}; `fail` makes the next answers what it
 * says: {status, body?, delay_ms?, hang?, times}. What was made is in `made`, by id.
 */
export class Player {
  constructor(provider) {
    this.provider = provider;
    this.calls = [];
    this.made = new Map();
    this.byKey = new Map();
    this.failures = [];
    this.server = http.createServer((req, res) => this.#serve(req, res));
  }

  async start() {
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    this.config = { base_url: this.url, ...PROVIDERS[this.provider].config };
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  /** The next `times` calls (to paths that match) are answered like this. */
  fail(answer) { this.failures.push({ times: 1, match: /./, ...answer }); }

  /** Calls to a path, oldest first. */
  to(method, path) { return this.calls.filter((c) => c.method === method && (path instanceof RegExp ? path.test(c.path) : c.path === path)); }

  async #serve(req, res) {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const raw = Buffer.concat(chunks).toString();
    const type = req.headers['content-type'] ?? '';
    const body = type.includes('json') && raw ? JSON.parse(raw) : type.includes('form') ? Object.fromEntries(new URLSearchParams(raw)) : raw;
    const call = { method: req.method, path: req.url, headers: req.headers, body, raw };
    this.calls.push(call);
    const failure = this.failures.find((f) => f.times > 0 && f.match.test(`${call.method} ${call.path}`));
    if (failure) {
      failure.times -= 1;
      if (failure.effect) PROVIDERS[this.provider].serve(this, call);
      if (failure.hang) return;
      if (failure.delay_ms) await sleep(failure.delay_ms);
      if (failure.reset) { res.destroy(); return; }
      if (failure.status) { send(res, failure.status, failure.body ?? { error: 'played' }); return; }
    }
    const [status, answer] = PROVIDERS[this.provider].serve(this, call) ?? [404, { error: 'no such path' }];
    send(res, status, answer);
  }
}

function send(res, status, body) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  res.writeHead(status, { 'Content-Type': typeof body === 'string' ? 'text/plain' : 'application/json', 'Content-Length': Buffer.byteLength(text) });
  res.end(text);
}

/** A second call with the same key finds what the first one made. */
function once(player, key, make) {
  if (!player.byKey.has(key)) player.byKey.set(key, make());
  return player.byKey.get(key);
}

const PROVIDERS = {
  stripe: {
    config: { provider: 'stripe', api_key: 'sk_test_played' },
    serve(player, { method, path, headers, body }) {
      if (headers.authorization !== 'Bearer sk_test_played') return [401, { error: { message: 'Invalid API Key' } }];
      if (method === 'POST' && path === '/v1/checkout/sessions') {
        return [200, once(player, headers['idempotency-key'], () => {
          const id = `cs_test_${unique()}`;
          const session = {
            id, object: 'checkout.session', url: `https://checkout.played/${id}`, status: 'open', payment_status: 'unpaid',
            payment_intent: null, amount_total: Number(body['line_items[0][price_data][unit_amount]']),
            currency: body['line_items[0][price_data][currency]'], client_reference_id: body.client_reference_id, livemode: false,
            expires_at: Number(body.expires_at),
          };
          player.made.set(id, session);
          return session;
        })];
      }
      if (method === 'GET' && path.startsWith('/v1/checkout/sessions/')) {
        const session = player.made.get(path.slice('/v1/checkout/sessions/'.length));
        return session ? [200, session] : [404, { error: { message: 'No such session' } }];
      }
      if (method === 'POST' && path === '/v1/refunds') {
        return [200, once(player, headers['idempotency-key'], () => ({
          id: `re_${unique()}`, object: 'refund', amount: Number(body.amount), payment_intent: body.payment_intent, status: 'succeeded' }))];
      }
      return null;
    },
  },
  razorpay: {
    config: { provider: 'razorpay', api_key: 'rzp_key', api_secret: 'rzp_secret' },
    serve(player, { method, path, headers, body }) {
      if (headers.authorization !== `Basic ${Buffer.from('rzp_key:rzp_secret').toString('base64')}`) return [401, { error: {} }];
      if (method === 'POST' && path === '/v1/payment_links') {
        const links = [...player.made.values()];
        if (links.some((l) => l.reference_id === body.reference_id)) return [400, { error: { description: 'reference_id already exists' } }];
        const id = `plink_${unique()}`;
        const link = { id, ...body, status: 'created', short_url: `https://rzp.played/${id}`, amount_paid: 0, payments: [] };
        player.made.set(id, link);
        return [200, link];
      }
      if (method === 'GET' && path.startsWith('/v1/payment_links?reference_id=')) {
        const wanted = decodeURIComponent(path.split('=')[1]);
        return [200, { payment_links: [...player.made.values()].filter((l) => l.reference_id === wanted) }];
      }
      if (method === 'GET' && path.startsWith('/v1/payment_links/')) {
        const link = player.made.get(path.split('/').pop());
        return link ? [200, link] : [404, { error: {} }];
      }
      const refund = /^\/v1\/payments\/(\w+)\/refund$/.exec(path);
      if (method === 'POST' && refund) {
        return [200, once(player, headers['x-refund-idempotency'], () => (
          { id: `rfnd_${unique()}`, amount: body.amount, payment_id: refund[1], status: 'processed' }))];
      }
      return null;
    },
  },
  paypal: {
    config: { provider: 'paypal', api_key: 'pp_client', api_secret: 'pp_secret', webhook_id: '5WH' },
    serve(player, { method, path, headers, body }) {
      if (method === 'GET' && path.startsWith('/v1/notifications/certs/')) {
        return player.certificate ? [200, player.certificate] : [404, 'no such certificate'];
      }
      if (path === '/v1/oauth2/token') {
        const right = headers.authorization === `Basic ${Buffer.from('pp_client:pp_secret').toString('base64')}`;
        player.token = right ? `A21_${unique()}` : null;
        return right ? [200, { access_token: player.token, token_type: 'Bearer', expires_in: player.expires_in ?? 32400 }] : [401, { error: 'invalid_client' }];
      }
      if (headers.authorization !== `Bearer ${player.token}`) return [401, { error: 'invalid_token' }];
      if (method === 'POST' && path === '/v2/checkout/orders') {
        return [201, once(player, headers['paypal-request-id'], () => {
          const id = unique().toUpperCase();
          const order = { id, status: 'PAYER_ACTION_REQUIRED', intent: 'CAPTURE', purchase_units: body.purchase_units,
            links: [{ rel: 'self', href: 'x' }, { rel: 'payer-action', href: `https://paypal.played/${id}` }] };
          player.made.set(id, order);
          return order;
        })];
      }
      const capture = /^\/v2\/checkout\/orders\/(\w+)\/capture$/.exec(path);
      if (method === 'POST' && capture) {
        return [201, once(player, headers['paypal-request-id'], () => {
          const order = player.made.get(capture[1]);
          const [unit] = order.purchase_units;
          const made = { id: `CAP${unique().toUpperCase()}`, status: 'COMPLETED', amount: unit.amount, custom_id: unit.custom_id,
            invoice_id: unit.invoice_id, supplementary_data: { related_ids: { order_id: order.id } } };
          player.made.set(made.id, made);
          order.status = 'COMPLETED';
          unit.payments = { captures: [made] };
          return order;
        })];
      }
      const refund = /^\/v2\/payments\/captures\/(\w+)\/refund$/.exec(path);
      if (method === 'POST' && refund) {
        return [201, once(player, headers['paypal-request-id'], () => {
          const made = { id: `REF${unique().toUpperCase()}`, status: 'COMPLETED', amount: body.amount,
            seller_payable_breakdown: { total_refunded_amount: body.amount },
            links: [{ rel: 'up', href: `${player.url}/v2/payments/captures/${refund[1]}` }] };
          player.made.set(made.id, made);
          return made;
        })];
      }
      const thing = /^\/v2\/(?:checkout\/orders|payments\/captures|payments\/refunds)\/(\w+)$/.exec(path);
      if (method === 'GET' && thing) {
        const found = player.made.get(thing[1]);
        return found ? [200, found] : [404, { name: 'RESOURCE_NOT_FOUND' }];
      }
      return null;
    },
  },
  btcpay: {
    config: { provider: 'btcpay', api_key: 'btc_token', store_id: 'store1' },
    serve(player, { method, path, headers, body }) {
      if (headers.authorization !== 'token btc_token') return [401, { code: 'unauthenticated' }];
      const base = '/api/v1/stores/store1/invoices';
      if (method === 'POST' && path === base) {
        const id = unique();
        const invoice = { id, storeId: 'store1', amount: body.amount, currency: body.currency, metadata: body.metadata, status: 'New',
          additionalStatus: 'None', checkoutLink: `https://btcpay.played/i/${id}`,
          expirationTime: Math.floor(Date.now() / 1000) + 60 * body.checkout.expirationMinutes };
        player.made.set(id, invoice);
        return [200, invoice];
      }
      if (method === 'GET' && path.startsWith(`${base}?orderId=`)) {
        const wanted = decodeURIComponent(path.split('=')[1]);
        return [200, [...player.made.values()].filter((i) => i.metadata.orderId === wanted)];
      }
      const refund = /\/invoices\/(\w+)\/refund$/.exec(path);
      if (method === 'POST' && refund) return [200, { id: `pp_${unique()}`, viewLink: `https://btcpay.played/pull/${refund[1]}` }];
      const one = /\/invoices\/(\w+)$/.exec(path);
      if (method === 'GET' && one) {
        const invoice = player.made.get(one[1]);
        return invoice ? [200, invoice] : [404, { code: 'invoice-not-found' }];
      }
      return null;
    },
  },
};
