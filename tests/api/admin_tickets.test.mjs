// Tickets as staff answer them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';

let office, souk, staff;
before(async () => {
  office = await openOffice({ args: ['--file-max', '200000'] });
  ({ souk, staff } = office);
});
after(async () => {
  try { assertInvariants(office.database.dbArg); } finally { await office.stop(); }
});

test('tickets: answered, moved, closed; the customer sees the answer and is told', async () => {
  const sales = dataOf(await staff.post('/api/admin/departments', { name: 'Sales' }), 201);
  const tech = dataOf(await staff.post('/api/admin/departments', { name: 'Tech' }), 201);
  expectError(await staff.post('/api/admin/departments', { name: 'Tech' }), 409, 'name_taken');
  const customer = await office.customer();
  const ticket = dataOf(await customer.post('/api/customer/tickets', { department_id: sales.id, subject: 'Help', message: 'It does not start' }));
  assert.ok(dataOf(await staff.get(`/api/admin/tickets?status=open&department_id=${sales.id}`)).some((t) => t.id === ticket.id));
  const answered = dataOf(await staff.post(`/api/admin/tickets/${ticket.id}/replies`, { message: 'Try again' }), 201);
  assert.deepEqual([answered.status, answered.messages.map((m) => [m.author, m.body])], ['answered', [['customer', 'It does not start'], ['staff', 'Try again']]]);
  assert.equal(dataOf(await customer.get(`/api/customer/tickets/${ticket.id}`)).messages.length, 2);
  assert.deepEqual(dataOf(await customer.get('/api/customer/notifications')).map((n) => n.kind), ['ticket_answered']);
  const moved = dataOf(await staff.patch(`/api/admin/tickets/${ticket.id}`, { department_id: tech.id, status: 'closed' }));
  assert.deepEqual([moved.department, moved.status], ['Tech', 'closed']);
  expectFields(await staff.patch(`/api/admin/tickets/${ticket.id}`, { department_id: 999999 }), { department_id: 'unknown_id' });
  expectError(await staff.delete(`/api/admin/departments/${tech.id}`), 409, 'invalid_state');
  dataOf(await staff.patch(`/api/admin/departments/${tech.id}`, { is_active: false }));
  assert.ok(!dataOf(await souk.get('/api/support/departments')).some((d) => d.id === tech.id));
  const empty = dataOf(await staff.post('/api/admin/departments', { name: 'Empty' }), 201);
  expectStatus(await staff.delete(`/api/admin/departments/${empty.id}`), 200);
});
