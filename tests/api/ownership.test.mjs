// Other customers' objects. Made from `souk routes`: every route of customers is either in OBJECTS (it names one
// object), in LISTS (it shows what the caller has), or in ACTS (it makes something for the caller); a route that is in
// none fails the run.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { callsAs, openOffice } from './lib/admin.mjs';
import { signed, stripeEvent } from './lib/gateways.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { runSouk } from './lib/souk.mjs';

/** path → [what it names, the body that the owner would send] */
const OBJECTS = {
  'DELETE /api/customer/tokens/{id}': ['token'],
  'DELETE /api/auth/sessions/{id}': ['session'],
  'POST /api/customer/wallet/withdrawals/{id}/cancel': ['withdrawal'],
  'GET /api/customer/wallet/withdrawals/{id}': ['withdrawal'],
  'GET /api/customer/tickets/{id}': ['ticket'],
  'POST /api/customer/tickets/{id}/replies': ['ticket', { message: 'Still there?' }],
  'POST /api/customer/tickets/{id}/close': ['ticket'],
  'GET /api/customer/orders/{id}': ['order'],
  'POST /api/customer/orders/{id}/pay': ['to_pay', { pay_with: 'wallet' }],
  'POST /api/customer/orders/{id}/cancel': ['to_give_up'],
  'GET /api/customer/payments/{reference}': ['payment'],
};
/** path → how the owner's thing is recognised in the answer */
const LISTS = {
  'GET /api/auth/me': (a) => `"id":${a.id},`,
  'GET /api/auth/sessions': (a) => `"id":${a.things.session},`,
  'GET /api/customer/tokens': (a) => `"id":${a.things.token},`,
  'GET /api/customer/wallet': () => 'Only mine',
  'GET /api/customer/wallet/withdrawals': (a) => `"withdrawal_id":${a.things.withdrawal},`,
  'GET /api/customer/tickets': () => 'Private subject',
  'GET /api/customer/notifications': (a) => `"reference_id":${a.things.ticket}`,
  'GET /api/customer/orders': (a) => `"id":${a.things.order},`,
  'GET /api/customer/licenses': (a) => a.things.key,
  'GET /api/store/cart': (a) => `"product_id":${a.things.product},`,
};
/** Things made for the caller, or public ones seen with a token. */
const ACTS = [
  'POST /api/auth/logout',
  'POST /api/auth/confirm',
  'DELETE /api/auth/sessions',
  'POST /api/auth/verify-email/send',
  'POST /api/auth/password',
  'POST /api/customer/tokens',
  'POST /api/customer/wallet/withdraw',
  'POST /api/customer/tickets',
  'POST /api/customer/notifications/read',
  'GET /api/v1/products',
  'POST /api/v1/order/create',
  'POST /api/v1/license/verify',
  'DELETE /api/store/cart',
  'POST /api/store/cart/add',
  'PATCH /api/store/cart/items',
  'POST /api/store/cart/coupon',
  'DELETE /api/store/cart/coupon',
  'POST /api/store/cart/checkout',
  'POST /api/customer/wallet/topup',
];

let office, routes, ada, eve;
/** A customer with money whose token is a login: the routes for sessions are in the matrix, too. */
async function loggedIn() {
  const who = await office.souk.customer();
  dataOf(await office.owner.post(`/api/admin/customers/${who.id}/wallet`, { amount: 100, description: 'Gift' }));
  return { ...who, ...callsAs(office.souk, who.token) };
}
before(async () => {
  office = await openOffice();
  routes = (await runSouk(['routes'], { helps: true })).stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , scope]) => !['-', 'admin'].includes(scope))
    .map(([method, path, scope]) => ({ name: `${method} ${path}`, method, path, scope }));
  [ada, eve] = [await loggedIn(), await loggedIn()];
  dataOf(await office.owner.post(`/api/admin/customers/${ada.id}/wallet`, { amount: 1, description: 'Only mine' }));
  const product = await office.product();
  const department = dataOf(await office.owner.post('/api/admin/departments', { name: 'Help' }), 201);
  dataOf(
    await office.owner.put('/api/admin/gateways/card_gateway_a', {
      is_enabled: true,
      secrets: ['whsec_0123456789abcdef'],
    }),
  );
  const order = dataOf(await ada.post('/api/v1/order/create', { product_id: product.id }));
  dataOf(await office.souk.post('/api/auth/login', { email: ada.email, password: ada.password }));
  const waiting = async () => {
    dataOf(await ada.post('/api/store/cart/add', { product_id: product.id, quantity: 1 }));
    return dataOf(await ada.post('/api/store/cart/checkout', { pay_with: 'card_gateway_a' }), 201).order_id;
  };
  ada.things = {
    to_pay: await waiting(),
    to_give_up: await waiting(),
    session: dataOf(await ada.get('/api/auth/sessions'))[0].id,
    token: dataOf(await ada.post('/api/customer/tokens', { name: 'mine' }), 201).id,
    withdrawal: dataOf(await ada.post('/api/customer/wallet/withdraw', { amount: 1 })).withdrawal_id,
    ticket: dataOf(
      await ada.post('/api/customer/tickets', {
        department_id: department.id,
        subject: 'Private subject',
        message: 'x',
      }),
    ).id,
    payment: dataOf(await ada.post('/api/customer/wallet/topup', { amount: 5, gateway: 'card_gateway_a' }), 201).payment
      .reference,
    order: order.order_id,
    key: order.delivery.value,
    product: product.id,
  };
  dataOf(await office.staff.post(`/api/admin/tickets/${ada.things.ticket}/replies`, { message: 'Hello' }), 201);
  dataOf(await ada.post('/api/store/cart/add', { product_id: product.id, quantity: 1 }));
});
after(() => office.stop());

