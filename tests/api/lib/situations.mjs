// tests/api/lib/situations.mjs - what can happen to a payment, and what must come of it: the rows of the table in docs/payments.md.
//
// `needs` names what a provider must be able to do (tellers.mjs); where it cannot, the cell is empty. `then` is what the API says
// afterwards, as far as it differs from an order that waits; `but` is what differs at one provider.
export const PROVIDERS = ['stripe', 'razorpay', 'paypal', 'btcpay', 'sandbox'];

const AS_ORDERED = 'an order is captured with its own amount and currency';
const NO_BANK = 'coins are not asked back by a bank';

/** Why a cell of the table in docs/payments.md cannot happen: provider, then what. */
export const NEVER = {
  paypal: {
    pay_less: AS_ORDERED,
    pay_more: AS_ORDERED,
    pay_other: AS_ORDERED,
    return_refund: 'has no event for it',
    pay_twice: 'an order is captured once',
    refund_early: 'we capture, so the payment is known first',
  },
  btcpay: {
    decline: 'there are no attempts',
    pay_other: 'an invoice has one currency',
    refund: 'sends no amount with it',
    return_refund: NO_BANK,
    dispute: NO_BANK,
    pay_twice: 'an invoice is settled once',
    refund_early: 'sends no amount with it',
  },
};

/** Whether it can. */
export const happens = (situation, provider) =>
  !situation.except?.[provider] && !situation.needs.some((n) => NEVER[provider]?.[n]);

export const AMOUNT = 4999;
export const PART = 2499;
export const MORE = 7499;

/** An order that waits for its payment. Money in major units, as the API says it. */
export const BEFORE = {
  order: 'pending',
  held: false,
  refunded: 0,
  delivered: 0,
  payment: 'open',
  received: 0,
  waiting: 0,
  credited: 0,
  returned: 0,
  wallet: 0,
  frozen: 0,
  debt: 0,
  told: [],
  asks: [],
};

const SOLD = { order: 'confirmed', delivered: 1, payment: 'succeeded', received: 49.99, told: ['order_delivered'] };
const PAID_TOPUP = {
  order: null,
  payment: 'succeeded',
  received: 49.99,
  credited: 49.99,
  wallet: 49.99,
  told: ['topup_credited'],
};
const GONE = { order: 'cancelled', payment: 'expired' };
const refundedBy = (told) => ({ ...SOLD, order: 'refunded', refunded: 49.99, returned: 49.99, told });

