// tests/attack/lib.mjs - what every attack needs: a server that is watched, and a good client beside the bad ones.
//
// An attack is a file that exports {name, what, args?, limited?, prepare?, run}. prepare(shop) makes what it needs; run(shop, size)
// does its worst and gives figures of its own, {label: number}. Size is `short` in the test run and `full` in measure.mjs.
import fs from 'node:fs';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOffice } from '../api/lib/admin.mjs';

export const MIB = 1024 * 1024;

const residentBytes = (pid) =>
  Number(/VmRSS:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;

/** A raw connection that never fails loudly: attackers do not mind. */
export function bad(port) {
  return new Promise((resolve) => {
    const socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
    socket
      .on('error', () => {})
      .once('connect', () => resolve(socket))
      .once('close', () => resolve(socket));
  });
}

/** Writes as long as the other side takes it; gives what it took. */
export async function pour(socket, bytes, ms) {
  const until = Date.now() + ms;
  let sent = 0;
  while (Date.now() < until && !socket.destroyed) {
    for (; socket.writableLength < 8 * MIB; sent += bytes.length) socket.write(bytes);
    await sleep(2);
  }
  return sent - socket.writableLength;
}

/** One request of a good client, on a connection of its own: milliseconds, or null when it was not answered. */
function ask(port) {
  const started = performance.now();
  return new Promise((resolve) => {
    const socket = net.connect({ host: '127.0.0.1', port, noDelay: true });
    const end = (ms) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(ms);
    };
    const timer = setTimeout(() => end(null), 5000);
    socket.on('error', () => end(null)).on('close', () => end(null));
    socket.once('data', (b) =>
      end(b.toString('latin1').startsWith('HTTP/1.1 200') ? performance.now() - started : null),
    );
    socket.write('GET /api/store/products HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  });
}

/** Runs one attack on a server of its own. */
export async function attack({ args = [], limited = false, prepare = () => ({}), run }, size) {
  const office = await openOffice({ args, limited, dear: true });
  const { souk } = office;
  const pid = souk.child.pid;
  try {
    const shop = { ...office, port: souk.port, ...(await prepare(office, size)) };
    await sleep(200);
    const before = residentBytes(pid);
    let peak = before;
    let over = false;
    const answers = [];
    const watching = (async () => {
      while (!over) {
        peak = Math.max(peak, residentBytes(pid));
        await sleep(20);
      }
    })();
    const asking = (async () => {
      while (!over) {
        answers.push(await ask(souk.port));
        await sleep(50);
      }
    })();
    const figures = await run(shop, size);
    over = true;
    await Promise.all([watching, asking]);
    const times = answers.filter((ms) => ms !== null).sort((a, b) => a - b);
    return {
      grew: peak - before,
      asked: answers.length,
      answered: times.length,
      median_ms: times.length ? times[times.length >> 1] : null,
      slowest_ms: times.at(-1) ?? null,
      figures,
    };
  } finally {
    await office.stop();
  }
}
