// kill -9 at every step of a payment: while it is made, confirmed and given back, at all providers at once. The doubles of the
// providers count what really happened there: no second page that somebody could pay, no second charge, refund or delivery.
// release: sqlite pg
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LABELS, btcpayEvent, openPaidShop, razorpayEvent, stripeEvent } from '../api/lib/gateways.mjs';
import { dataOf } from '../api/lib/http.mjs';
import { issue, paypalHeaders } from '../api/lib/certificates.mjs';
import { SLOW } from '../api/lib/souk.mjs';

const PROVIDERS = ['stripe', 'razorpay', 'paypal', 'btcpay'];
const CREATE = {
  stripe: /^POST \/v1\/checkout\/sessions$/,
  razorpay: /^POST \/v1\/payment_links$/,
  paypal: /^POST \/v2\/checkout\/orders$/,
  btcpay: /^POST .*\/invoices$/,
};
const CONFIRM = { paypal: /^POST .*\/capture$/, btcpay: /^GET .*\/invoices\/\w+$/ }; // the others are believed by their signature
const REFUND = {
  stripe: /^POST \/v1\/refunds/,
  razorpay: /^POST .*\/refund$/,
  paypal: /^POST .*\/refund$/,
  btcpay: /^POST .*\/refund$/,
};

let shop, editor, paypal, players;

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor', price: 4999, delivery_type: 'license_key' });
  paypal = issue('messageverificationcerts.sandbox.paypal.com', { rsa: true });
  players = {};
  for (const provider of PROVIDERS)
    players[provider] = await shop.played(provider, provider === 'paypal' ? { ca_bundle: paypal.authority } : {});
  players.paypal.certificate = paypal.certificate;
});
after(() => shop.stop());

/** The moments of a call at which the server dies. `here` is called at this moment of the call and gives what to wait for. */
const MOMENTS = {
  'before the provider does anything': (here) => ({ then: here, reset: true }),
  'after it was done, before its answer': (here) => ({ effect: true, then: here, reset: true }),
  'when the answer has left': (here) => ({ answered: here }),
};
const [BEFORE, UNHEARD] = Object.keys(MOMENTS);

/** `died`: the next call that matches, at each of these providers, has come to the moment, and the server was killed. */
function killAt(matches, moment, kill = () => shop.souk.kill9()) {
  let missing = Object.keys(matches).length;
  const died = new Promise((resolve, reject) => {
    const here = () => {
      missing -= 1;
      if (missing === 0) kill().then(resolve, reject);
      return died;
    };
    for (const [provider, match] of Object.entries(matches))
      players[provider].fail({ match, ...MOMENTS[moment](() => here()) });
  });
  return died;
}

async function rise() {
  await shop.souk.start();
  shop.seed.sql("UPDATE outbox SET due_at = 1 WHERE status = 'waiting';");
}

const quiet = (kind) =>
  shop.until(() => {
    shop.hurry(kind);
    return shop.seed.number(`SELECT COUNT(*) FROM outbox WHERE kind = '${kind}' AND status = 'waiting'`) === 0;
  }, `every ${kind} has ended`);

/** Nobody else writes until `release`: what the server is told meanwhile waits for its transaction. */
async function holdDatabase() {
  const { engine, dbArg } = shop.seed;
  const [program, args, lock] =
    engine === 'sqlite'
      ? ['sqlite3', ['-batch', dbArg], 'BEGIN IMMEDIATE;']
      : ['psql', ['-XqAt', '-d', dbArg], 'BEGIN; LOCK TABLE webhook_event IN ACCESS EXCLUSIVE MODE;'];
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.write(`${engine === 'sqlite' ? '.timeout 20000\n' : ''}${lock}\nSELECT 'held';\n`);
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.end('ROLLBACK;\n');
    await once(child, 'exit');
  };
}

const orderOf = async (deal) => dataOf(await shop.souk.get('/api/customer/orders', { token: deal.buyer.token }))[0];
const deliveries = (id) =>
  shop.seed.number(
    `SELECT COUNT(*) FROM delivery d JOIN order_item i ON i.id = d.order_item_id WHERE i.order_id = ${id}`,
  );

