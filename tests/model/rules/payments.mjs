// tests/model/rules/payments.mjs - orders that wait for a gateway, and what the providers tell. The gateways have no API key: nothing is called.
import { LABELS, signed } from '../../api/lib/gateways.mjs';
import { aTime, money, notFound, ok, refused } from '../lib/compare.mjs';
import { orderSeen, payBy } from './orders.mjs';

const PROVIDER = { [LABELS.stripe]: 'stripe', [LABELS.razorpay]: 'razorpay' };

/** What the provider sends about a payment: its own names for things, ours in the metadata. */
function message(w, p, kind, { amount, returned }) {
  const [id, at] = [`${w.prefix}${w.number}`, Math.floor(Date.now() / 1000)];
  const intent = `pi_${w.prefix}${p.name}`;
  const order_id = String(p.order.id);
  if (PROVIDER[p.gateway] === 'stripe') {
    const charge = kind === 'refunded';
    const type = {
      paid: 'payment_intent.succeeded',
      failed: 'payment_intent.payment_failed',
      refunded: 'charge.refunded',
    }[kind];
    const about = charge
      ? {
          id: `ch_${intent}`,
          object: 'charge',
          payment_intent: intent,
          amount_refunded: returned,
          refunded: returned === amount,
        }
      : { id: intent, object: 'payment_intent', amount_received: kind === 'paid' ? amount : 0 };
    const object = { ...about, amount, currency: 'usd', metadata: { order_id } };
    return { id: `evt_${id}`, object: 'event', created: at, livemode: false, type, data: { object } };
  }
  const event = { paid: 'payment.captured', failed: 'payment.failed', refunded: 'refund.processed' }[kind];
  const entity = {
    id: intent,
    entity: 'payment',
    amount,
    currency: 'USD',
    status: kind === 'failed' ? 'failed' : 'captured',
    amount_refunded: returned ?? 0,
    notes: { order_id },
  };
  const refund = { entity: { id: `rfnd_${id}`, amount: returned - p.returned, payment_id: intent } };
  return {
    entity: 'event',
    event,
    created_at: at,
    nonce: id,
    payload: { payment: { entity }, ...(kind === 'refunded' ? { refund } : {}) },
  };
}

function send(w, gateway, raw, { forged = false } = {}) {
  const headers = signed(PROVIDER[gateway], raw, forged ? 'whsec_of_somebody_else' : undefined);
  return { as: 'nobody', params: { gateway }, body: raw, headers };
}

/** The payment that an order waits for, and that the next event is about. */
const current = (w, name) => {
  const p = w.get('payment', name);
  return p && p.order.payment === p && p.order.id && !p.stuck ? p : null;
};

/** The money has come. */
export function paid(w, p, amount) {
  const o = p.order;
  if (p.received > 0) return;
  p.received = amount;
  if (amount !== p.amount) {
    p.waiting = amount;
    p.stuck = true; // a review: for a person
    return;
  }
  p.status = 'succeeded';
  if (['pending', 'cancelled'].includes(o.status) && w.inStock(o.lines)) {
    o.paid_with = p.gateway;
    w.deliver(o);
  } else {
    p.waiting = amount;
    p.stuck = true;
    // The order cannot be paid any more, so that others may use its coupon; unless an earlier page is still open somewhere.
    if (o.status === 'cancelled' && w.all('payment').filter((x) => x.order === o).length === 1) o.coupon_freed = true;
  }
}

export function failed(w, p) {
  if (p.status !== 'open') return;
  p.status = 'failed';
  if (p.order.status === 'pending') p.order.status = 'cancelled';
}

export function givenBack(w, p, returned) {
  const o = p.order;
  p.returned = returned;
  o.refunded = returned;
  if (returned === o.total && o.status === 'confirmed') w.close(o);
}

