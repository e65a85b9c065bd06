// kill -9 while 64 clients are ordering, three times over; once under a sanitizer. bench/kill9.soak.mjs does it longer.
// release: sqlite pg
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SLOW } from '../api/lib/souk.mjs';
import { Kill9, checkLog } from './lib/kill9.mjs';

let kill9;

before(async () => {
  kill9 = await Kill9.open({ clients: SLOW > 1 ? 16 : 64 });
});
after(() => kill9.stop());

test('the check finds a lost order, a doubled one and a delivery that was made twice', () => {
  const entry = (order_id, ...values) => ({
    buyer: { id: 1 },
    body: { quantity: values.length },
    answer: JSON.stringify({
      data: { order_id, total: values.length * 0.07, deliveries: values.map((value) => ({ value })) },
    }),
  });
  const row = (...values) => ({ account: 1, status: 'confirmed', total: 7 * values.length, values });
  checkLog(
    new Map([
      ['a', entry(1, 'X')],
      ['b', entry(2, 'Y')],
    ]),
    new Map([
      ['1', row('X')],
      ['2', row('Y')],
    ]),
  );
  assert.throws(() => checkLog(new Map([['a', entry(1, 'X')]]), new Map()), /is not there/);
  assert.throws(
    () =>
      checkLog(
        new Map([
          ['a', entry(1, 'X')],
          ['b', entry(1, 'X')],
        ]),
        new Map([['1', row('X')]]),
      ),
    /two keys/,
  );
  assert.throws(
    () =>
      checkLog(
        new Map([
          ['a', entry(1, 'X')],
          ['b', entry(2, 'X')],
        ]),
        new Map([
          ['1', row('X')],
          ['2', row('X')],
        ]),
      ),
    /twice/,
  );
  assert.throws(() => checkLog(new Map([['a', entry(1, 'X')]]), new Map([['1', row('Y')]])), /another delivery/);
});

for (let round = 1; round <= (SLOW > 1 ? 1 : 3); round++) {
  test(`round ${round}: all that was acknowledged is there, all that was not happens once`, async (t) => {
    const { acknowledged, repeated } = await kill9.round();
    t.diagnostic(`${acknowledged} acknowledged before the kill, ${repeated} repeated after it`);
    assert.ok(acknowledged > 0);
  });
}
