// Support tickets as the customer sees them: fields, rules, states, refusals.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { execute, number } from '../lib/sql.mjs';
import { startStore } from '../lib/store.mjs';
import { dataOf, expectError, expectFields, expectStatus } from './lib/http.mjs';
import { freshStore, startSouk } from './lib/souk.mjs';

const TICKETS = '/api/customer/tickets';
const SALES = 1,
  BILLING = 2,
  CLOSED = 3;

let store, souk;
before(async () => {
  store = await startStore({
    customers: { ada: null, bob: null, lister: null, pager: null, none: null, sam: { role: 'staff' } },
    departments: ['Sales & "more"', 'Billing', { name: 'Closed', is_active: 0 }],
  });
  souk = store.souk;
});
after(async () => {
  if (!store) return;
  try {
    const check = await souk.cli(['check'], { helps: true });
    assert.equal(check.code, 0, check.stdout + check.stderr);
  } finally {
    await store.stop();
  }
});

const good = { department_id: SALES, subject: 'Where is my key?', message: 'I paid, and then nothing.' };
const create = (who, body, headers) => souk.post(TICKETS, body, { token: who.token, headers });
const open = async (who, more = {}) => dataOf(await create(who, { ...good, ...more }));
const read = async (who, id, query = '') => dataOf(await souk.get(`${TICKETS}/${id}${query}`, { token: who.token }));
const reply = (who, id, body, headers) => souk.post(`${TICKETS}/${id}/replies`, body, { token: who.token, headers });
const close = (who, id) => souk.post(`${TICKETS}/${id}/close`, undefined, { token: who.token });

const answerByStaff = async (id, message) =>
  expectStatus(await souk.post(`/api/admin/tickets/${id}/replies`, { message }, { token: store.sam.token }), 201);

test('departments: public, id and name of those that take tickets, by name', async () => {
  assert.deepEqual(dataOf(await souk.get('/api/support/departments')), [
    { id: BILLING, name: 'Billing' },
    { id: SALES, name: 'Sales & "more"' },
  ]);
});

test('a new ticket answers exactly id, subject, department, status and created_at', async () => {
  const ticket = dataOf(await create(store.ada, good));
  assert.deepEqual(Object.keys(ticket).sort(), ['created_at', 'department', 'id', 'status', 'subject']);
  assert.ok(Number.isSafeInteger(ticket.id) && ticket.id > 0);
  assert.equal(ticket.subject, good.subject);
  assert.equal(ticket.department, 'Sales & "more"');
  assert.equal(ticket.status, 'open');
  assert.ok(Math.abs(Date.parse(ticket.created_at) - Date.now()) < 60_000);
});

test('the list has the same members and last_reply_at; the first message counts', async () => {
  const ticket = await open(store.lister);
  const [first] = dataOf(await souk.get(TICKETS, { token: store.lister.token }));
  assert.deepEqual(first, { ...ticket, last_reply_at: ticket.created_at });
});

test('a customer without tickets has an empty list', async () => {
  assert.deepEqual(dataOf(await souk.get(TICKETS, { token: store.none.token })), []);
});

test('the list has the newest activity first', async () => {
  const tickets = [];
  for (let i = 0; i < 3; i++) tickets.push(await open(store.lister, { subject: `Ticket ${i}` }));
  const ids = async () => dataOf(await souk.get(TICKETS, { token: store.lister.token })).map((t) => t.id);
  const before = await ids();
  assert.deepEqual(before.slice(0, 3), tickets.map((t) => t.id).reverse());
  await answerByStaff(tickets[0].id, 'Hello');
  assert.deepEqual((await ids())[0], tickets[0].id);
  const [first] = dataOf(await souk.get(TICKETS, { token: store.lister.token }));
  assert.equal(first.status, 'answered');
  assert.ok(first.last_reply_at >= first.created_at);
});

