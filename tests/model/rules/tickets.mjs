// tests/model/rules/tickets.mjs - departments and tickets, and what staff do for a customer out of a ticket.
import { aTime, aText, anId, born, invalid, made, money, notFound, ok, refused } from '../lib/compare.mjs';
import { giveBack } from './orders.mjs';
import { FUTURE } from './licenses.mjs';

const deptSeen = (d) => ({ id: d.id, name: d.title, is_active: d.is_active });
const alive = (w) => w.all('department').filter((d) => !d.gone);

const said = (m) => ({ id: anId, author: m.author, body: m.body, created_at: aTime });
const short = (t) => ({
  id: t.id,
  subject: t.subject,
  department: t.department.title,
  status: t.status,
  created_at: aTime,
});
const seen = (t) => ({
  ...short(t),
  order_id: t.order?.id ?? null,
  license_id: t.license?.id ?? null,
  messages: t.messages.slice(-100).map(said),
});
const forStaff = (t) => ({
  ...seen(t),
  customer_id: t.customer.id,
  email: t.customer.email,
  department_id: t.department.id,
});

/** Latest activity first; of several in one second any order will do. */
const byActivity = (list) => (items) => {
  const ids = (things) => JSON.stringify(things.map((t) => t.id).sort((x, y) => x - y));
  if (ids(items) !== ids(list)) return `expected ${ids(list)}`;
  for (let i = 1; i < items.length; i++)
    if (items[i].last_reply_at > items[i - 1].last_reply_at) return 'not the latest activity first';
  return items.every((item) => item.status === list.find((t) => t.id === item.id).status) || 'a status is wrong';
};

function say(w, t, author, body) {
  t.messages.push({ author, body });
  t.status = author === 'customer' ? 'open' : 'answered';
  if (author === 'staff') w.tell(t.customer, 'ticket_answered', t);
}

const mine = (w, a) => {
  const t = w.get('ticket', a.ticket);
  return t && t.customer === w.get('token', a.token).customer ? t : null;
};

/** A call of staff about a ticket. act(w, t, args) gives what must be answered. */
const byStaff = (act, args = () => ({}), bodyOf = (a) => a) => ({
  make: (w, r) => ({ ticket: w.some('ticket', r), ...args(w, r) }),
  play(w, { ticket, ...a }) {
    const t = w.get('ticket', ticket);
    const body = bodyOf(a, w);
    return { as: 'staff', params: { id: w.id('ticket', ticket) }, body, answer: () => (t ? act(w, t, a) : notFound()) };
  },
});

/** What was done stands in the conversation, in words that are the store's. */
function done(w, t) {
  say(w, t, 'staff', aText);
  return made(forStaff(t));
}

const wrongState = () => refused(409, 'invalid_state');

