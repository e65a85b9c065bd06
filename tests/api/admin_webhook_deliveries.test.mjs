// Events: every type once, with its body; what they tell is what was at their time; those who poll get the same.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openEvents } from './lib/events.mjs';
import { stripeEvent } from './lib/gateways.mjs';
import { dataOf, expectFields } from './lib/http.mjs';

let shop, receiver, tool, listen, drop, buy, ping, stop;

before(async () => {
  ({ shop, receiver, tool, listen, drop, buy, ping, stop } = await openEvents());
});
after(() => stop());

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
  /** Member by member what the admin API shows at this moment, and no member less. */
  const same = (data, shown, but = []) => {
    const { updated_at, ...rest } = data;
    assert.ok(updated_at);
    for (const key of but) assert.ok(key in rest && key in shown, key);
    const without = (thing) => Object.fromEntries(Object.entries(thing).filter(([key]) => !but.includes(key)));
    assert.deepEqual(without(rest), without(shown));
  };
  /** The newest event of the type about a resource, held against what is shown of the resource. */
  const asShown = async (type, folder, id, but = [], fits = () => true) => {
    const data = await told(type, (d) => d.id === id && fits(d));
    same(data, await admin('GET', `/api/admin/${folder}/${id}`), but);
    return data;
  };

  const made = await admin('POST', '/api/admin/customers', { email: 'ada@example.com', name: 'Ada' });
  same(await told('customer.created', (d) => d.id === made.id), made);
  await asShown('customer.created', 'customers', made.id);

  const buyer = await shop.buyer({ balance: 0 });
  await admin('POST', `/api/admin/customers/${buyer.id}/wallet`, { amount: 500, description: 'Gift' });
  const credited = await told('wallet.credited', (d) => d.customer_id === buyer.id);
  assert.deepEqual(
    [credited.balance, credited.email, credited.transaction.amount, credited.transaction.kind],
    [500, buyer.email, 500, 'adjustment'],
  );
  const { transaction, customer_id, email, updated_at: _, ...members } = credited;
  const { transactions, has_more: __, ...shown } = await admin('GET', `/api/admin/customers/${buyer.id}/wallet`);
  assert.deepEqual(members, shown);
  assert.deepEqual([customer_id, email], [buyer.id, buyer.email]);
  const { kind: ___, reference_id: ____, ...moved } = transaction;
  assert.deepEqual(moved, transactions.at(-1));

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
  const seen = ['last_seen_at', 'seen_count']; // counted in memory first
  const ofLicense = (type) => asShown(type, 'licenses', license.id, seen);
  assert.equal((await ofLicense('license.bound')).hardware_id, 'machine-1');
  await admin('POST', `/api/admin/licenses/${license.id}/clear-hardware`);
  assert.equal((await ofLicense('license.released')).hardware_id, null);
  await admin('POST', `/api/admin/licenses/${license.id}/revoke`, { reason: 'abuse' });
  const revoked = await ofLicense('license.revoked');
  assert.deepEqual([revoked.status, revoked.reason], ['revoked', 'abuse']);
  await admin('POST', `/api/admin/licenses/${license.id}/reinstate`);
  assert.equal((await ofLicense('license.reinstated')).status, 'active');
  await admin('PATCH', `/api/admin/licenses/${license.id}`, { expires_at: new Date(Date.now() - 1000).toISOString() });
  assert.ok((await ofLicense('license.expired')).expires_at);

  const granted = await admin('POST', '/api/admin/licenses', { product_id: tool.id, customer_id: buyer.id });
  assert.equal((await asShown('license.created', 'licenses', granted.id)).order_id, null);

  await admin('POST', `/api/admin/orders/${order.id}/refund`, {});
  const refunded = await told('order.refunded', (d) => d.id === order.id);
  assert.deepEqual([refunded.status, refunded.refunded_amount], ['refunded', 1]);
  assert.equal(refunded.refunds.length, 1);
  await asShown('order.refunded', 'orders', order.id);

  await shop.listen('stripe', { provider: 'stripe' });
  const pending = await shop.buyerWith([[tool, 1]]);
  const waiting = await shop.checkout(pending, 'card_gateway_a');
  const created = await told('order.created', (d) => d.id === waiting.order_id);
  // The gateway is called, and gives the payment its reference, after the order is there.
  assert.deepEqual([created.status, created.payments.length, created.timeline[0].kind], ['pending', 1, 'placed']);
  const { items } = await admin('GET', `/api/admin/orders/${waiting.order_id}`);
  assert.deepEqual(created.items, items);
  const answered = await admin('POST', `/api/admin/orders/${waiting.order_id}/cancel`, {});
  const cancelled = await told('order.cancelled', (d) => d.id === waiting.order_id);
  same(cancelled, answered); // the gateway is told afterwards
  assert.deepEqual([cancelled.status, cancelled.timeline.at(-1).kind], ['cancelled', 'cancelled']);

  const paying = await shop.buyerWith([[tool, 1]]);
  const paid = await shop.checkout(paying, 'card_gateway_a');
  await shop.event(
    'stripe',
    stripeEvent('payment_intent.succeeded', { order: paid.order_id, amount: 100, intent: 'pi_ev' }),
  );
  const sold = await asShown('order.confirmed', 'orders', paid.order_id);
  assert.deepEqual([sold.paid_with, sold.payments[0].status], ['card_gateway_a', 'succeeded']);
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
  assert.equal((await asShown('order.disputed', 'orders', paid.order_id)).on_hold, true);
  const review = await told('payment.review', (d) => d.order_id === paid.order_id);
  await asShown('payment.review', 'reviews', review.id);
  const held = await told('license.revoked', (d) => d.order_id === paid.order_id);
  assert.equal((await asShown('license.revoked', 'licenses', held.id)).on_hold, true);

  const wallet = (path, body) => shop.souk.post(`/api/customer/wallet/${path}`, body, { token: buyer.token });
  const asked = dataOf(await wallet('withdraw', { amount: 1, destination: 'DE02 1203 0000 0000 2020 51' }));
  const requested = await told('withdrawal.requested', (d) => d.id === asked.withdrawal_id);
  assert.deepEqual([requested.status, requested.amount], ['pending', 1]);
  assert.equal(JSON.stringify(requested).includes('1203'), false, 'the account number is masked');
  const ofWithdrawal = async (type, id) => {
    const data = await told(type, (d) => d.id === id);
    const listed = await admin('GET', '/api/admin/withdrawals'); // where the account number is masked, too
    same(
      data,
      listed.find((one) => one.id === id),
    );
    return data;
  };
  await ofWithdrawal('withdrawal.requested', requested.id);
  await admin('POST', `/api/admin/withdrawals/${requested.id}/approve`);
  assert.equal((await ofWithdrawal('withdrawal.approved', requested.id)).status, 'approved');
  const other = dataOf(await wallet('withdraw', { amount: 1 }));
  await admin('POST', `/api/admin/withdrawals/${other.withdrawal_id}/reject`, { reason: 'no' });
  assert.equal((await ofWithdrawal('withdrawal.rejected', other.withdrawal_id)).reason, 'no');

  const department = shop.seed.department();
  const ticket = dataOf(
    await shop.souk.post(
      '/api/customer/tickets',
      { department_id: department.id, subject: 'Help', message: 'It says \\u0001 and "quotes"' },
      { token: buyer.token },
    ),
  );
  const opened = await asShown('ticket.created', 'tickets', ticket.id);
  assert.deepEqual([opened.subject, opened.messages[0].body], ['Help', 'It says \\u0001 and "quotes"']);
  await admin('POST', `/api/admin/tickets/${ticket.id}/replies`, { message: 'Try again' });
  assert.equal((await asShown('ticket.replied', 'tickets', ticket.id)).messages[1].body, 'Try again');
  await admin('PATCH', `/api/admin/tickets/${ticket.id}`, { status: 'closed' });
  assert.equal((await asShown('ticket.closed', 'tickets', ticket.id)).status, 'closed');
  const long = 'x'.repeat(40000);
  await admin('POST', `/api/admin/tickets/${ticket.id}/replies`, { message: long });
  await admin('POST', `/api/admin/tickets/${ticket.id}/replies`, { message: `${long}!` });
  const last = await told('ticket.replied', (d) => d.id === ticket.id && d.messages.at(-1).body === `${long}!`);
  assert.equal(last.messages.length, 1, 'as many of the newest as are not too long');

  await admin('PATCH', '/api/admin/settings', { low_stock: 5 });
  const cards = shop.seed.product({ name: 'Cards', price: 10, delivery_type: 'serial_code' });
  shop.seed.serials(cards, ['AAAA-1111']);
  const low = await told('stock.low', (d) => d.product_id === cards.id);
  assert.equal(low.free, 1);
  same(
    low,
    (await admin('GET', '/api/admin/stats')).low_stock.find((one) => one.product_id === cards.id),
  );
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

  // Those who poll get the same; a ping, which goes out at once, as soon as all that came before it is known.
  const poll = async () => {
    const polled = [];
    for (let from = 0; ; from = polled.at(-1).id) {
      const page = await admin('GET', `/api/admin/events?after=${from}&limit=100`);
      if (page.length === 0) return polled;
      polled.push(...page);
    }
  };
  const polled = await shop.until(async () => {
    const events = await poll();
    return calls.every((c) => events.some((e) => e.webhook_id === c.id)) && events;
  }, 'every event can be polled');
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

test('what is older than 30 days is not listed, and is forgotten with its deliveries; the newest number stays', async () => {
  const endpoint = await listen('/old', ['*']);
  await ping(endpoint);
  await buy(await shop.buyer(), { product_id: tool.id });
  await shop.until(
    () => shop.count("webhook_delivery WHERE status = 'pending'") === 0 && receiver.got('/old').length > 1,
    'all is sent',
  );
  await drop(endpoint);
  shop.seed.sql(`UPDATE event SET created_at = created_at - ${31 * 86400000};`);
  assert.deepEqual(dataOf(await shop.admin('GET', '/api/admin/events')), []);
  await shop.until(() => shop.count('event') === 1, 'the job has come by', 40000);
  await shop.check();
});