test('the answer of staff moves last_reply_at and is told to the customer', async () => {
  const { id } = await open(store.lister, { subject: 'Told "so"' });
  execute(
    store.database.dbArg,
    `UPDATE ticket SET created_at = created_at - 60000, last_reply_at = last_reply_at - 60000 WHERE id = ${id};
    UPDATE ticket_message SET created_at = created_at - 60000 WHERE ticket_id = ${id}`,
  );
  await answerByStaff(id, 'Yes');
  const [first] = dataOf(await souk.get(TICKETS, { token: store.lister.token }));
  assert.equal(first.id, id);
  assert.ok(Date.parse(first.last_reply_at) - Date.parse(first.created_at) >= 60000);
  const [note] = dataOf(await souk.get('/api/customer/notifications', { token: store.lister.token }));
  assert.equal(note.kind, 'ticket_answered');
  assert.equal(note.reference_id, id);
  assert.equal(note.message, 'Your ticket “Told "so"” was answered.');
});

test('without parameters the newest 100 come; limit and cursor go on from there', async () => {
  const at = Date.UTC(2026, 0, 1);
  const rows = Array.from(
    { length: 130 },
    (_, i) => `(${store.pager.id}, ${BILLING}, 'No ${i}', ${at}, ${at + Math.floor(i / 3) * 1000})`,
  );
  execute(
    store.database.dbArg,
    `INSERT INTO ticket (account_id, department_id, subject, created_at, last_reply_at) VALUES ${rows.join()};
    INSERT INTO ticket_message (ticket_id, author, author_id, body, created_at)
      SELECT id, 'customer', account_id, 'x', last_reply_at FROM ticket WHERE account_id = ${store.pager.id}`,
  );
  const first = await souk.get(TICKETS, { token: store.pager.token });
  assert.equal(dataOf(first).length, 100);
  assert.equal(first.json.meta.has_more, true);
  assert.equal(first.headers.link, `<${TICKETS}?cursor=${first.json.meta.next_cursor}>; rel="next"`);
  const rest = await souk.get(`${TICKETS}?cursor=${first.json.meta.next_cursor}`, { token: store.pager.token });
  assert.equal(dataOf(rest).length, 30);
  assert.deepEqual(rest.json.meta, { has_more: false, next_cursor: null });
  const all = [...dataOf(first), ...dataOf(rest)];
  assert.deepEqual(
    all.map((t) => t.subject),
    Array.from({ length: 130 }, (_, i) => `No ${129 - i}`),
  );
  const paged = [];
  for (let cursor = ''; cursor !== null;) {
    const page = await souk.get(`${TICKETS}?limit=7${cursor}`, { token: store.pager.token });
    paged.push(...dataOf(page));
    cursor = page.json.meta.has_more ? `&cursor=${page.json.meta.next_cursor}` : null;
  }
  assert.deepEqual(paged, all);
});

test('bad list parameters are named', async () => {
  const at = (query) => souk.get(TICKETS + query, { token: store.ada.token });
  expectFields(await at('?limit=0'), { limit: 'not_positive' });
  expectFields(await at('?limit=101'), { limit: 'out_of_range' });
  expectFields(await at('?cursor=x'), { cursor: 'bad_cursor' });
});

test('one ticket comes with its messages, oldest first', async () => {
  const ticket = await open(store.ada);
  await answerByStaff(ticket.id, 'On its way');
  expectStatus(await reply(store.ada, ticket.id, { message: 'Thank you\n\tvery much' }), 201);
  const full = await read(store.ada, ticket.id);
  assert.deepEqual(Object.keys(full).sort(), [
    'created_at',
    'department',
    'id',
    'license_id',
    'messages',
    'order_id',
    'status',
    'subject',
  ]);
  assert.deepEqual(
    full.messages.map((m) => [m.author, m.author_name, m.body]),
    [
      ['customer', 'ada', good.message],
      ['staff', 'sam', 'On its way'],
      ['customer', 'ada', 'Thank you\n\tvery much'],
    ],
  );
  for (const m of full.messages)
    assert.deepEqual(Object.keys(m).sort(), ['author', 'author_name', 'body', 'created_at', 'id']);
});

