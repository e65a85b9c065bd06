// tests/web/screenshots.mjs - the pictures in docs/screenshots, of the store that `souk demo` makes.
//
//     ./dev screenshots              those that docs/panel.md shows
//     ./dev screenshots WORD...      those whose name has one of the words; `-` takes every page in every view
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freshDatabase, runSouk } from '../api/lib/souk.mjs';
import { openPanel } from './lib/panel.mjs';
import { shootShop } from './lib/shop_shots.mjs';

const FOLDER = fileURLToPath(new URL('../../docs/screenshots/', import.meta.url));
const filters = process.argv.slice(2);
const SHOWN = new Set([
  'login',
  'dashboard',
  'orders',
  'order',
  'customer',
  'withdrawals',
  'product',
  'license',
  'ticket',
  'audit',
  'gateways',
  'dashboard-dark',
  'order-dark',
  'ticket-dark',
  'dashboard-phone',
  'orders-phone',
  'ticket-phone',
  'menu-phone',
  'shop-catalogue',
  'shop-product',
  'shop-checkout',
  'shop-order-phone',
  'shop-wallet-dark',
  'shop-account',
  'shop-cart',
  'shop-catalogue-dark',
  'shop-product-phone',
  'shop-settings',
]);
const wanted = (name) => (filters.length === 0 ? SHOWN.has(name) : filters.some((word) => `${name}-`.includes(word)));

const database = freshDatabase('sqlite');
const demo = await runSouk(['demo', '--db', database.dbArg], { cwd: database.dir });
const owner = /^owner\t(\S+)\tpassword (\S+)\ttoken (\S+)$/m.exec(demo.stdout);
const panel = await openPanel({ database });
panel.ownerToken = owner[3];

try {
  const page = await panel.newPage();
  const first = async (target) => (await panel.admin('GET', target))[0].id;
  const product = (await panel.admin('GET', '/products?limit=100')).find((p) => p.delivery_type === 'serial_code').id;
  const places = {
    dashboard: '/',
    orders: '/orders',
    order: `/orders/${await first('/orders?status=confirmed')}`,
    customers: '/customers',
    customer: `/customers/${(await panel.admin('GET', '/orders'))[0].customer_id}`,
    withdrawals: '/withdrawals',
    products: '/products',
    product: `/products/${product}`,
    coupons: '/coupons',
    licenses: '/licenses',
    license: `/licenses/${await first('/licenses')}`,
    tickets: '/tickets',
    ticket: `/tickets/${await first('/tickets')}`,
    departments: '/departments',
    gateways: '/gateways',
    settings: '/settings',
    staff: '/staff',
    audit: '/audit',
    account: '/account',
  };
  // Something to see in the audit.
  await panel.admin('PATCH', `/products/${product}`, { price: 29.99, position: 5 });
  await panel.admin(
    'POST',
    `/tickets/${await first('/tickets')}/replies`,
    { message: 'Yes: 40 % off for schools. I have sent you an offer.' },
    201,
  );
  const shoot = async (name, fullPage = true) => {
    if (!wanted(name)) return;
    await page.screenshot({ path: `${FOLDER}${name}.png`, fullPage });
    console.log(name);
  };
  fs.mkdirSync(FOLDER, { recursive: true });

  await page.goto(`${panel.souk.url}/admin/`);
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  await shoot('login');
  await panel.logIn(page, { email: owner[1], password: owner[2] });
  await page.locator('.chart canvas').waitFor();
  const views = [
    ['', 1280, 'light'],
    ['-dark', 1280, 'dark'],
    ['-phone', 360, 'light'],
  ];
  for (const [suffix, width, colorScheme] of views) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    for (const [name, hash] of Object.entries(places)) {
      if (!wanted(`${name}${suffix}`)) continue;
      await page.goto(`${panel.souk.url}/admin/#${hash}`);
      await page.waitForFunction((h) => location.hash === `#${h}`, hash);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await panel.settled(page);
      if (name === 'dashboard') await page.locator('.chart canvas').waitFor();
      await shoot(`${name}${suffix}`);
    }
  }
  await page.getByRole('button', { name: 'Menu' }).click();
  await shoot('menu-phone', false);
  const customer = /^customer\t(\S+)\tpassword (\S+)/m.exec(demo.stdout);
  await shootShop(panel, { email: customer[1], password: customer[2] }, FOLDER, wanted);
  panel.checkComplaints();
} finally {
  await panel.stop();
  database.remove();
}
