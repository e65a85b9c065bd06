// Lists that have an end: many requests fill them, which the release build alone sends.
// runs: release
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError } from './lib/http.mjs';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
let office;
before(async () => {
  office = await openOffice();
});
after(() => office.stop());

test('a product has so many pictures and no more; a name of none is none', async () => {
  const full = await office.product({ name: 'Full' });
  const add = (alt) =>
    office.owner.post(`/api/admin/products/${full.id}/images?alt=${alt}`, PNG, { type: 'application/octet-stream' });
  let answer;
  for (let i = 0; (answer = await add(`${i}`)).status === 201; i++) assert.ok(i < 100);
  assert.equal(answer.json.errors[0].code, 'too_many');
  const all = dataOf(await office.owner.get(`/api/admin/products/${full.id}/images`));
  assert.equal(dataOf(await office.staff.get(`/api/admin/products/${full.id}`)).images.length, all.length);
  expectError(await office.owner.patch('/api/admin/images/999999', { alt: 'x' }), 404, 'not_found');
  for (const name of ['x', 'x.png', `${'0'.repeat(32)}.png`, `${'0'.repeat(32)}`])
    assert.equal((await office.souk.get(`/media/${name}`, { unchecked: true })).status, 404, name);
});

test('a shop has so many pages and no more', async () => {
  const ids = [];
  for (let answer; ; ids.push(answer.json.data.id)) {
    answer = await office.owner.post('/api/admin/pages', { slug: `p${ids.length}`, title: 'x', in_footer: false });
    if (answer.status !== 201) {
      assert.equal(answer.json.errors[0].code, 'too_many');
      break;
    }
    assert.ok(ids.length < 200);
  }
  for (const id of ids) await office.owner.delete(`/api/admin/pages/${id}`);
});
