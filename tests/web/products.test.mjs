// The first day of a store: its owner sets it up and puts something on sale.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { dataOf } from '../api/lib/http.mjs';
import { OWNER, expectToast, openPanel } from './lib/panel.mjs';

let panel, page;
before(async () => {
  panel = await openPanel();
  page = await panel.newPage();
});
after(() => panel?.stop());

test('the setup link makes the first owner, once', async () => {
  const link = panel.setupLink;
  await page.goto(link);
  await page.getByRole('heading', { name: 'Set up your store' }).waitFor();
  await page.getByLabel('Your name').fill(OWNER.name);
  await page.getByLabel('E-mail address').fill(OWNER.email);
  await page.getByLabel('Password', { exact: true }).fill('short');
  await page.getByLabel('Password again').fill('short');
  await page.getByRole('button', { name: 'Create owner account' }).click();
  await page.locator('.field-error').waitFor();
  assert.equal(
    await page.getByLabel('Password', { exact: true }).getAttribute('aria-invalid'),
    'true',
    'the error is at its field',
  );

  await page.getByLabel('Password', { exact: true }).fill(OWNER.password);
  await page.getByLabel('Password again').fill(OWNER.password);
  await page.getByRole('button', { name: 'Create owner account' }).click();
  await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
  assert.ok(!page.url().includes('setup='), 'the token is gone from the address');

  await page.goto('about:blank');
  await page.goto(link);
  await page.getByText('This store has its owner.').waitFor();
  await page.getByRole('link', { name: 'Log in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Dashboard' }).waitFor();
  panel.ownerToken = dataOf(
    await panel.souk.post('/api/auth/login', { email: OWNER.email, password: OWNER.password }),
  ).token;
});

test('a product with variants comes on sale', async () => {
  await page.getByRole('link', { name: 'Products', exact: true }).click();
  await page.getByText('No products yet').waitFor();
  await page.getByRole('link', { name: 'Add product' }).first().click();
  await page.getByLabel('Name', { exact: true }).fill('Night Editor');
  for (const notAnAmount of ['much', '1,000']) {
    await page.getByLabel('Price in USD').fill(notAnAmount);
    await page.getByRole('button', { name: 'Add product' }).click();
    await page.getByText('Enter an amount such as 1000.50').waitFor();
    await page.getByLabel('Price in USD').fill('');
    await page.getByRole('button', { name: 'Add product' }).click();
    await page.getByText('Enter an amount', { exact: true }).waitFor();
  }
  await page.getByLabel('Price in USD').fill('19.90');
  await page.getByLabel('Licences are valid for (days)').fill('365');
  await page.getByLabel('Key prefix').fill('NIGHT');
  await page.getByRole('button', { name: 'Add product' }).click();
  await page.getByRole('heading', { level: 1, name: 'Night Editor' }).waitFor();

  await page.getByLabel('Description').fill('Half a sentence');
  for (const [name, price] of [
    ['One seat', '19.90'],
    ['Team', '99'],
  ]) {
    await page.getByRole('button', { name: 'Add variant' }).click();
    const dialog = page.getByRole('dialog', { name: 'New variant' });
    await dialog.getByLabel('Name').fill(name);
    await dialog.getByLabel('Price in USD').fill(price);
    await dialog.getByRole('button', { name: 'Add variant' }).click();
    await page.getByRole('row', { name }).waitFor();
  }
  assert.equal(
    await page.getByLabel('Description').inputValue(),
    'Half a sentence',
    'what was being typed is still there',
  );
  await page.getByRole('button', { name: 'Save changes' }).click();
  await expectToast(page, 'Saved.');
  const shown = dataOf(await panel.souk.get('/api/store/products/night-editor'));
  assert.equal(shown.description, 'Half a sentence');
  assert.deepEqual(
    shown.variants.map((v) => [v.name, v.price]),
    [
      ['One seat', 19.9],
      ['Team', 99],
    ],
  );
});

