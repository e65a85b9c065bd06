// Group commit: the more clients write at once, the more requests share one commit; none waits for others to come.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENGINE, SLOW, startSouk, together } from '../api/lib/souk.mjs';

test('the size of a batch grows with the load', { skip: ENGINE === 'pg' && 'PostgreSQL commits every request by itself' }, async () => {
  const souk = await startSouk();
  const { token } = await souk.customer();
  const load = async (clients, requests) => {
    const start = await souk.metrics();
    const answers = await together(requests, clients, () => souk.post('/api/customer/tokens', { name: 'x' }, { token }));
    assert.ok(answers.every((a) => a.status === 201));
    const end = await souk.metrics();
    const jobs = end.get('souk_batch_jobs_total') - start.get('souk_batch_jobs_total');
    return { jobs, size: jobs / (end.get('souk_batches_total') - start.get('souk_batches_total')) };
  };
  const requests = Math.round(1500 / SLOW);
  const alone = await load(1, 100);
  const few = await load(4, requests);
  const many = await load(64, requests);
  assert.ok(alone.jobs >= 100 && many.jobs >= requests);
  assert.ok(alone.size < 1.2, `alone: ${alone.size}`);
  assert.ok(many.size > 2 * alone.size && many.size > few.size, `alone ${alone.size}, 4 clients ${few.size}, 64 clients ${many.size}`);
  await souk.stop();
});
