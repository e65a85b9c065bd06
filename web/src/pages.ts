// The list of pages: what is in the navigation, what an address shows, who may see it.
import type { ComponentType } from 'preact';
import type { PageProps } from './route';
import { isOwner } from './session';
import type { IconName } from './ui/icon';
import { Account } from './pages/auth/account';
import { Audit } from './pages/admin_audit';
import { Coupons } from './pages/admin_coupons/list';
import { Customer } from './pages/admin_customers/customer';
import { Customers } from './pages/admin_customers/list';
import { Dashboard } from './pages/admin_stats';
import { Delivery } from './pages/admin_webhook_deliveries';
import { Departments } from './pages/admin_tickets/departments';
import { Event } from './pages/admin_webhook_events/event';
import { Events } from './pages/admin_webhook_events/list';
import { Gateways } from './pages/admin_gateways/list';
import { License } from './pages/admin_licenses/license';
import { Licenses } from './pages/admin_licenses/list';
import { MailTexts } from './pages/admin_mail_texts';
import { Order } from './pages/admin_orders/order';
import { Orders } from './pages/admin_orders/list';
import { OwnPage, OwnPageNew } from './pages/admin_pages/page';
import { OwnPages } from './pages/admin_pages/list';
import { Outbox } from './pages/admin_outbox';
import { Product } from './pages/admin_products/product';
import { ProductNew } from './pages/admin_products/new';
import { Products } from './pages/admin_products/list';
import { Review } from './pages/admin_reviews/review';
import { Reviews } from './pages/admin_reviews/list';
import { SettingsPage } from './pages/admin_settings';
import { ShopPage } from './pages/admin_settings/shop';
import { Staff } from './pages/admin_staff';
import { Ticket } from './pages/admin_tickets/ticket';
import { Tickets } from './pages/admin_tickets/list';
import { Webhook } from './pages/admin_webhook_endpoints/endpoint';
import { Webhooks } from './pages/admin_webhook_endpoints/list';
import { Withdrawals } from './pages/admin_withdrawals';

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
  { path: '/orders', page: Orders, nav: { label: 'Orders', icon: 'receipt', group: 'Sales' } },
  { path: '/orders/:id', page: Order },
  { path: '/customers', page: Customers, nav: { label: 'Customers', icon: 'users', group: 'Sales' } },
  { path: '/customers/:id', page: Customer },
  { path: '/withdrawals', page: Withdrawals, nav: { label: 'Withdrawals', icon: 'banknote', group: 'Sales' } },
  { path: '/reviews', page: Reviews, nav: { label: 'Reviews', icon: 'scale', group: 'Sales' } },
  { path: '/reviews/:id', page: Review },
  { path: '/products', page: Products, nav: { label: 'Products', icon: 'pack', group: 'Catalogue' } },
  { path: '/products/new', page: ProductNew },
  { path: '/products/:id', page: Product },
  { path: '/coupons', page: Coupons, nav: { label: 'Coupons', icon: 'tag', group: 'Catalogue' } },
  { path: '/licenses', page: Licenses, nav: { label: 'Licences', icon: 'award', group: 'Catalogue' } },
  { path: '/licenses/:id', page: License },
  { path: '/tickets', page: Tickets, nav: { label: 'Tickets', icon: 'message', group: 'Support' } },
  { path: '/tickets/:id', page: Ticket },
  { path: '/departments', page: Departments, nav: { label: 'Departments', icon: 'folders', group: 'Support' } },
  { path: '/shop', page: ShopPage, nav: { label: 'Shop', icon: 'store', group: 'Store' } },
  { path: '/pages', page: OwnPages },
  { path: '/pages/new', page: OwnPageNew },
  { path: '/pages/:id', page: OwnPage },
  { path: '/gateways', page: Gateways, nav: { label: 'Gateways', icon: 'card', group: 'Store' } },
  { path: '/events', page: Events },
  { path: '/events/:id', page: Event },
  { path: '/outbox', page: Outbox, nav: { label: 'Outbox', icon: 'send', group: 'Store' } },
  { path: '/webhooks', page: Webhooks, nav: { label: 'Webhooks', icon: 'webhook', group: 'Store' }, ownerOnly: true },
  { path: '/webhooks/:id', page: Webhook, ownerOnly: true },
  { path: '/deliveries/:id', page: Delivery, ownerOnly: true },
  { path: '/mail-texts', page: MailTexts, nav: { label: 'Mail texts', icon: 'mail', group: 'Store' } },
  { path: '/settings', page: SettingsPage, nav: { label: 'Settings', icon: 'gear', group: 'Store' } },
  { path: '/staff', page: Staff, nav: { label: 'Staff', icon: 'shield', group: 'Store' }, ownerOnly: true },
  { path: '/audit', page: Audit, nav: { label: 'Audit', icon: 'clock', group: 'Store' } },
  { path: '/account', page: Account },
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
