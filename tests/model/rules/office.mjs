// tests/model/rules/office.mjs - what staff look up and write down, and the pages and people that owners keep.
import { aTime, born, invalid, made, money, notFound, ok, refused } from '../lib/compare.mjs';
import { orderSeen } from './orders.mjs';

/** A list of staff that a search makes this world's own: the ids that must be there, the newest first. */
const searched = (route, kind, choose, found) => ({
  route,
  weight: 0.4,
  make: (w, r) => ({ [kind]: w.some(kind, r) }),
  play(w, a) {
    const thing = w.get(kind, a[kind]);
    return {
      as: 'staff',
      query: { limit: 100, ...choose(w, thing) },
      answer: () => ok(newest(thing ? found(w, thing) : [])),
    };
  },
});

const newest = (things) => (list) => {
  const got = list.map((item) => item.id);
  const wanted = things.map((t) => t.id).sort((x, y) => y - x);
  if (things.some((t) => !t.id)) return true; // not all of their ids were seen yet
  return JSON.stringify(got) === JSON.stringify(wanted.slice(0, 100)) || `expected ${wanted}`;
};

const byOrder = (route, more = {}) => ({
  route,
  weight: 0.5,
  make: (w, r) => ({ order: w.some('order', r) }),
  play(w, a) {
    const o = w.get('order', a.order);
    return {
      as: 'staff',
      params: { id: w.id('order', a.order) },
      body: more.body,
      answer: () => (o ? more.answer(w, o) : notFound()),
    };
  },
});

const pageSeen = (p) => ({
  id: p.id,
  slug: p.slug,
  title: p.title,
  body: p.body,
  in_footer: p.in_footer,
  updated_at: aTime,
});
const personSeen = (s) => ({ id: s.id, email: s.email, name: s.title, role: s.role, is_active: s.is_active });

/** Something of this kind by its id. */
const one = (route, kind, seen) => ({
  route,
  weight: 0.2,
  make: (w, r) => ({ [kind]: w.some(kind, r) }),
  play(w, a) {
    const thing = w.get(kind, a[kind]);
    return {
      as: 'staff',
      params: { id: w.id(kind, a[kind]) },
      answer: () => (thing && !thing.gone ? ok(seen(thing)) : notFound()),
    };
  },
});

/** Each of the members may be wished for, by what `wishes` says. */
const change = (route, kind, seen, wishes) => ({
  route,
  weight: 0.2,
  make: (w, r) => ({
    [kind]: w.some(kind, r),
    ...Object.fromEntries(Object.entries(wishes).map(([name, wish]) => [name, r.oneIn(2) ? wish(r) : undefined])),
  }),
  play(w, { [kind]: which, ...wished }) {
    const thing = w.get(kind, which);
    return {
      as: 'staff',
      params: { id: w.id(kind, which) },
      body: wished,
      answer() {
        if (!thing || thing.gone) return notFound();
        for (const [name, value] of Object.entries(wished)) if (value !== undefined) thing[name] = value;
        return ok(seen(thing));
      },
    };
  },
});

const removal = (route, kind, weight) => ({
  route,
  weight,
  make: (w, r) => ({ [kind]: w.some(kind, r) }),
  play(w, a) {
    const thing = w.get(kind, a[kind]);
    return {
      as: 'staff',
      params: { id: w.id(kind, a[kind]) },
      answer() {
        if (!thing || thing.gone) return notFound();
        thing.gone = true;
        return ok();
      },
    };
  },
});

