// Fifty kills: 20 of the server on SQLite; 30 on PostgreSQL with two servers, of servers, of PostgreSQL, of its power, and of
// connections whose COMMIT was sent; the first three while 64 clients are ordering. Under a sanitizer the server is killed once.
// bench/kills.soak.mjs makes more.
// release: sqlite pg
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ENGINE, SLOW } from '../api/lib/souk.mjs';
import { checkLog } from './lib/kill9.mjs';
import { killAllWays, openWays } from './lib/ways.mjs';

const IS_ONCE = SLOW > 1;
const HAS_POWER = ENGINE === 'pg' && !IS_ONCE;
const KILLS = IS_ONCE ? 1 : ENGINE === 'sqlite' ? 20 : 30;

let all;

before(async () => {
  all = await openWays({ hasPower: HAS_POWER });
});
after(() => all?.stop());

test('the check finds a lost order, a doubled one and a delivery that was made twice', () => {
  const entry = (order_id, ...values) => ({
    buyer: { id: 1 },
    body: { quantity: values.length },
    answer: JSON.stringify({
      data: { order_id, total: values.length * 0.07, deliveries: values.map((value) => ({ value })) },
    }),
  });
  const row = (...values) => ({ account: 1, status: 'confirmed', total: 7 * values.length, values });
  const check = (log, orders) => checkLog(new Map(Object.entries(log)), new Map(Object.entries(orders)));
  check({ a: entry(1, 'X'), b: entry(2, 'Y') }, { 1: row('X'), 2: row('Y') });
  assert.throws(() => check({ a: entry(1, 'X') }, {}), /is not there/);
  assert.throws(() => check({ a: entry(1, 'X'), b: entry(1, 'X') }, { 1: row('X') }), /two keys/);
  assert.throws(() => check({ a: entry(1, 'X'), b: entry(2, 'X') }, { 1: row('X'), 2: row('X') }), /twice/);
  assert.throws(() => check({ a: entry(1, 'X') }, { 1: row('Y') }), /another delivery/);
});

test(`all that was acknowledged is there, all that was not happens once: ${KILLS} kills`, async (t) => {
  const { kills, acknowledged, repeated } = await killAllWays(all, KILLS, { crowded: IS_ONCE ? 0 : 3 });
  t.diagnostic(`${acknowledged} acknowledged before the kills, ${repeated} repeated after them`);
  for (const [name, n] of Object.entries(kills)) t.diagnostic(`${name}: ${n}`);
  assert.ok(acknowledged > 0);
  assert.ok(IS_ONCE || repeated > 0, 'no kill met an order under way: the test is too gentle');
});

if (HAS_POWER)
  test('a disk that loses the log, too, is noticed', async () => {
    const { kill9, power } = all;
    power.remember();
    // Acknowledged, and then lost.
    await assert.rejects(
      kill9.round(() => power.powerOff({ losesLog: true }), { pause_ms: 20, whole: false }),
      (e) => e instanceof assert.AssertionError && /at (checkLog|#?checkSums)/.test(e.stack),
    );
  });
