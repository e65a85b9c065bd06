// souk import and souk export: every bad line is named and nothing is changed; what goes out comes in again.
// spares: tsan
// release: pg
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { dataOf } from './lib/http.mjs';
import { openPaidShop } from './lib/gateways.mjs';
import { ENGINE, freshStore, runSouk } from './lib/souk.mjs';

let shop;
before(async () => {
  shop = await openPaidShop();
});
after(() => shop.stop());

/** Beside the running server, which does the work. */
const run = (args, input = '', database = shop.database) =>
  runSouk([...args, '--db', database.dbArg], { cwd: database.dir, env: database.env, input });
const csv = (...lines) => `${lines.join('\r\n')}\r\n`;
/** Lines whose last fields are empty: as many as the first line has. */
const padded = (head, ...lines) =>
  csv(head, ...lines.map((line) => line + ','.repeat(head.split(',').length - line.split(',').length)));

async function imports(kind, text, ...more) {
  const done = await run(['import', kind, '-', ...more], text);
  assert.equal(done.code, 0, `${done.stdout}${done.stderr}`);
  const [, added, present, skipped] = /^(?:would add|added) (\d+)\npresent (\d+)\nskipped (\d+)\n$/.exec(done.stdout);
  return [added, present, skipped].map(Number);
}

test('products, variants, customers, licences, codes and balances; a second time changes nothing', async () => {
  const files = [
    [
      'products',
      csv(
        'ref,slug,name,price,delivery_type,description,license_days',
        'old:1,editor,Editor,49.99,license_key,"Fine, ""really"".",365',
        'old:2,codes,Codes,5,serial_code,,',
      ),
      2,
    ],
    ['variants', csv('product,name,price,default', 'editor,Home,49.99,yes', 'editor,Team,199,no'), 2],
    [
      'customers',
      csv(
        'ref,email,name,created_at',
        'u7,Ada@Example.com,Ada,2020-01-02',
        'u8,bob@example.com,,2021-03-04 05:06:07 UTC',
      ),
      2,
    ],
    [
      'licenses',
      csv(
        'key,product,variant,email,customer_ref,status,expires_at,hardware_id',
        'OLD-KEY-0001,editor,Team,ada@example.com,,active,2999-01-01,',
        'old_key_0002,editor,,,u8,revoked,,HW1',
        'OLD-KEY-0003,editor,,new@example.com,,,,',
      ),
      3,
    ],
    ['serials', csv('product_ref,code', 'old:2,AAA', 'old:2,BBB'), 2],
    ['wallets', csv('email,balance', 'ada@example.com,12.34'), 1],
  ];
  for (const [kind, text, count] of files) {
    assert.deepEqual(await imports(kind, text, '--dry-run'), [count, 0, 0], kind);
    assert.deepEqual(await imports(kind, text), [count, 0, 0], kind);
    assert.deepEqual(await imports(kind, text), [0, count, 0], `${kind} again`);
  }
  const [[price, description]] = shop.seed.sql("SELECT price, description FROM product WHERE slug = 'editor';");
  assert.deepEqual([price, description], ['4999', 'Fine, "really".']);
  assert.equal(shop.seed.number("SELECT COUNT(*) FROM variant WHERE is_default = 1 AND name = 'Home'"), 1);
  assert.equal(
    shop.seed.number("SELECT created_at FROM account WHERE email = 'ada@example.com'"),
    Date.UTC(2020, 0, 2),
  );
  assert.equal(
    shop.seed.number("SELECT created_at FROM account WHERE email = 'bob@example.com'"),
    Date.UTC(2021, 2, 4, 5, 6, 7),
  );
  assert.equal(
    shop.seed.number(
      "SELECT w.balance FROM ledger_account w JOIN account a ON a.id = w.owner_id WHERE a.email = 'ada@example.com'",
    ),
    1234,
  );
  assert.equal(shop.seed.number("SELECT SUM(amount) FROM transfer WHERE kind = 'opening' AND debit_id = 5"), 1234);
  assert.equal(shop.seed.number("SELECT COUNT(*) FROM audit WHERE action = 'import'"), 6);
  await shop.check();
});

test('keys of another system verify as they are, and no other text does', async () => {
  const product = shop.seed.number("SELECT id FROM product WHERE slug = 'editor'");
  const caller = await shop.buyer();
  const verify = (product_id, license_key) => shop.verify(caller, { product_id, license_key });
  assert.equal((await verify(product, 'OLD-KEY-0001')).status, 200);
  for (const wrong of ['old-key-0001', 'OLD-KEY-0009', 'OLDKEY0001', 'OLD-KEY-00011', 'x'])
    assert.notEqual((await verify(product, wrong)).status, 200, wrong);
  assert.notEqual((await verify(product, 'old_key_0002')).status, 200, 'revoked');
});

