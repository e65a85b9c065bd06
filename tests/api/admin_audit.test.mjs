// The audit trail.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertInvariants } from '../lib/checker.mjs';
import { openOffice } from './lib/admin.mjs';
import { dataOf } from './lib/http.mjs';

let office, owner, staff;
before(async () => {
  office = await openOffice();
  ({ owner, staff } = office);
});
after(async () => {
  try {
    assertInvariants(office.database.dbArg);
  } finally {
    await office.stop();
  }
});

test('the audit trail is filtered by action, actor and resource, and pages', async () => {
  const customer = await office.customer();
  dataOf(await staff.patch(`/api/admin/customers/${customer.id}`, { name: 'Renamed' }));
  const mine = dataOf(
    await owner.get(`/api/admin/audit?actor_id=${staff.id}&action=customer&resource_id=${customer.id}`),
  );
  assert.deepEqual(
    mine.map((e) => [e.action, e.actor_email, e.after.name, e.label]),
    [['customer.update', 'staff@example.com', 'Renamed', customer.email]],
  );
  assert.ok(mine[0].request_id && mine[0].address);
  const found = async (q) =>
    dataOf(await owner.get(`/api/admin/audit?action=customer&q=${encodeURIComponent(q)}`)).map((e) => e.id);
  assert.deepEqual(
    await found(customer.email.toUpperCase()),
    dataOf(await owner.get(`/api/admin/audit?action=customer&resource_id=${customer.id}`)).map((e) => e.id),
  );
  assert.ok((await found('staff@exam')).includes(mine[0].id));
  assert.deepEqual(await found('no such word'), []);
  assert.deepEqual(await found('%'), []);
  assert.deepEqual(dataOf(await owner.get(`/api/admin/audit?action=custom&resource_id=${customer.id}`)), []);
  const seen = [];
  for (let next = '/api/admin/audit?limit=7&action=customer'; next;) {
    const page = await owner.get(next);
    seen.push(...dataOf(page).map((e) => e.id));
    next = page.json.meta.has_more ? /<(.*)>/.exec(page.headers.link)[1] : null;
  }
  assert.equal(new Set(seen).size, seen.length);
  assert.deepEqual(
    seen,
    [...seen].sort((a, b) => b - a),
  );
});
