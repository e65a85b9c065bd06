// tests/model/rules/cart.mjs - one token, one cart: lines at the price of their adding, at most one coupon.
import { born, invalid, made, money, ok, refused } from '../lib/compare.mjs';
import { awaitPayment, delivered } from './orders.mjs';

export const LINE_MAX = 1000;
const sum = (lines) => lines.reduce((total, l) => total + l.price * l.quantity, 0);

/** A reading drops a coupon that cannot be used any more. */
function seen(w, token) {
  const { cart } = token;
  if (cart.coupon && w.couponProblems(cart.coupon, token.customer, cart.lines).length > 0) cart.coupon = null;
  const off = cart.coupon ? w.discount(cart.coupon, cart.lines) : 0;
  return {
    items: cart.lines.map((l) => ({
      product_id: l.product.id,
      variant_id: l.variant ? l.variant.id : (value) => value === undefined,
      name: l.product.title,
      quantity: l.quantity,
      unit_price: money(l.price),
      subtotal: money(l.price * l.quantity),
    })),
    coupon: cart.coupon?.code ?? null,
    discount: money(off),
    total: money(sum(cart.lines) - off),
  };
}

const find = (cart, product, variant) => cart.lines.find((l) => l.product === product && l.variant === variant);

/** The variants as the cart wants them: named where there are some, else not. Gives {variant} or {refusal}. */
function variantOf(w, p, name) {
  const variants = w.variantsOf(p);
  if (variants.length === 0) return name === undefined ? { variant: null } : { refusal: 'not_combinable' };
  if (name === undefined) return { refusal: 'required' };
  const v = variants.find((x) => x.name === name && x.is_active);
  return v ? { variant: v } : { refusal: 'unknown_id' };
}

/** A product and mostly one of its variants, if it has any. */
export function wish(w, r) {
  const product = w.some('product', r, (p) => p.is_active || r.oneIn(10));
  const variants = w.get('product', product) ? w.variantsOf(w.get('product', product)) : [];
  const variant = r.oneIn(20) ? w.some('variant', r) : r.oneIn(20) ? undefined : r.pick(variants)?.name;
  return { product, variant };
}

/** Takes something out of the cart; there may be nothing to take. */
const clearing = (route, weight, clear) => ({
  route,
  weight,
  make: (w, r) => ({ token: w.some('token', r) }),
  play(w, a) {
    return {
      as: a.token,
      answer() {
        const t = w.get('token', a.token);
        clear(t);
        return ok(seen(w, t));
      },
    };
  },
});

