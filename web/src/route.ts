// The current page: everything behind the #, so that the server knows only one page. Filters live there too: they
// survive a reload and the Back button.
import { signal } from '@preact/signals';

/** What a page is given: the number in its address, or 0. */
export interface PageProps {
  id: number;
}

export interface Place {
  path: string;
  query: URLSearchParams;
}

function read(): Place {
  const hash = location.hash.slice(1);
  const [path = '', query = ''] = hash.split('?', 2);
  return { path: path.startsWith('/') ? path : '/', query: new URLSearchParams(query) };
}

export const place = signal<Place>(read());
addEventListener('hashchange', () => {
  place.value = read();
});

export function href(path: string, query: Record<string, string> = {}): string {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''));
  return `#${path}${search.size > 0 ? `?${search}` : ''}`;
}

export function go(path: string): void {
  location.hash = path;
}

/** Changes filters of the present page without a new entry in the history. */
export function setQuery(values: Record<string, string>): void {
  const merged = { ...Object.fromEntries(place.value.query), ...values };
  history.replaceState(null, '', href(place.value.path, merged));
  place.value = read();
}

/** The token of a setup link, /admin/#setup=TOKEN. */
export function setupToken(): string | null {
  void place.value; // readers are told when it changes
  const match = /^#setup=(.+)$/.exec(location.hash);
  return match ? decodeURIComponent(match[1] as string) : null;
}