export const SITUATIONS = [
  { name: 'success', needs: ['pay'], play: (t, d) => t.pay(d), then: SOLD },
  {
    name: 'success, told twice',
    needs: ['repeat'],
    play: async (t, d) => {
      d.twice = true;
      await t.pay(d);
      await t.repeat(d);
    },
    then: SOLD,
  },
  {
    name: 'success, told by nobody',
    needs: ['pay'],
    play: async (t, d) => {
      await t.pay(d, { silent: true });
      d.hurries = 'ask';
    },
    then: SOLD,
  },
  {
    name: 'an attempt failed',
    needs: ['decline'],
    play: (t, d) => t.decline(d),
    then: { order: 'cancelled', payment: 'failed' },
    but: { paypal: { order: 'pending', payment: 'open' } },
  },
  {
    name: 'success after a failure',
    needs: ['decline', 'pay'],
    play: async (t, d) => {
      await t.decline(d);
      await d.seen({ paypal: {} }[d.provider] ?? { order: 'cancelled' });
      await t.pay(d);
    },
    then: SOLD,
  },
  { name: 'the page is dead', needs: ['expire'], play: (t, d) => t.expire(d), then: GONE },
  {
    name: 'success after the page died',
    needs: ['expire', 'pay'],
    except: { paypal: 'what is dead is not captured' },
    play: async (t, d) => {
      await t.expire(d);
      await d.seen(GONE);
      await t.pay(d);
    },
    then: SOLD,
    but: { btcpay: { ...GONE, received: 0, delivered: 0, told: [], asks: ['amount'] } },
  },
  {
    name: 'too little',
    needs: ['pay_less'],
    play: (t, d) => t.pay(d, { amount: PART }),
    then: { received: 24.99, waiting: 24.99, asks: ['amount'] },
    but: { btcpay: { received: 0, waiting: 0 } },
  },
  {
    name: 'too much',
    needs: ['pay_more'],
    play: (t, d) => t.pay(d, { amount: MORE }),
    then: { received: 74.99, waiting: 74.99, asks: ['amount'] },
  },
  {
    name: 'another currency',
    needs: ['pay_other'],
    play: (t, d) => t.pay(d, { currency: 'eur' }),
    then: { asks: ['amount'] },
  },
  {
    name: 'paid, out of stock',
    needs: ['pay'],
    sold_out: true,
    play: (t, d) => t.pay(d),
    then: { payment: 'succeeded', received: 49.99, waiting: 49.99, asks: ['stock'] },
  },
  {
    name: 'paid twice',
    needs: ['pay_twice'],
    play: async (t, d) => {
      await t.pay(d);
      await d.seen({ order: 'confirmed' });
      await t.pay_twice(d);
    },
    then: { ...SOLD, received: 99.98, waiting: 49.99, asks: ['duplicate'] },
  },
  {
    name: 'part given back at the provider',
    needs: ['refund'],
    paid: true,
    play: (t, d) => t.refund(d, PART),
    then: { ...SOLD, refunded: 24.99, returned: 24.99, told: ['order_delivered', 'refunded'] },
  },
  {
    name: 'all given back at the provider',
    needs: ['refund'],
    paid: true,
    play: (t, d) => t.refund(d, AMOUNT),
    then: refundedBy(['order_delivered', 'refunded']),
  },
  {
    name: 'a refund told before its payment',
    needs: ['refund_early'],
    play: (t, d) => t.refund_early(d, PART),
    then: { ...SOLD, refunded: 24.99, returned: 24.99, told: ['order_delivered', 'refunded'] },
  },
  {
    name: 'refund by staff',
    needs: ['pay'],
    paid: true,
    play: (t, d) => d.refund(),
    then: refundedBy(['order_delivered', 'refunded']),
  },
  {
    name: 'refund by staff, refused',
    needs: ['pay'],
    paid: true,
    play: async (t, d) => {
      await t.refuse_refunds(d);
      await d.refund();
    },
    then: { ...SOLD, asks: ['refund_failed'] },
  },
  {
    name: 'a refund that the bank returns',
    needs: ['return_refund'],
    paid: true,
    play: async (t, d) => {
      await t.refund(d, AMOUNT);
      await d.seen({ order: 'refunded' });
      await t.return_refund(d, AMOUNT);
    },
    then: { ...refundedBy(['order_delivered', 'refunded']), returned: 0, waiting: 49.99, asks: ['refund_failed'] },
  },
  {
    name: 'disputed',
    needs: ['dispute'],
    paid: true,
    play: (t, d) => t.dispute(d, 'opened'),
    then: { ...SOLD, held: true, asks: ['dispute'] },
  },
  ...['won', 'withdrawn'].map((end) => ({
    name: `dispute ${end}`,
    needs: ['dispute'],
    disputed: true,
    play: (t, d) => t.dispute(d, end),
    then: SOLD,
  })),
  {
    name: 'dispute lost',
    needs: ['dispute'],
    disputed: true,
    play: (t, d) => t.dispute(d, 'lost'),
    then: refundedBy(['order_delivered']),
  },
  {
    name: 'dispute lost in part',
    needs: ['dispute'],
    disputed: true,
    play: (t, d) => t.dispute(d, 'lost', PART),
    then: { ...SOLD, refunded: 24.99, returned: 24.99 },
  },
  { name: 'top-up paid', needs: ['pay'], topup: true, play: (t, d) => t.pay(d), then: PAID_TOPUP },
  {
    name: 'top-up given back at the provider',
    needs: ['refund'],
    topup: true,
    paid: true,
    play: (t, d) => t.refund(d, AMOUNT),
    then: { ...PAID_TOPUP, wallet: 0, returned: 49.99, told: ['refunded', 'topup_credited'] },
  },
  {
    name: 'top-up disputed',
    needs: ['dispute'],
    topup: true,
    paid: true,
    play: (t, d) => t.dispute(d, 'opened'),
    then: { ...PAID_TOPUP, wallet: 0, frozen: 49.99, asks: ['dispute'] },
  },
  {
    name: 'top-up lost after it was spent',
    needs: ['dispute'],
    topup: true,
    paid: true,
    play: async (t, d) => {
      await d.spend();
      await t.dispute(d, 'opened');
      await d.seen({ asks: ['dispute'] });
      await t.dispute(d, 'lost');
    },
    then: { ...PAID_TOPUP, wallet: 0, returned: 49.99, debt: 49.99 },
  },
];
