// The catalogue: what is in it and in which order, its members, stock, paging, caching; and the same list for programs.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { seeder } from './lib/seed.mjs';
import { startSouk } from './lib/souk.mjs';

let souk;
let seed;
let customer;
before(async () => {
  souk = await startSouk();
  seed = seeder(souk);
});
after(() => souk.stop());

async function list(query = '', options) {
  return dataOf(await souk.get(`/api/store/products${query}`, options));
}

async function one(product) {
  return dataOf(await souk.get(`/api/store/products/${product.slug}`));
}

test('an empty store has an empty catalogue', async () => {
  const answer = await souk.get('/api/store/products');
  assert.equal(answer.text, '{"status":"success","data":[]}');
  customer = await souk.customer();
  assert.deepEqual(dataOf(await souk.get('/api/v1/products', { token: customer.token })), []);
});

test('no token is needed, and a bad one does not matter', async () => {
  expectStatus(await souk.get('/api/store/products'), 200);
  // Not checked: the document knows no token here, so the answer may be cached whatever was sent.
  const answer = await souk.get('/api/store/products', {
    headers: { Authorization: 'Bearer nonsense' },
    unchecked: true,
  });
  expectStatus(answer, 200);
});

test('a product has the members of the specification and those around them', async () => {
  const product = seed.product({
    name: 'Photo Editor',
    slug: 'photo-editor',
    price: 1999,
    description: 'Edits\nphotos.',
  });
  const want = {
    id: product.id,
    name: 'Photo Editor',
    slug: 'photo-editor',
    price: 19.99,
    is_active: true,
    description: 'Edits\nphotos.',
    currency: 'USD',
    delivery_type: 'license_key',
    in_stock: true,
    variants: [],
    images: [],
  };
  assert.deepEqual(await one(product), want);
  assert.deepEqual(
    (await list()).find((p) => p.id === product.id),
    want,
  );
});

test('money has the decimals of the currency', async () => {
  const product = seed.product({ price: 500 });
  const answer = await souk.get(`/api/store/products/${product.slug}`);
  assert.match(answer.text, /"price":5\.00,/);
  const free = seed.product({ price: 0 });
  assert.match((await souk.get(`/api/store/products/${free.slug}`)).text, /"price":0\.00,/);
});

test('drafts and disabled products are neither listed nor found', async () => {
  const draft = seed.product({ is_active: false });
  assert.ok(!(await list()).some((p) => p.id === draft.id));
  expectError(await souk.get(`/api/store/products/${draft.slug}`), 404, 'not_found', 'Product not found');
  seed.update('product', draft.id, { is_active: true });
  assert.equal((await one(draft)).id, draft.id);
  seed.update('product', draft.id, { is_active: false });
  expectError(await souk.get(`/api/store/products/${draft.slug}`), 404, 'not_found', 'Product not found');
});

for (const slug of [
  'nothing-here',
  'Photo-Editor',
  '1',
  '%20',
  'a%2Fb',
  '%C3%A4',
  `${'x'.repeat(3000)}`,
  "'%20OR%201=1--",
]) {
  test(`the slug ${slug.slice(0, 30)} is not found`, async () => {
    expectError(await souk.get(`/api/store/products/${slug}`), 404, 'not_found', 'Product not found');
  });
}

test('products stand by position, then id', async () => {
  const last = seed.product({ position: 900 });
  const first = seed.product({ position: -5 });
  const tie = [seed.product({ position: 7 }), seed.product({ position: 7 })];
  const ids = (await list()).map((p) => p.id);
  assert.equal(ids[0], first.id);
  assert.equal(ids.at(-1), last.id);
  assert.equal(ids.indexOf(tie[1].id), ids.indexOf(tie[0].id) + 1);
  assert.ok(ids.indexOf(tie[0].id) > 0);
});

test('variants: the default first, then by id; its price is the price of the product', async () => {
  const product = seed.product({ price: 111 });
  const monthly = seed.variant(product, { name: 'Monthly', price: 500 });
  const yearly = seed.variant(product, { name: 'Yearly', price: 5000, is_default: true });
  const off = seed.variant(product, { name: 'Old', price: 1, is_active: false });
  const got = await one(product);
  assert.equal(got.price, 50);
  assert.deepEqual(got.variants, [
    { variant_id: yearly.id, name: 'Yearly', price: 50, is_default: true, in_stock: true },
    { variant_id: monthly.id, name: 'Monthly', price: 5, is_default: false, in_stock: true },
  ]);
  assert.ok(!got.variants.some((v) => v.variant_id === off.id));
});

