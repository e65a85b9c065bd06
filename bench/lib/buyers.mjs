// bench/lib/buyers.mjs - customers of a store with several servers: they buy and pay, repeat what was not answered, and keep
// their own log of what they were told. Only that log is believed when the data is held against it.
import { setTimeout as sleep } from 'node:timers/promises';
import { assertInvariants } from '../../tests/lib/checker.mjs';
import { dataOf } from '../../tests/api/lib/http.mjs';
import { PaidShop, signed, stripeEvent } from '../../tests/api/lib/gateways.mjs';
import { together } from '../../tests/api/lib/souk.mjs';

const PRICE = 700;
const COUPON_PERCENT = 10;
const COUPON_USES = 500;
const TOPUP = 500;
const BALANCE = 1_000_000_000;
const GATEWAY = 'card_gateway_a';
const ANSWER_MS = 8000;
const PAUSE_MS = 200;
const PAGE_MS = 300000;
/** Answers after which the same request is sent again; each says so in docs/errors.md. */
const AGAIN = new Set(['unavailable', 'outcome_unknown', 'overloaded', 'conflict']);

export class Buyers {
  /** nodes: the store's servers. owner: a token that may do everything. codes: how many serial codes there are. */
  static async open(nodes, owner, { codes, buyers = 16 }) {
    const b = new Buyers();
    b.nodes = nodes;
    b.shop = new PaidShop(nodes[0]);
    b.shop.owner = owner;
    b.stripe = await b.shop.played('stripe');
    b.keys = b.shop.seed.product({ name: 'Keys', price: PRICE });
    b.codes = b.shop.seed.product({ name: 'Codes', price: PRICE, delivery_type: 'serial_code' });
    b.shop.seed.serials(
      b.codes,
      Array.from({ length: codes }, (_, i) => `FO-${i}`),
    );
    b.coupon = b.shop.seed.coupon({ value: COUPON_PERCENT * 100, max_uses: COUPON_USES, max_uses_per_customer: null });
    b.people = await together(buyers, 4, () => b.shop.buyer({ balance: BALANCE }));
    b.log = new Map(); // key → {kind, buyer, path, body, answer: the text that was acknowledged, or null}
    b.told = new Map(); // event id → the key of the top-up whose money the server has acknowledged
    b.acknowledged = nodes.map(() => []); // when each node did so
    b.met = {}; // what was answered or happened instead, and how often
    b.couponIsOver = false;
    b.next = 0;
    return b;
  }

  stop() {
    return this.stripe.stop();
  }

  /** Orders at about `rate` a second by this many clients, until rest(). */
  start(rate, clients) {
    this.resting = false;
    this.running = Array.from({ length: clients }, (_, i) => this.#client(i, (clients / rate) * 1000));
  }

  /** Nobody begins anything more; everything that was begun comes to its answer. */
  async rest() {
    this.resting = true;
    await Promise.all(this.running);
  }

  async #client(home, every_ms) {
    await sleep(Math.random() * every_ms);
    while (!this.resting) {
      const began = Date.now();
      await this.#act(home);
      await sleep(Math.max(0, began + every_ms - Date.now()));
    }
  }