export const office = {
  'find orders of a customer': searched(
    'GET /api/admin/orders',
    'customer',
    (w, c) => ({ q: c?.email ?? `${w.prefix}nobody@example.com` }),
    (w, c) => w.all('order').filter((o) => o.customer === c),
  ),
  'find licences of a customer': searched(
    'GET /api/admin/licenses',
    'customer',
    (w, c) => ({ q: c?.email ?? `${w.prefix}nobody@example.com` }),
    (w, c) => w.all('license').filter((l) => l.customer === c && !l.replaced),
  ),
  'list payments of an order': {
    route: 'GET /api/admin/payments',
    weight: 0.6,
    make: (w, r) => ({ order: w.some('order', r, (o) => o.payment) }),
    play(w, a) {
      const o = w.get('order', a.order);
      return {
        as: 'staff',
        query: { order_id: w.id('order', a.order) },
        answer() {
          const all = w
            .all('payment')
            .filter((p) => p.order === o)
            .reverse();
          return ok(
            all.map((p) => ({
              id: born(p),
              order_id: o.id,
              account_id: o.customer.id,
              gateway: p.gateway,
              reference: p.reference,
              amount: money(p.amount),
              ...(p.stuck ? {} : { status: p.status, received: money(p.received), returned: money(p.returned) }),
            })),
          );
        },
      };
    },
  },
  'staff look at a payment': {
    route: 'GET /api/admin/payments/{id}',
    weight: 0.4,
    make: (w, r) => ({ payment: w.some('payment', r, (p) => p.id) }),
    play(w, a) {
      const p = w.get('payment', a.payment);
      if (p && !p.id) return null;
      return {
        as: 'staff',
        params: { id: w.id('payment', a.payment) },
        answer: () => (p ? ok({ reference: p.reference, amount: money(p.amount) }) : notFound()),
      };
    },
  },

  'reveal an order': byOrder('POST /api/admin/orders/{id}/reveal', { answer: (w, o) => ok(orderSeen(w, o)) }),
  'write a note': byOrder('POST /api/admin/orders/{id}/notes', {
    body: { note: 'Called; will pay' },
    answer: (w, o) => made(orderSeen(w, o, { masked: true })),
  }),

  'reveal a licence': {
    route: 'POST /api/admin/licenses/{id}/reveal',
    weight: 0.5,
    make: (w, r) => ({ license: w.some('license', r, (l) => l.id) }),
    play(w, a) {
      const l = w.get('license', a.license);
      if (l && !l.id) return null;
      return {
        as: 'staff',
        params: { id: w.id('license', a.license) },
        answer: () =>
          l
            ? ok({ id: l.id, status: l.status, license_key: (key) => (l.key ??= key) === key || `it was ${l.key}` })
            : notFound(),
      };
    },
  },

  'count the codes': {
    route: 'GET /api/admin/products/{id}/serials',
    weight: 0.6,
    make: (w, r) => ({ product: w.some('product', r, (p) => p.delivery_type === 'serial_code') }),
    play(w, a) {
      const p = w.get('product', a.product);
      return {
        as: 'staff',
        params: { id: w.id('product', a.product) },
        answer() {
          if (!p || p.gone) return notFound();
          const free = Object.values(p.pools).reduce((n, pool) => n + pool.free, 0);
          return ok({
            pools: (pools) => pools.reduce((n, pool) => n + pool.free, 0) === free || `expected ${free} free`,
          });
        },
      };
    },
  },

  'delete a variant': {
    route: 'DELETE /api/admin/variants/{id}',
    weight: 0.1,
    make: (w, r) => ({ variant: w.some('variant', r) }),
    play(w, a) {
      const v = w.get('variant', a.variant);
      return {
        as: 'staff',
        params: { id: w.id('variant', a.variant) },
        answer() {
          if (!v || v.gone || v.product.gone) return notFound();
          return ok({
            deleted: (value) => {
              if (value && v.sold) return 'it was sold';
              if (value && w.isInCart((l) => l.variant === v)) return 'it is in a cart';
              w.dropVariant(v, value);
              return true;
            },
          });
        },
      };
    },
  },

  'make a page': {
    route: 'POST /api/admin/pages',
    weight: 0.2,
    make: (w, r) => ({ taken: r.oneIn(4) ? w.some('page', r) : undefined, in_footer: r.oneIn(2) }),
    play(w, a) {
      const twin = w.get('page', a.taken);
      const slug = twin && !twin.gone ? twin.slug : `${w.prefix.toLowerCase()}page${w.number}`;
      return {
        as: 'staff',
        body: { slug, title: 'Terms', body: '# Terms', in_footer: a.in_footer },
        answer() {
          if (twin && !twin.gone) return refused(409, 'slug_taken');
          const p = w.add('page', { slug, title: 'Terms', body: '# Terms', in_footer: a.in_footer, gone: true });
          // A store has a few pages only, and other worlds have theirs.
          const isThere = (id) => {
            p.gone = false;
            return born(p)(id);
          };
          return [made({ ...pageSeen(p), id: isThere }), invalid({ slug: 'too_many' })];
        },
      };
    },
  },
  'look at a page': one('GET /api/admin/pages/{id}', 'page', pageSeen),
  'change a page': change('PATCH /api/admin/pages/{id}', 'page', pageSeen, {
    title: () => 'Imprint',
    body: () => 'Us',
  }),
  'delete a page': removal('DELETE /api/admin/pages/{id}', 'page', 0.2),

  'add to staff': {
    route: 'POST /api/admin/staff',
    weight: 0.1,
    make: (w, r) => ({ role: r.pick(['staff', 'owner']), taken: r.oneIn(4) ? w.some('person', r) : undefined }),
    play(w, a) {
      const twin = w.get('person', a.taken);
      const email = twin?.email ?? `${w.prefix.toLowerCase()}s${w.number}@example.com`;
      return {
        as: 'staff',
        body: { email, role: a.role, password: 'correct horse battery' },
        answer() {
          if (twin) return refused(409, 'email_taken');
          const s = w.add('person', { email, title: '', role: a.role, is_active: true });
          return made({ ...personSeen(s), id: born(s) });
        },
      };
    },
  },
  'look at a person': one('GET /api/admin/staff/{id}', 'person', personSeen),
  'change a person': change('PATCH /api/admin/staff/{id}', 'person', personSeen, {
    role: (r) => r.pick(['staff', 'owner']),
    is_active: (r) => r.oneIn(2),
  }),
  'remove from staff': removal('DELETE /api/admin/staff/{id}', 'person', 0.1),
  'list sessions of a person': {
    route: 'GET /api/admin/staff/{id}/sessions',
    weight: 0.1,
    make: (w, r) => ({ person: w.some('person', r) }),
    play(w, a) {
      const s = w.get('person', a.person);
      return {
        as: 'staff',
        params: { id: w.id('person', a.person) },
        answer: () => (s && !s.gone ? ok([]) : notFound()),
      };
    },
  },
  'end sessions of a person': {
    route: 'DELETE /api/admin/staff/{id}/sessions',
    weight: 0.1,
    make: (w, r) => ({ person: w.some('person', r) }),
    play(w, a) {
      const s = w.get('person', a.person);
      return {
        as: 'staff',
        params: { id: w.id('person', a.person) },
        answer: () => (s && !s.gone ? ok() : notFound()),
      };
    },
  },
};
