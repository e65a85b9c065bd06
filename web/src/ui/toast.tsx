// Short messages about what was done. They are read out, and go away by themselves.
import { signal } from '@preact/signals';

interface Toast {
  id: number;
  text: string;
  bad: boolean;
}
const toasts = signal<Toast[]>([]);
let count = 0;
const SHOWN_MS = 6000;

export function toast(text: string, bad = false): void {
  const id = ++count;
  toasts.value = [...toasts.value.slice(-2), { id, text, bad }];
  setTimeout(() => {
    toasts.value = toasts.value.filter((t) => t.id !== id);
  }, SHOWN_MS);
}

/** Runs something that has no form to show its failure in. */
export async function attempt(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (e) {
    toast((e as Error).message, true);
  }
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((t) => (
        <p key={t.id} class={t.bad ? 'toast bad' : 'toast'}>
          {t.text}
        </p>
      ))}
    </div>
  );
}