test('two variants that are read again at once leave what is being typed alone', async () => {
  const { id } = (await panel.admin('GET', '/products')).find((p) => p.name === 'Night Editor');
  await panel.visit(page, `/products/${id}`, 'Night Editor');
  await page.getByLabel('Description').fill('Half of another');
  let held = [];
  const isProduct = (url) => url.pathname === `/api/admin/products/${id}`;
  await page.route(isProduct, (route) => (held ? held.push(route) : route.continue()));
  for (const name of ['Campus', 'Town']) {
    await page.getByRole('button', { name: 'Add variant' }).click();
    const dialog = page.getByRole('dialog', { name: 'New variant' });
    await dialog.getByLabel('Name').fill(name);
    await dialog.getByLabel('Price in USD').fill('999');
    await dialog.getByRole('button', { name: 'Add variant' }).click();
    await expectToast(page, `${name} was saved.`);
  }
  const waiting = held;
  held = null;
  for (const route of waiting) await route.continue();
  await page.getByRole('row', { name: 'Town' }).waitFor();
  assert.equal(await page.getByLabel('Description').inputValue(), 'Half of another');
  await page.unroute(isProduct);
});

test('a product without options is saved as it is, then taken off sale', async () => {
  await panel.visit(page, '/products/new', 'New product');
  await page.getByLabel('Name', { exact: true }).fill('Plain');
  await page.getByLabel('Price in USD').fill('0');
  await page.getByRole('button', { name: 'Add product' }).click();
  await page.getByRole('heading', { level: 1, name: 'Plain' }).waitFor();
  await page.getByLabel('On sale').uncheck();
  await page.getByRole('button', { name: 'Save changes' }).click();
  await expectToast(page, 'Saved.');
  await page.getByText('Not on sale', { exact: true }).waitFor();
  const plain = (await panel.admin('GET', '/products')).find((p) => p.name === 'Plain');
  assert.deepEqual([plain.is_active, plain.key_prefix, plain.license_days, plain.price], [false, '', null, 0]);
  await panel.admin('DELETE', `/products/${plain.id}`);
});

test('two people do not overwrite each other', async () => {
  const [product] = await panel.admin('GET', '/products');
  await panel.visit(page, `/products/${product.id}`, 'Night Editor');
  await panel.admin('PATCH', `/products/${product.id}`, { position: 7 });
  await page.getByLabel('Description').fill('Mine');
  await page.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('Somebody else has changed this in the meantime').waitFor();
  await page.reload();
  await page.getByLabel('Description').fill('For people who write at night.');
  await page.getByRole('button', { name: 'Save changes' }).click();
  await expectToast(page, 'Saved.');
  const now = await panel.admin('GET', `/products/${product.id}`);
  assert.deepEqual(
    [now.position, now.description, now.license_days, now.key_prefix],
    [7, 'For people who write at night.', 365, 'NIGHT'],
  );
});

test('serial codes are imported from text and from a file', async () => {
  await panel.visit(page, '/products/new', 'New product');
  await page.getByLabel('Name', { exact: true }).fill('Gift card');
  await page.getByLabel('Price in USD').fill('25');
  await page.getByLabel('Delivers').selectOption('serial_code');
  await page.getByRole('button', { name: 'Add product' }).click();
  await page.getByText('No codes yet').waitFor();

  await page.getByRole('button', { name: 'Import codes' }).click();
  const dialog = page.getByRole('dialog', { name: 'Import serial codes' });
  await dialog.getByRole('button', { name: 'Import' }).click();
  await dialog.getByText('Paste some codes, or choose a file').waitFor();
  await dialog.getByLabel('Codes', { exact: true }).fill('AAA-1\nAAA-2\nAAA-3\n');
  await dialog.getByRole('button', { name: 'Import' }).click();
  await expectToast(page, '3 codes were imported');

  const file = path.join(panel.souk.dir, 'codes.txt');
  fs.writeFileSync(file, Array.from({ length: 5000 }, (_, i) => `FILE-${i}`).join('\n') + '\nAAA-1\n');
  await page.getByRole('button', { name: 'Import codes' }).click();
  await dialog.getByLabel('Or a text file').setInputFiles(file);
  await dialog.getByRole('button', { name: 'Import' }).click();
  await expectToast(page, '5,000 codes were imported; 1 were there already');
  await page.getByRole('row', { name: 'Every variant' }).getByText('5,003').waitFor();
  const product = (await panel.admin('GET', '/products')).find((p) => p.name === 'Gift card');
  const { pools } = await panel.admin('GET', `/products/${product.id}/serials`);
  assert.equal(pools[0].free, 5003);
});

