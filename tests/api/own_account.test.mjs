// Staff do not deal with themselves: goods and money of their own account are somebody else's to decide; owners try their
// store out. A stolen session lends nobody money and puts no program in place of the store's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { callsAs } from './lib/admin.mjs';
import { LABELS, openPaidShop, stripeEvent } from './lib/gateways.mjs';
import { dataOf, expectError } from './lib/http.mjs';
import { freshStore, startSouk } from './lib/souk.mjs';

let shop, owner, staff, editor, codes;

before(async () => {
  shop = await openPaidShop({ database: freshStore(undefined, 'office') });
  const person = (account) => ({ ...account, ...callsAs(shop.souk, account.token) });
  owner = person(shop.database.accounts.owner);
  staff = person(shop.database.accounts.staff);
  editor = shop.seed.product({ name: 'Editor', price: 500 });
  codes = shop.seed.product({ name: 'Codes', price: 500, delivery_type: 'serial_code' });
  shop.seed.serials(codes, ['CODE-1', 'CODE-2', 'CODE-3']);
  await shop.listen('stripe');
});
after(() => shop.stop());

async function pending(who) {
  dataOf(await who.post('/api/store/cart/add', { product_id: editor.id, quantity: 1 }));
  return dataOf(await who.post('/api/store/cart/checkout', { pay_with: LABELS.stripe }), 201).order_id;
}
const own = (answer) =>
  expectError(answer, 403, 'own_account', 'Somebody else has to make this change to your account');

test('staff do not confirm or refund their own orders; somebody else does, and owners try their store out', async () => {
  const id = await pending(staff);
  own(await staff.post(`/api/admin/orders/${id}/confirm`));
  assert.equal(dataOf(await staff.get(`/api/customer/orders/${id}`)).status, 'pending');
  assert.equal(dataOf(await owner.post(`/api/admin/orders/${id}/confirm`)).status, 'confirmed');
  own(await staff.post(`/api/admin/orders/${id}/refund`, {}));
  own(await staff.post(`/api/admin/orders/${id}/refund`, { amount: 1 }));
  assert.equal(dataOf(await owner.post(`/api/admin/orders/${id}/refund`, {})).status, 'refunded');

  const mine = await pending(owner);
  assert.equal(dataOf(await owner.post(`/api/admin/orders/${mine}/confirm`)).status, 'confirmed');
  assert.equal(dataOf(await owner.post(`/api/admin/orders/${mine}/refund`, {})).status, 'refunded');
});

test('staff do not settle the review of their own payment', async () => {
  const id = await pending(staff);
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('payment_intent.succeeded', { order: id, amount: 1, intent: 'pi_own_account' }),
    ),
  );
  const review = dataOf(await staff.get('/api/admin/reviews?status=open&kind=amount')).find((r) => r.order_id === id);
  own(await staff.post(`/api/admin/reviews/${review.id}/resolve`, { action: 'confirm' }));
  assert.equal(dataOf(await staff.get(`/api/customer/orders/${id}`)).status, 'pending');
  dataOf(await owner.post(`/api/admin/reviews/${review.id}/resolve`, { action: 'confirm' }));
  assert.equal(dataOf(await staff.get(`/api/customer/orders/${id}`)).status, 'confirmed');
});

test('staff give themselves no licence, no longer one, and no other code', async () => {
  own(await staff.post('/api/admin/licenses', { product_id: editor.id, customer_id: staff.id }));
  const made = dataOf(await owner.post('/api/admin/licenses', { product_id: editor.id, customer_id: staff.id }), 201);
  own(await staff.patch(`/api/admin/licenses/${made.id}`, { expires_at: '2040-01-01T00:00:00Z' }));
  for (const step of ['revoke', 'reinstate', 'clear-hardware', 'replace-key'])
    own(await staff.post(`/api/admin/licenses/${made.id}/${step}`, step === 'revoke' ? {} : undefined));
  dataOf(await owner.patch(`/api/admin/licenses/${made.id}`, { expires_at: '2040-01-01T00:00:00Z' }));

  shop.fund(staff, 1000);
  const { order_id } = dataOf(await staff.post('/api/v1/order/create', { product_id: codes.id }));
  const department = dataOf(await owner.post('/api/admin/departments', { name: 'Codes' }), 201);
  const ticket = dataOf(
    await staff.post('/api/customer/tickets', {
      department_id: department.id,
      subject: 'Another code',
      message: 'Please',
      order_id,
    }),
  );
  const { items } = dataOf(await staff.get(`/api/admin/orders/${order_id}`));
  const replace = (who) => who.post(`/api/admin/tickets/${ticket.id}/replace-code`, { item_id: items[0].item_id });
  own(await replace(staff));
  own(await staff.post(`/api/admin/tickets/${ticket.id}/refund`, {}));
  dataOf(await replace(owner), 201);
});

