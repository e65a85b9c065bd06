// tests/race/lib/ways.mjs - every way in which something is killed, one after the other, under load and against the clients' log.
import { ENGINE } from '../../api/lib/souk.mjs';
import { Kill9 } from './kill9.mjs';
import { Power } from './power.mjs';

/** Few connections: each has to be made again after a kill. */
const FEW = { SOUK_WORKERS: '8' };

const CROWD = 64;

/**
 * Gives {kill9, power, ways, stop()}: ways is {name: what happens under load}. hasPower: on a PostgreSQL that can be killed, too, there are
 * two servers; otherwise there is one.
 */
export async function openWays({ clients = 16, codes = 8000, hasPower = ENGINE === 'pg' } = {}) {
  if (!hasPower) {
    const kill9 = await Kill9.open({ clients, codes });
    return { kill9, power: null, ways: { 'the server': () => kill9.nodes[0].kill9() }, stop: () => kill9.stop() };
  }
  const power = await Power.open();
  let kill9;
  try {
    kill9 = await Kill9.open({ clients, codes, database: power.database, nodes: 2, env: FEW });
  } catch (e) {
    await power.close();
    throw e;
  }
  const cut = async () => {
    const { cuts } = power.cutter;
    power.cutter.arm();
    while (power.cutter.cuts === cuts) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  const ways = {
    'the first server': () => kill9.nodes[0].kill9(),
    'a connection after its COMMIT': cut,
    'PostgreSQL, by an immediate stop': () => power.immediate(),
    'another connection after its COMMIT': cut,
    'the second server': () => kill9.nodes[1].kill9(),
    'PostgreSQL, by kill -9': () => power.kill9(),
    'a connection after its COMMIT, and its server': () => Promise.all([cut(), kill9.nodes[0].kill9()]),
    'both servers': () => Promise.all(kill9.nodes.map((node) => node.kill9())),
    'several connections after their COMMIT': async () => {
      for (let i = 0; i < 4; i++) await cut();
    },
    'the power of PostgreSQL': () => power.powerOff(),
  };
  return { kill9, power, ways, stop: () => kill9.stop() };
}

/** Kills so many times, each way in turn, the first `crowded` times in a crowd. Gives {kills: {way: n}, acknowledged, repeated}. */
export async function killAllWays({ kill9, power, ways }, times, { crowded = 0 } = {}) {
  const names = Object.keys(ways);
  const sum = { kills: {}, acknowledged: 0, repeated: 0 };
  for (let i = 0; i < times; i++) {
    const name = names[i % names.length];
    if (name === 'the power of PostgreSQL') power.remember();
    const { acknowledged, repeated } = await kill9.round(ways[name], {
      width: i < crowded ? CROWD : undefined,
      pause_ms: 20,
      whole: i === times - 1,
    });
    sum.kills[name] = (sum.kills[name] ?? 0) + 1;
    sum.acknowledged += acknowledged;
    sum.repeated += repeated;
  }
  return sum;
}