const event = (kind, choose, take) => ({
  route: 'POST /webhook/{gateway}',
  make: (w, r) => ({
    payment: w.some('payment', r, (p) => current(w, p.name) && choose.fits(p)),
    ...choose.args?.(w, r),
  }),
  play(w, a) {
    const p = current(w, a.payment);
    const what = p && choose.of(p, a);
    if (!what) return null;
    const raw = JSON.stringify(message(w, p, kind, what));
    return {
      ...send(w, p.gateway, raw, { forged: a.forged }),
      answer() {
        if (a.forged) return refused(400, 'signature_invalid');
        w.events.push({ gateway: p.gateway, raw });
        take(w, p, what);
        return ok();
      },
    };
  },
});

export const payments = {
  'the provider says paid': {
    weight: 4,
    ...event(
      'paid',
      {
        fits: () => true,
        args: (w, r) => ({ more: r.oneIn(12) ? r.pick([-1, 1]) : 0, forged: r.oneIn(10) }),
        of: (p, a) => ({ amount: p.received || p.amount + a.more }), // the same again says nothing new
      },
      (w, p, { amount }) => paid(w, p, amount),
    ),
  },

  'the provider says failed': {
    weight: 1.5,
    ...event('failed', { fits: () => true, of: (p) => ({ amount: p.amount }) }, (w, p) => failed(w, p)),
  },

  'the provider says given back': {
    weight: 2,
    ...event(
      'refunded',
      {
        fits: (p) => p.received > 0 && p.returned < p.received,
        args: (w, r) => ({ part: r.pick([1, 100, 0, 0]) }),
        of: (p, a) => {
          if (p.received === 0 || p.status !== 'succeeded' || p.returned >= p.received || p.order.refund) return null;
          return { amount: p.amount, returned: a.part === 0 ? p.amount : Math.min(p.amount, p.returned + a.part) };
        },
      },
      (w, p, { returned }) => givenBack(w, p, returned),
    ),
  },

  'the provider repeats itself': {
    route: 'POST /webhook/{gateway}',
    weight: 2,
    make: (w, r) => ({ event: r.below(1000) }),
    play(w, a) {
      const e = w.events.length > 0 ? w.events[a.event % w.events.length] : null;
      return e && { ...send(w, e.gateway, e.raw), answer: () => ok() };
    },
  },

  'somebody else plays the provider': {
    route: 'POST /webhook/{gateway}',
    weight: 0.3,
    isAlwaysRefused: true,
    make: (w, r) => ({ gateway: r.pick(['card_gateway_a', 'no_such_gateway', 'wallet_gateway']) }),
    play: (w, a) => ({
      as: 'nobody',
      params: { gateway: a.gateway },
      body: '{"id":"evt_1","type":"payment_intent.succeeded"}',
      answer: () => (a.gateway === 'card_gateway_a' ? refused(400, 'signature_invalid') : notFound()),
    }),
  },

  'settle a refund': {
    route: 'POST /api/admin/refunds/{id}/settle',
    weight: 1.2,
    make: (w, r) => ({ refund: w.some('refund', r, (f) => f.id && (f.status === 'failed' || r.oneIn(5))) }),
    play(w, a) {
      const f = w.get('refund', a.refund);
      if (f && !f.id) return null; // its id was not seen yet
      return {
        as: 'staff',
        params: { id: w.id('refund', a.refund) },
        body: { note: 'by bank' },
        answer() {
          if (!f) return notFound();
          if (f.status !== 'failed') return refused(409, 'invalid_state');
          f.status = 'done';
          f.order.refund = null;
          givenBack(w, f.order.payment, f.order.payment.returned + f.amount);
          return ok({ id: f.id, order_id: f.order.id, amount: money(f.amount), status: 'done', note: 'by bank' });
        },
      };
    },
  },

  'try a refund again': {
    route: 'POST /api/admin/refunds/{id}/retry',
    weight: 0.3,
    isAlwaysRefused: true, // nothing can be called
    make: (w, r) => ({ refund: w.some('refund', r, (f) => f.id) }),
    play(w, a) {
      const f = w.get('refund', a.refund);
      if (f && !f.id) return null;
      return {
        as: 'staff',
        params: { id: w.id('refund', a.refund) },
        answer: () => (f ? refused(409, 'invalid_state') : notFound()),
      };
    },
  },

  'look at a payment': {
    route: 'GET /api/customer/payments/{reference}',
    weight: 1.5,
    make: (w, r) => ({ token: w.some('token', r), payment: w.some('payment', r) }),
    play(w, a) {
      const p = w.get('payment', a.payment);
      return {
        as: a.token,
        params: { reference: p?.reference ?? 'souk_nothing' },
        answer: () =>
          p && p.order.customer === w.get('token', a.token).customer
            ? ok({
                gateway: p.gateway,
                order_id: p.order.id,
                status: p.status,
                amount: money(p.amount),
                created_at: aTime,
              })
            : notFound(),
      };
    },
  },

  'pay another way': {
    route: 'POST /api/customer/orders/{id}/pay',
    weight: 1.5,
    make: (w, r) => ({
      token: w.some('token', r),
      order: w.some('order', r, (o) => o.status === 'pending' || r.oneIn(6)),
      pay_with: r.pick(['wallet', 'card_gateway_a', 'card_gateway_b']),
    }),
    play(w, a) {
      const o = w.get('order', a.order);
      if (o?.payment?.stuck) return null;
      return {
        as: a.token,
        params: { id: w.id('order', a.order) },
        body: { pay_with: a.pay_with },
        answer() {
          if (!o || o.customer !== w.get('token', a.token).customer) return notFound();
          if (o.status !== 'pending') return refused(409, 'invalid_state');
          return payBy(w, o, a.pay_with);
        },
      };
    },
  },

  'give an order up': {
    route: 'POST /api/customer/orders/{id}/cancel',
    weight: 0.7,
    make: (w, r) => ({
      token: w.some('token', r),
      order: w.some('order', r, (o) => o.status === 'pending' || r.oneIn(4)),
    }),
    play(w, a) {
      const o = w.get('order', a.order);
      return {
        as: a.token,
        params: { id: w.id('order', a.order) },
        answer() {
          if (!o || o.customer !== w.get('token', a.token).customer) return notFound();
          if (o.status !== 'pending' || o.payment.received > 0) return refused(409, 'invalid_state');
          giveUp(o);
          return ok(orderSeen(w, o));
        },
      };
    },
  },

  'staff confirm an order': {
    route: 'POST /api/admin/orders/{id}/confirm',
    weight: 0.7,
    make: (w, r) => ({ order: w.some('order', r, (o) => o.payment && (o.status === 'pending' || r.oneIn(4))) }),
    play(w, a) {
      const o = w.get('order', a.order);
      if (o?.payment?.stuck) return null;
      return {
        as: 'staff',
        params: { id: w.id('order', a.order) },
        answer() {
          if (!o) return notFound();
          // A cancelled order, too: the money came after all.
          if (!['pending', 'cancelled'].includes(o.status)) return refused(409, 'invalid_state');
          if (!w.inStock(o.lines)) return refused(409, 'out_of_stock');
          if (o.payment.status === 'open' || o.payment.status === 'failed') o.payment.status = 'closed';
          o.payment.stuck = true; // money that still comes is for a person
          o.by_hand = true;
          w.deliver(o);
          return ok(orderSeen(w, o, { masked: true }));
        },
      };
    },
  },

  'staff cancel an order': {
    route: 'POST /api/admin/orders/{id}/cancel',
    weight: 0.5,
    make: (w, r) => ({ order: w.some('order', r, (o) => o.status === 'pending' || r.oneIn(4)) }),
    play(w, a) {
      const o = w.get('order', a.order);
      if (o?.payment?.stuck) return null;
      return {
        as: 'staff',
        params: { id: w.id('order', a.order) },
        answer() {
          if (!o) return notFound();
          if (o.status !== 'pending') return refused(409, 'invalid_state');
          giveUp(o);
          return ok(orderSeen(w, o, { masked: true }));
        },
      };
    },
  },
};

function giveUp(o) {
  o.status = 'cancelled';
  if (o.payment.status === 'open' || o.payment.status === 'failed') o.payment.status = 'closed';
}
