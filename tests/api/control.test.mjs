// Commands that change data beside a running server, which carries them out.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectStatus } from './lib/http.mjs';
import { BINARY, ENGINE, runSouk, startSouk } from './lib/souk.mjs';

let office;
let souk;
before(async () => {
  office = await openOffice();
  souk = office.souk;
});
after(() => office.stop());

const folder = (server) => server.env.SOUK_DATA ?? `${server.dbArg}.d`;
const socketOf = (server) => path.join(folder(server), 'control.sock');

async function ok(args, options) {
  const run = await souk.cli(args, { talks: true, ...options });
  assert.equal(run.code, 0, run.stderr);
  return run.stdout;
}

async function refused(args, code, message, options) {
  const run = await souk.cli(args, { talks: true, ...options });
  assert.equal(run.code, code, run.stdout + run.stderr);
  assert.equal(run.stdout, '');
  assert.match(run.stderr, message);
}

/** Waits until the server's log has so many records of commands. */
async function logged(server, count) {
  const records = () => server.stderr.split('\n').filter((line) => /event="command"/.test(line));
  for (const deadline = Date.now() + 60000; records().length < count && Date.now() < deadline;) await sleep(10);
  return records();
}

/** Sends raw bytes to the socket; gives the bytes that came back when the server had closed the connection. */
function raw(bytes) {
  return new Promise((resolve, reject) => {
    const connection = net.connect(socketOf(souk));
    const parts = [];
    connection.on('data', (part) => parts.push(part));
    connection.on('error', (e) => (e.code === 'EPIPE' || e.code === 'ECONNRESET' ? null : reject(e)));
    connection.on('close', () => resolve(Buffer.concat(parts)));
    connection.write(bytes);
  });
}

test('money, accounts, tokens and codes: made by the server, with the checks and the words that a command has alone', async () => {
  const { email, id, get } = await office.customer({ balance: 5 });
  const credit = ['wallet', 'credit', '--email', email];
  assert.equal(await ok([...credit, '--amount', '2.50', '--description', 'Sorry']), '7.50\n');
  assert.equal(dataOf(await get('/api/customer/wallet')).balance, 7.5);
  const entry = await office.audited('customer.wallet_adjust');
  assert.deepEqual([entry.actor_id, entry.resource_id, entry.address], [null, id, `cli, uid ${process.getuid()}`]);

  await refused([...credit, '--amount', '0'], 2, /greater than 0/);
  await refused([...credit, '--amount=1.001'], 2, /more decimals than USD/);
  await refused(['wallet', 'credit', '--email', 'nobody@example.com', '--amount', '1'], 1, /no account/);
  assert.equal(dataOf(await get('/api/customer/wallet')).balance, 7.5);

  const login = { email: 'late@example.com', password: 'correct horse battery' };
  const create = ['account', 'create', '--email', login.email, '--password-stdin'];
  assert.match(await ok(create, { input: `${login.password}\n` }), /^\d+\n$/);
  expectStatus(await souk.post('/api/auth/login', login), 200);
  await refused(create, 1, /no password/, { input: '' });
  const token = (await ok(['token', 'create', '--email', login.email])).trim();
  expectStatus(await souk.get('/api/customer/wallet', { token }), 200);

  const product = await office.product({ delivery_type: 'serial_code', slug: 'codes' });
  const stock = async () => dataOf(await souk.get('/api/store/products/codes')).in_stock;
  assert.equal(await stock(), false);
  fs.writeFileSync(path.join(souk.dir, 'codes.txt'), 'AAA\nBBB\n\nAAA\n');
  const imports = ['serials', 'import', '--product', 'codes'];
  assert.equal(await ok([...imports, 'codes.txt']), 'added 2\nduplicates 1\n'); // a path as the command sees it
  assert.equal(await stock(), true); // the server's cache knows
  assert.equal(await ok([...imports, '-'], { input: 'CCC\nBBB' }), 'added 1\nduplicates 1\n');
  await refused([...imports, '.'], 1, /cannot read \. to its end/);
  await refused([...imports, 'nothing.txt'], 1, /cannot read nothing\.txt/);
  await refused([...imports, '-'], 1, /line 2 is not a code/, { input: 'DDD\nE\x01E\n' });
  assert.equal((await office.audited('serial.import')).resource_id, product.id);

  const records = await logged(souk, 10);
  assert.equal(records.length, 10, records.join('\n')); // a file that cannot be read never gets there
  assert.ok(records.every((line) => line.includes(`uid=${process.getuid()}`)));
  await refused(imports, 2, /name one file/);
});

