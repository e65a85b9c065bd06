// tests/model/rules/customers.mjs - accounts that staff make, their tokens, and money that staff give and take.
import { aText, aTime, absent, born, invalid, made, money, notFound, ok, refused } from '../lib/compare.mjs';

export const SCOPES = ['customer', 'store', 'catalog', 'verify', 'order'];

const seen = (w, c) => ({
  id: c.id,
  email: c.email,
  name: c.title,
  role: 'customer',
  is_active: c.is_active,
  balance: money(c.balance),
  credit_limit: money(c.credit_limit),
  created_at: aTime,
});

export const wallet = (c) => ({
  balance: money(c.balance),
  currency: 'USD',
  held: money(c.held),
  credit_limit: money(c.credit_limit),
  transactions: c.moves.slice(-100).map((m) => ({ type: m.type, amount: money(m.amount), created_at: aTime })),
  has_more: c.moves.length > 100,
});

export const customers = {
  'make a customer': {
    route: 'POST /api/admin/customers',
    weight: 1,
    make: (w, r) => ({ taken: r.oneIn(8) ? w.some('customer', r) : undefined }),
    play(w, { taken }) {
      const twin = w.get('customer', taken);
      const email = twin ? twin.email.toUpperCase() : `${w.prefix.toLowerCase()}c${w.number}@example.com`;
      const title = `Customer ${w.number}`;
      return {
        as: 'staff',
        body: { email, name: title },
        answer() {
          if (twin) return refused(409, 'email_taken');
          const c = w.add('customer', {
            email,
            title,
            is_active: true,
            balance: 0,
            held: 0,
            credit_limit: 0,
            moves: [],
            notes: [],
          });
          return made({ ...seen(w, c), id: born(c) });
        },
      };
    },
  },

  'look at a customer': {
    route: 'GET /api/admin/customers/{id}',
    weight: 1,
    make: (w, r) => ({ customer: w.some('customer', r) }),
    play: (w, a) => ({
      as: 'staff',
      params: { id: w.id('customer', a.customer) },
      answer: () => (w.get('customer', a.customer) ? ok(seen(w, w.get('customer', a.customer))) : notFound()),
    }),
  },

  'find a customer': {
    route: 'GET /api/admin/customers',
    weight: 1,
    make: (w, r) => ({ customer: w.some('customer', r) }),
    play(w, a) {
      const c = w.get('customer', a.customer);
      return { as: 'staff', query: { q: c?.email ?? `${w.prefix}nobody` }, answer: () => ok(c ? [seen(w, c)] : []) };
    },
  },

  'change a customer': {
    route: 'PATCH /api/admin/customers/{id}',
    weight: 2,
    make: (w, r) => ({
      customer: w.some('customer', r),
      name: r.oneIn(3) ? `Renamed ${r.below(100)}` : undefined,
      credit_limit: r.oneIn(2) ? r.pick([0, 500, 2000]) : undefined,
      is_active: r.oneIn(30) ? false : undefined,
    }),
    play(w, { customer, name, credit_limit, is_active }) {
      const c = w.get('customer', customer);
      return {
        as: 'staff',
        params: { id: w.id('customer', customer) },
        body: { name, credit_limit: credit_limit === undefined ? undefined : money(credit_limit), is_active },
        answer() {
          if (!c) return notFound();
          if (credit_limit !== undefined && c.balance < -credit_limit) return refused(409, 'invalid_state');
          if (name !== undefined) c.title = name;
          if (credit_limit !== undefined) c.credit_limit = credit_limit;
          if (is_active === false) {
            c.is_active = false;
            for (const t of w.all('token')) if (t.customer === c) t.dead = true;
          }
          return ok(seen(w, c));
        },
      };
    },
  },

  'give a token': {
    route: 'POST /api/admin/customers/{id}/tokens',
    weight: 1,
    make: (w, r) => ({
      customer: w.some('customer', r, (c) => c.is_active),
      scopes: r.oneIn(4) ? SCOPES.filter(() => r.oneIn(2)) : SCOPES,
    }),
    play: (w, { customer, scopes }) =>
      newToken(w, 'staff', w.get('customer', customer), scopes, w.id('customer', customer)),
  },

  'list tokens of a customer': {
    route: 'GET /api/admin/customers/{id}/tokens',
    weight: 1,
    make: (w, r) => ({ customer: w.some('customer', r) }),
    play(w, a) {
      const c = w.get('customer', a.customer);
      return {
        as: 'staff',
        params: { id: w.id('customer', a.customer) },
        query: { limit: 100 },
        answer: () => (c ? ok(tokensOf(w, c)) : notFound()),
      };
    },
  },

  'take a token away': {
    route: 'DELETE /api/admin/customers/{id}/tokens/{token_id}',
    weight: 0.3,
    make: (w, r) => ({
      token: w.some('token', r, (t) => t.id),
      customer: r.oneIn(5) ? w.some('customer', r) : undefined,
    }),
    play(w, a) {
      const t = w.get('token', a.token);
      const c = a.customer === undefined ? t?.customer : w.get('customer', a.customer);
      return {
        as: 'staff',
        params: { id: c?.id ?? 1e15, token_id: w.id('token', a.token) },
        answer() {
          if (!t?.id || t.customer !== c || t.dead) return notFound();
          t.dead = true;
          return ok();
        },
      };
    },
  },

  'give or take money': {
    route: 'POST /api/admin/customers/{id}/wallet',
    weight: 3,
    make: (w, r) => ({
      customer: w.some('customer', r),
      amount: r.pick([0, 1, 999, 2500, 5000, 10000, -1, -700, -3000]),
    }),
    play(w, { customer, amount }) {
      const c = w.get('customer', customer);
      return {
        as: 'staff',
        params: { id: w.id('customer', customer) },
        body: { amount: money(amount), description: 'By hand' },
        answer() {
          if (!c) return notFound();
          if (amount === 0) return [invalid({ amount: 'not_allowed' }), invalid({ amount: 'out_of_range' })];
          if (amount < 0 && c.balance < -amount) return invalid({ amount: 'exceeds_balance' });
          if (amount > 0) w.credit(c, amount);
          else w.debit(c, -amount);
          return ok(wallet(c));
        },
      };
    },
  },

  'look at a wallet': {
    route: 'GET /api/admin/customers/{id}/wallet',
    weight: 1,
    make: (w, r) => ({ customer: w.some('customer', r) }),
    play: (w, a) => ({
      as: 'staff',
      params: { id: w.id('customer', a.customer) },
      answer: () => (w.get('customer', a.customer) ? ok(wallet(w.get('customer', a.customer))) : notFound()),
    }),
  },
};

export const tokensOf = (w, c) => (list) => {
  const alive = w.all('token').filter((t) => t.customer === c && !t.dead && !t.is_login);
  const ids = list.filter((t) => t.kind === 'api').map((t) => t.id);
  const wanted = alive.map((t) => t.id).sort((x, y) => y - x);
  return JSON.stringify(ids) === JSON.stringify(wanted) || `the tokens should be ${wanted}`;
};

export function newToken(w, as, c, scopes, id) {
  const name = `token ${w.number}`;
  return {
    as,
    params: as === 'staff' ? { id } : undefined,
    body: { name, scopes },
    answer() {
      if (scopes.length === 0) return invalid({ scopes: 'too_few' });
      if (!c) return notFound();
      const t = w.add('token', { customer: c, scopes, cart: { lines: [], coupon: null } });
      return made({
        id: born(t),
        kind: 'api',
        name,
        scopes: (list) => JSON.stringify([...list].sort()) === JSON.stringify([...scopes].sort()),
        expires_at: null,
        balance: absent,
        token: (text) => {
          t.text = text;
          return aText(text);
        },
      });
    },
  };
}