export const tickets = {
  'make a department': {
    route: 'POST /api/admin/departments',
    weight: 0.4,
    make: (w, r) => ({ taken: r.oneIn(6) ? w.some('department', r) : undefined }),
    play(w, a) {
      const twin = w.get('department', a.taken);
      const title = twin && !twin.gone ? twin.title : `${w.prefix} department ${w.number}`;
      return {
        as: 'staff',
        body: { name: title },
        answer() {
          if (twin && !twin.gone) return refused(409, 'name_taken');
          const d = w.add('department', { title, is_active: true });
          return made({ ...deptSeen(d), id: born(d) });
        },
      };
    },
  },

  'look at a department': {
    route: 'GET /api/admin/departments/{id}',
    weight: 0.3,
    make: (w, r) => ({ department: w.some('department', r) }),
    play(w, a) {
      const d = w.get('department', a.department);
      return {
        as: 'staff',
        params: { id: w.id('department', a.department) },
        answer: () => (d && !d.gone ? ok(deptSeen(d)) : notFound()),
      };
    },
  },

  'change a department': {
    route: 'PATCH /api/admin/departments/{id}',
    weight: 0.4,
    make: (w, r) => ({
      department: w.some('department', r),
      is_active: r.oneIn(2) ? !r.oneIn(3) : undefined,
      rename: r.oneIn(3) || undefined,
    }),
    play(w, { department, is_active, rename }) {
      const d = w.get('department', department);
      const name = rename ? `${w.prefix} renamed ${w.number}` : undefined;
      return {
        as: 'staff',
        params: { id: w.id('department', department) },
        body: { is_active, name },
        answer() {
          if (!d || d.gone) return notFound();
          if (is_active !== undefined) d.is_active = is_active;
          if (name) d.title = name;
          return ok(deptSeen(d));
        },
      };
    },
  },

  'delete a department': {
    route: 'DELETE /api/admin/departments/{id}',
    weight: 0.2,
    make: (w, r) => ({ department: w.some('department', r) }),
    play(w, a) {
      const d = w.get('department', a.department);
      return {
        as: 'staff',
        params: { id: w.id('department', a.department) },
        answer() {
          if (!d || d.gone) return notFound();
          if (w.all('ticket').some((t) => t.department === d)) return wrongState();
          d.gone = true;
          return ok();
        },
      };
    },
  },

  'read the departments': {
    route: 'GET /api/support/departments',
    weight: 0.3,
    make: () => ({}),
    play: (w) => ({
      as: 'nobody',
      answer: () =>
        ok(
          own(
            w,
            alive(w).filter((d) => d.is_active),
          ),
        ),
    }),
  },

  'list departments': {
    route: 'GET /api/admin/departments',
    weight: 0.2,
    make: () => ({}),
    play: (w) => ({ as: 'staff', answer: () => ok(own(w, alive(w))) }),
  },

  'open a ticket': {
    route: 'POST /api/customer/tickets',
    weight: 2,
    make: (w, r) => ({
      token: w.some('token', r),
      department: w.some('department', r),
      about: r.oneIn(2) ? { order: w.some('order', r) } : { license: w.some('license', r, (l) => l.id) },
      subject: r.pick(['Help', '  spaces stay  ', 'Ünïcode “quotes”', r.oneIn(8) ? '   ' : 'Why?']),
    }),
    play(w, a) {
      const t = w.get('token', a.token);
      const d = w.get('department', a.department);
      const order = w.get('order', a.about.order);
      const license = w.get('license', a.about.license);
      if ((a.about.license && license && !license.id) || (a.about.order && order && !order.id)) return null;
      return {
        as: a.token,
        body: {
          department_id: w.id('department', a.department),
          subject: a.subject,
          message: 'First\nmessage',
          order_id: a.about.order === undefined ? undefined : w.id('order', a.about.order),
          license_id: a.about.license === undefined ? undefined : w.id('license', a.about.license),
        },
        answer() {
          const { customer } = t;
          const wrong = {};
          if (a.subject.trim() === '') return { status: 422, codes: ['validation_failed'] };
          if (!d || d.gone || !d.is_active) wrong.department_id = 'unknown_id';
          if (a.about.order !== undefined && order?.customer !== customer) wrong.order_id = 'unknown_id';
          if (a.about.license !== undefined && license?.customer !== customer) wrong.license_id = 'unknown_id';
          if (Object.keys(wrong).length > 0) return invalid(wrong);
          const made_ = w.add('ticket', {
            customer,
            department: d,
            subject: a.subject,
            status: 'open',
            order: order ?? license?.order ?? null,
            license: license ?? null,
            messages: [{ author: 'customer', body: 'First\nmessage' }],
          });
          return ok({ ...short(made_), id: born(made_) });
        },
      };
    },
  },

  'list tickets': {
    route: 'GET /api/customer/tickets',
    weight: 0.7,
    make: (w, r) => ({ token: w.some('token', r) }),
    play: (w, a) => ({
      as: a.token,
      query: { limit: 100 },
      answer: () => ok(byActivity(w.all('ticket').filter((t) => t.customer === w.get('token', a.token).customer))),
    }),
  },

  'look at a ticket': {
    route: 'GET /api/customer/tickets/{id}',
    weight: 1,
    make: (w, r) => ({ token: w.some('token', r), ticket: w.some('ticket', r) }),
    play: (w, a) => ({
      as: a.token,
      params: { id: w.id('ticket', a.ticket) },
      answer: () => (mine(w, a) ? ok(seen(mine(w, a))) : notFound()),
    }),
  },

  'write to a ticket': {
    route: 'POST /api/customer/tickets/{id}/replies',
    weight: 1,
    make: (w, r) => ({ token: w.some('token', r), ticket: w.some('ticket', r), message: `More ${r.below(9)}` }),
    play: (w, a) => ({
      as: a.token,
      params: { id: w.id('ticket', a.ticket) },
      body: { message: a.message },
      answer() {
        const t = mine(w, a);
        if (!t) return notFound();
        say(w, t, 'customer', a.message);
        return made(said(t.messages.at(-1)));
      },
    }),
  },

  'close a ticket': {
    route: 'POST /api/customer/tickets/{id}/close',
    weight: 0.6,
    make: (w, r) => ({ token: w.some('token', r), ticket: w.some('ticket', r) }),
    play: (w, a) => ({
      as: a.token,
      params: { id: w.id('ticket', a.ticket) },
      answer() {
        const t = mine(w, a);
        if (!t) return notFound();
        t.status = 'closed';
        return ok(short(t));
      },
    }),
  },

  'staff list tickets': {
    route: 'GET /api/admin/tickets',
    weight: 0.6,
    make: (w, r) => ({ department: w.some('department', r) }),
    play(w, a) {
      const d = w.get('department', a.department);
      return {
        as: 'staff',
        query: { limit: 100, department_id: w.id('department', a.department) },
        answer: () => ok(byActivity(w.all('ticket').filter((t) => t.department === d))),
      };
    },
  },

  'staff look at a ticket': {
    route: 'GET /api/admin/tickets/{id}',
    weight: 0.7,
    ...byStaff(
      (w, t) => ok(forStaff(t)),
      undefined,
      () => undefined,
    ),
  },

  'staff answer': {
    route: 'POST /api/admin/tickets/{id}/replies',
    weight: 1,
    ...byStaff(
      (w, t, a) => {
        say(w, t, 'staff', a.message);
        return made(forStaff(t));
      },
      () => ({ message: 'Have you tried again?' }),
    ),
  },

  'staff change a ticket': {
    route: 'PATCH /api/admin/tickets/{id}',
    weight: 0.6,
    ...byStaff(
      (w, t, a) => {
        const d = a.department === undefined ? t.department : w.get('department', a.department);
        if (!d || d.gone) return invalid({ department_id: 'unknown_id' });
        t.department = d;
        if (a.status) t.status = a.status;
        return ok(forStaff(t));
      },
      (w, r) => ({
        status: r.oneIn(2) ? r.pick(['open', 'answered', 'closed']) : undefined,
        department: r.oneIn(3) ? w.some('department', r, (d) => d.is_active) : undefined,
      }),
      (a, w) => ({
        status: a.status,
        department_id: a.department === undefined ? undefined : w.id('department', a.department),
      }),
    ),
  },

  'free the hardware out of a ticket': {
    route: 'POST /api/admin/tickets/{id}/clear-hardware',
    weight: 0.8,
    ...byStaff((w, t) => {
      if (!t.license || t.license.hardware === null) return wrongState();
      t.license.hardware = null;
      return done(w, t);
    }),
  },

  'extend out of a ticket': {
    route: 'POST /api/admin/tickets/{id}/extend',
    weight: 0.6,
    ...byStaff(
      (w, t, a) => {
        const l = t.license;
        if (!l || l.status === 'refunded') return wrongState();
        const same = a.expires_at === null ? l.expires === null : l.expires === 'future' && l.fixed;
        if (same) return wrongState();
        l.expires = a.expires_at === null ? null : 'future';
        l.fixed = true;
        return done(w, t);
      },
      (w, r) => ({ expires_at: r.pick([null, FUTURE]) }),
    ),
  },

  'give money back out of a ticket': {
    route: 'POST /api/admin/tickets/{id}/refund',
    weight: 0.6,
    ...byStaff(
      (w, t, a) => {
        if (!t.order) return wrongState();
        const said_ = giveBack(w, t.order, a.amount);
        return said_ === true ? done(w, t) : said_;
      },
      (w, r) => ({ amount: r.oneIn(2) ? r.pick([1, 99, 50000]) : undefined }),
      (a) => ({ amount: a.amount === undefined ? undefined : money(a.amount) }),
    ),
  },

  'credit out of a ticket': {
    route: 'POST /api/admin/tickets/{id}/credit',
    weight: 0.5,
    ...byStaff(
      (w, t, a) => {
        w.credit(t.customer, a.amount);
        return done(w, t);
      },
      (w, r) => ({ amount: r.pick([1, 250]) }),
      (a) => ({ amount: money(a.amount) }),
    ),
  },

  'replace a key out of a ticket': {
    route: 'POST /api/admin/tickets/{id}/replace-code',
    weight: 0.5,
    ...byStaff((w, t) => {
      const l = t.license;
      if (!l || l.status !== 'active') return wrongState();
      w.replaceKey(l);
      return done(w, t);
    }),
  },
};

/** This world's departments among all. */
const own = (w, wanted) => (list) => {
  const got = list.filter((d) => d.name.startsWith(`${w.prefix} `)).map((d) => d.id);
  const ids = wanted.map((d) => d.id);
  return JSON.stringify(got.sort()) === JSON.stringify(ids.sort()) || `expected ${ids}`;
};