test('what has no reference is known by the name it gets; a balance with a reference is given once', async () => {
  const files = [
    [
      'products',
      csv(
        'name,price,delivery_type,download_url',
        'Manual,1,download_url,https://x.example/m',
        'Old manual,1,download_url,http://x.example/o',
      ),
      2,
    ],
    ['variants', csv('product,name,price', ...Array.from({ length: 17 }, (_, i) => `manual,Print ${i},1`)), 17],
    ['wallets', csv('ref,email,balance', 'w1,bob@example.com,1.00'), 1],
  ];
  for (const [kind, text, count] of files) {
    assert.deepEqual(await imports(kind, text), [count, 0, 0], kind);
    assert.deepEqual(await imports(kind, text), [0, count, 0], `${kind} again`);
  }
  assert.equal(shop.seed.number("SELECT COUNT(*) FROM product WHERE slug IN ('manual', 'old-manual')"), 2);
  const listed = dataOf(await shop.souk.get('/api/store/products'));
  assert.equal(listed.find((p) => p.slug === 'manual').variants.length, 17);
  assert.deepEqual(
    await imports('wallets', csv('ref,email,balance', 'w1,bob@example.com,7.00', 'w2,bob@example.com,2.00')),
    [1, 1, 0],
  );
  const balance =
    "SELECT w.balance FROM ledger_account w JOIN account a ON a.id = w.owner_id WHERE a.email = 'bob@example.com'";
  assert.equal(shop.seed.number(balance), 300);
});

test('every bad line is named with its number and reason, and nothing is imported', async () => {
  const state = () =>
    shop.seed
      .sql(
        'SELECT (SELECT COUNT(*) FROM product), (SELECT COUNT(*) FROM account), (SELECT COUNT(*) FROM license), (SELECT COUNT(*) FROM serial), (SELECT COUNT(*) FROM transfer), (SELECT COUNT(*) FROM audit), (SELECT COUNT(*) FROM import_reference);',
      )
      .join();
  const BAD = [
    [
      'products',
      csv(
        'slug,name,price,delivery_type',
        'good,Good,1,license_key',
        ',,1,license_key',
        'x y,X,1,license_key',
        'a,A,1.999,license_key',
        'b,B,-1,license_key',
        'c,C,1,by_post',
        'd,D,1',
      ),
      [
        [3, /name: is missing/],
        [4, /slug: /],
        [5, /price: .*decimals/],
        [6, /price: /],
        [7, /delivery_type: /],
        [8, /has 3 fields, the first line has 4/],
      ],
    ],
    [
      'products',
      padded(
        'slug,name,price,delivery_type,active,position,license_days,key_prefix,download_url,description',
        'a,A,,license_key',
        'a,A,a lot,license_key',
        'a,A,99999999999999,license_key',
        'a,A,1,license_key,perhaps',
        'a,A,1,license_key,0,first',
        'a,A,1,license_key,0,-1',
        'a,A,1,license_key,0,1,36501',
        'a,A,1,license_key,0,1,1,K?',
        'a,A,1,license_key,no,1,1,K,ftp://x.example',
        `a,A,1,license_key,0,1,1,K,https://x.example,${'d'.repeat(20001)}`,
        `a,${'n'.repeat(201)},1,license_key`,
        '"a","A\tB",1,license_key',
      ),
      [
        [2, /price: is missing/],
        [3, /price: wants a number/],
        [4, /price: is out of range/],
        [5, /active: wants true or false/],
        [6, /position: wants a whole number/],
        [7, /position: wants a whole number/],
        [8, /license_days: wants a whole number/],
        [9, /key_prefix: wants letters/],
        [10, /download_url: wants an address/],
        [11, /description: is too long/],
        [12, /name: is too long/],
        [13, /name: has characters/],
      ],
    ],
    [
      'products',
      Buffer.from('name,price,delivery_type,description\nA\xff,1,license_key,\nB,1,license_key,\xff\n', 'latin1'),
      [
        [2, /name: has characters/],
        [3, /description: is too long, or not UTF-8/],
      ],
    ],
    ['customers', Buffer.from('email\n\xff@example.com\n', 'latin1'), [[2, /email: is not/]]],
    [
      'variants',
      csv('product,name,price', 'nowhere,X,1', 'editor,,1', ',X,1'),
      [
        [2, /product: no product/],
        [3, /name: is missing/],
        [4, /product: is missing/],
      ],
    ],
    [
      'customers',
      csv('email,created_at', 'ada,', 'x@example.com,yesterday', '"a\nb@example.com",'),
      [
        [2, /email: is not/],
        [3, /created_at: wants a time/],
        [4, /email: is not/],
      ],
    ],
    [
      'licenses',
      csv(
        'key,product,email,status',
        'abc,editor,x@example.com,',
        'has space,editor,x@example.com,',
        'GOODKEY1,editor,,',
        'GOODKEY2,editor,x@example.com,maybe',
        `${'K'.repeat(256)},editor,x@example.com,`,
        'GOODKEY\u00e9,editor,x@example.com,',
      ),
      [
        [2, /key: is not a key/],
        [3, /key: is not a key/],
        [4, /email: is missing/],
        [5, /status: wants/],
        [6, /key: is too long/],
        [7, /key: is not a key/],
      ],
    ],
    [
      'serials',
      csv('product,code,variant', 'editor,A,', 'codes,,', 'codes,x,', 'codes,y,Large'),
      [
        [2, /does not deliver serial codes/],
        [3, /code: is not a code/],
        [5, /variant: the product has no variant/],
      ],
    ],
    [
      'wallets',
      csv('email,balance', 'ada@example.com,0', 'nobody@example.com,5', 'ada@example.com,99999999999999999999'),
      [
        [2, /balance: /],
        [3, /no customer has this address/],
        [4, /balance: is too large/],
      ],
    ],
    ['customers', csv('email,shoe_size', 'x@example.com,43'), [[1, /a column that this kind of import does not have/]]],
    ['customers', 'email\nx@example.com\n"never closed', [[3, /never closed/]]],
    ['customers', '', [[1, /empty/]]],
  ];
  for (const [kind, text, wanted] of BAD) {
    const before_ = state();
    const done = await run(['import', kind, '-'], text);
    assert.equal(done.code, 1, `${kind}: ${done.stdout}`);
    assert.match(done.stderr, /nothing was imported/);
    const lines = done.stdout
      .trimEnd()
      .split('\n')
      .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
    assert.equal(lines.length, wanted.length, done.stdout);
    wanted.forEach(([number, why], i) => assert.match(lines[i], new RegExp(`^line ${number}: .*${why.source}`)));
    assert.equal(state(), before_, kind);
  }
  assert.equal((await run(['import', 'wallets', '-', '--from', 'gumroad'], '')).code, 2);
});

