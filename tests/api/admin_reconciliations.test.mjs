// Reconciliation: the gateways' books beside ours. A person looks at each difference, once.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { issue, paypalHeaders } from './lib/certificates.mjs';
import { LABELS, btcpayEvent, openPaidShop, razorpayEvent, stripeEvent } from './lib/gateways.mjs';
import { dataOf, expectError } from './lib/http.mjs';

const HOUR = 3600 * 1000;
let shop, editor;

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor', price: 4999, delivery_type: 'license_key' });
});
after(() => shop.stop());

/** An order that was paid at the double and told by a webhook, five hours ago. */
async function paid(provider, player) {
  const buyer = await shop.buyerWith([[editor, 1]]);
  const { order_id } = await shop.checkout(buyer, LABELS[provider]);
  const payment = player.pay(order_id);
  const event = {
    stripe: () => stripeEvent('payment_intent.succeeded', { order: order_id, amount: 4999, intent: payment }),
    razorpay: () => razorpayEvent('payment.captured', { order: order_id, amount: 4999, payment }),
    btcpay: () => btcpayEvent('InvoiceSettled', { invoice: payment, order: order_id }),
  }[provider];
  dataOf(await shop.event(provider, event()));
  assert.equal((await shop.order(buyer, order_id)).status, 'confirmed');
  shop.seed.sql(
    `UPDATE payment SET succeeded_at = succeeded_at - ${5 * HOUR}, created_at = created_at - ${5 * HOUR} WHERE order_id = ${order_id};`,
  );
  player.charges.get(payment).created -= 5 * 3600;
  return { id: order_id, payment, buyer };
}

const books = async (provider) =>
  dataOf(await shop.admin('GET', '/api/admin/reconciliations')).find((r) => r.gateway === LABELS[provider]);
const reviews = async () =>
  dataOf(await shop.admin('GET', '/api/admin/reviews?limit=100&kind=reconciliation&status=open'));

async function compare(provider) {
  const before = (await books(provider))?.ran_at;
  shop.seed.sql(`UPDATE reconciliation SET ran_at = NULL;`);
  dataOf(await shop.admin('POST', `/api/admin/reconciliations/${LABELS[provider]}`));
  return shop.until(async () => {
    const r = await books(provider);
    return r.ran_at && r;
  }, `${provider} was compared (before: ${before})`);
}

for (const provider of ['stripe', 'razorpay', 'btcpay']) {
  test(`${provider}: books that agree say so; a charge that we do not know, and one that the provider does not, are seen once`, async () => {
    const player = await shop.played(provider);
    const order = await paid(provider, player);
    const other = await paid(provider, player);
    const first = await compare(provider);
    assert.deepEqual(
      [first.agrees, first.charges, first.differences, first.error],
      [true, 2, 0, null],
      JSON.stringify(first),
    );

    // Its webhook never came, and nobody asked: the provider has money of ours that we know nothing of.
    const lost = await shop.checkout(await shop.buyerWith([[editor, 1]]), LABELS[provider]);
    const unknown = player.pay(lost.order_id);
    // And one that is gone there.
    player.charges.delete(other.payment);
    if (provider === 'btcpay') player.made.delete(other.payment);
    const open = (await reviews()).length;
    const second = await compare(provider);
    assert.deepEqual([second.agrees, second.differences], [false, 2], JSON.stringify(second));
    const found = (await reviews()).map((r) => r.reason);
    assert.equal(found.length, open + 2);
    assert.ok(
      found.some((r) => r.includes(`has the payment ${unknown}, and we do not`)),
      found.join('\n'),
    );
    assert.ok(
      found.some((r) => r.includes(`we have the payment ${other.payment}`)),
      found.join('\n'),
    );
    // The next day it is still so, and nobody is told again.
    assert.equal((await compare(provider)).differences, 2);
    assert.equal((await reviews()).length, open + 2);
    assert.ok(order.id);
  });
}

