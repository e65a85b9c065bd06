// tests/model/rules/orders.mjs - orders: bought by programs, read by their owners, given back by staff.
import { aTime, born, invalid, made, money, notFound, ok, refused } from '../lib/compare.mjs';
import { LINE_MAX, wish } from './cart.mjs';

const KEY = /^([A-Z0-9]+-)?([0-9A-HJKMNP-TV-Z]{5}-){4}[0-9A-HJKMNP-TV-Z]{5}$/;

/** A key or code that is seen for the first time must be a new one; afterwards it stays what it was. */
const valueOf = (w, unit) => (text) => {
  const known = unit.license ? unit.license.key : unit.value;
  if (known !== null) return known === text || `it was ${known}`;
  if (unit.license) {
    if (!KEY.test(text)) return 'no licence key';
    if (w.all('license').some((l) => l.key === text)) return 'another licence has it';
    unit.license.key = text;
  } else if (unit.type === 'serial_code') {
    const pools = w.poolsOf(unit.line.product, unit.line.variant);
    if (!pools.some(({ codes }) => codes.delete(text))) return 'not a code of the pool, or sold before';
  }
  unit.value = text;
  return true;
};

/** The deliveries of an order as the answer of a purchase lists them. */
export const delivered = (w, order) => order.units.map((unit) => ({ type: unit.type, value: valueOf(w, unit) }));

export const orderSeen = (w, o, { whole = true, masked = false } = {}) => ({
  id: o.id,
  status: o.status,
  channel: o.channel,
  subtotal: money(o.subtotal),
  discount: money(o.discount),
  total: money(o.total),
  refunded_amount: money(o.refunded),
  coupon: o.coupon?.code ?? null,
  on_hold: false,
  created_at: aTime,
  items: o.lines.map((l) => ({
    product_id: l.product.id,
    name: l.title ?? l.product.title,
    quantity: l.quantity,
    unit_price: money(l.price),
    subtotal: money(l.price * l.quantity),
    ...(whole
      ? {
          deliveries: o.units
            .filter((u) => u.line === l)
            .map((u) => ({ type: u.type, ...(masked ? {} : { value: valueOf(w, u) }) })),
        }
      : {}),
  })),
});

/** A payment at a gateway, for which the order waits. The one before it is closed. */
export function awaitPayment(w, order, gateway) {
  if (order.payment && ['open', 'failed'].includes(order.payment.status)) order.payment.status = 'closed';
  order.payment = w.add('payment', {
    order,
    gateway,
    amount: order.total,
    status: 'open',
    received: 0,
    waiting: 0,
    returned: 0,
  });
  const { payment } = order;
  return {
    gateway,
    url: null,
    reference: (text) => {
      payment.reference = text;
      return /^souk_\w+$/.test(text);
    },
  };
}

/** An order that waits is paid another way. */
export function payBy(w, o, pay_with) {
  if (pay_with !== 'wallet')
    return made({ order_id: o.id, status: 'pending', total: money(o.total), payment: awaitPayment(w, o, pay_with) });
  const refusals = [];
  if (o.total > o.customer.balance) refusals.push(refused(402, 'insufficient_balance'));
  if (!w.inStock(o.lines)) refusals.push(refused(409, 'out_of_stock'));
  if (refusals.length > 0) return refusals;
  o.payment.status = 'closed';
  o.payment.stuck = true; // money that still comes is given back
  o.paid_with = 'wallet';
  w.debit(o.customer, o.total);
  w.deliver(o);
  return ok({ order_id: o.id, status: 'confirmed', total: money(o.total), payment: null });
}

const ofCustomer = (w, c) =>
  w
    .all('order')
    .filter((o) => o.customer === c)
    .sort((x, y) => y.id - x.id);

/** Those through a gateway, with ids to be learned. */
const refundsSeen = (w, o) => (list) => {
  if (!o.refund) return true;
  const found = list.filter((f) => f.status === 'failed');
  if (found.length !== 1 || found[0].amount !== money(o.refund.amount)) return 'not the refund that waits';
  return born(o.refund)(found[0].id);
};

function buy(w, c, a) {
  const p = w.get('product', a.product);
  if (a.quantity < 1) return [invalid({ quantity: 'not_positive' }), invalid({ quantity: 'out_of_range' })];
  if (a.quantity > LINE_MAX) return invalid({ quantity: 'out_of_range' });
  if (!w.isOnSale(p)) return notFound();
  const choice = w.choice(p, a.variant);
  if (!choice)
    return [
      { status: 422, codes: ['validation_failed'] },
      ...(a.variant === undefined ? [refused(409, 'out_of_stock'), notFound()] : []),
    ];
  const lines = [{ ...choice, quantity: a.quantity }];
  const subtotal = choice.price * a.quantity;
  const coupon = a.coupon === undefined ? null : w.get('coupon', a.coupon);
  const refusals = [];
  const problems = a.coupon === undefined ? [] : w.couponProblems(coupon, c, lines);
  if (problems.length > 0) refusals.push(refused(422, ...problems));
  const off = coupon && problems.length === 0 ? w.discount(coupon, lines) : 0;
  const total = subtotal - off;
  if (!w.inStock(lines)) refusals.push(refused(409, 'out_of_stock'));
  if (total > 0 && total > w.spendable(c))
    refusals.push({
      ...refused(402, 'insufficient_balance'),
      more: { required: money(total), available: money(w.spendable(c)) },
    });
  if (refusals.length > 0) return refusals;
  const order = w.add('order', {
    customer: c,
    lines,
    coupon,
    subtotal,
    discount: off,
    total,
    refunded: 0,
    channel: 'api',
    status: 'confirmed',
    paid_with: 'wallet',
    units: [],
  });
  w.debit(c, total);
  w.deliver(order);
  w.tell(c, 'order_delivered', order);
  return ok(
    {
      order_id: born(order),
      total: money(total),
      status: 'confirmed',
      deliveries: delivered(w, order),
      delivery: {
        type: p.delivery_type,
        value: (text) => text === order.units.map((u) => u.value).join('\n') || 'not the values, one on each line',
      },
    },
    { message: 'Order confirmed' },
  );
}

