// The commands of the README and the guides, run unchanged except for ports, folders and keys: each succeeds. The line for a move
// is run in move.test.mjs, the parts for proxies in proxies.test.mjs.
// runs: sqlite release
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from './lib/port.mjs';
import { BINARY, freshDatabase, runSouk, startSouk } from './lib/souk.mjs';

const README = fs.readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8');

/** The shell lines behind a sentence or heading. */
function linesBehind(words) {
  const rest = README.slice(README.indexOf(words));
  const block = /```sh\n([\s\S]*?)```/.exec(rest);
  assert.ok(README.includes(words) && block, words);
  return block[1];
}

/** A folder in which `curl` writes down every answer. */
function folder(t) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-readme-'));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  fs.mkdirSync(path.join(dir, 'bin'));
  fs.writeFileSync(
    path.join(dir, 'bin/curl'),
    `#!/bin/sh\nPATH=/usr/bin:/bin curl "$@" >'${dir}/answer' || exit\ntee -a '${dir}/answers' <'${dir}/answer'\nprintf '\\n' >>'${dir}/answers'\n`,
    { mode: 0o755 },
  );
  fs.mkdirSync(path.join(dir, 'build'));
  fs.symlinkSync(BINARY, path.join(dir, 'build/souk'));
  return dir;
}

/** The blocks of shell lines in a guide. */
function blocksOf(guide) {
  const text = fs.readFileSync(new URL(`../../docs/${guide}.md`, import.meta.url), 'utf8');
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, lines]) => lines);
}

/** What lines that end with a server say on stderr until the server listens; then it is ended. */
async function saidUntilListening(dir, script, more = {}) {
  // dash replaces itself by the last command only with exec: the server is the shell's child, in a group of its own.
  const shell = spawn('sh', ['-eu', '-c', script], { cwd: dir, detached: true, env: environment(dir, more) });
  let said = '';
  let hasEnded = false;
  shell.stderr.on('data', (bytes) => {
    said += bytes;
  });
  const closed = once(shell, 'close').then(() => (hasEnded = true));
  for (let i = 0; i < 400 && !hasEnded && !said.includes('event="listening"'); i++) await sleep(50);
  if (!hasEnded) process.kill(-shell.pid, 'SIGTERM');
  await closed;
  assert.match(said, /event="listening"/);
  return said;
}

const environment = (dir, more = {}) => ({ PATH: `${dir}/bin:/usr/bin:/bin`, HOME: dir, ...more });