test('paypal: its transactions, three hours late, and its disputes', async () => {
  const made = issue('messageverificationcerts.sandbox.paypal.com', { rsa: true });
  const player = await shop.played('paypal', { ca_bundle: made.authority });
  player.certificate = made.certificate;
  const captured = async () => {
    const buyer = await shop.buyerWith([[editor, 1]]);
    const { order_id } = await shop.checkout(buyer, LABELS.paypal);
    const raw = JSON.stringify({
      id: `WH-${order_id}`,
      create_time: new Date().toISOString(),
      event_type: 'CHECKOUT.ORDER.APPROVED',
      resource: { id: player.pay(order_id), purchase_units: [{ custom_id: String(order_id) }] },
    });
    dataOf(await shop.post(LABELS.paypal, raw, paypalHeaders(raw, made.key)));
    await shop.until(async () => (await shop.order(buyer, order_id)).status === 'confirmed', 'captured');
    const capture = player.page(order_id).purchase_units[0].payments.captures[0].id;
    shop.seed.sql(
      `UPDATE payment SET succeeded_at = succeeded_at - ${5 * HOUR}, created_at = created_at - ${5 * HOUR} WHERE order_id = ${order_id};`,
    );
    player.charges.get(capture).created -= 5 * 3600;
    return capture;
  };
  const [one, two] = [await captured(), await captured()];
  const first = await compare('paypal');
  assert.deepEqual(
    [first.agrees, first.charges, first.refunds, first.disputes],
    [true, 2, 0, 0],
    JSON.stringify(first),
  );
  const money = (value) => ({ currency_code: 'USD', value });
  player.refunds.set('REF9', {
    id: 'REF9',
    amount: money('10.00'),
    create_time: new Date(Date.now() - 5 * HOUR).toISOString(),
    links: [{ rel: 'up', href: `x/${one}` }],
  });
  player.disputes.set('PP-D-9', {
    dispute_id: 'PP-D-9',
    status: 'OPEN',
    update_time: new Date().toISOString(),
    dispute_amount: money('49.99'),
    disputed_transactions: [{ seller_transaction_id: two }],
  });
  const second = await compare('paypal');
  assert.deepEqual(
    [second.charges, second.refunds, second.disputes, second.differences],
    [2, 1, 1, 2],
    JSON.stringify(second),
  );
  const found = (await reviews()).map((r) => r.reason).join('\n');
  for (const part of [`given back more of the payment ${one}`, 'a dispute PP-D-9'])
    assert.ok(found.includes(part), found);
});

test('paypal: refunds that only we know of; booked under another name, waiting, and of a payment given back whole', async () => {
  const player = shop.players.findLast((p) => p.provider === 'paypal');
  const [[id, capture]] = shop.seed.sql(
    `SELECT p.order_id, p.payment_ref FROM payment p JOIN gateway g ON g.id = p.gateway_id
     WHERE g.label = '${LABELS.paypal}' ORDER BY p.id DESC LIMIT 1;`,
  );
  const order = { id, capture };
  const give = async (amount) => {
    const seen = new Set(player.refunds.keys());
    dataOf(await shop.admin('POST', `/api/admin/orders/${order.id}/refund`, amount ? { amount } : {}));
    await shop.until(async () => {
      const { refunds } = dataOf(await shop.admin('GET', `/api/admin/orders/${order.id}`));
      return refunds.every((r) => r.status === 'done');
    }, 'given back');
    shop.seed.sql(
      `UPDATE refund SET requested_at = requested_at - ${5 * HOUR}, done_at = done_at - ${5 * HOUR} WHERE order_id = ${order.id} AND requested_at > ${Date.now() - HOUR};`,
    );
    const [id] = [...player.refunds.keys()].filter((k) => !seen.has(k));
    const made = player.refunds.get(id);
    made.create_time = new Date(Date.now() - 5 * HOUR).toISOString();
    return made;
  };
  const known = (await books('paypal')).differences;
  const waiting = await give(10);
  waiting.status = 'PENDING';
  const renamed = await give(5);
  renamed.booked_as = 'TXNOTHER';
  await give(); // the rest: the charge itself is now marked as given back
  assert.equal((await compare('paypal')).differences, known);
  player.refunds.delete(renamed.id);
  assert.equal((await compare('paypal')).differences, known + 1);
  const found = (await reviews()).map((r) => r.reason);
  assert.ok(
    found.some((r) => r.includes(`we have the refund ${renamed.id}, and`)),
    found.join('\n'),
  );
  assert.ok(!found.some((r) => r.includes(waiting.id) || r.includes(`we have the payment ${order.capture}`)));
});