test('the options that say which store stay behind; a command of too many words is refused as a whole', async () => {
  const create = ['account', 'create', '--email', 'words@example.com'];
  fs.writeFileSync(path.join(souk.dir, 'own.conf'), 'log-level = warn\n');
  const many = Array.from({ length: 40 }, () => ['--name', 'Ann']).flat();
  await refused([...create, ...many, '--role', 'staff'], 2, /at most \d+ words/);
  assert.match(await ok([...create, '--config', 'own.conf']), /^\d+\n$/);
  const there = ['--control-socket', socketOf(souk), '--db', path.join(souk.dir, 'nowhere.db')];
  const other = await runSouk([...create, ...there], { cwd: souk.dir, env: souk.env });
  assert.deepEqual([other.code, /there is no (database|store)/.test(other.stderr)], [1, true], other.stderr);
});

test('the socket is for its owner alone, and the kernel is asked who that is', async (t) => {
  assert.equal(fs.statSync(socketOf(souk)).mode & 0o777, 0o600);
  if (process.getuid() !== 0) return t.skip('another user needs root');
  const open = [folder(souk), souk.dir, socketOf(souk)];
  const modes = open.map((file) => fs.statSync(file).mode & 0o777);
  const program = path.join(souk.dir, 'souk-for-all'); // the clone may lie where others cannot go
  const { TSAN_OPTIONS } = process.env; // names a file of the clone
  fs.copyFileSync(BINARY, program);
  fs.chmodSync(program, 0o755);
  try {
    for (const file of open) fs.chmodSync(file, 0o777);
    if (ENGINE === 'sqlite') fs.chmodSync(souk.dbArg, 0o644);
    const args = ['account', 'create', '--email', 'stranger@example.com', '--db', souk.dbArg];
    const run = spawnSync('setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', program, ...args], {
      env: { ...process.env, ...souk.env, TSAN_OPTIONS: TSAN_OPTIONS?.replace(/:suppressions=.*/, '') },
      encoding: 'utf8',
    });
    assert.equal(run.status, 1, run.stderr);
    assert.match(run.stderr, /its own user and from root, not from uid 65534/);
  } finally {
    fs.rmSync(program);
    open.forEach((file, i) => fs.chmodSync(file, modes[i]));
    if (ENGINE === 'sqlite') fs.chmodSync(souk.dbArg, 0o600);
  }
});

const number = (n) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(n);
  return bytes;
};
const HANGS_UP = 'hangs up';
const text = (s) => Buffer.concat([number(Buffer.byteLength(s)), Buffer.from(s)]);
const message = (...texts) => Buffer.concat([number(texts.length), ...texts.map(text)]);

test('a server that talks nonsense, or is gone before it has answered', { skip: ENGINE !== 'sqlite' }, async () => {
  const { dev, ino } = fs.statSync(souk.dbArg, { bigint: true });
  const store = `file ${dev.toString(16)} ${ino.toString(16)}`;
  const version = /^souk (\S+)/.exec((await souk.cli(['version'])).stdout)[1];
  const hello = ['souk control 1', version, store];
  /** A command beside a server that says `greeting`, and then `answer` to what the command asks. */
  const beside = async (
    greeting,
    answer = null,
    args = ['wallet', 'credit', '--email', 'a@example.com', '--amount', '1'],
    input = '',
  ) => {
    const place = path.join(souk.dir, 'nonsense.sock');
    const server = net.createServer((connection) => {
      connection.on('error', () => {}).resume();
      connection.write(greeting);
      if (!answer) return connection.end();
      connection.once('data', () => (answer === HANGS_UP ? connection.destroy() : connection.end(answer)));
    });
    await new Promise((resolve) => server.listen(place, resolve));
    const run = await souk.cli([...args, '--control-socket', 'nonsense.sock'], { talks: true, input });
    await new Promise((resolve) => server.close(resolve));
    return run;
  };
  // Nothing that is ours: the command does it itself, which the running server's lock forbids.
  for (const greeting of [
    '',
    message(),
    message('x'),
    message('a', 'b', 'c'),
    number(9),
    Buffer.concat([number(1), number(5), Buffer.from('ab')]),
  ])
    assert.match((await beside(greeting)).stderr, /in use by another souk/);
  for (const greeting of [message('souk control 2', version, store), message('souk control 1', '0.0.0', store)])
    assert.match((await beside(greeting)).stderr, /restart the server/);
  assert.match((await beside(message('souk control: not you'))).stderr, /its own user and from root/);
  for (const answer of [
    '',
    message('0'),
    message('0', 'out'),
    message('zero', '', ''),
    number(3),
    Buffer.concat([number(3), number(1)]),
  ]) {
    const run = await beside(message(...hello), answer);
    assert.equal(run.code, 1);
    assert.match(run.stderr, /ended before it answered: look whether the change was made/);
  }
  const much = ['serials', 'import', '--product', 'codes', '-'];
  const cut = await beside(message(...hello), HANGS_UP, much, 'CODE\n'.repeat(2_000_000)); // more than the socket holds
  assert.match(cut.stderr, /ended before it answered/);
  const run = await beside(message(...hello), message('7', 'out', 'err'), ['import', 'products']);
  assert.deepEqual([run.code, run.stdout, run.stderr], [7, 'out', 'err']);
});

