// kill -9 under load: what was acknowledged is there afterwards, and nothing is there twice.
// release: sqlite
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { dataOf } from '../api/lib/http.mjs';
import { SLOW, startSouk, together } from '../api/lib/souk.mjs';

const CLIENTS = 64;
const ROUNDS = SLOW > 1 ? 2 : 4;
const password = 'correct horse battery';

test(`kill -9 while ${CLIENTS} clients register and make tokens, ${ROUNDS} times`, async () => {
  const souk = await startSouk();
  const owners = await together(8, 8, () => souk.customer());
  const acknowledged = { accounts: new Map(), tokens: new Map() };
  const unanswered = [];
  let serial = 0;

  const acknowledge = (request, answer) => {
    const where = request.body.email ? acknowledged.accounts : acknowledged.tokens;
    where.set(request.body.email ?? request.body.name, { request, data: answer.json.data, text: answer.text });
  };
  /** One client: keeps a log of what it asked for and what was acknowledged, like a careful shop would. */
  const client = async (number, round, isOver) => {
    while (!isOver()) {
      serial += 1;
      const key = `k-${round}-${number}-${serial}`;
      // Where passwords cost what they should, a few clients are enough for registrations.
      const register = number < 6;
      const body = register ? { email: `${key}@example.com`, password } : { name: key };
      const request = {
        path: register ? '/api/auth/register' : '/api/customer/tokens',
        body,
        options: { headers: { 'Idempotency-Key': key }, token: register ? undefined : owners[number % 8].token },
      };
      try {
        const answer = await souk.post(request.path, request.body, request.options);
        assert.ok([201, 503].includes(answer.status), `${answer.status} ${answer.text}`);
        if (answer.status === 201) acknowledge(request, answer);
        else unanswered.push(request);
      } catch (e) {
        if (e.name === 'AssertionError') throw e;
        unanswered.push(request);
        return;
      }
    }
  };

  for (let round = 0; round < ROUNDS; round++) {
    let over = false;
    const clients = Promise.all(Array.from({ length: CLIENTS }, (_, i) => client(i, round, () => over)));
    // Everything acknowledged is looked at afterwards: when there is enough of it the kill comes at once.
    const { accounts, tokens } = acknowledged;
    const isEnough = () => accounts.size > 4 * (round + 1) && tokens.size > 100 * (round + 1);
    const deadline = Date.now() + (300 + 150 * round) * Math.min(SLOW, 3);
    while (!isEnough() && Date.now() < deadline) await sleep(5);
    await souk.kill9();
    over = true;
    await clients;
    await souk.restart();
  }
  assert.ok(acknowledged.tokens.size > 100, `only ${acknowledged.tokens.size} tokens were made`);
  assert.ok(acknowledged.accounts.size > 3, `only ${acknowledged.accounts.size} accounts were made`);
  assert.ok(unanswered.length > 0, 'no kill hit a running request: the test is too gentle');

  // Every acknowledged effect is there, and its key still gives the same answer.
  const check = async ({ request, data, text }) => {
    const me = dataOf(await souk.get(data.account ? '/api/auth/me' : '/api/customer/wallet', { token: data.token }));
    if (data.account) assert.equal(me.id, data.account.id);
    const again = await souk.post(request.path, request.body, request.options);
    assert.equal(again.status, 201, again.text);
    assert.equal(again.text, text, 'a replay with other bytes');
  };
  const all = [...acknowledged.accounts.values(), ...acknowledged.tokens.values()];
  await together(all.length, 32, (i) => check(all[i]));

  // What was not answered is sent again with its key: one effect each, whether or not the first try had one.
  await together(unanswered.length, 16, async (i) => {
    const answer = await souk.post(unanswered[i].path, unanswered[i].body, unanswered[i].options);
    assert.equal(answer.status, 201, answer.text);
    acknowledge(unanswered[i], answer);
  });
  const names = [];
  for (const owner of owners) {
    let target = '/api/customer/tokens?limit=100';
    while (target) {
      const answer = await souk.get(target, { token: owner.token });
      names.push(
        ...dataOf(answer)
          .filter((t) => t.kind === 'api')
          .map((t) => t.name),
      );
      target = answer.headers.link ? /^<([^>]+)>/.exec(answer.headers.link)[1] : null;
    }
  }
  assert.equal(new Set(names).size, names.length, 'a token was made twice');
  assert.deepEqual(new Set(names), new Set(acknowledged.tokens.keys()));
  await souk.stop();
});
