// tests/api/lib/tellers.mjs - what can happen at each provider, and what the provider then tells: one vocabulary for all of them.
//
// A teller plays one provider for a shop. A deal is an order or a top-up there: {ref, page, payment, amount (minor)}. What a
// provider does not have is missing; NEVER (situations.mjs) says why.
import { setTimeout as sleep } from 'node:timers/promises';
import { issue, paypalHeaders } from './certificates.mjs';
import { LABELS, btcpayEvent, razorpayEvent, stripeEvent } from './gateways.mjs';
import { dataOf } from './http.mjs';
import { unique } from './players/unique.mjs';

class Stripe {
  label = LABELS.stripe;

  async open(shop) {
    this.shop = shop;
    this.player = await shop.played('stripe');
  }

  async tell(type, deal, object, event) {
    return dataOf(
      await this.shop.event(
        'stripe',
        stripeEvent(type, { order: deal.ref, amount: deal.amount, intent: deal.payment, ...object }, event),
      ),
    );
  }

  async pay(deal, { amount = deal.amount, currency = 'usd', silent } = {}) {
    deal.payment = this.player.rules.pay(this.player, deal.page, { amount });
    deal.event = { id: `evt_${unique()}` };
    deal.paid = { amount, currency };
    if (!silent) await this.tell('payment_intent.succeeded', deal, deal.paid, deal.event);
  }
  repeat(deal) {
    return this.tell('payment_intent.succeeded', deal, deal.paid, deal.event);
  }
  decline(deal) {
    return this.tell('payment_intent.payment_failed', deal, { intent: `pi_${unique()}` });
  }
  expire(deal) {
    return this.tell('checkout.session.expired', deal, { ...deal.page, status: 'expired', url: null });
  }
  async pay_twice(deal) {
    const other = { ...deal, payment: this.player.charge(`pi_${unique()}`, deal.amount) };
    await this.tell('payment_intent.succeeded', other);
  }
  refund(deal, total) {
    return this.tell('charge.refunded', deal, { amount_refunded: total, refunded: total === deal.amount });
  }
  async refund_early(deal, total) {
    deal.payment = this.player.rules.pay(this.player, deal.page);
    await this.refund(deal, total);
    await this.tell('payment_intent.succeeded', deal);
  }
  return_refund(deal, amount) {
    return this.tell('refund.failed', deal, {
      id: `re_${unique()}`,
      object: 'refund',
      payment_intent: deal.payment,
      amount,
    });
  }
  dispute(deal, how, amount = deal.amount) {
    const status = { opened: 'needs_response', won: 'won', lost: 'lost', withdrawn: 'warning_closed' }[how];
    return this.tell(how === 'opened' ? 'charge.dispute.created' : 'charge.dispute.closed', deal, {
      id: `dp_${deal.payment}`,
      object: 'dispute',
      payment_intent: deal.payment,
      amount,
      status,
    });
  }
  refuse_refunds() {
    this.player.fail({ match: /^POST \/v1\/refunds/, status: 400, body: { error: { code: 'charge_disputed' } } });
  }
}

class Razorpay {
  label = LABELS.razorpay;

  async open(shop) {
    this.shop = shop;
    this.player = await shop.played('razorpay');
  }

  async tell(event, deal, more = {}, payload = {}) {
    const body = razorpayEvent(event, { order: deal.ref, amount: deal.amount, payment: deal.payment, ...more });
    Object.assign(body.payload, payload);
    deal.body = JSON.stringify(body);
    return dataOf(await this.shop.event('razorpay', deal.body));
  }

