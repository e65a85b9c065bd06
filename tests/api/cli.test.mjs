// The command line: what it prints, where, and with which exit code.
// spares: tsan
// release: pg
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { execute } from '../lib/sql.mjs';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { BINARY, ENGINE, freshDatabase, freshStore, runSouk, startSouk } from './lib/souk.mjs';

const password = 'correct horse battery';

/** The place of a database, with nothing there yet, and its command line. */
function nowhere(t) {
  return withCli(t, freshDatabase());
}

/** A store and its command line. */
async function fresh(t) {
  return withCli(t, freshStore());
}

function withCli(t, database) {
  t.after(() => database.remove());
  const cli = (args, options = {}) =>
    runSouk([...args, '--db', database.dbArg], {
      cwd: database.dir,
      ...options,
      env: { ...database.env, ...options.env },
    });
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
  for (const word of ['version', '--version']) assert.match(expectOk(await runSouk([word])), /^souk \d+\.\d+\.\d+\n$/);
});

test('without a command, with an unknown one or an unknown option: usage, 2', async () => {
  expectFailure(await runSouk([]), 2, /usage/i);
  expectFailure(await runSouk(['sevre']), 2, /usage|sevre/i);
  expectFailure(await runSouk(['account']), 2, /usage|account/i);
  expectFailure(await runSouk(['version', '--colour', 'red']), 2, /--colour/);
  expectFailure(await runSouk(['serve', '--loops', 'many']), 2, /--loops/);
  expectFailure(await runSouk(['serve', '--db']), 2, /--db/);
});

test('cheap passwords are refused wherever others can reach the server', async () => {
  for (const more of [
    ['--listen', '0.0.0.0:0'],
    ['--listen', '[::]:0'],
    ['--listen', '127.0.0.1:0', '--trusted-proxy', '127.0.0.1'],
  ])
    expectFailure(await runSouk(['serve', '--cheap-passwords', ...more]), 2, /--cheap-passwords is for test runs/);
});

test('only init, demo and serve --create make a store; every other command names what is missing and leaves no trace', async (t) => {
  const { database, cli } = nowhere(t);
  const commands = [
    ['serve', '--listen', '127.0.0.1:0'],
    ['migrate'],
    ['check'],
    ['account', 'create', '--email', 'a@example.com'],
    ['token', 'create', '--email', 'a@example.com'],
    ['wallet', 'credit', '--email', 'a@example.com', '--amount', '1'],
    ['serials', 'import', '--product', 'x', '-'],
  ];
  const before = fs.readdirSync(database.dir);
  for (const args of commands) {
    const run = await cli(args);
    expectFailure(run, 1, /souk init --db/);
    assert.ok(run.stderr.includes(database.dbArg), run.stderr);
  }
  assert.deepEqual(fs.readdirSync(database.dir), before);
  expectOk(await cli(['init']));
  expectOk(await cli(['check']));
});

test('a mistyped folder or another kind of database is refused', async (t) => {
  const { database } = nowhere(t);
  const run = (args) => runSouk(args, { cwd: database.dir, env: database.env });
  expectFailure(
    await run(['serve', '--db', 'mysql://x', '--listen', '127.0.0.1:0']),
    2,
    /--db .*postgres:\/\/.*mysql:\/\/x/,
  );
  expectFailure(
    await run(['serve', '--create', '--db', 'no/such/folder/souk.db', '--listen', '127.0.0.1:0']),
    1,
    /no\/such\/folder/,
  );
  expectFailure(await run(['init', '--db', 'no/such/folder/souk.db']), 1, /no\/such\/folder/);
  assert.ok(!fs.existsSync(path.join(database.dir, 'no')));
});

test("another program's database is refused and not changed", async (t) => {
  const { database, cli } = nowhere(t);
  execute(database.dbArg, 'CREATE TABLE somebody_elses (x INTEGER)');
  const bytes = () => (ENGINE === 'sqlite' ? fs.readFileSync(database.dbArg).toString('hex') : '');
  const before = bytes();
  for (const args of [['init'], ['demo'], ['serve', '--create', '--listen', '127.0.0.1:0'], ['migrate']]) {
    expectFailure(await cli(args), 1, /another program/);
  }
  assert.equal(bytes(), before);
});

