// Products and variants as staff change them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';

let office, souk, staff;
before(async () => {
  office = await openOffice({ args: ['--file-max', '200000'] });
  ({ souk, staff } = office);
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

test('a product: made, seen by customers at once, changed under If-Match, switched off after a sale', async () => {
  const made = await staff.post('/api/admin/products', {
    name: 'Größe & Co',
    price: 19.99,
    delivery_type: 'license_key',
  });
  const product = dataOf(made, 201);
  assert.equal(made.headers.location, `/api/admin/products/${product.id}`);
  assert.match(product.slug, /^[a-z0-9]+(-[a-z0-9]+)*$/);
  expectError(await souk.get(`/api/store/products/${product.slug}`), 404, 'not_found', 'Product not found');

  const etag = made.headers.etag;
  const changed = await staff.patch(
    `/api/admin/products/${product.id}`,
    { is_active: true, license_days: 30, key_prefix: 'PRO' },
    { headers: { 'If-Match': etag } },
  );
  assert.deepEqual([dataOf(changed).license_days, dataOf(changed).key_prefix], [30, 'PRO']);
  assert.equal(dataOf(await souk.get(`/api/store/products/${product.slug}`)).price, 19.99);
  expectError(
    await staff.patch(`/api/admin/products/${product.id}`, { price: 1 }, { headers: { 'If-Match': etag } }),
    412,
    'precondition_failed',
  );
  assert.equal(
    dataOf(await staff.patch(`/api/admin/products/${product.id}`, { license_days: null })).license_days,
    null,
  );

  const customer = await office.customer({ balance: 50 });
  const order = dataOf(await customer.post('/api/v1/order/create', { product_id: product.id }));
  assert.match(order.delivery.value, /^PRO-/);
  assert.deepEqual(dataOf(await staff.delete(`/api/admin/products/${product.id}`)), { deleted: false });
  expectError(await souk.get(`/api/store/products/${product.slug}`), 404, 'not_found');
  assert.equal(dataOf(await staff.get(`/api/admin/products/${product.id}`)).is_active, false);
  const unsold = await office.product();
  assert.deepEqual(dataOf(await staff.delete(`/api/admin/products/${unsold.id}`)), { deleted: true });
  expectError(await staff.get(`/api/admin/products/${unsold.id}`), 404, 'not_found');
});

test('two people change one product at once with the same ETag: one wins', async () => {
  const product = await office.product();
  const { etag } = (await staff.get(`/api/admin/products/${product.id}`)).headers;
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, i) =>
      staff.patch(`/api/admin/products/${product.id}`, { price: i + 1 }, { headers: { 'If-Match': etag } }),
    ),
  );
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, 412, 412, 412, 412, 412]);
});

test('bodies of products are checked field by field', async () => {
  expectFields(
    await staff.post('/api/admin/products', {
      price: -1,
      delivery_type: 'pigeon',
      position: 1.5,
      slug: 'Not A Slug',
      key_prefix: 'ä',
      license_days: 0,
    }),
    {
      name: 'required',
      price: 'out_of_range',
      delivery_type: 'not_allowed',
      position: 'wrong_type',
      slug: 'bad_format',
      license_days: 'not_positive',
    },
  );
  expectFields(
    await staff.post('/api/admin/products', { name: 'x', price: 1, delivery_type: 'license_key', key_prefix: 'lower' }),
    { key_prefix: 'bad_characters' },
  );
  expectFields(
    await staff.post('/api/admin/products', {
      name: 'x',
      price: 1,
      delivery_type: 'download_url',
      download_url: 'ftp://x',
    }),
    { download_url: 'bad_format' },
  );
  for (const key_prefix of ['A{', 'A:', 'A/', 'a'])
    expectFields(
      await staff.post('/api/admin/products', { name: 'x', price: 1, delivery_type: 'license_key', key_prefix }),
      { key_prefix: 'bad_characters' },
    );
  const product = await office.product({ slug: 'taken-slug', key_prefix: 'A9' });
  const target = `/api/admin/products/${product.id}`;
  expectFields(await staff.patch(target, { download_url: 'ftp://x' }), { download_url: 'bad_format' });
  const file = dataOf(await staff.patch(target, { download_url: 'https://x', download_limit: 3, download_days: 4 }));
  assert.deepEqual([file.download_url, file.download_limit, file.download_days], ['https://x', 3, 4]);
  const open = dataOf(await staff.patch(target, { download_limit: null, download_days: null, download_url: '' }));
  assert.deepEqual([open.download_url, open.download_limit, open.download_days], ['', null, null]);
  expectError(
    await staff.post('/api/admin/products', { name: 'x', slug: product.slug, price: 1, delivery_type: 'license_key' }),
    409,
    'slug_taken',
  );
});

test('variants: one default, the next one when it goes', async () => {
  const product = await office.product();
  const make = async (body) => dataOf(await staff.post(`/api/admin/products/${product.id}/variants`, body), 201);
  const month = await make({ name: 'Monthly', price: 5, license_days: 30 });
  const year = await make({ name: 'Yearly', price: 50 });
  assert.deepEqual([month.is_default, year.is_default], [true, false]);
  dataOf(await staff.patch(`/api/admin/variants/${year.id}`, { is_default: true }));
  const shown = dataOf(await souk.get(`/api/store/products/${product.slug}`));
  assert.deepEqual(
    [shown.price, shown.variants.map((v) => [v.name, v.is_default])],
    [
      50,
      [
        ['Yearly', true],
        ['Monthly', false],
      ],
    ],
  );
  assert.deepEqual(dataOf(await staff.delete(`/api/admin/variants/${year.id}`)), { deleted: true });
  assert.equal(dataOf(await souk.get(`/api/store/products/${product.slug}`)).price, 5);
  expectError(await staff.patch('/api/admin/variants/999999', { price: 1 }), 404, 'not_found');
  assert.equal(dataOf(await staff.patch(`/api/admin/variants/${month.id}`, { license_days: null })).license_days, null);
  assert.equal(dataOf(await staff.get(`/api/admin/products/${product.id}`)).variants.length, 1);
  const customer = await office.customer({ balance: 50 });
  dataOf(await customer.post('/api/v1/order/create', { product_id: product.id, variant_id: month.id }));
  assert.deepEqual(dataOf(await staff.delete(`/api/admin/variants/${month.id}`)), { deleted: false });
});
