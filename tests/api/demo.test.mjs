// `souk demo` and `souk serials import`: what the commands print, refuse and leave behind, seen through the server.
// spares: tsan
// release: pg
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { dataOf, expectStatus } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';
import { ENGINE, SLOW, freshDatabase, runSouk, startSouk } from './lib/souk.mjs';

let database;
let souk;
let people; // by e-mail address: {role, password, token}
let other; // a second one, without a server
let others; // its people

function demo(where) {
  return runSouk(['demo', '--db', where.dbArg], { cwd: where.dir, env: where.env });
}

function peopleOf(stdout) {
  const all = {};
  for (const line of stdout.trimEnd().split('\n').slice(1)) {
    const match = /^(owner|staff|customer)\t(\S+)\tpassword (\S{16})\ttoken (souk_api_\w{38})$/.exec(line);
    assert.ok(match, line);
    all[match[2]] = { role: match[1], password: match[3], token: match[4] };
  }
  return all;
}

before(async () => {
  database = freshDatabase();
  const run = await demo(database);
  assert.equal(run.code, 0, run.stderr);
  assert.match(run.stdout, /^store\tNorthlight Software\n/);
  assert.match(run.stderr, /souk serve --db/);
  people = peopleOf(run.stdout);
  souk = await startSouk({ database });
});
after(async () => {
  await souk.stop();
  database.remove();
  other?.remove();
});

const customers = () => Object.entries(people).filter(([, p]) => p.role === 'customer');
const get = async (target, token) => dataOf(await souk.get(target, { token }));

test('an owner, a member of staff and two customers, who can all log in', async () => {
  assert.deepEqual(
    Object.values(people)
      .map((p) => p.role)
      .sort(),
    ['customer', 'customer', 'owner', 'staff'],
  );
  for (const [email, { password, role, token }] of Object.entries(people)) {
    const login = dataOf(await souk.post('/api/auth/login', { email, password }));
    assert.equal((await get('/api/auth/me', login.token)).role, role);
    assert.equal((await souk.get('/api/admin/products', { token })).status, role === 'customer' ? 403 : 200);
  }
});

test('a catalogue of the three kinds, with variants, stock and prices', async () => {
  const products = await get('/api/store/products');
  assert.ok(products.length >= 12, String(products.length));
  assert.deepEqual([...new Set(products.map((p) => p.delivery_type))].sort(), [
    'download_url',
    'license_key',
    'serial_code',
  ]);
  assert.ok(products.some((p) => p.variants.length > 1));
  assert.ok(products.some((p) => !p.in_stock) && products.filter((p) => p.in_stock).length >= 12);
  assert.ok(products.every((p) => p.name.length > 3 && p.description.length > 20));
  assert.ok(!products.some((p) => /beta/.test(p.name)), 'a draft is not shown');
});

test('the customers have a history: money, orders of every kind, licences, tickets with answers, withdrawals', async () => {
  const statuses = { orders: new Set(), withdrawals: new Set(), tickets: new Set(), deliveries: new Set() };
  for (const [, { token }] of customers()) {
    const wallet = await get('/api/customer/wallet', token);
    assert.ok(wallet.balance > 0 && wallet.transactions.length >= 4);
    const times = wallet.transactions.map((t) => t.created_at);
    assert.deepEqual(times, [...times].sort(), 'oldest first');
    assert.ok(Date.parse(times[0]) < Date.now() - 30 * 86_400_000, 'it goes back a month');
    for (const order of await get('/api/customer/orders', token)) {
      statuses.orders.add(order.status);
      const whole = await get(`/api/customer/orders/${order.id}`, token);
      for (const item of whole.items) for (const d of item.deliveries ?? []) statuses.deliveries.add(d.type);
    }
    assert.ok((await get('/api/customer/licenses', token)).length >= 1);
    for (const w of await get('/api/customer/wallet/withdrawals', token)) statuses.withdrawals.add(w.status);
    for (const t of await get('/api/customer/tickets', token)) {
      statuses.tickets.add(t.status);
      const whole = await get(`/api/customer/tickets/${t.id}`, token);
      if (t.status === 'closed')
        assert.ok(whole.messages.some((m) => m.author === 'staff' && m.author_name === 'Jonas Weber'));
    }
    assert.ok((await get('/api/customer/notifications', token)).length >= 1);
  }
  assert.deepEqual([...statuses.orders].sort(), ['confirmed', 'pending', 'refunded']);
  assert.deepEqual([...statuses.withdrawals].sort(), ['approved', 'pending', 'rejected']);
  assert.deepEqual([...statuses.tickets].sort(), ['closed', 'open']);
  assert.deepEqual([...statuses.deliveries].sort(), ['download_url', 'license_key', 'serial_code']);
});

