// The shop in a real browser: bought in with script and without, on a phone and on a screen, in light and dark; axe
// finds nothing.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NAUGHTY } from './lib/naughty.mjs';
import { checkAccessibleInBoth, openPanel } from './lib/panel.mjs';

const BUYER = { email: 'buyer@example.com', password: 'correct horse battery' };
let panel;
let url;
const strangers = [];

before(async () => {
  panel = await openPanel();
  await panel.makeOwner();
  url = panel.souk.url;
  await panel.admin('PUT', '/gateways/sandbox', { is_enabled: true });
  const product = await panel.admin(
    'POST',
    '/products',
    {
      name: 'Brush Set',
      slug: 'brush-set',
      price: 12.5,
      description: 'Forty *brushes*.',
      delivery_type: 'license_key',
      is_active: true,
    },
    201,
  );
  await panel.admin('POST', `/products/${product.id}/variants`, { name: 'Small', price: 12.5, is_default: true }, 201);
  await panel.admin('POST', `/products/${product.id}/variants`, { name: 'Large', price: 40 }, 201);
  for (const [i, name] of NAUGHTY.entries()) {
    await panel.admin(
      'POST',
      '/products',
      { name, slug: `n-${i}`, price: 1, description: name, delivery_type: 'license_key', is_active: true },
      201,
    );
  }
  await panel.admin('POST', '/coupons', { code: 'TEN', kind: 'percent', value: 10, max_uses_per_customer: 100 }, 201);
  await panel.admin('POST', '/departments', { name: 'Help' }, 201);
  await panel.admin('POST', '/pages', { slug: 'terms', title: 'Terms', body: '# Terms\n\n- one\n- two' }, 201);
});
after(() => panel?.stop());

/** A page in a browser of its own; every request must stay with this store. */
async function visitor({ width = 1280, scheme = 'light', script = true } = {}) {
  const context = await panel.context
    .browser()
    .newContext({ viewport: { width, height: 800 }, colorScheme: scheme, javaScriptEnabled: script, locale: 'en-GB' });
  context.setDefaultTimeout(30000);
  const page = await context.newPage();
  page.on('console', (m) => {
    if (m.type() === 'error' && !panel.isExpected(m)) panel.complaints.push(`console: ${m.text()}`);
  });
  page.on('pageerror', (e) => panel.complaints.push(`error: ${e}`));
  page.on('dialog', (d) => {
    panel.complaints.push(`dialog: ${d.message()}`);
    void d.dismiss();
  });
  page.on('request', (r) => {
    if (!r.url().startsWith(url) && !r.url().startsWith('data:')) strangers.push(r.url());
  });
  return page;
}

async function fitsTheScreen(page, what) {
  const [inner, scroll] = await page
    .evaluate(() => [innerWidth, document.documentElement.scrollWidth])
    .catch(() => [1, 1]);
  assert.ok(scroll <= inner, `${what}: ${scroll} pixels wide on ${inner}`);
}

/** Finds, chooses, saves, pays as a guest; ends on the order's page with its key. */
async function buyAsGuest(page, email) {
  await page.goto(url);
  await page.getByRole('searchbox').fill('brush');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('heading', { name: 'Brush Set' }).click();
  await page.getByLabel('Large').check();
  await page.getByRole('button', { name: 'Add to cart' }).click();
  await page.getByLabel('Coupon code').fill('ten');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('$36.00').waitFor();
  await page.getByRole('link', { name: 'Checkout' }).click();
  await page.getByLabel('E-mail address').fill(email);
  await page.getByRole('button', { name: /Order and pay/ }).click();
  await page.waitForURL(/\/sandbox\/pay\//);
  await page.getByRole('button', { name: 'Pay', exact: true }).click();
  await page.getByRole('link', { name: 'Back to the shop' }).click();
  await page.getByText('Thank you!').waitFor();
  assert.match(await page.locator('.deliveries code').textContent(), /^[A-Z0-9-]{20,}$/);
}

for (const script of [true, false]) {
  for (const width of [360, 1280]) {
    test(`a guest buys ${script ? 'with' : 'without'} script on ${width} pixels`, async () => {
      const page = await visitor({ width, script, scheme: width === 360 ? 'dark' : 'light' });
      await buyAsGuest(page, `guest-${script}-${width}@example.com`);
      assert.equal(await page.getByRole('button', { name: 'Copy' }).count(), script ? 1 : 0);
      if (script) await fitsTheScreen(page, 'the order');
      await page.context().close();
    });
  }
}

test('axe finds nothing on any page, in light and dark, and every page fits a phone', async () => {
  const page = await visitor({ width: 360 });
  const look = async (path) => {
    await page.goto(url + path);
    await checkAccessibleInBoth(page, path);
    await fitsTheScreen(page, path);
  };
  for (const path of [
    '/',
    '/?q=nothing-like-this',
    '/p/brush-set',
    '/p/n-1',
    '/cart',
    '/login',
    '/register',
    '/forgot',
    '/reset?token=x',
    '/page/terms',
    '/nothing',
  ])
    await look(path);
  await page.goto(`${url}/p/brush-set`);
  await page.getByRole('button', { name: 'Add to cart' }).click();
  await look('/cart');
  await look('/checkout');
  await page.goto(`${url}/register`);
  await page.getByLabel('E-mail address').fill(BUYER.email);
  await page.getByLabel('Password').fill(BUYER.password);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('heading', { level: 1, name: /Hello/ }).waitFor();
  for (const path of [
    '/account',
    '/account/orders',
    '/account/licenses',
    '/account/wallet',
    '/account/tickets',
    '/account/notifications',
    '/account/settings',
  ])
    await look(path);
  await page.goto(`${url}/account/tickets`);
  await page.getByLabel('Subject').fill(NAUGHTY[0]);
  await page.getByLabel('Message').fill(NAUGHTY.join('\n'));
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await checkAccessibleInBoth(page, 'a ticket');
  await page.context().close();
});

test('who has an account logs in', async () => {
  const page = await visitor({ width: 360, scheme: 'dark' });
  await page.goto(`${url}/login`);
  await page.getByLabel('E-mail address').fill(BUYER.email);
  await page.getByLabel('Password').fill(BUYER.password);
  await page.getByRole('main').getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { level: 1, name: /Hello/ }).waitFor();
  await page.context().close();
});

test('a form that is refused says so at its field', async () => {
  const page = await visitor({ script: false });
  await page.goto(`${url}/register`);
  await page.getByLabel('E-mail address').fill(BUYER.email);
  await page.getByLabel('Password').fill('another long password');
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByText('An account with this address already exists.').waitFor();
  assert.equal(await page.getByLabel('E-mail address').inputValue(), BUYER.email);
  assert.equal(await page.getByLabel('E-mail address').getAttribute('aria-invalid'), 'true');
  await page.context().close();
});

test('nothing was asked of another host, and the browser complained of nothing', () => {
  assert.deepEqual(strangers, []);
  panel.checkComplaints();
});