export const cartOps = {
  'read the cart': {
    route: 'GET /api/store/cart',
    weight: 4,
    make: (w, r) => ({ token: w.some('token', r) }),
    play: (w, a) => ({ as: a.token, answer: () => ok(seen(w, w.get('token', a.token))) }),
  },

  'add to the cart': {
    route: 'POST /api/store/cart/add',
    weight: 8,
    make: (w, r) => ({
      token: w.some('token', r),
      ...wish(w, r),
      quantity: r.oneIn(20) ? r.pick([0, 999, 1001]) : r.between(1, 3),
    }),
    play(w, a) {
      const [t, p] = [w.get('token', a.token), w.get('product', a.product)];
      return {
        as: a.token,
        body: {
          product_id: w.id('product', a.product),
          variant_id: a.variant === undefined ? undefined : w.id('variant', a.variant),
          quantity: a.quantity,
        },
        answer() {
          if (a.quantity < 1) return [invalid({ quantity: 'not_positive' }), invalid({ quantity: 'out_of_range' })];
          if (a.quantity > LINE_MAX) return invalid({ quantity: 'out_of_range' });
          if (!w.isOnSale(p)) return invalid({ product_id: 'unknown_id' });
          const { variant, refusal } = variantOf(w, p, a.variant);
          if (refusal) return invalid({ variant_id: refusal });
          const line = find(t.cart, p, variant);
          if ((line?.quantity ?? 0) + a.quantity > LINE_MAX) return invalid({ quantity: 'quantity_limit' });
          const price = variant?.price ?? p.price;
          if (line) Object.assign(line, { quantity: line.quantity + a.quantity, price });
          else t.cart.lines.push({ product: p, variant, quantity: a.quantity, price });
          return ok(seen(w, t));
        },
      };
    },
  },

  'set a line': {
    route: 'PATCH /api/store/cart/items',
    weight: 2,
    make(w, r) {
      const token = w.some('token', r);
      const line = r.oneIn(5) ? null : r.pick(w.get('token', token)?.cart.lines ?? []);
      const what = line ? { product: line.product.name, variant: line.variant?.name } : wish(w, r);
      return { token, ...what, quantity: r.pick([0, 0, 1, 2, 5]) };
    },
    play(w, a) {
      const [t, p] = [w.get('token', a.token), w.get('product', a.product)];
      return {
        as: a.token,
        body: {
          product_id: w.id('product', a.product),
          variant_id: a.variant === undefined ? undefined : w.id('variant', a.variant),
          quantity: a.quantity,
        },
        answer() {
          const line = t.cart.lines.find((l) => l.product === p && (l.variant?.name ?? undefined) === a.variant);
          if (!line) {
            // Nothing to remove is no error; nothing to change is.
            if (a.quantity === 0) return [ok(seen(w, t)), { status: 422, codes: ['validation_failed'] }];
            return { status: 422, codes: ['validation_failed'] };
          }
          if (a.quantity === 0) t.cart.lines = t.cart.lines.filter((l) => l !== line);
          else line.quantity = a.quantity;
          return ok(seen(w, t));
        },
      };
    },
  },

  'empty the cart': clearing('DELETE /api/store/cart', 0.5, (t) => (t.cart = { lines: [], coupon: null })),

  'apply a coupon': {
    route: 'POST /api/store/cart/coupon',
    weight: 4,
    make: (w, r) => ({ token: w.some('token', r), coupon: w.some('coupon', r), lower: r.oneIn(3) }),
    play(w, a) {
      const [t, c] = [w.get('token', a.token), w.get('coupon', a.coupon)];
      const code = c?.code ?? 'NO-SUCH-CODE';
      return {
        as: a.token,
        body: { code: a.lower ? code.toLowerCase() : code },
        answer() {
          const problems = w.couponProblems(c, t.customer, t.cart.lines);
          if (problems.length > 0) return refused(422, ...problems);
          t.cart.coupon = c;
          return ok(seen(w, t));
        },
      };
    },
  },

  'take the coupon out': clearing('DELETE /api/store/cart/coupon', 0.7, (t) => (t.cart.coupon = null)),

  checkout: {
    route: 'POST /api/store/cart/checkout',
    weight: 6,
    make: (w, r) => ({
      token: w.some('token', r, (t) => t.cart.lines.length > 0 || r.oneIn(5)),
      pay_with: r.pick(['wallet', 'wallet', 'card_gateway_a', 'card_gateway_b', r.oneIn(9) ? 'no_gateway' : 'wallet']),
    }),
    play(w, a) {
      const t = w.get('token', a.token);
      return { as: a.token, body: { pay_with: a.pay_with }, answer: () => checkout(w, t, a.pay_with) };
    },
  },
};

function checkout(w, t, pay_with) {
  const { cart, customer } = t;
  const refusals = [];
  if (pay_with === 'no_gateway')
    refusals.push(invalid({ pay_with: 'not_allowed' }), invalid({ pay_with: 'unknown_id' }));
  if (cart.lines.length === 0) refusals.push(refused(422, 'cart_empty'));
  const unsold = cart.lines.some((l) => l.product.gone || !l.product.is_active || !isOffered(w, l));
  if (unsold) refusals.push({ status: 422, codes: ['validation_failed'] });
  if (cart.lines.reduce((n, l) => n + l.quantity, 0) > LINE_MAX) refusals.push(refused(422, 'too_many_units'));
  const problems = cart.coupon ? w.couponProblems(cart.coupon, customer, cart.lines) : [];
  if (problems.length > 0) refusals.push(refused(422, ...problems));
  const off = cart.coupon ? w.discount(cart.coupon, cart.lines) : 0;
  const total = sum(cart.lines) - off;
  const isPaidNow = pay_with === 'wallet' || total === 0;
  if (!w.inStock(cart.lines)) refusals.push(refused(409, 'out_of_stock'));
  if (pay_with === 'wallet' && total > customer.balance && total > 0)
    refusals.push(refused(402, 'insufficient_balance'));
  if (refusals.length > 0) return refusals;

  const order = w.add('order', {
    customer,
    lines: cart.lines,
    coupon: cart.coupon,
    subtotal: sum(cart.lines),
    discount: off,
    total,
    refunded: 0,
    channel: 'cart',
    status: 'pending',
    paid_with: null,
    units: [],
  });
  t.cart = { lines: [], coupon: null };
  if (isPaidNow) {
    order.paid_with = total === 0 ? null : 'wallet';
    w.debit(customer, total);
    w.deliver(order);
    w.tell(customer, 'order_delivered', order);
    return made({ order_id: born(order), status: 'confirmed', total: money(total), deliveries: delivered(w, order) });
  }
  const payment = awaitPayment(w, order, pay_with);
  return made({ order_id: born(order), status: 'pending', total: money(total), payment });
}

const isOffered = (w, l) => (l.variant ? l.variant.is_active && !l.variant.gone : w.variantsOf(l.product).length === 0);
