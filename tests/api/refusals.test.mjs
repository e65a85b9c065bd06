// Commands that are refused for what they were told: with which code, in which words, and the store is as it was.
// runs: sqlite release
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { BINARY, freshDatabase, freshStore, runSouk } from './lib/souk.mjs';

let database;
const file = (name) => path.join(database.dir, name);
const cli = (args, options = {}) =>
  runSouk([...args, '--db', database.dbArg], {
    cwd: database.dir,
    ...options,
    env: { ...database.env, ...options.env },
  });

before(() => {
  database = freshStore('sqlite', 'owner');
  fs.writeFileSync(file('empty'), '');
  fs.writeFileSync(file('words'), 'no key at all\n');
  fs.writeFileSync(file('products.csv'), 'slug,name,price,delivery_type\ncodes,Codes,1.00,serial_code\n');
});
after(() => database.remove());

async function refuses([args, code, message, options = {}]) {
  const run = await cli(args, options);
  const said = `souk ${args.join(' ')}: ${run.code}\n${run.stdout}${run.stderr}`;
  assert.equal(run.code, code, said);
  assert.match(run.stdout + run.stderr, message, said);
}

const LONG = 'x'.repeat(5000);
const MANY = 'x'.repeat(300);
const ACCOUNT = ['account', 'create', '--email', 'a@example.com'];
const CREDIT = ['wallet', 'credit', '--email', 'owner@example.com', '--amount', '1'];
const TOKEN = ['token', 'create', '--email', 'owner@example.com'];

test('what an option may say', async () => {
  const cases = [
    [['account', 'create', '--email', 'nobody'], 2, /--email wants/],
    [[...ACCOUNT, '--name', 'a\nb'], 2, /--name wants/],
    [[...ACCOUNT, '--name', MANY], 2, /--name wants/],
    [[...ACCOUNT, '--role', 'king'], 2, /--role is/],
    [[...ACCOUNT, '--password-stdin'], 1, /a password has/, { input: 'x'.repeat(300) }],
    [
      [...ACCOUNT, '--password-stdin'],
      1,
      /a password has/,
      { input: Buffer.from([0xff, 0xfe, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41]) },
    ],
    [['token', 'create', '--email', 'nobody'], 2, /--email wants/],
    [[...TOKEN, '--name', 'a\nb'], 2, /--name wants/],
    [[...TOKEN, '--name', MANY], 2, /--name wants/],
    [[...TOKEN, '--scopes', 'everything'], 2, /--scopes wants/],
    [['wallet', 'credit', '--email', 'nobody', '--amount', '1'], 2, /--email wants/],
    [[...CREDIT, '--description', 'a\nb'], 2, /--description wants/],
    [[...CREDIT, '--description', MANY], 2, /--description wants/],
    [[...CREDIT.slice(0, 4), '--amount', '9'.repeat(30)], 2, /too large/],
    [[...CREDIT.slice(0, 4), '--amount', 'much'], 2, /wants a number/],
    [['serials', 'import', '--product', 'codes', '--variant', '0', '-'], 2, /--variant wants/],
    [['serials', 'import', '--product', 'codes', '--variant', 'x', '-'], 2, /--variant wants/],
    [['serials', 'import', '--product', 'codes'], 2, /name one file/],
    [['import', 'products'], 2, /name one CSV file/],
    [['import', 'products', 'nowhere.csv'], 1, /cannot read nowhere\.csv/],
    [['import', 'products', '.'], 1, /cannot read \./],
    [['export'], 2, /name what to export/],
    [['export', 'products', 'variants'], 2, /name what to export/],
    [['export', 'products', '--format', 'xml'], 2, /--format is/],
    [['export', 'all'], 2, /wants --to/],
    [['export', 'all', '--to', 'nowhere/else'], 1, /cannot make the folder/],
    [['export', 'all', '--to', LONG], 1, /cannot make the folder/],
    [['init', '--store-name', MANY], 2, /--store-name wants/],
    [['init', '--currency', 'SHELLS'], 2, /--currency wants/],
    [['doctor', 'now'], 2, /doctor/],
    [['manual'], 2, /which page/],
    [['manual', '7'], 2, /which page/],
    [['move'], 2, /--from and --to/],
    [['move', '--from', 'souk.db'], 2, /--from and --to/],
    [['move', '--from', 'nowhere.db', '--to', 'there.db'], 1, /there is no database at nowhere\.db/],
    [['check', ...Array.from({ length: 40 }, () => 'x')], 2, /too many arguments/],
    [['check', '--key', '00'], 2, /there is no option --key/],
    [['import', 'products', '--'], 1, /cannot read --/],
    [['serve', '--log-level', 'loud'], 2, /--log-level is/],
    [['serve', '--log-format', 'xml'], 2, /--log-format is|--log-level is/],
    [['serve', '--backup-folder', '.', '--backup-every-hours', '10000'], 2, /--backup-every-hours/],
    [['serve', '--smtp-url', 'smtp://127.0.0.1', '--mail-from', 'nobody'], 2, /--mail-from/],
  ];
  for (const one of cases) await refuses(one);
});

