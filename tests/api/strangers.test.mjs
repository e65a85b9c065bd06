// What strangers can take: bodies of unknown callers are not read. Work whose client is gone is in strangers_gone.test.mjs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { connect } from './lib/raw.mjs';
import { seeder } from './lib/seed.mjs';
import { SLOW, startSouk, together } from './lib/souk.mjs';

const importHead = (token, length) =>
  'POST /api/admin/products/1/serials HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n' +
  `Authorization: Bearer ${token}\r\n${length}\r\n\r\n`;

test('a long body is not read before its token was looked up', async (t) => {
  const { souk, owner, stop } = await openOffice();
  t.after(stop);
  const { token } = await souk.customer();
  const revoked = (await souk.customer()).token;
  expectStatus(await souk.post('/api/auth/logout', undefined, { token: revoked }), 200);
  for (const length of ['Content-Length: 10000000', 'Transfer-Encoding: chunked']) {
    for (const [who, status] of [
      [revoked, 401],
      [token, 403],
    ]) {
      const c = await connect(souk.url);
      c.write(importHead(who, length)); // and not one byte of the body
      assert.equal((await c.answer()).status, status);
      c.destroy();
    }
    const c = await connect(souk.url);
    c.write(importHead(owner.token, length).replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'));
    assert.ok(await c.wait(() => c.text.startsWith('HTTP/1.1 100 Continue')), 'who may send it is asked to go on');
    c.destroy();
  }
});

test('who shuts down only their own side still gets their answer', async (t) => {
  const souk = await startSouk({ t });
  const { email, password } = await souk.customer();
  const body = JSON.stringify({ email, password });
  const c = await connect(souk.url);
  c.socket.end(
    `POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  assert.equal((await c.answer()).status, 200);
});

/** A customer with a ticket of `count` messages of 60,000 bytes each: {souk, id, token, ticket, reply(key)}. */
async function withLongTicket(t, count, args = []) {
  const { souk, owner, stop } = await openOffice({ args });
  t.after(stop);
  const { id, token } = await souk.customer();
  const { id: department } = dataOf(await owner.post('/api/admin/departments', { name: 'Help' }), 201);
  const ticket = dataOf(
    await souk.post('/api/customer/tickets', { department_id: department, subject: 'Long', message: 'x' }, { token }),
  ).id;
  const reply = (key) =>
    souk.post(
      `/api/customer/tickets/${ticket}/replies`,
      { message: '€'.repeat(20000) },
      { token, headers: key ? { 'Idempotency-Key': key } : {} },
    );
  for (let i = 0; i < count; i++) expectStatus(await reply(`key ${i}`), 201);
  return { souk, id, token, ticket, reply };
}

test('an account keeps so many bytes of long answers; a key without its answer still has one effect', async (t) => {
  const { souk, id, token, ticket, reply } = await withLongTicket(t, 1);
  const messages = async () =>
    dataOf(await souk.get(`/api/customer/tickets/${ticket}?limit=1`, { token })).messages[0].id;
  // As if there had been 143 more; of the next one on the oldest have to go.
  const [hash, answer] =
    souk.engine === 'sqlite'
      ? ['CAST(n AS BLOB)', 'zeroblob(60000)']
      : ["decode(lpad(to_hex(n), 32, '0'), 'hex')", "decode(repeat('00', 60000), 'hex')"];
  seeder(souk).sql(
    `WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 143)
    INSERT INTO idempotency (account_id, key_hash, request_hash, status, answer, counted_of, created_at)
    SELECT ${id}, ${hash}, ${hash}, 201, ${answer}, -${id}, ${Date.now()} FROM s;`,
  );
  expectStatus(await reply('key 144'), 201);
  const newest = await messages();
  expectError(await reply('key 0'), 409, 'answer_not_kept');
  const again = expectStatus(await reply('key 144'), 201);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.equal(await messages(), newest, 'nothing was written again');
});

test('an account keeps so many short answers, too', async (t) => {
  const { souk, customer, owner, stop } = await openOffice();
  t.after(stop);
  const { id: department } = dataOf(await owner.post('/api/admin/departments', { name: 'Help' }), 201);
  const open = async (token, key) =>
    souk.post(
      '/api/customer/tickets',
      { department_id: department, subject: 'Short', message: 'x' },
      { token, headers: { 'Idempotency-Key': key } },
    );
  const people = [await customer(), await customer()];
  for (const who of people) who.ticket = dataOf(await open(who.token, 'small')).id;
  const [one, other] = people;
  // An answer with the message in it: more than a small one, which is not counted.
  const reply = (who, key, message = 'x'.repeat(1500)) =>
    souk.post(
      `/api/customer/tickets/${who.ticket}/replies`,
      { message },
      { token: who.token, headers: { 'Idempotency-Key': key } },
    );
  const seed = seeder(souk);
  const messages = () => seed.number('SELECT COUNT(*) FROM ticket_message');
  const OLD = 20;
  const LATER = 100;
  for (let i = 0; i < OLD; i++) expectStatus(await reply(one, `old ${i}`), 201);
  expectStatus(await reply(other, 'old 0'), 201);
  // As if there had been 10,000 more, and as many of another account.
  const bytes = (n) => (souk.engine === 'sqlite' ? `x'${n}'` : `'\\x${n}'`);
  const hash = (who, n) => bytes(who.id.toString(16).padStart(16, '0') + n.toString(16).padStart(16, '0'));
  for (const who of people) {
    const row = (n) => `(${who.id}, ${hash(who, n)}, ${hash(who, n)}, 201, ${bytes('00')}, ${who.id}, ${Date.now()})`;
    seed.sql(
      `INSERT INTO idempotency (account_id, key_hash, request_hash, status, answer, counted_of, created_at) VALUES ${Array.from({ length: 10_000 }, (_, n) => row(n)).join(',')};`,
    );
  }
  // About one request in 64 counts. The first keys have to go then; their rows stay.
  const gone = () => seed.number(`SELECT COUNT(*) FROM idempotency WHERE account_id = ${one.id} AND answer IS NULL`);
  let asked = 0;
  do {
    await together(LATER, 8, async (i) => expectStatus(await reply(one, `new ${asked + i}`), 201));
    asked += LATER;
  } while (!gone() && asked < 10_000);
  const before = messages();
  for (let i = 0; i < OLD; i++) expectError(await reply(one, `old ${i}`), 409, 'answer_not_kept');
  expectError(await reply(one, 'old 0', 'another'), 422, 'idempotency_key_reused');
  const replayed = (answer) => assert.equal(answer.headers['idempotent-replayed'], 'true', answer.text);
  replayed(expectStatus(await reply(one, `new ${asked - 1}`), 201));
  replayed(expectStatus(await open(one.token, 'small'), 200));
  assert.equal(messages(), before, 'each key has had its one effect');
  const kept = seed.number(`SELECT COUNT(*) FROM idempotency WHERE counted_of = ${one.id}`);
  assert.ok(kept >= 10_000 && kept <= 10_000 + asked, `${kept}`);
  // Those of another account are left alone.
  assert.equal(seed.number(`SELECT COUNT(*) FROM idempotency WHERE counted_of = ${other.id}`), 10_001);
  replayed(expectStatus(await reply(other, 'old 0'), 201));
});

test('a page of messages ends at a megabyte; the rest is behind it', async (t) => {
  const { souk, token, ticket } = await withLongTicket(t, 20);
  let before = '';
  const pages = [];
  do {
    const { messages } = dataOf(await souk.get(`/api/customer/tickets/${ticket}?limit=100${before}`, { token }));
    pages.push(messages.length);
    before = messages.length ? `&before=${messages[0].id}` : null;
  } while (before);
  assert.deepEqual(pages, [17, 4, 0]);
});

test('a page of any list ends at a megabyte; the rest is behind its cursor', async (t) => {
  const { souk, owner, product, stop } = await openOffice();
  t.after(stop);
  const made = [];
  for (let i = 0; i < 40; i++) made.push((await product({ description: '€'.repeat(20000) })).id);
  const pages = [];
  const seen = [];
  for (let next = '/api/admin/products?limit=100'; next;) {
    const { json, bytes } = expectStatus(await souk.get(next, { token: owner.token }), 200);
    assert.ok(bytes.length < 1200000, `${bytes.length} bytes`);
    pages.push(json.data.length);
    seen.push(...json.data.map((p) => p.id));
    assert.equal(json.meta.has_more, json.meta.next_cursor !== null);
    next = json.meta.has_more && `/api/admin/products?limit=100&cursor=${json.meta.next_cursor}`;
  }
  assert.equal(pages.length, 3, pages.join());
  assert.deepEqual(
    seen.sort((a, b) => a - b),
    made,
  );
});

test('an account may leave so many bytes unread, and others are served', async (t) => {
  const { souk, token, ticket } = await withLongTicket(t, 17, ['--unsent-max', '1500000']);
  const get = `GET /api/customer/tickets/${ticket} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  const stuck = await connect(souk.url);
  stuck.socket.pause();
  stuck.write(get.repeat(30)); // until no socket takes more
  let refused;
  for (let i = 0; i < 100 && refused?.status !== 503; i++) {
    await sleep(50 * SLOW);
    refused = await souk.get(`/api/customer/tickets/${ticket}`, { token });
  }
  expectError(refused, 503, 'overloaded');
  const other = await souk.customer();
  expectStatus(await souk.get('/api/customer/tickets', { token: other.token }), 200);
  expectStatus(await souk.get('/api/customer/tickets', { token }), 200);
  stuck.destroy();
  let status;
  for (let i = 0; i < 100 && status !== 200; i++) {
    await sleep(50);
    ({ status } = await souk.get(`/api/customer/tickets/${ticket}`, { token }));
  }
  assert.equal(status, 200, 'what is unread was given back');
});

test('an order has at most order_units_max units', async (t) => {
  const { souk, owner, product, customer, stop } = await openOffice();
  t.after(stop);
  const { id: first } = await product({ price: 0 });
  const { id: second } = await product({ price: 0 });
  const { token } = await customer();
  const add = (id, quantity) => souk.post('/api/store/cart/add', { product_id: id, quantity }, { token });
  expectStatus(await add(first, 600), 200);
  expectStatus(await add(second, 401), 200);
  expectError(await souk.post('/api/store/cart/checkout', { pay_with: 'wallet' }, { token }), 422, 'too_many_units');
  expectStatus(await souk.patch('/api/store/cart/items', { product_id: second, quantity: 400 }, { token }), 200);
  expectStatus(await souk.post('/api/store/cart/checkout', { pay_with: 'wallet' }, { token }), 201);

  expectStatus(await owner.patch('/api/admin/settings', { order_units_max: 5 }), 200);
  const order = (quantity) => souk.post('/api/v1/order/create', { product_id: first, quantity }, { token });
  let answer;
  for (let i = 0; i < 50 && answer?.status !== 422; i++) {
    await sleep(100);
    answer = await order(6);
  }
  expectError(answer, 422, 'too_many_units');
  expectStatus(await order(5), 200);
});
