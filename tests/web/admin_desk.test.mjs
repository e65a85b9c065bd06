// What needs a hand, as staff see it in the panel: the outbox.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf } from '../api/lib/http.mjs';
import { openMailServer } from '../api/lib/mail_shop.mjs';
import { assertInvariants } from '../lib/checker.mjs';
import { expectToast, openPanel } from './lib/panel.mjs';

let mail, panel, page;
before(async () => {
  mail = await openMailServer();
  panel = await openPanel({ args: mail.args, env: mail.env });
  await panel.makeOwner();
  page = await panel.newPage();
  await panel.logIn(page);
});
after(async () => {
  try {
    if (panel) assertInvariants(panel.souk.dbArg);
  } finally {
    await panel?.stop();
    await mail?.stop();
  }
});

const nav = (name) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
const row = (name) => page.getByRole('row', { name });

/** Loads the page again until it shows this. */
async function reloadUntil(locator) {
  for (let i = 0; i < 100 && (await locator.count()) === 0; i += 1) {
    await page.getByRole('button', { name: 'Reload' }).first().click();
    await page.waitForTimeout(100);
    await panel.settled(page);
  }
  await locator.first().waitFor();
}

/** A customer whose mail about a decision the mail server refuses for good. */
async function refusedMail() {
  mail.sink.refuse = 550;
  const buyer = await panel.buyer({ balance: 10000 });
  const asked = await panel.souk.post('/api/customer/wallet/withdraw', { amount: 10 }, { token: buyer.token });
  const { withdrawal_id: id } = dataOf(asked);
  await panel.admin('POST', `/withdrawals/${id}/reject`, { reason: 'No.' });
  return { buyer, what: `${buyer.email}: Your withdrawal was rejected` };
}

test('the outbox says what failed and why; it goes out again, or away', async () => {
  const sent = await refusedMail();
  const gone = await refusedMail();
  await nav('Outbox');
  await page.getByRole('heading', { level: 1, name: 'Outbox' }).waitFor();
  await page.getByLabel('Status').selectOption('failed');
  await page.getByLabel('Kind').selectOption('mail');
  await reloadUntil(row(sent.what));
  await reloadUntil(row(gone.what));
  const item = (await panel.admin('GET', '/outbox?limit=100')).find((o) => o.what === sent.what);
  assert.ok(item.last_error.length > 0);
  await row(sent.what).getByText(item.last_error).waitFor();
  await page.getByLabel('Status').selectOption('');

  mail.sink.refuse = 0;
  await page.getByRole('button', { name: `Again: ${sent.what}` }).click();
  await expectToast(page, 'It is sent now.');
  for (let i = 0; i < 100 && !mail.sink.mails.some((m) => m.to === sent.buyer.email); i += 1) {
    await page.waitForTimeout(100);
  }
  assert.equal(mail.sink.mails.filter((m) => m.to === sent.buyer.email).length, 1);

  await page.getByRole('button', { name: `Away with it: ${gone.what}` }).click();
  const dialog = page.getByRole('dialog', { name: 'Away with it?' });
  await dialog.getByText(gone.what).waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await row(gone.what).waitFor();
  await page.getByRole('button', { name: `Away with it: ${gone.what}` }).click();
  await dialog.getByRole('button', { name: 'Away with it' }).click();
  await expectToast(page, 'It is gone.');
  await row(gone.what).waitFor({ state: 'detached' });
  const left = await panel.admin('GET', '/outbox?limit=100');
  assert.ok(!left.some((o) => o.what === gone.what));
});

test('a test mail is sent, and a refusal is shown as the mail server put it', async () => {
  await page.getByRole('button', { name: 'Send a test mail' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send a test mail' });
  await dialog.getByLabel('E-mail address').fill('nobody');
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  await dialog.locator('.field-error').waitFor();
  mail.sink.refuse = 550;
  await dialog.getByLabel('E-mail address').fill('postmaster@example.com');
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  const refusal = await panel.admin('POST', '/mail/test', { to: 'postmaster@example.com' });
  await dialog.getByRole('alert').getByText(refusal.error).waitFor();
  mail.sink.refuse = 0;
  await dialog.getByRole('button', { name: 'Send', exact: true }).click();
  await expectToast(page, 'The mail server took the message to postmaster@example.com.');
  assert.equal(mail.sink.mails.filter((m) => m.to === 'postmaster@example.com').length, 1);
});

test('the browser had nothing to complain about', () => panel.checkComplaints());