test('the messages of a long conversation come in pages', async () => {
  const ticket = await open(store.ada, { message: 'm0' });
  const rows = Array.from(
    { length: 149 },
    (_, i) => `(${ticket.id}, 'customer', ${store.ada.id}, 'm${i + 1}',
    (SELECT last_reply_at FROM ticket WHERE id = ${ticket.id}))`,
  );
  execute(
    store.database.dbArg,
    `INSERT INTO ticket_message (ticket_id, author, author_id, body, created_at) VALUES ${rows.join()}`,
  );
  const names = (from, to) => Array.from({ length: to - from }, (_, i) => `m${from + i}`);
  const bodies = (t) => t.messages.map((m) => m.body);
  const newest = await read(store.ada, ticket.id);
  assert.deepEqual(bodies(newest), names(50, 150));
  assert.deepEqual(bodies(await read(store.ada, ticket.id, `?before=${newest.messages[0].id}`)), names(0, 50));
  assert.deepEqual(bodies(await read(store.ada, ticket.id, '?limit=2')), names(148, 150));
  expectFields(await souk.get(`${TICKETS}/${ticket.id}?limit=101&before=0`, { token: store.ada.token }), {
    limit: 'out_of_range',
    before: 'not_positive',
  });
});

test('a reply answers the message, with the ticket as Location', async () => {
  const ticket = await open(store.ada);
  const answer = await reply(store.ada, ticket.id, { message: '  more  ' });
  const message = dataOf(answer, 201);
  assert.equal(answer.headers.location, `${TICKETS}/${ticket.id}`);
  assert.equal(message.author, 'customer');
  assert.equal(message.author_name, 'ada');
  assert.equal(message.body, '  more  ');
});

test('states: open, answered by staff, open by a reply, closed, open again', async () => {
  const { id } = await open(store.ada);
  const status = async () => (await read(store.ada, id)).status;
  assert.equal(await status(), 'open');
  await answerByStaff(id, 'Yes?');
  assert.equal(await status(), 'answered');
  expectStatus(await reply(store.ada, id, { message: 'No.' }), 201);
  assert.equal(await status(), 'open');
  assert.equal(dataOf(await close(store.ada, id)).status, 'closed');
  assert.equal(await status(), 'closed');
  assert.equal(dataOf(await close(store.ada, id)).status, 'closed', 'closing again changes nothing');
  expectStatus(await reply(store.ada, id, { message: 'One more thing' }), 201);
  assert.equal(await status(), 'open');
});

test('closing is no activity', async () => {
  const { id } = await open(store.ada);
  const listed = async () => dataOf(await souk.get(TICKETS, { token: store.ada.token })).find((t) => t.id === id);
  const { last_reply_at } = await listed();
  expectStatus(await close(store.ada, id), 200);
  assert.equal((await listed()).last_reply_at, last_reply_at);
});

test('department_id must be one that exists and takes tickets', async () => {
  for (const department_id of [CLOSED, 999, 9007199254740991]) {
    expectFields(await create(store.ada, { ...good, department_id }), { department_id: 'unknown_id' });
  }
  for (const department_id of ['1', 1.5, true, [1], {}]) {
    expectFields(await create(store.ada, { ...good, department_id }), { department_id: 'wrong_type' });
  }
  expectFields(await create(store.ada, '{"department_id":1.0,"subject":"s","message":"m"}'), {
    department_id: 'wrong_type',
  });
  expectFields(await create(store.ada, '{"department_id":1e0,"subject":"s","message":"m"}'), {
    department_id: 'wrong_type',
  });
  for (const department_id of [0, -1]) {
    expectFields(await create(store.ada, { ...good, department_id }), { department_id: 'not_positive' });
  }
  expectFields(await create(store.ada, { ...good, department_id: 9007199254740992 }), {
    department_id: 'out_of_range',
  });
});

test('a subject has at most 255 characters, counted as code points, and is kept exactly as sent', async () => {
  for (const subject of ['x', 'x'.repeat(255), 'ž'.repeat(255), '🐎'.repeat(255)]) {
    assert.equal((await open(store.ada, { subject })).subject, subject);
  }
  assert.equal((await open(store.ada, { subject: '  indented \u00a0 ' })).subject, '  indented \u00a0 ');
  expectFields(await create(store.ada, { ...good, subject: ` ${'x'.repeat(255)}` }), { subject: 'too_long' });
  expectFields(await create(store.ada, { ...good, subject: 'x'.repeat(256) }), { subject: 'too_long' });
  expectFields(await create(store.ada, { ...good, subject: '🐎'.repeat(256) }), { subject: 'too_long' });
});

