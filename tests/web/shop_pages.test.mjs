// The shop in a real browser: bought in with script and without, on a phone and on a screen, in light and dark; axe
// finds nothing, and what people type is shown as text.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openMailServer } from '../api/lib/mail_shop.mjs';
import { totp } from '../api/lib/totp.mjs';
import { readQr } from '../lib/qr.mjs';
import { NAUGHTY } from './lib/naughty.mjs';
import { checkAccessibleInBoth, openPanel } from './lib/panel.mjs';
import { Shopper, mailWith } from './lib/shopper.mjs';

const BUYER = { email: 'buyer@example.com', password: 'correct horse battery' };
/** More than one page of the catalogue. */
const CARDS = 24;
let mail;
let panel;

before(async () => {
  mail = await openMailServer();
  panel = await openPanel({ args: mail.args, env: mail.env });
  await panel.makeOwner();
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
  const guide = await panel.admin(
    'POST',
    '/products',
    { name: 'The Guide', slug: 'guide', price: 4, delivery_type: 'download_url', is_active: true },
    201,
  );
  await panel.souk.request('PUT', `/api/admin/products/${guide.id}/file?name=guide.txt`, {
    token: panel.ownerToken,
    body: 'Do not panic.',
    type: 'application/octet-stream',
  });
  await panel.admin('POST', '/coupons', { code: 'TEN', kind: 'percent', value: 10, max_uses_per_customer: 100 }, 201);
  await panel.admin('POST', '/departments', { name: 'Help' }, 201);
  await panel.admin('POST', '/pages', { slug: 'terms', title: 'Terms', body: '# Terms\n\n- one\n- two' }, 201);
});
after(async () => {
  await panel?.stop();
  await mail?.stop();
});

/** Finds two products, chooses a variant, saves with a coupon, pays as a guest; gives the key. */
async function buyAsGuest(shopper, email) {
  const { page } = shopper;
  await shopper.open('/');
  await shopper.find('guide', 'The Guide');
  await shopper.button('Add to cart').click();
  await shopper.find('forty', 'Brush Set');
  await page.getByLabel('Large').check();
  await shopper.button('Add to cart').click();
  await shopper.useCoupon('ten');
  await page.getByText('$39.60').waitFor();
  await shopper.fits('the cart');
  await page.getByRole('link', { name: 'Checkout' }).click();
  await page.getByLabel('E-mail address').fill(email);
  await shopper.fits('the checkout');
  await shopper.orderAndPay();
  await shopper.payAtSandbox();
  const keys = await shopper.keys();
  assert.equal(keys.length, 1);
  await shopper.fits('the order');
  return keys[0];
}

/** Money in, something bought with it, money out. */
async function useWallet(shopper) {
  const { page } = shopper;
  await shopper.open('/account/wallet');
  const [up, out] = ['Top up', 'Request a withdrawal'].map((name) => page.getByRole('region', { name }));
  await up.getByLabel('Amount').fill('30');
  await up.getByRole('button', { name: 'Top up' }).click();
  await shopper.payAtSandbox();
  await shopper.openUntil('/account/wallet', '$30.00');
  await shopper.open('/p/brush-set');
  await page.getByLabel('Small').check();
  await shopper.button('Buy now').click();
  await page.getByRole('radio', { name: 'Wallet' }).check();
  await shopper.orderAndPay();
  assert.equal((await shopper.keys()).length, 1);
  await shopper.open('/account/wallet');
  await page.getByText('$17.50').first().waitFor();
  await out.getByLabel('Amount').fill('7.50');
  await out.getByLabel('Pay out to').fill('DE00 1234 <b>5678</b>');
  await out.getByRole('button', { name: 'Withdraw' }).click();
  await page.getByText('Under review').waitFor();
  await shopper.fits('the wallet');
}

/** Asks; staff answers; the answer is on the page. */
async function getHelp(shopper) {
  const id = await shopper.ask('Where is <my> key?', 'I cannot find it.');
  await panel.admin('POST', `/tickets/${id}/replies`, { message: 'In <b>your</b> account.' }, 201);
  await shopper.page.reload();
  await shopper.page.getByText('In <b>your</b> account.').waitFor();
  await shopper.fits('the ticket');
}

