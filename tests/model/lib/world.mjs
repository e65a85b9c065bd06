// tests/model/lib/world.mjs - what a small part of the store must be: a few customers, products, coupons and all that comes of them.
// Things are named by their kind and the call that made them (`order 17`); their ids come with the answers. Money in minor units.
//
// The methods are the rules of the store, from the specification and the contract. A control overrides one of them with a wrong rule.

/** An id that nothing has. */
export const NOBODY = 9007199254740001;

const KINDS = [
  'customer',
  'token',
  'product',
  'variant',
  'coupon',
  'order',
  'license',
  'withdrawal',
  'ticket',
  'department',
  'payment',
  'page',
  'person',
  'refund',
];

export class World {
  /** prefix: begins every name, so that worlds beside each other in one store do not meet. */
  constructor(prefix) {
    this.prefix = prefix;
    this.things = Object.fromEntries(KINDS.map((kind) => [kind, new Map()]));
    this.keys = new Map(); // idempotency keys that took effect
    this.events = []; // what providers have told
    this.number = 0; // of the call that is being played
  }

  /** Something new, named after the call that makes it; of several of one call each has its place. */
  add(kind, thing, place) {
    thing.name = place === undefined ? `${this.number}` : `${this.number}.${place}`;
    thing.kind = kind;
    this.things[kind].set(thing.name, thing);
    return thing;
  }

  get(kind, name) {
    return this.things[kind].get(name) ?? null;
  }

  all(kind) {
    return [...this.things[kind].values()];
  }

  /** The name of any of a kind that fits; now and then the name of nothing. */
  some(kind, random, fits = () => true) {
    if (random.oneIn(60)) return 'none';
    return random.pick(this.all(kind).filter((thing) => fits(thing) && !thing.gone))?.name;
  }

  id(kind, name) {
    return this.get(kind, name)?.id ?? NOBODY;
  }

  // --- money

  debit(customer, amount) {
    if (amount > 0) customer.moves.push({ type: 'debit', amount });
    customer.balance -= amount;
  }

  credit(customer, amount) {
    if (amount > 0) customer.moves.push({ type: 'credit', amount });
    customer.balance += amount;
  }

  hold(customer, amount) {
    this.debit(customer, amount);
    customer.held += amount;
  }

  release(customer, amount, isPaidOut) {
    customer.held -= amount;
    if (!isPaidOut) this.credit(customer, amount);
  }

  /** What an order through the API may take. */
  spendable(customer) {
    return customer.balance + customer.credit_limit;
  }

  tell(customer, kind, reference) {
    customer.notes.push({ kind, reference });
  }

  // --- coupons

  percentOff(amount, hundredths) {
    return Math.floor((amount * hundredths + 5000) / 10000);
  }

  applies(coupon, product) {
    return coupon.products.length === 0 || coupon.products.includes(product.name);
  }

  discount(coupon, lines) {
    const amount = lines
      .filter((l) => this.applies(coupon, l.product))
      .reduce((sum, l) => sum + l.price * l.quantity, 0);
    return Math.min(amount, coupon.kind_ === 'percent' ? this.percentOff(amount, coupon.value) : coupon.value);
  }

  /** The codes of all that keeps a customer from using a coupon for these lines; an unusable one says no more than that. */
  couponProblems(coupon, customer, lines) {
    if (!coupon || coupon.gone || !coupon.is_active || coupon.expired || coupon.early) return ['coupon_invalid'];
    const total = lines.reduce((sum, l) => sum + l.price * l.quantity, 0);
    const uses = this.usesOf(coupon);
    const problems = [];
    if (coupon.max_uses !== null && uses.length >= coupon.max_uses) problems.push('coupon_exhausted');
    if (coupon.per_customer !== null && uses.filter((c) => c === customer).length >= coupon.per_customer)
      problems.push('coupon_used');
    if (coupon.products.length > 0 && !lines.some((l) => this.applies(coupon, l.product)))
      problems.push('coupon_not_applicable');
    if (total < coupon.min_total) problems.push('coupon_min_total');
    return problems;
  }

  /** The customers of the orders that use it. */
  usesOf(coupon) {
    return this.all('order')
      .filter((o) => o.coupon === coupon && !o.coupon_freed)
      .map((o) => o.customer);
  }

  // --- what is sold

  /** A product with variants is sold in one of them or not at all. */
  isOnSale(product) {
    if (!product || product.gone || !product.is_active) return false;
    const variants = this.variantsOf(product);
    return variants.length === 0 || variants.some((v) => v.is_active);
  }

