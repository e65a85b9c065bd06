// Controls for the browser tests: what they must notice is done on purpose.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { checkAccessible, openPanel } from './lib/panel.mjs';

let panel, page;
before(async () => {
  panel = await openPanel();
  page = await panel.newPage();
  await page.goto(`${panel.souk.url}/admin/`);
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
});
after(() => panel?.stop());

/** What was noticed of this, and nothing of anything else. */
async function noticed(pattern, act) {
  panel.checkComplaints();
  await act();
  const deadline = Date.now() + 60000;
  while (!panel.complaints.some((c) => pattern.test(c)) && Date.now() < deadline) await page.waitForTimeout(20);
  const found = panel.complaints.splice(0);
  assert.ok(
    found.some((c) => pattern.test(c)),
    `not noticed: ${pattern}; but: ${found.join('\n')}`,
  );
}

test('a dialog', () => noticed(/^dialog: hello/, () => page.evaluate(() => alert('hello'))));

test('a console error', () => noticed(/^console: broken/, () => page.evaluate(() => console.error('broken'))));

test('an uncaught exception', () =>
  noticed(/^error: .*thrown on purpose/s, () =>
    page.evaluate(() => {
      setTimeout(() => {
        throw new Error('thrown on purpose');
      });
    }),
  ));

test('an inline style, refused by the policy', () =>
  noticed(/style-src/, () =>
    page.evaluate(() => {
      const style = document.createElement('style');
      style.textContent = 'body { color: red }';
      document.head.append(style);
    }),
  ));

test('text made markup, refused by Trusted Types', () =>
  noticed(/require-trusted-types-for/, async () => {
    const refused = await page.evaluate(() => {
      try {
        document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)>');
        return false;
      } catch (e) {
        return e instanceof TypeError;
      }
    });
    assert.ok(refused);
  }));

test('a call to elsewhere and a picture from there, refused by the policy', async () => {
  await noticed(/connect-src/, () => page.evaluate(() => fetch('http://127.0.0.1:9/').catch(() => {})));
  await noticed(/img-src/, () =>
    page.evaluate(() => {
      new Image().src = 'http://127.0.0.1:9/x.png';
    }),
  );
});

test('what is not accessible', async () => {
  await page.evaluate(() => document.querySelector('main').append(document.createElement('input')));
  await assert.rejects(checkAccessible(page, 'control'), /label/);
});
