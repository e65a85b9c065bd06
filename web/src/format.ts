// Money, times and sizes for people.
import { currency } from './session';

export function money(amount: number, code: string = currency()): string {
  return new Intl.NumberFormat(undefined, { style: 'currency', currency: code }).format(amount);
}

/** An amount for a field: all the decimals that the currency has, nothing else. */
export function plainMoney(amount: number | undefined): string {
  if (amount === undefined) return '';
  const { maximumFractionDigits } = new Intl.NumberFormat('en', { style: 'currency', currency: currency() }).resolvedOptions();
  return amount.toFixed(maximumFractionDigits);
}

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
  while (value >= 1000 && at < units.length - 1) { value /= 1000; at += 1; }
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}

export const number = (n: number): string => new Intl.NumberFormat().format(n);

/** `license_key` → `Licence key`; the API's words as people read them. */
const WORDS: Record<string, string> = {
  license_key: 'Licence key', serial_code: 'Serial code', download_url: 'Download', api: 'API', cart: 'Cart',
};
export function words(text: string): string {
  const plain = text.replaceAll('_', ' ');
  return WORDS[text] ?? plain.charAt(0).toUpperCase() + plain.slice(1);
}
