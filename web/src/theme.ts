// Light or dark: the system's choice until the viewer makes another.
import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
const KEY = 'souk.theme';
const stored = localStorage.getItem(KEY);

export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
/** The theme in effect, for parts that draw themselves. */
export const shown = signal<'light' | 'dark'>('light');

function update(): void {
  shown.value = theme.value === 'system' ? (systemIsDark.matches ? 'dark' : 'light') : theme.value;
}
systemIsDark.addEventListener('change', update);
effect(() => {
  document.documentElement.dataset.theme = theme.value;
  if (theme.value === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme.value);
  update();
});

export function nextTheme(): void {
  const order: Theme[] = ['system', 'light', 'dark'];
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length] as Theme;
}