test('what backups want to be told', async () => {
  const keys = { cwd: database.dir };
  assert.equal((await runSouk(['backup', 'keygen', '--to', 'secret'], keys)).code, 0);
  const cases = [
    [['backup', 'create'], 2, /wants --to/],
    [['backup', 'create', '--to', 'b', '--backup-public-key', 'x'], 2, /--backup-public-key wants/],
    [['backup', 'create', '--to', LONG], 1, /cannot be written/],
    [['backup', 'create', '--to', 'b', '--key-passphrase-file', 'nowhere'], 1, /cannot read nowhere/],
    [['backup', 'create', '--to', 'b', '--key-passphrase-file', 'empty'], 1, /empty is empty/],
    [['backup', 'create', '--to', 'b', '--key-passphrase-file', 'words', '--key-file', LONG], 1, /too long/],
    [['backup', 'verify'], 2, /wants one FILE/],
    [['backup', 'verify', 'b', '--secret-key-file', 'nowhere'], 1, /cannot read nowhere/],
    [['backup', 'verify', 'b', '--secret-key-file', 'words'], 1, /has no secret key/],
    [['backup', 'verify', 'nowhere', '--secret-key-file', 'secret'], 1, /cannot be read/],
    [['backup', 'restore'], 2, /wants one FILE/],
    [['backup', 'restore', 'b', '--secret-key-file', 'empty'], 1, /empty is empty/],
    [['backup', 'restore', 'b', '--key-passphrase-file', 'nowhere'], 1, /cannot read nowhere/],
    [['backup', 'restore', 'b', '--key-file', LONG], 1, /too long/],
    [['backup', 'restore', 'b', '--data', LONG, '--key-file', 'k'], 1, /cannot make the data folder/],
    [['backup', 'restore', 'b', '--data', 'empty/x', '--key-file', 'k'], 1, /cannot make the data folder/],
    [['backup', 'restore', 'words'], 1, /not a souk backup/],
    [['backup', 'keygen'], 2, /wants --to/],
    [['backup', 'keygen', '--to', 'secret'], 1, /cannot make secret/],
  ];
  for (const one of cases) await refuses(one);
  assert.equal((await cli(['backup', 'create', '--to', 'plain'])).code, 0); // a name without a folder
  await refuses([['backup', 'verify', 'plain', '--scratch', 'nowhere'], 1, /no scratch folder/]);
  await refuses([['backup', 'verify', 'plain', '--scratch', LONG], 1, /no scratch folder/]);
  assert.equal((await cli(['backup', 'verify', 'plain', '--scratch', '.'])).code, 0);
  assert.equal((await cli(['backup', 'verify', 'plain'], { env: { TMPDIR: '' } })).code, 0);
  const back = (args, env = {}) => runSouk(['backup', 'restore', 'plain', ...args], { cwd: database.dir, env });
  const here = await back(['--db', 'one.db'], { SOUK_KEY: '0'.repeat(64) });
  assert.equal(here.code, 0, here.stderr);
  assert.doesNotMatch(here.stderr, /master key is still needed/);
  fs.writeFileSync(file('given.key'), '0'.repeat(64));
  assert.doesNotMatch((await back(['--db', 'two.db', '--key-file', 'given.key'])).stderr, /still needed/);
  assert.match((await back(['--db', 'three.db'])).stderr, /still needed/);
});

