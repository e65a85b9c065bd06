// tests/model/rules/licenses.mjs - licences: verified by programs, bound to machines, ended and mended by staff.
import { aTime, born, made, notFound, ok, refused } from '../lib/compare.mjs';

export const FUTURE = '2090-01-01T00:00:00Z';
const PAST = '2020-01-01T00:00:00Z';
const expiry = (l) =>
  l.expires === null ? null : l.expires === 'past' ? PAST : (text) => (l.fixed ? text === FUTURE : aTime(text));

const MESSAGES = {
  not_found: 'License not found',
  license_revoked: 'License is revoked',
  license_expired: 'License is expired',
  hardware_mismatch: 'Hardware ID mismatch',
};

const forStaff = (l) => ({
  id: l.id,
  product_id: l.product.id,
  customer_id: l.customer.id,
  order_id: l.order?.id ?? null,
  status: l.status,
  expires_at: expiry(l),
  hardware_id: l.hardware,
});

/** Something that staff do to a licence. change(l) gives a refusal, or nothing. */
const byStaff = (change, body) => ({
  weight: 1,
  make: (w, r) => ({ license: w.some('license', r, (l) => l.id), ...body?.(r) }),
  play(w, a) {
    const l = w.get('license', a.license);
    const { license, ...rest } = a;
    void license;
    if (l && !l.id) return null; // its id was not seen yet
    return {
      as: 'staff',
      params: { id: w.id('license', a.license) },
      body: body ? rest : undefined,
      answer() {
        if (!l) return notFound();
        return change(l, rest, w) ?? ok(forStaff(l));
      },
    };
  },
});

const wrongState = () => refused(409, 'invalid_state');

export const licenses = {
  verify: {
    route: 'POST /api/v1/license/verify',
    weight: 10,
    make: (w, r) => ({
      token: w.some('token', r),
      license: w.some('license', r, (l) => l.key),
      product: r.oneIn(15) ? w.some('product', r) : undefined,
      hardware: r.oneIn(3) ? undefined : r.pick(['A', 'A', 'B']),
      sloppy: r.oneIn(5),
    }),
    play(w, a) {
      const l = w.get('license', a.license);
      if (l && !l.key) return null;
      const p = a.product === undefined ? l?.product : w.get('product', a.product);
      const key = l?.key ?? '00000-00000-00000-00000-00000';
      return {
        as: a.token,
        body: { license_key: a.sloppy ? key.toLowerCase() : key, product_id: p?.id ?? 1e15, hardware_id: a.hardware },
        answer() {
          const refusal = w.verify(l, p, a.hardware);
          if (refusal === 'not_found') return { ...notFound(), message: MESSAGES.not_found };
          if (refusal) return { ...refused(403, refusal), message: MESSAGES[refusal] };
          return ok(
            {
              expires_at: expiry(l),
              user_id: l.customer.id,
              product_id: p.id,
              checked_at: aTime,
              hardware_id: a.hardware === undefined ? (v) => v === undefined : a.hardware,
            },
            { message: 'License is valid' },
          );
        },
      };
    },
  },

  'list licences': {
    route: 'GET /api/customer/licenses',
    weight: 4,
    make: (w, r) => ({ token: w.some('token', r) }),
    play(w, a) {
      return { as: a.token, query: { limit: 100 }, answer: () => ok(licensesOf(w, w.get('token', a.token).customer)) };
    },
  },

  'look at a licence': { route: 'GET /api/admin/licenses/{id}', ...byStaff(() => null) },

  'revoke a licence': {
    route: 'POST /api/admin/licenses/{id}/revoke',
    ...byStaff((l) => {
      if (l.status !== 'active') return wrongState();
      l.status = 'revoked';
    }),
  },

  'reinstate a licence': {
    route: 'POST /api/admin/licenses/{id}/reinstate',
    ...byStaff((l) => {
      if (l.status !== 'revoked') return wrongState();
      l.status = 'active';
    }),
  },

  'clear the hardware': {
    route: 'POST /api/admin/licenses/{id}/clear-hardware',
    ...byStaff((l) => {
      l.hardware = null;
    }),
  },

  'extend a licence': {
    route: 'PATCH /api/admin/licenses/{id}',
    ...byStaff(
      (l, { expires_at }) => {
        if (l.status === 'refunded') return wrongState();
        l.expires = expires_at === null ? null : expires_at === PAST ? 'past' : 'future';
        l.fixed = true;
      },
      (r) => ({ expires_at: r.pick([null, PAST, FUTURE]) }),
    ),
  },

  'replace a key': {
    route: 'POST /api/admin/licenses/{id}/replace-key',
    ...byStaff((l, _, w) => {
      if (l.status !== 'active') return wrongState();
      w.replaceKey(l);
    }),
  },

  'grant a licence': {
    route: 'POST /api/admin/licenses',
    weight: 1,
    make: (w, r) => ({
      product: w.some('product', r, (p) => p.delivery_type === 'license_key'),
      customer: w.some('customer', r),
    }),
    play(w, a) {
      const [p, c] = [w.get('product', a.product), w.get('customer', a.customer)];
      if (!p || p.gone || !c || p.delivery_type !== 'license_key' || w.variantsOf(p).length > 0) return null;
      return {
        as: 'staff',
        body: { product_id: p.id, customer_id: c.id },
        answer() {
          const l = w.add('license', {
            key: null,
            product: p,
            variant: null,
            customer: c,
            order: null,
            status: 'active',
            expires: null,
            hardware: null,
          });
          p.sold = true;
          return made({
            ...forStaff(l),
            id: born(l),
            license_key: (text) => {
              l.key = text;
              return /^[0-9A-Z-]{29,}$/.test(text);
            },
          });
        },
      };
    },
  },
};

/** All of them, newest first; ids and keys that were not seen before are learned. */
const licensesOf = (w, c) => (list) => {
  const owned = w.all('license').filter((l) => l.customer === c && !l.replaced);
  const isAll = owned.length <= 100;
  if (isAll && list.length !== owned.length) return `${list.length} licences, expected ${owned.length}`;
  let last = 0;
  for (const item of [...list].reverse()) {
    if (item.id <= last) return 'not the newest first';
    last = item.id;
    const l =
      owned.find((x) => x.id === item.id) ??
      owned.find((x) => x.key === item.license_key) ??
      (isAll &&
        owned.find(
          (x) => x.key === null && !x.id && x.order?.id === item.order_id && x.product.id === item.product_id,
        ));
    if (!l && !isAll) continue;
    if (!l) return `nobody has ${item.license_key}`;
    l.id ??= item.id;
    l.key ??= item.license_key;
    if (l.key !== item.license_key) return `the key of licence ${item.id} was ${l.key}`;
    if (
      item.status !== l.status ||
      item.hardware_id !== l.hardware ||
      (item.order_id ?? null) !== (l.order?.id ?? null)
    )
      return `licence ${item.id} should be ${l.status}, bound to ${l.hardware}`;
  }
  return true;
};
