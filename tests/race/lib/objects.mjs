// tests/race/lib/objects.mjs - what the store must behave like, one thing at a time: the objects of the histories.

/**
 * Money: {take, give, refund, read}. Of a taking the answer is whether it was possible; an order, {refund, amount}, is given back once.
 * State: the balance and the orders that were given back.
 */
export const wallet = (start) => ({
  start: [start],
  step([balance, ...back], { take, give, refund, amount }, output) {
    const [wanted, possible] =
      refund !== undefined
        ? [amount, !back.includes(refund)]
        : give !== undefined
          ? [give, true]
          : [-(take ?? 0), balance >= (take ?? 0)];
    if (take === undefined && wanted === 0)
      return output === undefined || output === balance ? [balance, ...back] : undefined;
    if (output !== undefined && output !== possible) return undefined;
    if (!possible) return [balance, ...back];
    return [balance + wanted, ...(refund === undefined ? back : [...back, refund].sort())];
  },
});

/**
 * A pool of codes: a sale gives any of those that are left, or 'none' when there are none. A filling says how many of its codes were
 * new: those that were ever in the pool are not. A count says how many are left. State: the codes that are left, and those that are sold.
 */
export const pool = (codes) => ({
  start: [[...codes].sort(), []],
  step([left, sold], { fill, count }, output) {
    if (count) return output === undefined || output === left.length ? [left, sold] : undefined;
    if (fill) {
      const fresh = fill.filter((code) => !left.includes(code) && !sold.includes(code));
      return output === undefined || output === fresh.length ? [[...left, ...fresh].sort(), sold] : undefined;
    }
    if (output === undefined) return left.length === 0 ? [left, sold] : undefined; // which one is not known: left open
    if (output === 'none') return left.length === 0 ? [left, sold] : undefined;
    return left.includes(output) ? [left.filter((code) => code !== output), [...sold, output].sort()] : undefined;
  },
});

/**
 * A coupon for so many uses: using it says whether that was possible, reading how often it was. Staff may set another limit, or none
 * (null), but no lower one than its uses are; 'conflict' says that others have changed it meanwhile. State: uses, limit.
 */
export const coupon = (most) => ({
  start: [0, most],
  step([uses, limit], { read, limit: wanted }, output) {
    if (read) return output === undefined || output === uses ? [uses, limit] : undefined;
    if (wanted !== undefined && output === 'conflict') return [uses, limit];
    const possible = wanted === undefined ? limit === null || uses < limit : wanted === null || uses <= wanted;
    if (output !== undefined && output !== possible) return undefined;
    if (!possible) return [uses, limit];
    return wanted === undefined ? [uses + 1, limit] : [uses, wanted];
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
