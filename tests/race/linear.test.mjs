// runs: release
// Histories of the store under concurrency, on one server or two: each is explained by some order of its calls, or the test fails.
// Some clients hang up without an answer: what they asked for may have happened or not.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../lib/random.mjs';
import { Wire } from '../lib/wire.mjs';
import { Recorder, isLinearizable } from './lib/linear.mjs';
import { openNodes } from './lib/nodes.mjs';
import { binding, coupon, once, pool, wallet } from './lib/objects.mjs';

const CLIENTS = 8;
const CALLS = 10; // of each client on each object
const ROUNDS = Number(process.env.SOUK_ROUNDS ?? 2);
const SEED = Number(process.env.SOUK_SEED ?? 5);

const op = (call, back, input, output) => ({ call, back, input, output });
const openOp = (call, input) => op(call, Infinity, input, undefined);

test('the checker refuses a stale read, a double spend, a code sold twice, and all their like', () => {
  const refuses = (object, ...history) => assert.equal(isLinearizable(object, history), false, JSON.stringify(history));
  const allows = (object, ...history) => assert.equal(isLinearizable(object, history), true, JSON.stringify(history));
  // A stale read: the taking had been answered before the read began.
  refuses(wallet(5), op(0, 1, { take: 2 }, true), op(2, 3, {}, 5));
  allows(wallet(5), op(0, 2, { take: 2 }, true), op(1, 3, {}, 5));
  // A read that goes back: the second began after the first had ended.
  refuses(wallet(5), op(0, 9, { take: 2 }, true), op(1, 2, {}, 3), op(3, 4, {}, 5));
  // A double spend; a refusal although there was enough; money that was given and lost.
  refuses(wallet(5), op(0, 3, { take: 5 }, true), op(1, 4, { take: 5 }, true));
  refuses(wallet(5), op(0, 1, { take: 5 }, false));
  refuses(wallet(0), op(0, 1, { give: 3 }, true), op(2, 3, {}, 0));
  allows(wallet(5), op(0, 3, { take: 5 }, true), op(1, 4, { take: 5 }, false));
  // Without an answer it may have happened, or not; but not both.
  allows(wallet(5), openOp(0, { take: 5 }), op(1, 2, {}, 0));
  allows(wallet(5), openOp(0, { take: 5 }), op(1, 2, {}, 5));
  refuses(wallet(5), openOp(0, { take: 5 }), op(1, 2, {}, 0), op(3, 4, {}, 5));
  // Staff: an order given back twice, a debit that was too much, a credit that is missing.
  refuses(wallet(0), op(0, 3, { refund: 7, amount: 3 }, true), op(1, 2, { refund: 7, amount: 3 }, true));
  refuses(wallet(0), op(0, 1, { refund: 7, amount: 3 }, true), op(2, 3, {}, 0));
  refuses(wallet(0), op(0, 1, { refund: 7, amount: 3 }, false));
  allows(
    wallet(0),
    op(0, 3, { refund: 7, amount: 3 }, true),
    op(1, 2, { refund: 7, amount: 3 }, false),
    op(4, 5, {}, 3),
  );
  refuses(wallet(5), op(0, 1, { give: 2 }, true), op(2, 3, { take: 8 }, true));
  // A code sold twice, one from nowhere, an empty pool that was not empty.
  refuses(pool(['A', 'B']), op(0, 3, {}, 'A'), op(1, 2, {}, 'A'));
  refuses(pool(['A']), op(0, 1, {}, 'C'));
  refuses(pool(['A', 'B']), op(0, 1, {}, 'A'), op(2, 3, {}, 'none'));
  allows(pool(['A']), op(0, 5, {}, 'B'), op(1, 2, { fill: ['B'] }, 1), op(3, 6, {}, 'A'), op(7, 8, {}, 'none'));
  // Sold before it was brought in, missing afterwards, counted as new twice, and brought in again after it was sold.
  refuses(pool([]), op(0, 1, {}, 'B'), op(2, 3, { fill: ['B'] }, 1));
  refuses(pool([]), op(0, 1, { fill: ['B'] }, 1), op(2, 3, {}, 'none'));
  refuses(pool([]), op(0, 3, { fill: ['B'] }, 1), op(1, 2, { fill: ['B'] }, 1));
  refuses(pool(['A']), op(0, 1, {}, 'A'), op(2, 3, { fill: ['A'] }, 1));
  // One use too many; two machines; two orders of one key.
  refuses(coupon(1), op(0, 3, {}, true), op(1, 2, {}, true));
  refuses(coupon(2), op(0, 1, {}, true), op(2, 3, { read: true }, 0));
  // A limit: raised and not granted, lowered and not kept, lower than the uses, lifted and not granted.
  refuses(coupon(1), op(0, 1, { limit: 2 }, true), op(2, 3, {}, true), op(4, 5, {}, false));
  refuses(coupon(5), op(0, 1, { limit: 1 }, true), op(2, 5, {}, true), op(3, 4, {}, true));
  refuses(coupon(5), op(0, 1, {}, true), op(2, 3, {}, true), op(4, 5, { limit: 1 }, true));
  refuses(coupon(1), op(0, 1, {}, true), op(2, 3, { limit: null }, true), op(4, 5, {}, false));
  allows(coupon(1), op(0, 1, {}, true), op(2, 5, { limit: null }, true), op(3, 4, {}, false));
  refuses(binding(), op(0, 3, { machine: 'A' }, true), op(1, 2, { machine: 'B' }, true));
  // Freed, and yet its old machine's; a stale verdict after another one was bound.
  refuses(
    binding(),
    op(0, 1, { machine: 'A' }, true),
    op(2, 3, { free: true }, true),
    op(4, 5, { machine: 'B' }, false),
  );
  refuses(
    binding(),
    op(0, 1, { machine: 'A' }, true),
    op(2, 3, { free: true }, true),
    op(4, 5, { machine: 'B' }, true),
    op(6, 7, { machine: 'A' }, true),
  );
  allows(binding(), op(0, 4, { machine: 'A' }, true), op(1, 2, { free: true }, true), op(3, 5, { machine: 'B' }, true));
  refuses(once(), op(0, 3, {}, 1), op(1, 2, {}, 2));
  refuses(once(), op(0, 1, {}, 1), op(2, 3, { count: true }, 0));
});

