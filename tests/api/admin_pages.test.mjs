// The merchant's own pages and looks, from the API to the shop.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openOffice } from './lib/admin.mjs';
import { Browser } from './lib/browser.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';

let office;
before(async () => {
  office = await openOffice();
});
after(() => office.stop());

const browser = () => new Browser(office.souk.url);
/** Settings reach the pages within a second or two. */
async function until(ready) {
  for (let i = 0; i < 600; i++) {
    const value = await ready();
    if (value) return value;
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
  }
  throw new Error('did not happen');
}

test('a page is made, shown, linked, changed and deleted', async () => {
  const made = dataOf(
    await office.owner.post('/api/admin/pages', {
      slug: 'terms',
      title: 'Terms & <b>more</b>',
      body: '# One\n\n<i>raw</i> [x](javascript:y)',
    }),
    201,
  );
  await office.audited('page.create');
  assert.equal(made.in_footer, true);
  const b = browser();
  const page = await b.open('/page/terms');
  assert.equal(page.status, 200);
  assert.match(b.page, /<h1>Terms &amp; &lt;b&gt;more&lt;\/b&gt;<\/h1>/);
  assert.match(b.page, /<h2>One<\/h2>/);
  assert.match(b.page, /&lt;i&gt;raw&lt;\/i&gt;/);
  assert.doesNotMatch(b.page, /javascript:/);
  await until(async () => (await b.open('/')).text.includes('href="/page/terms"'));
  expectError(await office.owner.post('/api/admin/pages', { slug: 'terms', title: 'Again' }), 409, 'slug_taken');
  const changed = dataOf(await office.staff.patch(`/api/admin/pages/${made.id}`, { slug: 'agb', in_footer: false }));
  assert.equal(changed.slug, 'agb');
  assert.equal(changed.title, made.title);
  const titled = dataOf(await office.staff.patch(`/api/admin/pages/${made.id}`, { title: 'Two', body: 'Text' }));
  assert.deepEqual([titled.slug, titled.title, titled.body, titled.in_footer], ['agb', 'Two', 'Text', false]);
  dataOf(await office.owner.post('/api/admin/pages', { slug: 'gone', title: 'Gone', in_footer: false }), 201);
  expectError(await office.staff.patch(`/api/admin/pages/${made.id}`, { slug: 'gone' }), 409, 'slug_taken');
  assert.equal((await b.open('/page/terms')).status, 404);
  assert.equal((await b.open('/page/agb')).status, 200);
  await until(async () => !(await b.open('/')).text.includes('href="/page/'));
  assert.equal(dataOf(await office.owner.get('/api/admin/pages')).length, 2);
  dataOf(await office.owner.get(`/api/admin/pages/${made.id}`));
  await office.owner.delete(`/api/admin/pages/${made.id}`);
  await office.audited('page.delete');
  expectError(await office.owner.delete(`/api/admin/pages/${made.id}`), 404, 'not_found');
  assert.equal((await b.open('/page/agb')).status, 404);
});

test('colour and style sheet come as a file named by its content; an unreadable colour is refused', async () => {
  const save = (body) => office.owner.patch('/api/admin/settings', body);
  expectFields(await save({ accent: 'red' }), { accent: 'bad_format' });
  expectFields(await save({ accent: '#ffffff' }), { accent: 'not_allowed' });
  dataOf(await save({ accent: '#B00020', style_sheet: 'h1 { letter-spacing: .1em; }', welcome: '*Welcome*' }));
  const b = browser();
  const [, path] = await until(async () => /href="(\/theme\/theme-[0-9a-f]{16}\.css)"/.exec((await b.open('/')).text));
  assert.match(b.page, /<em>Welcome<\/em>/);
  const theme = await b.request('GET', path);
  assert.match(theme.headers.get('content-type'), /^text\/css/);
  assert.match(theme.headers.get('cache-control'), /immutable/);
  assert.match(theme.text, /--accent: #b00020; --on-accent: #fff/);
  assert.match(theme.text, /letter-spacing/);
  assert.equal((await b.request('GET', '/theme/theme-0000000000000000.css')).status, 404);
  dataOf(await save({ accent: '#ffcc00' }));
  const light = await until(async () => {
    const [, href] = /href="(\/theme\/theme-[0-9a-f]{16}\.css)"/.exec((await b.open('/')).text) ?? [];
    return href !== path && href;
  });
  assert.match((await b.request('GET', light)).text, /--on-accent: #000/);
  dataOf(await save({ accent: '' }));
  const plain = await until(async () => {
    const [, href] = /href="(\/theme\/theme-[0-9a-f]{16}\.css)"/.exec((await b.open('/')).text) ?? [];
    return href !== light && href;
  });
  assert.doesNotMatch((await b.request('GET', plain)).text, /--on-accent/);
  dataOf(await save({ accent: '', style_sheet: '', welcome: '' }));
  await until(async () => !(await b.open('/')).text.includes('/theme/'));
});

test('search engines are told what there is', async () => {
  const product = await office.product({ name: 'Findable', slug: 'findable' });
  dataOf(await office.owner.post('/api/admin/pages', { slug: 'imprint', title: 'Imprint' }), 201);
  const b = browser();
  const map = await b.request('GET', '/sitemap.xml');
  assert.match(map.headers.get('content-type'), /xml/);
  for (const path of ['/', `/p/${product.slug}`, '/page/imprint'])
    assert.match(map.text, new RegExp(`<loc>http[^<]*${path}</loc>`));
  const robots = await b.request('GET', '/robots.txt');
  assert.match(robots.text, /^User-agent: \*\nDisallow: \/account\n/);
  assert.match(robots.text, /Sitemap: http\S+\/sitemap\.xml/);
  const icon = await b.request('GET', '/favicon.ico');
  assert.equal(icon.status, 200);
  assert.match(icon.headers.get('content-type'), /^image\/svg/);
});

test('a text is shown as the shop would show it, and nothing is saved', async () => {
  const before = dataOf(await office.staff.get('/api/admin/pages')).length;
  const { html } = dataOf(
    await office.staff.post('/api/admin/pages/preview', { body: '# One\n\n*two* <i>raw</i> [x](javascript:y)' }),
  );
  assert.match(html, /<h2>One<\/h2>/);
  assert.match(html, /<em>two<\/em> &lt;i&gt;raw/);
  assert.doesNotMatch(html, /javascript:/);
  assert.equal(dataOf(await office.staff.get('/api/admin/pages')).length, before);
});
