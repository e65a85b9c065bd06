// The outbox as staff see it: what waits, what failed and why, retrying and deleting; and a test message for the mail
// server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openPaidShop } from './lib/gateways.mjs';
import { dataOf, expectError, expectFields } from './lib/http.mjs';
import { openMailShop } from './lib/mail_shop.mjs';

let shop, sink, mailTo, stop, tool;

before(async () => {
  ({ shop, sink, mailTo, stop } = await openMailShop());
  tool = shop.seed.product({ name: 'Tool', price: 100 });
});
after(() => stop());

const outbox = async (query = '') => dataOf(await shop.admin('GET', `/api/admin/outbox?limit=100${query}`));
const metric = async (name) =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec((await shop.souk.get('/metrics')).text)[1]);

/** Queues a mail, that of an order, for a new customer (who has had one to prove their address). The mail server answers it with `refuse`. */
async function mail(refuse = 0) {
  sink.refuse = 0;
  const buyer = await shop.buyerWith([[tool, 1]], { balance: 10000 });
  await mailTo(buyer.email, 1, { proof: true });
  sink.refuse = refuse;
  const { order_id } = await shop.checkout(buyer, 'wallet');
  return { ...buyer, subject: `Your order #${order_id}` };
}

test('a message that the mail server refuses is seen, is counted, and goes out when it is tried again', async () => {
  const before = await metric('souk_mail_failures_total');
  const buyer = await mail(550);
  const failed = await shop.until(
    async () => (await outbox('&status=failed&kind=mail')).find((o) => o.what.startsWith(buyer.email)),
    'it failed',
  );
  assert.equal(failed.what, `${buyer.email}: ${buyer.subject}`);
  assert.deepEqual([failed.kind, failed.status, failed.tries, failed.next_try_at], ['mail', 'failed', 1, null]);
  assert.equal(failed.last_error, '550 refused');
  assert.equal(await metric('souk_mail_failures_total'), before + 1);
  assert.ok((await metric('souk_outbox_given_up_total')) >= 1);
  assert.match(shop.souk.stderr, /event="mail_failed"/);
  sink.refuse = 0;
  const again = dataOf(await shop.admin('POST', `/api/admin/outbox/${failed.id}/retry`));
  assert.equal(again.status, 'waiting');
  assert.equal((await mailTo(buyer.email)).headers.subject, buyer.subject);
  await shop.until(async () => (await outbox()).every((o) => o.id !== failed.id), 'what is done is not listed');
  expectError(await shop.admin('POST', `/api/admin/outbox/${failed.id}/retry`), 404, 'not_found');
  expectError(await shop.admin('DELETE', `/api/admin/outbox/${failed.id}`), 404, 'not_found');
});

test('one that waits says when and why, can be hurried, and can be forgotten', async () => {
  const held = async () => {
    const buyer = await mail(451);
    const row = await shop.until(
      async () => (await outbox('&status=waiting')).find((o) => o.last_error && o.what.startsWith(buyer.email)),
      'it was tried',
    );
    assert.ok(Date.parse(row.next_try_at) > 0);
    shop.seed.sql(`UPDATE outbox SET due_at = due_at + 86400000 WHERE id = ${row.id};`);
    return [buyer, row];
  };
  const [one, first] = await held();
  const [two, away] = await held();
  dataOf(await shop.admin('DELETE', `/api/admin/outbox/${away.id}`));
  sink.refuse = 0;
  dataOf(await shop.admin('POST', `/api/admin/outbox/${first.id}/retry`));
  await mailTo(one.email);
  assert.equal(sink.mails.filter((m) => m.to === two.email).length, 1, 'the one that proves the address');
  const actions = dataOf(await shop.admin('GET', '/api/admin/audit?limit=100')).map((a) => a.action);
  for (const action of ['outbox.retry', 'outbox.delete']) assert.ok(actions.includes(action), action);
});

test('a row that cannot be opened is set aside and shown, and stops nobody else', async () => {
  sink.refuse = 0;
  shop.seed.sql(
    `INSERT INTO outbox (kind, payload, due_at, created_at) VALUES ('mail', ${shop.database.engine === 'pg' ? "'\\x00ff'" : "x'00ff'"}, 1, 1);`,
  );
  const buyer = await mail();
  await mailTo(buyer.email);
  const [row] = await outbox('&status=failed&kind=mail');
  assert.match(row.last_error, /cannot be opened/);
  assert.equal(row.what, 'a message that cannot be read');
  dataOf(await shop.admin('DELETE', `/api/admin/outbox/${row.id}`));
});

test('a row that is begun again and again and never ends is set aside', async () => {
  shop.seed.sql("INSERT INTO outbox (kind, due_at, created_at, attempts, claims) VALUES ('sandbox', 1, 1, 5, 5);");
  const row = await shop.until(async () => (await outbox('&status=failed&kind=gateway'))[0], 'set aside');
  assert.match(row.last_error, /never finished/);
  assert.equal(row.what, 'a webhook of the sandbox');
});

test('calls to gateways are shown with what they are about; money that waits cannot be forgotten', async () => {
  const player = await shop.played('stripe');
  const editor = shop.seed.product({ name: 'Editor', price: 4999 });
  player.fail({ status: 500, times: 1000 });
  const buyer = await shop.buyerWith([[editor, 1]]);
  const bought = await shop.checkout(buyer, 'card_gateway_a');
  const row = (await outbox('&kind=gateway&status=waiting')).find((o) => o.order_id === bought.order_id);
  assert.match(row.what, /^make payment #\d+ at card_gateway_a$/);
  shop.seed.sql(`UPDATE outbox SET due_at = due_at + 86400000, claims = 0 WHERE id = ${row.id};`);
  expectError(await shop.admin('DELETE', `/api/admin/outbox/${row.id}`), 409, 'invalid_state');
  player.release();
  dataOf(await shop.admin('POST', `/api/admin/outbox/${row.id}/retry`));
  await shop.until(async () => (await shop.payment(buyer, bought.payment.reference)).url, 'the page is made');
  assert.deepEqual(await outbox('&kind=event'), []);
  expectFields(await shop.admin('GET', '/api/admin/outbox?kind=pigeon&status=done'), {
    kind: 'not_allowed',
    status: 'not_allowed',
  });
});

test('a test mail says what the mail server said', async () => {
  sink.refuse = 0;
  assert.deepEqual(dataOf(await shop.admin('POST', '/api/admin/mail/test', { to: 'me@example.com' })), {
    to: 'me@example.com',
    sent: true,
    error: null,
  });
  assert.match((await mailTo('me@example.com')).text, /mail server works/);
  sink.refuse = 550;
  const refused = dataOf(await shop.admin('POST', '/api/admin/mail/test', { to: 'me@example.com' }));
  assert.equal(refused.sent, false);
  assert.equal(refused.error, '550 refused');
  sink.refuse = 0;
  expectFields(await shop.admin('POST', '/api/admin/mail/test', { to: 'nobody' }), { to: 'bad_format' });
});

test('without a mail server the test says so', async () => {
  const bare = await openPaidShop();
  try {
    const answer = dataOf(await bare.admin('POST', '/api/admin/mail/test', { to: 'me@example.com' }));
    assert.equal(answer.sent, false);
    assert.match(answer.error, /--smtp-url/);
  } finally {
    await bare.stop();
  }
});