/** What happened is new until it is marked; the ticket of an answer says so, too. */
async function readNews(shopper) {
  const { page } = shopper;
  await shopper.open('/account/tickets');
  await page.getByRole('listitem').filter({ hasText: 'Where is <my> key?' }).getByText('Answered').waitFor();
  await shopper.open('/account/notifications');
  const marks = page.getByRole('main').getByText('New', { exact: true });
  assert.ok((await marks.count()) > 0);
  await shopper.fits('the notifications');
  await shopper.button('Mark all as read').click();
  await shopper.button('Mark all as read').waitFor({ state: 'detached' });
  assert.equal(await marks.count(), 0);
  await page.getByRole('link', { name: 'Your ticket' }).click();
  await page.getByText('In <b>your</b> account.').waitFor();
}

/** The order's page is the receipt: one sheet of paper with what was paid. */
async function keepReceipt(shopper) {
  const { page } = shopper;
  await page.emulateMedia({ media: 'print' });
  await page.locator('.receipt').getByText('$39.60').first().waitFor();
  assert.equal(await page.getByRole('heading', { name: 'What happened' }).count(), 0, 'not on paper');
  const pdf = (await page.pdf({ format: 'A4' })).toString('latin1');
  assert.equal(pdf.match(/\/Type\s*\/Page\b/g).length, 1);
  await page.emulateMedia({ media: 'screen' });
}

/** A second factor: set up with the app, asked for at the login, removed. */
async function useSecondFactor(shopper, email, password) {
  const { page } = shopper;
  await shopper.open('/account/settings/second-factor');
  await page.getByLabel('Current password').fill(password);
  await shopper.button('Set up a second factor').click();
  const picture = page.getByRole('img', { name: 'QR code for your authenticator app' });
  const [, , size] = (await picture.getAttribute('viewBox')).split(' ');
  const uri = new URL(readQr({ size: Number(size), path: await picture.locator('path').getAttribute('d') }));
  await shopper.fits('the QR code');
  await page.getByLabel('Code from your authenticator app').fill(totp(uri.searchParams.get('secret')));
  await shopper.button('Use the second factor').click();
  await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
  const codes = await page.locator('.codes code').allTextContents();
  assert.equal(codes.length, 10);
  await shopper.fits('the recovery codes');
  await page.getByRole('button', { name: 'Log out' }).click();
  await shopper.open('/login');
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await shopper.button('Log in').click();
  await page.getByLabel('Code from your authenticator app').waitFor();
  await page.getByLabel('Password').fill(password);
  await page.getByLabel('Code from your authenticator app').fill(codes[0]);
  await shopper.button('Log in').click();
  await page.getByRole('heading', { level: 1, name: /^Hello/ }).waitFor();
  await shopper.open('/account/settings/second-factor');
  await page.getByLabel('Current password').fill(password);
  await page.getByLabel('Code from your app, or a recovery code').fill(codes[1]);
  await shopper.button('Remove the second factor').click();
  await page.getByText('Your password alone opens this account.').waitFor();
}

/** A new address counts once its own link was opened. */
async function changeEmail(shopper, from, to, password) {
  const { page } = shopper;
  await shopper.open('/account/settings');
  const form = page.getByRole('region', { name: 'Change e-mail address' });
  await form.getByLabel('New e-mail address').fill(to);
  await form.getByLabel('Current password').fill(password);
  await form.getByRole('button').click();
  const [link] = await mailWith(mail.sink, to, /http\S+\/verify-email\?token=\w+/);
  await page.goto(link);
  await page.getByRole('main').getByRole('button').click();
  await shopper.open('/account/settings');
  await page.getByText(to).first().waitFor();
  assert.equal(await page.getByRole('main').getByText(from, { exact: true }).count(), 0);
}

/** The whole life of a customer, who begins as a guest. */
async function live(shopper, email) {
  const { page } = shopper;
  const key = await buyAsGuest(shopper, email);
  assert.equal(await shopper.download(), 'Do not panic.');
  // The mail has the key, leads to this page, and lets the guest choose a password.
  const [text] = await mailWith(mail.sink, email, new RegExp(`[^]*${key}[^]*`));
  assert.ok(text.includes(new URL(page.url()).pathname), text);
  const [link] = /http\S+\/reset\?token=\w+/.exec(text);
  await shopper.choosePassword(link, BUYER.password);
  await shopper.logIn(email, BUYER.password);
  await useWallet(shopper);
  await shopper.open('/account/orders');
  await page.getByRole('link', { name: /\$39\.60/ }).click();
  await page.getByText(key).waitFor();
  await keepReceipt(shopper);
  await getHelp(shopper);
  await readNews(shopper);
  // Forgotten.
  await page.getByRole('button', { name: 'Log out' }).click();
  await shopper.open('/forgot');
  await page.getByLabel('E-mail address').fill(email);
  await shopper.button('Send the link').click();
  await page.getByText('a message is on its way').waitFor();
  const other = link.split('=')[1];
  const [again] = await mailWith(mail.sink, email, new RegExp(`http\\S+/reset\\?token=(?!${other})\\w+`));
  await shopper.choosePassword(again, 'another long password');
  await shopper.logIn(email, 'another long password');
  await useSecondFactor(shopper, email, 'another long password');
  await changeEmail(shopper, email, `new-${email}`, 'another long password');
}

