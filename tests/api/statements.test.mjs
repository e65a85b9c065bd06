// Every statement of the domain is planned on a store with many rows in each table: none may read what grows with the store's age.
//
//     SOUK_ROWS=1000000 SOUK_ENGINE=pg node --test tests/api/statements.test.mjs      the same with a million rows in each table
// runs: release
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { crowd, SMALL, tables } from '../lib/crowd.mjs';
import { selectAll } from '../lib/sql.mjs';
import { allStatements, plansOf } from '../lib/statement.mjs';
import { startStore } from '../lib/store.mjs';
import { ENGINE } from './lib/souk.mjs';

const ROWS = Number(process.env.SOUK_ROWS ?? 50_000);
const IS_PG = ENGINE === 'pg';

/** What reads a whole table, or a whole index, and may: [file, text that the statement has in it, why]. */
const MAY_READ_ALL = [
  ['settings.c', 'SELECT 1 FROM transfer UNION ALL', 'whether there is any row at all: the first one is the answer'],
  [
    'department.c',
    'DELETE FROM department',
    'the first ticket of the department ends it, and departments are rarely deleted',
  ],
  [
    'gateway_config.c',
    'EXISTS (SELECT 1 FROM payment WHERE gateway_id',
    'the first payment ends it, and a gateway rarely changes its currency or mode',
  ],
  [
    'vitals.c',
    'LIMIT 10000) x)',
    'counts of what is open stop at 10,000; here much is open, so the first rows are enough. plans.test.mjs shows that indexes serve',
  ],
  ['order_search.c', 'LIKE', 'a search of staff for a part of a text'],
  ['customer.c', 'LIKE', 'a search of staff for a part of a text'],
  ['license.c', 'LIKE', 'a search of staff for a part of a text'],
  ...(IS_PG ? [] : [['key_pages.c', 'FROM idempotency_page ORDER BY last', 'once, when a server starts']]),
];

let store, statements, plans;
before(async () => {
  store = await startStore();
  await store.souk.stop();
  crowd(store.database.dbArg, ROWS);
  statements = allStatements(store.database.dbArg).filter((s) => s.file !== 'invariant.c'); // `souk check` reads everything
  plans = plansOf(
    store.database.dbArg,
    statements.map((s) => s.text),
  );
});
after(() => store?.database.remove());

const growing = Object.keys(tables()).filter((table) => !SMALL.includes(table));

/** The growing tables that this plan reads from one end to the other. */
function readsAll(text, plan) {
  if (IS_PG) {
    return plan.split('\n').flatMap((line, i, lines) => {
      const [, seq, index, table] = /(Seq Scan) on (\w+)/.test(line)
        ? [null, true, null, /Seq Scan on (\w+)/.exec(line)[1]]
        : [null, false, ...(/Index(?: Only)? Scan(?: Backward)? using (\w+) on (\w+)/.exec(line)?.slice(1) ?? [])];
      if (!growing.includes(table)) return [];
      if (seq) return [table];
      // An index without a condition is walked from its end: that is well when it gives the order, and the first rows are enough. Indexes
      // of what is open hold little.
      // MIN and MAX are a walk, too, that ends at the first row; PostgreSQL 17 no longer gives it the condition that the column is not NULL.
      const isWalk = !/Index Cond/.test(lines[i + 1] ?? '');
      const isFirst = /->\s+Limit/.test(lines[i - 1] ?? '') && !/Filter/.test(lines[i + 1] ?? '');
      return isWalk &&
        !isFirst &&
        (!/ LIMIT /.test(text) || /Merge/.test(plan)) &&
        !/_(open|due|pending|staff|hold)/.test(index)
        ? [table]
        : [];
    });
  }
  const names = {};
  for (const [, table, alias] of text.matchAll(/\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)(?:\s+(?:AS\s+)?([a-z]\w*))?/g)) {
    names[table] = table;
    if (alias) names[alias] = table;
  }
  return [...plan.matchAll(/SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?/g)]
    .filter(([, , index]) => !(index && (/ LIMIT /.test(text) || /_(open|due|pending|staff|hold)/.test(index))))
    .map(([, name]) => names[name] ?? name)
    .filter((table) => growing.includes(table) && !text.includes(`FROM ${table} ORDER BY id LIMIT`));
}

test('the statements are there', () => {
  assert.ok(statements.length > 250, `${statements.length} statements`);
  assert.equal(plans.length, statements.length);
  plans.forEach((plan, i) => assert.doesNotMatch(plan, /ERROR/, `${statements[i].file}: ${statements[i].text}`));
});

test('none reads a growing table as a whole', () => {
  const found = statements.flatMap(({ file, name, text }, i) => {
    if (MAY_READ_ALL.some(([f, part]) => f === file && text.includes(part))) return [];
    const whole = readsAll(text, plans[i]);
    return whole.length ? [`${file} ${name} reads all of ${whole.join(', ')}:\n${text}\n${plans[i]}`] : [];
  });
  assert.deepEqual(found, [], found.join('\n'));
});

const PAGES = [
  ...(IS_PG
    ? [
        ['order_read.c', 'orders', 'orders_by_account'],
        ['license.c', 'license l', 'license_by_account'],
      ]
    : []),
  ['notification.c', 'notification', 'notification_by_account'],
  ['withdrawal.c', 'withdrawal', 'withdrawal_by_account'],
];

for (const [file, table, index] of PAGES) {
  test(`${file}: a page of an owner's rows is a range of ${index}, also for owners who have a large part of them`, () => {
    const i = statements.findIndex((s) => s.file === file && s.name === 'a page' && s.text.includes(`FROM ${table} `));
    assert.ok(i >= 0, 'a list without DB_PAGE');
    assert.match(plans[i], new RegExp(`\\b${index}\\b`));
    assert.doesNotMatch(plans[i], IS_PG ? /Sort|Bitmap|Hash/ : /TEMP B-TREE|SCAN/, plans[i]);
  });
}

