// Events: every type once with its body, signatures, order, tries, switching off, and where they may be sent.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openPaidShop, stripeEvent } from './lib/gateways.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { openReceiver } from './lib/receiver.mjs';

let shop, receiver, tool;

before(async () => {
  shop = await openPaidShop({ args: ['--webhook-private-ok'] });
  receiver = await openReceiver();
  tool = shop.seed.product({ name: 'Tool', price: 100 });
});
after(async () => {
  await shop.stop();
  await receiver.stop();
});

const ENDPOINTS = '/api/admin/webhook-endpoints';
const DELIVERIES = '/api/admin/webhook-deliveries';

async function listen(path, events, more = {}) {
  return dataOf(await shop.admin('POST', ENDPOINTS, { url: receiver.url(path), events, ...more }), 201);
}
const buy = async (buyer, body) => dataOf(await shop.souk.post('/api/v1/order/create', body, { token: buyer.token }));
const drop = (endpoint) => shop.admin('DELETE', `${ENDPOINTS}/${endpoint.id}`);
const endpointNow = async ({ id }) => dataOf(await shop.admin('GET', `${ENDPOINTS}/${id}`));
const deliveries = async (query) => dataOf(await shop.admin('GET', `${DELIVERIES}?limit=100&${query}`));
const delivery = async (id) => dataOf(await shop.admin('GET', `${DELIVERIES}/${id}`));
const come = (path, count, what = `${count} calls at ${path}`) =>
  shop.until(() => (receiver.got(path).length >= count ? receiver.got(path) : null), what);
const ping = async ({ id }) => dataOf(await shop.admin('POST', `${ENDPOINTS}/${id}/test`)).delivery_id;
/** Makes what waits due at once, and ends the endpoint's rest. */
const hurry = () =>
  shop.seed.sql(
    "UPDATE webhook_delivery SET due_at = 1 WHERE status = 'pending'; UPDATE webhook_endpoint SET paused_until = 0;",
  );

/** One event of a type about a resource, as it came to an endpoint that gets all of them. */
async function told(type, fits = () => true) {
  const call = await shop.until(
    () => receiver.got('/all').find((c) => c.type === type && fits(c.data)),
    `${type} came`,
  );
  assert.ok(Date.parse(call.timestamp) > 0);
  assert.ok(Date.parse(call.data.updated_at) > 0, `${type} carries updated_at`);
  return call.data;
}

