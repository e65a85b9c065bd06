// souk doctor: each thing that can be wrong is found, in words that say what to do; nothing is changed and no secret is shown.
// spares: tsan
// release: pg
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { execute } from '../lib/sql.mjs';
import { issue } from './lib/certificates.mjs';
import { openPaidShop } from './lib/gateways.mjs';
import { dataOf } from './lib/http.mjs';
import { openSink } from './lib/smtp.mjs';
import { ENGINE, SLOW, freshDatabase, runSouk } from './lib/souk.mjs';
import { tlsFront } from './lib/tls.mjs';
import { BUILD } from '../lib/build.mjs';

const LEVELS = ['ok', 'look', 'broken'];
const IS_FILE = ENGINE === 'sqlite';
const made = issue('127.0.0.1');
let shop, sink, authority;

before(async () => {
  shop = await openPaidShop();
  sink = await openSink({ ...made, login: { user: 'shop', password: 'mail-password' } });
  authority = path.join(shop.database.dir, 'authority.pem');
  fs.writeFileSync(authority, made.authority);
});
after(async () => {
  await shop.stop();
  await sink.stop();
});

/** Runs it beside the server; gives {code, worst, findings, of(subject)}. */
async function doctor(args = [], env = {}, database = shop.database) {
  const run = await runSouk(['doctor', '--json', '--db', database.dbArg, ...args], {
    cwd: database.dir,
    env: { ...database.env, ...env },
  });
  for (const secret of ['mail-password', 'sk_test_', 'whsec_', 'rzp_secret', database.env.SOUK_KEY])
    if (secret) assert.ok(!(run.stdout + run.stderr).includes(secret), 'a secret is shown');
  const { worst, findings } = JSON.parse(run.stdout);
  assert.equal(run.code, LEVELS.indexOf(worst), run.stderr);
  assert.equal(worst, LEVELS[Math.max(...findings.map((f) => LEVELS.indexOf(f.level)))]);
  for (const f of findings) {
    assert.ok(f.what.length > 5 && !f.what.endsWith('.'), f.what);
    if (f.level !== 'ok') assert.ok(f.action?.length > 10, `what to do about: ${f.what}`);
  }
  return { code: run.code, worst, findings, of: (subject) => findings.filter((f) => f.subject === subject) };
}
const find = (found, subject, level, words) => {
  const list = found.of(subject);
  assert.ok(
    list.some((f) => f.level === level && words.test(f.what)),
    `${level} ${subject} ${words}:\n${JSON.stringify(found.findings, null, 1)}`,
  );
};

test('a sound store: every subject is looked at; text and JSON say the same', async () => {
  const mail = [
    '--smtp-url',
    `smtp://127.0.0.1:${sink.port}`,
    '--ca-file',
    authority,
    '--mail-from',
    'shop@shop.example',
    '--smtp-user',
    'shop',
  ];
  const args = ['--base-url', shop.souk.url, ...mail];
  const env = { SOUK_SMTP_PASSWORD: 'mail-password' };
  await shop.played('stripe');
  const found = await doctor(args, env);
  assert.deepEqual([...new Set(found.findings.map((f) => f.subject))].sort(), [
    'address',
    'backup',
    'clock',
    'database',
    'disk',
    'gateways',
    'key',
    'mail',
    'permissions',
    'schema',
  ]);
  find(found, 'database', 'ok', IS_FILE ? /SQLite/ : /PostgreSQL/);
  find(found, 'schema', 'ok', /version \d+/);
  find(found, 'key', 'ok', /fits/);
  find(found, 'mail', 'ok', /takes our login/);
  find(found, 'gateways', 'ok', /card_gateway_a answers and takes our key/);
  find(found, 'address', 'look', /leads here, unencrypted/);
  assert.equal(sink.mails.length, 0, 'nothing was sent');
  const text = await runSouk(['doctor', '--db', shop.database.dbArg, ...args], {
    cwd: shop.database.dir,
    env: { ...shop.database.env, ...env },
  });
  assert.equal(text.code, found.code);
  assert.equal(text.stdout.trimEnd().split('\n').length, found.findings.length);
  for (const f of found.findings)
    assert.ok(text.stdout.includes(`${f.level.padEnd(6)}  ${f.subject}: `), `${f.subject}\n${text.stdout}`);
});

