// Lists answer in the time of one page, whatever lies behind it: the engines walk down an index and stop.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { planOf, statementOf } from '../lib/statement.mjs';
import { execute, holdSnapshot, select, selectAll } from '../lib/sql.mjs';
import { startStore } from '../lib/store.mjs';
import { openShop } from './lib/shop.mjs';
import { ENGINE } from './lib/souk.mjs';

const ROWS = 20_000;
const IS_PG = ENGINE === 'pg';

let store, db;
before(async () => {
  store = await startStore({ customers: { ada: '1.00', bob: '1.00' }, departments: ['Sales', 'Billing'] });
  await store.souk.stop();
  db = store.database.dbArg;
  const series = IS_PG
    ? `generate_series(1, ${ROWS}) AS s(n)`
    : `(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${ROWS}) SELECT n FROM s) AS s`;
  const blob = IS_PG ? "decode(md5(n::text), 'hex')" : 'CAST(n AS BLOB)';
  execute(
    db,
    `
    INSERT INTO transfer (debit_id, credit_id, amount, kind, description, created_at)
      SELECT CASE n % 2 WHEN 0 THEN 5 ELSE 6 + n % 4 / 2 END, CASE n % 2 WHEN 0 THEN 6 + n % 4 / 2 ELSE 1 END, 1, 'adjustment', 'x', n FROM ${series};
    INSERT INTO withdrawal (account_id, amount, status, requested_at, decided_at)
      SELECT 1 + n % 2, 1, CASE WHEN n % 1000 < 2 THEN 'pending' ELSE 'approved' END, n, n FROM ${series};
    INSERT INTO notification (account_id, kind, message, created_at) SELECT 1 + n % 2, 'k', 'm', n FROM ${series};
    INSERT INTO ticket (account_id, department_id, subject, status, created_at, last_reply_at)
      SELECT 1 + n % 2, 1 + n % 2, 's', CASE n % 3 WHEN 0 THEN 'open' WHEN 1 THEN 'answered' ELSE 'closed' END, n, n FROM ${series};
    INSERT INTO product (slug, name, price, delivery_type, created_at, updated_at) VALUES ('codes', 'Codes', 1, 'serial_code', 1, 1);
    INSERT INTO serial (product_id, variant_id, code_hash, sealed_code, taken_by) SELECT 1, n % 2, ${blob}, ${blob}, CASE WHEN n < ${ROWS} * 3 / 4 THEN n END FROM ${series};
    INSERT INTO ticket_message (ticket_id, author, author_id, body, created_at) SELECT 1 + n % 10, 'customer', 1, 'b', n FROM ${series}`,
  );
  execute(db, 'SELECT 1; COMMIT; ANALYZE; BEGIN');
});
after(() => store?.database.remove());

/** [what, file, function, statement, values, table, indexes of which each must be used] */
const LISTS = [
  [
    "a wallet's transactions",
    'domain/ledger.c',
    'wallet_transactions',
    IS_PG ? 'postgres' : 'sqlite',
    [1, ROWS, 100],
    'transfer',
    IS_PG ? ['transfer_by_debit', 'transfer_by_credit'] : ['transfer_by_credit', 'INTEGER PRIMARY KEY'],
  ],
  [
    'withdrawals of a customer',
    'domain/withdrawal.c',
    'withdrawal_list_account',
    null,
    [1, ROWS, 21],
    'withdrawal',
    ['withdrawal_by_account'],
  ],
  [
    'withdrawals in one state',
    'domain/withdrawal.c',
    'withdrawal_list_status',
    null,
    ["'pending'", ROWS, 21],
    'withdrawal',
    ['withdrawal_by_status'],
  ],
  [
    'notifications',
    'domain/notification.c',
    'notification_list',
    null,
    [1, ROWS, 21],
    'notification',
    ['notification_by_account'],
  ],
  [
    'tickets of a customer',
    'domain/ticket.c',
    'ticket_list_account',
    null,
    [1, ROWS, ROWS, 101],
    'ticket',
    ['ticket_by_account'],
  ],
  [
    'tickets of everybody',
    'domain/ticket.c',
    'ticket_list_all',
    'any',
    [ROWS, ROWS, 21],
    'ticket',
    ['ticket_by_activity'],
  ],
  [
    'tickets in one state',
    'domain/ticket.c',
    'ticket_list_all',
    'by_status',
    ["'open'", ROWS, ROWS, 21],
    'ticket',
    ['ticket_by_status'],
  ],
  [
    'tickets of a department',
    'domain/ticket.c',
    'ticket_list_all',
    'by_department',
    [1, ROWS, ROWS, 21],
    'ticket',
    ['ticket_by_department'],
  ],
  [
    'messages of a ticket',
    'domain/ticket.c',
    'ticket_messages',
    null,
    [1, ROWS, 100],
    'ticket_message',
    ['ticket_message_by_ticket'],
  ],
];

test('what a wallet has held comes from an index of pending withdrawals alone', () => {
  const plan = planOf(db, statementOf('domain/ledger.c', 'wallet_find', 'find', db), [1]);
  assert.match(plan, /withdrawal_pending/);
  assert.doesNotMatch(plan, /Seq Scan on withdrawal|SCAN withdrawal/);
});

