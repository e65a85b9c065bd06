// tests/model/lib/target.mjs - a store for programs: its server, its routes, and gateways that only listen.
import assert from 'node:assert/strict';
import { LABELS, SECRET } from '../../api/lib/gateways.mjs';
import { Souk, freshStore, runSouk } from '../../api/lib/souk.mjs';
import { Wire } from '../../lib/wire.mjs';

/** {"METHOD /path": {scope, idempotent}}: all that the program serves. */
export async function allRoutes() {
  const { stdout } = await runSouk(['routes']);
  const routes = {};
  for (const line of stdout.trim().split('\n')) {
    const [method, path, scope, , ...flags] = line.split(' ');
    routes[`${method} ${path}`] = { scope, idempotent: flags.includes('idempotent') };
  }
  return routes;
}

/** Gives {souk, staff, routes, wire(), stop()}. */
export async function openTarget({ engine, args } = {}) {
  const database = freshStore(engine, 'owner');
  const souk = new Souk({ database, args });
  await souk.start();
  const staff = database.accounts.owner.token;
  for (const label of [LABELS.stripe, LABELS.razorpay]) {
    const answer = await souk.put(
      `/api/admin/gateways/${label}`,
      { is_enabled: true, secrets: [SECRET] },
      { token: staff },
    );
    assert.equal(answer.status, 200, answer.text);
  }
  return {
    souk,
    staff,
    routes: await allRoutes(),
    wire: () => Wire.open(souk.url),
    async stop() {
      try {
        await souk.stop();
      } finally {
        database.remove();
      }
    },
  };
}
