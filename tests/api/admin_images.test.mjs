// Pictures of products: recognised by their bytes, kept once, shown in the shop.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openOffice } from './lib/admin.mjs';
import { Browser } from './lib/browser.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const JPEG = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(40)]);
let office;
let product;
before(async () => {
  office = await openOffice();
  product = await office.product({ name: 'Pictured', slug: 'pictured' });
});
after(() => office.stop());
const add = (bytes, alt = '', id = product.id) =>
  office.owner.post(`/api/admin/products/${id}/images?alt=${encodeURIComponent(alt)}`, bytes, {
    type: 'application/octet-stream',
  });

test('a picture is added, shown, moved and deleted', async () => {
  const b = new Browser(office.souk.url);
  await b.open('/p/pictured');
  assert.doesNotMatch(b.page, /\/media\//);
  const first = dataOf(await add(PNG, 'A <dot>'), 201);
  await office.audited('image.create');
  assert.match(first.url, /^\/media\/[0-9a-f]{32}\.png$/);
  const second = dataOf(await add(JPEG, 'Other'), 201);
  assert.equal(second.position, first.position + 1);
  const media = await b.request('GET', first.url);
  assert.equal(media.headers.get('content-type'), 'image/png');
  assert.match(media.headers.get('cache-control'), /immutable/);
  await b.open('/p/pictured');
  assert.ok(b.page.includes(`<img src="${first.url}" alt="A &lt;dot&gt;"`));
  await b.open('/');
  assert.ok(b.page.includes(first.url) && !b.page.includes(second.url));
  dataOf(await office.owner.patch(`/api/admin/images/${second.id}`, { position: 0, alt: 'Now first' }));
  assert.deepEqual(
    dataOf(await office.owner.get(`/api/admin/products/${product.id}/images`)).map((i) => i.alt),
    ['Now first', 'A <dot>'],
  );
  const same = dataOf(await office.owner.patch(`/api/admin/images/${second.id}`, {}));
  assert.deepEqual([same.alt, same.position], ['Now first', 0]);
  await b.open('/');
  assert.ok(b.page.includes(second.url));
  const images = [
    { url: second.url, alt: 'Now first' },
    { url: first.url, alt: 'A <dot>' },
  ];
  assert.deepEqual(dataOf(await office.souk.get('/api/store/products/pictured')).images, images);
  assert.deepEqual(
    dataOf(await office.souk.get('/api/store/products')).find((p) => p.id === product.id).images,
    images,
  );
  assert.deepEqual(dataOf(await office.staff.get(`/api/admin/products/${product.id}`)).images, images);
  assert.deepEqual(
    dataOf(await office.staff.get('/api/admin/products')).find((p) => p.id === product.id).images,
    images,
  );
  await office.owner.delete(`/api/admin/images/${second.id}`);
  expectError(await office.owner.delete(`/api/admin/images/${second.id}`), 404, 'not_found');
  assert.equal((await b.request('GET', second.url)).status, 404);
  assert.equal((await b.request('GET', first.url)).status, 200);
});

test('a product that was never sold is deleted with its pictures', async () => {
  const short = await office.product({ name: 'Short-lived' });
  dataOf(await add(PNG, '', short.id), 201);
  assert.equal((await office.owner.delete(`/api/admin/products/${short.id}`)).status, 200);
});

test('what is no picture is refused, whatever it is called', async () => {
  expectFields(await add(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')), { body: 'bad_format' });
  expectFields(await add(Buffer.from('GIF89a')), { body: 'bad_format' });
  expectError(await add(PNG, '', 999999), 404, 'not_found');
  assert.equal((await new Browser(office.souk.url).request('GET', '/media/x.png')).status, 404);
});

test('pictures of a large catalogue are found, each with its product', async () => {
  const many = [];
  for (let i = 0; i < 103; i++) many.push(office.product({ name: `Many ${i}`, position: 200 - i }));
  const all = (await Promise.all(many)).sort((a, b) => a.id - b.id);
  const [some, other] = [all[3], all[77]];
  dataOf(await add(PNG, 'of some', some.id), 201);
  dataOf(await add(JPEG, 'of other', other.id), 201);
  dataOf(await add(JPEG, 'once more', some.id), 201);
  for (const hidden of [all[50], all[102]]) {
    dataOf(await add(PNG, 'not sold', hidden.id), 201);
    dataOf(await office.owner.patch(`/api/admin/products/${hidden.id}`, { is_active: false }));
  }
  const listed = dataOf(await office.souk.get('/api/store/products'));
  assert.deepEqual(
    listed
      .filter((p) => p.images.length && p.id !== product.id)
      .map((p) => [p.id, p.images.map((i) => i.alt)])
      .sort((a, b) => a[0] - b[0]),
    [
      [some.id, ['of some', 'once more']],
      [other.id, ['of other']],
    ].sort((a, b) => a[0] - b[0]),
  );
});

test('the logo is set by owners, shown on every page, and outlives the pictures of products', async () => {
  const put = (bytes, who = office.owner) =>
    who.put('/api/admin/settings/logo', bytes, { type: 'application/octet-stream' });
  expectFields(await put(Buffer.from('<svg/>')), { body: 'bad_format' });
  expectError(await put(PNG, office.staff), 403, 'forbidden');
  const { logo } = dataOf(await put(Buffer.concat([Buffer.from('RIFF0000WEBPVP8 '), Buffer.alloc(40)])));
  assert.match(logo, /^\/media\/[0-9a-f]{32}\.webp$/);
  await office.audited('settings.update');
  const b = new Browser(office.souk.url);
  const shows = async (wanted) => {
    for (let i = 0; i < 100; i++) {
      if ((await b.open('/')).text.includes(`<img src="${logo}"`) === wanted) return;
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      });
    }
    assert.fail(`the logo is ${wanted ? 'not ' : ''}shown`);
  };
  await shows(true);
  const short = dataOf(await add(JPEG, 'short', product.id), 201);
  dataOf(await office.owner.delete(`/api/admin/images/${short.id}`));
  assert.equal((await b.request('GET', logo)).status, 200);
  assert.equal(dataOf(await office.owner.delete('/api/admin/settings/logo')).logo, '');
  await shows(false);
});
