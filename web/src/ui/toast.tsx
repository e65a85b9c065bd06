// Short messages about what was done, one at a time. They are read out, and go away by themselves. They appear beside
// the page's title, where there is no card.
import { signal } from '@preact/signals';
import { Icon } from './icon';

interface Toast {
  id: number;
  text: string;
  bad: boolean;
}
const shown = signal<Toast | null>(null);
let count = 0;
const SHOWN_MS = 6000;

export function toast(text: string, bad = false): void {
  const id = ++count;
  shown.value = { id, text, bad };
  setTimeout(() => {
    if (shown.value?.id === id) shown.value = null;
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
  const t = shown.value;
  return (
    <div class="toasts" role="status" aria-live="polite">
      {t && (
        <div key={t.id} class={t.bad ? 'toast bad' : 'toast'}>
          <p>{t.text}</p>
          <button type="button" aria-label="Dismiss" onClick={() => (shown.value = null)}>
            <Icon name="close" size={16} />
          </button>
        </div>
      )}
    </div>
  );
}
