// tests/race/lib/objects.mjs - what the store must behave like, one thing at a time: the objects of the histories.

/** Money: {take, give, read}. Of a taking the answer is whether it was possible. */
export const wallet = (start) => ({
  start,
  step(balance, { take, give }, output) {
    if (give !== undefined) return balance + give;
    if (take === undefined) return output === undefined || output === balance ? balance : undefined;
    const possible = balance >= take;
    if (output !== undefined && output !== possible) return undefined;
    return possible ? balance - take : balance;
  },
});

/** A pool of codes: a sale gives any of those that are left, or 'none' when there are none. A filling adds some. */
export const pool = (codes) => ({
  start: [...codes].sort(),
  step(left, { fill }, output) {
    if (fill) return [...left, ...fill].sort();
    if (output === undefined) return left.length === 0 ? left : undefined; // which one is not known: left open
    if (output === 'none') return left.length === 0 ? left : undefined;
    return left.includes(output) ? left.filter((code) => code !== output) : undefined;
  },
});

/** A coupon for so many uses: using it says whether that was possible, reading says how often it was. */
export const coupon = (limit) => ({
  start: 0,
  step(uses, { read }, output) {
    if (read) return output === undefined || output === uses ? uses : undefined;
    const possible = uses < limit;
    if (output !== undefined && output !== possible) return undefined;
    return possible ? uses + 1 : uses;
  },
});

/** A licence: bound to the first machine that asks; staff can free it. */
export const binding = () => ({
  start: null,
  step(bound, { machine, free }, output) {
    if (free) return null;
    const good = bound === null || bound === machine;
    if (output !== undefined && output !== good) return undefined;
    return good ? machine : bound;
  },
});

/** One key: the first call makes the order, all get the same; reading counts the orders. */
export const once = () => ({
  start: null,
  step(order, { count }, output) {
    if (count) return output === undefined || output === (order === null ? 0 : 1) ? order : undefined;
    if (output === undefined) return order ?? undefined; // which order is not known: left open
    return order === null || order === output ? output : undefined;
  },
});
