// The first machine wins, and only the first.
// release: pg
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectStatus } from '../api/lib/http.mjs';
import { SLOW, together } from '../api/lib/souk.mjs';
import { openNodes } from './lib/nodes.mjs';

const CALLERS = 100;

let shop;
let ada;
let product;

before(async () => {
  shop = await openNodes();
  ada = await shop.buyer();
  product = shop.seed.product({ price: 1 });
});
after(() => shop.stop());

const verify = (license, hardware_id, i = 0) =>
  shop
    .any(i)
    .post(
      '/api/v1/license/verify',
      { license_key: license.key, product_id: product.id, hardware_id },
      { token: ada.token, timeout_ms: 60000 * SLOW },
    );

test('100 first verifications at once with 100 hardware ids: one wins and stays', async () => {
  const license = await shop.license(ada, product);
  for (let round = 0; round < 3; round++) {
    const answers = await together(CALLERS, CALLERS, (i) => verify(license, `hw-${round}-${i}`, i));
    const winners = answers.flatMap((a, i) => (a.status === 200 ? [i] : []));
    assert.equal(winners.length, 1, `${winners.length} machines were told that they are bound`);
    for (const a of answers.filter((_, i) => i !== winners[0])) {
      expectError(a, 403, 'hardware_mismatch', 'Hardware ID mismatch');
    }
    const bound = `hw-${round}-${winners[0]}`;
    assert.equal(answers[winners[0]].json.data.hardware_id, bound);
    for (const node of shop.nodes) {
      const body = { license_key: license.key, product_id: product.id };
      const again = await node.post('/api/v1/license/verify', { ...body, hardware_id: bound }, { token: ada.token });
      assert.equal(dataOf(again).hardware_id, bound);
      const untold = await node.post('/api/v1/license/verify', body, { token: ada.token });
      assert.equal('hardware_id' in dataOf(untold), false, 'who did not send it is not told');
    }
    shop.seed.update('license', license.id, { hardware_id: null, bound_at: null });
  }
});

test('100 first verifications of one machine all succeed', async () => {
  const license = await shop.license(ada, product);
  const answers = await together(CALLERS, CALLERS, (i) => verify(license, 'the-one', i));
  for (const a of answers) expectStatus(a, 200);
});

test('a licence that is revoked while it is verified is not bound afterwards', async () => {
  const boundTo = (id) => shop.seed.sql(`SELECT COALESCE(hardware_id, '-') FROM license WHERE id = ${id};`)[0][0];
  for (let round = 0; round < 3; round++) {
    const license = await shop.license(ada, product);
    const calls = Array.from({ length: 60 }, (_, i) => verify(license, `hw-${i}`, i));
    await Promise.race(calls);
    shop.seed.update('license', license.id, { status: 'revoked' });
    const bound = boundTo(license.id);
    const answers = await Promise.all(calls);
    assert.equal(boundTo(license.id), bound);
    const winners = answers.filter((a) => a.status === 200);
    assert.deepEqual(
      winners.map((a) => a.json.data.hardware_id),
      bound === '-' ? [] : [bound],
    );
    expectError(await verify(license, 'late'), 403, 'license_revoked', 'License is revoked');
  }
});

test('a change by another program is seen by every verification that begins after it, while others verify', async () => {
  const license = await shop.license(ada, product);
  const set = (status) => shop.seed.update('license', license.id, { status });
  let isOver = false;
  const crowd = Array.from({ length: 8 }, async (_, i) => {
    while (!isOver) assert.ok([200, 403].includes((await verify(license, undefined, i)).status));
  });
  try {
    for (let round = 0; round < 10; round++) {
      set('revoked');
      for (const a of await together(20, 20, (i) => verify(license, undefined, i)))
        expectError(a, 403, 'license_revoked');
      set('active');
      for (const a of await together(20, 20, (i) => verify(license, undefined, i))) expectStatus(a, 200);
      const other = await shop.license(ada, product); // the server writes, too
      expectStatus(await verify(other, `hw-${round}`), 200);
      expectError(await verify(other, 'another'), 403, 'hardware_mismatch');
    }
  } finally {
    isOver = true;
    await Promise.all(crowd);
  }
});
