// Commands whose n-th call of the system fails, as on a disk that is full or broken, or without descriptors or memory: each ends by
// itself, says why, leaves no half-written file behind and a store whose rules hold. Interrupted calls are made again.
// runs: sqlite release
//
// In the test run some calls of some commands are failed; with SOUK_FAULTS=1 (./dev coverage) all of all, in each way there is, and on
// a store with product files.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { COMMANDS, commandShop, onlyReads } from './lib/commands.mjs';
import { HAS_FAULTS } from './lib/faults.mjs';
import { SLOW, Souk } from './lib/souk.mjs';
import { BUILD } from '../lib/build.mjs';

const SHIM = path.join(BUILD, 'tests/faults/faulty_calls.so');
/** The shim's enum how. */
const HOW = { 'with an error': 1, interrupted: 2, 'at its end': 4, unknown: 8, 'on the disk': 16 };
/** Without memory or threads the process ends where it stands (decision 0063), with one of these. */
const AT_ONCE = /souk: (out of memory|libcurl cannot be used|a thread cannot be started: .*)\n$/;
/** A server makes calls for as long as it lives: these are the ones of its start, a request, a command and its end. */
const CALLS_MAX = 400;
/** As systemd has it. */
const SUPERVISED = { NOTIFY_SOCKET: '@souk-failing-calls', WATCHDOG_USEC: '40000' };
/** What the test run has of it: of these, every so-manyth call that makes what was written last. */
const SAMPLED = { 'backup create': 1, 'backup restore': 3, 'backup keygen': 1, 'export all': 41 };

/** The shim's numbers: see faulty_calls.c. */
class FaultyCalls {
  constructor(dir, how) {
    this.file = path.join(dir, 'calls');
    this.how = how;
  }
  environment(n) {
    const bytes = Buffer.alloc(12);
    bytes.writeInt32LE(n, 0);
    bytes.writeInt32LE(this.how, 8);
    fs.writeFileSync(this.file, bytes);
    return { FAULTY_CALLS: this.file, LD_PRELOAD: SHIM };
  }
  failed() {
    return fs.readFileSync(this.file).readInt32LE(4) > 0;
  }
}

/** Names of what a command has begun and not finished, below the folder. */
function litter(dir) {
  return fs.readdirSync(dir, { recursive: true }).filter((name) => /\.part$|\.new$|souk-verify-/.test(name));
}

/** Runs the command with its n-th call failing, on a store of its own; false: it has fewer calls. */
async function failAt(command, how, n) {
  const { words, input = '', empty = false, leaves = null } = command;
  const shop = await commandShop({ ...command, full: HAS_FAULTS && command.full });
  const at = `call ${n} of souk ${words.join(' ')}`;
  try {
    const calls = new FaultyCalls(shop.dir, HOW[how]);
    const { code, signal, stdout, stderr } = await shop.run(words, calls.environment(n), input);
    if (!calls.failed()) return false;
    const isAtOnce = signal === 'SIGABRT' && AT_ONCE.test(stderr);
    if (!isAtOnce) {
      assert.equal(signal, null, `${at}: ended by ${signal}\n${stderr}`);
      assert.deepEqual(litter(shop.dir), [], `${at}\n${stderr}`);
    }
    if (code !== 0) assert.match(stdout + stderr, /\S/, `${at}: it does not say why`);
    if (leaves && !isAtOnce)
      assert.equal(fs.existsSync(path.join(shop.dir, leaves)), code === 0, `${at}: ${leaves}\n${stderr}`);
    if (leaves?.endsWith('.souk') && code === 0)
      assert.equal((await shop.run(['backup', 'verify', leaves])).code, 0, at);
    if (!empty && !onlyReads(command)) assert.equal((await shop.run(['check'])).code, 0, `${at}: the store is broken`);
    return true;
  } finally {
    shop.remove();
  }
}

/**
 * Starts a server whose n-th call fails, sends it a request and a command, and ends it; false: it has fewer calls until then. It
 * serves, or has said why it does not.
 */
async function failServing(how, n) {
  const shop = await commandShop();
  const calls = new FaultyCalls(shop.dir, HOW[how]);
  const souk = new Souk({ database: { ...shop.database, remove() {} }, env: SUPERVISED, faults: false });
  try {
    Object.assign(souk.env, calls.environment(n));
    const started = await souk.start().then(
      () => true,
      (e) => assert.match(e.message, /souk: |level="(warn|error)"/, `call ${n}: it does not say why\n${e.message}`),
    );
    if (started) {
      await souk.get('/livez', { unchecked: true }).catch(() => {});
      const { code, stderr } = await shop.run(['wallet', 'credit', '--email', 'owner@example.com', '--amount', '1']);
      if (code !== 0) assert.match(stderr, /\S/, `call ${n}: the command does not say why`);
      await souk.stop();
    }
    assert.deepEqual(litter(shop.dir), [], `call ${n}\n${souk.stderr}`);
    assert.equal((await shop.run(['check'])).code, 0, `call ${n}: the store is broken`);
    return calls.failed();
  } finally {
    shop.remove();
  }
}

for (const command of COMMANDS.filter(({ name }) => HAS_FAULTS || SAMPLED[name])) {
  const stride = HAS_FAULTS ? 1 : SAMPLED[command.name];
  for (const how of HAS_FAULTS ? Object.keys(HOW).slice(0, 4) : ['on the disk']) {
    test(
      `souk ${command.name}: a call fails ${how}`,
      { skip: SLOW > 1 && 'the sanitizers have calls of their own' },
      async (t) => {
        let n = 1;
        while (n < (command.most ?? Infinity) && (await failAt(command, how, n))) n += stride;
        t.diagnostic(`up to call ${n}`);
      },
    );
  }
}

for (const how of ['with an error', 'interrupted'])
  test(`souk serve: a call fails ${how}`, { skip: !HAS_FAULTS && 'in ./dev coverage' }, async (t) => {
    let n = 1;
    while (n < CALLS_MAX && (await failServing(how, n))) n += 1;
    t.diagnostic(`up to call ${n}`);
  });
