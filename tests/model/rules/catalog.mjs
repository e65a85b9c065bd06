// tests/model/rules/catalog.mjs - products, variants, codes and coupons: made by staff, seen by everybody.
import { aTime, absent, born, inAnyOrder, invalid, made, money, notFound, ok, refused } from '../lib/compare.mjs';

const slugOf = (w, number) => `${w.prefix.toLowerCase()}p${number}`;

/** What staff see. */
const forStaff = (w, p) => ({
  id: p.id,
  slug: p.slug,
  name: p.title,
  price: money(p.price),
  delivery_type: p.delivery_type,
  is_active: p.is_active,
  position: p.position,
  license_days: p.license_days,
  in_stock: stocked(w, p),
  created_at: aTime,
  variants: inAnyOrder('id', w.variantsOf(p).map(variantSeen)),
});

const variantSeen = (v) => ({
  id: v.id,
  name: v.title,
  price: money(v.price),
  is_default: v.is_default,
  is_active: v.is_active,
  license_days: v.license_days,
});

const isFree = (w, p, v) => p.delivery_type !== 'serial_code' || w.poolsOf(p, v).some((pool) => pool.free > 0);

function stocked(w, p) {
  const variants = w.variantsOf(p);
  return variants.length > 0 ? variants.some((v) => v.is_active && isFree(w, p, v)) : isFree(w, p, null);
}

/** What everybody sees. */
export function forAll(w, p) {
  const variants = w.variantsOf(p).filter((v) => v.is_active);
  return {
    id: p.id,
    name: p.title,
    slug: p.slug,
    price: money(variants.find((v) => v.is_default)?.price ?? p.price),
    is_active: true,
    currency: 'USD',
    delivery_type: p.delivery_type,
    in_stock: stocked(w, p),
    variants: inAnyOrder(
      'variant_id',
      variants.map((v) => ({
        variant_id: v.id,
        name: v.title,
        price: money(v.price),
        is_default: v.is_default,
        in_stock: isFree(w, p, v),
      })),
    ),
  };
}

/** Of the whole catalogue, this world's part: by position, then id. */
const ownPart = (w, more) => (list) => {
  const wanted = w
    .all('product')
    .filter((p) => w.isOnSale(p))
    .sort((x, y) => x.position - y.position || x.id - y.id);
  const got = list.filter((p) => p.slug.startsWith(w.prefix.toLowerCase()));
  if (got.length !== wanted.length) return `${got.length} of ours, expected ${wanted.length}`;
  for (let i = 0; i < wanted.length; i++) {
    const expected = forAll(w, wanted[i]);
    for (const name of ['id', 'price', 'in_stock'])
      if (got[i][name] !== expected[name]) return `${name} of ${got[i].slug} should be ${expected[name]}`;
    if (more && got[i].product_id !== wanted[i].id) return 'product_id is not the id';
  }
  return true;
};

