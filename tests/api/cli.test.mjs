// The command line: what it prints, where, and with which exit code.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { ENGINE, freshDatabase, runSouk, startSouk } from './lib/souk.mjs';

const password = 'correct horse battery';

/** A database and its command line. */
function fresh(t) {
  const database = freshDatabase();
  t.after(() => database.remove());
  const cli = (args, options = {}) => runSouk([...args, '--db', database.dbArg],
    { cwd: database.dir, ...options, env: { ...database.env, ...options.env } });
  return { database, cli };
}

function expectOk(run) {
  assert.equal(run.code, 0, `exit code ${run.code}: ${run.stderr}`);
  return run.stdout;
}

function expectFailure(run, code, message) {
  assert.equal(run.code, code, `exit code ${run.code}: ${run.stdout}${run.stderr}`);
  assert.equal(run.stdout, '', 'failures say nothing on stdout');
  assert.match(run.stderr, message);
}

test('version prints the version alone', async () => {
  assert.match(expectOk(await runSouk(['version'])), /^souk \d+\.\d+\.\d+\n$/);
});

test('without a command, with an unknown one or an unknown option: usage, 2', async () => {
  expectFailure(await runSouk([]), 2, /usage/i);
  expectFailure(await runSouk(['sevre']), 2, /usage|sevre/i);
  expectFailure(await runSouk(['account']), 2, /usage|account/i);
  expectFailure(await runSouk(['version', '--colour', 'red']), 2, /--colour/);
  expectFailure(await runSouk(['serve', '--loops', 'many']), 2, /--loops/);
  expectFailure(await runSouk(['serve', '--db']), 2, /--db/);
});

test('help is no failure', async () => {
  for (const word of ['help', '--help', '-h']) {
    const run = await runSouk([word]);
    assert.equal(run.code, 0);
    assert.match(run.stdout + run.stderr, /souk serve|serve/);
  }
});

test('routes prints one route per line', async () => {
  const lines = expectOk(await runSouk(['routes'])).trimEnd().split('\n');
  for (const line of lines) assert.match(line, /^(GET|POST|PUT|PATCH|DELETE) \/\S* (-|any|customer|store|catalog|verify|order|admin) (none|read|write|self)( owner)?( idempotent)?$/);
});

test('account create prints the id alone; the account can log in', async (t) => {
  const { database, cli } = fresh(t);
  const made = await cli(['account', 'create', '--email', ' Ada@Example.com ', '--name', 'Ada', '--password-stdin'], { input: `${password}\n` });
  assert.match(expectOk(made), /^[1-9]\d*\n$/);
  const souk = await startSouk({ database });
  const data = dataOf(await souk.post('/api/auth/login', { email: 'ada@example.com', password }));
  assert.equal(data.account.id, Number(made.stdout));
  assert.equal(data.account.name, 'Ada');
  await souk.stop();
});

test('account create: roles', async (t) => {
  const { database, cli } = fresh(t);
  for (const role of ['customer', 'staff', 'owner']) {
    expectOk(await cli(['account', 'create', '--email', `${role}@example.com`, '--role', role]));
  }
  const tokens = {};
  for (const role of ['customer', 'staff', 'owner']) {
    tokens[role] = expectOk(await cli(['token', 'create', '--email', `${role}@example.com`])).trim();
  }
  const souk = await startSouk({ database });
  for (const role of ['customer', 'staff', 'owner']) {
    const me = dataOf(await souk.get('/api/auth/me', { token: tokens[role] }));
    assert.equal(me.role, role);
    assert.equal(me.scopes.includes('admin'), role !== 'customer');
  }
  await souk.stop();
});

test('account create refuses what is not right, and makes nothing', async (t) => {
  const { cli } = fresh(t);
  expectFailure(await cli(['account', 'create']), 2, /--email/);
  expectFailure(await cli(['account', 'create', '--email', 'nobody']), 2, /--email/);
  expectFailure(await cli(['account', 'create', '--email', 'a@example.com', '--role', 'king']), 2, /--role/);
  expectFailure(await cli(['account', 'create', '--email', 'a@example.com', '--password-stdin'], { input: 'short\n' }), 1, /10 to 256/);
  expectFailure(await cli(['account', 'create', '--email', 'a@example.com', '--password-stdin'], { input: '' }), 1, /password/);
  expectOk(await cli(['account', 'create', '--email', 'a@example.com']));
  expectFailure(await cli(['account', 'create', '--email', 'A@example.com']), 1, /already/);
});

