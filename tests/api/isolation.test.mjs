// One customer's trouble delays no other: a locked wallet holds up only its own orders.
// runs: pg release
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { psqlProgram } from '../lib/pg.mjs';
import { openOffice } from './lib/admin.mjs';
import { expectStatus } from './lib/http.mjs';

/** Locks the wallet of an account until release() is called. */
async function lockWallet(t, dbArg, account) {
  const psql = spawn(psqlProgram(), ['-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', dbArg], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => psql.kill()); // also when the test fails: else nobody could stop the server
  psql.stdin.write(
    `BEGIN; UPDATE ledger_account SET balance = balance WHERE owner_id = ${account}; SELECT 'locked';\n`,
  );
  await new Promise((resolve) => {
    psql.stdout.once('data', resolve);
  });
  return () =>
    new Promise((resolve) => {
      psql.once('close', resolve);
      psql.stdin.end('ROLLBACK;\n');
    });
}

test('60 orders on one locked wallet: verifications and other orders are answered while it is locked', async (t) => {
  const { souk, product, customer, stop } = await openOffice({ args: ['--workers', '16'] }); // as many as there are by default
  const { id } = await product({ price: 1 });
  const stuck = await customer({ balance: 1000 });
  const other = await customer({ balance: 1000 });
  const order = (who) => who.post('/api/v1/order/create', { product_id: id });
  const key = expectStatus(await order(other), 200).json.data.delivery.value;

  const release = await lockWallet(t, souk.dbArg, stuck.id);
  t.after(stop);
  let ended = 0;
  const waiting = Array.from({ length: 60 }, async () => {
    const answer = await order(stuck);
    ended += 1;
    return answer;
  });
  await new Promise((resolve) => {
    setTimeout(resolve, 300);
  });
  for (let i = 0; i < 5; i++) {
    expectStatus(await other.post('/api/v1/license/verify', { license_key: key, product_id: id }), 200);
    expectStatus(await order(other), 200);
    expectStatus(await other.get('/api/customer/orders'), 200);
  }
  assert.equal(ended, 0, 'the locked orders still wait: what was answered did not wait for them');
  await release();
  for (const answer of await Promise.all(waiting)) expectStatus(answer, 200);
});