test('every type is sent once, signed, with the resource as the admin API shows it', async () => {
  const all = await listen('/all', ['*']);
  assert.match(all.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const admin = async (method, target, body) => {
    const answer = await shop.admin(method, target, body);
    return dataOf(answer, answer.status === 201 ? 201 : 200);
  };
  const same = (data, shown, but = []) => {
    const { updated_at, ...rest } = data;
    assert.ok(updated_at);
    for (const key of Object.keys(rest).filter((k) => !but.includes(k))) assert.deepEqual(rest[key], shown[key], key);
  };

  const made = await admin('POST', '/api/admin/customers', { email: 'ada@example.com', name: 'Ada' });
  same(await told('customer.created', (d) => d.id === made.id), made);

  const buyer = await shop.buyer({ balance: 0 });
  await admin('POST', `/api/admin/customers/${buyer.id}/wallet`, { amount: 500, description: 'Gift' });
  const credited = await told('wallet.credited', (d) => d.customer_id === buyer.id);
  assert.deepEqual(
    [credited.balance, credited.email, credited.transaction.amount, credited.transaction.kind],
    [500, buyer.email, 500, 'adjustment'],
  );

  const bought = await buy(buyer, { product_id: tool.id });
  const order = await admin('GET', `/api/admin/orders/${bought.order_id}`);
  same(await told('order.created', (d) => d.id === order.id), order);
  const confirmed = await told('order.confirmed', (d) => d.id === order.id);
  same(confirmed, order);
  const key = bought.delivery.value;
  assert.equal(confirmed.items[0].deliveries[0].value.includes(key), false, 'the key is masked');
  const [license] = await admin('GET', `/api/admin/licenses?q=${buyer.email}`);
  same(await told('license.created', (d) => d.id === license.id), license);

  await shop.verify(buyer, { license_key: key, product_id: tool.id, hardware_id: 'machine-1' });
  assert.equal((await told('license.bound', (d) => d.id === license.id)).hardware_id, 'machine-1');
  same(await told('license.bound'), await admin('GET', `/api/admin/licenses/${license.id}`), [
    'last_seen_at',
    'seen_count',
  ]);
  await admin('POST', `/api/admin/licenses/${license.id}/clear-hardware`);
  assert.equal((await told('license.released', (d) => d.id === license.id)).hardware_id, null);
  await admin('POST', `/api/admin/licenses/${license.id}/revoke`, { reason: 'abuse' });
  assert.deepEqual(await told('license.revoked', (d) => d.id === license.id).then((d) => [d.status, d.reason]), [
    'revoked',
    'abuse',
  ]);
  await admin('POST', `/api/admin/licenses/${license.id}/reinstate`);
  assert.equal((await told('license.reinstated', (d) => d.id === license.id)).status, 'active');
  await admin('PATCH', `/api/admin/licenses/${license.id}`, { expires_at: new Date(Date.now() - 1000).toISOString() });
  assert.ok((await told('license.expired', (d) => d.id === license.id)).expires_at);

  const granted = await admin('POST', '/api/admin/licenses', { product_id: tool.id, customer_id: buyer.id });
  assert.equal((await told('license.created', (d) => d.id === granted.id)).order_id, null);

  await admin('POST', `/api/admin/orders/${order.id}/refund`, {});
  const refunded = await told('order.refunded', (d) => d.id === order.id);
  assert.deepEqual([refunded.status, refunded.refunded_amount], ['refunded', 1]);
  same(refunded, await admin('GET', `/api/admin/orders/${order.id}`));

  await shop.listen('stripe', { provider: 'stripe' });
  const pending = await shop.buyerWith([[tool, 1]]);
  const waiting = await shop.checkout(pending, 'card_gateway_a');
  assert.equal((await told('order.created', (d) => d.id === waiting.order_id)).status, 'pending');
  await admin('POST', `/api/admin/orders/${waiting.order_id}/cancel`, {});
  assert.equal((await told('order.cancelled', (d) => d.id === waiting.order_id)).status, 'cancelled');

  const paying = await shop.buyerWith([[tool, 1]]);
  const paid = await shop.checkout(paying, 'card_gateway_a');
  await shop.event(
    'stripe',
    stripeEvent('payment_intent.succeeded', { order: paid.order_id, amount: 100, intent: 'pi_ev' }),
  );
  assert.equal((await told('order.confirmed', (d) => d.id === paid.order_id)).paid_with, 'card_gateway_a');
  await shop.event(
    'stripe',
    stripeEvent('charge.dispute.created', {
      order: paid.order_id,
      amount: 100,
      intent: 'pi_ev',
      id: 'dp_ev',
      object: 'dispute',
      payment_intent: 'pi_ev',
      metadata: {},
      status: 'needs_response',
    }),
  );
  assert.equal((await told('order.disputed', (d) => d.id === paid.order_id)).on_hold, true);
  const review = await told('payment.review', (d) => d.order_id === paid.order_id);
  same(review, await admin('GET', `/api/admin/reviews/${review.id}`));
  assert.equal((await told('license.revoked', (d) => d.order_id === paid.order_id)).on_hold, true);

  const wallet = (path, body) => shop.souk.post(`/api/customer/wallet/${path}`, body, { token: buyer.token });
  const asked = dataOf(await wallet('withdraw', { amount: 1, destination: 'DE02 1203 0000 0000 2020 51' }));
  const requested = await told('withdrawal.requested', (d) => d.id === asked.withdrawal_id);
  assert.deepEqual([requested.status, requested.amount], ['pending', 1]);
  assert.equal(JSON.stringify(requested).includes('1203'), false, 'the account number is masked');
  await admin('POST', `/api/admin/withdrawals/${requested.id}/approve`);
  assert.equal((await told('withdrawal.approved', (d) => d.id === requested.id)).status, 'approved');
  const other = dataOf(await wallet('withdraw', { amount: 1 }));
  await admin('POST', `/api/admin/withdrawals/${other.withdrawal_id}/reject`, { reason: 'no' });
  assert.equal((await told('withdrawal.rejected', (d) => d.id === other.withdrawal_id)).reason, 'no');

  const department = shop.seed.department();
  const ticket = dataOf(
    await shop.souk.post(
      '/api/customer/tickets',
      { department_id: department.id, subject: 'Help', message: 'It says \\u0001 and "quotes"' },
      { token: buyer.token },
    ),
  );
  const opened = await told('ticket.created', (d) => d.id === ticket.id);
  assert.deepEqual([opened.subject, opened.messages[0].body], ['Help', 'It says \\u0001 and "quotes"']);
  await admin('POST', `/api/admin/tickets/${ticket.id}/replies`, { message: 'Try again' });
  assert.equal((await told('ticket.replied', (d) => d.id === ticket.id)).messages[0].body, 'Try again');
  await admin('PATCH', `/api/admin/tickets/${ticket.id}`, { status: 'closed' });
  assert.equal((await told('ticket.closed', (d) => d.id === ticket.id)).status, 'closed');

  await admin('PATCH', '/api/admin/settings', { low_stock: 5 });
  const cards = shop.seed.product({ name: 'Cards', price: 10, delivery_type: 'serial_code' });
  shop.seed.serials(cards, ['AAAA-1111']);
  assert.equal((await told('stock.low', (d) => d.product_id === cards.id)).free, 1);
  await buy(buyer, { product_id: cards.id });
  assert.equal((await told('stock.empty', (d) => d.product_id === cards.id)).free, 0);

  await ping(all);
  assert.equal((await told('ping')).endpoint_id, all.id);

  const calls = receiver.got('/all');
  for (const call of calls) receiver.verify(all.secret, call);
  assert.throws(() => receiver.verify(`whsec_${Buffer.alloc(32).toString('base64')}`, calls[0]));
  assert.match(calls[0].headers['user-agent'], /^souk\/\d/);
  const ids = calls.filter((c) => c.type !== 'ping').map((c) => Number(c.id.slice('evt_'.length)));
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => a - b),
    'in order, each once',
  );
  assert.equal(new Set(ids).size, ids.length);

  // Those who poll get the same.
  const polled = [];
  for (let from = 0; ; from = polled.at(-1).id) {
    const page = await admin('GET', `/api/admin/events?after=${from}&limit=100`);
    if (page.length === 0) break;
    polled.push(...page);
  }
  for (const call of calls) {
    const event = polled.find((e) => e.webhook_id === call.id);
    assert.deepEqual([event.type, event.timestamp, event.data], [call.type, call.timestamp, call.data]);
  }
  const types = 'license.bound, order.refunded';
  const few = await admin('GET', `/api/admin/events?types=${encodeURIComponent(types)}`);
  assert.deepEqual([...new Set(few.map((e) => e.type))].sort(), ['license.bound', 'order.refunded']);
  expectFields(await shop.admin('GET', '/api/admin/events?types=order.lost'), { types: 'not_allowed' });
  await drop(all);
  await shop.check();
});

