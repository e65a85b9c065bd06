// tests/api/lib/players/stripe.mjs - Stripe's rules: Checkout sessions, refunds, lists. Marks as in player.mjs.
import { unique } from './unique.mjs';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const SMALLEST = { usd: 50, eur: 50 }; // USD 0.50, converted elsewhere (D)

const refuse = (status, error) => [status, { error: { type: 'invalid_request_error', ...error } }];

function createSession(player, body) {
  const amount = Number(body['line_items[0][price_data][unit_amount]']);
  const currency = body['line_items[0][price_data][currency]'];
  if (!body.success_url) return refuse(400, { param: 'success_url', message: 'Missing required param.' });
  if (amount < (SMALLEST[currency] ?? 1)) return refuse(400, { code: 'amount_too_small' }); // (D)
  const now = player.seconds();
  const expires_at = body.expires_at === undefined ? now + 24 * HOUR : Number(body.expires_at); // default 24 h (D)
  // 30 minutes to 24 hours (D); a few seconds of grace for what was on its way is (B).
  if (expires_at < now + 30 * MINUTE - 5 || expires_at > now + 24 * HOUR + 5)
    return refuse(400, { param: 'expires_at' });
  const id = `cs_test_${unique()}`;
  const session = {
    id,
    object: 'checkout.session',
    url: `https://checkout.played/${id}`,
    status: 'open',
    payment_status: 'unpaid',
    payment_intent: null, // until the payer confirms, since 2022-08-01 (D)
    amount_total: amount,
    currency,
    client_reference_id: body.client_reference_id,
    livemode: false,
    expires_at,
    created: now,
    metadata: { order_id: body['metadata[order_id]'] },
  };
  player.made.set(id, session);
  return [200, session];
}

/** Only an open session can be expired (D). */
function expireSession(player, id) {
  const session = state(player, player.made.get(id));
  if (!session) return refuse(404, { code: 'resource_missing' });
  if (session.status !== 'open')
    return refuse(400, {
      message: `Only Checkout Sessions with a status in ["open"] can be expired. This one is ${session.status}.`,
    });
  session.status = 'expired';
  session.url = null;
  return [200, session];
}

/** A session ends by itself. */
function state(player, session) {
  if (session?.status === 'open' && session.expires_at <= player.seconds()) session.status = 'expired';
  return session;
}

function createRefund(player, body) {
  const charge = player.charges.get(body.payment_intent);
  if (!charge) return refuse(404, { code: 'resource_missing', param: 'payment_intent' }); // the status is (B)
  const amount = body.amount === undefined ? charge.amount - charge.refunded : Number(body.amount);
  if (charge.refunded === charge.amount) return refuse(400, { code: 'charge_already_refunded' });
  if (amount <= 0 || amount > charge.amount - charge.refunded) return refuse(400, { param: 'amount' });
  charge.refunded += amount;
  const refund = {
    id: `re_${unique()}`,
    object: 'refund',
    amount,
    currency: charge.currency,
    payment_intent: body.payment_intent,
    status: 'succeeded',
    created: player.seconds(),
    metadata: body['metadata[reference]'] ? { reference: body['metadata[reference]'] } : {},
  };
  player.refunds.set(refund.id, refund);
  return [200, refund];
}

/** By `created[gte]`, newest first, at most 100 a page, `starting_after` (D). */
function list(items, query, keep = () => true) {
  const limit = Math.min(Number(query.limit ?? 10), 100);
  let all = items.filter((i) => i.created >= Number(query['created[gte]'] ?? 0) && keep(i)).reverse();
  if (query.starting_after) all = all.slice(all.findIndex((i) => i.id === query.starting_after) + 1);
  return [200, { object: 'list', data: all.slice(0, limit), has_more: all.length > limit }];
}

const chargeView = (c) => ({
  id: `ch_${c.id}`,
  object: 'charge',
  payment_intent: c.id,
  amount: c.amount,
  amount_refunded: c.refunded,
  currency: c.currency,
  created: c.created,
  status: 'succeeded',
  paid: true,
  metadata: c.metadata ?? {},
});

export const stripe = {
  config: { provider: 'stripe', api_key: 'sk_test_played' },
  keyOf: ({ method, headers }) => (method === 'POST' ? headers['idempotency-key'] : undefined),
  key_life_ms: 24 * HOUR * 1000, // at least 24 h, then the key is new (D)
  busy: [409, { error: { type: 'idempotency_error', code: 'idempotency_key_in_use' } }], // (S)
  orderOf: (session) => session.client_reference_id,

  pay(player, session, { amount = session.amount_total } = {}) {
    const intent = `pi_${unique()}`;
    Object.assign(session, { status: 'complete', payment_status: 'paid', payment_intent: intent });
    player.charge(intent, amount, session.currency);
    player.charges.get(intent).metadata = session.metadata;
    return intent;
  },

  serve(player, call) {
    const { method, path, headers, body, query } = call;
    if (headers.authorization !== 'Bearer sk_test_played') return [401, { error: { message: 'Invalid API Key' } }];
    const key = stripe.keyOf(call);
    if (key !== undefined && key.length > 255) return refuse(400, { message: 'Idempotency-Key too long' }); // (D)
    // A repeat gets the first answer, even a 500; refusals are not kept (D). Another body is an idempotency_error (S), a 400 (B).
    const once = (make) =>
      player.once(
        call,
        key,
        {
          life_ms: stripe.key_life_ms,
          same: ([status, answer]) => [status, answer, { 'Idempotent-Replayed': 'true' }],
          other: [
            400,
            {
              error: {
                type: 'idempotency_error',
                message:
                  'Keys for idempotent requests can only be used with the same parameters they were first used with.',
              },
            },
          ],
        },
        make,
      );
    if (method === 'POST' && path === '/v1/checkout/sessions') return once(() => createSession(player, body));
    const one = /^\/v1\/checkout\/sessions\/(\w+)(\/expire)?$/.exec(path);
    if (method === 'POST' && one?.[2]) return once(() => expireSession(player, one[1]));
    if (method === 'GET' && one && !one[2]) {
      const session = state(player, player.made.get(one[1]));
      return session ? [200, session] : refuse(404, { code: 'resource_missing' });
    }
    if (method === 'POST' && path === '/v1/refunds') return once(() => createRefund(player, body));
    if (method === 'GET' && path.startsWith('/v1/refunds?'))
      return list(
        [...player.refunds.values()],
        query,
        (r) => !query.payment_intent || r.payment_intent === query.payment_intent,
      );
    if (method === 'GET' && path.startsWith('/v1/charges?'))
      return list([...player.charges.values()].map(chargeView), query);
    if (method === 'GET' && path.startsWith('/v1/disputes?')) return list([...player.disputes.values()], query);
    return null;
  },
};