test('a filled cart with a coupon', async () => {
  const cart = await get('/api/store/cart', people['ada.wren@example.com'].token);
  assert.equal(cart.items.length, 2);
  assert.equal(cart.coupon, 'LUMEN5');
  assert.equal(cart.discount, 5);
});

test('a delivered licence verifies, and a download gives its file', async () => {
  const { token } = people['ada.wren@example.com'];
  const [license] = await get('/api/customer/licenses', token);
  const verdict = await souk.post(
    '/api/v1/license/verify',
    { license_key: license.license_key, product_id: license.product_id },
    { token },
  );
  expectStatus(verdict, 200);
  const orders = await get('/api/customer/orders', token);
  const wholes = await Promise.all(orders.map((o) => get(`/api/customer/orders/${o.id}`, token)));
  const links = wholes
    .flatMap((o) => o.items)
    .flatMap((i) => i.deliveries ?? [])
    .filter((d) => d.type === 'download_url');
  assert.ok(links.length >= 2);
  for (const link of links) {
    const file = await souk.get(new URL(link.value, souk.url).pathname, { unchecked: true });
    expectStatus(file, 200);
    assert.ok(file.bytes.length > 100);
  }
});

test('its coupons work, and the old one does not', async () => {
  const { token } = await souk.customer();
  const products = await get('/api/store/products');
  const quill = products.find((p) => p.slug === 'quill-writer');
  await souk.post('/api/store/cart/add', { product_id: quill.id, quantity: 1 }, { token });
  const apply = (code) => souk.post('/api/store/cart/coupon', { code }, { token });
  assert.equal(dataOf(await apply('WELCOME10')).discount, 2.9);
  assert.equal((await apply('LUMEN5')).json.code, 'coupon_not_applicable');
  assert.equal((await apply('STUDIO25')).json.code, 'coupon_min_total');
  assert.equal((await apply('SPRING')).json.code, 'coupon_invalid');
});

test('departments to write to', async () => {
  assert.deepEqual(
    (await get('/api/support/departments')).map((d) => d.name),
    ['Billing', 'Sales', 'Technical support'],
  );
});

test('what it made keeps every rule', async () => {
  const run = await souk.cli(['check']);
  assert.equal(run.code, 0, run.stderr + run.stdout);
});

test('a database that is not empty is refused, with a way out, and nothing is changed', async () => {
  other = freshDatabase();
  const first = await demo(other);
  assert.equal(first.code, 0, first.stderr);
  others = peopleOf(first.stdout);
  const count = () => seeder(other).number('SELECT COUNT(*) FROM account');
  assert.equal(count(), 4);
  const again = await demo(other);
  assert.equal(again.code, 1);
  assert.equal(again.stdout, '');
  assert.match(again.stderr, ENGINE === 'sqlite' ? /is not empty.*rm -r '.*souk\.db'/ : /is not empty.*DROP DATABASE/);
  assert.equal(count(), 4);
});

test('passwords, tokens and keys are new each time', () => {
  for (const [email, p] of Object.entries(people)) {
    assert.notEqual(others[email].password, p.password);
    assert.notEqual(others[email].token, p.token);
  }
});

