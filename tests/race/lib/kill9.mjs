// tests/race/lib/kill9.mjs - kill -9 under load: what was acknowledged is there, what was not happens once when repeated.
//
// The clients keep their own log of what they were told; only that log is believed. After the kill the server is started
// again, every order without an answer is repeated with its key, and then everything is held against the log.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Shop } from '../../api/lib/shop.mjs';
import { SLOW, startSouk, together } from '../../api/lib/souk.mjs';

const PRICE = 7;
const CODES = 20000;

export class Kill9 {
  static async open({ clients = 64, buyers = 8 } = {}) {
    const k = new Kill9();
    k.clients = clients;
    k.shop = new Shop(await startSouk());
    k.keys = k.shop.seed.product({ name: 'Keys', price: PRICE });
    k.codes = k.shop.seed.product({ name: 'Codes', price: PRICE, delivery_type: 'serial_code' });
    k.shop.seed.serials(
      k.codes,
      Array.from({ length: CODES }, (_, i) => `K9-${i}`),
    );
    k.buyers = [];
    for (let i = 0; i < buyers; i++) k.buyers.push(await k.shop.buyer({ balance: 100_000_000 }));
    k.log = new Map(); // key → {buyer, body, answer: the text that was acknowledged, or null}
    k.next = 0;
    return k;
  }

  stop() {
    return this.shop.stop();
  }

  send(key) {
    const { buyer, body } = this.log.get(key);
    return this.shop.souk.post('/api/v1/order/create', body, {
      token: buyer.token,
      headers: { 'Idempotency-Key': key },
      timeout_ms: 60000 * SLOW,
    });
  }

  /** One client: orders one after the other until the server is gone. */
  async client(state) {
    while (!state.killed) {
      const n = this.next++;
      const key = `k9-${n}`;
      this.log.set(key, {
        buyer: this.buyers[n % this.buyers.length],
        answer: null,
        body: { product_id: n % 2 ? this.keys.id : this.codes.id, quantity: n % 10 === 9 ? 3 : 1 },
      });
      try {
        const answer = await this.send(key);
        assert.equal(answer.status, 200, answer.text);
        this.log.get(key).answer = answer.text;
        state.acknowledged += 1;
      } catch (e) {
        if (e instanceof assert.AssertionError) throw e;
        return; // the connection broke: not acknowledged
      }
    }
  }

  /** Load, kill, restart, repeat. Gives how many were acknowledged before the kill, and how many were not. */
  async round() {
    const state = { killed: false, acknowledged: 0 };
    const clients = Array.from({ length: this.clients }, () => this.client(state));
    while (state.acknowledged < this.clients) await sleep(5);
    await sleep(Math.random() * 100);
    state.killed = true;
    await this.shop.souk.kill9();
    await Promise.all(clients);

    await this.shop.souk.start();
    const open = [...this.log].filter(([, entry]) => entry.answer === null).map(([key]) => key);
    await together(open.length, this.clients, async (i) => {
      const answer = await this.send(open[i]);
      assert.equal(answer.status, 200, answer.text);
      this.log.get(open[i]).answer = answer.text;
    });
    await this.check();
    return { acknowledged: state.acknowledged, repeated: open.length };
  }

  /** The data against the log. */
  async check() {
    const orders = new Map();
    const tokens = new Map(this.buyers.map((b) => [b.id, b.token]));
    for (const [id, account, total, status] of this.shop.seed.sql(
      'SELECT id, account_id, total, status FROM orders ORDER BY id;',
    )) {
      orders.set(id, { account: Number(account), total: Number(total), status });
    }
    // Codes lie sealed in the database: their owners are asked what they were.
    const ids = [...orders.keys()];
    await together(ids.length, this.clients, async (i) => {
      const order = orders.get(ids[i]);
      const answer = await this.shop.souk.get(`/api/customer/orders/${ids[i]}`, { token: tokens.get(order.account) });
      assert.equal(answer.status, 200, answer.text);
      order.values = answer.json.data.items.flatMap((item) => item.deliveries.map((d) => d.value));
    });
    checkLog(this.log, orders);
    assert.equal(this.shop.count('orders'), this.log.size, 'an order that nobody placed, or one without a delivery');
    const spent = new Map(this.buyers.map((b) => [b.id, 0]));
    for (const o of orders.values()) spent.set(o.account, spent.get(o.account) + o.total);
    for (const b of this.buyers) {
      assert.equal(
        this.shop.seed.number(`SELECT balance FROM ledger_account WHERE owner_id = ${b.id}`),
        100_000_000 - spent.get(b.id),
      );
    }
    await this.shop.check();
  }
}

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
    assert.equal(order.total, body.quantity * PRICE);
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
