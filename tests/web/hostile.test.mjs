// Every text that somebody else may choose is hostile: all of it is shown as text, none of it run.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openAt, openHostileStore, pagesOf } from './lib/hostile.mjs';
import { NAUGHTY } from './lib/naughty.mjs';

let panel, page, ids;
before(async () => {
  ({ panel, page, ids } = await openHostileStore());
});
after(() => panel?.stop());

const open = (hash) => openAt(panel, page, hash);

test('hostile texts are shown as text', async () => {
  await open('/products');
  const names = await page.locator('.row-link').evaluateAll((links) => links.map((a) => a.firstChild.textContent));
  assert.deepEqual(names.sort(), NAUGHTY.map((t) => t.trim()).sort(), 'every product by its name, letter by letter');
  await open(`/tickets/${ids.ticket}`);
  const body = await page.locator('.talk .preline').first().textContent();
  assert.equal(body, `${NAUGHTY[0]}\n${NAUGHTY.join('\n')}`);
  await open('/tickets');
  while (await page.getByRole('button', { name: 'Load more' }).count()) {
    const before = await page.locator('.row-link').count();
    await page.getByRole('button', { name: 'Load more' }).click();
    await page.waitForFunction((n) => document.querySelectorAll('.row-link').length > n, before);
    await panel.settled(page);
  }
  const subjects = await page.locator('.row-link').evaluateAll((links) => links.map((a) => a.firstChild.textContent));
  assert.deepEqual(subjects.sort(), NAUGHTY.map((t) => t.trim()).sort());
  assert.equal(
    await page.locator('main script, main iframe, main object, main embed, main style, main base, main math').count(),
    0,
  );
});

test('no page is wider than a phone of 360 px', async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  for (const hash of pagesOf(ids)) {
    await open(hash);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 360, `${hash} is ${width} px wide`);
  }
  await open('/');
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'Tickets', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Tickets' }).waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
});

test('no dialog, no console error, no violation of the policy in all of this', () => panel.checkComplaints());