  async pay(deal, { amount = deal.amount, currency = 'usd', silent } = {}) {
    deal.payment = this.player.rules.pay(this.player, deal.page, { amount });
    if (!silent) await this.tell('payment.captured', deal, { amount, currency: currency.toUpperCase() });
  }
  async repeat(deal) {
    return dataOf(await this.shop.event('razorpay', deal.body));
  }
  decline(deal) {
    return this.tell('payment.failed', deal, { payment: `pay_${unique()}` });
  }
  expire(deal) {
    return this.tell(
      'payment_link.expired',
      deal,
      {},
      { payment: undefined, payment_link: { entity: { ...deal.page, status: 'expired' } } },
    );
  }
  pay_twice(deal) {
    return this.tell('payment.captured', { ...deal, payment: this.player.charge(`pay_${unique()}`, deal.amount) });
  }
  refund(deal, total) {
    return this.tell('refund.processed', deal, { refund: `rfnd_${unique()}`, refunded: total });
  }
  async refund_early(deal, total) {
    deal.payment = this.player.rules.pay(this.player, deal.page);
    await this.refund(deal, total);
    await this.tell('payment.captured', deal);
  }
  return_refund(deal, amount) {
    return this.tell(
      'refund.failed',
      deal,
      {},
      { refund: { entity: { id: `rfnd_${unique()}`, amount, payment_id: deal.payment } } },
    );
  }
  dispute(deal, how, amount = deal.amount) {
    const word = { opened: 'created', won: 'won', lost: 'lost', withdrawn: 'closed' }[how];
    return this.tell(
      `payment.dispute.${word}`,
      deal,
      {},
      {
        dispute: {
          entity: {
            id: `disp_${deal.payment}`,
            payment_id: deal.payment,
            amount,
            currency: 'USD',
            amount_deducted: how === 'lost' ? amount : 0,
          },
        },
      },
    );
  }
  refuse_refunds() {
    this.player.fail({ match: /^POST .*\/refund$/, status: 400, body: { error: { code: 'BAD_REQUEST_ERROR' } } });
  }
}

const usd = (minor) => ({ currency_code: 'USD', value: (minor / 100).toFixed(2) });

class PayPal {
  label = LABELS.paypal;

  async open(shop) {
    this.shop = shop;
    this.signer = issue('messageverificationcerts.sandbox.paypal.com', { rsa: true });
    this.player = await shop.played('paypal', { ca_bundle: this.signer.authority });
    this.player.certificate = this.signer.certificate;
  }

  async tell(event_type, resource) {
    const raw = JSON.stringify({ id: `WH-${unique()}`, create_time: new Date().toISOString(), event_type, resource });
    this.last = { raw, headers: paypalHeaders(raw, this.signer.key) };
    return dataOf(await this.shop.post(this.label, raw, this.last.headers));
  }

  async approve(deal) {
    this.player.rules.pay(this.player, deal.page);
    await this.tell('CHECKOUT.ORDER.APPROVED', { id: deal.page.id, purchase_units: [{ custom_id: deal.ref }] });
  }
  async pay(deal, { silent } = {}) {
    if (silent) {
      this.player.rules.pay(this.player, deal.page);
      return;
    }
    await this.approve(deal);
    await this.shop.until(() => {
      deal.payment = deal.page.purchase_units[0].payments?.captures[0].id;
      return deal.payment;
    }, 'captured');
    await this.tell('PAYMENT.CAPTURE.COMPLETED', this.player.made.get(deal.payment));
  }
  async repeat() {
    return dataOf(await this.shop.post(this.label, this.last.raw, this.last.headers));
  }
  async decline(deal) {
    deal.page.declines = 1;
    await this.approve(deal);
    await this.shop.until(() => deal.page.declines === 0, 'declined');
  }
  async expire(deal) {
    deal.page.captures = 'DECLINED'; // an order is captured once
    await this.approve(deal);
  }
  async refund(deal, total) {
    const charge = this.player.charges.get(deal.payment);
    const made = {
      id: `REF${unique().toUpperCase()}`,
      status: 'COMPLETED',
      amount: usd(total - charge.refunded),
      create_time: new Date().toISOString(),
      seller_payable_breakdown: { total_refunded_amount: usd(total) },
      links: [{ rel: 'up', href: `${this.player.url}/v2/payments/captures/${deal.payment}` }],
    };
    charge.refunded = total;
    this.player.made.set(made.id, made);
    return this.tell('PAYMENT.CAPTURE.REFUNDED', made);
  }
  dispute(deal, how, amount = deal.amount) {
    const code = { won: 'RESOLVED_SELLER_FAVOUR', lost: 'RESOLVED_BUYER_FAVOUR', withdrawn: 'CANCELED_BY_BUYER' }[how];
    const made = {
      dispute_id: `PP-D-${deal.payment}`,
      status: code ? 'RESOLVED' : 'OPEN',
      dispute_amount: usd(amount),
      update_time: new Date().toISOString(),
      disputed_transactions: [{ seller_transaction_id: deal.payment }],
      ...(code ? { dispute_outcome: { outcome_code: code, amount_refunded: usd(amount) } } : {}),
    };
    this.player.disputes.set(made.dispute_id, made);
    return this.tell(code ? 'CUSTOMER.DISPUTE.RESOLVED' : 'CUSTOMER.DISPUTE.CREATED', made);
  }
  refuse_refunds() {
    this.player.fail({
      match: /^POST .*\/refund$/,
      status: 422,
      body: { name: 'UNPROCESSABLE_ENTITY', details: [{ issue: 'REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK' }] },
    });
  }
}

