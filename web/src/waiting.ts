// How much waits for staff behind a page of the menu. Read again when somebody moves on, at most twice a minute.
import { signal } from '@preact/signals';
import { get } from './api';

const EVERY_MS = 30_000;

/** By the page's path. */
export const waiting = signal<Partial<Record<string, number>>>({});
let readAt = 0;

export async function readWaiting(): Promise<void> {
  if (Date.now() - readAt < EVERY_MS) return;
  readAt = Date.now();
  try {
    const { open } = (await get('/api/admin/stats', { query: { days: 1 } })).data;
    waiting.value = { '/reviews': open.reviews, '/outbox': open.outbox };
  } catch {
    // The page itself says what is wrong.
  }
}