// On SQLite these lists are filed: ids come out of a range of what is filed, and of what is behind the mark; the rows, by their ids.
for (const [list, table, owner] of [
  ['orders', 'orders', 'account_id'],
  ['license', 'license', 'account_id'],
  ['transfer', 'transfer', 'debit_id'],
]) {
  test(`the list of ${table} by ${owner} is a range of what is filed`, { skip: IS_PG }, () => {
    const planOf = (name) =>
      plans[statements.findIndex((s) => s.file === 'filing.c' && s.name === `sqlite_${list}_${name}`)];
    assert.match(
      planOf('filed'),
      new RegExp(`^.*SEARCH ${table}_filed USING PRIMARY KEY \\(${owner}=\\? AND id<\\?\\)\n?$`, 'm'),
    );
    for (const name of ['added', 'behind', 'file'])
      assert.match(planOf(name), /SEARCH \w+ USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)/);
    for (const name of ['filed', 'added', 'behind']) assert.doesNotMatch(planOf(name), /TEMP B-TREE|SCAN/);
  });
}

test('a key of a licence is a range of what is filed', { skip: IS_PG }, () => {
  const planOf = (file, name) => plans[statements.findIndex((s) => s.file === file && s.name === name)];
  assert.match(
    planOf('license_index.c', 'sqlite_filed'),
    /^QUERY PLAN\n.*SEARCH k USING PRIMARY KEY \(key_start=\?\)\n.*SEARCH l USING INTEGER PRIMARY KEY \(rowid=\?\)\n?$/,
  );
  assert.match(planOf('license_index.c', 'sqlite_behind'), /SEARCH \w+ USING INTEGER PRIMARY KEY \(rowid>\?\)/);
  assert.match(planOf('filing.c', 'sqlite_key_file'), /SEARCH \w+ USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)/);
});

test('rows of a list come by their ids', { skip: IS_PG }, () => {
  for (const [file, table] of [
    ['order_read.c', 'orders'],
    ['license.c', 'l'],
  ]) {
    const i = statements.findIndex((s) => s.file === file && s.name === 'a page');
    assert.match(plans[i], new RegExp(`SEARCH ${table} USING INTEGER PRIMARY KEY \\(rowid=\\?\\)`));
    assert.doesNotMatch(plans[i], /TEMP B-TREE|SCAN (?!json_each)/);
  }
});

/** Whether anything refers to a row that is to be deleted: one look at each index. [file, name, indexes] */
const USES = [
  ['product.c', 'find', ['order_item_by_product', 'serial_by_product|serial_pool', 'license_granted']],
  ['variant.c', 'find_use', ['order_item_by_product', 'serial_by_product|serial_pool', 'license_granted']],
  ['coupon_admin.c', 'find_use', ['orders_by_coupon', 'coupon_use_by_customer', 'cart_by_coupon']],
];

for (const [file, name, indexes] of USES) {
  test(`${file}: whether something is in use is asked of indexes`, () => {
    const i = statements.findIndex(
      (s) => s.file === file && s.name === name && s.text.startsWith('SELECT 1 WHERE (SELECT 1 FROM'),
    );
    assert.ok(i >= 0, 'a statement without DB_ANY');
    for (const index of indexes) assert.match(plans[i], new RegExp(`\\b(${index})\\b`));
    const whole = IS_PG ? /Seq Scan on (?!coupon_product)/ : /SCAN (?!CONSTANT|coupon_product)/; // which is small
    assert.doesNotMatch(plans[i], whole, plans[i]);
  });
}

test('an order on SQLite makes no temporary table', { skip: IS_PG }, () => {
  const ORDER = [
    ['order.c', 'insert', 2],
    ['ledger.c', 'insert', 1],
    ['ledger.c', 'take', 1],
    ['license.c', 'sqlite', 1],
    ['delivery.c', 'sqlite', 1],
    ['event.c', 'created', 1],
    ['event.c', 'sqlite', 1],
    ['idempotency.c', 'sqlite', 2],
    ['catalog.c', 'find', 1],
  ];
  const programOf = (text) => JSON.stringify(selectAll(store.database.dbArg, [`EXPLAIN ${text}`]));
  for (const [file, name, count] of ORDER) {
    const texts = statements.filter(
      (s) =>
        s.file === file && s.name === name && !/ RETURNING (?!id$)/.test(s.text) && !/ = \$1 RETURNING/.test(s.text),
    );
    assert.ok(texts.length >= count, `${file} ${name}`);
    for (const { text } of texts) {
      // An INSERT that returns its id alone is run without: see src/db/sqlite.c.
      const plain = text.replace(/(VALUES \([^;]*\)) RETURNING id$/, '$1');
      assert.ok(!programOf(plain).includes('OpenEphemeral'), `${file} ${name}: ${text}`);
    }
  }
  assert.match(programOf('SELECT 1 FROM orders WHERE status IN ($1, $2, $3)'), /OpenEphemeral/); // it would be found
});

test('every exception is needed for a statement that is there', () => {
  for (const [file, part] of MAY_READ_ALL)
    assert.ok(
      statements.some((s) => s.file === file && s.text.includes(part)),
      `${file}: ${part}`,
    );
});

test('control: a scan is found', () => {
  const text = 'SELECT COUNT(*) FROM orders o WHERE o.total = $1';
  assert.deepEqual(readsAll(text, plansOf(store.database.dbArg, [text])[0]), ['orders']);
});