test('an output that cannot be written is told, and the change was made', async () => {
  const args = ['account', 'create', '--email', 'unseen@example.com', '--db', souk.dbArg];
  const run = spawnSync('sh', ['-c', 'exec "$0" "$@" > /dev/full', BINARY, ...args], {
    env: { ...process.env, ...souk.env },
    encoding: 'utf8',
  });
  assert.equal(run.status, 1);
  assert.match(run.stderr, /the command was run; its output could not be written/);
  await refused(['account', 'create', '--email', 'unseen@example.com'], 1, /exists|already|taken|use/);
});

test('what is not a command is dropped, and the next one is heard', async () => {
  await raw(number(0xffffffff));
  await raw(Buffer.concat([number(2), number(0xffffffff)]));
  await raw(message('serve'));
  for (const words of [
    ['serve'],
    ['migrate'],
    ['nonsense'],
    ['wallet credit', '--db', '/etc/passwd'],
    ['wallet credit', '--amount'],
    ['wallet credit', '--config', 'x'],
    ['serials import', ...Array.from({ length: 40 }, () => 'x')],
  ])
    assert.match((await raw(message(...words, ''))).toString(), /does not know this command/, words.join(' '));
  await ok(['account', 'create', '--email', 'next@example.com']);
});

test('a server that is not there is no hindrance: after kill -9, beside a stale socket, and when another store answers', async (t) => {
  const other = await startSouk({ t });
  const create = (email, more = []) => other.cli(['account', 'create', '--email', email, ...more], { talks: true });
  await other.kill9();
  assert.ok(fs.existsSync(socketOf(other)));
  assert.equal((await create('one@example.com')).code, 0); // by itself
  assert.equal((await create('two@example.com', ['--control-socket', socketOf(souk)])).code, 0); // not that store's server
  await other.start();
  assert.equal((await create('three@example.com')).code, 0);
  assert.equal((await logged(other, 1)).length, 1);
  const idle = net.connect(socketOf(other)); // says nothing, and is not waited for
  await new Promise((resolve) => idle.once('data', resolve));
  await other.restart();
  idle.destroy();
  assert.equal((await create('four@example.com')).code, 0);
  assert.deepEqual(
    fs.readdirSync(folder(other)).filter((name) => name.includes('control')),
    ['control.sock'],
  );
  const deep = path.join(other.dir, 'deep'.repeat(40)); // a longer path than a socket's address can have
  fs.mkdirSync(deep);
  other.args.push('--control-socket', path.join(deep, 'control.sock'));
  await other.restart();
  assert.equal((await create('five@example.com', ['--control-socket', path.join(deep, 'control.sock')])).code, 0);
  assert.equal((await logged(other, 1)).length, 1);
  await other.stop();
});

test(
  'the newest of several servers takes the commands; without it they do it themselves',
  { skip: ENGINE !== 'pg' && 'PostgreSQL only' },
  async (t) => {
    const newest = await startSouk({ t, database: office.database });
    const count = (await logged(souk, 0)).length;
    await ok(['account', 'create', '--email', 'newest@example.com']);
    assert.equal((await logged(newest, 1)).length, 1);
    await newest.stop();
    await ok(['account', 'create', '--email', 'alone@example.com']);
    assert.equal((await logged(souk, 0)).length, count);
  },
);

test('switched off, and for commands that are not the server’s: as without a server', async () => {
  for (const [i, place] of ['off', '/souk-is-not-here.sock', `${'long'.repeat(50)}.sock`].entries()) {
    const run = await souk.cli(['account', 'create', '--email', `off${i}@example.com`, '--control-socket', place], {
      talks: true,
    });
    if (ENGINE === 'sqlite') assert.match(run.stderr, /in use by another souk/);
    assert.equal(run.code, ENGINE === 'sqlite' ? 1 : 0);
  }
  assert.equal((await souk.cli(['check'], { helps: true })).code, 0);
});
