// Every cell of the table in docs/payments.md: a situation at a provider, and what the API then says of the order, the money, and
// what customer and staff see. The books are checked at the end.
// runs: release
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { openPaidShop } from './lib/gateways.mjs';
import { dataOf } from './lib/http.mjs';
import { readSteps } from '../../web/docs/states.mjs';
import { AMOUNT, BEFORE, PROVIDERS, SITUATIONS, happens } from './lib/situations.mjs';
import { ENGINE } from './lib/souk.mjs';
import { TELLERS } from './lib/tellers.mjs';

/** For what happens behind the API: a provider is asked, an event comes. */
const SEEN_MS = 60000;

let shop;
let editor;
let codes;
let customer; // of all orders; a top-up has a customer of its own, whose wallet is empty
const tellers = {};

before(async () => {
  shop = await openPaidShop();
  editor = shop.seed.product({ name: 'Editor', price: AMOUNT });
  codes = shop.seed.product({ name: 'Codes', price: AMOUNT, delivery_type: 'serial_code' });
  customer = await shop.buyer({ balance: 0 });
  for (const name of PROVIDERS) {
    tellers[name] = new TELLERS[name]();
    await tellers[name].open(shop);
  }
  if (ENGINE === 'sqlite') watchSteps();
});
after(() => shop.stop());

/** The tables whose rows have the life cycles of docs/concepts.md, and what each step of theirs is written down in. */
const WATCHED = { order: 'orders', payment: 'payment', refund: 'refund', license: 'license' };

function watchSteps() {
  const note = (noun, from) => `INSERT OR IGNORE INTO step_seen VALUES ('${noun}', ${from}, new.status);`;
  shop.seed.sql('CREATE TABLE step_seen (noun TEXT, was TEXT, is_now TEXT, PRIMARY KEY (noun, was, is_now));');
  for (const [noun, table] of Object.entries(WATCHED))
    shop.seed.sql(
      `CREATE TRIGGER ${noun}_made AFTER INSERT ON ${table} BEGIN ${note(noun, "'start'")} END;` +
        `CREATE TRIGGER ${noun}_step AFTER UPDATE ON ${table} WHEN old.status <> new.status BEGIN ${note(noun, 'old.status')} END;`,
    );
}

const list = async (path, token) => dataOf(await shop.souk.get(path, { token }));
const openReviews = () => list('/api/admin/reviews?status=open&limit=5', shop.owner);
const newest = (rows) => Math.max(0, ...rows.map((r) => r.id));

/** A payment of AMOUNT that waits at the provider, and what can be asked about it. */
class Deal {
  amount = AMOUNT;

  constructor(provider, { topup, sold_out }) {
    Object.assign(this, { provider, topup, sold_out });
  }

  async make() {
    this.since = newest(await openReviews());
    this.buyer = this.topup ? await shop.buyer({ balance: 0 }) : customer;
    const teller = tellers[this.provider];
    if (!this.topup)
      dataOf(
        await shop.souk.post(
          '/api/store/cart/add',
          { product_id: (this.sold_out ? codes : editor).id, quantity: 1 },
          { token: customer.token },
        ),
      );
    const made = this.topup
      ? dataOf(
          await shop.souk.post(
            '/api/customer/wallet/topup',
            { amount: AMOUNT / 100, gateway: teller.label },
            { token: this.buyer.token },
          ),
          201,
        )
      : await shop.checkout(this.buyer, teller.label);
    this.id = made.order_id;
    this.url = made.payment.url;
    this.page = teller.player && [...teller.player.made.values()].at(-1);
    const [payment] = await this.payments();
    this.ref = this.topup ? `topup-${payment.id}` : String(this.id);
  }

  /** Of this deal: others of the same customer may still be going on. */
  async notifications() {
    const all = await list('/api/customer/notifications?limit=20', this.buyer.token);
    return this.topup ? all : all.filter((n) => new RegExp(`#${this.id}\\b`).test(n.message));
  }

  /** What fits no payment names no order. */
  concerns(review) {
    return (
      review.id > this.since &&
      (review.kind === 'unmatched' || (review.kind !== 'reconciliation' && review.order_id === (this.id ?? null)))
    );
  }

  async payments() {
    const all = await list(`/api/admin/payments?limit=5${this.id ? `&order_id=${this.id}` : ''}`, shop.owner);
    return all.filter((p) => p.account_id === this.buyer.id);
  }

  refund() {
    return shop.admin('POST', `/api/admin/orders/${this.id}/refund`, {}).then(dataOf);
  }

  /** The wallet's money is gone, as staff would take it. */
  async spend() {
    dataOf(
      await shop.admin('POST', `/api/admin/customers/${this.buyer.id}/wallet`, {
        amount: -AMOUNT / 100,
        description: 'Spent',
      }),
    );
  }