test('every route of customers is in this matrix', () => {
  const known = new Set([...Object.keys(OBJECTS), ...Object.keys(LISTS), ...ACTS]);
  assert.deepEqual(
    routes.filter((r) => !known.has(r.name)).map((r) => r.name),
    [],
  );
  assert.ok(routes.length > 15);
});

test("somebody else's object is a 404 in every route that names one, and stays as it was", async () => {
  for (const [name, [kind, body]] of Object.entries(OBJECTS)) {
    const [method, path] = name.split(' ');
    const target = path.replace(/\{[^}]+\}/, ada.things[kind]);
    expectError(await office.souk.request(method, target, { token: eve.token, body }), 404, 'not_found', 'Not found');
    expectError(await office.souk.request(method, target, { body }), 401, 'token_missing');
  }
  const ticket = dataOf(await ada.get(`/api/customer/tickets/${ada.things.ticket}`));
  assert.deepEqual([ticket.status, ticket.messages.length], ['answered', 2]);
});

test('a token of another scope is a 403, whosever the object is', async () => {
  const { token } = dataOf(await ada.post('/api/customer/tokens', { name: 'verify only', scopes: ['verify'] }), 201);
  for (const route of routes.filter((r) => r.scope !== 'verify')) {
    const target = route.path.replace(/\{[^}]+\}/, ada.things[OBJECTS[route.name]?.[0]] ?? 1);
    const body = OBJECTS[route.name]?.[1] ?? (route.method === 'GET' ? undefined : {});
    expectError(await office.souk.request(route.method, target, { token, body }), 403, 'insufficient_scope');
  }
});

test('lists show callers what is theirs, and nothing of others', async () => {
  for (const [name, mark] of Object.entries(LISTS)) {
    const target = name.split(' ')[1];
    const mine = await ada.get(target),
      theirs = await eve.get(target);
    assert.ok(mine.text.includes(mark(ada)), `${name}: the owner does not see it: ${mine.text}`);
    assert.ok(!theirs.text.includes(mark(ada)), `${name}: a stranger sees it: ${theirs.text}`);
  }
});

test('every list is read page by page without a gap; a cursor of another list is refused', async () => {
  const fields = (await runSouk(['routes', '--fields'])).stdout.split('\n').map((line) => line.split(' '));
  const lists = fields.filter(([method, , , name]) => method === 'GET' && name === 'cursor').map(([, path]) => path);
  assert.ok(lists.length > 25);
  for (const intent of ['pi_1', 'pi_2']) {
    const raw = JSON.stringify(stripeEvent('payment_intent.succeeded', { order: 999999, amount: 500, intent }));
    const headers = signed('stripe', raw, 'whsec_0123456789abcdef');
    await office.souk.request('POST', '/webhook/card_gateway_a', { body: raw, type: 'application/json', headers });
  }
  for (const code of ['ONE', 'TWO'])
    dataOf(await office.owner.post('/api/admin/coupons', { code, kind: 'percent', value: 5 }), 201);
  const foreign = new Map(); // path → a cursor of it
  let paged = 0;
  for (const path of lists) {
    const token = path.startsWith('/api/admin/')
      ? office.owner.token
      : path.startsWith('/api/store/')
        ? undefined
        : ada.token;
    const id = path.includes('products') ? ada.things.product : path.includes('staff') ? office.owner.id : ada.id;
    const target = path.replace('{id}', id);
    const ids = (answer) => {
      const data = dataOf(answer);
      return (Array.isArray(data) ? data : data.codes).map((row) => row.id ?? row.withdrawal_id ?? row.slug);
    };
    const all = ids(await office.souk.get(`${target}?limit=100`, { token }));
    const seen = [];
    for (let next = '', i = 0; next !== null && i < 4; i++) {
      const answer = await office.souk.get(`${target}?limit=1${next && `&cursor=${next}`}`, { token });
      seen.push(...ids(answer));
      next = answer.json.meta.next_cursor;
      if (next) foreign.set(path, next);
    }
    if (seen.length > 1) paged += 1;
    if (!path.endsWith('/outbox')) assert.deepEqual(seen, all.slice(0, 4), path); // the outbox is at work meanwhile
    for (const bad of ['x', 'A'.repeat(32), [...foreign].find(([other]) => other !== path)?.[1]].filter(Boolean))
      expectFields(await office.souk.get(`${target}?cursor=${bad}`, { token }), { cursor: 'bad_cursor' });
  }
  assert.ok(paged > 12, `${paged} lists have pages`);
});

test('the owner reaches each object', async () => {
  for (const [name, [kind, body]] of Object.entries(OBJECTS).reverse()) {
    const [method, path] = name.split(' ');
    const answer = await office.souk.request(method, path.replace(/\{[^}]+\}/, ada.things[kind]), {
      token: ada.token,
      body,
    });
    assert.ok(answer.status < 300, `${name}: ${answer.status} ${answer.text}`);
  }
});