test('mail: none, no answer, a wrong password', async () => {
  find(await doctor(), 'mail', 'look', /there is no mail server/);
  const from = ['--mail-from', 'shop@shop.example', '--ca-file', authority];
  const gone = await doctor(['--smtp-url', 'smtp://127.0.0.1:1', ...from]);
  find(gone, 'mail', 'broken', /does not let us in/);
  assert.equal(gone.code, 2);
  const wrong = ['--smtp-url', `smtp://127.0.0.1:${sink.port}`, '--smtp-user', 'shop', ...from];
  find(await doctor(wrong, { SOUK_SMTP_PASSWORD: 'another' }), 'mail', 'broken', /does not let us in/);
  find(await doctor(['--smtp-url', 'mail.example', ...from]), 'mail', 'broken', /not an address/);
  const untrusted = ['--smtp-url', `smtp://127.0.0.1:${sink.port}`, '--mail-from', 'shop@shop.example'];
  find(await doctor(untrusted), 'mail', 'broken', /does not let us in/);
  const open = await openSink();
  const plain = ['--smtp-url', `smtp://127.0.0.1:${open.port}`, '--smtp-plain', '--mail-from', 'shop@shop.example'];
  find(await doctor(plain), 'mail', 'ok', /^the mail server answers$/);
  await open.stop();
});

test('gateways: none, the sandbox, no key, a key that is refused, no answer', async () => {
  const player = await shop.played('stripe');
  player.fail({ status: 401, match: /^GET \/v1\/charges/, times: 9 });
  find(await doctor(), 'gateways', 'broken', /card_gateway_a refuses our key/);
  player.release();
  player.fail({ status: 403, match: /^GET \/v1\/charges/ });
  find(await doctor(), 'gateways', 'broken', /card_gateway_a refuses our key/);
  dataOf(await shop.admin('PUT', '/api/admin/gateways/card_gateway_a', { mode: 'live' }));
  find(await doctor(), 'gateways', 'ok', /^card_gateway_a answers and takes our key$/);
  await player.stop();
  find(await doctor(), 'gateways', 'broken', /card_gateway_a does not answer/);
  await shop.connect('card_gateway_a', { provider: 'stripe', api_key: null });
  await shop.connect('sandbox', {});
  const found = await doctor();
  find(found, 'gateways', 'look', /card_gateway_a has no API key/);
  find(found, 'gateways', 'look', /sandbox is on/);
  for (const label of ['card_gateway_a', 'sandbox'])
    dataOf(await shop.admin('PUT', `/api/admin/gateways/${label}`, { is_enabled: false }));
  find(await doctor(), 'gateways', 'look', /none is switched on/);
});

test('the address: none, wrong, somebody else, nobody, encrypted', async () => {
  find(await doctor(), 'address', 'look', /no public address/);
  find(await doctor(['--base-url', 'shop.example']), 'address', 'broken', /not an address/);
  find(await doctor(['--base-url', 'http://127.0.0.1:1']), 'address', 'broken', /does not answer/);
  const answers = [
    [200, '{"success":true,"data":{"instance":"00"}}'],
    [200, '<!doctype html>'],
    [404, '{}'],
  ];
  let [status, body] = [];
  const other = http.createServer((_, answer) => answer.writeHead(status).end(body));
  await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve));
  try {
    const at = ['--base-url', `http://127.0.0.1:${other.address().port}`];
    for ([status, body] of answers)
      find(
        await doctor(at),
        'address',
        'broken',
        new RegExp(`something else than this store \\(it answered ${status}\\)`),
      );
    const keyless = await doctor(at, { SOUK_KEY: '7'.repeat(64) });
    find(keyless, 'key', 'broken', /not the one/);
    assert.deepEqual(keyless.of('address'), [], 'without the key nobody can tell');
  } finally {
    other.close();
    other.closeAllConnections();
  }
  const front = await tlsFront(shop.souk.port, made);
  try {
    find(await doctor(['--base-url', front.url, '--ca-file', authority]), 'address', 'ok', /leads here$/);
  } finally {
    await front.stop();
  }
});

