// What goes wrong around a server: clients that hang up, a clock that is set, no more descriptors, a provider's certificate that
// has lapsed. Whatever is refused meanwhile is refused clearly, nothing is half done, and the server recovers by itself.
// release: pg
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { issue } from './lib/certificates.mjs';
import { LABELS, openPaidShop, signed, stripeEvent } from './lib/gateways.mjs';
import { dataOf, expectError } from './lib/http.mjs';
import { BUILD } from '../lib/build.mjs';
import { connect } from './lib/raw.mjs';
import { openReceiver } from './lib/receiver.mjs';
import { ENGINE, SLOW, freshStore, together } from './lib/souk.mjs';
import { tlsFront } from './lib/tls.mjs';
import { totp } from './lib/totp.mjs';

const HOUR = 3600;
const DAY = 24 * HOUR;
let shop, editor, manual, buyer, clockFile, authorities;
const good = issue('127.0.0.1');
const lapsed = issue('127.0.0.1', { days: 0 });

before(async () => {
  const database = freshStore(ENGINE, 'owner');
  clockFile = path.join(database.dir, 'clock');
  setClock(0);
  authorities = path.join(database.dir, 'authorities.pem');
  fs.writeFileSync(authorities, good.authority + lapsed.authority);
  const env = { FAULTY_CLOCK: clockFile };
  if (SLOW === 1) env.LD_PRELOAD = path.join(BUILD, 'tests/faults/faulty_clock.so');
  shop = await openPaidShop({ database, env, args: ['--ca-file', authorities, '--webhook-private-ok'] });
  editor = shop.seed.product({ name: 'Editor', price: 100, delivery_type: 'license_key' });
  manual = shop.seed.product({ name: 'Manual', price: 100, delivery_type: 'download_url' });
  buyer = await shop.buyer({ balance: 1_000_000 });
});
after(() => shop.stop());

/** Seconds by which the server's wall clock is ahead. */
function setClock(seconds) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(seconds) * 1_000_000_000n);
  if (!fs.existsSync(clockFile)) fs.writeFileSync(clockFile, bytes);
  const fd = fs.openSync(clockFile, 'r+');
  fs.writeSync(fd, bytes, 0, 8, 0); // in one piece, into the page that the server has mapped
  fs.closeSync(fd);
}

// ---- clients that hang up ----