test('an account without a password can not log in', async (t) => {
  const { database, cli } = fresh(t);
  expectOk(await cli(['account', 'create', '--email', 'a@example.com']));
  const souk = await startSouk({ database });
  for (const text of ['', ' ', password]) {
    const answer = await souk.post('/api/auth/login', { email: 'a@example.com', password: text });
    assert.ok([401, 422].includes(answer.status), answer.text);
  }
  await souk.stop();
});

test('token create prints the token alone, with the scopes asked for', async (t) => {
  const { database, cli } = fresh(t);
  expectOk(await cli(['account', 'create', '--email', 'a@example.com']));
  const text = expectOk(await cli(['token', 'create', '--email', 'a@example.com', '--name', 'till', '--scopes', 'verify,customer']));
  assert.match(text, /^souk_[a-z]+_[0-9A-Za-z]{38}\n$/);
  const souk = await startSouk({ database });
  const me = dataOf(await souk.get('/api/auth/me', { token: text.trim() }));
  assert.deepEqual([...me.scopes].sort(), ['customer', 'verify']);
  const listed = dataOf(await souk.get('/api/customer/tokens', { token: text.trim() }));
  assert.equal(listed.find((x) => x.is_current).name, 'till');
  await souk.stop();
});

test('commands give back what they took', async (t) => {
  const { cli } = fresh(t);
  expectOk(await cli(['account', 'create', '--email', 'a@example.com', '--password-stdin'], { input: `${password}\n`, leaks: true }));
  expectOk(await cli(['token', 'create', '--email', 'a@example.com'], { leaks: true }));
  expectFailure(await cli(['token', 'create', '--email', 'b@example.com'], { leaks: true }), 1, /b@example\.com/);
});

// Each path on which a command gives up after having taken memory; only the asan build can fail here.
const email = ['--email', 'a@example.com'];
const refusals = [
  ['init', ['init', '--currency', 'XXY'], 2],
  ['account create', ['account', 'create', ...email, '--role', 'king'], 2],
  ['account create', ['account', 'create', ...email, '--name', 'n'.repeat(101)], 2],
  ['account create', ['account', 'create', ...email, '--password-stdin'], 1],
  ['token create', ['token', 'create', ...email, '--scopes', 'root'], 2],
  ['wallet credit', ['wallet', 'credit', ...email], 2],
  ['wallet credit', ['wallet', 'credit', ...email, '--amount', '0'], 2],
  ['serials import', ['serials', 'import', '--product', 'x', '-'], 1, `${'c'.repeat(5000)}\n`],
  ['serials import', ['serials', 'import', '--product', 'x', '-'], 1, 'code-1\n'],
];
for (const [command, args, code, input] of refusals) {
  test(`${command} gives back what it took when it refuses ${args.slice(2).join(' ').slice(0, 50)} ${input?.length ?? ''}`, async (t) => {
    const { cli } = fresh(t);
    expectFailure(await cli(args, { input, leaks: true }), code, /./);
  });
}

test('token create refuses what is not right', async (t) => {
  const { cli } = fresh(t);
  expectOk(await cli(['account', 'create', '--email', 'a@example.com']));
  expectFailure(await cli(['token', 'create', '--email', 'b@example.com']), 1, /b@example\.com/);
  expectFailure(await cli(['token', 'create', '--email', 'a@example.com', '--scopes', 'root']), 2, /scopes/);
  expectFailure(await cli(['token', 'create', '--email', 'a@example.com', '--scopes', ',']), 2, /scopes/);
  expectFailure(await cli(['token', 'create', '--email', 'a@example.com', '--scopes', 'admin']), 1, /scopes/);
});

test('migrate makes a database, and again changes nothing', async (t) => {
  const { database, cli } = fresh(t);
  expectOk(await cli(['migrate']));
  expectOk(await cli(['migrate']));
  const souk = await startSouk({ database });
  expectStatus(await souk.get('/readyz'), 200);
  await souk.stop();
});

test('config show names every option, its value and its source; flag > environment > file > default', async (t) => {
  const { database } = fresh(t);
  const file = path.join(database.dir, 'souk.conf');
  fs.writeFileSync(file, '# a comment\n\nlisten = 127.0.0.1:1111\nrate-v1 = 11\nrate-customer = 12\n');
  const env = { SOUK_RATE_V1: '22', SOUK_RATE_CUSTOMER: '23', SOUK_KEY: 'ab'.repeat(32) };
  const run = await runSouk(['config', 'show', '--config', file, '--rate-customer', '33'], { env, cwd: database.dir });
  const shown = new Map(expectOk(run).trimEnd().split('\n').map((line) => {
    const match = /^([a-z0-9-]+) = (.*?) +# (.+)$/.exec(line);
    assert.ok(match, line);
    return [match[1], [match[2], match[3]]];
  }));
  assert.equal(shown.get('listen')[0], '127.0.0.1:1111');
  assert.equal(shown.get('rate-v1')[0], '22');
  assert.equal(shown.get('rate-customer')[0], '33');
  assert.equal(shown.get('header-timeout-ms')[0], '10000');
  const sources = ['listen', 'rate-v1', 'rate-customer', 'header-timeout-ms'].map((n) => shown.get(n)[1]);
  assert.equal(new Set(sources).size, 4, sources.join(', '));
  assert.ok(!run.stdout.includes('abababab'), 'the master key is shown');
});