/** What the provider tells when the customer has paid; for PayPal, that they agreed. */
function tell(provider, { id, payment }) {
  if (provider === 'paypal') {
    const raw = JSON.stringify({
      id: `WH-${id}`,
      create_time: new Date().toISOString(),
      event_type: 'CHECKOUT.ORDER.APPROVED',
      resource: { id: payment, purchase_units: [{ custom_id: String(id) }] },
    });
    return shop.post(LABELS.paypal, raw, paypalHeaders(raw, paypal.key));
  }
  const event = {
    stripe: () =>
      stripeEvent('payment_intent.succeeded', { order: id, amount: 4999, intent: payment }, { id: `evt_kill_${id}` }),
    razorpay: () => ({
      ...razorpayEvent('payment.captured', { order: id, amount: 4999, payment }),
      created_at: 1,
      nonce: `kill-${id}`,
    }),
    btcpay: () => ({
      ...btcpayEvent('InvoiceSettled', { invoice: payment, order: id }),
      originalDeliveryId: `kill-${id}`,
    }),
  }[provider]();
  return shop.event(provider, event);
}
/** As providers do: 503 means that it could not be taken just now. */
async function tellUntilTaken(provider, deal) {
  for (let tries = 0; ; tries++) {
    const answer = await tell(provider, deal);
    if (answer.status !== 503 || tries === 20) return answer;
    await sleep(100);
  }
}
const lost = (answer) => answer.catch(() => null);

/** The two that call nobody to confirm die in their own transaction: before it, after it, or when they have answered. */
async function tellAndDie(deals, moment) {
  const [asked, trusted] = [Object.keys(CONFIRM), PROVIDERS.filter((p) => !CONFIRM[p])];
  const answers = [];
  const died = killAt(CONFIRM, moment, async () => {
    const release = moment === BEFORE ? await holdDatabase() : null;
    const told = trusted.map((p) => lost(tell(p, deals[p])));
    answers.push(...told);
    if (release) {
      await sleep(50);
    } else if (moment === UNHEARD) {
      await shop.until(() => trusted.every((p) => deliveries(deals[p].id) === 1), 'their transactions are over');
    } else {
      await Promise.all(told);
    }
    await shop.souk.kill9();
    await release?.();
  });
  answers.push(...asked.map((p) => lost(tell(p, deals[p]))));
  await died;
  await Promise.all(answers);
}

// What a sanitizer could find is the same at every moment.
for (const moment of SLOW > 1 ? [UNHEARD] : Object.keys(MOMENTS)) {
  test(`killed ${moment}: made once, paid once, delivered once, given back once, at every provider`, async () => {
    const deals = {};
    for (const provider of PROVIDERS) {
      deals[provider] = { buyer: await shop.buyerWith([[editor, 1]]) };
      deals[provider].had = { charges: players[provider].charges.size, refunds: players[provider].refunds.size };
    }
    const each = (what) => Promise.all(PROVIDERS.map((p) => what(p, deals[p], players[p])));

    // While the pages are made.
    let died = killAt(CREATE, moment);
    const answers = PROVIDERS.map((p) => lost(shop.checkoutAnswer(deals[p].buyer, LABELS[p])));
    await died;
    await Promise.all(answers);
    await rise();
    await quiet('create');
    await each(async (provider, deal, player) => {
      const order = await orderOf(deal);
      assert.equal(order.status, 'pending', provider);
      deal.id = order.id;
      const pages = [...player.made.values()].filter((m) => player.rules.orderOf(m) === String(order.id));
      assert.equal(pages.length, 1, `one page at ${provider}`);
      deal.payment = player.pay(order.id);
    });

    // While the money is confirmed. A provider sends its message until it is taken.
    await tellAndDie(deals, moment);
    await rise();
    for (let i = 0; i < 2; i++) await each(async (provider, deal) => dataOf(await tellUntilTaken(provider, deal)));
    await shop.until(async () => {
      for (const kind of ['capture', 'ask']) shop.hurry(kind);
      return (await Promise.all(PROVIDERS.map((p) => orderOf(deals[p])))).every((o) => o.status === 'confirmed');
    }, 'confirmed');
    for (const provider of PROVIDERS) {
      assert.equal(players[provider].charges.size, deals[provider].had.charges + 1, `one charge at ${provider}`);
      assert.equal(deliveries(deals[provider].id), 1, `one delivery of ${provider}`);
    }

    // While it is given back.
    died = killAt(REFUND, moment);
    await each((provider, deal) => lost(shop.admin('POST', `/api/admin/orders/${deal.id}/refund`, {})));
    await died;
    await rise();
    await quiet('refund');
    for (const provider of PROVIDERS)
      assert.equal(players[provider].refunds.size, deals[provider].had.refunds + 1, `one refund at ${provider}`);
    await shop.until(
      async () => (await Promise.all(PROVIDERS.map((p) => orderOf(deals[p])))).every((o) => o.status === 'refunded'),
      'refunded',
    );
    await shop.check();
  });
}