test('an event tells what was at its time, whatever has become of it since', async () => {
  const buyer = await shop.buyer();
  const { order_id, delivery: first } = await buy(buyer, { product_id: tool.id });
  const events = async () =>
    dataOf(await shop.admin('GET', '/api/admin/events?after=0&types=order.confirmed,license.created&limit=100'));
  const ours = async () => {
    const list = await shop.until(async () => {
      const found = [];
      for (let from = 0; ; from = found.at(-1).id) {
        const page = dataOf(
          await shop.admin('GET', `/api/admin/events?after=${from}&types=order.confirmed,license.created&limit=100`),
        );
        if (!page.length) break;
        found.push(...page);
      }
      const mine = found.filter((e) => e.data.id === order_id || e.data.order_id === order_id);
      return mine.length === 2 && mine;
    }, 'both are listed');
    return list.map((e) => [e.type, e.data]).sort();
  };
  assert.ok((await events()).length > 0);
  const before = await ours();
  const [license] = dataOf(await shop.admin('GET', `/api/admin/licenses?q=${buyer.email}`));
  await shop.verify(buyer, { license_key: first.value, product_id: tool.id, hardware_id: 'box' });
  dataOf(await shop.admin('POST', `/api/admin/licenses/${license.id}/replace-key`));
  dataOf(await shop.admin('PATCH', `/api/admin/licenses/${license.id}`, { expires_at: '2099-01-01T00:00:00Z' }));
  dataOf(await shop.admin('PATCH', `/api/admin/products/${tool.id}`, { name: 'Renamed' }));
  dataOf(await shop.admin('POST', `/api/admin/orders/${order_id}/refund`, {}));
  assert.deepEqual(await ours(), before);
  dataOf(await shop.admin('PATCH', `/api/admin/products/${tool.id}`, { name: 'Tool' }));
});