test('without a default the oldest active variant stands in', async () => {
  const product = seed.product();
  seed.variant(product, { price: 1, is_default: true, is_active: false });
  const second = seed.variant(product, { price: 700 });
  seed.variant(product, { price: 800 });
  const got = await one(product);
  assert.equal(got.price, 7);
  assert.deepEqual(
    got.variants.map((v) => [v.variant_id === second.id, v.is_default]),
    [
      [true, true],
      [false, false],
    ],
  );
});

test('a product whose variants are all off has nothing to sell and is not shown', async () => {
  const product = seed.product({ price: 1 });
  seed.variant(product, { is_active: false });
  expectError(await souk.get(`/api/store/products/${product.slug}`), 404, 'not_found');
  assert.ok(!(await list()).some((p) => p.id === product.id));
});

test('serial codes: in stock while its pool has one', async () => {
  const product = seed.product({ delivery_type: 'serial_code' });
  assert.equal((await one(product)).in_stock, false);
  seed.serials(product, ['one']);
  assert.equal((await one(product)).in_stock, true);
  seed.update('serial', { product_id: product.id }, { taken_by: 1, taken_at: 1 });
  assert.equal((await one(product)).in_stock, false);
});

test('serial codes: a variant has its own pool and the shared one', async () => {
  const product = seed.product({ delivery_type: 'serial_code' });
  const a = seed.variant(product, { is_default: true });
  const b = seed.variant(product);
  const stock = async () => {
    const got = await one(product);
    return [got.in_stock, ...got.variants.map((v) => v.in_stock)];
  };
  assert.deepEqual(await stock(), [false, false, false]);
  seed.serials(product, ['b-1'], b);
  assert.deepEqual(await stock(), [true, false, true]);
  seed.serials(product, ['shared-1']);
  assert.deepEqual(await stock(), [true, true, true]);
  seed.sql(
    `UPDATE serial SET taken_by = 1, taken_at = 1 WHERE code_hash = ${seed.codeHash('shared-1')}; UPDATE revision SET number = number + 1 WHERE name = 'catalog';`,
  );
  seed.sql(
    `UPDATE serial SET taken_by = 1, taken_at = 1 WHERE code_hash = ${seed.codeHash('b-1')}; UPDATE revision SET number = number + 1 WHERE name = 'catalog';`,
  );
  assert.deepEqual(await stock(), [false, false, false]);
  seed.serials(product, ['a-1'], a);
  assert.deepEqual(await stock(), [true, true, false]);
});

test('downloads: in stock with a file or an address', async () => {
  const product = seed.product({ delivery_type: 'download_url' });
  assert.equal((await one(product)).in_stock, false);
  seed.update('product', product.id, { download_url: 'https://files.example/a.zip' });
  assert.equal((await one(product)).in_stock, true);
  seed.update('product', product.id, { download_url: '', file_key: 'k', file_name: 'a.zip', file_bytes: 3 });
  assert.equal((await one(product)).in_stock, true);
});

test('nothing of the inside leaks: no addresses, keys, versions', async () => {
  const product = seed.product({
    delivery_type: 'download_url',
    download_url: 'https://secret.example/x',
    key_prefix: 'SECRET',
  });
  const text =
    (await souk.get('/api/store/products')).text + (await souk.get(`/api/store/products/${product.slug}`)).text;
  assert.ok(!/secret|version|file_|position|created_at/i.test(text));
});

test('hostile text comes back as text', async () => {
  const name = `<script>alert(1)</script> "quoted" \\ back & \u2028 ' OR 1=1 -- 日本語 🎈`;
  const product = seed.product({ name, slug: 'hostile' });
  const answer = await souk.get('/api/store/products/hostile');
  assert.equal(dataOf(answer).name, name);
  assert.equal(dataOf(answer).id, product.id);
  assert.ok(!answer.text.includes('<script>'));
});