test('texts that are not UTF-8', () => {
  const shell = (words) =>
    spawnSync('sh', ['-c', `bad=$(printf 'a\\377'); exec "$0" ${words} --db "$1"`, BINARY, database.dbArg], {
      encoding: 'utf8',
    });
  for (const [words, message] of [
    ['account create --email "$bad@example.com"', /--email wants/],
    ['account create --email a@example.com --name "$bad"', /--name wants/],
    ['token create --email owner@example.com --name "$bad"', /--name wants/],
    ['wallet credit --email owner@example.com --amount 1 --description "$bad"', /--description wants/],
    ['init --store-name "$bad"', /--store-name wants/],
  ]) {
    const run = shell(words);
    assert.equal(run.status, 2, words);
    assert.match(run.stderr, message);
  }
});

test('the config file: a line that is none, and an option that belongs to a command', async () => {
  fs.writeFileSync(file('config'), '# a comment\n\nloops 3\n');
  await refuses([['check', '--config', 'config'], 2, /config, line 3: there is no option 'loops 3'/]);
  fs.writeFileSync(file('config'), 'email = a@example.com\n');
  await refuses([['check', '--config', 'config'], 2, /there is no option 'email'/]);
  await refuses([['check', '--config', 'nowhere'], 2, /cannot read the config file/]);
  fs.writeFileSync(file('config'), 'log-requests = 0\nsmtp-plain = false\nwebhook-private-ok = 1\n');
  const shown = await cli(['config', 'show', '--config', 'config']);
  assert.match(shown.stdout, /^log-requests = false {2}# .*file/m);
  assert.match(shown.stdout, /^smtp-plain = false/m);
  assert.match(shown.stdout, /^webhook-private-ok = true/m);
  const elsewhere = await runSouk(['config', 'show', '--db', 'postgresql://u:secret@host/x']);
  assert.match(elsewhere.stdout, /^db = postgresql:\/\/\*\*\*@host\/x/m);
  assert.equal((await runSouk(['config', 'show', '--db', 'mysql://x'])).code, 2);
});

test('a master key that systemd hands over wins; without one, in a place that is too long or at home, the usual place', async () => {
  const check = (env) => cli(['check'], { env });
  fs.mkdirSync(file('credentials'));
  for (const folder of ['', file('credentials'), LONG])
    assert.equal((await check({ CREDENTIALS_DIRECTORY: folder })).code, 0);
  fs.writeFileSync(file('credentials/master.key'), `${'0'.repeat(64)}\n`, { mode: 0o600 });
  assert.match(
    (await cli(TOKEN, { env: { CREDENTIALS_DIRECTORY: file('credentials') } })).stderr,
    /another master key/,
  );
  await refuses([['check', '--key-file', LONG], 1, /master key is too long/]);
  await refuses([['check', '--data', LONG, '--key-file', 'k'], 1, /cannot make the data folder/]);
  await refuses([['check', '--data', 'empty/x', '--key-file', 'k'], 1, /cannot make the data folder/]);
});

test('a store is made once: its currency stays when there is money, and another program keeps its tables', async () => {
  assert.equal((await cli(['init', '--currency', 'eur', '--store-name', 'Souk'])).code, 0);
  assert.equal((await cli(CREDIT)).code, 0);
  await refuses([['init', '--currency', 'JPY'], 1, /currency can no longer be changed/]);
  await refuses([
    ['wallet', 'credit', '--email', 'owner@example.com', '--amount', '92233720368547758.07'],
    1,
    /cannot hold/,
  ]);
  const foreign = freshDatabase('sqlite');
  try {
    spawnSync('sqlite3', [foreign.dbArg, 'CREATE TABLE theirs (a)']);
    const at = (args) => runSouk([...args, '--db', foreign.dbArg], { cwd: foreign.dir });
    for (const args of [['init'], ['check'], ['demo']]) assert.match((await at(args)).stderr, /another program/);
    assert.match((await at(['doctor'])).stdout, /belongs to another program\. Give souk a database of its own/);
  } finally {
    foreign.remove();
  }
});

test('lines of a CSV file that cannot be imported: a thousand are told, and how many more', async () => {
  const bad = (text, from = []) => cli(['import', 'products', '-', ...from], { input: text });
  const many = `slug,name,price,delivery_type\n${'a,b\n'.repeat(1003)}`;
  const run = await bad(many);
  assert.equal(run.code, 1);
  assert.match(run.stdout, /and \d+ more\n$/);
  assert.match((await bad('slug,colour\n')).stdout, /a column that this kind of import does not have/);
  assert.match((await bad(Buffer.from([0xff, 0x0a]))).stdout, /a column that this kind/);
  assert.match((await bad('a,b\n1,2\n', ['--from', 'dujiaoka'])).stdout, /names none of the columns/);
  assert.match((await bad('')).stdout, /the file is empty/);
  const latin = Buffer.from('slug,name,price,delivery_type\nx,Caf\xe9,1.00,license_key\n', 'latin1');
  assert.equal((await bad(latin)).code, 1);
  assert.equal((await bad('slug,name,price,delivery_type\n', ['--dry-run'])).code, 0);
  assert.match((await bad('\n'.repeat(1_000_001))).stderr, /more than 1000000 lines: import it in parts/);
  const lines = await bad('slug,name,price,delivery_type\nx,"a\r\nb",1.00,license_key\ny,"a\nb",1.00,license_key\n');
  assert.equal(lines.code, 1); // a name is one line
});

test('a key whose path is too long, and a data folder for which there is none: the doctor goes on, and so does a backup', async () => {
  assert.match((await cli(['doctor', '--key-file', LONG])).stderr, /master key is too long/);
  assert.equal((await cli(['backup', 'create', '--to', 'far', '--data', LONG])).code, 0);
});

test('a store that breaks a rule is not moved as if nothing were wrong', async () => {
  const store = freshStore('sqlite', 'owner');
  try {
    const run = (args) => runSouk(args, { cwd: store.dir });
    const spoil = 'UPDATE ledger_account SET balance = balance + 1 WHERE id = (SELECT min(id) FROM ledger_account)';
    assert.equal(spawnSync('sqlite3', [store.dbArg, spoil]).status, 0);
    const moved = await run(['move', '--from', store.dbArg, '--to', 'moved.db']);
    assert.equal(moved.code, 1);
    assert.match(moved.stderr, /the moved store breaks a rule/);
    const backup = await run(['backup', 'create', '--to', 'broken.souk', '--verify', '--db', store.dbArg]);
    assert.equal(backup.code, 1);
    assert.match(backup.stderr, /the backup was made, and is not good: .*breaks a rule/);
    assert.equal((await run(['token', 'create', '--email', 'owner@example.com', '--db', store.dbArg])).code, 0);
    assert.equal(spawnSync('sqlite3', [store.dbArg, 'DELETE FROM account']).status, 0); // the token stays
    const dangling = await run(['move', '--from', store.dbArg, '--to', 'dangling.db']);
    assert.equal(dangling.code, 1);
    assert.match(dangling.stderr, /a row of the table \w+ refers to one that is not there/);
  } finally {
    store.remove();
  }
});

test('an export to a disk that is full says so', async () => {
  assert.equal((await cli(['import', 'products', 'products.csv'])).code, 0);
  for (const kind of ['products', 'customers']) {
    const out = fs.openSync('/dev/full', 'w');
    const run = spawnSync(BINARY, ['export', kind, '--db', database.dbArg], {
      encoding: 'utf8',
      stdio: ['ignore', out, 'pipe'],
    });
    fs.closeSync(out);
    assert.equal(run.status, 1);
    assert.match(run.stderr, /could not be written: No space left/);
  }
});

test('a store that this program cannot serve: the doctor says what it is, and commands do not touch it', async () => {
  const states = [
    [
      'DELETE FROM schema_migration WHERE version = (SELECT max(version) FROM schema_migration)',
      /has schema \d+, this program needs/,
      1,
    ],
    ["UPDATE schema_migration SET hash = 'x' WHERE version = 1", /made by another build/, 1],
    [
      "INSERT INTO schema_migration SELECT max(version) + 1, 'next', 'x', 1, 1 FROM schema_migration",
      /a step ahead of this program/,
      0,
    ],
    ['CREATE TABLE load_journal (a)', /restore or a move into this database was not finished/, 1],
    ['DROP TABLE schema_migration', /tables belong to another program/, 1],
    ["DELETE FROM setting WHERE name = 'key_fingerprint'", /does not say which master key/, 0],
    [
      "UPDATE setting SET value = 'x' WHERE name = 'key_fingerprint'",
      /not the one that this database was made with/,
      0,
    ],
    [
      'INSERT INTO backup (name, bytes, row_count, made_at, verified_at) VALUES' +
        ` ('old', 1, 1, ${Date.now() - 40 * 86400000}, 1), ('new', 1, 1, ${Date.now()}, NULL)`,
      /no recent one was proven to be good/,
      0,
    ],
  ];
  for (const [sql, finding, code] of states) {
    const store = freshStore('sqlite');
    try {
      assert.equal(spawnSync('sqlite3', [store.dbArg, sql]).status, 0, sql);
      const run = (args) => runSouk([...args, '--db', store.dbArg], { cwd: store.dir });
      assert.match((await run(['doctor'])).stdout, finding);
      assert.equal((await run(['check'])).code, code, sql);
    } finally {
      store.remove();
    }
  }
});

test('a file that is no database, or a damaged one', async () => {
  const store = freshStore('sqlite');
  try {
    const run = (args) => runSouk([...args, '--db', store.dbArg], { cwd: store.dir });
    const bytes = fs.readFileSync(store.dbArg);
    fs.writeFileSync(store.dbArg, bytes.fill(0xff, 100)); // the head is whole
    assert.match((await run(['doctor'])).stdout, /broken {2}database: /);
    assert.equal((await run(['check'])).code, 1);
    fs.writeFileSync(store.dbArg, 'once upon a time');
    assert.match((await run(['doctor'])).stdout, /broken {2}database: .*is not a SQLite database/);
    assert.equal((await run(['check'])).code, 1);
    fs.writeFileSync(store.dbArg, '');
    const empty = await run(['check']);
    assert.deepEqual([empty.code, /there is no database at/.test(empty.stderr)], [1, true], empty.stderr);
    assert.equal(fs.statSync(store.dbArg).size, 0);
  } finally {
    store.remove();
  }
});

test('the doctor about mail: an address that is none, and a server that wants no login', async () => {
  const mail = (...args) => cli(['doctor', '--smtp-url', ...args]);
  assert.match((await mail('smtp://127.0.0.1:1', '--mail-from', 'nobody')).stdout, /--mail-from is not an address/);
  assert.match((await mail('smtp://127.0.0.1:1', '--mail-from', 'a@example.com')).stdout, /does not let us in/);
});

/** Runs `souk serve` in a shell that sets the scene; gives {code, stderr} when it has ended, which SIGINT asks for once it serves. */
function serve(scene, args) {
  return new Promise((resolve) => {
    const words = ['serve', '--listen', '127.0.0.1:0', '--db', database.dbArg, ...args];
    const child = spawn('sh', ['-c', `${scene} exec "$0" "$@"`, BINARY, ...words], {
      cwd: database.dir,
      env: { ...process.env, ...database.env },
    });
    let stderr = '';
    child.stderr.on('data', (part) => {
      stderr += part;
      if (/event="listening"/.test(part)) child.kill('SIGINT');
    });
    child.on('close', (code) => resolve({ code, stderr }));
  });
}

test('serving in odd surroundings: what a supervisor hands over, and places that cannot be written', async () => {
  const scenes = [
    ['LISTEN_PID=$$ LISTEN_FDS=2', [], 1, /2 sockets were handed over/],
    ['exec 3<&-; LISTEN_PID=$$ LISTEN_FDS=1', [], 1, /handed over cannot be used/],
    ['exec 3</dev/null; LISTEN_PID=$$ LISTEN_FDS=1', ['--cheap-passwords'], 2, /--cheap-passwords is for test runs/],
    ['NOTIFY_SOCKET=@souk-nobody-listens WATCHDOG_USEC=3000', [], 0, /event="supervisor_not_told"/],
    ['', ['--port-file', 'nowhere/port'], 1, /cannot write the port file/],
    ['', ['--port-file', LONG], 1, /cannot write the port file/],
    [`NOTIFY_SOCKET=${'n'.repeat(200)} WATCHDOG_USEC=x`, ['--tokens-max', '0'], 0, /event="stopped"/],
    [
      'WATCHDOG_USEC=1000 WATCHDOG_PID=1',
      ['--cors-origins', ` ,${'https://a.example,'.repeat(40)}`],
      0,
      /event="stopped"/,
    ],
    ['WATCHDOG_USEC=1', ['--control-socket', LONG], 0, /event="stopped"/],
    ['WATCHDOG_USEC=99999999999', ['--control-socket', 'control.sock'], 0, /event="stopped"/],
    ['NOTIFY_SOCKET=nowhere', ['--control-socket', '/nowhere/control.sock'], 0, /control_socket_missing/],
  ];
  for (const [scene, args, code, message] of scenes) {
    const ended = await serve(scene, args);
    assert.equal(ended.code, code, `${scene} ${args}\n${ended.stderr}`);
    assert.match(ended.stderr, message);
  }
});