test('a file for download is uploaded, replaced and taken away', async () => {
  await panel.visit(page, '/products/new', 'New product');
  await page.getByLabel('Name', { exact: true }).fill('Handbook');
  await page.getByLabel('Price in USD').fill('5');
  await page.getByLabel('Delivers').selectOption('download_url');
  await page.getByRole('button', { name: 'Add product' }).click();
  await page.getByText('No file yet').waitFor();
  const file = path.join(panel.souk.dir, 'handbook.pdf');
  fs.writeFileSync(file, Buffer.alloc(300000, 7));
  await page.getByLabel('Choose a file').setInputFiles(file);
  await page.getByRole('button', { name: 'Upload file' }).click();
  await expectToast(page, 'handbook.pdf was uploaded.');
  await page.getByText('300.0 KB').waitFor();

  execFileSync('sqlite3', [panel.souk.dbArg, `UPDATE token SET confirmed_at = ${Date.now() - 601e3};`]);
  fs.writeFileSync(file, Buffer.alloc(400000, 7));
  await page.getByLabel('Choose a file').setInputFiles(file);
  await page.getByRole('button', { name: 'Replace file' }).click();
  const proof = page.getByRole('dialog', { name: 'Is it you?' });
  await proof.getByLabel('Password').fill(OWNER.password);
  await proof.getByRole('button', { name: 'Go on' }).click();
  await page.getByText('400.0 KB').waitFor();
  await proof.waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove file' }).click();
  await page.getByText('No file yet').waitFor();
});

