// Webhooks from eight connections at once, in every order, each of them twice: one final state, one delivery, sums of 0.
// And kill -9 while they come.
// release: pg
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { dataOf } from '../api/lib/http.mjs';
import { openPaidShop, signed, stripeEvent } from '../api/lib/gateways.mjs';
import { SLOW, together } from '../api/lib/souk.mjs';

const WIDTH = 8;

let shop;
let editor;
let clients;

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor', price: 4999 });
  await shop.listen('stripe');
  clients = Array.from({ length: WIDTH }, () => shop.souk.newClient());
});
after(async () => {
  clients.forEach((c) => c.close());
  await shop.stop();
});

let counter = 0;

async function pending(product = editor) {
  const buyer = await shop.buyerWith([[product, 1]]);
  const { order_id } = await shop.checkout(buyer, 'card_gateway_a');
  counter += 1;
  return { buyer, id: order_id, intent: `pi_race_${counter}` };
}

const kinds = {
  success: (o) => stripeEvent('payment_intent.succeeded', { order: o.id, amount: 4999, intent: o.intent }),
  failure: (o) => stripeEvent('payment_intent.payment_failed', { order: o.id, amount: 4999, intent: o.intent }),
  part: (o) =>
    stripeEvent('charge.refunded', {
      order: o.id,
      amount: 4999,
      intent: o.intent,
      amount_refunded: 1500,
      refunded: false,
    }),
  full: (o) =>
    stripeEvent('charge.refunded', {
      order: o.id,
      amount: 4999,
      intent: o.intent,
      amount_refunded: 4999,
      refunded: true,
    }),
};

function* permutations(items, n = items.length) {
  if (n <= 1) {
    yield [...items];
    return;
  }
  for (let i = 0; i < n; i++) {
    yield* permutations(items, n - 1);
    const j = n % 2 === 0 ? i : 0;
    [items[n - 1], items[j]] = [items[j], items[n - 1]];
  }
}

function send(client, event) {
  const raw = JSON.stringify(event);
  return client.request('POST', '/webhook/card_gateway_a', {
    body: raw,
    type: 'application/json',
    headers: signed('stripe', raw),
    timeout_ms: 60000 * SLOW,
  });
}

/** What must hold for an order whatever came in whatever order. */
async function checkOrder(order, wanted) {
  const seen = await shop.order(order.buyer, order.id);
  assert.deepEqual([seen.status, seen.refunded_amount], wanted, JSON.stringify(order));
  const count = (sql) => shop.seed.number(sql);
  const delivered = count(
    `SELECT COUNT(*) FROM delivery d JOIN order_item i ON i.id = d.order_item_id WHERE i.order_id = ${order.id}`,
  );
  assert.equal(delivered, wanted[0] === 'cancelled' ? 0 : 1);
  assert.equal(count(`SELECT COUNT(*) FROM transfer WHERE kind = 'payment' AND reference_id = ${order.id}`), delivered);
  assert.equal(
    count(`SELECT COALESCE(SUM(amount), 0) FROM transfer WHERE kind = 'refund' AND reference_id = ${order.id}`),
    Math.round(wanted[1] * 100),
  );
}

test('every order of success, failure, partial and full refund, one after the other, each twice', async () => {
  for (const names of permutations(['success', 'failure', 'part', 'full'])) {
    const order = await pending();
    for (const name of names) {
      const event = kinds[name](order);
      for (let i = 0; i < 2; i++) assert.equal((await send(clients[i], event)).status, 200);
    }
    await checkOrder(order, ['refunded', 49.99]);
  }
  await shop.check();
});

test('all at once, from eight connections, each four times', async () => {
  const orders = [];
  for (let i = 0; i < (SLOW > 1 ? 8 : 24); i++) orders.push(await pending());
  for (const order of orders) {
    const events = Object.values(kinds).map((make) => make(order));
    const queue = [...events, ...events, ...events, ...events].sort(() => randomInt(3) - 1);
    const answers = await together(queue.length, WIDTH, (i) => send(clients[i % WIDTH], queue[i]));
    assert.deepEqual([...new Set(answers.map((a) => a.status))], [200]);
    await checkOrder(order, ['refunded', 49.99]);
  }
  await shop.check();
});

test('subsets end where they must', async () => {
  const wanted = [
    [['success'], ['confirmed', 0]],
    [['failure'], ['cancelled', 0]],
    [
      ['success', 'failure'],
      ['confirmed', 0],
    ],
    [
      ['success', 'part'],
      ['confirmed', 15],
    ],
    [
      ['success', 'failure', 'part'],
      ['confirmed', 15],
    ],
    [
      ['success', 'full'],
      ['refunded', 49.99],
    ],
  ];
  for (const [names, state] of wanted) {
    for (let round = 0; round < 3; round++) {
      const order = await pending();
      const events = names.map((name) => kinds[name](order));
      const queue = [...events, ...events].sort(() => randomInt(3) - 1);
      await together(queue.length, WIDTH, (i) => send(clients[i % WIDTH], queue[i]));
      await checkOrder(order, state);
    }
  }
  await shop.check();
});

