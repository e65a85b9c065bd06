// The file that a product delivers.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
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

test('a file: put, delivered, replaced, taken away; too large ones and strangers are refused', async () => {
  const product = await office.product({ delivery_type: 'download_url' });
  const target = `/api/admin/products/${product.id}/file`;
  const bytes = 'x'.repeat(150000);
  const put = (body, query = '', as = staff) => as.put(target + query, body, { type: 'application/octet-stream' });
  assert.deepEqual(dataOf(await put(bytes, '?name=book.pdf')), {
    id: product.id,
    file_name: 'book.pdf',
    file_bytes: 150000,
    version: 2,
  });
  const customer = await office.customer({ balance: 50 });
  const { delivery } = dataOf(await customer.post('/api/v1/order/create', { product_id: product.id }));
  const got = await souk.get(delivery.value);
  assert.equal(got.text, bytes);
  assert.match(got.headers['content-disposition'], /book\.pdf/);
  dataOf(await put('second edition'));
  assert.equal((await souk.get(delivery.value)).text, 'second edition');
  for (const name of ['../../etc/passwd', 'a%5Cb', '.hidden'])
    expectFields(await put('x', `?name=${name}`), { name: 'bad_format' });
  expectFields(await put(''), { '': 'required' });
  const other = await office.product({ delivery_type: 'download_url', slug: 'no-name' });
  const unnamed = await staff.put(`/api/admin/products/${other.id}/file`, 'x', { type: 'application/octet-stream' });
  assert.equal(dataOf(unnamed).file_name, 'no-name.bin');
  expectError(await put('x'.repeat(200001)), 413, 'body_too_large');
  expectError(await put(bytes, '', customer), 403, 'insufficient_scope');
  // What an upload left behind that was cut off goes at the next start, and nothing else does.
  const folder = path.join(souk.env.SOUK_DATA ?? `${souk.dbArg}.d`, 'files');
  const isWhole = (name) => !name.startsWith('.upload-'); // that of a refused one may still be about to go
  const files = fs.readdirSync(folder).filter(isWhole).sort();
  fs.writeFileSync(path.join(folder, '.upload-cut-off'), 'half');
  await souk.restart();
  assert.deepEqual(fs.readdirSync(folder).sort(), files);
  assert.equal((await souk.get(delivery.value.replace(/^.*\/download/, '/download'))).text, 'second edition');
  assert.equal(dataOf(await staff.delete(target)).file_name, null);
  expectError(await souk.get(delivery.value.replace(/^.*\/download/, '/download')), 404, 'not_found');
});