test('the database: missing, empty, out of reach, of a newer program, with another key', async () => {
  const nowhere = freshDatabase();
  try {
    const found = await doctor([], {}, nowhere);
    find(found, IS_FILE ? 'database' : 'schema', 'broken', IS_FILE ? /./ : /empty/);
    if (IS_FILE) assert.deepEqual(fs.readdirSync(nowhere.dir), [], 'looking makes nothing');
  } finally {
    nowhere.remove();
  }
  const away = { ...shop.database, dbArg: 'postgresql://127.0.0.1:1/none' };
  const unreachable = await doctor(['--key-file', '/'.repeat(5000)], { SOUK_KEY: '' }, away);
  find(unreachable, 'database', 'broken', /refused[^\n]*[^?. ]$/);
  find(unreachable, 'key', 'broken', /path is too long/);
  for (const HOME of ['', undefined]) {
    const homeless = await doctor([], { SOUK_DATA: '', HOME }, away);
    if (!fs.existsSync('/var/lib/souk')) find(homeless, 'permissions', 'broken', /\/var\/lib\/souk/);
  }
  const wrong = await doctor([], { SOUK_KEY: '7'.repeat(64) });
  find(wrong, 'key', 'broken', /not the one that this database was made with/);
  find(await doctor([], { SOUK_KEY: 'not-hex' }), 'key', 'broken', /64 hex digits/);
  shop.seed.sql(
    "INSERT INTO schema_migration (version, name, hash, applied_at) SELECT 999, 'later', hash, 1 FROM schema_migration LIMIT 1;",
  );
  find(await doctor(), 'schema', 'broken', /schema 999, this program needs \d+/);
  shop.seed.sql('DELETE FROM schema_migration WHERE version = 999;');
});

test('backups: none, old, not proven, good', async () => {
  const DAY = 86400_000;
  const have = (made, verified) =>
    shop.seed.sql(
      `DELETE FROM backup; INSERT INTO backup (name, bytes, row_count, made_at, verified_at) VALUES ('b', 1, 1, ${Date.now() - made * DAY - 1000}, ${verified ? Date.now() : 'NULL'});`,
    );
  find(await doctor(), 'backup', 'look', /none yet/);
  have(3, true);
  find(await doctor(), 'backup', 'look', /3 days old/);
  have(9, true);
  find(await doctor(), 'backup', 'broken', /9 days old/);
  have(1, false);
  find(await doctor(), 'backup', 'look', /proven/);
  have(1, true);
  find(await doctor(), 'backup', 'ok', /newest is 1 days old/);
  await shop.until(
    async () =>
      (await shop.souk.metrics()).get('souk_backup_verified_timestamp_seconds') > Date.now() / 1000 - 2 * 86400,
    'the figures say so',
  );
});

test('what cannot be read is told', async () => {
  for (const [table, subject] of [
    ['backup', 'backup'],
    ['transfer', 'clock'],
  ]) {
    execute(shop.database.dbArg, `ALTER TABLE ${table} RENAME TO ${table}_away`);
    try {
      find(await doctor(), subject, 'broken', /^doctor could not look: /);
    } finally {
      execute(shop.database.dbArg, `ALTER TABLE ${table}_away RENAME TO ${table}`);
    }
  }
});

