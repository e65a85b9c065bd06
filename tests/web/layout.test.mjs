// What people see is where they can see it: nothing is cut off, whatever the width, and messages cover no card.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf } from '../api/lib/http.mjs';
import { openAt, openHostileStore, pagesOf } from './lib/hostile.mjs';
import { expectToast } from './lib/panel.mjs';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
let panel, page, ids;
before(async () => {
  ({ panel, page, ids } = await openHostileStore());
  const name = 'A variant with quite a long name';
  await panel.admin('POST', `/products/${ids.product}/variants`, { name, price: 1234567.89, is_default: true }, 201);
  const picture = { token: panel.ownerToken, body: PNG, type: 'application/octet-stream' };
  dataOf(await panel.souk.request('POST', `/api/admin/products/${ids.product}/images?alt=A+dot`, picture), 201);
});
after(() => panel?.stop());

/** Controls, tables and amounts that stick out of their card, of which a part is not to be seen. */
function cutOff() {
  const found = [];
  for (const card of document.querySelectorAll('.card, dialog')) {
    const { left, right } = card.getBoundingClientRect();
    for (const part of card.querySelectorAll('a, button, input, select, table, .badge, .number')) {
      const box = part.getBoundingClientRect();
      const isHidden = box.width <= 1;
      if (!isHidden && (box.right > right + 0.5 || box.left < left - 0.5)) found.push(part.outerHTML.slice(0, 120));
    }
  }
  return found;
}

const WIDTHS = [1280, 1100, 800, 640, 360];

// Each page is opened once and made narrower and narrower: the widths are the style sheet's business alone.
test(`nothing sticks out of its card at ${WIDTHS.join(', ')} px`, async () => {
  const found = [];
  for (const hash of pagesOf(ids)) {
    await page.setViewportSize({ width: WIDTHS[0], height: 800 });
    await openAt(panel, page, hash);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await page.waitForFunction((w) => innerWidth === w, width);
      // Two frames: charts are told of their new size between them.
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      found.push(...(await page.evaluate(cutOff)).map((part) => `${hash} at ${width} px: ${part}`));
    }
  }
  assert.deepEqual(found, []);
});

test('control: what sticks out is found', async () => {
  await page.setViewportSize({ width: 1280, height: 800 });
  await openAt(panel, page, '/gateways');
  await page.evaluate(() => document.querySelector('td.row-actions button').classList.add('stretched'));
  await page.evaluate(() => {
    document.querySelector('.stretched').style.minWidth = '2000px';
  });
  assert.equal((await page.evaluate(cutOff)).length > 0, true);
});

for (const width of [1280, 360]) {
  test(`a message covers no card at ${width} px, and can be dismissed`, async () => {
    await page.setViewportSize({ width, height: 800 });
    await openAt(panel, page, `/products/${ids.product}`);
    await page.getByRole('button', { name: 'Save changes' }).click();
    await expectToast(page, 'Saved.');
    await page.evaluate(() => scrollTo(0, 0));
    const covered = await page.evaluate(() => {
      const toast = document.querySelector('.toast').getBoundingClientRect();
      return [...document.querySelectorAll('.card')].filter((card) => {
        const box = card.getBoundingClientRect();
        return box.top < toast.bottom && toast.top < box.bottom && box.left < toast.right && toast.left < box.right;
      }).length;
    });
    assert.equal(covered, 0);
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.locator('.toast').waitFor({ state: 'detached' });
  });
}

test('no dialog, no console error, no violation of the policy in all of this', () => panel.checkComplaints());