const disputeTellers = {
  stripe: (order, id) =>
    shop.event(
      'stripe',
      stripeEvent('charge.dispute.created', {
        order: order.id,
        amount: 4999,
        intent: order.payment,
        id,
        object: 'dispute',
        payment_intent: order.payment,
        status: 'needs_response',
      }),
    ),
  razorpay: (order, id) => {
    const event = razorpayEvent('payment.dispute.created', { order: order.id, amount: 4999, payment: order.payment });
    event.payload.dispute = { entity: { id, payment_id: order.payment, amount: 4999, currency: 'USD' } };
    return shop.event('razorpay', event);
  },
};
const disputeLines = {
  stripe: (player, order, id) => ({
    id,
    amount: 4999,
    currency: 'usd',
    payment_intent: order.payment,
    status: 'needs_response',
    created: player.seconds(),
  }),
  razorpay: (player, order, id) => ({
    id,
    amount: 4999,
    currency: 'USD',
    payment_id: order.payment,
    status: 'open',
    created_at: player.seconds(),
  }),
};

for (const provider of ['stripe', 'razorpay']) {
  test(`${provider}: a dispute that only we have`, async () => {
    const player = shop.players.findLast((p) => p.provider === provider);
    const order = await paid(provider, player);
    const name = `disp_${provider}`;
    dataOf(await disputeTellers[provider](order, name));
    assert.equal(shop.seed.number(`SELECT COUNT(*) FROM dispute WHERE ref = '${name}'`), 1);
    const aged = (days) =>
      shop.seed.sql(`UPDATE dispute SET opened_at = ${Date.now() - days * 24 * HOUR} WHERE ref = '${name}';`);
    const said = async () => {
      const { error } = await compare(provider);
      assert.equal(error, null);
      return (await reviews()).some((r) => r.reason.includes(`we have the dispute ${name}, and`));
    };
    // Told of a dispute that may have begun before the books do: they need not have it.
    aged(5);
    assert.equal(await said(), false);
    aged(1);
    player.disputes.set(name, disputeLines[provider](player, order, name));
    assert.equal(await said(), false);
    player.disputes.delete(name);
    assert.equal(await said(), true);
    aged(30); // nothing to the tests below
  });
}

test('paypal: a dispute that only we have; its list need not name the payment', async () => {
  const player = shop.players.findLast((p) => p.provider === 'paypal');
  const payment = shop.seed.number(
    `SELECT MIN(p.id) FROM payment p JOIN gateway g ON g.id = p.gateway_id WHERE g.label = '${LABELS.paypal}'`,
  );
  for (const name of ['PP-D-OURS', 'PP-D-SHORT'])
    shop.seed.sql(
      `INSERT INTO dispute (payment_id, ref, status, amount, opened_at, closed_at) VALUES (${payment}, '${name}', 'won', 100, ${Date.now() - 24 * HOUR}, ${Date.now()});`,
    );
  player.disputes.set('PP-D-SHORT', {
    dispute_id: 'PP-D-SHORT',
    status: 'RESOLVED',
    update_time: new Date().toISOString(),
    dispute_amount: { currency_code: 'USD', value: '1.00' },
  });
  await compare('paypal');
  const found = (await reviews()).map((r) => r.reason).join('\n');
  assert.ok(found.includes('we have the dispute PP-D-OURS, and'), found);
  assert.ok(!found.includes('PP-D-SHORT'), found);
});

