// Pools of serial codes.
// release: sqlite
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { SLOW } from './lib/souk.mjs';

/** A sanitizer sees the same code with a tenth of them, which still are ten slices. */
const CODES = SLOW > 1 ? 10000 : 100000;

let office, staff;
before(async () => {
  office = await openOffice({ args: ['--file-max', '200000'] });
  ({ staff } = office);
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

test(`${CODES} serials in one request; again: all duplicates; JSON and text; nothing half done`, async () => {
  const product = await office.product({ delivery_type: 'serial_code' });
  const target = `/api/admin/products/${product.id}/serials`;
  const text = Array.from({ length: CODES }, (_, i) => `CODE-${i}`).join('\r\n');
  const commits = async () => (await office.souk.metrics()).get('souk_batch_jobs_total');
  const before = await commits();
  assert.deepEqual(dataOf(await staff.post(target, text, { type: 'text/plain' })), { added: CODES, duplicates: 0 });
  assert.ok((await commits()) - before >= CODES / 1000, 'in slices, with room for others in between');
  assert.deepEqual(
    dataOf(await office.owner.get('/api/admin/audit?limit=2')).map((a) => [a.action, a.after]),
    [
      ['serial.import', { added: CODES, duplicates: 0 }],
      ['serial.import_begun', { codes: CODES }],
    ],
  );
  assert.deepEqual(dataOf(await staff.post(target, '\nCODE-1\n\n', { type: 'text/plain' })), {
    added: 0,
    duplicates: 1,
  });
  assert.deepEqual(dataOf(await staff.post(target, { codes: ['CODE-1', 'NEW-1234567890', 'NEW-1234567890'] })), {
    added: 1,
    duplicates: 2,
  });
  const page = dataOf(await staff.get(`${target}?limit=2`));
  assert.deepEqual(
    page.pools.map((p) => [p.free, p.taken]),
    [[CODES + 1, 0]],
  );
  assert.ok(page.codes[0].code.endsWith('7890') && !page.codes[0].code.includes('NEW'), page.codes[0].code);
  expectFields(await staff.post(target, `good\nbad\u0001code`, { type: 'text/plain' }), { codes: 'bad_format' });
  expectFields(await staff.post(target, Buffer.from('\xff', 'latin1'), { type: 'text/plain' }), {
    codes: 'bad_characters',
  });
  expectFields(await staff.post(target, ' \n\r\n', { type: 'text/plain' }), { codes: 'too_few' });
  expectFields(await staff.post(target, '\n'.repeat(500001), { type: 'text/plain' }), { codes: 'too_many' });
  expectFields(await staff.post(target, { codes: [] }), { codes: 'too_few' });
  expectFields(await staff.post(target, { codes: ['x'], variant_id: 999 }), { variant_id: 'unknown_id' });
  expectError(await staff.post('/api/admin/products/999999/serials', { codes: ['x'] }), 404, 'not_found');
  assert.equal(dataOf(await staff.get(target)).pools[0].free, CODES + 1);
  assert.equal((await office.audited('serial.import')).after.added, 1);
  expectError(
    await staff.post(`/api/admin/products/${(await office.product()).id}/serials`, { codes: ['x'] }),
    409,
    'invalid_state',
  );
});

test('a long import with a key: the same answer again, and nothing is added twice', async () => {
  const product = await office.product({ delivery_type: 'serial_code' });
  const target = `/api/admin/products/${product.id}/serials`;
  const codes = Array.from({ length: 2500 }, (_, i) => `LONG-${i}`);
  const once = () => staff.post(target, { codes }, { headers: { 'Idempotency-Key': 'long-import' } });
  const both = await Promise.all([once(), once()]);
  const [first, second] = both.map((answer) => (answer.status === 200 ? dataOf(answer) : answer.status));
  const third = dataOf(await once());
  assert.ok(
    [first, second].some((a) => a.added !== undefined),
    JSON.stringify(both.map((a) => a.text)),
  );
  assert.deepEqual(third, first.added === undefined ? second : first);
  assert.deepEqual(dataOf(await staff.get(target)).pools[0].free, 2500);
});