  /** What the API says now of these fields. Each answer is asked for once, and only when a field needs it. */
  async now(fields) {
    const { token } = this.buyer;
    const needs = (...some) => fields.some((field) => some.includes(field));
    const order =
      !this.topup && needs('order', 'held', 'refunded', 'delivered')
        ? await list(`/api/customer/orders/${this.id}`, token)
        : null;
    const payments = needs('payment', 'received', 'waiting', 'credited', 'returned') ? await this.payments() : [];
    const wallet = needs('wallet', 'frozen', 'debt') ? await shop.wallet(this.buyer) : {};
    const sum = (what) => Math.round(payments.reduce((total, p) => total + p[what] * 100, 0)) / 100;
    const all = {
      order: order && order.status,
      held: order?.on_hold ?? false,
      refunded: order?.refunded_amount ?? 0,
      delivered: order ? order.items.reduce((n, i) => n + (i.deliveries?.length ?? 0), 0) : 0,
      payment: payments.at(-1)?.status,
      received: sum('received'),
      waiting: sum('waiting'),
      credited: sum('credited'),
      returned: sum('returned'),
      wallet: wallet.balance,
      frozen: wallet.frozen ?? 0,
      debt: wallet.debt ?? 0,
      told: needs('told') ? (await this.notifications()).map((n) => n.kind).sort() : [],
      asks: needs('asks') ? await this.#asks() : [],
    };
    return Object.fromEntries(fields.map((field) => [field, all[field]]));
  }

  async #asks() {
    return (await openReviews())
      .filter((r) => this.concerns(r))
      .map((r) => r.kind)
      .sort();
  }

  /**
   * Waits until what the API says is this, as far as it is said; the rest is as it was before anything happened. Only what is not yet as
   * expected is asked for again, and at the end everything once more.
   */
  async seen(wanted, isAll = false) {
    const expected = isAll ? { ...BEFORE, ...wanted } : wanted;
    const deadline = Date.now() + SEEN_MS;
    for (let fields = Object.keys(expected), wait = 10; ; wait = Math.min(2 * wait, 80)) {
      const now = await this.now(fields);
      const open = fields.filter((field) => !isDeepStrictEqual(now[field], expected[field]));
      const isWhole = fields.length === Object.keys(expected).length;
      if (open.length === 0 && isWhole) return;
      if (Date.now() > deadline) assert.deepEqual(await this.now(Object.keys(expected)), expected);
      fields = open.length > 0 ? open : Object.keys(expected);
      if (open.length === 0) continue;
      if (this.hurries) shop.hurry(this.hurries);
      await sleep(wait);
    }
  }
}

/** What is sold out was there when it was ordered. */
async function sellOut() {
  for (const row of shop.seed.sql(`SELECT id FROM serial WHERE taken_by IS NULL AND product_id = ${codes.id};`))
    shop.seed.sql(`DELETE FROM serial WHERE id = ${row[0]};`);
}

for (const provider of PROVIDERS) {
  for (const s of SITUATIONS.filter((one) => happens(one, provider))) {
    test(`${provider}: ${s.name}`, async () => {
      const teller = tellers[provider];
      const deal = new Deal(provider, s);
      if (s.sold_out) shop.seed.serials(codes, [`${provider}-${s.name}`]);
      await deal.make();
      if (s.sold_out) await sellOut();
      if (s.paid || s.disputed) {
        await teller.pay(deal);
        await deal.seen({ payment: 'succeeded' });
      }
      if (s.disputed) {
        await teller.dispute(deal, 'opened');
        await deal.seen({ held: true });
      }
      await s.play(teller, deal);
      await deal.seen({ ...s.then, ...s.but?.[provider] }, true);
    });
  }
}

/** Steps of the diagrams that no situation at a provider brings about; other tests do. */
const ELSEWHERE = [
  'license active revoked',
  'license revoked active',
  'license revoked refunded',
  'order start confirmed',
  'payment closed succeeded',
  'payment failed closed',
  'payment failed expired',
  'payment open closed',
  'refund failed requested',
  'refund failed done',
];

test(
  'orders, payments, refunds and licences took the steps of docs/concepts.md, each of them and no other',
  { skip: ENGINE !== 'sqlite' && 'the same on both engines' },
  () => {
    const guide = fs.readFileSync(new URL('../../docs/concepts.md', import.meta.url), 'utf8');
    const drawn = [...guide.matchAll(/```states (\w+)\n([\s\S]*?)```/g)]
      .filter(([, noun]) => noun in WATCHED)
      .flatMap(([, noun, text]) => readSteps(text).map(({ from, to }) => `${noun} ${from} ${to}`));
    const seen = shop.seed.sql('SELECT noun, was, is_now FROM step_seen;').map((row) => row.join(' '));
    const missing = (these, those) => these.filter((step) => !those.includes(step)).sort();
    assert.deepEqual(missing(seen, drawn), [], 'the program takes steps that the guide does not know');
    assert.deepEqual(missing(missing(drawn, seen), ELSEWHERE), [], 'the guide draws steps that were not taken');
    for (const noun of Object.keys(WATCHED)) shop.seed.sql(`DROP TRIGGER ${noun}_made; DROP TRIGGER ${noun}_step;`);
    shop.seed.sql('DROP TABLE step_seen;');
  },
);

test('the books are in order', () => shop.check());