test('a subject is one line of text', async () => {
  for (const subject of ['', '   ', '\n\t'])
    expectFields(await create(store.ada, { ...good, subject }), { subject: 'required' });
  for (const subject of ['two\nlines', 'tab\there', 'bell\u0007', 'del\u007f', 'c1\u0085x', 'end\n', '\tstart']) {
    expectFields(await create(store.ada, { ...good, subject }), { subject: 'bad_characters' });
  }
  for (const subject of [5, true, [], {}])
    expectFields(await create(store.ada, { ...good, subject }), { subject: 'wrong_type' });
});

test('a message has 1 to 50000 characters', async () => {
  const long = '🐎'.repeat(50000);
  const { id } = await open(store.ada, { message: long });
  assert.equal((await read(store.ada, id)).messages[0].body, long);
  const escaped = `{"department_id":${SALES},"subject":"s","message":"${'\\ud83d\\udc0e'.repeat(50000)}"}`;
  expectStatus(await create(store.ada, escaped), 200);
  expectFields(await create(store.ada, { ...good, message: 'x'.repeat(50001) }), { message: 'too_long' });
  expectFields(await create(store.ada, { ...good, message: ' \n ' }), { message: 'required' });
  expectFields(await create(store.ada, { ...good, message: 'bell\u0007' }), { message: 'bad_characters' });
  expectError(await create(store.ada, { ...good, message: 'x'.repeat(700_000) }), 413, 'body_too_large');
});

test('a message is kept exactly as sent: spaces, tabs, line ends', async () => {
  const { id } = await open(store.ada, { message: '\r\n  one\r\n\r\n\ttwo  \n' });
  assert.equal((await read(store.ada, id)).messages[0].body, '\r\n  one\r\n\r\n\ttwo  \n');
});

test('hostile text comes back as it was', async () => {
  for (const text of [
    '<script>alert(1)</script>',
    "'; DROP TABLE ticket; --",
    '${7*7} {{7*7}} %s%n',
    '\u202egnp.exe',
    '&lt;b&gt;',
    '\u2028\u2029 x',
    '𝕏 ﷽ 👩‍👩‍👧',
  ]) {
    const ticket = await open(store.ada, { subject: text.replace(/[\u2028\u2029]/g, ''), message: text });
    assert.equal((await read(store.ada, ticket.id)).messages[0].body, text);
  }
});

test('every bad field of a ticket is named at once', async () => {
  expectFields(await create(store.ada, {}), { department_id: 'required', subject: 'required', message: 'required' });
  expectFields(await create(store.ada, { department_id: null, subject: null, message: null }), {
    department_id: 'required',
    subject: 'required',
    message: 'required',
  });
  expectFields(
    await create(store.ada, {
      department_id: 'x',
      subject: 'x'.repeat(256),
      message: 5,
      status: 'closed',
      account_id: 1,
      id: 7,
    }),
    {
      department_id: 'wrong_type',
      subject: 'too_long',
      message: 'wrong_type',
      status: 'unknown_field',
      account_id: 'unknown_field',
      id: 'unknown_field',
    },
  );
  expectFields(await create(store.ada, []), { '': 'wrong_type' });
});

test('a body that is no JSON is refused as such', async () => {
  const badUtf8 = Buffer.concat([
    Buffer.from(`{"department_id":${SALES},"subject":"`),
    Buffer.from([0xc3, 0x28]),
    Buffer.from('","message":"m"}'),
  ]);
  for (const body of [
    '',
    '{',
    badUtf8,
    `{"department_id":${SALES},"subject":"\\u0000","message":"m"}`,
    `{"department_id":${SALES},"subject":"\\ud800","message":"m"}`,
    `{"subject":"a","subject":"b"}`,
  ]) {
    expectError(await create(store.ada, body), 400, 'malformed_json');
  }
  const { id } = await open(store.ada);
  expectError(await reply(store.ada, id, '{'), 400, 'malformed_json');
});

