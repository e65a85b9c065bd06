// tests/model/rules/accounts.mjs - people who register and log in, their own tokens, and what they are told.
import { aText, aTime, anId, born, made, notFound, ok, refused } from '../lib/compare.mjs';
import { NOBODY } from '../lib/world.mjs';
import { SCOPES, newToken, tokensOf } from './customers.mjs';

const account = (c) => ({ id: c.id, email: c.email, name: c.title, created_at: aTime });

/** A session: a token with all scopes, good for /api/auth/, too. */
function session(w, c) {
  const t = w.add('token', {
    customer: c,
    scopes: [...SCOPES, 'login'],
    is_login: true,
    cart: { lines: [], coupon: null },
  });
  return (text) => {
    t.text = text;
    return aText(text);
  };
}

const isLogin = (t) => t.is_login;
const KINDS_OF_ORDERS = ['order_delivered', 'order_cancelled', 'refunded', 'payment_trouble'];

export const accounts = {
  register: {
    route: 'POST /api/auth/register',
    weight: 0.3,
    make: (w, r) => ({ taken: r.oneIn(6) ? w.some('customer', r) : undefined }),
    play(w, a) {
      const twin = w.get('customer', a.taken);
      const email = twin?.email ?? `${w.prefix.toLowerCase()}r${w.number}@example.com`;
      const password = `correct horse ${w.number}`;
      const title = `Person ${w.number}`;
      return {
        as: 'nobody',
        body: { email, password, name: title },
        answer() {
          if (twin) return refused(409, 'email_taken');
          const c = w.add('customer', {
            email,
            title,
            password,
            is_active: true,
            balance: 0,
            held: 0,
            credit_limit: 0,
            moves: [],
            notes: [],
          });
          return made({ account: { ...account(c), id: born(c) }, token: session(w, c) });
        },
      };
    },
  },

  'log in': {
    route: 'POST /api/auth/login',
    weight: 0.4,
    make: (w, r) => ({ customer: w.some('customer', r, (c) => c.password || r.oneIn(9)), wrong: r.oneIn(5) }),
    play(w, a) {
      const c = w.get('customer', a.customer);
      const password = c?.password && !a.wrong ? c.password : 'not the password';
      return {
        as: 'nobody',
        body: { email: c?.email ?? `${w.prefix}nobody@example.com`, password },
        answer() {
          if (!c?.password || a.wrong || !c.is_active) return refused(401, 'credentials_invalid');
          return ok({ account: account(c), expires_at: aTime, token: session(w, c) });
        },
      };
    },
  },

  'who am I': {
    route: 'GET /api/auth/me',
    weight: 0.5,
    make: (w, r) => ({ token: w.some('token', r, isLogin) }),
    play: (w, a) => ({
      as: a.token,
      answer: () => ok({ ...account(w.get('token', a.token).customer), role: 'customer' }),
    }),
  },

  'log out': {
    route: 'POST /api/auth/logout',
    weight: 0.1,
    make: (w, r) => ({ token: w.some('token', r, isLogin) }),
    play: (w, a) => ({
      as: a.token,
      answer() {
        w.get('token', a.token).dead = true;
        return ok();
      },
    }),
  },

  'change the password': {
    route: 'POST /api/auth/password',
    weight: 0.1,
    make: (w, r) => ({ token: w.some('token', r, isLogin), wrong: r.oneIn(4) }),
    play(w, a) {
      const t = w.get('token', a.token);
      const password = `another horse ${w.number}`;
      return {
        as: a.token,
        body: { current_password: a.wrong ? 'not the password' : t?.customer.password, password },
        answer() {
          if (a.wrong) return [refused(401, 'credentials_invalid'), { status: 422, codes: ['validation_failed'] }];
          t.customer.password = password;
          // This session ends as well: the customer logs in with the new one.
          for (const other of w.all('token')) if (other.customer === t.customer && other.is_login) other.dead = true;
          return ok();
        },
      };
    },
  },

  'list sessions': {
    route: 'GET /api/auth/sessions',
    weight: 0.3,
    make: (w, r) => ({ token: w.some('token', r, isLogin) }),
    play: (w, a) => ({
      as: a.token,
      query: { limit: 100 },
      answer() {
        const { customer } = w.get('token', a.token);
        const alive = w.all('token').filter((t) => t.customer === customer && t.is_login && !t.dead);
        return ok((list) => {
          w.get('token', a.token).session = list.find((s) => s.is_current)?.id;
          return list.length === alive.length || `expected ${alive.length} sessions`;
        });
      },
    }),
  },

  'end the other sessions': {
    route: 'DELETE /api/auth/sessions',
    weight: 0.1,
    make: (w, r) => ({ token: w.some('token', r, isLogin) }),
    play: (w, a) => ({
      as: a.token,
      answer() {
        const t = w.get('token', a.token);
        for (const other of w.all('token'))
          if (other !== t && other.customer === t.customer && other.is_login) other.dead = true;
        return ok();
      },
    }),
  },

  'end a session': {
    route: 'DELETE /api/auth/sessions/{id}',
    weight: 0.2,
    make: (w, r) => ({ token: w.some('token', r, isLogin), other: w.some('token', r, (t) => t.session) }),
    play(w, a) {
      const [t, other] = [w.get('token', a.token), w.get('token', a.other)];
      return {
        as: a.token,
        params: { id: other?.session ?? NOBODY },
        answer() {
          if (!other?.session || other.customer !== t.customer || other.dead) return notFound();
          other.dead = true;
          return ok();
        },
      };
    },
  },

  'make a token': {
    route: 'POST /api/customer/tokens',
    weight: 0.6,
    make: (w, r) => ({ token: w.some('token', r), scopes: r.oneIn(2) ? SCOPES.filter(() => r.oneIn(2)) : SCOPES }),
    play(w, a) {
      const t = w.get('token', a.token);
      if (!a.scopes.every((s) => t?.scopes.includes(s))) return null; // nobody gives away what they do not have
      return newToken(w, a.token, t?.customer, a.scopes);
    },
  },

  'list tokens': {
    route: 'GET /api/customer/tokens',
    weight: 0.4,
    make: (w, r) => ({ token: w.some('token', r) }),
    play: (w, a) => ({
      as: a.token,
      query: { limit: 100 },
      answer: () => ok(tokensOf(w, w.get('token', a.token).customer)),
    }),
  },

  'revoke a token': {
    route: 'DELETE /api/customer/tokens/{id}',
    weight: 0.2,
    make: (w, r) => ({ token: w.some('token', r), other: w.some('token', r, (t) => t.id) }),
    play(w, a) {
      const [t, other] = [w.get('token', a.token), w.get('token', a.other)];
      return {
        as: a.token,
        params: { id: w.id('token', a.other) },
        answer() {
          if (!other?.id || other.customer !== t.customer || other.dead) return notFound();
          other.dead = true;
          return ok();
        },
      };
    },
  },

  'read the notifications': {
    route: 'GET /api/customer/notifications',
    weight: 1.5,
    make: (w, r) => ({ token: w.some('token', r) }),
    play: (w, a) => ({
      as: a.token,
      query: { limit: 100 },
      answer: () => ok(notesOf(w.get('token', a.token).customer)),
    }),
  },

  'mark notifications as read': {
    route: 'POST /api/customer/notifications/read',
    weight: 0.5,
    make: (w, r) => ({ token: w.some('token', r) }),
    play(w, a) {
      const c = w.get('token', a.token)?.customer;
      const last = c?.notes.findLast((n) => n.id)?.id;
      if (!last) return null;
      return {
        as: a.token,
        body: { up_to: last },
        answer() {
          const fresh = c.notes.filter((n) => n.id && n.id <= last && !n.is_read);
          // Those of orders are not all known by their ids.
          const other = (c.listed ?? []).filter((n) => n.id <= last && !n.is_read);
          for (const n of [...fresh, ...other]) n.is_read = true;
          return ok({ marked: (n) => Number.isSafeInteger(n) && n >= fresh.length });
        },
      };
    },
  },
};

/** The newest first. What concerns withdrawals and tickets is known one by one; orders tell more than one thing. */
const notesOf = (c) => (list) => {
  for (let i = 1; i < list.length; i++) if (list[i].id >= list[i - 1].id) return 'not the newest first';
  const got = list.filter((n) => !KINDS_OF_ORDERS.includes(n.kind)).reverse();
  const wanted = c.notes.filter((n) => !KINDS_OF_ORDERS.includes(n.kind));
  if (list.length < 100 && got.length !== wanted.length)
    return `${got.length} notifications, expected ${wanted.length}`;
  if (list.length === 100) return true;
  for (let i = 0; i < got.length; i++) {
    const n = wanted[i];
    n.id ??= got[i].id;
    if (got[i].kind !== n.kind || got[i].reference_id !== n.reference.id)
      return `expected ${n.kind} of ${n.reference.id}`;
    if (got[i].is_read !== Boolean(n.is_read)) return `notification ${n.id} is ${n.is_read ? '' : 'not '}read`;
    if (!anId(got[i].id)) return 'no id';
  }
  return true;
};
