// Money and percentages, exactly. No amount ever becomes a floating-point number: JSON is read and written here so that
// an amount stays the text that the API wrote, and sums are made of whole minor units.

/**
 * A decimal number as it was written. No one can calculate with an Amount by accident: the type checker refuses
 * operators. Whole numbers come out of JSON as plain numbers, which are exact, so String(amount) is all that may be
 * asked of one.
 */
export class Amount {
  constructor(private readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
/** Whole, and small enough for a double to hold exactly. */
const SAFE = /^-?\d{1,15}$/;
const MARK = '#amount';

/** JSON.parse, but numbers that a double may not hold exactly become an Amount. */
export function readJson(text: string): unknown {
  const marked = text.replace(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || SAFE.test(token) ? token : `{"${MARK}":"${token}"}`,
  );
  return JSON.parse(marked, (_, value: unknown) =>
    value !== null && typeof value === 'object' && MARK in value ? new Amount(String(value[MARK])) : value,
  );
}

/** JSON.stringify, but an Amount is written as the number it is. */
export function writeJson(value: unknown): string {
  if (value instanceof Amount) return String(value);
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${writeJson(member)}`).join(',')}}`;
}

/**
 * What was typed, or null where it is not an amount. A comma may precede the decimals, but "1,000" is refused: it means
 * a thousand to some and one to others.
 */
export function amountOf(typed: string): Amount | null {
  const text = typed.trim().replace(/,(\d{1,2})$/, '.$1');
  const match = /^([-+]?)0*(\d*)(?:\.(\d+))?$/.exec(text);
  if (!match || !/\d/.test(text)) return null;
  const [, sign, whole, decimals] = match;
  return new Amount(`${sign === '-' ? '-' : ''}${whole || '0'}${decimals === undefined ? '' : `.${decimals}`}`);
}

function decimalsOf(text: string): number {
  const point = text.indexOf('.');
  return point < 0 ? 0 : text.length - point - 1;
}

/** In units of the last decimal. */
function minor(amount: Amount, decimals: number): bigint {
  const text = String(amount);
  return BigInt(text.replace('.', '') + '0'.repeat(decimals - decimalsOf(text)));
}

export function sum(amounts: Amount[]): Amount {
  const decimals = Math.max(0, ...amounts.map((a) => decimalsOf(String(a))));
  const total = amounts.reduce((soFar, a) => soFar + minor(a, decimals), 0n);
  const digits = String(total < 0n ? -total : total).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  return new Amount(`${total < 0n ? '-' : ''}${whole}${decimals > 0 ? `.${digits.slice(-decimals)}` : ''}`);
}

export function negated(amount: Amount): Amount {
  const text = String(amount);
  if (isZero(amount)) return amount;
  return new Amount(text.startsWith('-') ? text.slice(1) : `-${text}`);
}

export const ZERO = new Amount('0');
export const difference = (a: Amount, b: Amount): Amount => sum([a, negated(b)]);
export const isZero = (amount: Amount): boolean => !/[1-9]/.test(String(amount));
export const isPositive = (amount: Amount): boolean => !isZero(amount) && !String(amount).startsWith('-');

/** The height of a bar in a chart: for drawing only. */
export const heightOf = (amount: Amount): number => Number(String(amount));
