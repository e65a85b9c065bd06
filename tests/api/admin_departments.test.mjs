// Departments as staff change them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';

let office, souk, staff;
before(async () => {
  office = await openOffice();
  ({ souk, staff } = office);
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

test('departments: made, renamed, switched off; one that has had a ticket is not deleted', async () => {
  const tech = dataOf(await staff.post('/api/admin/departments', { name: 'Tech' }), 201);
  expectError(await staff.post('/api/admin/departments', { name: 'Tech' }), 409, 'name_taken');
  const empty = dataOf(await staff.post('/api/admin/departments', { name: 'Empty' }), 201);
  expectError(await staff.patch(`/api/admin/departments/${empty.id}`, { name: 'Tech' }), 409, 'name_taken');
  assert.equal(dataOf(await staff.patch(`/api/admin/departments/${empty.id}`, { name: 'Nobody' })).name, 'Nobody');
  assert.equal(dataOf(await staff.get(`/api/admin/departments/${empty.id}`)).name, 'Nobody');

  const hidden = dataOf(await staff.post('/api/admin/departments', { name: 'Hidden', is_active: false }), 201);
  assert.equal(hidden.is_active, false);
  const customer = await office.customer();
  dataOf(
    await customer.post('/api/customer/tickets', {
      department_id: tech.id,
      subject: 'Help',
      message: 'It does not start',
    }),
  );
  expectError(await staff.delete(`/api/admin/departments/${tech.id}`), 409, 'invalid_state');
  dataOf(await staff.patch(`/api/admin/departments/${tech.id}`, { is_active: false }));
  assert.ok(!dataOf(await souk.get('/api/support/departments')).some((d) => d.id === tech.id));
  assert.ok(dataOf(await staff.get('/api/admin/departments')).some((d) => d.id === tech.id && !d.is_active));
  expectStatus(await staff.delete(`/api/admin/departments/${empty.id}`), 200);
  expectError(await staff.get(`/api/admin/departments/${empty.id}`), 404, 'not_found');
});
