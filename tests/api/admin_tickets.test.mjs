// Tickets as staff answer them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectFields } from './lib/http.mjs';

let office, staff;
before(async () => {
  office = await openOffice({ args: ['--file-max', '200000'] });
  ({ staff } = office);
});
after(async () => {
  try { assertInvariants(office.database.dbArg); } finally { await office.stop(); }
});

test('tickets: answered, moved, closed; the customer sees the answer and is told', async () => {
  const sales = dataOf(await staff.post('/api/admin/departments', { name: 'Sales' }), 201);
  const tech = dataOf(await staff.post('/api/admin/departments', { name: 'Tech' }), 201);
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
});