test('paypal: more disputes than a page has', async () => {
  const player = shop.players.findLast((p) => p.provider === 'paypal');
  const [{ seller_transaction_id }] = player.disputes.get('PP-D-9').disputed_transactions;
  for (let i = 0; i < 120; i++) {
    player.disputes.set(`PP-M-${i}`, {
      dispute_id: `PP-M-${i}`,
      status: 'OPEN',
      update_time: new Date().toISOString(),
      dispute_amount: { currency_code: 'USD', value: '1.00' },
      disputed_transactions: [{ seller_transaction_id: i === 119 ? seller_transaction_id : `CAPX${i}` }],
    });
  }
  assert.equal((await compare('paypal')).disputes, 121);
  assert.ok(
    (await reviews()).some((r) => r.reason.includes('a dispute PP-M-119')),
    'the last one of the last page',
  );
});

test('btcpay: refunds that were made there, and ours that were withdrawn before anybody claimed them', async () => {
  const player = shop.players.findLast((p) => p.provider === 'btcpay');
  const given = async () => {
    const order = await paid('btcpay', player);
    dataOf(await shop.admin('POST', `/api/admin/orders/${order.id}/refund`, { amount: 10 }));
    const refund = () => shop.admin('GET', `/api/admin/orders/${order.id}`).then((a) => dataOf(a).refunds[0]);
    await shop.until(async () => (await refund()).status === 'done', 'offered');
    const pull = [...player.refunds.values()].findLast((p) => p.invoice === order.payment);
    shop.seed.sql(
      `UPDATE refund SET requested_at = requested_at - ${5 * HOUR}, done_at = done_at - ${5 * HOUR} WHERE order_id = ${order.id};`,
    );
    return { order, pull };
  };
  const [open, withdrawn, claimed] = [await given(), await given(), await given()];
  const before_ = await compare('btcpay');
  assert.equal(before_.refunds, 3);
  const known = before_.differences;
  // Withdrawn; one of them after it was paid out.
  withdrawn.pull.archived = true;
  claimed.pull.archived = true;
  player.payouts = [
    { id: 'po1', pullPaymentId: claimed.pull.id, state: 'Completed' },
    { id: 'po2', pullPaymentId: withdrawn.pull.id, state: 'Cancelled' },
  ];
  // And one that somebody made on the server's own pages.
  player.refunds.set('pull_hand', {
    id: 'pull_hand',
    name: `Refund ${open.order.payment}`,
    currency: 'USD',
    amount: '20.00',
    archived: false,
  });
  player.refunds.set('pull_other', {
    id: 'pull_other',
    name: 'Salaries',
    currency: 'USD',
    amount: '20.00',
    archived: false,
  });
  const now = await compare('btcpay');
  assert.deepEqual([now.refunds, now.differences], [2, known + 2]);
  const found = (await reviews()).map((r) => r.reason).join('\n');
  for (const part of [
    `we have the refund ${withdrawn.pull.id}, and`,
    `given back more of the payment ${open.order.payment}`,
  ])
    assert.ok(found.includes(part), found);
  assert.ok(!found.includes(claimed.pull.id), found);
});

test('a refund of ours that the gateway does not have', async () => {
  const player = shop.players.findLast((p) => p.provider === 'razorpay');
  const order = await paid('razorpay', player);
  dataOf(await shop.admin('POST', `/api/admin/orders/${order.id}/refund`, { amount: 10 }));
  await shop.until(
    async () => dataOf(await shop.admin('GET', `/api/admin/orders/${order.id}`)).refunds[0].status === 'done',
    'given back',
  );
  shop.seed.sql(
    `UPDATE refund SET requested_at = requested_at - ${5 * HOUR}, done_at = done_at - ${5 * HOUR} WHERE order_id = ${order.id};`,
  );
  const [name] = [...player.refunds.values()].slice(-1).map((r) => r.id);
  await compare('razorpay');
  assert.ok(!(await reviews()).some((r) => r.reason.includes(name)));
  player.refunds.delete(name);
  await compare('razorpay');
  assert.ok((await reviews()).some((r) => r.reason.includes(`we have the refund ${name}, and`)));
});