  /** The variant that a wish means: {product, variant, price}, or null where it cannot be bought. */
  choice(product, variant) {
    const offered = this.variantsOf(product).filter((v) => v.is_active);
    if (offered.length === 0 && this.variantsOf(product).length === 0)
      return variant === undefined ? { product, variant: null, price: product.price } : null;
    const chosen = variant === undefined ? offered.find((v) => v.is_default) : offered.find((v) => v.name === variant);
    return chosen ? { product, variant: chosen, price: chosen.price } : null;
  }

  variantsOf(product) {
    return this.all('variant').filter((v) => v.product === product && !v.gone);
  }

  /** A variant that is deleted, or only switched off because something names it. */
  dropVariant(variant, isDeleted) {
    variant.is_active = false;
    variant.gone = isDeleted;
    this.settleDefault(variant.product, null);
  }

  /** In one that can still be checked out. */
  isInCart(fits) {
    return this.all('token').some((t) => !t.dead && t.cart.lines.some(fits));
  }

  /** One of the active variants is the default: the one that is wished for, else the one that was, else the oldest. */
  settleDefault(product, wished) {
    const variants = this.variantsOf(product);
    const active = variants.filter((v) => v.is_active);
    const chosen = active.includes(wished) ? wished : (active.find((v) => v.is_default) ?? active[0]);
    for (const v of variants) v.is_default = v === chosen;
  }

  /** The codes that a line can be delivered from, and how many are free. A variant has a pool of its own. */
  pool(product, variant) {
    const key = variant?.name ?? '';
    product.pools[key] ??= { codes: new Set(), free: 0 };
    return product.pools[key];
  }

  /** The pools for a unit: the variant's own first, then the codes that fit every variant. */
  poolsOf(product, variant) {
    return variant ? [this.pool(product, variant), this.pool(product, null)] : [this.pool(product, null)];
  }

  inStock(lines) {
    const left = new Map();
    return lines.every(({ product, variant, quantity }) => {
      if (product.delivery_type !== 'serial_code') return true;
      let wanted = quantity;
      for (const pool of this.poolsOf(product, variant)) {
        const free = left.get(pool) ?? pool.free;
        const taken = Math.min(free, wanted);
        left.set(pool, free - taken);
        wanted -= taken;
      }
      return wanted === 0;
    });
  }

  takeCodes(pools, quantity) {
    let wanted = quantity;
    for (const pool of pools) {
      const taken = Math.min(pool.free, wanted);
      pool.free -= taken;
      wanted -= taken;
    }
  }

  /** Delivers an order. What its keys and codes are is learned from the answer that shows them first. */
  deliver(order) {
    order.status = 'confirmed';
    order.units = [];
    for (const line of order.lines) {
      const { product, variant, quantity } = line;
      product.sold = true;
      if (variant) variant.sold = true;
      if (product.delivery_type === 'serial_code') this.takeCodes(this.poolsOf(product, variant), quantity);
      for (let i = 0; i < quantity; i++) {
        const unit = { line, type: product.delivery_type, value: null };
        if (unit.type === 'license_key') unit.license = this.grant(order, line, order.units.length);
        order.units.push(unit);
      }
    }
  }

  grant(order, { product, variant }, place) {
    const days = variant?.license_days ?? product.license_days;
    return this.add(
      'license',
      {
        key: null,
        product,
        variant,
        customer: order.customer,
        order,
        status: 'active',
        expires: days ? 'future' : null,
        hardware: null,
      },
      place,
    );
  }

  /** Of a full refund: nothing that was delivered is good any more. */
  close(order) {
    order.status = 'refunded';
    for (const unit of order.units) if (unit.license) unit.license.status = 'refunded';
  }

  // --- licences

  /** The old key is nobody's any more; the new one is learned from the answer that shows it first. */
  replaceKey(license) {
    if (license.key) this.add('license', { key: license.key, product: license.product, replaced: true });
    license.key = null;
    license.hardware = null;
  }

  /** What `verify` says; binds. */
  verify(license, product, hardware) {
    if (!license || license.replaced || license.product !== product) return 'not_found';
    if (license.status !== 'active') return 'license_revoked';
    if (license.expires === 'past') return 'license_expired';
    if (hardware !== undefined && license.hardware !== null && license.hardware !== hardware)
      return 'hardware_mismatch';
    if (hardware !== undefined) license.hardware = hardware;
    return null;
  }
}