test('the clock: kept right, by nobody, nobody knows, long past, and another than the database server has', async (t) => {
  if (SLOW > 1)
    return t.skip('the clock is a library in front of all others, where a sanitizer has to be: in the release build');
  const file = path.join(shop.database.dir, 'clock');
  const env = { FAULTY_CLOCK: file, LD_PRELOAD: path.join(BUILD, 'tests/faults/faulty_clock.so') };
  const at = (seconds, kept) => {
    const bytes = Buffer.alloc(16);
    bytes.writeBigInt64LE(BigInt(seconds) * 1_000_000_000n);
    bytes.writeBigInt64LE(BigInt(kept), 8);
    fs.writeFileSync(file, bytes);
    return doctor([], env);
  };
  find(await at(0, 1), 'clock', 'ok', /^it is synchronised$/);
  find(await at(0, 2), 'clock', 'look', /^nothing keeps it right$/);
  find(await at(0, 3), 'clock', 'look', /^the system does not say/);
  for (const seconds of [-20 * 365 * 86400, 3600]) {
    const found = await at(seconds, 1);
    if (seconds < 0) find(found, 'clock', 'broken', /^it says 20\d\d-.* in the past$/);
    const apart = new RegExp(`${Math.abs(seconds)} s apart|${Math.abs(seconds) - 1} s apart`);
    if (!IS_FILE) find(found, 'clock', 'look', apart);
  }
});

test('the clock went back', async () => {
  const buyer = await shop.buyer({ balance: 100 });
  assert.ok(buyer);
  const { dbArg } = shop.database;
  const [[at]] = shop.seed.sql('SELECT MAX(created_at) FROM transfer;');
  execute(dbArg, `UPDATE transfer SET created_at = ${Date.now() + 3600_000} WHERE created_at = ${at}`);
  find(await doctor(), 'clock', 'broken', /from the future/);
  execute(dbArg, `UPDATE transfer SET created_at = ${at} WHERE created_at > ${Date.now()}`);
});

test('files that others can get at, and a folder that is not there', async () => {
  const data = shop.database.env.SOUK_DATA ?? `${shop.database.dbArg}.d`;
  const { mode } = fs.statSync(data);
  fs.chmodSync(data, 0o755);
  find(await doctor(), 'permissions', 'look', /data folder .* \(mode 755\)/);
  fs.chmodSync(data, mode);
  find(await doctor(['--data', '/nowhere/at/all']), 'permissions', 'broken', /cannot be looked at/);
  if (!IS_FILE) return;
  const { mode: was } = fs.statSync(shop.database.dbArg);
  fs.chmodSync(shop.database.dbArg, 0o604);
  find(await doctor(), 'permissions', 'look', /database .* \(mode 604\)/);
  fs.chmodSync(shop.database.dbArg, was & 0o770);
  find(await doctor(), 'permissions', 'ok', /ours alone/);
});

test('little room', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-room-'));
  t.after(() => {
    spawnSync('umount', ['--lazy', dir]);
    fs.rmSync(dir, { recursive: true, force: true });
  });
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,mode=700', 'tmpfs', dir]).status !== 0)
    return t.skip('needs the right to mount');
  const key = IS_FILE ? ['--key-file', path.join(`${shop.database.dbArg}.d`, 'master.key')] : [];
  find(await doctor(['--data', dir, ...key]), 'disk', 'look', /\d+ MB are free for the product files/);
  fs.writeFileSync(path.join(dir, 'ballast'), Buffer.alloc(60 * 1024 * 1024));
  find(await doctor(['--data', dir, ...key]), 'disk', 'broken', /\d MB are free for the product files/);
  const remount = (options) => assert.equal(spawnSync('mount', ['-o', `remount,${options}`, dir]).status, 0, options);
  remount('size=1g,nr_inodes=500');
  find(await doctor(['--data', dir, ...key]), 'disk', 'look', /room for only \d+ more files beside the product files/);
  remount('size=1g,nr_inodes=0'); // as on a file system without a number of its own
  find(await doctor(['--data', dir, ...key]), 'disk', 'ok', /\d MB are free for the product files/);
});

test('/livez proves which store answers, and only to who knows the key', async () => {
  const ask = async (nonce) => dataOf(await shop.souk.get(`/livez?nonce=${nonce}`)).instance;
  const one = await ask('0123456789abcdef');
  assert.match(one, /^[0-9a-f]{32}$/);
  assert.equal(await ask('0123456789abcdef'), one);
  assert.notEqual(await ask('0123456789abcdeg'), one);
  assert.equal((await shop.souk.get('/livez?nonce=short')).status, 422);
});