test('keys and codes are sent to those who ask for them', async () => {
  const open = await listen('/keys', ['order.confirmed', 'license.created'], { include_keys: true });
  const closed = await listen('/nokeys', ['order.confirmed', 'license.created']);
  const buyer = await shop.buyer();
  const { delivery: unit } = await buy(buyer, { product_id: tool.id });
  const [with_keys] = (await come('/keys', 2)).filter((c) => c.type === 'order.confirmed');
  assert.equal(with_keys.data.items[0].deliveries[0].value, unit.value);
  assert.equal(receiver.got('/keys').find((c) => c.type === 'license.created').data.license_key, unit.value);
  for (const call of await come('/nokeys', 2)) assert.equal(call.body.includes(unit.value), false);
  await drop(open);
  await drop(closed);
});

test('a failure is tried again under the same id; both secrets sign after a rotation; a delivery shows it all', async () => {
  const endpoint = await listen('/flaky', ['license.revoked'], { description: 'ERP' });
  receiver.behave('/flaky', (n) => (n === 0 ? 500 : 200));
  const id = await ping(endpoint);
  await come('/flaky', 1);
  const failed = await shop.until(async () => {
    const d = await delivery(id);
    return d.tries === 1 && d;
  }, 'the failure is recorded');
  assert.equal(failed.status, 'pending');
  const wait = Date.parse(failed.next_try_at) - Date.parse(failed.attempts[0].at);
  assert.ok(wait >= 3900 && wait <= 16000, `the next try is after about 5 s: ${wait}`);
  assert.deepEqual([failed.attempts[0].status, failed.answer], [500, 'status 500']);
  assert.equal((await endpointNow(endpoint)).failures, 1);

  const rotated = dataOf(await shop.admin('POST', `${ENDPOINTS}/${endpoint.id}/rotate`));
  assert.notEqual(rotated.secret, endpoint.secret);
  assert.ok(Math.abs(Date.parse(rotated.old_secret_until) - Date.now() - 86400000) < 60000);
  hurry();
  const [first, second] = await come('/flaky', 2);
  assert.equal(second.id, first.id);
  receiver.verify(endpoint.secret, second);
  receiver.verify(rotated.secret, second);
  assert.throws(() => receiver.verify(rotated.secret, first));
  const done = await shop.until(async () => {
    const d = await delivery(id);
    return d.status === 'delivered' && d;
  }, 'it is delivered');
  assert.deepEqual(
    [done.tries, done.attempts.map((a) => a.status), done.answer, done.next_try_at],
    [2, [500, 200], 'thanks', null],
  );
  assert.deepEqual(JSON.parse(done.request.body), JSON.parse(second.body));
  assert.equal(done.request.headers['webhook-id'], second.id);
  const now = await endpointNow(endpoint);
  assert.deepEqual([now.failures, now.failing_since, now.description], [0, null, 'ERP']);
  assert.ok(now.succeeded_at);

  expectError(await shop.admin('POST', `${DELIVERIES}/999999/resend`), 404, 'not_found');
  assert.equal(dataOf(await shop.admin('POST', `${DELIVERIES}/${id}/resend`)).status, 'pending');
  const third = (await come('/flaky', 3))[2];
  assert.equal(third.id, first.id);
  shop.seed.sql(`UPDATE webhook_endpoint SET old_until = 1 WHERE id = ${endpoint.id};`);
  await shop.until(async () => (await delivery(id)).status === 'delivered', 'again');
  dataOf(await shop.admin('POST', `${DELIVERIES}/${id}/resend`));
  const fourth = (await come('/flaky', 4))[3];
  receiver.verify(rotated.secret, fourth);
  assert.throws(() => receiver.verify(endpoint.secret, fourth), 'a day later the old secret is over');
  assert.deepEqual(
    (await deliveries(`endpoint_id=${endpoint.id}&type=ping`)).map((d) => d.id),
    [id],
  );
  assert.deepEqual(await deliveries(`endpoint_id=${endpoint.id}&status=failed`), []);
  await drop(endpoint);
  assert.deepEqual(await deliveries(`endpoint_id=${endpoint.id}`), []);
  expectError(await shop.admin('GET', `${DELIVERIES}/${id}`), 404, 'not_found');
});