test(
  'a lost master key is said to be lost, and not replaced',
  { skip: ENGINE === 'pg' && 'the key comes from the environment' },
  async (t) => {
    const { database, cli } = await fresh(t);
    const file = `${database.dbArg}.d/master.key`;
    const key = fs.readFileSync(file);
    fs.rmSync(file);
    expectFailure(await cli(['serve', '--listen', '127.0.0.1:0']), 1, /master key .*missing.*master\.key/);
    expectFailure(await cli(['account', 'create', '--email', 'a@example.com']), 1, /master key .*missing/);
    assert.ok(!fs.existsSync(file));
    fs.writeFileSync(file, key, { mode: 0o600 });
    expectOk(await cli(['account', 'create', '--email', 'a@example.com']));
  },
);

test('every command has --help, on stdout', async () => {
  for (const words of [
    'serve',
    'init',
    'account create',
    'token create',
    'wallet credit',
    'serials import',
    'check',
    'routes',
    'config show',
  ]) {
    for (const flag of ['--help', '-h']) {
      const run = await runSouk([...words.split(' '), flag]);
      assert.match(expectOk(run), new RegExp(`usage: souk ${words}`));
      assert.match(run.stdout, /--db/);
      assert.equal(run.stderr, '');
    }
  }
});

test('SIGHUP reloads and never kills', async (t) => {
  const { database } = nowhere(t);
  const file = path.join(database.dir, 'souk.conf');
  fs.writeFileSync(file, 'log-format = logfmt\n');
  const souk = await startSouk({ t, database, args: ['--config', file] });
  const said = async (words) => {
    for (let i = 0; i < 200 && !words.test(souk.stderr); i++) await sleep(50);
    assert.match(souk.stderr, words);
  };
  fs.writeFileSync(file, 'log-format = json\n');
  souk.child.kill('SIGHUP');
  await said(/"event":"reloaded"/);
  fs.writeFileSync(file, 'log-format = nonsense\n');
  souk.child.kill('SIGHUP');
  await said(/mistake/);
  fs.writeFileSync(file, 'what is this\n');
  souk.child.kill('SIGHUP');
  await said(/souk\.conf, line 1[^]*mistake[^]*souk\.conf, line 1|mistake[^]*souk\.conf, line 1[^]*mistake/);
  expectStatus(await souk.get('/readyz'), 200);
});

