// tests/api/lib/shop.mjs - a server with something to sell and customers who can pay.
import assert from 'node:assert/strict';
import { dataOf } from './http.mjs';
import { seeder } from './seed.mjs';
import { startSouk } from './souk.mjs';

/** Options as for startSouk. Gives a Shop; its server is stopped by stop(). */
export async function openShop(options = {}) {
  return new Shop(await startSouk(options));
}

export class Shop {
  constructor(souk) {
    this.souk = souk;
    this.seed = seeder(souk);
  }

  stop() {
    return this.souk.stop();
  }

  /** A customer with this much money (minor units) and post-pay credit: {id, email, token, …}. */
  async buyer({ balance = 100000, credit_limit = 0 } = {}) {
    const customer = await this.souk.customer();
    if (balance > 0) this.fund(customer, balance);
    if (credit_limit > 0) {
      this.seed
        .sql(`INSERT INTO ledger_account (kind, owner_id, credit_limit) VALUES ('wallet', ${customer.id}, ${credit_limit})
        ON CONFLICT (owner_id) DO UPDATE SET credit_limit = excluded.credit_limit;`);
    }
    return customer;
  }

  /** Money into a wallet, as staff would give it. */
  fund(customer, minor) {
    this.seed.sql(`INSERT INTO ledger_account (kind, owner_id, balance) VALUES ('wallet', ${customer.id}, ${minor})
      ON CONFLICT (owner_id) DO UPDATE SET balance = ledger_account.balance + excluded.balance;
      INSERT INTO transfer (debit_id, credit_id, amount, kind, description, created_at)
      SELECT 5, id, ${minor}, 'adjustment', 'Gift', ${Date.now()} FROM ledger_account WHERE owner_id = ${customer.id};`);
  }

  /** A token of these scopes alone. */
  async token(customer, scopes) {
    const answer = await this.souk.post('/api/customer/tokens', { name: 'narrow', scopes }, { token: customer.token });
    return dataOf(answer, 201).token;
  }

  order(customer, body, options = {}) {
    return this.souk.post('/api/v1/order/create', body, { token: customer.token, ...options });
  }

  /** Buys and gives the `data`. */
  async bought(customer, body, options) {
    return dataOf(await this.order(customer, body, options));
  }

  verify(customer, body, options = {}) {
    return this.souk.post('/api/v1/license/verify', body, { token: customer.token, ...options });
  }

  async wallet(customer) {
    return dataOf(await this.souk.get('/api/customer/wallet', { token: customer.token }));
  }

  /** A licence of this product for the customer, as staff would give it; gives its row. */
  async license(customer, product) {
    const { delivery } = await this.bought(customer, { product_id: product.id });
    const owned = dataOf(await this.souk.get('/api/customer/licenses?limit=1', { token: customer.token }));
    assert.equal(owned[0].license_key, delivery.value);
    return { id: owned[0].id, key: delivery.value };
  }

  count(what) {
    return this.seed.number(`SELECT COUNT(*) FROM ${what}`);
  }

  /** Everything that an order could leave behind; equal before and after a refused one. */
  traces() {
    const tables = [
      'orders',
      'order_item',
      'delivery',
      'license',
      'coupon_use',
      'transfer',
      'idempotency',
      'serial WHERE taken_by IS NOT NULL',
    ];
    const counts = tables.map((what) => `(SELECT COUNT(*) FROM ${what})`);
    return this.seed
      .sql(`SELECT ${counts.join(', ')}, (SELECT COALESCE(SUM(uses), 0) FROM coupon);`)[0]
      .map((n, i) => `${tables[i] ?? 'uses of coupons'}: ${n}`);
  }

  /** `souk check` finds nothing. */
  async check() {
    const run = await this.souk.cli(['check'], { helps: true });
    assert.equal(run.code, 0, `souk check: ${run.stdout}${run.stderr}`);
  }
}
