// runs: release
// Fifty kills: 20 of the server on SQLite; 30 on PostgreSQL with two servers, of servers, of PostgreSQL, of its power, and of
// connections whose COMMIT was sent. bench/kills.soak.mjs makes more.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ENGINE } from '../api/lib/souk.mjs';
import { killAllWays, openWays } from './lib/ways.mjs';

const KILLS = ENGINE === 'sqlite' ? 20 : 30;

let all;

before(async () => {
  all = await openWays();
});
after(() => all?.stop());

test(`${KILLS} kills: all that was acknowledged is there, all that was not happens once`, async (t) => {
  const { kills, acknowledged, repeated } = await killAllWays(all, KILLS);
  t.diagnostic(`${acknowledged} acknowledged before the kills, ${repeated} repeated after them`);
  for (const [name, n] of Object.entries(kills)) t.diagnostic(`${name}: ${n}`);
  assert.ok(repeated > 0, 'no kill met an order under way: the test is too gentle');
});

if (ENGINE === 'pg')
  test('a disk that loses the log, too, is noticed', async () => {
    const { kill9, power } = all;
    power.remember();
    // Acknowledged, and then lost.
    await assert.rejects(
      kill9.round(() => power.powerOff({ losesLog: true }), { pause_ms: 20, whole: false }),
      (e) => e instanceof assert.AssertionError && /at (checkLog|#?checkSums)/.test(e.stack),
    );
  });