test('after the last try a delivery has failed; an endpoint that answers 410 or fails for five days is switched off', async () => {
  const endpoint = await listen('/down', ['*']);
  receiver.behave('/down', () => 503);
  const id = await ping(endpoint);
  await come('/down', 1);
  await shop.until(async () => (await delivery(id)).tries === 1, 'recorded');
  shop.seed.sql(`UPDATE webhook_delivery SET attempts = 10 WHERE id = ${id};`);
  hurry();
  await shop.until(async () => (await delivery(id)).status === 'failed', 'the eleventh try was the last');
  shop.seed.sql(`UPDATE webhook_endpoint SET failing_since = ${Date.now() - 5 * 86400000} WHERE id = ${endpoint.id};`);
  hurry();
  await ping(endpoint);
  const off = await shop.until(async () => {
    const e = await endpointNow(endpoint);
    return !e.is_enabled && e;
  }, 'five days of failures');
  assert.equal(off.off_reason, 'nothing was delivered for five days');
  expectError(await shop.admin('POST', `${ENDPOINTS}/${endpoint.id}/test`), 409, 'invalid_state');

  const again = dataOf(await shop.admin('PATCH', `${ENDPOINTS}/${endpoint.id}`, { is_enabled: true }));
  assert.deepEqual([again.off_reason, again.failures, again.failing_since], [null, 0, null]);
  receiver.behave('/down', () => 410);
  const before = receiver.got('/down').length;
  await ping(endpoint);
  const gone = await shop.until(async () => {
    const e = await endpointNow(endpoint);
    return !e.is_enabled && e;
  }, '410 switches it off');
  assert.equal(gone.off_reason, 'it answered 410 Gone');
  assert.equal(receiver.got('/down').length, before + 1, 'one try was enough');
  const note = shop.seed.sql(
    "SELECT COUNT(*) FROM notification n JOIN account a ON a.id = n.account_id WHERE n.kind = 'webhook_off' AND a.role = 'owner';",
  );
  assert.equal(Number(note[0][0]), 2, 'owners are told, each time');
  await drop(endpoint);
});

test('an endpoint that never answers delays nobody else', async () => {
  const slow = await listen('/silent', ['*']);
  const quick = await listen('/quick', ['order.confirmed']);
  receiver.behave('/silent', () => 'silent');
  await ping(slow);
  await come('/silent', 1);
  const buyer = await shop.buyer();
  const orders = [];
  for (let i = 0; i < 5; i++) orders.push((await buy(buyer, { product_id: tool.id })).order_id);
  const calls = await come('/quick', 5);
  assert.deepEqual(
    calls.map((c) => c.data.id),
    orders,
  );
  assert.equal(receiver.got('/silent').length, 1, 'the silent one still has the first');
  await drop(slow);
  await drop(quick);
});