test('a guest becomes a customer, with script, on a screen', async () => {
  const shopper = await Shopper.come(panel);
  await live(shopper, 'screen@example.com');
  await shopper.leave();
});

test('a guest becomes a customer, without script, on a phone in the dark', async () => {
  const shopper = await Shopper.come(panel, { script: false, width: 360, scheme: 'dark' });
  await live(shopper, 'phone@example.com');
  await shopper.leave();
});

test('a guest buys with script on a phone in the dark; keys can be copied, the receipt is one sheet', async () => {
  const shopper = await Shopper.come(panel, { width: 360, scheme: 'dark' });
  await buyAsGuest(shopper, 'guest-1@example.com');
  assert.equal(await shopper.button('Copy').count(), 1);
  const pdf = (await shopper.page.pdf({ format: 'A4' })).toString('latin1');
  assert.equal(pdf.match(/\/Type\s*\/Page\b/g).length, 1);
  await shopper.leave();
});

test('a guest buys without script on a screen', async () => {
  const shopper = await Shopper.come(panel, { script: false });
  await buyAsGuest(shopper, 'guest-2@example.com');
  assert.equal(await shopper.button('Copy').count(), 0);
  await shopper.leave();
});

test('axe finds nothing on any page, in light and dark, and every page fits a phone', async () => {
  const shopper = await Shopper.come(panel, { width: 360 });
  const { page } = shopper;
  const found = [];
  const look = async (path) => {
    await shopper.open(path);
    await shopper.fits();
    await checkAccessibleInBoth(page, path, { every: true }).catch((e) => found.push(e.message));
  };
  const lookAtAll = async (paths) => {
    for (const path of paths) await look(path);
  };
  await lookAtAll(['/', '/?q=nothing-like-this', '/p/brush-set', '/p/n-1', '/cart', '/login', '/register', '/forgot']);
  await lookAtAll(['/reset?token=x', '/page/terms', '/nothing']);
  await shopper.open('/p/brush-set');
  await shopper.button('Add to cart').click();
  await lookAtAll(['/cart', '/checkout']);
  await shopper.open('/register');
  await page.getByLabel('E-mail address').fill(BUYER.email);
  await page.getByLabel('Password').fill(BUYER.password);
  await shopper.button('Create account').click();
  await page.getByRole('heading', { level: 1, name: /Hello/ }).waitFor();
  await lookAtAll(['/account', '/account/orders', '/account/licenses', '/account/wallet', '/account/tickets']);
  await lookAtAll(['/account/notifications', '/account/settings', '/account/settings/second-factor']);
  const ticket = await shopper.ask(NAUGHTY[0], NAUGHTY.join('\n'));
  await look(`/account/tickets/${ticket}`);
  await shopper.leave();
  assert.deepEqual(found, [], found.join('\n'));
});

/** What a browser makes of pages of the shop: headings, and elements that only a text could have brought along. */
async function readPages(page, pages) {
  return page.evaluate((all) => {
    const known =
      'script[src^="/assets/"], script[type="application/ld+json"], link[href^="/assets/"], link[href^="/theme/"]';
    const odd =
      'script, style, iframe, object, embed, base, svg, math, img, video, marquee, dialog, details, ' +
      'link[rel=stylesheet], meta[http-equiv]';
    return all.map((html) => {
      const doc = new DOMParser().parseFromString(html, 'text/html');
      const strange = [...doc.querySelectorAll(odd)].filter((e) => !e.matches(known)).map((e) => e.outerHTML);
      const handlers = [...doc.querySelectorAll('*')].filter((e) =>
        [...e.attributes].some((a) => /^on|^javascript:/i.test(a.name + a.value)),
      );
      return {
        heading: doc.querySelector('h1').textContent,
        title: doc.title,
        prose: doc.querySelector('.prose')?.textContent ?? '',
        strange,
        handlers: handlers.length,
      };
    });
  }, pages);
}

