// Money, times and sizes for people.
import type { Amount } from './amount';
import { currency } from './session';

/** A decimal text is formatted digit by digit, however long. */
const digits = (amount: Amount): Intl.StringNumericLiteral => String(amount) as Intl.StringNumericLiteral;

export function money(amount: Amount, code: string = currency()): string {
  return new Intl.NumberFormat(undefined, { style: 'currency', currency: code }).format(digits(amount));
}

/** Without a currency and without trailing zeros: 12.5. */
export const decimal = (amount: Amount): string =>
  new Intl.NumberFormat(undefined, { maximumFractionDigits: 20 }).format(digits(amount));

/** For the value of a field. */
export const plainMoney = (amount: Amount | undefined): string => (amount === undefined ? '' : String(amount));

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const dateOnly = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** In the viewer's zone. */
export const localTime = (iso: string): string => dateTime.format(new Date(iso));
/** As it is stored. */
export const utcTime = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`;
/** A day as in statistics, 2026-11-15, which is a day in UTC. */
export const day = (text: string): string => dateOnly.format(new Date(`${text}T00:00:00Z`));

/** For the value of a datetime-local field. */
export function toLocalInput(iso: string | null | undefined): string {
  if (!iso) return '';
  const t = new Date(iso);
  return new Date(t.getTime() - t.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

export function bytes(n: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB'];
  let at = 0;
  let value = n;
  while (value >= 1000 && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}

export const number = (n: number): string => new Intl.NumberFormat().format(n);

/** `license_key` → `Licence key`; the API's words as people read them. */
const WORDS: Record<string, string> = {
  license_key: 'Licence key',
  serial_code: 'Serial code',
  download_url: 'Download',
  api: 'API',
  cart: 'Cart',
};
export function words(text: string): string {
  const plain = text.replaceAll('_', ' ');
  return WORDS[text] ?? plain.charAt(0).toUpperCase() + plain.slice(1);
}

const JSON_TOKEN = /"(?:[^"\\]|\\.)*"|[^\s"[\]{}:,]+|[[\]{}:,]/g;

/** JSON with a line per member, every token as it was sent; other texts as they are. */
export function inLines(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let depth = 0;
  let before = '';
  let out = '';
  for (const [token] of text.matchAll(JSON_TOKEN)) {
    const closes = token === '}' || token === ']';
    if (closes) depth -= 1;
    const opened = before === '{' || before === '[';
    if (closes ? !opened : opened || before === ',') out += `\n${'  '.repeat(depth)}`;
    out += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth += 1;
    before = token;
  }
  return out;
}