test('config show hides the password of a database address', async () => {
  const run = await runSouk(['config', 'show', '--db', 'postgres://user:geheim@db.example/shop']);
  assert.ok(!expectOk(run).includes('geheim'));
  assert.match(run.stdout, /db\.example/);
});

test('a config file with a mistake is refused with its line', async (t) => {
  const { database } = fresh(t);
  const file = path.join(database.dir, 'souk.conf');
  fs.writeFileSync(file, 'listen = 127.0.0.1:1\nlissten = 127.0.0.1:2\n');
  expectFailure(await runSouk(['config', 'show', '--config', file]), 2, /line 2/);
  expectFailure(await runSouk(['config', 'show', '--config', '/nowhere/souk.conf']), 2, /\/nowhere\/souk\.conf/);
});

test('an address in use, a database that can not be opened: 1, in plain words', async (t) => {
  const souk = await startSouk({ t });
  const { database } = fresh(t);
  const used = await runSouk(['serve', '--db', database.dbArg, '--listen', `127.0.0.1:${souk.port}`], { cwd: database.dir, env: database.env });
  // Loops share a port on purpose (SO_REUSEPORT); two servers of the same user may not end up doing so unnoticed.
  expectFailure(used, 1, /in use/);
  expectFailure(await runSouk(['serve', '--db', '/dev/null/souk.db', '--listen', '127.0.0.1:0'], { timeout_ms: 10000 }), 1, /\/dev\/null/);
  expectFailure(await runSouk(['serve', '--db', 'postgres://nobody@/x?host=/nowhere', '--listen', '127.0.0.1:0'],
    { env: { SOUK_KEY: 'ab'.repeat(32), SOUK_DATA: database.dir } }), 1, /./);
});

test('while a server holds the SQLite file, commands that change it refuse and say so', { skip: ENGINE === 'pg' && 'SQLite only' }, async (t) => {
  const souk = await startSouk({ t });
  for (const args of [['account', 'create', '--email', 'x@example.com'], ['token', 'create', '--email', 'x@example.com'], ['migrate']]) {
    expectFailure(await souk.cli(args), 1, /in use|running|holds|locked|another/i);
  }
  const second = await runSouk(['serve', '--db', souk.dbArg, '--listen', '127.0.0.1:0'], { cwd: souk.dir });
  expectFailure(second, 1, /in use|running|holds|locked|another/i);
  expectStatus(await souk.get('/readyz'), 200);
  await souk.customer();
});

test('beside a server on PostgreSQL, commands work', { skip: ENGINE === 'sqlite' && 'PostgreSQL only' }, async (t) => {
  const souk = await startSouk({ t });
  expectOk(await souk.cli(['account', 'create', '--email', 'x@example.com']));
  const token = expectOk(await souk.cli(['token', 'create', '--email', 'x@example.com'])).trim();
  expectStatus(await souk.get('/api/auth/me', { token }), 200);
});

test('another master key is refused in plain words', async (t) => {
  const { database, cli } = fresh(t);
  expectOk(await cli(['migrate']));
  expectFailure(await cli(['migrate'], { env: { SOUK_KEY: '12'.repeat(32) } }), 1, /key/);
  expectFailure(await cli(['migrate'], { env: { SOUK_KEY: 'xyz' } }), 1, /key|hex/i);
  const souk = await startSouk({ database });
  expectStatus(await souk.get('/readyz'), 200);
  await souk.stop();
});

test('a file that is no database of ours is not touched', { skip: ENGINE === 'pg' && 'SQLite only' }, async (t) => {
  const { database } = fresh(t);
  const file = path.join(database.dir, 'notes.txt');
  const text = 'These are my notes. They must stay as they are.\n'.repeat(100);
  fs.writeFileSync(file, text);
  const run = await runSouk(['migrate', '--db', file], { cwd: database.dir });
  expectFailure(run, 1, /./);
  assert.equal(fs.readFileSync(file, 'utf8'), text);
});

test('the port file holds the port; nothing but data goes to stdout', async (t) => {
  const souk = await startSouk({ t });
  assert.ok(souk.port > 0);
  expectError(await souk.get('/nowhere'), 404, 'not_found');
});