test('serials import: adds, counts duplicates, names a bad line, and refuses what does not fit', async () => {
  const run = (args, input = '') =>
    runSouk(['serials', 'import', '--db', other.dbArg, ...args], { cwd: other.dir, env: other.env, input });
  const seed = seeder(other);
  const file = path.join(other.dir, 'codes.txt');
  const before = seed.number("SELECT number FROM revision WHERE name = 'catalog'");
  fs.writeFileSync(file, '\n  AAA-1  \r\nAAA-2\n\nAAA-2\nключ-3');
  let out = await run(['--product', 'skylark-flight-pack', file]);
  assert.deepEqual([out.code, out.stdout], [0, 'added 3\nduplicates 1\n']);
  assert.ok(seed.number("SELECT number FROM revision WHERE name = 'catalog'") > before, 'the catalogue hears of it');
  const has = (code, more = '') =>
    seed.number(`SELECT COUNT(*) FROM serial WHERE code_hash = ${seed.codeHash(code)}${more}`);
  const pack = " AND product_id = (SELECT id FROM product WHERE slug = 'skylark-flight-pack')";
  assert.deepEqual(
    ['AAA-1', 'AAA-2', 'ключ-3', 'AAA-3'].map((code) => has(code, pack)),
    [1, 1, 1, 0],
  );

  out = await run(['--product', 'skylark-flight-pack', '-'], 'AAA-1\nAAA-4\n');
  assert.deepEqual([out.code, out.stdout], [0, 'added 1\nduplicates 1\n']);
  const [[variant]] = seed.sql(
    "SELECT v.id FROM variant v JOIN product p ON p.id = v.product_id WHERE p.slug = 'hollow-pines'" +
      " AND v.name = 'Deluxe';",
  );
  out = await run(['--product', 'hollow-pines', '--variant', variant, '-'], 'DELUXE-1\n');
  assert.deepEqual([out.code, out.stdout], [0, 'added 1\nduplicates 0\n']);
  assert.equal(has('DELUXE-1', ` AND variant_id = ${variant}`), 1);

  for (const [args, input, code, why] of [
    [['--product', 'nothing', '-'], 'A\n', 1, /no product has the slug nothing/],
    [['--product', 'quill-writer', '-'], 'A\n', 1, /does not deliver serial codes/],
    [['--product', 'orbitfall', '--variant', variant, '-'], 'A\n', 1, /has no variant/],
    [['--product', 'orbitfall', '-'], 'GOOD-1\nbad\u0001line\n', 1, /line 2 is not a code/],
    [['--product', 'orbitfall', '-'], `GOOD-1\n${'x'.repeat(256)}\n`, 1, /line 2 is not a code/],
    [['--product', 'orbitfall', '-'], Buffer.from('GOOD-1\nb\xffd\n', 'latin1'), 1, /line 2 is not a code/],
    [['--product', 'orbitfall', '/nonexistent/file'], '', 1, /cannot read/],
    [['--product', 'orbitfall'], '', 2, /name one file/],
    [['-'], 'A\n', 2, /--product/],
    [['--product', 'orbitfall', '--variant', 'x', '-'], 'A\n', 2, /--variant/],
  ]) {
    const refused = await run(args, input);
    assert.equal(refused.code, code, `${args}: ${refused.stderr}`);
    assert.match(refused.stderr, why);
    assert.equal(refused.stdout, '');
  }
  assert.equal(has('GOOD-1'), 0);
});

/** A tenth under a sanitizer, which sees the same code. */
const CODES = SLOW > 1 ? 10_000 : 100_000;

test(`serials import: ${CODES} codes at once`, async () => {
  const input = Array.from({ length: CODES }, (_, i) => `BULK-${String(i).padStart(8, '0')}-QWERTY`).join('\n');
  const run = await runSouk(['serials', 'import', '--db', other.dbArg, '--product', 'orbitfall', '-'], {
    cwd: other.dir,
    env: other.env,
    input,
  });
  assert.deepEqual([run.code, run.stdout], [0, `added ${CODES}\nduplicates 0\n`]);
});