test('money of another business at the same provider is none of ours', async () => {
  const player = await shop.played('stripe');
  player.charge('pi_elsewhere', 777);
  assert.deepEqual((await compare('stripe')).charges, 1);
  const { differences } = await books('stripe');
  const ours = shop.seed.number(
    "SELECT COUNT(*) FROM payment p JOIN gateway g ON g.id = p.gateway_id WHERE g.label = 'card_gateway_a' AND p.received > 0 AND p.succeeded_at < (SELECT MAX(succeeded_at) FROM payment)",
  );
  assert.ok(differences <= ours, 'only what we have and this double does not');
  assert.ok(!(await reviews()).some((r) => r.reason.includes('pi_elsewhere')));
});

test('a refund and a dispute that nobody told us of, and another amount', async () => {
  const player = await shop.played('stripe');
  shop.seed.sql('UPDATE payment SET succeeded_at = 1 WHERE succeeded_at IS NOT NULL;');
  const refunded = await paid('stripe', player);
  const disputed = await paid('stripe', player);
  const other = await paid('stripe', player);
  player.refunds.set('re_outside', {
    id: 're_outside',
    amount: 1000,
    currency: 'usd',
    payment_intent: refunded.payment,
    created: player.seconds(),
  });
  player.disputes.set('dp_quiet', {
    id: 'dp_quiet',
    amount: 4999,
    currency: 'usd',
    payment_intent: disputed.payment,
    created: player.seconds(),
  });
  player.charges.get(other.payment).amount = 4000;
  const result = await compare('stripe');
  assert.deepEqual(
    [result.charges, result.refunds, result.disputes, result.differences],
    [3, 1, 1, 3],
    JSON.stringify(result),
  );
  const found = (await reviews()).map((r) => r.reason).join('\n');
  for (const part of [
    `given back more of the payment ${refunded.payment}`,
    'a dispute dp_quiet',
    `another amount for the payment ${other.payment}`,
  ])
    assert.ok(found.includes(part), found);
});

test('a dispute that was decided there and is open here; a refund that failed there is none', async () => {
  const player = await shop.played('stripe');
  shop.seed.sql('UPDATE payment SET succeeded_at = 1 WHERE succeeded_at IS NOT NULL;');
  const order = await paid('stripe', player);
  const about = {
    id: 'dp_late',
    object: 'dispute',
    payment_intent: order.payment,
    amount: 4999,
    currency: 'usd',
    created: player.seconds(),
  };
  dataOf(
    await shop.event(
      'stripe',
      stripeEvent('charge.dispute.created', {
        order: order.id,
        amount: 4999,
        intent: order.payment,
        ...about,
        status: 'needs_response',
      }),
    ),
  );
  player.disputes.set('dp_late', { ...about, status: 'needs_response' });
  player.refunds.set('re_failed', {
    id: 're_failed',
    amount: 1000,
    currency: 'usd',
    payment_intent: order.payment,
    created: player.seconds(),
    status: 'failed',
  });
  assert.deepEqual([(await compare('stripe')).differences, (await books('stripe')).agrees], [0, true]);
  player.disputes.get('dp_late').status = 'lost';
  assert.equal((await compare('stripe')).differences, 1);
  assert.ok((await reviews()).some((r) => r.reason.includes('has decided the dispute dp_late, and here it is open')));
});

test('long books are read to their end', async () => {
  const player = await shop.played('stripe');
  for (let i = 0; i < 250; i++) player.charge(`pi_many_${i}`, 100 + i);
  assert.equal((await compare('stripe')).charges, 250);
  assert.ok(player.to('GET', /^\/v1\/charges/).length >= 3);
});

test('books that cannot be read are said to be', async () => {
  const player = await shop.played('razorpay');
  player.fail({ status: 400, match: /^GET \/v1\/payments/ });
  const result = await compare('razorpay');
  assert.deepEqual([result.agrees, result.error], [false, 'answered 400']);
  expectError(await shop.admin('POST', '/api/admin/reconciliations/nowhere'), 404, 'not_found');
  expectError(await shop.admin('POST', '/api/admin/reconciliations/sandbox'), 404, 'not_found');
});

test('it comes round by itself', async () => {
  shop.seed.sql('DELETE FROM reconciliation;');
  await shop.souk.restart();
  await shop.until(async () => (await books('stripe')).ran_at, 'compared without being asked', 90000);
});

test('the books are in order', () => shop.check());