test('a server on [::1] prints a link to [::1]', async (t) => {
  if (!fs.existsSync('/proc/net/if_inet6') || !fs.readFileSync('/proc/net/if_inet6', 'utf8').trim())
    return t.skip('no IPv6 here');
  const { database } = await fresh(t);
  const child = spawn(BINARY, ['serve', '--db', database.dbArg, '--listen', '[::1]:0'], {
    cwd: database.dir,
    env: { ...process.env, ...database.env },
  });
  let said = '';
  child.stderr.on('data', (bytes) => {
    said += bytes;
  });
  for (let i = 0; i < 400 && !said.includes('#setup='); i++) await sleep(50);
  child.kill('SIGTERM');
  await once(child, 'close');
  assert.match(said, /http:\/\/\[::1\]:\d+\/admin\/#setup=/);
});

test('help is no failure', async () => {
  for (const word of ['help', '--help', '-h']) {
    const run = await runSouk([word]);
    assert.equal(run.code, 0);
    assert.match(run.stdout + run.stderr, /souk serve|serve/);
  }
});

test('routes prints one route per line', async () => {
  const lines = expectOk(await runSouk(['routes']))
    .trimEnd()
    .split('\n');
  for (const line of lines)
    assert.match(
      line,
      /^(GET|POST|PUT|PATCH|DELETE) \/\S* (-|login|customer|store|catalog|verify|order|admin) (none|read|write|self)( owner)?( confirmed)?( owner-token)?( idempotent)?$/,
    );
});

test('account create prints the id alone; the account can log in', async (t) => {
  const { database, cli } = await fresh(t);
  const made = await cli(['account', 'create', '--email', ' Ada@Example.com ', '--name', 'Ada', '--password-stdin'], {
    input: `${password}\n`,
  });
  assert.match(expectOk(made), /^[1-9]\d*\n$/);
  const souk = await startSouk({ database });
  const data = dataOf(await souk.post('/api/auth/login', { email: 'ada@example.com', password }));
  assert.equal(data.account.id, Number(made.stdout));
  assert.equal(data.account.name, 'Ada');
  await souk.stop();
});

test('account create: roles', async (t) => {
  const { database, cli } = await fresh(t);
  for (const role of ['customer', 'staff', 'owner']) {
    expectOk(await cli(['account', 'create', '--email', `${role}@example.com`, '--role', role]));
  }
  const tokens = {};
  for (const role of ['customer', 'staff', 'owner']) {
    tokens[role] = expectOk(await cli(['token', 'create', '--email', `${role}@example.com`])).trim();
  }
  const souk = await startSouk({ database });
  for (const role of ['customer', 'staff', 'owner']) {
    const { scopes } = dataOf(await souk.get('/api/customer/tokens', { token: tokens[role] })).find(
      (x) => x.is_current,
    );
    assert.deepEqual([scopes.includes('admin'), scopes.includes('owner')], [role !== 'customer', role === 'owner']);
    expectStatus(await souk.get('/api/admin/staff', { token: tokens[role] }), role === 'owner' ? 200 : 403);
  }
  await souk.stop();
});

test('account create refuses what is not right, and makes nothing', async (t) => {
  const { cli } = await fresh(t);
  expectFailure(await cli(['account', 'create']), 2, /--email/);
  expectFailure(await cli(['account', 'create', '--email', 'nobody']), 2, /--email/);
  expectFailure(await cli(['account', 'create', '--email', 'a@example.com', '--role', 'king']), 2, /--role/);
  expectFailure(
    await cli(['account', 'create', '--email', 'a@example.com', '--password-stdin'], { input: 'short\n' }),
    1,
    /10 to 256/,
  );
  expectFailure(
    await cli(['account', 'create', '--email', 'a@example.com', '--password-stdin'], { input: '' }),
    1,
    /password/,
  );
  expectOk(await cli(['account', 'create', '--email', 'a@example.com']));
  expectFailure(await cli(['account', 'create', '--email', 'A@example.com']), 1, /already/);
});

test('an account without a password cannot log in', async (t) => {
  const { database, cli } = await fresh(t);
  expectOk(await cli(['account', 'create', '--email', 'a@example.com']));
  const souk = await startSouk({ database });
  for (const text of ['', ' ', password]) {
    const answer = await souk.post('/api/auth/login', { email: 'a@example.com', password: text });
    assert.ok([401, 422].includes(answer.status), answer.text);
  }
  await souk.stop();
});

test('token create prints the token alone, with the scopes asked for', async (t) => {
  const { database, cli } = await fresh(t);
  expectOk(await cli(['account', 'create', '--email', 'a@example.com']));
  const text = expectOk(
    await cli(['token', 'create', '--email', 'a@example.com', '--name', 'till', '--scopes', 'verify,customer']),
  );
  assert.match(text, /^souk_[a-z]+_[0-9A-Za-z]{38}\n$/);
  const souk = await startSouk({ database });
  const listed = dataOf(await souk.get('/api/customer/tokens', { token: text.trim() })).find((x) => x.is_current);
  assert.equal(listed.name, 'till');
  assert.deepEqual([...listed.scopes].sort(), ['customer', 'verify']);
  await souk.stop();
});

test('commands give back what they took', async (t) => {
  const { cli } = await fresh(t);
  expectOk(
    await cli(['account', 'create', '--email', 'a@example.com', '--password-stdin'], {
      input: `${password}\n`,
      leaks: true,
    }),
  );
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
    const { cli } = await fresh(t);
    expectFailure(await cli(args, { input, leaks: true }), code, /./);
  });
}

test('token create refuses what is not right', async (t) => {
  const { cli } = await fresh(t);
  expectOk(await cli(['account', 'create', '--email', 'a@example.com']));
  expectFailure(await cli(['token', 'create', '--email', 'b@example.com']), 1, /b@example\.com/);
  expectFailure(await cli(['token', 'create', '--email', 'a@example.com', '--scopes', 'root']), 2, /scopes/);
  expectFailure(await cli(['token', 'create', '--email', 'a@example.com', '--scopes', ',']), 2, /scopes/);
  expectFailure(await cli(['token', 'create', '--email', 'a@example.com', '--scopes', 'admin']), 1, /scopes/);
});

