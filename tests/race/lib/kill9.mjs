// tests/race/lib/kill9.mjs - kill -9 under load: what was acknowledged is there, what was not happens once when repeated.
//
// The clients keep their own log of what they were told; only that log is believed. After the kill the server is started
// again, every order without an answer is repeated with its key, and then everything is held against the log.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { seeder } from '../../api/lib/seed.mjs';
import { Shop } from '../../api/lib/shop.mjs';
import { SLOW, freshStore, startSouk, together } from '../../api/lib/souk.mjs';
import { selectAll } from '../../lib/sql.mjs';

const PRICE = 7;
const OFF = 2;
const CODES = 20000;
const MONEY = 100_000_000;
const REPEAT_MS = 30000 * SLOW;

export class Kill9 {
  /** database: as of freshStore; `real` is its address for the shell, where servers go another way. nodes: servers on it. */
  static async open({ clients = 64, buyers = 8, codes = CODES, database = null, nodes = 1, env = {} } = {}) {
    const k = new Kill9();
    k.clients = clients;
    k.database = database ?? freshStore();
    k.nodes = [];
    for (let i = 0; i < nodes; i++) k.nodes.push(await startSouk({ database: k.database, env }));
    k.shop = new Shop(k.nodes[0]);
    k.shop.seed = seeder({
      engine: k.database.engine,
      dbArg: k.database.real ?? k.database.dbArg,
      env: k.database.env,
    });
    k.keys = k.shop.seed.product({ name: 'Keys', price: PRICE });
    k.codes = k.shop.seed.product({ name: 'Codes', price: PRICE, delivery_type: 'serial_code' });
    k.coupon = k.shop.seed.coupon({ kind: 'fixed', value: OFF, max_uses: 1_000_000, max_uses_per_customer: null });
    k.shop.seed.serials(
      k.codes,
      Array.from({ length: codes }, (_, i) => `K9-${i}`),
    );
    k.buyers = [];
    for (let i = 0; i < buyers; i++) k.buyers.push(await k.shop.buyer({ balance: MONEY }));
    k.log = new Map(); // key → {buyer, body, answer: the text that was acknowledged, or null}
    k.values = new Map(); // order → what it delivered, as its owner was told after an earlier kill
    k.next = 0;
    return k;
  }

  async stop() {
    try {
      for (const node of this.nodes) await node.stop();
    } finally {
      await this.database.remove();
    }
  }

  send(key, node) {
    const { buyer, body } = this.log.get(key);
    return this.nodes[node % this.nodes.length].post('/api/v1/order/create', body, {
      token: buyer.token,
      headers: { 'Idempotency-Key': key },
      timeout_ms: 60000 * SLOW,
    });
  }

  /** One client: orders one after the other until the kill is over. */
  async client(state, number) {
    while (!state.killed) {
      const n = this.next++;
      const key = `k9-${n}`;
      this.log.set(key, {
        buyer: this.buyers[n % this.buyers.length],
        answer: null,
        body: {
          product_id: n % 2 ? this.keys.id : this.codes.id,
          quantity: n % 10 === 9 ? 3 : 1,
          ...(n % 5 === 3 ? { coupon_code: this.coupon.code } : {}),
        },
      });
      try {
        const answer = await this.send(key, number);
        if (answer.status === 503) {
          state.unsure += 1;
          await sleep(5);
          continue;
        }
        assert.equal(answer.status, 200, answer.text);
        this.log.get(key).answer = answer.text;
        state.acknowledged += 1;
      } catch (e) {
        if (e instanceof assert.AssertionError) throw e;
        await sleep(5); // the connection broke: not acknowledged
      }
    }
  }

  /**
   * Load, kill, restart, repeat. strike: what happens under the load; the default kills the first server. The load goes on meanwhile
   * where something is left to answer. width: how many clients there are, of which each gets an answer on average before the strike.
   * whole: what every order delivered is asked for again, not only that of new ones.
   * Gives how many were acknowledged before the kill, and how many were not.
   */
  async round(
    strike = () => this.nodes[0].kill9(),
    { width = this.clients, enough = width, pause_ms = 100, whole = true } = {},
  ) {
    const state = { killed: false, acknowledged: 0, unsure: 0 };
    const clients = Array.from({ length: width }, (_, i) => this.client(state, i));
    while (state.acknowledged < enough) await sleep(5);
    await sleep(Math.random() * pause_ms);
    const { acknowledged } = state;
    await strike();
    state.killed = true;
    await Promise.all(clients);

    for (const node of this.nodes) if (node.exit) await node.start();
    const open = [...this.log].filter(([, entry]) => entry.answer === null).map(([key]) => key);
    await together(open.length, this.clients, (i) => this.repeat(open[i], i));
    await this.check({ whole });
    return { acknowledged, repeated: open.length };
  }

