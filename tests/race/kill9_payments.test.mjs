// kill -9 at every step of a payment: while it is made, confirmed and given back. The doubles of the providers count what really
// happened there: no second page that somebody could pay, no second charge, refund or delivery.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LABELS, btcpayEvent, openPaidShop, razorpayEvent, stripeEvent } from '../api/lib/gateways.mjs';
import { dataOf } from '../api/lib/http.mjs';
import { issue, paypalHeaders } from '../api/lib/certificates.mjs';

let shop, editor, paypal;

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor', price: 4999, delivery_type: 'license_key' });
  paypal = issue('messageverificationcerts.sandbox.paypal.com', { rsa: true });
});
after(() => shop.stop());

/** The moments of a call at which the server dies: before anything happened, after it happened unheard, and after the answer left. */
const MOMENTS = {
  'before the provider does anything': (kill) => ({ then: kill, reset: true }),
  'after it was done, before its answer': (kill) => ({ effect: true, then: kill, reset: true }),
  'when the answer has left': (kill) => ({ answered: kill }),
};

/** The next call that matches kills the server; `died` is the death. */
function killAt(player, match, moment) {
  const death = {};
  death.died = new Promise((resolve, reject) => {
    const kill = () => shop.souk.kill9().then(resolve, reject);
    player.fail({ match, ...MOMENTS[moment](kill) });
  });
  return death.died;
}

async function rise() {
  await shop.souk.start();
  shop.seed.sql("UPDATE outbox SET due_at = 1 WHERE status = 'waiting';");
}

const quiet = (kind) => shop.until(() => {
  shop.hurry(kind);
  return shop.seed.number(`SELECT COUNT(*) FROM outbox WHERE kind = '${kind}' AND status = 'waiting'`) === 0;
}, `every ${kind} has ended`);

const orderOf = async (buyer) => dataOf(await shop.souk.get('/api/customer/orders', { token: buyer.token }))[0];
const deliveries = (order) => shop.seed.number(`SELECT COUNT(*) FROM delivery d JOIN order_item i ON i.id = d.order_item_id WHERE i.order_id = ${order.id}`);

/** What the provider tells when the customer has paid; for PayPal, that they agreed. */
async function tell(provider, player, order, payment) {
  if (provider === 'paypal') {
    player.certificate = paypal.certificate;
    const raw = JSON.stringify({ id: `WH-${order.id}`, create_time: new Date().toISOString(), event_type: 'CHECKOUT.ORDER.APPROVED',
      resource: { id: payment, purchase_units: [{ custom_id: String(order.id) }] } });
    return shop.post(LABELS.paypal, raw, paypalHeaders(raw, paypal.key));
  }
  const event = {
    stripe: () => stripeEvent('payment_intent.succeeded', { order: order.id, amount: 4999, intent: payment }, { id: `evt_kill_${order.id}` }),
    razorpay: () => razorpayEvent('payment.captured', { order: order.id, amount: 4999, payment }),
    btcpay: () => ({ ...btcpayEvent('InvoiceSettled', { invoice: payment, order: order.id }), originalDeliveryId: `kill-${order.id}` }),
  }[provider]();
  return shop.event(provider, event);
}

const CREATE = { stripe: /^POST \/v1\/checkout\/sessions$/, razorpay: /^POST \/v1\/payment_links$/, paypal: /^POST \/v2\/checkout\/orders$/, btcpay: /^POST .*\/invoices$/ };
const CONFIRM = { paypal: /^POST .*\/capture$/, btcpay: /^GET .*\/invoices\/\w+$/ };
const REFUND = { stripe: /^POST \/v1\/refunds/, razorpay: /^POST .*\/refund$/, paypal: /^POST .*\/refund$/, btcpay: /^POST .*\/refund$/ };

for (const provider of ['stripe', 'razorpay', 'paypal', 'btcpay']) {
  for (const moment of Object.keys(MOMENTS)) {
    test(`${provider}, killed ${moment}: made once, paid once, delivered once, given back once`, async () => {
      const player = await shop.played(provider, provider === 'paypal' ? { ca_bundle: paypal.authority } : {});
      const buyer = await shop.buyerWith([[editor, 1]]);

      // While the page is made.
      let died = killAt(player, CREATE[provider], moment);
      const lost = shop.checkoutAnswer(buyer, LABELS[provider]).catch(() => null);
      await died;
      await lost;
      await rise();
      await quiet('create');
      const order = await orderOf(buyer);
      assert.equal(order.status, 'pending');
      const pages = [...player.made.values()].filter((m) => player.rules.orderOf(m) === String(order.id));
      assert.equal(pages.length, 1, 'one page');

      // While the money is confirmed. The provider sends its message until it is taken.
      const payment = player.pay(order.id);
      if (CONFIRM[provider]) {
        died = killAt(player, CONFIRM[provider], moment);
        const first = tell(provider, player, order, payment).catch(() => null);
        await died;
        await first;
        await rise();
      } else {
        const first = tell(provider, player, order, payment).catch(() => null);
        await shop.souk.kill9();
        await first;
        await rise();
      }
      for (let i = 0; i < 2; i++) dataOf(await tell(provider, player, order, payment));
      await shop.until(async () => { shop.hurry('capture'); shop.hurry('ask'); return (await orderOf(buyer)).status === 'confirmed'; }, 'confirmed');
      assert.equal([...player.charges.values()].length, 1, 'one charge');
      assert.equal(deliveries(order), 1, 'one delivery');

      // While it is given back.
      died = killAt(player, REFUND[provider], moment);
      await shop.admin('POST', `/api/admin/orders/${order.id}/refund`, {}).catch(() => null);
      await died;
      await rise();
      await quiet('refund');
      assert.equal(player.refunds.size, 1, 'one refund');
      await shop.until(async () => (await orderOf(buyer)).status === 'refunded', 'refunded');
      await shop.check();
    });
  }
}
