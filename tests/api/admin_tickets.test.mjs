// Tickets as staff answer them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';

let office, staff;
before(async () => {
  office = await openOffice({ args: ['--file-max', '200000'] });
  ({ staff } = office);
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

test('tickets: answered, moved, closed; the customer sees the answer and is told', async () => {
  const sales = dataOf(await staff.post('/api/admin/departments', { name: 'Sales' }), 201);
  const tech = dataOf(await staff.post('/api/admin/departments', { name: 'Tech' }), 201);
  const customer = await office.customer();
  const ticket = dataOf(
    await customer.post('/api/customer/tickets', {
      department_id: sales.id,
      subject: 'Help',
      message: 'It does not start',
    }),
  );
  assert.ok(
    dataOf(await staff.get(`/api/admin/tickets?status=open&department_id=${sales.id}`)).some((t) => t.id === ticket.id),
  );
  const answered = dataOf(await staff.post(`/api/admin/tickets/${ticket.id}/replies`, { message: 'Try again' }), 201);
  assert.deepEqual(
    [answered.status, answered.messages.map((m) => [m.author, m.body])],
    [
      'answered',
      [
        ['customer', 'It does not start'],
        ['staff', 'Try again'],
      ],
    ],
  );
  assert.equal(dataOf(await customer.get(`/api/customer/tickets/${ticket.id}`)).messages.length, 2);
  assert.deepEqual(
    dataOf(await customer.get('/api/customer/notifications')).map((n) => n.kind),
    ['ticket_answered'],
  );
  const moved = dataOf(
    await staff.patch(`/api/admin/tickets/${ticket.id}`, { department_id: tech.id, status: 'closed' }),
  );
  assert.deepEqual([moved.department, moved.status], ['Tech', 'closed']);
  expectFields(await staff.patch(`/api/admin/tickets/${ticket.id}`, { department_id: 999999 }), {
    department_id: 'unknown_id',
  });
});

/** A customer with an order of the product, and a ticket about its licence. */
async function asked({ product, balance = 50, members = {} } = {}) {
  const department = dataOf(await staff.get('/api/admin/departments')).find((d) => d.is_active);
  const customer = await office.customer({ balance });
  const order = dataOf(await customer.post('/api/v1/order/create', { product_id: product.id }));
  const [license] = dataOf(await customer.get('/api/customer/licenses'));
  const about = license ? { license_id: license.id } : { order_id: order.order_id };
  const made = dataOf(
    await customer.post('/api/customer/tickets', {
      department_id: department.id,
      subject: 'New computer',
      message: 'Please',
      ...about,
      ...members,
    }),
  );
  const read = async () => dataOf(await staff.get(`/api/admin/tickets/${made.id}`));
  const act = (what, body = {}, options = {}) => staff.post(`/api/admin/tickets/${made.id}/${what}`, body, options);
  const verify = (key, hardware_id) =>
    customer.post('/api/v1/license/verify', { license_key: key, product_id: product.id, hardware_id });
  return { customer, order, license, key: order.delivery.value, id: made.id, read, act, verify };
}
const said = (ticket) => ticket.messages.filter((m) => m.author === 'staff').map((m) => m.body);

test('a ticket names the customer’s own order and licence, and nobody else’s', async () => {
  const product = await office.product();
  const mine = await asked({ product });
  const [theirs, department] = [
    await asked({ product }),
    dataOf(await staff.get('/api/admin/departments')).find((d) => d.is_active),
  ];
  const ticket = await mine.read();
  assert.deepEqual([ticket.license_id, ticket.order_id], [mine.license.id, mine.order.order_id]);
  const seen = dataOf(await mine.customer.get(`/api/customer/tickets/${mine.id}`));
  assert.deepEqual([seen.license_id, seen.order_id], [mine.license.id, mine.order.order_id]);
  const before = dataOf(await mine.customer.get('/api/customer/tickets')).length;
  expectFields(
    await mine.customer.post('/api/customer/tickets', {
      department_id: 999999,
      subject: 's',
      message: 'm',
      order_id: theirs.order.order_id,
      license_id: theirs.license.id,
    }),
    { department_id: 'unknown_id', order_id: 'unknown_id', license_id: 'unknown_id' },
  );
  assert.equal(dataOf(await mine.customer.get('/api/customer/tickets')).length, before);
  const plain = dataOf(
    await mine.customer.post('/api/customer/tickets', { department_id: department.id, subject: 's', message: 'm' }),
  );
  const path = `/api/admin/tickets/${plain.id}`;
  expectFields(await staff.patch(path, { license_id: theirs.license.id }), { license_id: 'unknown_id' });
  assert.equal(dataOf(await staff.patch(path, { license_id: mine.license.id })).order_id, mine.order.order_id);
  assert.equal(dataOf(await staff.patch(path, { license_id: null, order_id: null })).license_id, null);
  const about = dataOf(await staff.patch(path, { order_id: mine.order.order_id }));
  assert.deepEqual([about.order_id, about.license_id], [mine.order.order_id, null]);
  assert.equal(dataOf(await staff.patch(path, { order_id: null })).order_id, null);
  expectError(await staff.post(`${path}/replace-code`, { item_id: 1 }), 409, 'invalid_state');
  for (const what of ['clear-hardware', 'replace-code', 'refund'])
    expectError(await staff.post(`${path}/${what}`, {}), 409, 'invalid_state');
  expectError(await staff.post(`${path}/extend`, { expires_at: null }), 409, 'invalid_state');
  assert.deepEqual(said(dataOf(await staff.get(path))), []);
});

test('staff free a licence out of the ticket: once, with its word and its rows in the audit', async () => {
  const help = await asked({ product: await office.product({ name: 'Editor' }) });
  expectStatus(await help.verify(help.key, 'old'), 200);
  expectError(await help.verify(help.key, 'new'), 403, 'hardware_mismatch');
  const answers = await Promise.all(Array.from({ length: 6 }, () => help.act('clear-hardware', { message: 'Enjoy!' })));
  assert.deepEqual(answers.map((a) => a.status).sort(), [201, 409, 409, 409, 409, 409]);
  const ticket = await help.read();
  assert.deepEqual(said(ticket), [
    'Your licence for Editor is free again. It binds to the next computer on which you use it.\n\nEnjoy!',
  ]);
  assert.equal(ticket.status, 'answered');
  expectStatus(await help.verify(help.key, 'new'), 200);
  const rows = dataOf(await office.owner.get('/api/admin/audit?limit=20')).filter((r) =>
    [help.id, help.license.id].includes(r.resource_id),
  );
  assert.deepEqual(
    rows
      .map((r) => r.action)
      .filter((a) => a.endsWith('clear_hardware'))
      .sort(),
    ['license.clear_hardware', 'ticket.clear_hardware'],
  );
});

test('staff extend a licence and replace its key out of the ticket', async () => {
  const help = await asked({ product: await office.product({ name: 'Game', key_prefix: 'GAME' }) });
  const until = '2031-05-06T00:00:00Z';
  expectFields(await help.act('extend'), { expires_at: 'required' });
  expectStatus(await help.act('extend', { expires_at: until }), 201);
  expectError(await help.act('extend', { expires_at: until }), 409, 'invalid_state');
  assert.match(said(await help.read())[0], /^Your licence for Game is valid until .*2031.* now\.$/);
  assert.equal(dataOf(await help.customer.get('/api/customer/licenses'))[0].expires_at, until);
  expectStatus(await help.act('extend', { expires_at: null }), 201);
  assert.doesNotMatch(said(await help.read())[1], /2031/);
  assert.equal(dataOf(await help.customer.get('/api/customer/licenses'))[0].expires_at, null);

  expectStatus(await help.verify(help.key, 'old'), 200);
  const once = { headers: { 'Idempotency-Key': `replace-${help.id}` } };
  const [first, second] = [await help.act('replace-code', {}, once), await help.act('replace-code', {}, once)];
  expectStatus(first, 201);
  assert.equal(second.headers['idempotent-replayed'], 'true');
  const [license] = dataOf(await help.customer.get('/api/customer/licenses'));
  assert.notEqual(license.license_key, help.key);
  assert.match(license.license_key, /^GAME-/);
  assert.ok(!JSON.stringify(await help.read()).includes(license.license_key), 'the conversation does not hold the key');
  expectError(await help.verify(help.key), 404, 'not_found');
  expectStatus(await help.verify(license.license_key, 'new'), 200);
  const order = dataOf(await help.customer.get(`/api/customer/orders/${help.order.order_id}`));
  assert.equal(order.items[0].deliveries[0].value, license.license_key);
  assert.equal(said(await help.read()).length, 3);
});

test('of an order with several things each is replaced by itself, where that is possible', async () => {
  const customer = await office.customer({ balance: 100 });
  const codes = await office.product({ name: 'Codes', delivery_type: 'serial_code' });
  dataOf(await staff.post(`/api/admin/products/${codes.id}/serials`, { codes: ['MANY-1', 'MANY-2', 'MANY-3'] }));
  const link = await office.product({
    name: 'Link',
    delivery_type: 'download_url',
    download_url: 'https://a.example/f',
  });
  for (const product of [await office.product({ name: 'Key' }), codes, link])
    dataOf(await customer.post('/api/store/cart/add', { product_id: product.id, quantity: 1 }));
  const { order_id } = dataOf(await customer.post('/api/store/cart/checkout', { pay_with: 'wallet' }), 201);
  const department_id = dataOf(await staff.get('/api/admin/departments')).find((d) => d.is_active).id;
  const question = { department_id, subject: 's', message: 'm', order_id };
  const [license] = dataOf(await customer.get('/api/customer/licenses'));
  const ticket = dataOf(await customer.post('/api/customer/tickets', { ...question, license_id: license.id }));
  const { items } = dataOf(await staff.get(`/api/admin/orders/${order_id}`));
  const replace = (n) => staff.post(`/api/admin/tickets/${ticket.id}/replace-code`, { item_id: items[n].item_id });
  expectStatus(await replace(0), 201);
  expectStatus(await replace(1), 201);
  expectError(await replace(2), 409, 'invalid_state');
  dataOf(await office.owner.post(`/api/admin/orders/${order_id}/refund`, { reason: 'x' }));
  expectError(await replace(1), 409, 'invalid_state');
});

test('staff replace a serial code out of the ticket while the pool has one', async () => {
  const product = await office.product({ name: 'Card', delivery_type: 'serial_code' });
  dataOf(await staff.post(`/api/admin/products/${product.id}/serials`, { codes: ['CODE-AAAA-1', 'CODE-BBBB-2'] }));
  const help = await asked({ product });
  const [item] = dataOf(await staff.get(`/api/admin/orders/${help.order.order_id}`)).items;
  expectError(await help.act('replace-code'), 409, 'invalid_state');
  expectFields(await help.act('replace-code', { item_id: 999999 }), { item_id: 'unknown_id' });
  expectFields(await help.act('replace-code', { item_id: item.item_id, unit: 2 }), { unit: 'out_of_range' });
  expectStatus(await help.act('replace-code', { item_id: item.item_id }), 201);
  const value = async () =>
    dataOf(await help.customer.get(`/api/customer/orders/${help.order.order_id}`)).items[0].deliveries[0].value;
  assert.deepEqual([help.key, await value()].sort(), ['CODE-AAAA-1', 'CODE-BBBB-2']);
  expectError(await help.act('replace-code', { item_id: item.item_id }), 409, 'out_of_stock');
  assert.notEqual(await value(), help.key);
  assert.equal(said(await help.read()).length, 1);
});

test('staff give money back out of the ticket, or put it into the wallet', async () => {
  const help = await asked({ product: await office.product({ price: 10 }) });
  const balance = async () => dataOf(await help.customer.get('/api/customer/wallet')).balance;
  assert.equal(await balance(), 40);
  expectFields(await help.act('credit', { amount: 0 }), { amount: 'not_positive' });
  const once = { headers: { 'Idempotency-Key': `credit-${help.id}` } };
  for (let i = 0; i < 2; i++) expectStatus(await help.act('credit', { amount: 2.5, message: 'Sorry' }, once), 201);
  assert.equal(await balance(), 42.5);
  expectFields(await help.act('refund', { amount: 10.01 }), { amount: 'out_of_range' });
  const answers = await Promise.all([help.act('refund'), help.act('refund')]);
  assert.deepEqual(answers.map((a) => a.status).sort(), [201, 409]);
  assert.equal(await balance(), 52.5);
  assert.deepEqual(said(await help.read()), [
    'We have put $2.50 into your wallet.\n\nSorry',
    `We give $10.00 back for order #${help.order.order_id}.`,
  ]);
  expectError(await help.act('replace-code'), 409, 'invalid_state');

  const self = dataOf(
    await office.souk.post(
      '/api/customer/tickets',
      {
        department_id: dataOf(await staff.get('/api/admin/departments')).find((d) => d.is_active).id,
        subject: 's',
        message: 'm',
      },
      { token: staff.token },
    ),
  );
  expectError(await staff.post(`/api/admin/tickets/${self.id}/credit`, { amount: 1 }), 403, 'own_account');
});

test('a large credit out of a ticket needs two people, too', async () => {
  const help = await asked({ product: await office.product() });
  dataOf(await office.owner.patch('/api/admin/settings', { second_person_above: 100 }));
  try {
    expectStatus(await help.act('credit', { amount: 101 }), 200);
    assert.deepEqual(said(await help.read()), []);
    expectError(await help.act('credit', { amount: 101 }), 409, 'second_person_needed');
    expectStatus(await office.owner.post(`/api/admin/tickets/${help.id}/credit`, { amount: 101 }), 201);
    assert.equal(dataOf(await help.customer.get('/api/customer/wallet')).balance, 141);
  } finally {
    dataOf(await office.owner.patch('/api/admin/settings', { second_person_above: 0 }));
  }
});
