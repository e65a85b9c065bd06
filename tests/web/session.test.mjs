// Logging in and out, the second factor, sessions that end, and who sees what.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, test } from 'node:test';
import { dataOf } from '../api/lib/http.mjs';
import { OWNER, expectToast, openPanel } from './lib/panel.mjs';

const STAFF = { email: 'staff@example.com', password: 'another long password', name: 'Sam Staff', role: 'staff' };

let panel, page;
before(async () => {
  panel = await openPanel();
  await panel.makeOwner();
  await panel.admin('POST', '/staff', STAFF, 201);
  page = await panel.newPage();
});
after(() => panel?.stop());

const menu = () => page.getByRole('navigation', { name: 'Pages' });
const logOut = async () => {
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByText('You are logged out.').waitFor();
};

/** RFC 6238, written for this test alone. */
function totp(base32, ms = Date.now()) {
  const bits = [...base32]
    .map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(ms / 30000)));
  const mac = createHmac('sha1', key).update(step).digest();
  const at = mac[19] & 15;
  return String((mac.readUInt32BE(at) & 0x7fffffff) % 1000000).padStart(6, '0');
}

test('a wrong password and a customer are turned away', async () => {
  await page.goto(`${panel.souk.url}/admin/`);
  await page.getByLabel('E-mail address').fill(OWNER.email);
  await page.getByLabel('Password').fill('wrong password');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('alert').getByText('The e-mail address or the password is wrong').waitFor();
  const customer = await panel.souk.customer();
  await page.getByLabel('E-mail address').fill(customer.email);
  await page.getByLabel('Password').fill(customer.password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('alert').getByText('Only staff can log in here').waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

test('everything works by keyboard: log in, skip link, menu, dialog', async () => {
  await page.goto(`${panel.souk.url}/admin/`);
  await page.getByLabel('E-mail address').focus();
  await page.keyboard.type(OWNER.email);
  await page.keyboard.press('Tab');
  await page.keyboard.type(OWNER.password);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
  await panel.settled(page);
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim());
  for (let i = 0; i < 40 && (await focused()) !== 'Skip to the content'; i += 1) await page.keyboard.press('Shift+Tab');
  assert.equal(await focused(), 'Skip to the content');
  assert.ok(
    (await page.getByRole('link', { name: 'Skip to the content' }).boundingBox()).y >= 0,
    'it is seen when it has the focus',
  );
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'MAIN');

  await menu().getByRole('link', { name: 'Departments' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Departments' }).waitFor();
  assert.equal(await focused(), 'Departments', 'the heading of the new page has the focus');
  const add = page.getByRole('button', { name: 'Add department' }).first();
  await add.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  assert.ok(
    await page.evaluate(() => document.querySelector('dialog').contains(document.activeElement)),
    'the focus is in the dialog',
  );
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.ok(await add.evaluate((e) => e === document.activeElement), 'the focus is back');
});

test('pages and dialogs take the focus as they appear, not from somebody who types already', async () => {
  const focusedWith = (selector, appear) =>
    page.evaluate(
      ([wanted, act]) =>
        new Promise((resolve) => {
          const look = () => {
            const found = document.querySelector(wanted);
            if (found) resolve(found.contains(document.activeElement));
          };
          new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
          if (act.startsWith('#')) location.hash = act;
          else [...document.querySelectorAll('button')].find((b) => b.textContent.trim() === act).click();
        }),
      [selector, appear],
    );
  await panel.visit(page, '/audit', 'Audit');
  assert.ok(await focusedWith('main:has(a[href="#/products/new"]) h1', '#/products'), 'the heading');
  await panel.visit(page, '/departments', 'Departments');
  assert.ok(await focusedWith('dialog', 'Add department'), 'the dialog');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('the theme follows the system until it is chosen', async () => {
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await background();
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await background();
  assert.notEqual(dark, light);
  await page.getByRole('button', { name: 'Colours: system' }).click();
  await page.getByRole('button', { name: 'Colours: light' }).click();
  assert.equal(await background(), dark);
  await page.reload();
  await page.getByRole('button', { name: 'Colours: dark' }).click();
  assert.equal(await background(), light);
});

test('the second factor is set up, asked for, and switched off by a recovery code', async () => {
  await panel.visit(page, '/account', 'Your account');
  await page.getByRole('button', { name: 'Set up' }).click();
  const secret = await page.getByLabel('Secret', { exact: true }).textContent();
  await page.getByRole('img', { name: 'QR code for authenticator apps' }).waitFor();
  assert.match(await page.getByLabel('Link for authenticator apps').textContent(), /^otpauth:\/\/totp\//);
  await page.getByLabel('Code', { exact: true }).fill('000000');
  await page.getByRole('button', { name: 'Switch on' }).click();
  await page.getByText('This code is not right').waitFor();
  await page.getByLabel('Code', { exact: true }).fill(totp(secret));
  await page.getByRole('button', { name: 'Switch on' }).click();
  await page.getByRole('button', { name: 'I have kept them' }).waitFor();
  const codes = await page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').allTextContents();
  assert.equal(codes.length, 10);
  await page.getByRole('button', { name: 'I have kept them' }).click();
  await logOut();

  await page.getByLabel('E-mail address').fill(OWNER.email);
  await page.getByLabel('Password').fill(OWNER.password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'One-time code' }).waitFor();
  await page.getByLabel('Code', { exact: true }).fill('123456');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('This code is not right').waitFor();
  await page.getByLabel('Code', { exact: true }).fill(codes[0]);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await panel.visit(page, '/account', 'Your account');
  await page.getByLabel('Code', { exact: true }).fill(codes[1]);
  await page.getByRole('button', { name: 'Switch off' }).click();
  await expectToast(page, 'The second factor is off.');
});

test('the account page lists sessions and ends those elsewhere', async () => {
  const { token } = dataOf(await panel.souk.post('/api/auth/login', { email: OWNER.email, password: OWNER.password }));
  await panel.visit(page, '/account', 'Your account');
  const table = page.getByRole('table', { name: 'Sessions' });
  await table.getByText('This one').waitFor();
  assert.ok((await table.getByRole('row').count()) > 2, 'a head and at least two sessions');
  await page.getByRole('button', { name: 'End all others' }).click();
  await expectToast(page, 'You are logged out everywhere else.');
  assert.equal((await panel.souk.get('/api/auth/me', { token })).status, 401);
  await table.getByText('This one').waitFor();
});

test('a new tab needs no new login, and logging out ends it in both', async () => {
  const other = await page.context().newPage();
  await other.goto(`${panel.souk.url}/admin/`);
  await other.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
  await other.getByRole('button', { name: 'Log out' }).click();
  await other.getByText('You are logged out.').waitFor();
  await other.close();
  // By its address: a page that still reads something leads to the login by itself.
  await page.goto(`${panel.souk.url}/admin/#/orders`);
  await page.getByText('Your session has ended.').waitFor();
  await panel.logIn(page);
});

test('a session that has ended leads back to the login, with the reason', async () => {
  const cookie = (await page.context().cookies()).find((c) => c.name === 'souk-panel');
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Strict', '/']);
  assert.ok(!(await page.evaluate(() => document.cookie)).includes('souk'), 'no script sees the session');
  assert.ok(
    !(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))).includes('souk_login_'),
  );
  dataOf(await panel.souk.post('/api/auth/logout', undefined, { token: cookie.value }));
  // By its address: a page that still reads something leads to the login by itself.
  await page.goto(`${panel.souk.url}/admin/#/orders`);
  await page.getByText('Your session has ended.').waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await panel.logIn(page);
});

test('a member of staff does not see the pages of owners', async () => {
  await logOut();
  await panel.logIn(page, STAFF);
  assert.equal(await menu().getByRole('link', { name: 'Staff' }).count(), 0);
  await page.goto(`${panel.souk.url}/admin/#/staff`);
  await page.getByText('There is no such page').waitFor();
  await panel.visit(page, '/settings', 'Settings');
  assert.equal(await page.getByRole('button', { name: 'Save settings' }).count(), 0);
  await panel.visit(page, '/account', 'Your account');
  await page.getByLabel('Current password').fill(STAFF.password);
  await page.getByLabel('New password', { exact: true }).fill('a quite new password');
  await page.getByLabel('New password again').fill('a quite new password');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('Your password was changed.').waitFor();
  await panel.logIn(page, { ...STAFF, password: 'a quite new password' });
});

test('an owner adds, demotes and removes staff, but not the last owner', async () => {
  await logOut();
  await panel.logIn(page);
  await menu().getByRole('link', { name: 'Staff' }).click();
  await page.getByRole('button', { name: 'Add member' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('E-mail address').fill('new@example.com');
  await dialog.getByLabel('Password').fill('yet another password');
  await dialog.getByLabel('Role').selectOption('owner');
  await dialog.getByRole('button', { name: 'Add member' }).click();
  await page.getByRole('row', { name: 'new@example.com' }).waitFor();
  await page.getByRole('button', { name: 'Remove new@example.com' }).click();
  await dialog.getByRole('button', { name: 'Remove from staff' }).click();
  await expectToast(page, 'new@example.com is no longer staff.');
  await page.getByRole('button', { name: `Remove ${OWNER.email}` }).click();
  await dialog.getByRole('button', { name: 'Remove from staff' }).click();
  await dialog.getByText('The store needs at least one active owner.').waitFor();
});

test('the browser had nothing to complain about', () => panel.checkComplaints());