test('a bad reply is refused and changes nothing', async () => {
  const { id } = await open(store.ada);
  expectStatus(await close(store.ada, id), 200);
  expectFields(await reply(store.ada, id, {}), { message: 'required' });
  expectFields(await reply(store.ada, id, { message: '' }), { message: 'required' });
  expectFields(await reply(store.ada, id, { message: null }), { message: 'required' });
  expectFields(await reply(store.ada, id, { message: 5 }), { message: 'wrong_type' });
  expectFields(await reply(store.ada, id, { message: 'x'.repeat(50001) }), { message: 'too_long' });
  expectFields(await reply(store.ada, id, { message: 'm', status: 'answered' }), { status: 'unknown_field' });
  const ticket = await read(store.ada, id);
  assert.equal(ticket.status, 'closed');
  assert.equal(ticket.messages.length, 1);
});

test('an Idempotency-Key makes a repeated request one ticket, and one reply', async () => {
  const headers = { 'Idempotency-Key': randomBytes(8).toString('hex') };
  const first = expectStatus(await create(store.ada, good, headers), 200);
  const again = await create(store.ada, good, headers);
  assert.deepEqual(again.bytes, first.bytes);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  const { id } = dataOf(first);
  for (let i = 0; i < 3; i++) expectStatus(await reply(store.ada, id, { message: 'once' }, headers), 201);
  assert.equal((await read(store.ada, id)).messages.length, 2);
});

test("somebody else's ticket is not found, whatever is asked", async () => {
  const { id } = await open(store.ada);
  const count = () => number(store.database.dbArg, `SELECT COUNT(*) FROM ticket_message WHERE ticket_id = ${id}`);
  for (const other of [id, 999999999]) {
    expectError(await souk.get(`${TICKETS}/${other}`, { token: store.bob.token }), 404, 'not_found');
    expectError(await reply(store.bob, other, { message: 'mine' }), 404, 'not_found');
    expectError(await close(store.bob, other), 404, 'not_found');
  }
  for (const id of ['0', 'x', '-1', '1.0', '99999999999999999999']) {
    expectError(await souk.get(`${TICKETS}/${id}`, { token: store.ada.token }), 404, 'not_found');
  }
  assert.ok(!dataOf(await souk.get(TICKETS, { token: store.bob.token })).some((t) => t.id === id));
  assert.equal(count(), 1n);
  assert.equal((await read(store.ada, id)).status, 'open');
});

test('tickets need a token with the scope customer', async () => {
  const { token } = dataOf(
    await souk.post('/api/customer/tokens', { name: 'v', scopes: ['verify', 'store'] }, { token: store.ada.token }),
    201,
  );
  const { id } = await open(store.ada);
  for (const [method, path, body] of [
    ['GET', TICKETS],
    ['POST', TICKETS, good],
    ['GET', `${TICKETS}/${id}`],
    ['POST', `${TICKETS}/${id}/replies`, { message: 'm' }],
    ['POST', `${TICKETS}/${id}/close`],
  ]) {
    expectError(await souk.request(method, path, { body }), 401, 'token_missing');
    expectError(await souk.request(method, path, { body, token }), 403, 'insufficient_scope');
  }
});

test('a customer writes ten megabytes a day: nobody fills the disk with messages', async (t) => {
  const database = freshStore(undefined, 'owner');
  const small = await startSouk({ t, database, limited: true, dear: false });
  t.after(() => database.remove());
  const owner = { token: database.accounts.owner.token };
  const department_id = dataOf(await small.post('/api/admin/departments', { name: 'Sales' }, owner), 201).id;
  const join = async (email) =>
    dataOf(await small.post('/api/auth/register', { email, password: 'a long enough password' }), 201);
  const { token } = await join('writer@example.com');
  const message = '😀'.repeat(50000); // 196 of 10,240 units
  const { id } = dataOf(await small.post(TICKETS, { department_id, subject: 's', message }, { token }));
  for (let i = 0; i < 51; i++) dataOf(await small.post(`${TICKETS}/${id}/replies`, { message }, { token }), 201);
  expectError(await small.post(`${TICKETS}/${id}/replies`, { message }, { token }), 429, 'rate_limited');
  expectError(await small.post(TICKETS, { department_id, subject: 's', message }, { token }), 429, 'rate_limited');
  const other = await join('other@example.com');
  dataOf(await small.post(TICKETS, { department_id, subject: 's', message }, { token: other.token }));
  expectStatus(await small.post(`/api/admin/tickets/${id}/replies`, { message }, owner), 201);
});
