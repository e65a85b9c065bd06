// tests/api/lib/players/razorpay.mjs - Razorpay's rules: payment links, refunds, lists. Marks as in player.mjs.
import { unique } from './unique.mjs';

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;

const refuse = (description) => [400, { error: { code: 'BAD_REQUEST_ERROR', description } }];

function createLink(player, body) {
  if (body.amount < 100) return refuse('The amount must be at least 100 subunits'); // (D)
  if (['KWD', 'BHD', 'OMR'].includes(body.currency) && body.amount % 10 !== 0)
    return refuse('The last digit must be 0'); // (D)
  const now = player.seconds();
  const expire_by = body.expire_by ?? now + 183 * DAY; // six months are the default and the most (D)
  if (expire_by < now + 15 * MINUTE || expire_by > now + 184 * DAY)
    return refuse('expire_by should be at least 15 minutes in future'); // (D)
  // `reference_id` is unique: a repeat is refused, and found in the list (D).
  if ([...player.made.values()].some((l) => l.reference_id === body.reference_id))
    return refuse('payment link with given reference_id already exists');
  const id = `plink_${unique()}`;
  const link = {
    id,
    ...body,
    expire_by,
    status: 'created',
    short_url: `https://rzp.played/${id}`,
    amount_paid: 0,
    payments: [],
    created_at: now,
  };
  player.made.set(id, link);
  return [200, link];
}

function state(player, link) {
  if (link?.status === 'created' && link.expire_by <= player.seconds()) link.status = 'expired';
  return link;
}

/** Only `created` links can be cancelled (D). */
function cancelLink(player, id) {
  const link = state(player, player.made.get(id));
  if (!link) return refuse('The id provided does not exist');
  if (link.status !== 'created') return refuse(`Payment Link cannot be cancelled in ${link.status} state`);
  link.status = 'cancelled';
  return [200, link];
}

function createRefund(player, id, body) {
  const payment = player.charges.get(id);
  if (!payment) return refuse('The id provided does not exist'); // a 400, not a 404: (B)
  const amount = body.amount ?? payment.amount - payment.refunded;
  if (amount < 100) return refuse('The amount must be atleast INR 1.00'); // (D)
  if (amount > payment.amount - payment.refunded)
    return refuse('The total refund amount is greater than the refund payment amount');
  payment.refunded += amount;
  const refund = {
    id: `rfnd_${unique()}`,
    entity: 'refund',
    amount,
    currency: payment.currency,
    payment_id: id,
    receipt: body.receipt,
    status: 'processed',
    created_at: player.seconds(),
  }; // `processed` may precede the bank's word (D)
  player.refunds.set(refund.id, refund);
  return [200, refund];
}

/** By from, to, count (at most 100), skip (D). */
function list(items, { from = 0, to = 1e12, count = 10, skip = 0 }) {
  const all = items.filter((i) => i.created_at >= Number(from) && i.created_at <= Number(to)).reverse();
  return [200, { entity: 'collection', items: all.slice(Number(skip), Number(skip) + Math.min(Number(count), 100)) }];
}

const paymentView = (p) => ({
  id: p.id,
  entity: 'payment',
  amount: p.amount,
  currency: p.currency,
  status: 'captured',
  amount_refunded: p.refunded,
  created_at: p.created,
  notes: p.notes ?? [],
}); // `notes` is [] when empty (D)

export const razorpay = {
  config: { provider: 'razorpay', api_key: 'rzp_key', api_secret: 'rzp_secret' },
  keyOf: ({ headers }) => headers['x-refund-idempotency'], // refunds only (D)
  key_life_ms: 365 * DAY * 1000, // unstated
  busy: [409, { error: { code: 'BAD_REQUEST_ERROR', description: 'Request in progress' } }], // 409, retry (D)
  orderOf: (link) => link.notes.order_id,

  pay(player, link, { amount = link.amount } = {}) {
    const id = `pay_${unique()}`;
    Object.assign(link, {
      status: 'paid',
      amount_paid: amount,
      payments: [{ payment_id: id, amount, status: 'captured' }],
    });
    player.charge(id, amount, link.currency);
    player.charges.get(id).notes = link.notes;
    return id;
  },

  serve(player, call) {
    const { method, path, headers, body, query } = call;
    if (headers.authorization !== `Basic ${Buffer.from('rzp_key:rzp_secret').toString('base64')}`)
      return [401, { error: {} }];
    if (method === 'POST' && path === '/v1/payment_links') return createLink(player, body);
    if (method === 'GET' && path.startsWith('/v1/payment_links?reference_id=')) {
      return [200, { payment_links: [...player.made.values()].filter((l) => l.reference_id === query.reference_id) }];
    }
    const link = /^\/v1\/payment_links\/(\w+)(\/cancel)?$/.exec(path);
    if (method === 'POST' && link?.[2]) return cancelLink(player, link[1]);
    if (method === 'GET' && link && !link[2]) {
      const found = state(player, player.made.get(link[1]));
      return found ? [200, found] : refuse('The id provided does not exist');
    }
    const refund = /^\/v1\/payments\/(\w+)\/refund$/.exec(path);
    if (method === 'POST' && refund) {
      const key = razorpay.keyOf(call);
      if (key !== undefined && !/^[A-Za-z0-9_-]{10,}$/.test(key)) return refuse('Invalid idempotency key'); // (D)
      return player.once(
        call,
        key,
        { life_ms: razorpay.key_life_ms, other: refuse('Different request body sent with the same idempotency key') }, // (D)
        () => createRefund(player, refund[1], body),
      );
    }
    const refunds = /^\/v1\/payments\/(\w+)\/refunds/.exec(path);
    if (method === 'GET' && refunds)
      return list(
        [...player.refunds.values()].filter((r) => r.payment_id === refunds[1]),
        query,
      );
    if (method === 'GET' && path.startsWith('/v1/payments?'))
      return list([...player.charges.values()].map(paymentView), query);
    if (method === 'GET' && path.startsWith('/v1/refunds?')) return list([...player.refunds.values()], query);
    // By count and skip alone (D); other parameters are refused (B).
    if (method === 'GET' && path.startsWith('/v1/disputes?'))
      return 'from' in query || 'to' in query
        ? refuse('from, to is/are not required and should not be sent')
        : list([...player.disputes.values()], query);
    return null;
  },
};