test('naughty names, descriptions and search words are shown as text', async () => {
  const shopper = await Shopper.come(panel);
  const html = async (path) =>
    (await panel.souk.request('GET', path, { unchecked: true, headers: { Accept: 'text/html' } })).text;
  await shopper.open('/');
  const products = await Promise.all(NAUGHTY.map((_, i) => html(`/p/n-${i}`)));
  const searches = await Promise.all(NAUGHTY.map((text) => html(`/?q=${encodeURIComponent(text)}`)));
  const seen = await readPages(shopper.page, [...products, ...searches]);
  for (const [i, text] of NAUGHTY.entries()) {
    const [product, search] = [seen[i], seen[NAUGHTY.length + i]];
    for (const page of [product, search]) assert.deepEqual([page.strange, page.handlers], [[], 0], text);
    assert.equal(product.heading, text);
    assert.ok(product.title.startsWith(text.trim().slice(0, 10)), product.title);
    assert.ok(search.heading.includes(text.trim()), `${search.heading}: ${text}`);
  }
  // As a browser shows the list itself.
  for (const page of [1, 2, 3]) await shopper.open(`/?page=${page}`);
  await shopper.leave();
});

test('a naughty coupon, address and name come back as text in their fields', async () => {
  const shopper = await Shopper.come(panel);
  const { page } = shopper;
  const send = async (name) => {
    await page.evaluate(() => {
      for (const form of document.forms) form.noValidate = true;
    });
    await shopper.button(name).click();
  };
  await shopper.open('/p/brush-set');
  await shopper.button('Add to cart').click();
  const naughty = '"><script>alert(1)</script>';
  await shopper.useCoupon(naughty);
  await page.getByText('The coupon code is invalid').waitFor();
  assert.equal(await page.getByLabel('Coupon code').inputValue(), naughty);
  await shopper.open('/checkout');
  await page.getByLabel('E-mail address').fill(`${naughty}@example.com`);
  await send(/^Order and pay/);
  await page.getByText('This does not look right.').waitFor();
  assert.equal(await page.getByLabel('E-mail address').inputValue(), `${naughty}@example.com`);
  await shopper.open('/register');
  await page.getByLabel('Name').fill(naughty);
  await page.getByLabel('E-mail address').fill('naughty@example.com');
  await page.getByLabel('Password').fill(BUYER.password);
  await shopper.button('Create account').click();
  await page.getByRole('heading', { level: 1, name: `Hello, ${naughty}` }).waitFor();
  await shopper.leave();
});

test('the catalogue has at most 15 KB without pictures, one style sheet, no script that it waits for', async () => {
  const bytes = async (path) => {
    const { headers } = await panel.souk.request('GET', path, {
      unchecked: true,
      headers: { Accept: 'text/html,*/*', 'Accept-Encoding': 'gzip' },
    });
    return Number(headers['content-length']) + JSON.stringify(headers).length;
  };
  const shopper = await Shopper.come(panel);
  const asked = [];
  shopper.page.on('request', (r) => asked.push(r));
  await shopper.open('/');
  await shopper.page.waitForLoadState('networkidle');
  assert.equal(await shopper.page.locator('.card').count(), CARDS);
  assert.deepEqual(asked.filter((r) => r.resourceType() === 'stylesheet').length, 1);
  assert.equal(await shopper.page.locator('script[src]:not([defer])').count(), 0);
  let sum = 0;
  for (const r of asked) sum += await bytes(new URL(r.url()).pathname);
  assert.ok(sum > 2000 && sum <= 15 * 1024, `${sum} bytes: ${asked.map((r) => r.url())}`);
  await shopper.leave();
});

test('a form that is refused says so at its field', async () => {
  const shopper = await Shopper.come(panel, { script: false });
  const { page } = shopper;
  await shopper.open('/register');
  await page.getByLabel('E-mail address').fill(BUYER.email);
  await page.getByLabel('Password').fill('another long password');
  await shopper.button('Create account').click();
  await page.getByText('An account with this address already exists.').waitFor();
  assert.equal(await page.getByLabel('E-mail address').inputValue(), BUYER.email);
  assert.equal(await page.getByLabel('E-mail address').getAttribute('aria-invalid'), 'true');
  await shopper.leave();
});

test('nothing was asked of another host, and the browser complained of nothing', () => panel.checkComplaints());
