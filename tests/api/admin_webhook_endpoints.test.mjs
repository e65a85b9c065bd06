// Endpoints for events: signatures, keys, tries, switching off, and where events may be sent.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DELIVERIES, ENDPOINTS, openEvents } from './lib/events.mjs';
import { openPaidShop } from './lib/gateways.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';

let shop, receiver, tool, listen, drop, buy, endpointNow, deliveries, delivery, come, ping, hurry, stop;

before(async () => {
  ({ shop, receiver, tool, listen, drop, buy, endpointNow, deliveries, delivery, come, ping, hurry, stop } =
    await openEvents());
});
after(() => stop());

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
  expectError(await shop.admin('POST', `${DELIVERIES}/${id}/resend`), 409, 'invalid_state'); // it will be
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
  const newer = await ping(endpoint);
  const { next_cursor } = (await shop.admin('GET', `${DELIVERIES}?endpoint_id=${endpoint.id}&limit=1`)).json.meta;
  assert.deepEqual(
    (await deliveries(`endpoint_id=${endpoint.id}&cursor=${next_cursor}`)).map((d) => [d.id, d.id < newer]),
    [[id, true]],
  );
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
  expectError(await shop.admin('POST', `${DELIVERIES}/${id}/resend`), 409, 'invalid_state');

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
  const change = (body) => shop.admin('PATCH', `${ENDPOINTS}/${made[0].id}`, body);
  expectFields(await change({ url: 'ftp://x' }), { url: 'bad_format' });
  assert.deepEqual(dataOf(await shop.admin('GET', ENDPOINTS)), shown, 'nothing was changed');
  for (const e of made) await drop(e);
  const stored = shop.seed.sql('SELECT COUNT(*) FROM webhook_endpoint WHERE LENGTH(secret) < 60;');
  assert.equal(Number(stored[0][0]), 0, 'secrets are sealed');
});