test('files of dujiaoka, WooCommerce, EDD and Gumroad', async () => {
  const goods = csv(
    'id,group_id,gd_name,actual_price,ord,description,type,is_open',
    '17,1,Voucher,9.90,3,Text,1,1',
    '18,1,By hand,9.90,1,NULL,2,1',
  );
  assert.deepEqual(await imports('products', goods, '--from', 'dujiaoka'), [1, 0, 1]);
  const carmis = csv(
    'id,goods_id,status,is_loop,carmi,created_at,deleted_at',
    '1,17,1,0,V-1,,NULL',
    '2,17,2,0,V-2,,NULL',
    '3,17,1,1,V-3,,',
    '4,17,1,0,V-4,,2024-01-01 00:00:00',
  );
  assert.deepEqual(await imports('serials', carmis, '--from', 'dujiaoka'), [1, 0, 3]);
  const names = csv(
    'ref,slug,name,price,delivery_type',
    'woocommerce:99,plugin,Plugin,10,license_key',
    ',big-tool,Big Tool,10,license_key',
  );
  assert.deepEqual(await imports('products', names), [2, 0, 0]);
  const people = csv('customer_id,name,email', '5,Eve,eve@example.com');
  assert.deepEqual(await imports('customers', people, '--from', 'woocommerce'), [1, 0, 0]);
  const lmfwc = csv(
    'id,order_id,product_id,user_id,license_key,expires_at,valid_for,status,created_at',
    '1,7,99,5,WOO-1111-2222,2999-02-03 04:05:06,,DELIVERED,2023-01-01 00:00:00',
    '2,,99,,WOO-3333-4444,,,INACTIVE,',
  );
  assert.deepEqual(await imports('licenses', lmfwc, '--from', 'woocommerce'), [1, 0, 1]);
  const edd = csv(
    'License ID,License Key,License Status,Customer ID,Customer Email,Customer Name,Product Name,Purchase Date,Expiration Date',
    '3,abcdef0123456789,active,1,fay@example.com,Fay,Big Tool,2022-05-06 07:08:09,4102444800',
    '4,fedcba9876543210,disabled,1,fay@example.com,Fay,Big Tool,2022-05-06 07:08:09,0',
  );
  assert.deepEqual(await imports('licenses', edd, '--from', 'edd'), [2, 0, 0]);
  const gumroad = csv(
    'Purchase ID,Item Name,Buyer Name,Purchase Email,Purchase Time (UTC timezone),Fully Refunded?,Disputed?,Dispute Won?,License Key,License Key Enabled?',
    'p1,Big Tool,Gil,gil@example.com,2024-01-05 12:34:56 UTC,0,0,0,85DB562A-C11D4B06,1',
    'p2,Big Tool,Gil,gil@example.com,2024-01-05 12:34:56 UTC,1,0,0,85DB562A-REFUNDED,1',
    'p3,Big Tool,Gil,gil@example.com,2024-01-05 12:34:56 UTC,0,1,0,85DB562A-DISPUTED,1',
    'p4,Free,Gil,gil@example.com,2024-01-05 12:34:56 UTC,0,0,0,,',
    'Totals,,,,,,,,,',
  );
  assert.deepEqual(await imports('customers', gumroad, '--from', 'gumroad'), [1, 3, 1]);
  assert.deepEqual(await imports('licenses', gumroad, '--from', 'gumroad'), [3, 0, 2]);
  const status = (email) =>
    shop.seed.sql(
      `SELECT l.status, COALESCE(l.expires_at, 0) FROM license l JOIN account a ON a.id = l.account_id WHERE a.email = '${email}' ORDER BY l.id;`,
    );
  assert.deepEqual(status('eve@example.com'), [['active', String(Date.UTC(2999, 1, 3, 4, 5, 6))]]);
  assert.deepEqual(status('fay@example.com'), [
    ['active', '4102444800000'],
    ['revoked', '0'],
  ]);
  assert.deepEqual(
    status('gil@example.com').map((r) => r[0]),
    ['active', 'refunded', 'revoked'],
  );
});