function requestBytes(method, target, headers, body) {
  const lines = Object.entries({ Host: 'shop.example', 'Content-Length': Buffer.byteLength(body), ...headers });
  return Buffer.concat([
    Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n`),
    Buffer.from(body),
  ]);
}

const orderBytes = (key) =>
  requestBytes(
    'POST',
    '/api/v1/order/create',
    { Authorization: `Bearer ${buyer.token}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
    JSON.stringify({ product_id: editor.id, quantity: 1 }),
  );

const order = (key) =>
  shop.souk.post(
    '/api/v1/order/create',
    { product_id: editor.id, quantity: 1 },
    { token: buyer.token, headers: { 'Idempotency-Key': key } },
  );

/** Sends the first `n` bytes and hangs up: abruptly, or politely and only its own side. Gives the answer, if there is one. */
async function sendPart(bytes, n, polite) {
  const connection = await connect(shop.souk.url);
  connection.write(bytes.subarray(0, n));
  if (!polite) {
    await new Promise((resolve) => connection.socket.end(resolve)); // all of it has left
    connection.reset();
    return null;
  }
  connection.socket.end();
  const answer = await connection.answer({ timeout_ms: 20000 });
  await connection.waitClosed();
  connection.destroy();
  return answer;
}

test('a client that is gone before its last byte has asked for nothing, wherever it stopped', async () => {
  const before = shop.traces();
  const length = orderBytes('gone-1-000').length;
  await together(length * 2, 16, async (i) => {
    const n = i >> 1;
    const key = `gone-${i & 1}-${String(n).padStart(3, '0')}`;
    assert.equal(await sendPart(orderBytes(key), n, i & 1), null, `an answer to ${n} of ${length} bytes`);
  });
  assert.deepEqual(shop.traces(), before);
});

test('a client that is gone after its last byte finds what it asked for done once, or not done', async () => {
  const keys = Array.from({ length: 24 }, (_, i) => `whole-${i}`);
  const polite = new Map();
  await together(keys.length, 8, async (i) => {
    const bytes = orderBytes(keys[i]);
    const answer = await sendPart(bytes, bytes.length, i & 1);
    if (i & 1) polite.set(keys[i], answer.json.data.order_id);
  });
  for (const key of keys) {
    const again = dataOf(await order(key));
    if (polite.has(key)) assert.equal(again.order_id, polite.get(key));
  }
  assert.equal(
    shop.seed.number(`SELECT COUNT(*) FROM orders WHERE account_id = ${buyer.id}`),
    keys.length,
    'one order for each key',
  );
});

test('a checkout that breaks off anywhere leaves the cart as it was; the whole one is done once', async () => {
  const customer = await shop.buyerWith([[editor, 1]], { balance: 1000 });
  const bytes = requestBytes(
    'POST',
    '/api/store/cart/checkout',
    { Authorization: `Bearer ${customer.token}`, 'Content-Type': 'application/json', 'Idempotency-Key': 'checkout' },
    JSON.stringify({ pay_with: 'wallet' }),
  );
  const cart = async () => dataOf(await shop.souk.get('/api/store/cart', { token: customer.token })).items.length;
  const before = shop.traces();
  await together(bytes.length, 16, async (n) => assert.equal(await sendPart(bytes, n, n & 1), null));
  assert.deepEqual(shop.traces(), before);
  assert.equal(await cart(), 1);
  await sendPart(bytes, bytes.length, false);
  const again = () => sendPart(bytes, bytes.length, true);
  const [first, second] = [(await again()).json.data, (await again()).json.data];
  assert.equal(first.status, 'confirmed');
  assert.equal(second.order_id, first.order_id);
  assert.equal(await cart(), 0);
  assert.equal(shop.seed.number(`SELECT COUNT(*) FROM orders WHERE account_id = ${customer.id}`), 1);
});

test('a client that hangs up while it reads its answer changes nothing about it', async () => {
  const first = await sendPart(orderBytes('read-x'), 10000, true);
  const length = first.bytes;
  const ids = new Set();
  await together(16, 8, async (i) => {
    const connection = await connect(shop.souk.url);
    connection.write(orderBytes(`read-${i}`));
    const enough = Math.floor((i * length) / 16) + 1;
    assert.ok(await connection.wait(() => connection.received.length >= enough, 20000));
    connection.reset();
    const again = await order(`read-${i}`);
    assert.equal(again.headers['idempotent-replayed'], 'true', 'it was done before');
    ids.add(dataOf(again).order_id);
  });
  assert.equal(ids.size, 16);
});

test('an upload that breaks off anywhere leaves the file as it was, and nothing beside it', async () => {
  const target = `/api/admin/products/${manual.id}/file`;
  const headers = { Authorization: `Bearer ${shop.owner}`, 'Content-Type': 'application/octet-stream' };
  const body = 'x'.repeat(200_000);
  const bytes = requestBytes('PUT', target, headers, body);
  const folder = ENGINE === 'pg' ? path.join(shop.souk.dir, 'data/files') : path.join(shop.souk.dir, 'files');
  const listed = () => (fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true }).sort() : []);
  dataOf(
    await shop.souk.request('PUT', target, { token: shop.owner, body: 'the file', type: headers['Content-Type'] }),
  );
  const before = listed();
  const row = () => shop.seed.sql(`SELECT file_key FROM product WHERE id = ${manual.id};`);
  const was = row();
  const head = bytes.length - body.length;
  const cuts = [head - 1, head, head + 1, head + 65536, bytes.length - 1];
  for (let i = 0; i < 12; i++) cuts.push(head + Math.floor((i * body.length) / 12));
  await together(cuts.length * 2, 4, (i) => sendPart(bytes, cuts[i >> 1], i & 1));
  await shop.until(() => String(listed()) === String(before), `only ${before} in the folder`);
  assert.deepEqual(row(), was);
});

test('a message of a provider that breaks off anywhere is not there; the whole one is taken once', async () => {
  await shop.listen('stripe');
  const raw = JSON.stringify(stripeEvent('payment_intent.created', { intent: 'pi_gone', amount: 100 }));
  const headers = { 'Content-Type': 'application/json', ...signed('stripe', raw) };
  const bytes = requestBytes('POST', '/webhook/card_gateway_a', headers, raw);
  const events = () => shop.seed.number('SELECT COUNT(*) FROM webhook_event');
  const before = events();
  await together(bytes.length, 16, async (n) => assert.equal(await sendPart(bytes, n, true), null));
  assert.equal(events(), before);
  await sendPart(bytes, bytes.length, false);
  await shop.event('stripe', raw);
  await shop.event('stripe', raw);
  await shop.until(() => events() === before + 1, 'the message is there once');
});

// ---- a provider's certificate ----