test('first requests: every call of the README succeeds on the demo shop', async (t) => {
  const dir = folder(t);
  const database = freshDatabase();
  t.after(() => database.remove());
  const demo = await runSouk(['demo', '--db', database.dbArg], { cwd: database.dir, env: database.env });
  assert.equal(demo.code, 0, demo.stderr);
  fs.mkdirSync(path.join(dir, '.souk'));
  fs.writeFileSync(path.join(dir, '.souk/demo.txt'), demo.stdout);
  const souk = await startSouk({ t, database });

  const script = linesBehind('## First requests').replace('http://127.0.0.1:8080', souk.url);
  const run = spawnSync('sh', ['-eu'], { cwd: dir, input: script, encoding: 'utf8', env: environment(dir) });
  assert.equal(run.status, 0, run.stderr);
  const answers = fs
    .readFileSync(path.join(dir, 'answers'), 'utf8')
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  assert.equal(answers.length, (script.match(/^(\w+=\$\()?curl /gm) ?? []).length);
  for (const answer of answers) assert.equal(answer.status, 'success', JSON.stringify(answer));
  assert.equal(answers.at(-1).message, 'License is valid');
});

test('the restore drill: every command succeeds beside the running demo shop', async (t) => {
  const dir = folder(t);
  fs.mkdirSync(path.join(dir, '.souk'));
  const database = { engine: 'sqlite', dir, dbArg: path.join(dir, '.souk/demo.db'), env: {}, remove() {} };
  const demo = await runSouk(['demo', '--db', database.dbArg], { cwd: dir });
  assert.equal(demo.code, 0, demo.stderr);
  await startSouk({ t, database });
  const script = linesBehind('## A restore drill');
  const run = spawnSync('sh', ['-eu'], { cwd: dir, input: script, encoding: 'utf8', env: environment(dir) });
  assert.equal(run.status, 0, run.stderr);
  assert.equal(run.stderr.match(/all \d+ checks passed/g).length, 3);
});

test('the guide to backups: sealed, with the key inside, plain, verified and restored, as it has the commands', async (t) => {
  const dir = folder(t);
  fs.symlinkSync(BINARY, path.join(dir, 'bin/souk'));
  const demo = await runSouk(['demo', '--db', path.join(dir, 'souk.db')], { cwd: dir });
  assert.equal(demo.code, 0, demo.stderr);
  fs.copyFileSync(path.join(dir, 'souk.db.d/master.key'), path.join(dir, 'master.key'));
  fs.writeFileSync(path.join(dir, 'passphrase.txt'), 'correct horse battery staple\n', { mode: 0o600 });
  const [plain, withKey, sealed, schedule, restored] = blocksOf('backup');
  const again = 'rm -f souk-monday.souk\n';
  const script =
    sealed.replace(/(keygen --to \S+).*/, '$1 >public').replaceAll('soukpub1…', '"$(cat public)"') +
    again +
    withKey +
    again +
    plain +
    restored;
  const run = spawnSync('sh', ['-eux'], { cwd: dir, input: script, encoding: 'utf8', env: environment(dir) });
  assert.equal(run.status, 0, run.stderr);
  assert.equal(run.stderr.match(/^\+ souk /gm).length, 7, run.stderr);

  const hook = path.join(dir, 'bin/upload-backup');
  fs.writeFileSync(hook, '#!/bin/sh\n', { mode: 0o755 });
  const scheduled = schedule
    .replace('/var/backups/souk', path.join(dir, 'backups'))
    .replace('soukpub1…', '"$(cat public)"')
    .replace('/usr/local/bin/upload-backup', hook);
  fs.mkdirSync(path.join(dir, 'backups'));
  await saidUntilListening(dir, scheduled, { SOUK_LISTEN: '127.0.0.1:0' });
});

test('the guide to operations: a store with a base address behind a proxy', async (t) => {
  const dir = folder(t);
  fs.symlinkSync(BINARY, path.join(dir, 'bin/souk'));
  const [install] = blocksOf('operations');
  assert.equal(install.match(/\/var\/lib\/souk\/|127\.0\.0\.1:8080/g).length, 3);
  const said = await saidUntilListening(
    dir,
    install.replaceAll('/var/lib/souk/', `${dir}/`).replace('127.0.0.1:8080', '127.0.0.1:0'),
  );
  assert.match(said, /https:\/\/shop\.example\.com\/admin\/#setup=/);
});

test('a store of your own: init and serve as the README has them print the link for the owner', async (t) => {
  const dir = folder(t);
  const script = linesBehind('For a store of your own').replace(/^\.\/dev build.*\n/, '');
  const said = await saidUntilListening(dir, script, { SOUK_LISTEN: '127.0.0.1:0' });
  assert.match(said, /http:\/\/127\.0\.0\.1:\d+\/admin\/#setup=/);
});

test('the quickstart and the guide to checking a licence: from nothing to a signed verdict, all lines in one shell', async (t) => {
  const dir = folder(t);
  fs.symlinkSync(BINARY, path.join(dir, 'bin/souk'));
  const port = await freePort();
  const quickstart = blocksOf('quickstart');
  const script = [...quickstart.slice(0, -1), ...blocksOf('checking-a-licence'), quickstart.at(-1)].join('');
  assert.equal(script.match(/127\.0\.0\.1:8080/g).length, 2);
  // The server is the shell's child: it goes with the group when a line fails.
  const shell = spawn('sh', ['-eu', '-c', script.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)], {
    cwd: dir,
    detached: true,
    env: environment(dir),
  });
  let said = '';
  shell.stdout.on('data', (bytes) => (said += bytes));
  shell.stderr.on('data', (bytes) => (said += bytes));
  const late = setTimeout(() => process.kill(-shell.pid, 'SIGKILL'), 120000);
  const [code] = await once(shell, 'exit');
  clearTimeout(late);
  if (code !== 0) {
    try {
      process.kill(-shell.pid, 'SIGKILL');
    } catch {
      // all of them have ended
    }
  }
  assert.equal(code, 0, said);
  const answers = fs.readFileSync(path.join(dir, 'answers'), 'utf8').trim().split('\n').filter(Boolean);
  assert.equal(JSON.parse(answers.at(-1)).message, 'License is valid');
  assert.equal(answers.filter((line) => /^signature: sig1=:/i.test(line)).length, 1);
});
