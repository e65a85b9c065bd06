// bench/history.bench.mjs - a wallet with a million transactions answers in the time of one with a hundred.
//
//     node bench/history.bench.mjs [TRANSACTIONS]     (default 1000000; SOUK_ENGINE=sqlite|pg, default both)
//
// The transactions are written into the database directly. Asked one at a time over one connection: what is compared is
// the time of one answer, not how many the server can give.
import assert from 'node:assert/strict';
import { assertInvariants } from '../tests/lib/checker.mjs';
import { execute, isPostgres, number } from '../tests/lib/sql.mjs';
import { startStore } from '../tests/lib/store.mjs';

const MANY = Number(process.argv[2] ?? 1_000_000);
const FEW = 100;
const ASKED = 1000;
const ENGINES = process.env.SOUK_ENGINE ? [process.env.SOUK_ENGINE] : ['sqlite', 'pg'];

/** The wallet of account `id` gets n transactions in all, as credits and debits of one cent by turns. */
function fill(dbArg, id, n) {
  const wallet = Number(number(dbArg, `SELECT id FROM ledger_account WHERE owner_id = ${id}`));
  const missing = n - 1;
  const series = isPostgres(dbArg)
    ? `generate_series(1, ${missing}) AS s(n)`
    : `(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${missing}) SELECT n FROM s) AS s`;
  execute(
    dbArg,
    `INSERT INTO transfer (debit_id, credit_id, amount, kind, description, created_at)
    SELECT CASE n % 2 WHEN 0 THEN ${wallet} ELSE 5 END, CASE n % 2 WHEN 0 THEN 5 ELSE ${wallet} END, 1, 'adjustment', 'By turns', 1000 * n FROM ${series};
    UPDATE ledger_account SET balance = balance + ${missing % 2} WHERE id = ${wallet}`,
  );
}

/** Times of each row's request, asked by turns, so that whatever else the machine does falls on all of them alike. */
async function measure(store, rows) {
  const times = rows.map(() => []);
  for (let i = 0; i < ASKED; i++) {
    for (const [r, [, who, query]] of rows.entries()) {
      const answer = await store.souk.request('GET', `/api/customer/wallet${query}`, {
        token: who.token,
        unchecked: true,
      });
      assert.equal(answer.json.data.transactions.length, 100);
      times[r].push(answer.ms);
    }
  }
  for (const t of times) t.sort((x, y) => x - y);
  return times.map((t) => ({ least: t[0], p50: t[ASKED / 2], p99: t[Math.floor(ASKED * 0.99)] }));
}

for (const engine of ENGINES) {
  // The quiet wallet's transactions are the oldest: a walk down the ids from the top passes all the others first.
  const store = await startStore({ engine, customers: { quiet: '1.00', busy: '1.00' } });
  try {
    await store.souk.stop();
    const { dbArg } = store.database;
    fill(dbArg, store.quiet.id, FEW);
    fill(dbArg, store.busy.id, MANY);
    execute(dbArg, 'SELECT 1; COMMIT; ANALYZE; BEGIN');
    await store.souk.start();
    const middle = Number(number(dbArg, 'SELECT MAX(id) / 2 FROM transfer'));
    const rows = [
      [`${FEW} transactions`, store.quiet, ''],
      [`${MANY} transactions`, store.busy, ''],
      [`${MANY} transactions, a page in the middle`, store.busy, `?before=${middle}`],
    ];
    const results = await measure(store, rows);
    results.forEach(({ least, p50, p99 }, r) =>
      console.log(
        `${engine.padEnd(7)} ${rows[r][0].padEnd(44)}` +
          ` least ${least.toFixed(3)} ms  p50 ${p50.toFixed(3)} ms  p99 ${p99.toFixed(3)} ms`,
      ),
    );
    if (MANY <= 100_000) assertInvariants(dbArg);
    const started = Date.now();
    const check = await store.souk.cli(['check'], { timeout_ms: 600_000 });
    assert.equal(check.code, 0, check.stdout + check.stderr);
    console.log(`${engine.padEnd(7)} souk check over all of it: ${((Date.now() - started) / 1000).toFixed(1)} s`);
  } finally {
    await store.stop();
  }
}