test('a certificate that has lapsed: the provider cannot be called, nothing is taken for failed, and a new one is enough', async () => {
  const player = await shop.played('stripe');
  const front = await tlsFront(player.server.address().port, good);
  try {
    await shop.connect(LABELS.stripe, { base_url: front.url });
    const cart = () => shop.buyerWith([[editor, 1]]);
    const [first, second] = [await cart(), await cart()];
    const paid = await shop.checkout(first, LABELS.stripe);
    assert.ok(paid.payment.url, 'a good certificate');
    const intent = player.pay(paid.order_id);
    dataOf(
      await shop.event(
        'stripe',
        stripeEvent('payment_intent.succeeded', { order: paid.order_id, amount: 100, intent }),
      ),
    );

    front.use(lapsed);
    const waits = await shop.checkout(second, LABELS.stripe);
    assert.equal(waits.payment.url, null);
    dataOf(await shop.admin('POST', `/api/admin/orders/${paid.order_id}/refund`, {}));
    await shop.until(async () => {
      shop.hurry();
      const rows = dataOf(await shop.admin('GET', '/api/admin/outbox?status=waiting'));
      const told = rows.filter((row) => /certificate has expired/.test(row.last_error ?? ''));
      return told.length >= 2;
    }, 'staff can read why, for the payment and for the refund');
    assert.equal((await shop.order(second, waits.order_id)).status, 'pending');
    assert.equal((await shop.payment(second, waits.payment.reference)).status, 'open');
    assert.equal(shop.seed.number("SELECT COUNT(*) FROM outbox WHERE status = 'failed'"), 0);
    assert.equal(player.refunds.size, 0);

    front.use(good);
    await shop.until(
      async () => {
        shop.hurry();
        return (await shop.payment(second, waits.payment.reference)).url && player.refunds.size === 1;
      },
      'both are done, without a restart',
      90_000,
    );
    assert.equal(shop.seed.number("SELECT COUNT(*) FROM outbox WHERE status = 'failed'"), 0);
  } finally {
    await front.stop();
  }
});

// ---- a clock that is set ----

test(
  'a clock that is set back an hour and forward a day: nobody waits, nothing happens twice',
  { skip: SLOW > 1 },
  async (t) => {
    t.after(() => setClock(0));
    await shop.listen('stripe');
    const player = await shop.played('stripe');
    const raw = JSON.stringify(stripeEvent('payment_intent.created', { intent: 'pi_clock', amount: 100 }));
    const first = dataOf(await order('clock-0'));
    const login = () => shop.souk.post('/api/auth/login', { email: buyer.email, password: buyer.password });
    const steps = [-HOUR, 0, DAY, DAY - 2 * HOUR, 0, -DAY, 0];
    for (const [i, seconds] of steps.entries()) {
      setClock(seconds);
      player.forward((seconds - (steps[i - 1] ?? 0)) * 1000); // the provider's is set, too: it refuses pages that would end in its past
      const at = `${i}: the clock is ${seconds} s ahead`;
      const seen = Date.parse((await shop.souk.get('/livez')).headers.date) / 1000 - Date.now() / 1000;
      assert.ok(Math.abs(seen - seconds) < 60, `${at}, and the server has noticed: ${seen}`);
      assert.equal((await shop.souk.get('/readyz')).status, 200, at);
      assert.equal(dataOf(await order('clock-0')).order_id, first.order_id, `${at}: a key is remembered`);
      const now = dataOf(await order(`clock-${i + 1}`));
      assert.equal(dataOf(await order(`clock-${i + 1}`)).order_id, now.order_id, at);
      if (buyer.password) dataOf(await login());
      // What is queued now is carried out now.
      const customer = await shop.buyerWith([[editor, 1]]);
      player.fail({ status: 500, match: /sessions$/ });
      const bought = await shop.checkout(customer, LABELS.stripe);
      await shop.until(async () => {
        shop.hurry('create');
        return (await shop.payment(customer, bought.payment.reference)).url;
      }, `${at}: the payment's page is made`);
      const intent = player.pay(bought.order_id);
      const event = stripeEvent('payment_intent.succeeded', { order: bought.order_id, amount: 100, intent });
      const timestamp = Math.floor(Date.now() / 1000) + seconds;
      dataOf(await shop.event('stripe', event, { timestamp }));
      assert.equal((await shop.order(customer, bought.order_id)).status, 'confirmed', at);
      // A message that was signed in due time, by a provider whose clock is right: refused while ours is wrong, and taken later.
      const answer = await shop.event('stripe', raw);
      assert.equal(answer.status, Math.abs(seconds) > 300 ? 400 : 200, `${at}: ${answer.text}`);
      const text = (await shop.souk.get('/metrics')).text;
      assert.equal(text.match(/^souk_.* -.*$/m), null, `${at}: nothing is less than nothing`);
    }
    assert.equal(shop.seed.number("SELECT COUNT(*) FROM outbox WHERE status = 'failed'"), 0);
    await shop.check();
  },
);