test('the list and a product have strong entity tags, and 304 for who has them', async () => {
  for (const path of ['/api/store/products', '/api/store/products/photo-editor', '/api/store/products?limit=2']) {
    const full = await souk.get(path);
    const etag = full.headers.etag;
    assert.match(etag, /^"[^"]+"$/);
    assert.equal(full.headers['cache-control'], 'public, max-age=30');
    for (const value of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await souk.get(path, { headers: { 'If-None-Match': value } });
      expectStatus(answer, 304);
      assert.equal(answer.text, '');
      assert.equal(answer.headers.etag, etag);
      assert.equal(answer.headers['cache-control'], 'public, max-age=30');
    }
    expectStatus(await souk.get(path, { headers: { 'If-None-Match': '"other"' } }), 200);
    const head = await souk.request('HEAD', path);
    assert.equal(head.headers.etag, etag);
    assert.equal(head.headers['content-length'], String(full.bytes.length));
    assert.equal(head.text, '');
  }
});

test('a change is seen by the next request, and changes the tags of what it touches', async () => {
  const kept = seed.product({ name: 'Kept' });
  const changed = seed.product({ name: 'Before' });
  const tag = async (path) => (await souk.get(path)).headers.etag;
  const before = [
    await tag('/api/store/products'),
    await tag(`/api/store/products/${changed.slug}`),
    await tag(`/api/store/products/${kept.slug}`),
  ];
  seed.update('product', changed.id, { name: 'After' });
  assert.equal((await one(changed)).name, 'After');
  assert.equal((await list()).find((p) => p.id === changed.id).name, 'After');
  assert.notEqual(await tag('/api/store/products'), before[0]);
  assert.notEqual(await tag(`/api/store/products/${changed.slug}`), before[1]);
  assert.equal(await tag(`/api/store/products/${kept.slug}`), before[2]);
});

test('a revision without a change keeps the tag', async () => {
  const before = (await souk.get('/api/store/products')).headers.etag;
  seed.sql("UPDATE revision SET number = number + 1 WHERE name = 'catalog';");
  assert.equal((await souk.get('/api/store/products')).headers.etag, before);
});

test('pages: together they are the whole list, in its order', async () => {
  const all = await list();
  assert.ok(all.length > 10);
  for (const limit of [1, 3, all.length - 1, all.length, 100]) {
    const got = [];
    let path = `/api/store/products?limit=${limit}`;
    for (;;) {
      const answer = await souk.get(path);
      const page = dataOf(answer);
      got.push(...page);
      const { has_more: more, next_cursor: cursor } = answer.json.meta;
      assert.equal(more, got.length < all.length);
      if (!more) {
        assert.equal(cursor, null);
        assert.equal(answer.headers.link, undefined);
        break;
      }
      assert.equal(page.length, limit);
      assert.equal(answer.headers.link, `</api/store/products?limit=${limit}&cursor=${cursor}>; rel="next"`);
      path = `/api/store/products?limit=${limit}&cursor=${cursor}`;
    }
    assert.deepEqual(got, all);
  }
});

test('a cursor without a limit gives pages of 20', async () => {
  const first = await souk.get('/api/store/products?limit=1');
  const rest = await souk.get(`/api/store/products?cursor=${first.json.meta.next_cursor}`);
  const all = await list();
  assert.deepEqual(dataOf(rest), all.slice(1, 21));
});

test('a page goes on behind a product that went away meanwhile', async () => {
  const products = [1, 2, 3].map(() => seed.product({ position: 5000 }));
  const all = await list();
  const from = all.findIndex((p) => p.id === products[0].id);
  const first = await souk.get(`/api/store/products?limit=${from + 1}`.replace(/limit=(\d{3,})/, 'limit=100'));
  assert.equal(dataOf(first).at(-1).id, products[0].id);
  seed.update('product', products[0].id, { is_active: false });
  const next = dataOf(await souk.get(`/api/store/products?limit=100&cursor=${first.json.meta.next_cursor}`));
  assert.deepEqual(
    next.map((p) => p.id),
    [products[1].id, products[2].id],
  );
});

