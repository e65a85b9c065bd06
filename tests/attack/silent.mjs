// Sockets that connect and say nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import { bad } from './lib.mjs';

export default {
  name: 'silent',
  what: 'connections that say nothing, more than there may be in all',
  args: ['--connections-max', '1000'],
  async run({ port }, size) {
    const sockets = [];
    for (let i = 0; i < 1200; i += 50)
      sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => bad(port)))));
    await sleep(size === 'full' ? 5000 : 1000);
    const open = sockets.filter((s) => !s.destroyed).length;
    for (const socket of sockets) socket.destroy();
    return { connections: sockets.length, 'still open': open };
  },
};