test(
  'a clock that was two hours ahead and is put right: nothing waits for them, and nobody is kept out or let in by them',
  { skip: SLOW > 1 },
  async (t) => {
    const AHEAD = 2 * HOUR;
    const PASSWORD = 'correct horse battery';
    const receiver = await openReceiver();
    const player = await shop.played('stripe');
    t.after(async () => {
      setClock(0);
      await receiver.stop();
    });
    const set = (seconds, was) => {
      setClock(seconds);
      player.forward((seconds - was) * 1000);
    };
    const staff = (role) =>
      shop.admin('POST', '/api/admin/staff', { email: `${role}@clock.example`, role, password: PASSWORD });
    const login = (role, more) =>
      shop.souk.post('/api/auth/login', { email: `${role}@clock.example`, password: PASSWORD, ...more });
    for (const role of ['staff', 'owner']) dataOf(await staff(role), 201);
    const first = dataOf(await login('staff')).token;
    const { secret } = dataOf(await shop.souk.post('/api/admin/me/totp', undefined, { token: first }));
    const codes = shop.seed.product({ name: 'Codes', price: 100, delivery_type: 'serial_code' });
    shop.seed.serials(
      codes,
      Array.from({ length: 100 }, (_, i) => `CLOCK-${i}`),
    );
    const once = shop.seed.product({ name: 'Once', price: 100, delivery_type: 'download_url', download_limit: 1 });
    const file = { token: shop.owner, body: 'the file', type: 'application/octet-stream' };
    dataOf(await shop.souk.request('PUT', `/api/admin/products/${once.id}/file`, file));
    dataOf(await shop.admin('PATCH', '/api/admin/settings', { reserve_minutes: 30, reserve_codes_max: 3 }));
    const payer = await shop.buyerWith([[editor, 1]]);
    await shop.listen('stripe', player.config);
    const paid = await shop.checkout(payer, LABELS.stripe);
    const event = { order: paid.order_id, amount: 100, intent: player.pay(paid.order_id) };
    dataOf(await shop.event('stripe', stripeEvent('payment_intent.succeeded', event)));

    set(AHEAD, 0);
    const code = (seconds) => totp(secret, Date.now() + seconds * 1000);
    const confirm = { code: code(AHEAD) };
    dataOf(await shop.souk.post('/api/admin/me/totp/confirm', confirm, { token: dataOf(await login('staff')).token }));
    const ahead = dataOf(await login('owner')).token;
    receiver.behave('/clock', () => 500);
    player.fail({ status: 500, match: /refunds/, times: 1000 });
    dataOf(await shop.admin('POST', `/api/admin/orders/${paid.order_id}/refund`, {}));
    const endpoint = { url: receiver.url('/clock'), events: ['order.confirmed'] };
    const { id } = dataOf(await shop.admin('POST', '/api/admin/webhook-endpoints', endpoint), 201);
    dataOf(await shop.admin('POST', `/api/admin/webhook-endpoints/${id}/test`));
    const kept = await shop.until(async () => {
      const customer = await shop.buyerWith([[codes, 1]]);
      const { order_id } = await shop.checkout(customer, LABELS.stripe);
      const seen = () => shop.order(customer, order_id);
      return (await seen()).reserved_until && seen;
    }, 'a code is kept: the server knows the setting');
    const body = { product_id: once.id, quantity: 1 };
    const { delivery } = dataOf(await shop.souk.post('/api/v1/order/create', body, { token: buyer.token }));
    const link = new URL(delivery.value).pathname;
    assert.equal((await shop.souk.get(link)).status, 200);
    await shop.until(
      () => shop.seed.number("SELECT COUNT(*) FROM webhook_delivery WHERE tries > 0 AND status = 'pending'"),
      'an event was refused',
    );

    set(0, AHEAD);
    receiver.behave('/clock', () => 200);
    player.release();
    const refused = receiver.got('/clock').length;
    await shop.until(() => receiver.got('/clock').length > refused, 'the event is sent again', 60_000);
    await shop.until(() => player.refunds.size === 1, 'the refund is made', 60_000);
    const until = Date.parse((await kept()).reserved_until);
    assert.ok(until <= Date.now() + 31 * 60_000, `the code is kept until ${new Date(until).toISOString()}`);
    expectError(await shop.souk.get(link, { headers: { Range: 'bytes=5-' } }), 410, 'download_used_up');
    expectError(await shop.souk.get('/api/admin/orders', { token: ahead }), 401, 'token_expired');
    const now = { totp: code(0) };
    dataOf(await login('staff', now));
    expectError(await login('staff', now), 401, 'credentials_invalid');

    set(HOUR / 2, 0);
    const recent = dataOf(await login('owner')).token;
    set(0, HOUR / 2);
    assert.equal((await shop.souk.get('/api/admin/orders', { token: recent })).status, 200);
    const change = { body: { reserve_minutes: 0 }, token: recent };
    expectError(await shop.souk.request('PATCH', '/api/admin/settings', change), 403, 'confirmation_required');
    dataOf(await shop.admin('PATCH', '/api/admin/settings', { reserve_minutes: 0 }));
    assert.equal(shop.seed.number("SELECT COUNT(*) FROM outbox WHERE status = 'failed'"), 0);
    await shop.check();
  },
);