export const orders = {
  order: {
    route: 'POST /api/v1/order/create',
    weight: 10,
    make: (w, r) => ({
      token: w.some('token', r),
      ...wish(w, r),
      quantity: r.oneIn(30) ? r.pick([0, 1001]) : r.pick([1, 1, 1, 2, 3]),
      coupon: r.oneIn(3) ? w.some('coupon', r) : undefined,
    }),
    play(w, a) {
      const t = w.get('token', a.token);
      return {
        as: a.token,
        body: {
          product_id: w.id('product', a.product),
          variant_id: a.variant === undefined ? undefined : w.id('variant', a.variant),
          quantity: a.quantity,
          coupon_code: a.coupon === undefined ? undefined : (w.get('coupon', a.coupon)?.code ?? 'NO-SUCH-CODE'),
        },
        answer: () => buy(w, t.customer, a),
      };
    },
  },

  'list orders': {
    route: 'GET /api/customer/orders',
    weight: 1,
    make: (w, r) => ({ token: w.some('token', r) }),
    play: (w, a) => ({
      as: a.token,
      query: { limit: 50 },
      answer: () =>
        ok(
          ofCustomer(w, w.get('token', a.token).customer)
            .slice(0, 50)
            .map((o) => orderSeen(w, o, { whole: false })),
        ),
    }),
  },

  'look at an order': {
    route: 'GET /api/customer/orders/{id}',
    weight: 5,
    make: (w, r) => ({ token: w.some('token', r), order: w.some('order', r) }),
    play(w, a) {
      const o = w.get('order', a.order);
      return {
        as: a.token,
        params: { id: w.id('order', a.order) },
        answer: () => (o && o.customer === w.get('token', a.token).customer ? ok(orderSeen(w, o)) : notFound()),
      };
    },
  },

  'staff look at an order': {
    route: 'GET /api/admin/orders/{id}',
    weight: 2,
    make: (w, r) => ({ order: w.some('order', r) }),
    play(w, a) {
      const o = w.get('order', a.order);
      return {
        as: 'staff',
        params: { id: w.id('order', a.order) },
        answer: () =>
          o
            ? ok({
                ...orderSeen(w, o, { masked: true }),
                customer_id: o.customer.id,
                email: o.customer.email,
                refunds: refundsSeen(w, o),
              })
            : notFound(),
      };
    },
  },

  'give money back': {
    route: 'POST /api/admin/orders/{id}/refund',
    weight: 2,
    make: (w, r) => ({ order: w.some('order', r), amount: r.oneIn(2) ? r.pick([1, 100, 500, 99999]) : undefined }),
    play(w, a) {
      const o = w.get('order', a.order);
      return {
        as: 'staff',
        params: { id: w.id('order', a.order) },
        body: a.amount === undefined ? {} : { amount: money(a.amount) },
        answer() {
          if (!o) return notFound();
          const said = giveBack(w, o, a.amount);
          return said === true ? ok({ ...orderSeen(w, o, { masked: true }), refunds: refundsSeen(w, o) }) : said;
        },
      };
    },
  },
};

/** Nothing can be called without an API key: the refund waits until it is settled, and nothing is booked before. */
function requestRefund(w, o, wanted) {
  if (o.payment.stuck || o.refund) return null;
  if (o.status !== 'confirmed') return refused(409, 'invalid_state');
  const left = o.total - o.refunded;
  if (wanted !== undefined && wanted > left) return invalid({ amount: 'out_of_range' });
  o.refund = w.add('refund', { order: o, amount: wanted ?? left, status: 'failed' });
  return true;
}

/** All that is left, or an amount, into the wallet. Gives true, a refusal, or null where a gateway would have to do it. */
export function giveBack(w, o, wanted) {
  if (o.payment?.received > 0) return requestRefund(w, o, wanted);
  if (o.status !== 'confirmed') return refused(409, 'invalid_state');
  if (o.by_hand) return null;
  const left = o.total - o.refunded;
  if (wanted !== undefined && wanted > left) return invalid({ amount: 'out_of_range' });
  const amount = wanted ?? left;
  o.refunded += amount;
  w.credit(o.customer, amount);
  if (o.refunded === o.total) w.close(o);
  return true;
}