let shop;
let seed = SEED;
const wires = new Map();

before(async () => {
  shop = await openNodes({ kind: 'owner' });
});
after(async () => {
  for (const w of wires.values()) w.close();
  await shop.stop();
});

/** A call of one client on its connection; undefined where it hangs up before the answer. */
async function ask(client, method, path, token, body, { headers, hangsUp = null } = {}) {
  const key = hangsUp === null ? client : `${client} hanging up`;
  if (!wires.has(key)) wires.set(key, await Wire.open(shop.any(client).url));
  const answer = wires.get(key).call(method, path, { token, body, headers });
  if (hangsUp === null) return answer;
  const lost = await Promise.race([answer.catch(() => null), sleep(hangsUp).then(() => null)]);
  wires.get(key).close();
  wires.delete(key);
  answer.catch(() => {});
  return lost ?? undefined;
}

const outcome = (answer, good, bad) => {
  if (answer === undefined) return undefined;
  if (answer.status === 200 || answer.status === 201) return good(answer.json.data);
  assert.ok(bad.includes(answer.json.code), answer.text);
  return false;
};

/** Clients that each make some calls; next(random, client) gives [input, job]. Gives the history. */
async function play(next) {
  const recorder = new Recorder();
  const client = async (number) => {
    const random = new Random(seed++);
    for (let i = 0; i < CALLS; i++) {
      const [input, job] = next(random, number, i);
      await recorder.record(input, job);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, i) => client(i)));
  return recorder.history;
}

const hang = (random) => (random.oneIn(25) ? { hangsUp: random.below(3) } : {});

/** A call by staff, who wait for the answer. */
const staff = (client, method, path, body) => ask(client, method, path, shop.owner, body);

/**
 * Plays rounds; each history must be explained by the object, and no longer when it is spoiled: by one wrong answer, or without one thing
 * that staff have done (an object's `last` reads what is there in the end).
 */
