// No violation that axe knows of, on any page and in the dialogs, in light and dark.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openAt, openHostileStore, pagesOf } from './lib/hostile.mjs';
import { checkAccessible, checkAccessibleInBoth } from './lib/panel.mjs';

let panel, page, ids;
before(async () => {
  ({ panel, page, ids } = await openHostileStore());
});
after(() => panel?.stop());

const open = (hash) => openAt(panel, page, hash);

test('axe finds nothing on any page, in light and dark', async () => {
  const found = [];
  for (const hash of pagesOf(ids)) {
    await open(hash);
    await checkAccessibleInBoth(page, hash).catch((e) => found.push(e.message));
  }
  assert.deepEqual(found, [], found.join('\n'));
});

test('axe finds nothing in dialogs', async () => {
  for (const [hash, button] of [
    ['/coupons', 'Make coupon'],
    ['/staff', 'Add member'],
    ['/licenses', 'Issue licence'],
    [`/orders/${ids.order}`, 'Refund'],
    [`/customers/${ids.customer}`, 'Make token'],
    [`/products/${ids.product}`, 'Import codes'],
    [`/products/${ids.product}`, 'Delete'],
  ]) {
    await open(hash);
    await page.getByRole('button', { name: button, exact: true }).first().click();
    await page.getByRole('dialog').waitFor();
    await panel.settled(page);
    await checkAccessible(page, `${hash}: ${button}`);
    await page.keyboard.press('Escape');
  }
});

test('the menu on a phone', async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  await open('/');
  await page.getByRole('button', { name: 'Menu' }).click();
  await checkAccessible(page, 'the menu on a phone');
  await page.setViewportSize({ width: 1280, height: 800 });
});

test('the login page is accessible', async () => {
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  await checkAccessible(page, 'login');
});

test('no dialog, no console error, no violation of the policy in all of this', () => panel.checkComplaints());
