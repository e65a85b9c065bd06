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
const ROUNDS = 4;
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
  // A code sold twice, one from nowhere, an empty pool that was not empty.
  refuses(pool(['A', 'B']), op(0, 3, {}, 'A'), op(1, 2, {}, 'A'));
  refuses(pool(['A']), op(0, 1, {}, 'C'));
  refuses(pool(['A', 'B']), op(0, 1, {}, 'A'), op(2, 3, {}, 'none'));
  allows(pool(['A']), op(0, 5, {}, 'B'), op(1, 2, { fill: ['B'] }, true), op(3, 6, {}, 'A'), op(7, 8, {}, 'none'));
  // One use too many; two machines; two orders of one key.
  refuses(coupon(1), op(0, 3, {}, true), op(1, 2, {}, true));
  refuses(coupon(2), op(0, 1, {}, true), op(2, 3, { read: true }, 0));
  refuses(binding(), op(0, 3, { machine: 'A' }, true), op(1, 2, { machine: 'B' }, true));
  allows(binding(), op(0, 4, { machine: 'A' }, true), op(1, 2, { free: true }, true), op(3, 5, { machine: 'B' }, true));
  refuses(once(), op(0, 3, {}, 1), op(1, 2, {}, 2));
  refuses(once(), op(0, 1, {}, 1), op(2, 3, { count: true }, 0));
});

let shop;
let seed = SEED;
const wires = new Map();

before(async () => {
  shop = await openNodes();
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

/** Plays rounds; each history must be explained by the object, and no longer when one answer in it is changed to a wrong one. */
async function rounds(t, begin, spoil) {
  let calls = 0;
  let open = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { object, next } = await begin();
    const history = await play(next);
    calls += history.length;
    open += history.filter((o) => o.output === undefined).length;
    assert.ok(
      isLinearizable(object, history),
      `no order explains it:\n${history.map((o) => JSON.stringify(o)).join('\n')}`,
    );
    assert.equal(isLinearizable(object, spoil(structuredClone(history))), false, 'a spoiled history was not noticed');
  }
  t.diagnostic(`${calls} calls in ${ROUNDS} histories, ${open} without an answer`);
}

/** A read after everything had come back, which says what cannot be. */
const withRead = (history, input, output) => [...history, op(1e15, 1e15 + 1, input, output)];

test('a wallet: orders, withdrawals and reads', async (t) => {
  const product = shop.seed.product({ price: 300 });
  await rounds(
    t,
    async () => {
      const c = await shop.buyer({ balance: 3000 });
      const body = { product_id: product.id };
      const next = (r, client) => {
        const what = r.below(10);
        if (what < 4)
          return [
            { take: 300 },
            async () =>
              outcome(await ask(client, 'POST', '/api/v1/order/create', c.token, body, hang(r)), () => true, [
                'insufficient_balance',
              ]),
          ];
        if (what < 6)
          return [
            { take: 200 },
            async () =>
              outcome(
                await ask(client, 'POST', '/api/customer/wallet/withdraw', c.token, { amount: 2 }, hang(r)),
                () => true,
                ['validation_failed'],
              ),
          ];
        return [
          {},
          async () => {
            const answer = await ask(client, 'GET', '/api/customer/wallet', c.token);
            return Math.round(answer.json.data.balance * 100);
          },
        ];
      };
      return { object: wallet(3000), next };
    },
    (history) => withRead(history, {}, 3000),
  );
});

test('a pool of codes', async (t) => {
  let number = 0;
  await rounds(
    t,
    async () => {
      const product = shop.seed.product({ price: 1, delivery_type: 'serial_code' });
      const codes = Array.from({ length: 40 }, () => `LIN-${process.pid}-${++number}`);
      shop.seed.serials(product, codes);
      const c = await shop.buyer({ balance: 100000 });
      const next = (r, client) => [
        {},
        async () => {
          const answer = await ask(client, 'POST', '/api/v1/order/create', c.token, { product_id: product.id });
          return answer.status === 200
            ? answer.json.data.delivery.value
            : answer.json.code === 'out_of_stock'
              ? 'none'
              : assert.fail(answer.text);
        },
      ];
      return { object: pool(codes), next };
    },
    (history) => {
      const sold = history.filter((o) => o.output !== 'none');
      sold[1].output = sold[0].output;
      return history;
    },
  );
});

test('a coupon with a limit', async (t) => {
  const product = shop.seed.product({ price: 100 });
  await rounds(
    t,
    async () => {
      const c = await shop.buyer({ balance: 100000 });
      const made = shop.seed.coupon({ value: 5000, max_uses: 20, max_uses_per_customer: null });
      const body = { product_id: product.id, coupon_code: made.code };
      const next = (r, client) => [
        {},
        async () =>
          outcome(await ask(client, 'POST', '/api/v1/order/create', c.token, body, hang(r)), () => true, [
            'coupon_exhausted',
          ]),
      ];
      return { object: coupon(20), next };
    },
    (history) => withRead(history, {}, true),
  );
});

test('a licence and the machines that want it', async (t) => {
  const product = shop.seed.product({ price: 1 });
  const c = await shop.buyer({ balance: 100000 });
  await rounds(
    t,
    async () => {
      const { key } = await shop.license(c, product);
      const next = (r, client) => {
        const machine = r.pick(['A', 'B', 'C']);
        const body = { license_key: key, product_id: product.id, hardware_id: machine };
        return [
          { machine },
          async () =>
            outcome(await ask(client, 'POST', '/api/v1/license/verify', c.token, body, hang(r)), () => true, [
              'hardware_mismatch',
            ]),
        ];
      };
      return { object: binding(), next };
    },
    (history) => [
      ...history,
      op(1e15, 1e15 + 1, { machine: 'A' }, true),
      op(1e15 + 2, 1e15 + 3, { machine: 'B' }, true),
    ],
  );
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
