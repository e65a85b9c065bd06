// tests/model/rules/wallet.mjs - a customer's money, and the ways out of it.
import { aTime, born, invalid, money, notFound, ok, refused } from '../lib/compare.mjs';
import { wallet } from './customers.mjs';

const seen = (d) => ({
  withdrawal_id: d.id,
  amount: money(d.amount),
  status: d.status,
  requested_at: aTime,
  decided_at: d.status === 'pending' ? null : aTime,
  reason: d.reason,
});

const forStaff = (d) => ({
  id: d.id,
  customer_id: d.customer.id,
  email: d.customer.email,
  amount: money(d.amount),
  status: d.status,
  reason: d.reason ?? '',
});

const ofCustomer = (w, c) => w.all('withdrawal').filter((d) => d.customer === c);
const newestFirst = (list) => [...list].sort((x, y) => y.id - x.id);

/** A decision of staff. */
const decide = (to) => ({
  weight: 1.5,
  make: (w, r) => ({
    withdrawal: w.some('withdrawal', r, (d) => d.status === 'pending' || r.oneIn(6)),
    reason: to === 'rejected' && r.oneIn(2) ? 'Not this time' : undefined,
  }),
  play(w, a) {
    const d = w.get('withdrawal', a.withdrawal);
    return {
      as: 'staff',
      params: { id: w.id('withdrawal', a.withdrawal) },
      body: a.reason === undefined ? undefined : { reason: a.reason },
      answer() {
        if (!d) return notFound();
        if (d.status !== 'pending') return refused(409, 'invalid_state');
        d.status = to;
        d.reason = a.reason ?? null;
        w.release(d.customer, d.amount, to === 'approved');
        w.tell(d.customer, `withdrawal_${to}`, d);
        return ok(forStaff(d));
      },
    };
  },
});

export const walletOps = {
  'read the wallet': {
    route: 'GET /api/customer/wallet',
    weight: 4,
    make: (w, r) => ({ token: w.some('token', r) }),
    play: (w, a) => ({ as: a.token, answer: () => ok(wallet(w.get('token', a.token).customer)) }),
  },

  withdraw: {
    route: 'POST /api/customer/wallet/withdraw',
    weight: 3,
    make: (w, r) => ({ token: w.some('token', r), amount: r.pick([-100, 0, 1, 250, 1000, 2600]) }),
    play(w, { token, amount }) {
      const c = w.get('token', token)?.customer;
      return {
        as: token,
        body: { amount: money(amount) },
        answer() {
          if (amount <= 0) return invalid({ amount: 'not_positive' });
          if (amount > c.balance) return invalid({ amount: 'exceeds_balance' });
          const d = w.add('withdrawal', { customer: c, amount, status: 'pending', reason: null });
          w.hold(c, amount);
          return ok({ withdrawal_id: born(d), amount: money(amount), status: 'pending', requested_at: aTime });
        },
      };
    },
  },

  'list withdrawals': {
    route: 'GET /api/customer/wallet/withdrawals',
    weight: 1,
    make: (w, r) => ({ token: w.some('token', r) }),
    play: (w, a) => ({
      as: a.token,
      query: { limit: 100 },
      answer: () =>
        ok(
          newestFirst(ofCustomer(w, w.get('token', a.token).customer))
            .slice(0, 100)
            .map(seen),
        ),
    }),
  },

  'look at a withdrawal': {
    route: 'GET /api/customer/wallet/withdrawals/{id}',
    weight: 1,
    make: (w, r) => ({ token: w.some('token', r), withdrawal: w.some('withdrawal', r) }),
    play(w, a) {
      const d = w.get('withdrawal', a.withdrawal);
      return {
        as: a.token,
        params: { id: w.id('withdrawal', a.withdrawal) },
        answer: () => (d && d.customer === w.get('token', a.token).customer ? ok(seen(d)) : notFound()),
      };
    },
  },

  'cancel a withdrawal': {
    route: 'POST /api/customer/wallet/withdrawals/{id}/cancel',
    weight: 1,
    make: (w, r) => ({
      token: w.some('token', r),
      withdrawal: w.some('withdrawal', r, (d) => d.status === 'pending' || r.oneIn(4)),
    }),
    play(w, a) {
      const d = w.get('withdrawal', a.withdrawal);
      return {
        as: a.token,
        params: { id: w.id('withdrawal', a.withdrawal) },
        answer() {
          if (!d || d.customer !== w.get('token', a.token).customer) return notFound();
          if (d.status !== 'pending') return refused(409, 'invalid_state');
          d.status = 'cancelled';
          w.release(d.customer, d.amount, false);
          return ok(seen(d));
        },
      };
    },
  },

  'approve a withdrawal': { route: 'POST /api/admin/withdrawals/{id}/approve', ...decide('approved') },
  'reject a withdrawal': { route: 'POST /api/admin/withdrawals/{id}/reject', ...decide('rejected') },

  'staff look at a withdrawal': {
    route: 'GET /api/admin/withdrawals/{id}',
    weight: 1,
    make: (w, r) => ({ withdrawal: w.some('withdrawal', r) }),
    play(w, a) {
      const d = w.get('withdrawal', a.withdrawal);
      return {
        as: 'staff',
        params: { id: w.id('withdrawal', a.withdrawal) },
        answer: () => (d ? ok(forStaff(d)) : notFound()),
      };
    },
  },
};