test('the figures for the operator come from indexes of what is open, and stop counting', () => {
  const FIGURES = [
    [
      'read_open',
      'counts',
      [
        'orders_pending',
        'orders_on_hold',
        'payment_open',
        'payment_waiting',
        'refund_open',
        'dispute_open',
        'withdrawal_by_status|withdrawal_pending',
        'ticket_by_status',
        'webhook_event_by_status|webhook_event_unmatched',
      ],
    ],
    ['read_reviews', 'counts', ['review_by_status|review_open']],
    ['read_outbox', 'counts', ['outbox_open']],
    ['follow_orders', 'next', IS_PG ? ['orders_pkey'] : ['INTEGER PRIMARY KEY']],
    ['follow_transfers', 'next', IS_PG ? ['transfer_pkey'] : ['INTEGER PRIMARY KEY']],
  ];
  for (const [fn, name, indexes] of FIGURES) {
    const text = statementOf('domain/vitals.c', fn, name, db);
    // Tables that are nearly empty are read whole whatever there is: what counts is that an index serves.
    const plan = IS_PG
      ? selectAll(db, [
          'SET LOCAL enable_seqscan = off',
          'SET LOCAL plan_cache_mode = force_generic_plan',
          `PREPARE figure AS ${text}`,
          `EXPLAIN EXECUTE figure${text.includes('$') ? ' (1, 2)' : ''}`,
        ])
          .at(-1)
          .map((row) => row[0])
          .join('\n')
      : planOf(db, text, []);
    for (const index of indexes) assert.match(plan, new RegExp(index), `${index} is not used:\n${plan}`);
    const read = plan.replaceAll(/SCAN (CONSTANT ROW|x)/g, '');
    assert.doesNotMatch(read, IS_PG ? /Seq Scan/ : /SCAN \w+$/m, plan);
    const counted = [...text.matchAll(/ FROM \((SELECT [^()]*)\) x/g)];
    if (fn.startsWith('read')) assert.ok(counted.length > 0);
    for (const [, inner] of counted) assert.match(inner, /LIMIT 10000$/);
  }
});

for (const [what, file, fn, name, values, table, indexes] of LISTS) {
  test(`${what} come from an index`, () => {
    const plan = planOf(db, statementOf(file, fn, name, db), values);
    for (const index of indexes) assert.ok(plan.includes(index), `${index} is not used:\n${plan}`);
    const others = IS_PG
      ? new RegExp(`Seq Scan on ${table}\\b|Bitmap|${table}_pkey`)
      : new RegExp(`SCAN (${table}|[tm])\\b|${table === 'transfer' ? '^SCAN' : 'TEMP B-TREE'}`, 'm');
    assert.doesNotMatch(plan, others, plan);
  });
}

const POOL = [
  ['one code', 'prepare_take', IS_PG ? 'postgres_one' : 'sqlite', [1, 0, 0, 1, 1, 1]],
  ['many codes', 'prepare_take', IS_PG ? 'postgres_many' : 'sqlite', [1, 0, 0, 1, 1, 20]],
  ['codes that others hold', 'prepare_take', IS_PG ? 'postgres_waiting' : 'sqlite', [1, 0, 0, 1, 1, 20]],
  ['whether a pool is empty', 'touch_if_empty', IS_PG ? 'postgres' : 'sqlite', [1, 0, 9]],
  ['how many codes a pool has', 'count_free', IS_PG ? 'postgres' : 'sqlite', [1, 0, 0, 10]],
];

for (const [what, fn, name, values] of POOL) {
  test(`${what}: from the index of the pool, whatever was sold`, () => {
    const plan = planOf(db, statementOf('domain/serial.c', fn, name, db), values);
    assert.match(plan, /serial_pool/);
    assert.doesNotMatch(
      plan,
      IS_PG ? /Seq Scan on serial|Hash|Sort|Bitmap|Filter: \(.*product_id/ : /SCAN serial|TEMP B-TREE/,
      plan,
    );
  });
}

test(
  'a sale does not walk over what was sold before, also while somebody keeps an old snapshot',
  { skip: !IS_PG },
  async () => {
    const SOLD = 20_000;
    const SALES = 40;
    const shop = await openShop();
    let holder;
    try {
      const buyer = await shop.buyer();
      const pool = shop.seed.product({ price: 1, delivery_type: 'serial_code' });
      shop.seed.sql(
        `INSERT INTO serial (product_id, variant_id, code_hash, sealed_code) SELECT ${pool.id}, 0, decode(md5(n::text), 'hex'), '' FROM generate_series(1, ${SOLD}) n;`,
      );
      shop.seed.serials(
        pool,
        Array.from({ length: SALES }, (_, i) => `code-${i}`),
      );
      holder = await holdSnapshot(shop.souk.dbArg);
      shop.seed.sql(`UPDATE serial SET taken_by = 0, taken_at = 1 WHERE id <= ${SOLD};`);
      for (let i = 0; i < SALES; i++) await shop.bought(buyer, { product_id: pool.id });
      await shop.souk.restart(); // connections report what they read when they end, at the latest
      const [[read]] = select(
        shop.souk.dbArg,
        "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'serial_pool'",
      );
      // The first sale, and another one after ten seconds each, walk all of it, to look and to be sure.
      assert.ok(Number(read) < (SOLD * SALES) / 4, `${read} entries of the pool's index for ${SALES} sales`);
      assert.ok(Number(read) >= SALES, 'the figures are not there');
    } finally {
      holder?.kill();
      await shop.stop();
    }
  },
);

test('control: the list that an equality would make is not always one walk down its index', { skip: !IS_PG }, () => {
  const plan = planOf(db, 'SELECT id, amount FROM transfer WHERE debit_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3', [
    6,
    ROWS,
    100,
  ]);
  assert.ok(!plan.includes('transfer_by_debit'), plan);
});