test('redirects are not followed', async () => {
  const endpoint = await listen('/moved', ['*']);
  receiver.behave('/moved', () => (answer) => answer.writeHead(302, { Location: receiver.url('/elsewhere') }).end());
  const id = await ping(endpoint);
  const d = await shop.until(async () => {
    const row = await delivery(id);
    return row.tries === 1 && row;
  }, 'it was tried');
  assert.deepEqual([d.status, d.attempts[0].status], ['pending', 302]);
  assert.deepEqual(receiver.got('/elsewhere'), []);
  await drop(endpoint);
});

test('an answer is kept up to 4 KiB, whatever bytes it has', async () => {
  const endpoint = await listen('/long', ['*']);
  receiver.behave('/long', () => (answer) => {
    answer.writeHead(200);
    answer.write(Buffer.from([0x00, 0xff, 0xfe]));
    answer.end('x'.repeat(100000));
  });
  const id = await ping(endpoint);
  const d = await shop.until(async () => {
    const row = await delivery(id);
    return row.status === 'delivered' && row;
  }, 'it was delivered');
  assert.ok(d.answer.startsWith('\ufffd\ufffd\ufffdxxx') && d.answer.length <= 4096);
  await drop(endpoint);
});

test('without --webhook-private-ok private addresses and http are refused', async () => {
  const strict = await openPaidShop();
  try {
    const create = (url) => strict.admin('POST', ENDPOINTS, { url, events: ['*'] });
    for (const url of [
      receiver.url('/x'),
      'http://example.com/x',
      'https://127.0.0.1/x',
      'https://localhost/x',
      'https://[::1]/x',
      'https://10.0.0.1/',
      'https://192.168.1.1:8443/x',
      'https://169.254.169.254/latest/meta-data',
      'https://[fe80::1]/',
      'https://intranet/x',
    ])
      expectFields(await create(url), { url: 'address_not_allowed' });
    expectFields(await create('https://user@example.com/'), { url: 'bad_format' });
    const made = dataOf(await create('https://events.example.com/x?a=b'), 201);
    // The flag was there when it was made, and is no longer: the sender looks again.
    strict.seed.sql(`UPDATE webhook_endpoint SET url = '${receiver.url('/sneaky')}' WHERE id = ${made.id};`);
    const id = dataOf(await strict.admin('POST', `${ENDPOINTS}/${made.id}/test`)).delivery_id;
    const tried = await strict.until(async () => {
      const row = dataOf(await strict.admin('GET', `${DELIVERIES}/${id}`));
      return row.tries === 1 && row;
    }, 'it was tried');
    assert.match(tried.attempts[0].error, /private/);
    assert.deepEqual(receiver.got('/sneaky'), []);
  } finally {
    await strict.stop();
  }
});

test('who may, and what is asked', async () => {
  const bad = (body) => shop.admin('POST', ENDPOINTS, body);
  expectFields(await bad({}), { url: 'required', events: 'required' });
  expectFields(await bad({ url: 'ftp://x', events: [] }), { url: 'bad_format', events: 'too_few' });
  expectFields(await bad({ url: receiver.url('/x'), events: ['order.lost'] }), { events: 'not_allowed' });
  const made = [];
  for (let i = 0; i < 16; i++) made.push(await listen(`/n${i}`, ['ping'], { is_enabled: false }));
  expectFields(await bad({ url: receiver.url('/x'), events: ['*'] }), { url: 'too_many' });
  const shown = dataOf(await shop.admin('GET', ENDPOINTS));
  assert.equal(shown.length, 16);
  assert.equal('secret' in shown[0], false);
  for (const e of made) await drop(e);
  const stored = shop.seed.sql('SELECT COUNT(*) FROM webhook_endpoint WHERE LENGTH(secret) < 60;');
  assert.equal(Number(stored[0][0]), 0, 'secrets are sealed');
});
