// What needs a hand, as staff see it in the panel: the outbox, reviews, the gateways' books, refunds that failed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LABELS, SECRET, play, signed, stripeEvent } from '../api/lib/gateways.mjs';
import { dataOf } from '../api/lib/http.mjs';
import { openMailServer } from '../api/lib/mail_shop.mjs';
import { openReceiver } from '../api/lib/receiver.mjs';
import { assertInvariants } from '../lib/checker.mjs';
import { checkAccessible, expectToast, openPanel } from './lib/panel.mjs';

let mail, panel, page, stripe, product;
let counter = 0;
before(async () => {
  mail = await openMailServer();
  panel = await openPanel({ args: [...mail.args, '--webhook-private-ok'], env: mail.env });
  await panel.makeOwner();
  stripe = await play('stripe');
  const gateway = { is_enabled: true, secrets: [SECRET], ...stripe.config };
  await panel.admin('PUT', `/gateways/${LABELS.stripe}`, gateway);
  product = panel.seed.product({ name: 'Editor', price: 4999 });
  page = await panel.newPage();
  await panel.logIn(page);
});
after(async () => {
  try {
    if (panel) assertInvariants(panel.souk.dbArg);
  } finally {
    await panel?.stop();
    await stripe?.stop();
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

  await page.getByRole('button', { name: `Delete: ${gone.what}` }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete this?' });
  await dialog.getByText(gone.what).waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await row(gone.what).waitFor();
  await page.getByRole('button', { name: `Delete: ${gone.what}` }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await expectToast(page, 'It was deleted.');
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
  await expectToast(page, 'The mail server accepted the message to postmaster@example.com.');
  assert.equal(mail.sink.mails.filter((m) => m.to === 'postmaster@example.com').length, 1);
});

test('the text of a mail is changed with a preview beside it, tried, and put back', async () => {
  await nav('Mail texts');
  await page.getByRole('heading', { level: 1, name: 'Mail texts' }).waitFor();
  await checkAccessible(page, 'mail texts');
  await page.getByRole('link', { name: 'Order', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Mail: Order' }).waitFor();
  const mailed = page.frameLocator('iframe[title="HTML part"]');
  await mailed.getByText('here is what you bought').waitFor();
  assert.equal(await page.locator('iframe').getAttribute('sandbox'), '');
  await checkAccessible(page, 'a mail text');

  await page.getByLabel('Subject').fill('Order {{nubmer}}');
  await page.getByRole('button', { name: 'Save text' }).click();
  await page.locator('.field-error').getByText('{{nubmer}}').waitFor();
  await page.getByLabel('Subject').fill('Order {{number}} <b>');
  await page.getByLabel('Body').fill('Thanks, **{{name}}**! <script>document.title = 1</script>\n\n{{items}}\n');
  await mailed.locator('strong', { hasText: 'Ada' }).waitFor();
  await mailed.getByText('<script>').waitFor();
  await page.getByLabel('Text part').getByText('Thanks, Ada!').waitFor();

  await page.getByRole('button', { name: 'Send it to me' }).click();
  await expectToast(page, 'The mail server took the message to');
  assert.ok(mail.sink.mails.some((m) => m.data.includes('Subject: Order 1042 <b>')));

  await page.getByRole('button', { name: 'Save text' }).click();
  await expectToast(page, 'The text was saved.');
  await page.getByText('Own text').waitFor();
  await page.getByRole('button', { name: 'Reset to default' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Reset the text' }).click();
  await expectToast(page, 'The text is as it came.');
  assert.equal(await page.getByLabel('Subject').inputValue(), 'Your order #{{number}}');

  await nav('Mail texts');
  await page.getByLabel('Low stock: codes left').fill('3');
  await page.getByLabel('A mail for every new order').check();
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expectToast(page, 'The settings were saved.');
  const settings = await panel.admin('GET', '/settings');
  assert.deepEqual([settings.low_stock, settings.mail_new_order, settings.staff_mail], [3, true, '']);
});

/** An order for which this much (in cents) came through Stripe. */
async function paid(amount) {
  mail.sink.refuse = 0;
  const buyer = await panel.buyer({ balance: 0 });
  const as = async (target, body, status) =>
    dataOf(await panel.souk.post(`/api/store/cart/${target}`, body, { token: buyer.token }), status);
  await as('add', { product_id: product.id, quantity: 1 });
  const { order_id: id } = await as('checkout', { pay_with: LABELS.stripe }, 201);
  counter += 1;
  const intent = stripe.charge(`pi_desk_${counter}`, amount);
  const body = JSON.stringify(stripeEvent('payment_intent.succeeded', { order: id, amount, intent }));
  const headers = signed('stripe', body);
  dataOf(await panel.souk.request('POST', `/webhook/${LABELS.stripe}`, { body, type: 'application/json', headers }));
  return { buyer, id };
}

const reviewOf = async (order) => (await panel.admin('GET', '/reviews?limit=100')).find((r) => r.order_id === order.id);

test('a review shows what happened; what is done about it is done once', async () => {
  const order = await paid(4000);
  const review = await reviewOf(order);
  await nav('Reviews');
  await page.getByRole('heading', { level: 1, name: 'Reviews' }).waitFor();
  await page.getByLabel('Status').selectOption('open');
  await page.getByLabel('Kind').selectOption('late');
  await page.getByText('No review matches').waitFor();
  await page.getByLabel('Kind').selectOption('amount');
  await row(order.buyer.email).getByText('40.00 USD').waitFor();
  await row(order.buyer.email).getByRole('link', { name: 'Amount' }).click();
  await page.getByRole('heading', { level: 1, name: `Review #${review.id}` }).waitFor();
  await page.getByText(review.reason).waitFor();
  for (const name of ['Confirm', 'Refund', 'Credit', 'Cancel', 'Settle']) {
    await page.getByRole('button', { name, exact: true }).waitFor();
  }
  await page.getByRole('link', { name: order.buyer.email }).waitFor();
  await page.getByRole('button', { name: 'Credit', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: `Credit: review #${review.id}` });
  await dialog.getByLabel('Note').fill('Agreed by phone');
  await dialog.getByRole('button', { name: 'Credit' }).click();
  await expectToast(page, 'The review is settled.');
  await page.getByText('Agreed by phone').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Credit', exact: true }).count(), 0);
  assert.equal((await panel.wallet(order.buyer)).balance, 40);
});

test('a review that a colleague settled meanwhile says so', async () => {
  const order = await paid(4000);
  const review = await reviewOf(order);
  await panel.visit(page, `/reviews/${review.id}`, `Review #${review.id}`);
  await page.getByRole('button', { name: 'Confirm', exact: true }).click();
  await panel.admin('POST', `/reviews/${review.id}/resolve`, { action: 'credit' });
  const dialog = page.getByRole('dialog', { name: `Confirm: review #${review.id}` });
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  await dialog.getByRole('alert').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('region', { name: 'Outcome' }).getByText('Credit').waitFor();
  assert.equal((await panel.admin('GET', `/orders/${order.id}`)).status, 'pending');
  await page
    .getByRole('link', { name: `#${order.id}`, exact: true })
    .first()
    .click();
  await page.getByRole('heading', { level: 1, name: `Order #${order.id}` }).waitFor();
});

test("the gateways' books are compared on demand, and say whether they agree", async () => {
  await panel.visit(page, '/reviews', 'Reviews');
  const books = page.getByRole('region', { name: 'Reconciliation' });
  await books.getByRole('button', { name: `Compare ${LABELS.stripe} now` }).click();
  await expectToast(page, 'The books are being fetched.');
  await reloadUntil(books.getByText(/^Agrees$|difference/));
  const [told] = await panel.admin('GET', '/reconciliations');
  await books.getByText(told.agrees ? 'Agrees' : `${told.differences} difference`).waitFor();
});

async function refundBecomes(order, id, wanted) {
  const status = async () => (await panel.admin('GET', `/orders/${order.id}`)).refunds.find((r) => r.id === id).status;
  for (let i = 0; i < 200 && (await status()) !== wanted; i += 1) await page.waitForTimeout(100);
  assert.equal(await status(), wanted);
}

/** Asks for a refund that Stripe refuses; gives its number. */
async function failedRefund(order, amount) {
  stripe.fail({ status: 400, match: /refunds/ });
  const { refunds } = await panel.admin('POST', `/orders/${order.id}/refund`, { amount });
  const { id } = refunds.at(-1);
  await refundBecomes(order, id, 'failed');
  return id;
}

test('an order shows its payments and refunds; a refund that failed is tried again or settled', async () => {
  const order = await paid(4999);
  const again = await failedRefund(order, 10);
  const open = () => panel.visit(page, `/orders/${order.id}`, `Order #${order.id}`);
  await open();
  await page.getByRole('table', { name: 'Payments' }).getByText('Succeeded').waitFor();
  const refunds = page.getByRole('table', { name: 'Refunds' });
  const line = (id) => refunds.getByRole('row', { name: `#${id}` });
  await line(again).getByText('Failed').waitFor();
  await page.getByRole('button', { name: `Try refund #${again} again` }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Try again' }).click();
  await expectToast(page, 'The gateway is asked again.');
  await line(again).getByText('Failed').waitFor({ state: 'detached' });
  await refundBecomes(order, again, 'done');

  const settled = await failedRefund(order, 5);
  await page.reload();
  await line(settled).waitFor();
  await checkAccessible(page, 'an order with refunds');
  await page.getByRole('button', { name: `Settle refund #${settled}` }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Settle' }).click();
  await dialog.locator('.field-error').waitFor();
  await dialog.getByLabel('Note').fill('Bank transfer');
  await dialog.getByRole('button', { name: 'Settle' }).click();
  await expectToast(page, 'The refund is settled.');
  await line(settled).getByText('Bank transfer').waitFor();
  await line(settled).getByText('Done').waitFor();
});

test('the browser had nothing to complain about', () => panel.checkComplaints());

test('an endpoint is added, tested, seen failing, and sent to again', async () => {
  const receiver = await openReceiver();
  try {
    receiver.behave('/erp', (n) => (n === 0 ? 500 : 200));
    await nav('Webhooks');
    await page.getByRole('button', { name: 'Add endpoint' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New endpoint' });
    await dialog.getByLabel('Address').fill(receiver.url('/erp'));
    await dialog.getByLabel('Description').fill('The ERP');
    await dialog.getByRole('button', { name: 'Add endpoint' }).click();
    const shown = page.getByRole('dialog', { name: 'The signing secret' });
    const secret = await shown.getByLabel('Signing secret').textContent();
    assert.match(secret, /^whsec_/);
    await shown.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('heading', { level: 1, name: 'The ERP' }).waitFor();
    await checkAccessible(page, 'endpoint');
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('heading', { level: 1, name: 'ping' }).waitFor();
    await reloadUntil(page.getByText('status 500'));
    panel.seed.sql(
      "UPDATE webhook_delivery SET due_at = 1 WHERE status = 'pending'; UPDATE webhook_endpoint SET paused_until = 0;",
    );
    await reloadUntil(page.getByText('Delivered', { exact: true }));
    await page.getByText('thanks').waitFor();
    await checkAccessible(page, 'delivery');
    await page.getByRole('button', { name: 'Send again' }).click();
    await expectToast(page, 'It is sent again now.');
    for (let i = 0; i < 200 && receiver.got('/erp').length < 3; i += 1) await page.waitForTimeout(50);
    const calls = receiver.got('/erp').filter((c) => c.type === 'ping');
    assert.deepEqual(new Set(calls.map((c) => c.id)).size, 1);
    for (const call of calls) receiver.verify(secret, call);
  } finally {
    await receiver.stop();
  }
});
