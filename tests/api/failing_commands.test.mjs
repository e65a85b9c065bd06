// Commands on a database that fails at their n-th statement: each says so, ends with an error and leaves a store whose rules hold.
// runs: failing
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMANDS, commandShop, onlyReads } from './lib/commands.mjs';
import { Faults } from './lib/faults.mjs';
import { BUILD } from '../lib/build.mjs';

/** So many statements are failed one by one; then only some, up to STATEMENTS_MAX. */
const ONE_BY_ONE = 400;
const STATEMENTS_MAX = 5000;
/** These have no statement. */
const WITHOUT = ['backup keygen'];

function next(n) {
  return n < ONE_BY_ONE ? n + 1 : Math.ceil(n * 1.02);
}

for (const command of COMMANDS.filter(({ name }) => !WITHOUT.includes(name))) {
  const { name, words, input = '', from = 1, most = STATEMENTS_MAX, empty = false } = command;
  test(`souk ${name}`, async (t) => {
    let failed = 0;
    for (let n = from; n < most; n = next(n)) {
      const shop = await commandShop(command);
      try {
        const faults = new Faults(shop.dir);
        faults.order(n);
        const { code, signal, stdout, stderr } = await shop.run(words, faults.environment(BUILD), input);
        assert.equal(signal, null, `${n}: ended by ${signal}\n${stderr}`);
        if (faults.order(0) === 0) break; // it has fewer statements
        failed += 1;
        if (code !== 0) assert.match(stdout + stderr, /\S/, `${n}: it does not say why`);
        if (!empty && !onlyReads(command))
          assert.equal((await shop.run(['check'])).code, 0, `${n}: the store is broken`);
      } finally {
        shop.remove();
      }
    }
    t.diagnostic(`${failed} failures`);
    assert.ok(failed > 0, 'nothing failed');
  });
}
