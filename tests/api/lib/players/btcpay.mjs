// tests/api/lib/players/btcpay.mjs - BTCPay Server's rules: invoices, pull payments. Marks as in player.mjs.
import { unique } from './unique.mjs';

const MINUTE = 60;
const BASE = '/api/v1/stores/store1';

const refuse = (status, code, message = code) => [status, { code, message }];
const invalid = (path, message) => [422, [{ path, message }]];

function createInvoice(player, body) {
  const now = player.seconds();
  const id = unique();
  const invoice = {
    id,
    storeId: 'store1',
    amount: body.amount,
    currency: body.currency,
    metadata: body.metadata,
    status: 'New',
    additionalStatus: 'None',
    checkoutLink: `https://btcpay.played/i/${id}`,
    createdTime: now,
    expirationTime: now + MINUTE * (body.checkout?.expirationMinutes ?? 15), // default 15 min (S)
    monitoringExpiration: now + MINUTE * ((body.checkout?.expirationMinutes ?? 15) + 1440),
    paidAmount: '0',
  }; // watched 1440 min more (S)
  player.made.set(id, invoice);
  return [200, invoice];
}

function state(player, invoice) {
  if (invoice?.status === 'New' && invoice.expirationTime <= player.seconds()) invoice.status = 'Expired';
  return invoice;
}

/** `Invalid` from New, Processing, Expired; coins can still come (S). */
function mark(player, invoice, body) {
  if (body.status !== 'Invalid' && body.status !== 'Settled')
    return invalid('status', 'Status can only be marked to invalid or settled within certain conditions.');
  if (!['New', 'Processing', 'Expired'].includes(state(player, invoice).status))
    return invalid('status', 'Status can only be marked to invalid or settled within certain conditions.');
  Object.assign(invoice, { status: body.status, additionalStatus: 'Marked' });
  return [200, invoice];
}

/** Settled, Invalid, or Expired with money (S). */
const canRefund = ({ status, additionalStatus }) =>
  status === 'Settled' ||
  status === 'Invalid' ||
  (status === 'Expired' && ['PaidLate', 'PaidOver', 'PaidPartial'].includes(additionalStatus));

/** A promise that the customer claims. Not idempotent, not capped (S). */
function refund(player, invoice, body) {
  if (!canRefund(invoice)) return refuse(422, 'non-refundable', 'Cannot refund this invoice'); // the status is (B)
  if (!body.refundVariant) return invalid('RefundVariant', '`refundVariant` is mandatory');
  const methods = invoice.methods ?? ['BTC-CHAIN'];
  if (!methods.includes(body.payoutMethodId ?? methods[0])) {
    return invalid(
      'PayoutMethodId',
      'Please select one of the payment methods which were available for the original invoice',
    ); // (S)
  }
  if (body.refundVariant === 'Custom' && !(Number(body.customAmount) > 0))
    return invalid('CustomAmount', 'Amount must be greater than 0');
  const id = `pull_${unique()}`;
  const made = {
    id,
    name: body.name ?? `Refund ${invoice.id}`,
    currency: body.customCurrency,
    amount: body.customAmount,
    archived: false,
    autoApproveClaims: false,
    payoutMethodId: body.payoutMethodId,
    viewLink: `https://btcpay.played/pull-payments/${id}`,
    startsAt: player.seconds(),
    invoice: invoice.id,
  };
  player.refunds.set(id, made);
  return [200, made];
}

/** The method that was paid with has `paymentMethodPaid` (S). */
const paymentMethods = (invoice) =>
  (invoice.methods ?? ['BTC-CHAIN']).map((id) => ({
    paymentMethodId: id,
    activated: true,
    currency: 'BTC',
    due: '0',
    totalPaid: '0.001',
    paymentMethodPaid: id === (invoice.paid_by ?? 'BTC-CHAIN') ? '0.001' : '0',
    payments: [],
  }));

export const btcpay = {
  config: { provider: 'btcpay', api_key: 'btc_token', store_id: 'store1' },
  keyOf: () => undefined, // there are no idempotency keys (S)
  orderOf: (invoice) => invoice.metadata.orderId,

  pay(player, invoice, { amount = invoice.amount, status = 'Settled', additionalStatus = 'None' } = {}) {
    Object.assign(invoice, { status, additionalStatus, paidAmount: amount });
    player.charge(invoice.id, amount, invoice.currency);
    return invoice.id;
  },

  serve(player, { method, path, query, headers, body }) {
    if (headers.authorization !== 'token btc_token') return [401, { code: 'unauthenticated' }];
    if (method === 'POST' && path === `${BASE}/invoices`) return createInvoice(player, body);
    if (method === 'GET' && path.startsWith(`${BASE}/invoices?`)) {
      const { orderId, startDate = 0, endDate = 1e12, skip = 0, take = 100 } = query;
      const found = [...player.made.values()].filter(
        (i) =>
          (orderId === undefined || i.metadata.orderId === orderId) &&
          (i.createdTime ?? 0) >= Number(startDate) &&
          (i.createdTime ?? 0) <= Number(endDate),
      );
      return [200, found.map((i) => state(player, i)).slice(Number(skip), Number(skip) + Number(take))];
    }
    if (method === 'GET' && path.startsWith(`${BASE}/pull-payments`))
      return [200, [...player.refunds.values()].filter((p) => query.includeArchived === 'true' || !p.archived)];
    if (method === 'GET' && path === `${BASE}/payouts`) return [200, player.payouts ?? []]; // without dates (S)
    const one = /\/invoices\/(\w+)(\/\S+)?$/.exec(path);
    const invoice = one && state(player, player.made.get(one[1]));
    if (one && !invoice) return refuse(404, 'invoice-not-found');
    if (method === 'GET' && one && !one[2]) return [200, invoice];
    if (method === 'GET' && one?.[2] === '/payment-methods') return [200, paymentMethods(invoice)];
    if (method === 'POST' && one?.[2] === '/refund') return refund(player, invoice, body);
    if (method === 'POST' && one?.[2] === '/status') return mark(player, invoice, body);
    return null;
  },
};