export const catalog = {
  'make a product': {
    route: 'POST /api/admin/products',
    weight: 0.7,
    make: (w, r) => ({
      price: r.pick([0, 1, 333, 999, 1000, 2500]),
      delivery_type: r.pick(['license_key', 'license_key', 'serial_code', 'serial_code']),
      position: r.below(3),
      license_days: r.oneIn(4) ? 30 : null,
      is_active: !r.oneIn(8),
      taken: r.oneIn(10) ? w.some('product', r) : undefined,
    }),
    play(w, a) {
      const twin = w.get('product', a.taken);
      const slug = twin ? twin.slug : slugOf(w, w.number);
      const { price, delivery_type, position, license_days, is_active } = a;
      return {
        as: 'staff',
        body: {
          name: `Product ${w.number}`,
          slug,
          price: money(price),
          delivery_type,
          position,
          license_days,
          is_active,
        },
        answer() {
          if (twin && !twin.gone) return refused(409, 'slug_taken');
          const p = w.add('product', {
            title: `Product ${w.number}`,
            slug,
            price,
            delivery_type,
            position,
            license_days,
            is_active,
            pools: {},
          });
          return made({ ...forStaff(w, p), id: born(p) });
        },
      };
    },
  },

  'look at a product': {
    route: 'GET /api/admin/products/{id}',
    weight: 1,
    make: (w, r) => ({ product: w.some('product', r) }),
    play(w, a) {
      const p = w.get('product', a.product);
      return {
        as: 'staff',
        params: { id: w.id('product', a.product) },
        answer: () => (p && !p.gone ? ok(forStaff(w, p)) : notFound()),
      };
    },
  },

  'change a product': {
    route: 'PATCH /api/admin/products/{id}',
    weight: 2,
    make: (w, r) => ({
      product: w.some('product', r),
      price: r.oneIn(2) ? r.pick([1, 500, 999, 1250, 3000]) : undefined,
      is_active: r.oneIn(4) ? !r.oneIn(3) : undefined,
      position: r.oneIn(4) ? r.below(4) : undefined,
      license_days: r.oneIn(6) ? r.pick([null, 10]) : undefined,
    }),
    play(w, { product, price, ...rest }) {
      const p = w.get('product', product);
      return {
        as: 'staff',
        params: { id: w.id('product', product) },
        body: { ...rest, price: price === undefined ? undefined : money(price) },
        answer() {
          if (!p || p.gone) return notFound();
          for (const [name, value] of Object.entries({ price, ...rest })) if (value !== undefined) p[name] = value;
          return ok(forStaff(w, p));
        },
      };
    },
  },

  'delete a product': {
    route: 'DELETE /api/admin/products/{id}',
    weight: 0.2,
    make: (w, r) => ({ product: w.some('product', r) }),
    play(w, a) {
      const p = w.get('product', a.product);
      return {
        as: 'staff',
        params: { id: w.id('product', a.product) },
        answer() {
          if (!p || p.gone) return notFound();
          // Sold ones stay, and so do those that something else still names, a cart among others.
          return ok({
            deleted: (value) => {
              if (value && p.sold) return 'it was sold';
              if (value && w.isInCart((l) => l.product === p)) return 'it is in a cart';
              p.is_active = false;
              p.gone = value;
              return true;
            },
          });
        },
      };
    },
  },

  'add a variant': {
    route: 'POST /api/admin/products/{id}/variants',
    weight: 0.5,
    make: (w, r) => ({
      product: w.some('product', r),
      price: r.pick([100, 750, 1999]),
      is_default: r.oneIn(3) ? true : undefined,
      license_days: r.oneIn(3) ? 5 : undefined,
    }),
    play(w, { product, price, is_default, license_days }) {
      const p = w.get('product', product);
      const title = `Variant ${w.number}`;
      return {
        as: 'staff',
        params: { id: w.id('product', product) },
        body: { name: title, price: money(price), is_default, license_days },
        answer() {
          if (!p || p.gone) return notFound();
          const days = license_days ?? null;
          const v = w.add('variant', {
            product: p,
            title,
            price,
            is_active: true,
            is_default: false,
            license_days: days,
          });
          w.settleDefault(p, is_default ? v : null);
          return made({ ...variantSeen(v), id: born(v) });
        },
      };
    },
  },

  'change a variant': {
    route: 'PATCH /api/admin/variants/{id}',
    weight: 0.7,
    make: (w, r) => ({
      variant: w.some('variant', r),
      price: r.oneIn(2) ? r.pick([150, 800]) : undefined,
      is_active: r.oneIn(4) ? r.oneIn(2) : undefined,
      is_default: r.oneIn(3) ? true : undefined,
    }),
    play(w, { variant, price, is_active, is_default }) {
      const v = w.get('variant', variant);
      return {
        as: 'staff',
        params: { id: w.id('variant', variant) },
        body: { price: price === undefined ? undefined : money(price), is_active, is_default },
        answer() {
          if (!v || v.gone || v.product.gone) return notFound();
          if (price !== undefined) v.price = price;
          if (is_active !== undefined) v.is_active = is_active;
          w.settleDefault(v.product, is_default ? v : null);
          return ok(variantSeen(v));
        },
      };
    },
  },

  'import codes': {
    route: 'POST /api/admin/products/{id}/serials',
    weight: 1.5,
    make: (w, r) => ({
      product: w.some('product', r, (p) => p.delivery_type === 'serial_code' || r.oneIn(10)),
      count: r.between(1, 4),
      again: r.oneIn(4),
      variant: w.some('variant', r),
    }),
    play(w, { product, count, again, variant }) {
      const p = w.get('product', product);
      const variants = p ? w.variantsOf(p) : [];
      const v = variants.find((x) => x.name === variant) ?? variants[0];
      const codes = Array.from({ length: count }, (_, i) => `${w.prefix}-${w.number}-${i}`);
      const known = p && again ? [...w.pool(p, v).codes].slice(0, 2) : [];
      return {
        as: 'staff',
        params: { id: w.id('product', product) },
        body: { codes: [...codes, ...known], variant_id: v?.id },
        answer() {
          if (!p || p.gone) return notFound();
          if (p.delivery_type !== 'serial_code') return refused(409, 'invalid_state');
          const pool = w.pool(p, v);
          for (const code of codes) pool.codes.add(code);
          pool.free += codes.length;
          return ok({ added: codes.length, duplicates: known.length });
        },
      };
    },
  },

  'read the catalogue': {
    route: 'GET /api/store/products',
    weight: 0.4,
    make: () => ({}),
    play: (w) => ({ as: 'nobody', answer: () => ok(ownPart(w, false)) }),
  },

  'read the catalogue for programs': {
    route: 'GET /api/v1/products',
    weight: 0.2,
    make: (w, r) => ({ token: w.some('token', r) }),
    play: (w, a) => ({ as: a.token, answer: () => ok(ownPart(w, true)) }),
  },

  'read a product': {
    route: 'GET /api/store/products/{slug}',
    weight: 3,
    make: (w, r) => ({ product: w.some('product', r) }),
    play(w, a) {
      const p = w.get('product', a.product);
      return {
        as: 'nobody',
        params: { slug: p?.slug ?? 'no-such-product' },
        answer: () => (w.isOnSale(p) ? ok(forAll(w, p)) : { ...notFound(), message: 'Product not found' }),
      };
    },
  },

  'make a coupon': {
    route: 'POST /api/admin/coupons',
    weight: 0.7,
    make: (w, r) => ({
      kind: r.pick(['percent', 'percent', 'fixed']),
      value: r.pick([1, 333, 1000, 1250, 5000, 10000]),
      products: r.oneIn(3) ? [w.some('product', r)].filter((p) => w.get('product', p)) : [],
      min_total: r.oneIn(4) ? r.pick([500, 2000]) : 0,
      max_uses: r.oneIn(3) ? r.between(1, 3) : null,
      per_customer: r.pick([1, 1, 2, null]),
      when: r.oneIn(10) ? r.pick(['expired', 'early']) : undefined,
      taken: r.oneIn(12) ? w.some('coupon', r) : undefined,
    }),
    play(w, a) {
      const twin = w.get('coupon', a.taken);
      const code = twin ? twin.code.toLowerCase() : `${w.prefix.toLowerCase()}K${w.number}`;
      const products = a.products.map((name) => w.get('product', name)).filter((p) => p && !p.gone);
      return {
        as: 'staff',
        body: {
          code,
          kind: a.kind,
          value: money(a.value),
          product_ids: products.map((p) => p.id),
          min_total: money(a.min_total),
          max_uses: a.max_uses,
          max_uses_per_customer: a.per_customer,
          expires_at: a.when === 'expired' ? '2020-01-01T00:00:00Z' : undefined,
          starts_at: a.when === 'early' ? '2095-01-01T00:00:00Z' : undefined,
        },
        answer() {
          if (twin && !twin.gone) return refused(409, 'code_taken');
          const c = w.add('coupon', {
            code: code.toUpperCase(),
            kind_: a.kind,
            value: a.value,
            products: products.map((p) => p.name),
            min_total: a.min_total,
            max_uses: a.max_uses,
            per_customer: a.per_customer,
            is_active: true,
            expired: a.when === 'expired',
            early: a.when === 'early',
          });
          return made({ ...couponSeen(w, c), id: born(c) });
        },
      };
    },
  },

  'look at a coupon': {
    route: 'GET /api/admin/coupons/{id}',
    weight: 1,
    make: (w, r) => ({ coupon: w.some('coupon', r) }),
    play(w, a) {
      const c = w.get('coupon', a.coupon);
      return {
        as: 'staff',
        params: { id: w.id('coupon', a.coupon) },
        answer: () => (c && !c.gone ? ok(couponSeen(w, c)) : notFound()),
      };
    },
  },

  'change a coupon': {
    route: 'PATCH /api/admin/coupons/{id}',
    weight: 0.8,
    make: (w, r) => ({
      coupon: w.some('coupon', r),
      is_active: r.oneIn(3) ? !r.oneIn(3) : undefined,
      max_uses: r.oneIn(4) ? r.pick([null, 1, 5]) : undefined,
      min_total: r.oneIn(5) ? r.pick([0, 1500]) : undefined,
    }),
    play(w, { coupon, is_active, max_uses, min_total }) {
      const c = w.get('coupon', coupon);
      return {
        as: 'staff',
        params: { id: w.id('coupon', coupon) },
        body: { is_active, max_uses, min_total: min_total === undefined ? undefined : money(min_total) },
        answer() {
          if (!c || c.gone) return notFound();
          if (max_uses && w.usesOf(c).length > max_uses) return invalid({ max_uses: 'out_of_range' });
          if (is_active !== undefined) c.is_active = is_active;
          if (max_uses !== undefined) c.max_uses = max_uses;
          if (min_total !== undefined) c.min_total = min_total;
          return ok(couponSeen(w, c));
        },
      };
    },
  },

  'delete a coupon': {
    route: 'DELETE /api/admin/coupons/{id}',
    weight: 0.2,
    make: (w, r) => ({ coupon: w.some('coupon', r) }),
    play(w, a) {
      const c = w.get('coupon', a.coupon);
      return {
        as: 'staff',
        params: { id: w.id('coupon', a.coupon) },
        answer() {
          if (!c || c.gone) return notFound();
          const wasUsed = w.all('order').some((o) => o.coupon === c);
          const isNeeded = w.all('token').some((t) => !t.dead && t.cart.coupon === c);
          return ok({
            deleted: (value) => {
              if (value && (wasUsed || isNeeded)) return 'it is needed';
              c.is_active = false;
              c.gone = value;
              return true;
            },
          });
        },
      };
    },
  },
};

const couponSeen = (w, c) => ({
  id: c.id,
  code: c.code,
  kind: c.kind_,
  value: money(c.value),
  min_total: money(c.min_total),
  max_uses: c.max_uses,
  max_uses_per_customer: c.per_customer,
  is_active: c.is_active,
  uses: w.usesOf(c).length,
  balance: absent,
});