  async #act(home) {
    const n = this.next++;
    const buyer = this.people[n % this.people.length];
    if (n % 8 === 7) return this.#topUp(home, `topup-${n}`, buyer);
    const body = { product_id: n % 2 ? this.codes.id : this.keys.id, quantity: n % 10 === 9 ? 3 : 1 };
    if (n % 5 === 4 && !this.couponIsOver) body.coupon_code = this.coupon.code;
    const key = `order-${n}`;
    this.log.set(key, { kind: 'order', buyer, path: '/api/v1/order/create', body, answer: null });
    return this.#untilAnswered(home, key);
  }

  /** A page at the gateway, the money there, and the gateway's message, which comes twice. */
  async #topUp(home, key, buyer) {
    const body = { amount: TOPUP / 100, gateway: GATEWAY };
    this.log.set(key, { kind: 'topup', buyer, path: '/api/customer/wallet/topup', body, answer: null });
    const { payment } = await this.#untilAnswered(home, key);
    const url = payment.url ?? (await this.#page(home, buyer, payment.reference));
    const order = this.stripe.made.get(url.split('/').pop()).client_reference_id;
    const event = stripeEvent('payment_intent.succeeded', { order, amount: TOPUP, intent: `pi_${key}` });
    const raw = JSON.stringify(event);
    const send = (node) => node.request('POST', `/webhook/${GATEWAY}`, { body: raw, headers: signed('stripe', raw) });
    for (let i = 0; i < 2; i++) await this.#repeat(home + i, send);
    this.told.set(event.id, key);
  }

  /** The gateway's page, when the answer had to do without: it is made as soon as that can be. */
  async #page(home, buyer, reference) {
    const look = (node) => node.get(`/api/customer/payments/${reference}`, { token: buyer.token });
    const deadline = Date.now() + PAGE_MS;
    for (;;) {
      const { json } = await this.#repeat(home, look, { isRead: true });
      if (json.data.url) return json.data.url;
      if (Date.now() > deadline) throw new Error(`payment ${reference} has no page: ${JSON.stringify(json.data)}`);
      await sleep(PAUSE_MS);
    }
  }

  send(node, key, timeout_ms = ANSWER_MS) {
    const { buyer, path, body } = this.log.get(key);
    return node.post(path, body, { token: buyer.token, headers: { 'Idempotency-Key': key }, timeout_ms });
  }

  async #untilAnswered(home, key) {
    const entry = this.log.get(key);
    const answer = await this.#repeat(home, (node) => this.send(node, key));
    entry.answer = answer.text;
    entry.at = Date.now();
    if (answer.status !== 422) return answer.json.data;
    this.couponIsOver = true;
    return null;
  }

  #count(what) {
    this.met[what] = (this.met[what] ?? 0) + 1;
  }

  /** At the client's own node first, then at the others in turn. */
  async #repeat(home, send, { isRead = false } = {}) {
    for (let tries = 0; ; tries++) {
      const at = (home + tries) % this.nodes.length;
      let answer = null;
      try {
        answer = await send(this.nodes[at]);
      } catch (e) {
        if (e.code === 'ERR_ASSERTION') throw e; // not what the API's description says
        this.#count('no answer in time');
      }
      if (answer && (answer.status < 300 || answer.json?.code === 'coupon_exhausted')) {
        if (!isRead) this.acknowledged[at].push(Date.now());
        return answer;
      }
      if (answer) {
        if (!AGAIN.has(answer.json?.code)) throw new Error(`an answer that nobody expected: ${answer.text}`);
        this.#count(answer.json.code);
      }
      await sleep(PAUSE_MS);
    }
  }

  /** The longest time between two acknowledgements of a node since `from`, in seconds. */
  longestGap(node, from) {
    const times = this.acknowledged[node].sort((a, b) => a - b);
    let longest = 0;
    for (let i = 1; i < times.length; i++) if (times[i] >= from) longest = Math.max(longest, times[i] - times[i - 1]);
    return longest / 1000;
  }

  /** How often each node has acknowledged something since then: the least of them. */
  acknowledgedSince(from) {
    return Math.min(...this.acknowledged.map((times) => times.filter((t) => t >= from).length));
  }

  /** The data as it is now: orders with what was delivered, top-ups with how often they were credited, wallets. */
  async read() {
    const { seed } = this.shop;
    const tokens = new Map(this.people.map((p) => [p.id, p.token]));
    const orders = new Map();
    for (const [id, account, total, status] of seed.sql('SELECT id, account_id, total, status FROM orders;'))
      orders.set(Number(id), { account: Number(account), total: Number(total), status });
    const ids = [...orders.keys()];
    await together(ids.length, 16, async (i) => {
      const order = orders.get(ids[i]);
      const options = { token: tokens.get(order.account) };
      const found = await this.nodes[i % this.nodes.length].get(`/api/customer/orders/${ids[i]}`, options);
      order.values = dataOf(found).items.flatMap((item) => item.deliveries.map((d) => d.value));
    });
    const numbers = (text) => new Map(seed.sql(text).map(([key, n]) => [key, Number(n)]));
    const credits = numbers(`SELECT p.reference, COUNT(t.id) FROM payment p
      LEFT JOIN transfer t ON t.kind = 'topup' AND t.reference_id = p.id WHERE p.order_id IS NULL GROUP BY p.reference;`);
    const wallets = numbers("SELECT owner_id, balance FROM ledger_account WHERE kind = 'wallet';");
    const uses = seed.number('SELECT COUNT(*) FROM coupon_use WHERE released_at IS NULL');
    return { orders, credits, wallets, uses };
  }

  #successes() {
    return [...this.log].filter(([, e]) => e.answer !== null && JSON.parse(e.answer).status === 'success');
  }

  /** What the log and the data disagree about: {lost, twice, wrong}, lists of sentences. */
  compare(data) {
    return compare(new Map(this.#successes()), new Set(this.told.values()), this.people, data);
  }

  /** Every key again, at every node in turn: the answer is the one that was acknowledged. */
  async repeatAll() {
    const keys = this.#successes().map(([key]) => key);
    const others = [];
    await together(keys.length, 8, async (i) => {
      const answer = await this.send(this.nodes[i % this.nodes.length], keys[i], 30000);
      if (!isSame(this.log.get(keys[i]).answer, answer.text)) others.push(`${keys[i]}: ${answer.text}`);
    });
    return others;
  }

  /** The tests' own checker and the program's. */
  async checkStore() {
    assertInvariants(this.nodes[0].dbArg);
    await this.shop.check();
  }
}

/** A payment that was acknowledged before its page was there has the page now; everything else is the same bytes. */
function isSame(before, now) {
  const { data } = JSON.parse(before);
  if (!data.payment || data.payment.url !== null) return before === now;
  const { payment, ...rest } = JSON.parse(now).data;
  const { payment: had, ...others } = data;
  return JSON.stringify(rest) === JSON.stringify(others) && payment.reference === had.reference;
}

/** log: key → what was acknowledged; credited: the keys of top-ups whose money was. */
function compare(log, credited, people, { orders, credits, wallets, uses }) {
  const [lost, twice, wrong] = [[], [], []];
  const seen = new Set();
  const delivered = new Set();
  const money = new Map(people.map((p) => [p.id, BALANCE]));
  const add = (buyer, n) => money.set(buyer.id, money.get(buyer.id) + n);
  let coupons = 0;
  for (const [key, { kind, buyer, body, answer }] of log) {
    const { data } = JSON.parse(answer);
    if (kind === 'topup') {
      const times = credits.get(data.payment.reference);
      if (times === undefined || times < Number(credited.has(key))) lost.push(`${key}: the top-up, or its money`);
      if (times > 1) twice.push(`${key} was credited ${times} times`);
      add(buyer, (times ?? 0) * TOPUP);
      continue;
    }
    const order = orders.get(data.order_id);
    const total = (body.quantity * PRICE * (body.coupon_code ? 100 - COUPON_PERCENT : 100)) / 100;
    coupons += Number(Boolean(body.coupon_code));
    add(buyer, -total);
    const values = data.deliveries.map((d) => d.value);
    for (const value of values) {
      if (delivered.has(value)) twice.push(`${key}: ${value} was delivered before`);
      delivered.add(value);
    }
    if (!order || order.account !== buyer.id || String(order.values) !== String(values)) {
      lost.push(`${key}: order ${data.order_id}`);
      continue;
    }
    if (seen.has(data.order_id)) twice.push(`${key}: order ${data.order_id} belongs to two keys`);
    seen.add(data.order_id);
    if (order.status !== 'confirmed' || order.total !== total || data.total !== total / 100)
      wrong.push(`${key}: order ${data.order_id} over ${order.total} is ${order.status}`);
  }
  for (const id of orders.keys()) if (!seen.has(id)) twice.push(`order ${id} was acknowledged to nobody`);
  for (const [id, n] of money)
    if (wallets.get(String(id)) !== n) wrong.push(`the wallet of ${id} has ${wallets.get(String(id))}, not ${n}`);
  if (uses !== coupons) wrong.push(`${coupons} orders with a coupon were acknowledged, ${uses} are counted`);
  return { lost, twice, wrong };
}
