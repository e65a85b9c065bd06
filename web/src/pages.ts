// The list of pages: what is in the navigation, what an address shows, who may see it.
import type { ComponentType } from 'preact';
import { isOwner } from './session';
import type { IconName } from './ui/icon';
import { Dashboard } from './pages/dashboard';
import { Product } from './pages/product';
import { ProductNew } from './pages/product_new';
import { Products } from './pages/products';

export interface PageProps { id: number }
interface Entry {
  /** `:id` stands for a number. */
  path: string;
  page: ComponentType<PageProps>;
  /** In the navigation. */
  nav?: { label: string; icon: IconName; group: Group };
  ownerOnly?: boolean;
}
export type Group = 'Sales' | 'Catalogue' | 'Support' | 'Store';
export const GROUPS: Group[] = ['Sales', 'Catalogue', 'Support', 'Store'];

export const PAGES: Entry[] = [
  { path: '/', page: Dashboard, nav: { label: 'Dashboard', icon: 'home', group: 'Sales' } },
  { path: '/products', page: Products, nav: { label: 'Products', icon: 'pack', group: 'Catalogue' } },
  { path: '/products/new', page: ProductNew },
  { path: '/products/:id', page: Product },
];

export const mayShow = (entry: Entry): boolean => !entry.ownerOnly || isOwner();

/** The page at an address, and the id in it. */
export function pageAt(path: string): { entry: Entry; id: number } | null {
  for (const entry of PAGES) {
    const pattern = new RegExp(`^${entry.path.replace(':id', '([1-9][0-9]{0,15})')}$`);
    const match = pattern.exec(path);
    if (match && mayShow(entry)) return { entry, id: Number(match[1] ?? 0) };
  }
  return null;
}
