// tests/race/lib/nodes.mjs - one store behind as many servers as its engine allows: SQLite one, PostgreSQL two.
import { Shop } from '../../api/lib/shop.mjs';
import { ENGINE, freshStore, startSouk } from '../../api/lib/souk.mjs';

/**
 * Gives a Shop whose `nodes` are its servers (the first is shop.souk), and whose `any(i)` picks one for the i-th call.
 * A store of the kind 'owner' has the `owner` token. stop() ends them all.
 */
export async function openNodes({ args = [], kind = 'store' } = {}) {
  const database = freshStore(ENGINE, kind);
  const nodes = [await startSouk({ database, args })];
  if (ENGINE === 'pg') nodes.push(await startSouk({ database, args }));
  const shop = new Shop(nodes[0]);
  shop.nodes = nodes;
  shop.owner = database.accounts?.owner?.token;
  shop.any = (i) => nodes[i % nodes.length];
  shop.stop = async () => {
    try {
      for (const node of nodes) await node.stop();
    } finally {
      database.remove();
    }
  };
  return shop;
}
