// tests/api/lib/players/paypal.mjs - PayPal's rules: orders, captures, refunds, disputes. Marks as in player.mjs.
import { unique } from './unique.mjs';

const HOUR_MS = 3600 * 1000;
const LAPSE_MS = 3 * HOUR_MS; // of an order that nobody approved: about 3 h, figures differ (B)

const refuse = (status, name, issue) => [status, { name, details: issue ? [{ issue }] : [] }];
const unprocessable = (issue) => refuse(422, 'UNPROCESSABLE_ENTITY', issue);
const minor = (amount) => Math.round(Number(amount.value) * 100);
const major = (count) => (count / 100).toFixed(2);

function createOrder(player, body) {
  const [unit] = body.purchase_units;
  if (!/^\d+(\.\d{1,2})?$/.test(unit.amount.value)) return unprocessable('DECIMAL_PRECISION');
  // HUF, JPY, TWD are whole (D).
  if (['HUF', 'JPY', 'TWD'].includes(unit.amount.currency_code) && unit.amount.value.includes('.'))
    return unprocessable('DECIMALS_NOT_SUPPORTED');
  const id = unique().toUpperCase();
  const order = {
    id,
    status: 'PAYER_ACTION_REQUIRED',
    intent: 'CAPTURE',
    purchase_units: body.purchase_units,
    create_time: player.now(),
    links: [
      { rel: 'self', href: 'x' },
      { rel: 'payer-action', href: `https://paypal.played/${id}` },
    ],
  };
  player.made.set(id, order);
  return [201, order];
}

/** An order that lapsed is not there any more, neither to be read nor to be captured (public reports). */
function orderOf(player, id) {
  const order = player.made.get(id);
  if (order?.status === 'PAYER_ACTION_REQUIRED' && order.create_time + LAPSE_MS <= player.now()) return null;
  return order ?? null;
}

function capture(player, id) {
  const order = orderOf(player, id);
  if (!order) return refuse(404, 'RESOURCE_NOT_FOUND', 'INVALID_RESOURCE_ID');
  if (order.status === 'COMPLETED') return unprocessable('ORDER_ALREADY_CAPTURED'); // (D): GET it
  if (order.status !== 'APPROVED') return unprocessable('ORDER_NOT_APPROVED');
  if (order.declines) {
    order.declines -= 1;
    order.status = 'PAYER_ACTION_REQUIRED';
    return unprocessable('INSTRUMENT_DECLINED'); // the payer approves again (D), we capture with a new id (B)
  }
  const [unit] = order.purchase_units;
  const made = {
    id: `CAP${unique().toUpperCase()}`,
    status: order.captures ?? 'COMPLETED',
    amount: unit.amount,
    custom_id: unit.custom_id,
    invoice_id: unit.invoice_id,
    supplementary_data: { related_ids: { order_id: order.id } },
    create_time: new Date(player.now()).toISOString(),
  };
  player.made.set(made.id, made);
  player.charge(made.id, minor(unit.amount), unit.amount.currency_code);
  order.status = 'COMPLETED';
  unit.payments = { captures: [made] };
  return [201, order];
}

function refund(player, id, body) {
  const charge = player.charges.get(id);
  if (!charge) return refuse(404, 'RESOURCE_NOT_FOUND', 'INVALID_RESOURCE_ID');
  const captured = player.made.get(id);
  if (captured?.status === 'PENDING') return unprocessable('PENDING_CAPTURE'); // (D)
  if (charge.disputed && body.amount && minor(body.amount) < charge.amount)
    return unprocessable('TRANSACTION_DISPUTED'); // no part (D)
  if (charge.refunded === charge.amount) return unprocessable('CAPTURE_FULLY_REFUNDED'); // (D)
  if (charge.created * 1000 + 180 * 24 * HOUR_MS < player.now()) return unprocessable('REFUND_TIME_LIMIT_EXCEEDED'); // 180 days (D)
  const amount = body.amount ? minor(body.amount) : charge.amount - charge.refunded; // none: the rest (D)
  if (amount > charge.amount - charge.refunded) return unprocessable('REFUND_AMOUNT_EXCEEDED'); // (D)
  charge.refunded += amount;
  const money = (count) => ({ currency_code: charge.currency, value: major(count) });
  const made = {
    id: `REF${unique().toUpperCase()}`,
    status: player.refund_status ?? 'COMPLETED',
    amount: money(amount),
    create_time: new Date(player.now()).toISOString(),
    seller_payable_breakdown: { total_refunded_amount: money(charge.refunded) }, // cumulative
    links: [{ rel: 'up', href: `${player.url}/v2/payments/captures/${id}` }],
  };
  player.made.set(made.id, made);
  player.refunds.set(made.id, made);
  if (captured) captured.status = charge.refunded === charge.amount ? 'REFUNDED' : 'PARTIALLY_REFUNDED';
  return [201, made];
}

