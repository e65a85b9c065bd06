// tests/lib/random.mjs - numbers that a seed decides (mulberry32): what failed can be played again.

/** Gives a function: random(below) is a whole number from 0 to below - 1. */
export function generator(seed) {
  let a = seed >>> 0;
  return (below) => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

export class Random {
  constructor(seed) {
    this.below = generator(seed);
  }

  /** From low to high, both included. */
  between(low, high) {
    return low + this.below(high - low + 1);
  }

  /** True once in n. */
  oneIn(n) {
    return this.below(n) === 0;
  }

  /** One of a list; undefined of an empty one. */
  pick(list) {
    return list.length > 0 ? list[this.below(list.length)] : undefined;
  }
}