// ---- no more descriptors ----

const limitFiles = (soft) => execFileSync('prlimit', ['--pid', String(shop.souk.child.pid), `--nofile=${soft}:`]);
const openFiles = () => fs.readdirSync(`/proc/${shop.souk.child.pid}/fd`).length;
const hasOpen = (fd) => fs.existsSync(`/proc/${shop.souk.child.pid}/fd/${fd}`);
/** Descriptors that a server opens at its start and keeps: 0 and so on. */
const LASTING = 8;
const cpuTicks = () => {
  const fields = fs.readFileSync(`/proc/${shop.souk.child.pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return Number(fields[11]) + Number(fields[12]);
};

test('without a descriptor left nobody new is let in, those inside are served, and calls out fail clearly', async (t) => {
  const player = await shop.played('stripe');
  const customers = [await shop.buyerWith([[editor, 1]]), await shop.buyerWith([[editor, 1]])];
  const inside = await connect(shop.souk.url);
  const ask = async () => {
    inside.write(`GET /api/store/products HTTP/1.1\r\nHost: shop.example\r\n\r\n`);
    return (await inside.answer()).status;
  };
  assert.equal(await ask(), 200);
  const soft = execFileSync(
    'prlimit',
    ['--pid', String(shop.souk.child.pid), '--nofile', '-o', 'SOFT', '--noheadings'],
    { encoding: 'utf8' },
  ).trim();
  t.after(() => limitFiles(soft));
  const waiting = [];
  const limit = 1 + Math.max(...fs.readdirSync(`/proc/${shop.souk.child.pid}/fd`).map(Number));
  limitFiles(limit);
  for (let left = limit - openFiles() + 20; left > 0; left--) waiting.push(await connect(shop.souk.url));
  for (const connection of waiting) connection.write('GET /livez HTTP/1.1\r\nHost: shop.example\r\n\r\n');
  await shop.until(() => /http_accept_paused/.test(shop.souk.stderr), 'the log says that nobody is let in');
  await shop.until(() => openFiles() >= limit, 'every descriptor is taken');
  // A descriptor that is given back meanwhile would do for a call: from here on only those may be given out that are never given back.
  assert.deepEqual(
    [...Array(LASTING).keys()].filter((fd) => !hasOpen(fd)),
    [],
  );
  limitFiles(LASTING);
  const ticks = cpuTicks();
  await sleep(500);
  assert.ok(cpuTicks() - ticks < 25, `it waits without working: ${cpuTicks() - ticks} ticks in half a second`);
  assert.equal(await ask(), 200, 'somebody inside');
  const bought = await shop.checkout(customers[0], LABELS.stripe);
  assert.equal(bought.payment.url, null, 'the provider cannot be called');
  const upload = await shop.souk.request('PUT', `/api/admin/products/${manual.id}/file`, {
    token: shop.owner,
    body: 'another file',
    type: 'application/octet-stream',
  });
  assert.ok([200, 503].includes(upload.status), `a clear answer: ${upload.status} ${upload.text}`);

  limitFiles(soft);
  for (const connection of waiting) assert.equal((await connection.answer({ timeout_ms: 20000 }))?.status, 200);
  for (const connection of [...waiting, inside]) connection.destroy();
  await shop.until(
    async () => {
      shop.hurry('create');
      return (await shop.payment(customers[0], bought.payment.reference)).url;
    },
    'the provider is called',
    90_000,
  );
  assert.ok((await shop.checkout(customers[1], LABELS.stripe)).payment.url);
  assert.equal(player.to('POST', /sessions$/).length, 2);
  await shop.check();
});
