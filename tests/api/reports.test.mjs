// What staff search for does not hold up others: on SQLite it runs beside the loops.
// runs: sqlite release
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { execute } from '../lib/sql.mjs';
import { openOffice } from './lib/admin.mjs';
import { expectError, expectStatus } from './lib/http.mjs';
import { connect } from './lib/raw.mjs';
import { together } from './lib/souk.mjs';

test('a request is answered while staff search through 300,000 customers', async (t) => {
  const { souk, owner, stop } = await openOffice({ args: ['--loops', '1'] });
  t.after(stop);
  execute(
    souk.dbArg,
    `INSERT INTO account (email, name, created_at)
    SELECT 'many' || value || '@example.com', 'Somebody with a name', 1 FROM generate_series(1, 300000)`,
  );
  const request = (i) =>
    `GET /api/admin/customers?q=nobody-${i} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.token}\r\n\r\n`;
  const sockets = await together(24, 4, () => connect(souk.url));
  let ended = 0;
  const searches = sockets.map(async (socket, i) => {
    socket.write(request(i));
    assert.equal((await socket.answer({ timeout_ms: 60000 })).status, 200);
    ended += 1;
    socket.destroy();
  });
  await sleep(20);
  for (let i = 0; i < 3; i++) expectStatus(await souk.get('/livez'), 200); // one may slip in before the searches begin
  assert.ok(ended < 24, 'it waited for all the searches');
  await Promise.all(searches);

  // With a limit that no search can keep: it ends with an error of its own, and nobody else notices.
  souk.args.push('--report-timeout-ms', '1');
  await souk.restart();
  const late = await Promise.all([1, 2, 3, 4].map((i) => souk.get(`/api/admin/customers?q=nobody-${i}`, owner)));
  for (const answer of late) expectError(answer, 503, 'read_too_long');
  expectStatus(await souk.get('/api/customer/wallet', owner), 200);
});