test('migrate makes no database, and changes nothing where the schema is up to date', async (t) => {
  const { database, cli } = nowhere(t);
  expectFailure(await cli(['migrate']), 1, /souk init/);
  expectOk(await cli(['init']));
  expectOk(await cli(['migrate']));
  const souk = await startSouk({ database });
  expectStatus(await souk.get('/readyz'), 200);
  await souk.stop();
});

test('config show names every option, its value and its source; flag > environment > file > default', async (t) => {
  const { database } = await fresh(t);
  const file = path.join(database.dir, 'souk.conf');
  fs.writeFileSync(file, '# a comment\n\nlisten = 127.0.0.1:1111\nrate-v1 = 11\nrate-customer = 12\n');
  const env = { SOUK_RATE_V1: '22', SOUK_RATE_CUSTOMER: '23', SOUK_KEY: 'ab'.repeat(32) };
  const run = await runSouk(['config', 'show', '--config', file, '--rate-customer', '33'], { env, cwd: database.dir });
  const shown = new Map(
    expectOk(run)
      .trimEnd()
      .split('\n')
      .map((line) => {
        const match = /^([a-z0-9-]+) = (.*?) +# (.+)$/.exec(line);
        assert.ok(match, line);
        return [match[1], [match[2], match[3]]];
      }),
  );
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
  const { database } = await fresh(t);
  const file = path.join(database.dir, 'souk.conf');
  fs.writeFileSync(file, 'listen = 127.0.0.1:1\nlissten = 127.0.0.1:2\n');
  expectFailure(await runSouk(['config', 'show', '--config', file]), 2, /souk\.conf, line 2: .*'lissten'/);
  fs.writeFileSync(file, 'listen = 127.0.0.1:1\n\nloops = many\n');
  expectFailure(await runSouk(['config', 'show', '--config', file]), 2, /souk\.conf, line 3: loops .*'many'/);
  expectFailure(await runSouk(['config', 'show'], { env: { SOUK_LOOPS: 'several' } }), 2, /SOUK_LOOPS .*'several'/);
  expectFailure(await runSouk(['config', 'show', '--config', '/nowhere/souk.conf']), 2, /\/nowhere\/souk\.conf/);
});

test('an address in use, a database that cannot be opened: 1, in plain words', async (t) => {
  const souk = await startSouk({ t });
  const { database } = await fresh(t);
  const used = await runSouk(['serve', '--db', database.dbArg, '--listen', `127.0.0.1:${souk.port}`], {
    cwd: database.dir,
    env: database.env,
  });
  // Loops share a port on purpose (SO_REUSEPORT); two servers of the same user may not end up doing so unnoticed.
  expectFailure(used, 1, /in use/);
  expectFailure(
    await runSouk(['serve', '--create', '--db', '/dev/null/souk.db', '--listen', '127.0.0.1:0'], { timeout_ms: 10000 }),
    1,
    /\/dev\/null/,
  );
  expectFailure(
    await runSouk(['serve', '--db', 'postgres://nobody@/x?host=/nowhere', '--listen', '127.0.0.1:0'], {
      env: { SOUK_KEY: 'ab'.repeat(32), SOUK_DATA: database.dir },
    }),
    1,
    /./,
  );
});

test(
  'while a server holds the SQLite file, nobody else changes its schema or serves it',
  { skip: ENGINE === 'pg' && 'SQLite only' },
  async (t) => {
    const souk = await startSouk({ t });
    expectFailure(await souk.cli(['migrate']), 1, /in use by another souk/);
    const second = await runSouk(['serve', '--db', souk.dbArg, '--listen', '127.0.0.1:0'], { cwd: souk.dir });
    expectFailure(second, 1, /in use by another souk/);
    expectStatus(await souk.get('/readyz'), 200);
    await souk.customer();
  },
);

test('another master key is refused in plain words', async (t) => {
  const { database, cli } = await fresh(t);
  expectOk(await cli(['migrate']));
  expectFailure(await cli(['migrate'], { env: { SOUK_KEY: '12'.repeat(32) } }), 1, /key/);
  expectFailure(await cli(['migrate'], { env: { SOUK_KEY: 'xyz' } }), 1, /key|hex/i);
  const souk = await startSouk({ database });
  expectStatus(await souk.get('/readyz'), 200);
  await souk.stop();
});

test('a file that is no database of ours is not touched', { skip: ENGINE === 'pg' && 'SQLite only' }, async (t) => {
  const { database } = await fresh(t);
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
