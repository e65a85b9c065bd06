// Group commit: requests that wait at the same time share a commit; a single one does not wait.
// release: sqlite pg
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openShop } from '../api/lib/shop.mjs';
import { countStatuses, releaseTogether } from '../lib/race.mjs';

const CLIENTS = 64;
const ROUNDS = 5;

test('the size of a batch grows with the load', async () => {
  const shop = await openShop();
  const { souk } = shop;
  const product = shop.seed.product({ price: 1 });
  const { token } = await shop.buyer({ balance: 1_000_000 });
  const measure = async (work) => {
    const start = await souk.metrics();
    await work();
    const end = await souk.metrics();
    const [jobs, batches] = ['souk_batch_jobs_total', 'souk_batches_total'].map(
      (name) => end.get(name) - start.get(name),
    );
    return { jobs, size: jobs / batches };
  };
  const request = { url: souk.url, path: '/api/v1/order/create', token, body: { product_id: product.id } };

  const alone = await measure(async () => {
    for (let i = 0; i < 50; i++) assert.equal((await souk.post(request.path, request.body, { token })).status, 200);
  });
  const together = await measure(async () => {
    for (let i = 0; i < ROUNDS; i++) {
      const answers = await releaseTogether(
        Array.from({ length: CLIENTS }, () => request),
        { frozen: souk.child },
      );
      assert.deepEqual(countStatuses(answers), { 200: CLIENTS });
    }
  });
  assert.ok(alone.jobs >= 50 && together.jobs >= ROUNDS * CLIENTS);
  // The periodic work of the server may fall into a batch now and then.
  assert.ok(alone.size < 1.5, `alone: ${alone.size}`);
  assert.ok(together.size > 4 * alone.size, `alone ${alone.size}, ${CLIENTS} together ${together.size}`);
  await souk.stop();
});