/** There is no list of orders or captures; transactions appear three hours late, at most 31 days and 500 a page (D). */
function transactions(player, { start_date, end_date, page = 1, page_size = 100 }) {
  const from = Date.parse(start_date);
  const to = Date.parse(end_date);
  if (to - from > 31 * 24 * HOUR_MS) return refuse(400, 'INVALID_REQUEST', 'DATE_RANGE');
  const rows = [...player.charges.values()].map((c) => ({
    at: c.created * 1000,
    transaction_info: {
      transaction_id: c.id,
      transaction_event_code: 'T0006',
      transaction_amount: { currency_code: c.currency, value: major(c.amount) },
      transaction_status: c.refunded === c.amount ? 'V' : 'S', // V: given back since (D)
      custom_field: player.made.get(c.id)?.custom_id,
    },
  }));
  for (const r of player.refunds.values()) {
    rows.push({
      at: Date.parse(r.create_time),
      transaction_info: {
        transaction_id: r.booked_as ?? r.id, // believed to be the refund's own name (B)
        transaction_event_code: 'T1107',
        paypal_reference_id: r.links[0].href.split('/').pop(),
        transaction_amount: { currency_code: r.amount.currency_code, value: `-${r.amount.value}` },
        transaction_status: r.status === 'PENDING' ? 'P' : 'S', // of eChecks (D)
      },
    });
  }
  const late = player.now() - 3 * HOUR_MS;
  const seen = rows
    .filter((r) => r.at >= from && r.at <= to && r.at <= late)
    .map(({ transaction_info }) => ({ transaction_info }));
  const size = Math.min(Number(page_size), 500);
  return [
    200,
    {
      transaction_details: seen.slice((page - 1) * size, page * size),
      page: Number(page),
      total_pages: Math.max(1, Math.ceil(seen.length / size)),
    },
  ];
}

/** At most 50 a page; the link to the next one has a token (D). */
function listDisputes(player, { update_time_after, page_size = 10, next_page_token }) {
  const all = [...player.disputes.values()].filter((d) => Date.parse(d.update_time) >= Date.parse(update_time_after));
  const from = next_page_token ? Number(Buffer.from(next_page_token, 'base64url').toString()) : 0;
  const to = from + Math.min(Number(page_size), 50);
  const token = Buffer.from(String(to)).toString('base64url');
  const next = {
    rel: 'next',
    href: `${player.url}/v1/customer/disputes?page_size=${page_size}&next_page_token=${token}&update_time_after=${update_time_after}`,
  };
  return [200, { items: all.slice(from, to), links: [{ rel: 'self', href: 'x' }, ...(to < all.length ? [next] : [])] }];
}

function serveToken(player, headers) {
  const right = headers.authorization === `Basic ${Buffer.from('pp_client:pp_secret').toString('base64')}`;
  player.token = right ? `A21_${unique()}` : null;
  return right
    ? [200, { access_token: player.token, token_type: 'Bearer', expires_in: player.expires_in ?? 32400 }]
    : [401, { error: 'invalid_client' }];
}

export const paypal = {
  config: { provider: 'paypal', api_key: 'pp_client', api_secret: 'pp_secret', webhook_id: '5WH' },
  keyOf: ({ method, headers }) => (method === 'POST' ? headers['paypal-request-id'] : undefined),
  key_life_ms: 45 * 24 * HOUR_MS, // of captures and refunds (D)
  busy: refuse(409, 'RESOURCE_CONFLICT', 'PREVIOUS_REQUEST_IN_PROGRESS'), // of refunds (D)
  orderOf: (order) => order.purchase_units?.[0].custom_id,

  /** The payer approves; the money moves when we capture. */
  pay(player, order) {
    order.status = 'APPROVED';
    return order.id;
  },

  serve(player, call) {
    const { method, path, headers, body, query } = call;
    if (method === 'GET' && path.startsWith('/v1/notifications/certs/')) {
      return player.certificate ? [200, player.certificate] : [404, 'no such certificate'];
    }
    if (path === '/v1/oauth2/token') return serveToken(player, headers);
    if (headers.authorization !== `Bearer ${player.token}`) return [401, { error: 'invalid_token' }];
    const key = paypal.keyOf(call);
    if (key !== undefined && key.length > 108) return refuse(400, 'INVALID_REQUEST', 'INVALID_STRING_LENGTH'); // (D)
    // A repeat gets the latest state of what the first made, 200 instead of 201 (D).
    const same = ([status, answer]) => [status === 201 ? 200 : status, answer];
    if (method === 'POST' && path === '/v2/checkout/orders')
      return player.once(call, key, { life_ms: 6 * HOUR_MS, same }, () => createOrder(player, body)); // 6 h (D)
    const capturing = /^\/v2\/checkout\/orders\/(\w+)\/capture$/.exec(path);
    if (method === 'POST' && capturing)
      return player.once(call, key, { life_ms: paypal.key_life_ms, same }, () => capture(player, capturing[1]));
    const refunding = /^\/v2\/payments\/captures\/(\w+)\/refund$/.exec(path);
    if (method === 'POST' && refunding)
      return player.once(call, key, { life_ms: paypal.key_life_ms, same }, () => refund(player, refunding[1], body));
    const thing = /^\/v2\/(checkout\/orders|payments\/captures|payments\/refunds)\/(\w+)$/.exec(path);
    if (method === 'GET' && thing) {
      const found = thing[1] === 'checkout/orders' ? orderOf(player, thing[2]) : player.made.get(thing[2]);
      return found ? [200, found] : refuse(404, 'RESOURCE_NOT_FOUND', 'INVALID_RESOURCE_ID');
    }
    const dispute = /^\/v1\/customer\/disputes\/([\w-]+)$/.exec(path);
    if (method === 'GET' && dispute) {
      const found = player.disputes.get(dispute[1]);
      return found ? [200, found] : refuse(404, 'RESOURCE_NOT_FOUND');
    }
    if (method === 'GET' && path.startsWith('/v1/customer/disputes?')) return listDisputes(player, query);
    if (method === 'GET' && path.startsWith('/v1/reporting/transactions?')) return transactions(player, query);
    return null;
  },
};
