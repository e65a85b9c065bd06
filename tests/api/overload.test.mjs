// More orders than the server can take: some are refused at once, the others are placed, and reads go on.
// runs: release
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { psqlProgram } from '../lib/pg.mjs';
import { isPostgres, number } from '../lib/sql.mjs';
import { openOffice } from './lib/admin.mjs';
import { expectStatus } from './lib/http.mjs';

const ORDERS = 1600; // more than the writer's queue holds before its pace is known, and the batch that it has taken

/** One order on a connection of its own; {status, code, retryAfter} once it is answered. */
async function order(port, token, body) {
  const socket = net.connect(port, '127.0.0.1');
  socket.write(
    `POST /api/v1/order/create HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
      `Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  let text = '';
  for await (const piece of socket) text += piece;
  const [, status] = /^HTTP\/1\.1 (\d+) /.exec(text);
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  return { status: Number(status), code, retryAfter: /^Retry-After: (\d+)\r$/m.exec(text)?.[1] };
}

test('a queue that is not worked off refuses at once, places what it took, and verifications go on', async (t) => {
  const many = ['--connections-per-address', '4000', '--connections-max', '4000'];
  const { souk, product, customer, stop } = await openOffice({ args: many });
  const { id } = await product({ price: 1 });
  const buyer = await customer({ balance: 1_000_000 });
  const key = expectStatus(await buyer.post('/api/v1/order/create', { product_id: id }), 200).json.data.delivery.value;

  const [program, args, hold] = isPostgres(souk.dbArg)
    ? [psqlProgram(), ['-XqAt', souk.dbArg], 'BEGIN; LOCK TABLE orders IN SHARE MODE;']
    : ['sqlite3', [souk.dbArg], 'BEGIN IMMEDIATE;'];
  const holder = spawn(program, args);
  t.after(() => holder.kill()); // also when the test fails: else nobody could stop the server
  t.after(stop);
  holder.stdin.write(`${hold} SELECT 'held';\n`);
  await once(holder.stdout, 'data');

  const refused = [];
  const body = JSON.stringify({ product_id: id });
  const all = Array.from({ length: ORDERS }, async () => {
    const answer = await order(souk.port, buyer.token, body);
    if (answer.code === 'overloaded') refused.push(answer);
    return answer;
  });
  for (const deadline = Date.now() + 60000; refused.length < 200; await sleep(20))
    assert.ok(Date.now() < deadline, `${refused.length} refusals while nothing could be placed`);
  expectStatus(await buyer.post('/api/v1/license/verify', { license_key: key, product_id: id }), 200);
  holder.stdin.end('ROLLBACK;\n');

  const answers = await Promise.all(all);
  for (const { status, retryAfter } of answers) assert.ok(status === 200 || (status === 503 && retryAfter === '1'));
  const placed = answers.filter((a) => a.status === 200).length;
  assert.ok(placed > 0);
  assert.equal(Number(number(souk.dbArg, 'SELECT count(*) FROM orders')), placed + 1);
});
