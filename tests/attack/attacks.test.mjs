// Every attack in short: what it can take is bounded, and good clients are answered all the while.
// runs: sqlite release
import assert from 'node:assert/strict';
import { test } from 'node:test';
import bodies from './bodies.mjs';
import cart from './cart.mjs';
import keys from './keys.mjs';
import { MIB, attack } from './lib.mjs';
import logins from './logins.mjs';
import pipelining from './pipelining.mjs';
import silent from './silent.mjs';
import tokens from './tokens.mjs';
import unread from './unread.mjs';

/** The server may grow by so much, whatever it is sent; the caps of docs/decisions/0026 are far larger or do not apply. */
async function survives(a, grows_max) {
  const result = await attack(a, 'short');
  assert.ok(result.answered > 0, 'no good client was answered');
  assert.ok(result.grew < grows_max, `grew by ${Math.round(result.grew / MIB)} MiB`);
  return result;
}

test(pipelining.what, () => survives(pipelining, 24 * MIB));

test(bodies.what, async () => {
  const { figures } = await survives(bodies, 24 * MIB);
  assert.equal(figures['still open'], 0, 'refused before the body was read');
});

test(silent.what, async () => {
  const { asked, answered, figures } = await survives(silent, 32 * MIB);
  assert.equal(answered, asked, 'every good request is answered');
  assert.ok(figures['still open'] <= 512, `${figures['still open']} of one address are open`);
});

test(unread.what, async () => {
  const { asked, answered } = await survives(unread, 64 * MIB);
  assert.equal(answered, asked);
});

test(tokens.what, async () => {
  const { figures } = await survives(tokens, 24 * MIB);
  assert.ok(
    figures['calls passed'] >= 95 && figures['calls passed'] <= 125,
    `${figures['calls passed']} of 240 calls passed`,
  );
});

test(logins.what, async () => {
  const { figures } = await survives(logins, 160 * MIB); // four threads with up to 19 MiB each for argon2
  assert.equal(figures['good login'], 200);
});

test(cart.what, async () => {
  const { figures } = await survives(cart, 24 * MIB);
  assert.equal(figures['checkout status'], 422);
  assert.equal(figures['other order'], 200);
});

test(keys.what, async () => {
  const { figures } = await survives(keys, 64 * MIB);
  assert.equal(figures['first key again'], 409);
});