test('bad limits and cursors are refused', async () => {
  for (const [query, field, code] of [
    ['limit=0', 'limit', 'not_positive'],
    ['limit=-1', 'limit', 'not_positive'],
    ['limit=101', 'limit', 'out_of_range'],
    ['limit=x', 'limit', 'wrong_type'],
    ['limit=1.0', 'limit', 'wrong_type'],
    ['limit=1&limit=2', 'limit', 'not_combinable'],
    ['cursor=nonsense', 'cursor', 'bad_cursor'],
    ['cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'cursor', 'bad_cursor'],
  ]) {
    expectFields(await souk.get(`/api/store/products?${query}`), { [field]: code });
  }
  // Links to the catalogue are passed around and collect names of other systems.
  expectStatus(await souk.get('/api/store/products?limit=1&utm_source=mail&fbclid=x'), 200);
  const cursor = (await souk.get('/api/store/products?limit=1')).json.meta.next_cursor;
  const other = `${cursor[0] === 'A' ? 'B' : 'A'}${cursor.slice(1)}`;
  expectFields(await souk.get(`/api/store/products?cursor=${other}`), { cursor: 'bad_cursor' });
  expectFields(await souk.get(`/api/v1/products?cursor=${cursor}`, { token: customer.token }), {
    cursor: 'bad_cursor',
  });
});

test('other methods are refused', async () => {
  for (const path of ['/api/store/products', '/api/store/products/photo-editor', '/api/v1/products']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await souk.request(method, path, { token: customer.token });
      expectError(answer, 405, 'method_not_allowed');
      assert.equal(answer.headers.allow, 'GET, HEAD, OPTIONS');
    }
  }
});

test('v1: the same list, each with product_id beside id', async () => {
  const mine = dataOf(await souk.get('/api/v1/products', { token: customer.token }));
  const all = await list();
  assert.ok(mine.every((p) => p.product_id === p.id));
  assert.deepEqual(
    mine.map(({ product_id: id, ...rest }) => rest),
    all,
  );
  const page = await souk.get('/api/v1/products?limit=2', { token: customer.token });
  assert.deepEqual(dataOf(page), mine.slice(0, 2));
  const next = await souk.get(`/api/v1/products?limit=2&cursor=${page.json.meta.next_cursor}`, {
    token: customer.token,
  });
  assert.deepEqual(dataOf(next), mine.slice(2, 4));
});

test('v1: a token with the scope catalog is needed', async () => {
  expectError(await souk.get('/api/v1/products'), 401, 'token_missing');
  expectError(await souk.get('/api/v1/products', { token: 'souk_api_nonsense' }), 401, 'token_invalid');
  const token = async (scopes) =>
    dataOf(await souk.post('/api/customer/tokens', { name: 't', scopes }, { token: customer.token }), 201).token;
  expectStatus(await souk.get('/api/v1/products', { token: await token(['catalog']) }), 200);
  expectError(
    await souk.get('/api/v1/products', { token: await token(['verify', 'order', 'store', 'customer']) }),
    403,
    'insufficient_scope',
  );
});

test("the store's currency and its decimals", async (t) => {
  const other = await startSouk({ t });
  const seedOther = seeder(other);
  seedOther.sql(
    "INSERT INTO setting (name, value) VALUES ('currency', 'JPY') ON CONFLICT (name) DO UPDATE SET value = 'JPY';",
  );
  await other.restart();
  seedOther.product({ slug: 'tea', price: 1980 });
  const answer = await other.get('/api/store/products/tea');
  assert.match(answer.text, /"price":1980,/);
  assert.equal(dataOf(answer).currency, 'JPY');
});

test('two readers and a writer: nobody gets an answer older than what they knew', async () => {
  const product = seed.product({ name: 'n-0', slug: 'moving' });
  let written = 0;
  let done = false;
  const reader = async () => {
    const client = souk.newClient();
    let reads = 0;
    while (!done) {
      const known = written;
      const got = dataOf(await client.get('/api/store/products/moving')).name;
      assert.ok(Number(got.slice(2)) >= known, `${got} after n-${known} was there`);
      reads += 1;
    }
    client.close();
    return reads;
  };
  const readers = [reader(), reader(), reader()];
  for (let i = 1; i <= 20; i++) {
    seed.update('product', product.id, { name: `n-${i}` });
    written = i;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  done = true;
  assert.ok((await Promise.all(readers)).every((reads) => reads > 0));
});