test('a higher credit limit: not for oneself, by two people above the limit, and a lower one by anybody', async () => {
  const customer = await shop.buyer({ balance: 0 });
  const at = `/api/admin/customers/${customer.id}`;
  const limit = async (who, credit_limit) => dataOf(await who.patch(at, { credit_limit })).credit_limit;
  own(await staff.patch(`/api/admin/customers/${staff.id}`, { credit_limit: 10 }));
  dataOf(await owner.patch('/api/admin/settings', { second_person_above: 50 }));
  try {
    assert.equal(await limit(staff, 50), 50);
    const first = dataOf(await staff.patch(at, { credit_limit: 80, name: 'Ada' }));
    assert.deepEqual([first.credit_limit, first.name], [50, 'Ada']);
    const [row] = dataOf(await owner.get('/api/admin/audit?limit=1'));
    assert.equal(row.action, 'customer.limit_request');
    expectError(await staff.patch(at, { credit_limit: 80, name: 'Bob' }), 409, 'second_person_needed');
    assert.equal(dataOf(await staff.get(at)).name, 'Ada');
    // A credit of the same amount is another matter.
    assert.equal(dataOf(await owner.post(`${at}/wallet`, { amount: 80, description: 'Gift' })).balance, 0);
    assert.equal(await limit(owner, 70), 50);
    assert.equal(await limit(owner, 80), 80);
    assert.equal(await limit(staff, 60), 60);
    assert.equal(await limit(owner, 80), 60);
    assert.equal(await limit(staff, 80), 80);
    assert.equal(await limit(staff, 80), 80);
  } finally {
    dataOf(await owner.patch('/api/admin/settings', { second_person_above: 0 }));
  }
});

test('an old session lends nobody money and sends buyers nowhere else', async () => {
  const password = 'correct horse battery';
  const email = 'sam.session@example.com';
  const { id } = dataOf(await owner.post('/api/admin/staff', { email, role: 'staff', password }), 201);
  const { token } = dataOf(await shop.souk.post('/api/auth/login', { email, password }));
  const session = callsAs(shop.souk, token);
  const customer = `/api/admin/customers/${(await shop.buyer({ balance: 0 })).id}`;
  const program = shop.seed.product({ name: 'Program', price: 100, delivery_type: 'download_url' });
  const product = `/api/admin/products/${program.id}`;
  dataOf(await session.patch(customer, { credit_limit: 20 }));
  dataOf(await session.patch(product, { download_url: 'https://example.com/good' }));
  shop.seed.sql(`UPDATE token SET confirmed_at = ${Date.now() - 601e3} WHERE account_id = ${id};`);
  const calls = [
    () => session.patch(customer, { credit_limit: 30 }),
    () => session.post(`${customer}/wallet`, { amount: 1, description: 'x' }),
    () => session.patch(product, { download_url: 'https://example.com/bad' }),
    () => session.put(`${product}/file`, 'x', { headers: { 'Content-Type': 'application/octet-stream' } }),
  ];
  for (const call of calls) expectError(await call(), 403, 'confirmation_required');
  expectError(await session.get('/api/admin/exports/customers'), 403, 'confirmation_required');
  dataOf(await session.patch(customer, { credit_limit: 10, name: 'Ada' }));
  dataOf(await session.patch(product, { download_url: 'https://example.com/good', position: 3 }));
  dataOf(await session.post('/api/auth/confirm', { password }));
  for (const call of calls) dataOf(await call());
});

test('a login sees two hundred keys and codes a day, an API token what its scope allows', async (t) => {
  const database = freshStore(undefined, 'owner');
  const souk = await startSouk({ t, database, limited: true, dear: false });
  t.after(() => database.remove());
  const api = callsAs(souk, database.accounts.owner.token);
  const password = 'correct horse battery';
  const { id } = dataOf(await api.post('/api/admin/staff', { email: 'sam@example.com', role: 'staff', password }), 201);
  const sam = dataOf(await souk.post('/api/auth/login', { email: 'sam@example.com', password }));
  const product = dataOf(
    await api.post('/api/admin/products', { name: 'Editor', price: 1, delivery_type: 'license_key' }),
    201,
  );
  const made = dataOf(await api.post('/api/admin/licenses', { product_id: product.id, customer_id: id }), 201);
  const reveal = (calls) => calls.post(`/api/admin/licenses/${made.id}/reveal`);
  const session = callsAs(souk, sam.token);
  for (let i = 0; i < 200; i++) assert.equal(dataOf(await reveal(session)).license_key, made.license_key);
  expectError(await reveal(session), 429, 'rate_limited');
  dataOf(await reveal(api));
});