  /** Until it is answered: the connections to the database may have to be made again first. */
  async repeat(key, number) {
    const deadline = Date.now() + REPEAT_MS;
    for (let tries = 0; ; tries++) {
      const answer = await this.send(key, number + tries);
      if (answer.status === 503 && Date.now() < deadline) {
        await sleep(20);
        continue;
      }
      assert.equal(answer.status, 200, answer.text);
      this.log.get(key).answer = answer.text;
      return;
    }
  }

  /** The data against the log. */
  async check({ whole = true } = {}) {
    const orders = new Map();
    const tokens = new Map(this.buyers.map((b) => [b.id, b.token]));
    const [rows, balances, sums] = this.#read();
    for (const [id, account, total, status] of rows)
      orders.set(id, { account: Number(account), total: Number(total), status, values: this.values.get(id) });
    // Codes lie sealed in the database: their owners are asked what they were.
    const ids = [...orders.keys()].filter((id) => whole || !this.values.has(id));
    await together(ids.length, this.clients, async (i) => {
      const order = orders.get(ids[i]);
      const answer = await this.shop.souk.get(`/api/customer/orders/${ids[i]}`, { token: tokens.get(order.account) });
      assert.equal(answer.status, 200, answer.text);
      order.values = answer.json.data.items.flatMap((item) => item.deliveries.map((d) => d.value));
      this.values.set(ids[i], order.values);
    });
    checkLog(this.log, orders);
    this.#checkSums(orders, balances, sums[0].map(Number));
    await this.shop.check();
  }

  /** All that the data says, in one go: to start a shell takes longer than what it is asked. */
  #read() {
    const sums = [
      `SELECT uses FROM coupon WHERE id = ${this.coupon.id}`,
      'SELECT COUNT(*) FROM serial WHERE taken_by IS NOT NULL',
      'SELECT COUNT(*) FROM license',
      `SELECT COUNT(*) FROM event WHERE type IN (${EVENTS.map((type) => `'${type}'`).join()})`,
      ...EVENTS.map(eventsOnce),
    ];
    return selectAll(this.database.real ?? this.database.dbArg, [
      'SELECT id, account_id, total, status FROM orders ORDER BY id',
      'SELECT owner_id, balance FROM ledger_account WHERE owner_id > 0',
      `SELECT ${sums.map((text) => `(${text})`).join(', ')}`,
    ]);
  }

  /** Money, coupons, codes, licences and outgoing events: as many as the log says, and not one more. */
  #checkSums(orders, balances, [uses, codes, licenses, all, ...events]) {
    const bodies = [...this.log.values()].map(({ body }) => body);
    const units = (product) => bodies.filter((b) => b.product_id === product.id).reduce((n, b) => n + b.quantity, 0);
    assert.equal(orders.size, this.log.size, 'an order that nobody placed, or one without a delivery');
    assert.deepEqual(
      { uses, codes, licenses, events, all },
      {
        uses: bodies.filter((b) => b.coupon_code).length,
        codes: units(this.codes),
        licenses: units(this.keys),
        events: [this.log.size, this.log.size, units(this.keys)],
        all: 2 * this.log.size + units(this.keys),
      },
    );
    const spent = new Map(this.buyers.map((b) => [b.id, 0]));
    for (const o of orders.values()) spent.set(o.account, spent.get(o.account) + o.total);
    for (const [id, balance] of balances)
      if (spent.has(Number(id))) assert.equal(Number(balance), MONEY - spent.get(Number(id)));
  }
}

const EVENTS = ['order.created', 'order.confirmed', 'license.created'];
const eventsOnce = (type) =>
  `SELECT COUNT(*) FROM (SELECT resource_id FROM event WHERE type = '${type}' GROUP BY resource_id HAVING COUNT(*) = 1) x`;

/** Every answer that was given is true, each key has an order of its own, and nothing was delivered twice. */
export function checkLog(log, orders) {
  const seen = new Set();
  const delivered = new Set();
  for (const [key, { buyer, body, answer }] of log) {
    const { order_id, total, deliveries } = JSON.parse(answer).data;
    const order = orders.get(String(order_id));
    assert.ok(order, `${key}: order ${order_id} was acknowledged and is not there`);
    assert.ok(!seen.has(order_id), `${key}: order ${order_id} belongs to two keys`);
    seen.add(order_id);
    assert.equal(order.account, buyer.id);
    assert.equal(order.status, 'confirmed');
    assert.equal(order.total, body.quantity * PRICE - (body.coupon_code ? OFF : 0));
    assert.equal(total, order.total / 100);
    assert.deepEqual(
      deliveries.map((d) => d.value),
      order.values,
      `${key}: another delivery than the acknowledged one`,
    );
    for (const v of order.values) {
      assert.ok(!delivered.has(v), `${v} was delivered twice`);
      delivered.add(v);
    }
  }
}