async function rounds(t, begin, spoil) {
  let calls = 0;
  let open = 0;
  let deeds = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { object, next, isDeed = () => false, last } = await begin();
    const history = await play(next);
    calls += history.length;
    open += history.filter((o) => o.output === undefined).length;
    assert.ok(
      isLinearizable(object, history),
      `no order explains it:\n${history.map((o) => JSON.stringify(o)).join('\n')}`,
    );
    assert.equal(isLinearizable(object, spoil(structuredClone(history))), false, 'a spoiled history was not noticed');
    const done = history.filter(isDeed);
    deeds += done.length;
    if (last && done.length > 0) {
      const all = withRead(history, ...(await last()));
      assert.ok(isLinearizable(object, all), `what is there in the end: ${JSON.stringify(all.at(-1))}`);
      const without = all.filter((o) => o !== done[0]);
      assert.equal(isLinearizable(object, without), false, 'a lost deed was not noticed');
    }
  }
  t.diagnostic(`${calls} calls in ${ROUNDS} histories, ${open} without an answer, ${deeds} done by staff`);
  return deeds;
}

/** A read after everything had come back, which says what cannot be. */
const withRead = (history, input, output) => [...history, op(1e15, 1e15 + 1, input, output)];

const did = (deeds) => assert.ok(deeds > 0, 'staff have done something');

test('a wallet: orders, withdrawals and reads; credits, debits and refunds by staff', async (t) => {
  const product = shop.seed.product({ price: 300 });
  const deeds = await rounds(
    t,
    async () => {
      const c = await shop.buyer({ balance: 3000 });
      const orders = [];
      const read = async (client) =>
        Math.round((await ask(client, 'GET', '/api/customer/wallet', c.token)).json.data.balance * 100);
      const book = (client, minor) =>
        staff(client, 'POST', `/api/admin/customers/${c.id}/wallet`, { amount: minor / 100, description: 'By hand' });
      const bought = ({ order_id }) => orders.push(order_id) > 0;
      const next = (r, client) => {
        const what = r.below(12);
        const buy = () => ask(client, 'POST', '/api/v1/order/create', c.token, { product_id: product.id }, hang(r));
        if (what < 4) return [{ take: 300 }, async () => outcome(await buy(), bought, ['insufficient_balance'])];
        const withdraw = () => ask(client, 'POST', '/api/customer/wallet/withdraw', c.token, { amount: 2 }, hang(r));
        if (what < 6) return [{ take: 200 }, async () => outcome(await withdraw(), () => true, ['validation_failed'])];
        if (what < 7) return [{ give: 7 }, async () => outcome(await book(client, 7), () => true, [])];
        if (what < 8)
          return [{ take: 500 }, async () => outcome(await book(client, -500), () => true, ['validation_failed'])];
        if (what < 10 && orders.length > 0) {
          const refund = r.pick(orders);
          const path = `/api/admin/orders/${refund}/refund`;
          const give = () => staff(client, 'POST', path, {});
          return [{ refund, amount: 300 }, async () => outcome(await give(), () => true, ['invalid_state'])];
        }
        return [{}, () => read(client)];
      };
      const isDeed = ({ input, output }) => input.give === 7 && output === true;
      return { object: wallet(3000), next, isDeed, last: async () => [{}, await read(0)] };
    },
    (history) => withRead(history, {}, 1),
  );
  did(deeds);
});

test('a pool of codes that staff fill', async (t) => {
  let number = 0;
  const some = (count) => Array.from({ length: count }, () => `LIN-${process.pid}-${++number}`);
  const deeds = await rounds(
    t,
    async () => {
      const product = shop.seed.product({ price: 1, delivery_type: 'serial_code' });
      const [codes, more] = [some(30), some(12)];
      shop.seed.serials(product, codes);
      const c = await shop.buyer({ balance: 100000 });
      const target = `/api/admin/products/${product.id}/serials`;
      const buy = async (client) => {
        const answer = await ask(client, 'POST', '/api/v1/order/create', c.token, { product_id: product.id });
        if (answer.status === 200) return answer.json.data.delivery.value;
        return answer.json.code === 'out_of_stock' ? 'none' : assert.fail(answer.text);
      };
      const next = (r, client) => {
        if (r.below(6) > 0) return [{}, () => buy(client)];
        const fill = [r.pick(more), r.pick([...codes, ...more])];
        const send = () => staff(client, 'POST', target, { codes: [...new Set(fill)] });
        return [{ fill: [...new Set(fill)] }, async () => outcome(await send(), (data) => data.added, [])];
      };
      const last = async () => [{ count: true }, (await staff(0, 'GET', target)).json.data.pools[0].free];
      return { object: pool(codes), next, last, isDeed: ({ input, output }) => input.fill && output > 0 };
    },
    (history) => {
      const sold = history.filter((o) => !o.input.fill && o.output !== 'none');
      sold[1].output = sold[0].output;
      return history;
    },
  );
  did(deeds);
});