class BtcPay {
  label = LABELS.btcpay;

  async open(shop) {
    this.shop = shop;
    this.player = await shop.played('btcpay');
  }

  async tell(type, deal) {
    deal.body = JSON.stringify(btcpayEvent(type, { invoice: deal.page.id, order: deal.ref }));
    return dataOf(await this.shop.event('btcpay', deal.body));
  }

  async pay(deal, { amount = deal.amount, silent } = {}) {
    const paid = (amount / 100).toFixed(2);
    const late = deal.page.status === 'Expired';
    const state = late
      ? { status: 'Expired', additionalStatus: 'PaidLate' }
      : amount < deal.amount
        ? { status: 'Expired', additionalStatus: 'PaidPartial' }
        : { status: 'Settled', additionalStatus: amount > deal.amount ? 'PaidOver' : 'None' };
    deal.payment = this.player.rules.pay(this.player, deal.page, { amount: paid, ...state });
    if (!silent) await this.tell(state.status === 'Settled' ? 'InvoiceSettled' : 'InvoiceExpired', deal);
  }
  async repeat(deal) {
    return dataOf(await this.shop.event('btcpay', deal.body));
  }
  expire(deal) {
    deal.page.status = 'Expired';
    return this.tell('InvoiceExpired', deal);
  }
  refuse_refunds() {
    this.player.fail({ match: /^POST .*\/refund$/, status: 422, body: { code: 'non-refundable' } });
  }
}

const SANDBOX_KEY = 'sbx_key_for_tests_only';

class Sandbox {
  label = 'sandbox';

  async open(shop) {
    this.shop = shop;
    await shop.connect('sandbox', { api_key: SANDBOX_KEY });
  }

  async play(deal, action, more) {
    const ref = new URL(deal.url).pathname.split('/').pop();
    return dataOf(
      await this.shop.souk.request('POST', `/sandbox/api/payments/${ref}/play`, {
        unchecked: true,
        headers: { Authorization: `Sandbox ${SANDBOX_KEY}` },
        body: { action, ...more },
      }),
    );
  }

  pay(deal, { amount = deal.amount, currency = 'usd', silent } = {}) {
    const action =
      currency !== 'usd'
        ? 'pay_other_currency'
        : amount < deal.amount
          ? 'pay_part'
          : amount > deal.amount
            ? 'pay_too_much'
            : 'pay';
    return this.play(deal, action, { twice: deal.twice, silent });
  }
  async repeat() {
    await sleep(0);
  } // it was sent twice from the start: deal.twice
  decline(deal) {
    return this.play(deal, 'fail');
  }
  expire(deal) {
    return this.play(deal, 'expire');
  }
  pay_twice(deal) {
    return this.play(deal, 'pay_twice');
  }
  refund(deal, total) {
    return this.play(deal, total < deal.amount ? 'refund_part' : 'refund');
  }
  async refund_early(deal) {
    await this.play(deal, 'pay_swapped');
    await this.shop.until(
      async () => (await this.shop.events('unmatched')).some((e) => e.order_ref === deal.ref),
      'the refund comes first',
    );
    this.shop.hurry('sandbox');
  }
  return_refund(deal) {
    return this.play(deal, 'refund_returned');
  }
  async dispute(deal, how, amount = deal.amount) {
    await this.play(
      deal,
      how === 'opened' ? 'dispute' : how === 'lost' && amount < deal.amount ? 'dispute_lost_part' : `dispute_${how}`,
    );
  }
  refuse_refunds(deal) {
    return this.play(deal, 'refuse_refunds');
  }
}

export const TELLERS = { stripe: Stripe, razorpay: Razorpay, paypal: PayPal, btcpay: BtcPay, sandbox: Sandbox };
