// Who is logged in. The token lives in this tab's sessionStorage: closing the tab ends it, other sites never see it.
import { signal } from '@preact/signals';
import { credentials, get, post, type Data } from './api';

const TOKEN = 'souk.token';

export type Me = Data<'/api/auth/me'>;
export type Settings = Data<'/api/admin/settings'>;

export const me = signal<Me | null>(null);
export const settings = signal<Settings | null>(null);
/** Whether it is known yet if somebody is logged in. */
export const ready = signal(false);
/** Said above the login form: why one is back there. */
export const notice = signal('');

credentials.onRefused = () => end('Your session has ended. Please log in again.');

export const isOwner = (): boolean => me.value?.role === 'owner';
export const currency = (): string => settings.value?.currency ?? 'USD';

/** At start: goes on with the token of this tab, if it still works. */
export async function resume(): Promise<void> {
  const token = sessionStorage.getItem(TOKEN);
  if (token) await open(token).catch(() => end(''));
  ready.value = true;
}

async function open(token: string): Promise<void> {
  credentials.token = token;
  const account = (await get('/api/auth/me')).data;
  if (account.role === 'customer') {
    await post('/api/auth/logout').catch(() => {});
    credentials.token = '';
    throw new Error('This account is a customer’s. Only staff can log in here.');
  }
  settings.value = (await get('/api/admin/settings')).data;
  sessionStorage.setItem(TOKEN, token);
  me.value = account;
  notice.value = '';
}

export async function login(email: string, password: string, totp?: string): Promise<void> {
  credentials.token = '';
  const { data } = await post('/api/auth/login', { body: { email, password, totp } });
  await open(data.token);
}

export async function logout(): Promise<void> {
  await post('/api/auth/logout').catch(() => {});
  end('You are logged out.');
}

/** Forgets everything and shows the login form with this message. */
export function end(message: string): void {
  sessionStorage.removeItem(TOKEN);
  credentials.token = '';
  me.value = null;
  settings.value = null;
  notice.value = message;
}
