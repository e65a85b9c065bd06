// tests/race/lib/in_order.mjs - orders under load with an endpoint that gets their events, and kill -9 in between: every event of every
// order arrives, each for the first time in order, and again only after a kill.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEvents } from '../../api/lib/events.mjs';
import { ENGINE } from '../../api/lib/souk.mjs';

const TYPES = ['order.created', 'order.confirmed', 'license.created'];

/** Gives {events, repeated, seconds}. Each order makes three events. */
export async function sendInOrder({ orders, kills, clients = 8 }) {
  const { shop, receiver, tool, listen, stop } = await openEvents();
  const began = Date.now();
  try {
    await listen('/hook', TYPES);
    const buyers = [];
    for (let i = 0; i < clients; i++) buyers.push(await shop.buyer({ balance: 1_000_000_000 }));
    const placed = new Set();
    let left = orders;
    let isDown = false;
    const client = async (buyer) => {
      while (left > 0) {
        left -= 1;
        const key = `once-${left}`;
        for (;;) {
          const answer = await shop.souk
            .post(
              '/api/v1/order/create',
              { product_id: tool.id },
              { token: buyer.token, headers: { 'Idempotency-Key': key } },
            )
            .catch(() => null);
          if (answer?.status === 200) {
            placed.add(answer.json.data.order_id);
            break;
          }
          assert.ok(answer === null || answer.status === 503 || isDown, answer?.text);
          await sleep(20);
        }
      }
    };
    const load = Promise.all(buyers.map(client));
    for (let i = 1; i <= kills; i++) {
      const goal = Math.floor((orders * i) / (kills + 1));
      while (placed.size < goal) await sleep(5);
      isDown = true;
      shop.souk.child.kill('SIGKILL');
      await shop.souk.ended;
      await shop.souk.start();
      // On PostgreSQL the dead node's lease would run for another half minute.
      if (ENGINE === 'pg') shop.seed.sql('UPDATE webhook_endpoint SET leased_until = 0;');
      isDown = false;
    }
    await load;
    assert.equal(placed.size, orders);
    const firsts = new Map();
    await shop.until(
      () => {
        for (const call of receiver.got('/hook').slice(firsts.seen ?? 0)) {
          if (!firsts.has(call.id)) firsts.set(call.id, call);
        }
        firsts.seen = receiver.got('/hook').length;
        return firsts.size >= orders * TYPES.length;
      },
      'all events came',
      60000 + orders * 20,
    );
    const ids = [...firsts.keys()].map((id) => Number(id.slice('evt_'.length)));
    for (let i = 1; i < ids.length; i++) assert.ok(ids[i] > ids[i - 1], `event ${ids[i]} came after ${ids[i - 1]}`);
    assert.equal(firsts.size, orders * TYPES.length, 'none was made up');
    for (const type of TYPES) {
      const about = [...firsts.values()].filter((c) => c.type === type).map((c) => c.data.order_id ?? c.data.id);
      assert.deepEqual(new Set(about), placed, type);
    }
    const repeated = receiver.got('/hook').length - firsts.size;
    assert.ok(repeated <= kills * 50, `${repeated} came again after ${kills} kills`);
    await shop.check();
    return { events: firsts.size, repeated, seconds: (Date.now() - began) / 1000 };
  } finally {
    await stop();
  }
}