test('what is exported is imported into an empty store, and exported again with the same bytes', async () => {
  const KINDS = ['products', 'variants', 'customers', 'licenses', 'serials', 'wallets'];
  const described = csv('slug,name,price,delivery_type,description', 'told,Told,1,serial_code,"one\r\ntwo\nthree"');
  assert.deepEqual(await imports('products', described), [1, 0, 0]);
  shop.seed.sql("UPDATE product SET name = '=1+1, \"x\"' WHERE slug = 'codes';");
  const other = freshStore();
  try {
    for (const kind of KINDS) {
      const first = await run(['export', kind]);
      assert.equal(first.code, 0, first.stderr);
      assert.ok(first.stdout.split('\r\n').length > 2, `${kind} has rows`);
      const done = await run(['import', kind, '-'], first.stdout, other);
      assert.equal(done.code, 0, `${kind}: ${done.stdout}${done.stderr}`);
      const again = await run(['export', kind], '', other);
      const sorted = (text) => text.split('\r\n').sort();
      assert.deepEqual(sorted(again.stdout), sorted(first.stdout), kind);
      const lines = (await run(['export', kind, '--format', 'jsonl'])).stdout.trimEnd().split('\n');
      assert.equal(lines.length, first.stdout.trimEnd().split(/\r\n(?=(?:[^"]*"[^"]*")*[^"]*$)/).length - 1);
      for (const line of lines) assert.equal(typeof JSON.parse(line), 'object');
    }
    const check = await run(['check'], '', other);
    assert.equal(check.code, 0, check.stdout);
  } finally {
    other.remove();
  }
});

test('everything: a file of JSON lines for each table, with all of its rows', async () => {
  const to = path.join(shop.database.dir, 'everything');
  const done = await run(['export', 'all', '--to', to]);
  assert.equal(done.code, 0, done.stderr);
  for (const table of ['account', 'product', 'license', 'transfer', 'audit', 'setting']) {
    const rows = fs
      .readFileSync(path.join(to, `${table}.jsonl`), 'utf8')
      .trimEnd()
      .split('\n')
      .map((l) => JSON.parse(l));
    assert.equal(rows.length, shop.seed.number(`SELECT COUNT(*) FROM ${table}`), table);
  }
  const again = await run(['export', 'all', '--to', to]);
  assert.equal(again.code, 1, 'no file is written over');
  assert.equal((await run(['export', 'shoes'])).code, 2);
  assert.equal((await run(['export', 'all'])).code, 2);
});

test(
  'many lines are put in by slices; an import that was cut off is finished by the same command',
  { skip: ENGINE === 'pg' },
  async () => {
    const lines = Array.from({ length: 2300 }, (_, i) => `many${i}@example.com`);
    const part = csv('email', ...lines.slice(0, 700));
    assert.deepEqual(await imports('customers', part), [700, 0, 0]);
    assert.deepEqual(await imports('customers', csv('email', ...lines)), [1600, 700, 0]);
    assert.equal(shop.seed.number("SELECT COUNT(*) FROM account WHERE email LIKE 'many%'"), 2300);
    const out = (await run(['export', 'customers'])).stdout;
    assert.ok(lines.every((l) => out.includes(l)));
    assert.ok(dataOf(await shop.souk.get('/readyz')).ready);
  },
);