test('a coupon with a limit that staff change', async (t) => {
  const product = shop.seed.product({ price: 100 });
  const deeds = await rounds(
    t,
    async () => {
      const c = await shop.buyer({ balance: 100000 });
      const made = shop.seed.coupon({ value: 5000, max_uses: 20, max_uses_per_customer: null });
      const body = { product_id: product.id, coupon_code: made.code };
      const target = `/api/admin/coupons/${made.id}`;
      const next = (r, client) => {
        const what = r.below(10);
        if (what === 0)
          return [{ read: true }, async () => outcome(await staff(client, 'GET', target), (data) => data.uses, [])];
        if (what > 2) {
          const use = () => ask(client, 'POST', '/api/v1/order/create', c.token, body, hang(r));
          return [{}, async () => outcome(await use(), () => true, ['coupon_exhausted'])];
        }
        const limit = r.pick([10, 20, 30, 40, null]);
        const set = async () => {
          const answer = await staff(client, 'PATCH', target, { max_uses: limit });
          if (answer.json.code === 'precondition_failed') return 'conflict';
          return outcome(answer, () => true, ['validation_failed']);
        };
        return [{ limit }, set];
      };
      return { object: coupon(20), next, isDeed: ({ input, output }) => input.limit !== undefined && output === true };
    },
    (history) => withRead(history, { limit: 1 }, true),
  );
  did(deeds);
});

test('a licence, the machines that want it, and staff who free it', async (t) => {
  const product = shop.seed.product({ price: 1 });
  const c = await shop.buyer({ balance: 100000 });
  const deeds = await rounds(
    t,
    async () => {
      const { id, key } = await shop.license(c, product);
      const clear = (client) => staff(client, 'POST', `/api/admin/licenses/${id}/clear-hardware`);
      const next = (r, client) => {
        if (r.oneIn(6)) return [{ free: true }, async () => outcome(await clear(client), () => true, [])];
        const machine = r.pick(['A', 'B', 'C']);
        const body = { license_key: key, product_id: product.id, hardware_id: machine };
        const verify = () => ask(client, 'POST', '/api/v1/license/verify', c.token, body, hang(r));
        return [{ machine }, async () => outcome(await verify(), () => true, ['hardware_mismatch'])];
      };
      return { object: binding(), next, isDeed: ({ input, output }) => input.free && output === true };
    },
    (history) => [
      ...history,
      op(1e15, 1e15 + 1, { machine: 'A' }, true),
      op(1e15 + 2, 1e15 + 3, { machine: 'B' }, true),
    ],
  );
  did(deeds);
});

test('one idempotency key', async (t) => {
  const product = shop.seed.product({ price: 1 });
  let number = 0;
  await rounds(
    t,
    async () => {
      const c = await shop.buyer({ balance: 100000 });
      const headers = { 'Idempotency-Key': `linear-${++number}` };
      const body = { product_id: product.id };
      const next = (r, client, i) =>
        i % 3 === 2
          ? [
              { count: true },
              async () => (await ask(client, 'GET', '/api/customer/orders?limit=5', c.token)).json.data.length,
            ]
          : [
              {},
              async () =>
                outcome(
                  await ask(client, 'POST', '/api/v1/order/create', c.token, body, {
                    headers,
                    ...(i > 0 ? hang(r) : {}),
                  }),
                  (data) => data.order_id,
                  [],
                ),
            ];
      return { object: once(), next };
    },
    (history) => withRead(history, {}, 1e9),
  );
});