test('the list is filtered; a product that was never sold is deleted after asking', async () => {
  await panel.visit(page, '/products', 'Products');
  await page.getByLabel('Filter by name').fill('hand');
  await page.getByRole('row', { name: 'Night Editor' }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Handbook' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete product' }).click();
  await expectToast(page, 'Handbook was deleted.');
  await page.getByRole('heading', { level: 1, name: 'Products' }).waitFor();
  assert.equal((await panel.admin('GET', '/products')).length, 2);
});

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const nav = (name) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
const shopPage = async (path) => (await fetch(new URL(path, panel.souk.url))).text();
/** Settings reach the shop's pages within a second or two. */
async function shopShows(path, text) {
  const deadline = Date.now() + 60000;
  while (!(await shopPage(path)).includes(text)) {
    assert.ok(Date.now() < deadline, `${path} does not show ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test('pictures are added, made smaller, said in words, put in order and removed', async () => {
  const product = await panel.admin(
    'POST',
    '/products',
    { name: 'Pictured', slug: 'pictured', price: 1, delivery_type: 'license_key', is_active: true },
    201,
  );
  const images = () => panel.admin('GET', `/products/${product.id}/images`);
  await page.goto(new URL(`/admin/#/products/${product.id}`, panel.souk.url).href);
  const card = page.getByRole('region', { name: 'Pictures' });
  await card.getByText('No pictures yet').waitFor();
  // Drawn in the browser: wider than any page needs.
  const large = await page.evaluate(async () => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [2400, 1200];
    const pen = canvas.getContext('2d');
    for (let i = 0; i < 2400; i += 8) {
      pen.fillStyle = `hsl(${i % 360} 80% ${30 + (i % 40)}%)`;
      pen.fillRect(i, (i * 7) % 900, 8, 300);
    }
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
    return [...new Uint8Array(await blob.arrayBuffer())];
  });
  const files = [
    { name: 'dot.png', mimeType: 'image/png', buffer: PNG },
    { name: 'large.png', mimeType: 'image/png', buffer: Buffer.from(large) },
  ];
  await card.getByLabel('Add pictures').setInputFiles(files);
  await expectToast(page, 'The pictures were added.');
  const [dot, wide] = await images();
  assert.match(dot.url, /\.png$/, 'a small picture stays as it is');
  assert.match(wide.url, /\.webp$/, 'a large one is made smaller');
  await card.getByLabel('What picture 2 shows').fill('Stripes');
  await card.getByRole('listitem').nth(1).getByRole('button', { name: 'Save' }).click();
  await expectToast(page, 'Saved.');
  await card.getByRole('button', { name: 'Move picture 2 forward' }).click();
  await card.getByRole('listitem').first().locator(`img[src="${wide.url}"]`).waitFor();
  assert.deepEqual(
    (await images()).map((i) => i.alt),
    ['Stripes', 'Pictured'],
  );
  await card.getByRole('button', { name: 'Remove picture 2' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove picture' }).click();
  await expectToast(page, 'The picture was removed.');
  assert.deepEqual(
    (await images()).map((i) => i.url),
    [wide.url],
  );
  assert.ok((await shopPage('/p/pictured')).includes(`src="${wide.url}"`));
});

test('the shop gets its looks, and a page of the merchant’s own with a preview', async () => {
  await nav('Shop');
  await page.getByLabel('Line under the name').fill('Tools for the night');
  await page.getByRole('textbox', { name: 'Welcome text' }).fill('Hello *you* <b>raw</b>');
  await page.getByRole('button', { name: 'Preview of Welcome text' }).click();
  const preview = page.getByRole('region', { name: 'Preview of Welcome text' });
  await preview.locator('em', { hasText: 'you' }).waitFor();
  await preview.getByText('<b>raw</b>').waitFor();
  await page.getByLabel('German').check();
  await page.getByLabel('A colour of our own').check();
  await page.getByLabel('Colour of buttons').fill('#ffffff');
  await page.getByRole('button', { name: 'Save shop' }).click();
  await page.locator('.field-error').waitFor();
  await page.getByLabel('Colour of buttons').fill('#0b3d91');
  await page.getByRole('button', { name: 'Save shop' }).click();
  await expectToast(page, 'The shop was saved.');
  const saved = await panel.admin('GET', '/settings');
  assert.deepEqual([saved.tagline, saved.accent, saved.languages], ['Tools for the night', '#0b3d91', ['en', 'de']]);
  await page.getByLabel('Picture').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: PNG });
  await page.getByRole('button', { name: 'Upload logo' }).click();
  await expectToast(page, 'The logo was saved.');
  const { logo } = await panel.admin('GET', '/settings');
  await shopShows('/', `<img src="${logo}"`);
  await shopShows('/', '<em>you</em> &lt;b&gt;raw&lt;/b&gt;');

  await page.getByRole('link', { name: 'Own pages' }).click();
  await page.getByRole('link', { name: 'Add page' }).first().click();
  await page.getByLabel('Title').fill('Terms');
  await page.getByLabel('Slug').fill('terms');
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill('# First\n\nBe kind.');
  await page.getByRole('button', { name: 'Preview of Text' }).click();
  await page.getByRole('region', { name: 'Preview of Text' }).getByRole('heading', { name: 'First' }).waitFor();
  await page.getByRole('button', { name: 'Add page' }).click();
  await expectToast(page, 'Terms was added.');
  await page.getByRole('heading', { level: 1, name: 'Terms' }).waitFor();
  await shopShows('/page/terms', 'Be kind.');
  await shopShows('/', 'href="/page/terms"');
});

test('the dashboard says what the store still needs, until that is done', async () => {
  await nav('Dashboard');
  const list = page.getByRole('region', { name: 'Before you sell' });
  await list.getByRole('link', { name: 'Connect a payment gateway' }).waitFor();
  assert.equal(await list.getByText('Put the first product on sale').count(), 0, 'there is one');
  const open = await list.getByRole('button').count();
  for (let left = open; left > 0; left--) {
    await list.getByRole('button').first().click();
    await page.waitForFunction((n) => document.querySelectorAll('.checklist button').length === n, left - 1);
  }
  await list.waitFor({ state: 'detached' });
});

test('the browser had nothing to complain about', () => panel.checkComplaints());