test('many successes for one order under different event ids: one delivery, one payment', async () => {
  const order = await pending();
  const answers = await together(64, WIDTH, (i) => send(clients[i % WIDTH], kinds.success(order)));
  assert.ok(answers.every((a) => a.status === 200));
  await checkOrder(order, ['confirmed', 0]);
  assert.equal(
    shop.seed.number(
      `SELECT COUNT(*) FROM webhook_event w JOIN payment p ON p.id = w.payment_id WHERE p.order_id = ${order.id}`,
    ),
    64,
  );
});

test('a success and a refund that knows its intent alone, at once: the refund always finds its payment', async () => {
  for (let round = 0; round < 40; round++) {
    const order = await pending();
    const alone = stripeEvent('charge.refunded', {
      amount: 4999,
      intent: order.intent,
      amount_refunded: 4999,
      refunded: true,
    });
    await Promise.all([send(clients[0], kinds.success(order)), send(clients[1], alone)]);
    await checkOrder(order, ['refunded', 49.99]);
  }
  await shop.check();
});

test('the last code and two paid orders: one is delivered, the other waits for staff', async () => {
  const codes = shop.seed.product({ name: 'Codes', price: 4999, delivery_type: 'serial_code' });
  for (let round = 0; round < 5; round++) {
    shop.seed.serials(codes, [`LAST-${round}`]);
    const two = [await pending(codes), await pending(codes)];
    await Promise.all(two.map((order, i) => send(clients[i], kinds.success(order))));
    const states = await Promise.all(two.map(async (o) => (await shop.order(o.buyer, o.id)).status));
    assert.deepEqual(states.sort(), ['confirmed', 'pending']);
  }
  await shop.check();
});

test('the control: an order that was delivered twice or paid twice is found', async () => {
  const order = await pending();
  dataOf(await send(clients[0], kinds.success(order)));
  await checkOrder(order, ['confirmed', 0]);
  await assert.rejects(checkOrder(order, ['refunded', 49.99]));
  shop.seed.sql(
    `INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at) VALUES (2, 1, 4999, 'payment', ${order.id}, 'twice', 1);`,
  );
  await assert.rejects(checkOrder(order, ['confirmed', 0]));
  const check = await shop.souk.cli(['check']);
  assert.equal(check.code, 1);
  assert.match(check.stdout + check.stderr, /order_paid/);
  shop.seed.sql("DELETE FROM transfer WHERE description = 'twice';");
});

test('kill -9 while events come: what was answered holds, and repeating the rest changes nothing more', async () => {
  for (let round = 0; round < (SLOW > 1 ? 1 : 3); round++) {
    const orders = [];
    for (let i = 0; i < 20; i++) orders.push(await pending());
    const events = orders.flatMap((o) => [kinds.success(o), kinds.part(o)]);
    const acknowledged = new Set();
    const storm = together(events.length, WIDTH, async (i) => {
      try {
        const answer = await send(clients[i % WIDTH], events[i]);
        if (answer.status === 200) acknowledged.add(i);
      } catch {
        /* the server is gone */
      }
    });
    await sleep(randomInt(5, 60));
    await shop.souk.kill9();
    await storm;
    await shop.souk.start();
    clients.forEach((c) => c.close());
    clients = Array.from({ length: WIDTH }, () => shop.souk.newClient());
    for (const i of acknowledged) {
      const kept = shop.seed.number(`SELECT COUNT(*) FROM webhook_event WHERE event_id = '${events[i].id}'`);
      assert.equal(kept, 1, 'an acknowledged event is not there');
    }
    // The gateway sends everything again, as it does.
    for (let again = 0; again < 2; again++) {
      const answers = await together(events.length, WIDTH, (i) => send(clients[i % WIDTH], events[i]));
      assert.ok(answers.every((a) => a.status === 200));
    }
    for (const order of orders) await checkOrder(order, ['confirmed', 15]);
    await shop.check();
  }
});

test('kill -9 between a checkout and its gateway: the payment page is made all the same, once', async () => {
  const stripe = await shop.played('stripe');
  const buyer = await shop.buyerWith([[editor, 1]]);
  stripe.fail({ hang: true, match: /sessions/ });
  const lost = shop.checkoutAnswer(buyer, 'card_gateway_a').catch((e) => e);
  // Payments of the cases before may still be asked about.
  const create = await shop.until(
    () => stripe.calls.find((c) => c.method === 'POST' && /sessions$/.test(c.path)),
    'the gateway is being called',
  );
  await shop.souk.kill9();
  await lost;
  await shop.souk.start();
  shop.hurry('create');
  const [order] = dataOf(await shop.souk.get('/api/customer/orders', { token: buyer.token }));
  assert.equal(order.status, 'pending');
  const reference = create.headers['idempotency-key'];
  const payment = await shop.until(async () => {
    const p = await shop.payment(buyer, reference);
    return p.url && p;
  }, 'an address');
  assert.equal(payment.order_id, order.id);
  assert.equal(stripe.made.size, 1);
});
