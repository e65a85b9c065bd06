// The daily work, each job as a person does it, and what customers and programs see of it afterwards.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { dataOf, expectError } from '../api/lib/http.mjs';
import { OWNER, expectToast, openPanel } from './lib/panel.mjs';

let panel, page, product, ada;
before(async () => {
  panel = await openPanel();
  await panel.makeOwner();
  product = await panel.admin(
    'POST',
    '/products',
    { name: 'Night Editor', price: 20, delivery_type: 'license_key', is_active: true },
    201,
  );
  await panel.admin('POST', '/departments', { name: 'Help' }, 201);
  await panel.admin('POST', '/departments', { name: 'Billing' }, 201);
  ada = await panel.souk.customer('Ada Lovelace');
  page = await panel.newPage();
  await panel.logIn(page);
});
after(async () => {
  if (!panel) return;
  try {
    assertInvariants(panel.souk.dbArg);
  } finally {
    await panel.stop();
  }
});

const api = async (method, target, body, status) =>
  dataOf(await panel.souk.request(method, target, { token: ada.token, body }), status);
const nav = (name) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();

test('a coupon is made and works', async () => {
  await nav('Coupons');
  await page.getByRole('button', { name: 'Make coupon' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New coupon' });
  await dialog.getByLabel('Code').fill('bad code');
  await dialog.getByLabel('Per cent off').fill('25');
  await dialog.getByRole('button', { name: 'Make coupon' }).click();
  await dialog.locator('.field-error').waitFor();
  assert.equal(await dialog.getByLabel('Code').getAttribute('aria-invalid'), 'true');
  await dialog.getByLabel('Code').fill('Autumn-25');
  await dialog.getByLabel('Night Editor').check();
  await dialog.getByRole('button', { name: 'Make coupon' }).click();
  await expectToast(page, 'AUTUMN-25 was saved.');
  await page.getByRole('row', { name: 'AUTUMN-25' }).getByText('25 %').waitFor();

  const change = async (ends) => {
    await page.getByRole('button', { name: 'Edit AUTUMN-25' }).click();
    const edit = page.getByRole('dialog', { name: 'Coupon AUTUMN-25' });
    await edit.getByLabel('Ends').fill(ends);
    await edit.getByRole('button', { name: 'Save coupon' }).click();
    await edit.waitFor({ state: 'detached' });
    await panel.settled(page);
  };
  await change('2020-01-01T00:00');
  await page.getByRole('row', { name: 'AUTUMN-25' }).getByText('Expired').waitFor();
  await change('');
  await page.getByRole('row', { name: 'AUTUMN-25' }).getByText('Never').waitFor();
  const [coupon] = await panel.admin('GET', '/coupons');
  assert.deepEqual(
    [coupon.expires_at, coupon.value, coupon.product_ids, coupon.max_uses_per_customer],
    [null, 25, [product.id], 1],
  );
  await api('POST', '/api/store/cart/add', { product_id: product.id, quantity: 2 });
  assert.equal((await api('POST', '/api/store/cart/coupon', { code: 'autumn-25' })).discount, 10);
});

test('a wallet is credited once, and debited not below zero', async () => {
  await nav('Customers');
  await page.getByLabel('Search name or e-mail').fill('lovelace');
  await page.getByRole('link', { name: 'Ada Lovelace' }).click();
  await page.getByRole('button', { name: 'Credit or debit' }).click();
  const dialog = page.getByRole('dialog', { name: 'Credit or debit the wallet' });
  await dialog.getByLabel('Amount in USD').fill('150.50');
  await dialog.getByRole('button', { name: 'Book' }).click();
  await dialog.locator('.field-error').waitFor();
  await dialog.getByLabel('Description').fill('Welcome gift');
  await dialog.getByRole('button', { name: 'Book' }).click();
  await expectToast(page, 'The balance is US$150.50 now.');
  await page.getByRole('row', { name: 'Welcome gift' }).waitFor();
  assert.equal((await api('GET', '/api/customer/wallet')).balance, 150.5);

  await page.getByRole('button', { name: 'Credit or debit' }).click();
  await dialog.getByLabel('Direction').selectOption('debit');
  await dialog.getByLabel('Amount in USD').fill('1000');
  await dialog.getByLabel('Description').fill('Too much');
  await dialog.getByRole('button', { name: 'Book' }).click();
  await dialog.locator('.field-error').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal((await api('GET', '/api/customer/wallet')).balance, 150.5);
});

test('one withdrawal is approved, one rejected with a reason; the customer is told', async () => {
  await api('POST', '/api/customer/wallet/withdraw', { amount: 30 });
  await api('POST', '/api/customer/wallet/withdraw', { amount: 12.5 });
  await nav('Dashboard');
  await page.getByRole('link', { name: 'Open withdrawals' }).getByText('2', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Open withdrawals' }).click();
  await page.getByRole('button', { name: 'Approve US$30.00' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
  await expectToast(page, 'The withdrawal was approved.');
  await page.getByRole('button', { name: 'Reject US$12.50' }).click();
  const dialog = page.getByRole('dialog', { name: 'Reject US$12.50?' });
  await dialog.getByLabel('Reason').fill('The account number is wrong');
  await dialog.getByRole('button', { name: 'Reject' }).click();
  await expectToast(page, 'the money is back in the wallet');
  await page.getByText('The account number is wrong').waitFor();

  const told = (await api('GET', '/api/customer/notifications')).map((n) => n.kind);
  assert.deepEqual(told.sort(), ['withdrawal_approved', 'withdrawal_rejected']);
  assert.equal((await api('GET', '/api/customer/wallet')).balance, 120.5);
});

test('a licence is revoked, reinstated, cleared of its hardware and extended', async () => {
  const { delivery } = await api('POST', '/api/v1/order/create', { product_id: product.id });
  const verify = (hardware) =>
    panel.souk.post(
      '/api/v1/license/verify',
      { license_key: delivery.value, product_id: product.id, hardware_id: hardware },
      { token: ada.token },
    );
  dataOf(await verify('machine-1'));

  await nav('Licences');
  await page.getByLabel('Search whole key or e-mail').fill(delivery.value);
  await page.getByRole('link', { name: delivery.value.slice(-4) }).click();
  await page.getByRole('button', { name: 'Reveal key' }).click();
  assert.equal(await page.getByLabel('Key', { exact: true }).textContent(), delivery.value);
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('Shared in a forum');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke licence' }).click();
  await expectToast(page, 'The licence was revoked.');
  expectError(await verify('machine-1'), 403, 'license_revoked', 'License is revoked');

  await page.getByRole('button', { name: 'Reinstate' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Reinstate' }).click();
  await expectToast(page, 'The licence works again.');
  dataOf(await verify('machine-1'));
  assert.equal((await verify('machine-2')).status, 403);

  await page.getByRole('button', { name: 'Clear hardware' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Clear hardware' }).click();
  await expectToast(page, 'The hardware was cleared.');
  dataOf(await verify('machine-2'));
  assert.equal((await verify('machine-1')).status, 403, 'it is bound to the new machine now');

  await page.getByRole('button', { name: 'Change expiry' }).click();
  await page.getByRole('dialog').getByLabel('Expires').fill('2030-06-01T12:00');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expectToast(page, 'Saved.');
  assert.equal(dataOf(await verify('machine-2')).expires_at, '2030-06-01T10:00:00Z', 'typed in Berlin, kept in UTC');
});

test('a licence is issued without an order', async () => {
  await nav('Licences');
  await page.getByRole('button', { name: 'Issue licence' }).click();
  const dialog = page.getByRole('dialog', { name: 'Issue a licence' });
  await dialog.getByLabel('Customer’s e-mail address').fill('nobody@example.com');
  await dialog.getByRole('button', { name: 'Issue licence' }).click();
  await dialog.getByText('No customer has this e-mail address').waitFor();
  await dialog.getByLabel('Customer’s e-mail address').fill(ada.email);
  await dialog.getByRole('button', { name: 'Issue licence' }).click();
  await expectToast(page, 'The licence was issued.');
  await page.getByText('Issued by staff').waitFor();
});

test('a ticket is answered, moved and closed', async () => {
  const departments = dataOf(await panel.souk.get('/api/support/departments'));
  const help = departments.find((d) => d.name === 'Help');
  const ticket = await api('POST', '/api/customer/tickets', {
    department_id: help.id,
    subject: 'It does not start',
    message: 'Since today.\nWhat now?',
  });
  await nav('Tickets');
  await page.getByRole('link', { name: 'It does not start' }).click();
  await page.getByText('What now?').waitFor();
  await page.getByLabel('Your reply').fill('Please restart it.');
  await page.getByRole('button', { name: 'Send reply' }).click();
  await expectToast(page, 'Your reply was sent.');
  await page.getByRole('listitem').filter({ hasText: 'Please restart it.' }).waitFor();
  assert.equal(await page.getByLabel('Your reply').inputValue(), '', 'ready for the next one');
  const seen = await api('GET', `/api/customer/tickets/${ticket.id}`);
  assert.deepEqual(
    [seen.status, seen.messages.at(-1).author, seen.messages.at(-1).body],
    ['answered', 'staff', 'Please restart it.'],
  );

  await page.getByLabel('Department').selectOption('Billing');
  await page.getByRole('button', { name: 'Save' }).click();
  await expectToast(page, 'Saved.');
  await page.getByRole('button', { name: 'Close ticket' }).click();
  await expectToast(page, 'The ticket is closed.');
  const closed = await api('GET', `/api/customer/tickets/${ticket.id}`);
  assert.deepEqual([closed.status, closed.department], ['closed', 'Billing']);
});

test('a licence moves to a new computer out of its ticket, and the wallet is credited there', async () => {
  const { delivery } = await api('POST', '/api/v1/order/create', { product_id: product.id });
  const verify = (hardware) =>
    panel.souk.post(
      '/api/v1/license/verify',
      { license_key: delivery.value, product_id: product.id, hardware_id: hardware },
      { token: ada.token },
    );
  dataOf(await verify('old machine'));
  const license = (await api('GET', '/api/customer/licenses')).find((l) => l.license_key === delivery.value);
  const [department] = dataOf(await panel.souk.get('/api/support/departments'));
  const ticket = await api('POST', '/api/customer/tickets', {
    department_id: department.id,
    subject: 'My new computer',
    message: 'Please free my licence.',
    license_id: license.id,
  });
  await nav('Tickets');
  await page.getByRole('link', { name: 'My new computer' }).click();
  const help = page.getByRole('region', { name: 'Help' });
  await help.getByText('Bound to old machine').waitFor();
  await help.getByRole('button', { name: 'Clear hardware' }).click();
  const dialog = page.getByRole('dialog', { name: 'Clear the hardware' });
  await dialog.getByLabel('A note to the customer').fill('Have fun!');
  await dialog.getByRole('button', { name: 'Clear hardware' }).click();
  await expectToast(page, 'The licence is free.');
  await page.getByRole('listitem').filter({ hasText: 'Have fun!' }).waitFor();
  await help.getByText('Not bound').waitFor();
  assert.equal(await help.getByRole('button', { name: 'Clear hardware' }).count(), 0);
  dataOf(await verify('new machine'));

  const { balance } = await api('GET', '/api/customer/wallet');
  await help.getByRole('button', { name: 'Credit wallet' }).click();
  const credit = page.getByRole('dialog', { name: 'Credit the wallet' });
  await credit.getByLabel('Amount in USD').fill('1.50');
  await credit.getByRole('button', { name: 'Credit wallet' }).click();
  await expectToast(page, 'The wallet was credited.');
  assert.equal((await api('GET', '/api/customer/wallet')).balance, balance + 1.5);
  assert.equal((await api('GET', `/api/customer/tickets/${ticket.id}`)).messages.length, 3);
});

test('an order is refunded in part, then in full', async () => {
  const { order_id } = await api('POST', '/api/v1/order/create', { product_id: product.id, quantity: 2 });
  const before = (await api('GET', '/api/customer/wallet')).balance;
  await nav('Orders');
  await page.getByLabel('Search number or e-mail').fill(String(order_id));
  await page.getByRole('link', { name: `#${order_id}` }).click();
  await page.getByLabel('Note').fill('Wants it back.');
  await page.getByRole('button', { name: 'Add note' }).click();
  await expectToast(page, 'The note was added.');
  await page.getByRole('listitem').filter({ hasText: 'Wants it back.' }).getByText(OWNER.email).waitFor();
  await page.getByRole('button', { name: 'Refund' }).click();
  const dialog = page.getByRole('dialog', { name: `Refund order #${order_id}` });
  await dialog.getByLabel('Amount in USD').fill('15');
  await dialog.getByRole('button', { name: 'Refund' }).click();
  await expectToast(page, 'The money was given back.');
  assert.equal((await api('GET', '/api/customer/wallet')).balance, before + 15);
  const delivery = page.getByRole('table', { name: 'Deliveries' }).getByRole('row', { name: 'Licence key' }).first();
  await delivery.getByText('Delivered', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Refund' }).click();
  await dialog.getByRole('button', { name: 'Refund' }).click();
  await expectToast(page, 'The order was refunded.');
  await delivery.getByText('Revoked', { exact: true }).waitFor();
  const order = await api('GET', `/api/customer/orders/${order_id}`);
  assert.deepEqual([order.status, order.refunded_amount], ['refunded', 40]);
  assert.equal((await api('GET', '/api/customer/wallet')).balance, before + 40);
  const timeline = page.getByRole('region', { name: 'Timeline' }).getByRole('listitem');
  assert.deepEqual(
    (await timeline.getByRole('strong').allTextContents()).map((t) => t.trim()),
    [
      'Placed US$40.00',
      'Paid and delivered',
      'Note',
      'Refund requested US$15.00',
      'Refunded US$15.00',
      'Refund requested US$25.00',
      'Refunded US$25.00',
    ],
  );
  await timeline.nth(3).getByText('by owner@example.com').waitFor();
});

test('a gateway is connected; its event is tried again, an order confirmed, another cancelled', async () => {
  await nav('Gateways');
  await page.getByRole('button', { name: 'Set up card_gateway_a' }).click();
  const dialog = page.getByRole('dialog', { name: 'Gateway card_gateway_a' });
  const needed = dialog.getByText('Signing secret of the webhook');
  assert.equal(await needed.textContent(), 'Signing secret of the webhook', 'it is not called optional');
  await dialog.getByLabel('Switched on').check();
  await dialog.getByRole('button', { name: 'Save gateway' }).click();
  await dialog.locator('.field-error').waitFor();
  await dialog.getByLabel('Signing secret of the webhook').fill('whsec_of_the_test');
  await dialog.getByRole('button', { name: 'Save gateway' }).click();
  await expectToast(page, 'card_gateway_a is on.');

  await panel.stripeTells('whsec_of_the_test', { id: 'evt_1', order: 999999, amount: 2000 });
  await page.getByRole('link', { name: 'Events' }).click();
  await page.getByRole('row', { name: 'payment_intent.succeeded' }).getByText('Unmatched').waitFor();
  await page.getByRole('link', { name: 'payment_intent.succeeded' }).click();
  await page.getByText('"id": "evt_1"').waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Try again' }).click();
  await expectToast(page, 'The event is unmatched now.');

  const waiting = async () => {
    await api('DELETE', '/api/store/cart');
    await api('POST', '/api/store/cart/add', { product_id: product.id, quantity: 1 });
    return (await api('POST', '/api/store/cart/checkout', { pay_with: 'card_gateway_a' }, 201)).order_id;
  };
  const paid = await waiting();
  await panel.visit(page, `/orders/${paid}`, `Order #${paid}`);
  await page.getByRole('button', { name: 'Confirm payment' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Payment received' }).click();
  await expectToast(page, 'The order is confirmed and delivered.');
  assert.equal((await api('GET', `/api/customer/orders/${paid}`)).items[0].deliveries.length, 1);
  const unpaid = await waiting();
  await panel.visit(page, `/orders/${unpaid}`, `Order #${unpaid}`);
  await page.getByRole('button', { name: 'Cancel order' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel order' }).click();
  await expectToast(page, 'The order is cancelled; nothing had been paid.');
  assert.equal((await api('GET', `/api/customer/orders/${unpaid}`)).status, 'cancelled');
});

test('a customer gets a token, a credit limit, and is switched off', async () => {
  await panel.visit(page, `/customers/${ada.id}`, 'Ada Lovelace');
  await page.getByRole('button', { name: 'Make token' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('shop server');
  await dialog.getByLabel('Wallet, orders, tickets').uncheck();
  await dialog.getByLabel('Cart').uncheck();
  await dialog.getByRole('button', { name: 'Make token' }).click();
  const token = await dialog.getByLabel('Token', { exact: true }).textContent();
  dataOf(await panel.souk.get('/api/v1/products', { token }));
  expectError(await panel.souk.get('/api/customer/wallet', { token }), 403, 'insufficient_scope');
  await dialog.getByRole('button', { name: 'Done' }).click();

  await page.getByLabel('Credit limit in USD').fill('75');
  await page.getByRole('button', { name: 'Save' }).click();
  await expectToast(page, 'Saved.');
  assert.equal((await api('GET', '/api/customer/wallet')).credit_limit, 75);
  await panel.admin('PATCH', '/settings', { second_person_above: 80 });
  await page.getByLabel('Credit limit in USD').fill('81');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Somebody else has to approve this credit limit').waitFor();
  await panel.admin('PATCH', '/settings', { second_person_above: 0 });
  assert.equal((await api('GET', '/api/customer/wallet')).credit_limit, 75);

  await page.getByRole('button', { name: 'Switch off' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Switch off' }).click();
  await expectToast(page, 'The account is switched off.');
  assert.equal((await panel.souk.get('/api/customer/wallet', { token: ada.token })).status, 401);
});

test('an amount that no floating-point number holds is shown and saved digit by digit', async () => {
  const { id } = await panel.admin('POST', '/customers', { email: 'big@example.com' }, 201);
  await panel.visit(page, `/customers/${id}`, 'big@example.com');
  await page.getByLabel('Credit limit in USD').fill('90071992547409.93');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expectToast(page, 'Saved.');
  await page.reload();
  await page.getByText('US$90,071,992,547,409.93').waitFor();
  assert.equal(await page.getByLabel('Credit limit in USD').inputValue(), '90071992547409.93');
  await panel.visit(page, '/customers', 'Customers');
});

test('settings are saved, departments made, exports downloaded, and all of it is in the audit', async () => {
  await nav('Settings');
  await page.getByLabel('Name of the store').fill('Night Shop');
  await page.getByLabel('Currency').fill('EUR');
  await page.getByRole('button', { name: 'Save settings' }).click();
  await page.getByText('the currency can no longer be changed').waitFor();
  await page.getByLabel('Currency').fill('USD');
  await page.getByRole('button', { name: 'Save settings' }).click();
  await expectToast(page, 'The settings were saved.');
  assert.equal((await panel.admin('GET', '/settings')).store_name, 'Night Shop');

  await nav('Departments');
  await page.getByRole('button', { name: 'Add department' }).first().click();
  await page.getByRole('dialog').getByLabel('Name').fill('Help');
  await page.getByRole('dialog').getByRole('button', { name: 'Add department' }).click();
  await page.getByRole('dialog').getByRole('alert').waitFor();
  await page.getByRole('dialog').getByLabel('Name').fill('Sales');
  await page.getByRole('dialog').getByRole('button', { name: 'Add department' }).click();
  await page.getByRole('row', { name: 'Sales' }).waitFor();

  await nav('Orders');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'orders.csv');

  await nav('Audit');
  await page.getByLabel('About').selectOption('settings');
  await page.getByText('settings: update').first().waitFor();
  await panel.settled(page);
  await page.getByText('Before and after').first().click();
  await page.getByText('store_name: Night Shop').waitFor();
});

test('the audit is searched by people and things, not by their numbers', async () => {
  await panel.admin(
    'POST',
    '/staff',
    { email: 'sam@example.com', name: 'Sam', role: 'staff', password: 'long enough!' },
    201,
  );
  await nav('Dashboard');
  // Or the page of the last test would stay as it is.
  await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
  const changes = page.getByRole('list', { name: 'Changes' }).getByRole('listitem');
  await panel.visit(page, '/audit', 'Audit');
  await page.getByLabel('By').selectOption('Sam, sam@example.com');
  await page.getByText('Nothing matches').waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.getByLabel('By').selectOption('Olivia Owner, owner@example.com');
  await changes.first().waitFor();
  await page.getByLabel('Search objects or people').fill('night edi');
  await page.waitForURL(/q=night/);
  await changes.filter({ hasNotText: 'Night Editor' }).first().waitFor({ state: 'detached' });
  await changes.first().waitFor();
  await page.getByLabel('Search objects or people').fill('no such thing');
  await page.getByText('Nothing matches').waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();

  await panel.visit(page, `/products/${product.id}`, 'Night Editor');
  await page.getByRole('link', { name: 'History' }).click();
  await page.getByText('Every change of Night Editor, newest first.').waitFor();
  await panel.settled(page);
  assert.deepEqual(
    [...new Set(await changes.locator('strong').allTextContents())].filter((what) => !what.startsWith('Product: ')),
    [],
  );
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.getByRole('link', { name: 'Its other changes' }).first().click();
  await page.getByText(/^Every change of .+, newest first\.$/).waitFor();
});

test('a sensitive step long after the login asks for the password, and then goes on', async () => {
  const settings = () => panel.admin('GET', '/settings');
  const stale = `UPDATE token SET confirmed_at = ${Date.now() - 601e3};`;
  await nav('Settings');
  await page.getByLabel('Name of the store').fill('Old Login Shop');
  execFileSync('sqlite3', [panel.souk.dbArg, stale]);
  await page.getByRole('button', { name: 'Save settings' }).click();
  const dialog = page.getByRole('dialog', { name: 'Is it you?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Confirm this with your password first').waitFor();
  assert.notEqual((await settings()).store_name, 'Old Login Shop');

  await page.getByRole('button', { name: 'Save settings' }).click();
  await dialog.getByLabel('Password').fill('not the password');
  await dialog.getByRole('button', { name: 'Go on' }).click();
  await dialog.getByText('The password or the code is not right').waitFor();
  await dialog.getByLabel('Password').fill(OWNER.password);
  await dialog.getByRole('button', { name: 'Go on' }).click();
  await expectToast(page, 'The settings were saved.');
  await dialog.waitFor({ state: 'detached' });
  assert.equal((await settings()).store_name, 'Old Login Shop');
});

test('staff are not among the customers', async () => {
  await nav('Customers');
  await page.getByRole('row', { name: 'Ada Lovelace' }).waitFor();
  await panel.settled(page);
  assert.equal(await page.getByRole('row', { name: /Olivia Owner|sam@example\.com/ }).count(), 0);
});

test('who may take out how much is said on the page of settings', async () => {
  await panel.visit(page, '/settings', 'Settings');
  await page.getByLabel('Withdrawals from').fill('5');
  await page.getByLabel('Withdrawals up to').fill('1,000.50');
  await page.getByRole('button', { name: 'Save limits' }).click();
  await page.getByText('Enter an amount such as 1000.50').waitFor();
  await page.getByLabel('Withdrawals up to').fill('90071992547409.93');
  await page.getByLabel('A second person decides above').fill('1000.50');
  await page.getByLabel('Only confirmed e-mail addresses spend money').check();
  await page.getByRole('button', { name: 'Save limits' }).click();
  await expectToast(page, 'The limits were saved.');
  const limits = ['withdraw_min', 'withdraw_max', 'second_person_above', 'require_verified_email'];
  const { text } = await panel.souk.get('/api/admin/settings', { token: panel.ownerToken });
  assert.deepEqual(
    limits.map((name) => new RegExp(`"${name}":([^,]+)`).exec(text)[1]),
    ['5.00', '90071992547409.93', '1000.50', 'true'],
  );
});

test('the browser had nothing to complain about', () => panel.checkComplaints());
