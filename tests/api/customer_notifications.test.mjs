// What customers are told: fields, order, pages, and never another customer's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { execute } from '../lib/sql.mjs';
import { startStore } from '../lib/store.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';

const LIST = '/api/customer/notifications';
const AT = Date.UTC(2026, 10, 15, 1, 23, 45);

let store, souk;
before(async () => {
  store = await startStore({ customers: { ada: null, bob: null, none: null } });
  souk = store.souk;
  const rows = [
    `(${store.bob.id}, 'withdrawal_approved', 'Your withdrawal request #7 was approved.', 7, ${AT})`,
    `(${store.bob.id}, 'news', 'Nothing in particular <b>', 0, ${AT + 1000})`,
  ];
  for (let i = 0; i < 45; i++) rows.push(`(${store.ada.id}, 'ticket_answered', 'No ${i}', ${i + 1}, ${AT + i})`);
  execute(
    store.database.dbArg,
    `INSERT INTO notification (account_id, kind, message, reference_id, created_at) VALUES ${rows.join()}`,
  );
});
after(() => store?.stop());

test('a customer who was told nothing has an empty list', async () => {
  const answer = await souk.get(LIST, { token: store.none.token });
  assert.deepEqual(dataOf(answer), []);
  assert.deepEqual(answer.json.meta, { has_more: false, next_cursor: null });
});

test('a notification has id, kind, message, reference_id, is_read and created_at; the newest is first', async () => {
  const [news, approved, ...others] = dataOf(await souk.get(LIST, { token: store.bob.token }));
  assert.deepEqual(others, []);
  assert.deepEqual(
    { ...approved, id: 0 },
    {
      id: 0,
      kind: 'withdrawal_approved',
      message: 'Your withdrawal request #7 was approved.',
      reference_id: 7,
      is_read: false,
      created_at: '2026-11-15T01:23:45Z',
    },
  );
  assert.equal(news.reference_id, null);
  assert.equal(news.message, 'Nothing in particular <b>');
});

test('pages follow the cursor to the end, each notification once', async () => {
  const seen = [];
  for (let cursor = ''; cursor !== null;) {
    const page = await souk.get(`${LIST}?limit=20${cursor}`, { token: store.ada.token });
    seen.push(...dataOf(page).map((n) => n.message));
    cursor = page.json.meta.has_more ? `&cursor=${page.json.meta.next_cursor}` : null;
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 45 }, (_, i) => `No ${44 - i}`),
  );
  assert.equal(dataOf(await souk.get(LIST, { token: store.ada.token })).length, 20, 'the default page');
});

test('a bad limit or cursor is named', async () => {
  expectFields(await souk.get(`${LIST}?limit=101`, { token: store.ada.token }), { limit: 'out_of_range' });
  expectFields(await souk.get(`${LIST}?cursor=x`, { token: store.ada.token }), { cursor: 'bad_cursor' });
});

test('the list needs a token', async () => {
  expectError(await souk.get(LIST), 401, 'token_missing');
});

test('what was seen is marked as read, and nobody else’s', async () => {
  const all = async (who) => dataOf(await souk.get(`${LIST}?limit=100`, { token: who.token }));
  const [, second] = await all(store.ada);
  const mark = (who, up_to) => souk.post(`${LIST}/read`, { up_to }, { token: who.token });
  expectFields(await mark(store.ada, 0), { up_to: 'not_positive' });
  assert.equal(dataOf(await mark(store.bob, Number.MAX_SAFE_INTEGER)).marked, 2);
  assert.equal(dataOf(await mark(store.ada, second.id)).marked, 44);
  assert.equal(dataOf(await mark(store.ada, second.id)).marked, 0);
  assert.deepEqual(
    (await all(store.ada)).filter((n) => !n.is_read).map((n) => n.message),
    ['No 44'],
  );
});
