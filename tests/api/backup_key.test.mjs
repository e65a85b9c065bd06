// The master key in a backup. Its passphrase is hashed at the real cost: the release build alone does that, once.
// runs: sqlite release
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { openOffice } from './lib/admin.mjs';
import { freshDatabase, runSouk } from './lib/souk.mjs';

test('the master key is inside only when asked for, and comes out only with its passphrase', async (t) => {
  const office = await openOffice();
  t.after(() => office.stop());
  const { dir, dbArg } = office.database;
  const fileOf = (name) => path.join(dir, name);
  const souk = async (code, args) => {
    const run = await runSouk(args, { cwd: dir });
    assert.equal(run.code, code, `souk ${args.join(' ')}: ${run.code}\n${run.stdout}${run.stderr}`);
    return run.stderr;
  };
  const create = async (name, args = []) => {
    await souk(0, ['backup', 'create', '--db', dbArg, '--to', fileOf(name), ...args]);
    return fileOf(name);
  };
  const nowhere = () => {
    const database = freshDatabase();
    t.after(() => database.remove());
    const dataDir = path.join(database.dir, 'restored');
    return { db: database.dbArg, dataDir, args: ['--db', database.dbArg, '--data', dataDir] };
  };
  const key = fs.readFileSync(`${dbArg}.d/master.key`, 'utf8').trim();
  const [right, wrong] = ['right', 'wrong'].map((word) => fileOf(`${word}.txt`));
  fs.writeFileSync(right, 'a long passphrase\n');
  fs.writeFileSync(wrong, 'another one\n');
  const made = await create('key.souk', ['--key-passphrase-file', right]);
  for (const form of [Buffer.from(key), Buffer.from(key, 'hex')]) assert.ok(!fs.readFileSync(made).includes(form));
  const place = nowhere();
  const restore = ['backup', 'restore', made];
  const refused = await souk(1, [...restore, '--key-passphrase-file', wrong, ...place.args]);
  assert.match(refused, /passphrase is wrong/);
  assert.ok(!fs.existsSync(place.db), 'nothing was made');
  await souk(0, [...restore, '--key-passphrase-file', right, ...place.args]);
  assert.equal(fs.readFileSync(path.join(place.dataDir, 'master.key'), 'utf8').trim(), key);
  const without = nowhere();
  const plain = await create('plain.souk');
  assert.match(
    await souk(1, ['backup', 'restore', plain, '--key-passphrase-file', right, ...without.args]),
    /no master key/,
  );
  await souk(0, [...restore, ...without.args]);
  assert.ok(!fs.existsSync(path.join(without.dataDir, 'master.key')), 'it stays sealed');
});
