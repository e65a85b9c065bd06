// Who is logged in. The session is in a cookie that no script can read; every tab of the browser has it.
import { signal } from '@preact/signals';
import { ApiError, credentials, get, post, type Data } from './api';

/** Notes that there may be a session, so that the server is not asked in vain. */
const HINT = 'souk.session';

export type Me = Data<'/api/auth/me'>;
export type Settings = Data<'/api/admin/settings'>;

export const me = signal<Me | null>(null);
export const settings = signal<Settings | null>(null);
/** Whether it is known yet if there is a login. */
export const ready = signal(false);
/** Shown above the login form: why it is back. */
export const notice = signal('');

credentials.onRefused = () => end('Your session has ended. Please log in again.');

export const isOwner = (): boolean => me.value?.role === 'owner';
export const currency = (): string => settings.value?.currency ?? 'USD';

/** At start: continues this browser's session, if there is one. */
export async function resume(): Promise<void> {
  if (localStorage.getItem(HINT)) await open().catch(() => end(''));
  ready.value = true;
}

async function open(): Promise<void> {
  const account = (await get('/api/auth/me')).data;
  settings.value = (await get('/api/admin/settings')).data;
  credentials.isOpen = true;
  localStorage.setItem(HINT, '1');
  me.value = account;
  notice.value = '';
}

export async function login(email: string, password: string, totp?: string): Promise<void> {
  await post('/api/auth/panel', { body: { email, password, totp } }).catch((e: unknown) => {
    const isCustomer = e instanceof ApiError && e.code === 'forbidden';
    throw isCustomer ? new Error('This account is a customer’s. Only staff can log in here.') : e;
  });
  await open();
}

export async function logout(): Promise<void> {
  await post('/api/auth/logout').catch(() => {});
  end('You are logged out.');
}

/** Forgets everything and shows the login form with this message. */
export function end(message: string): void {
  credentials.isOpen = false;
  localStorage.removeItem(HINT);
  me.value = null;
  settings.value = null;
  notice.value = message;
}
