// Long bodies without a token, all but their last byte.
import { setTimeout as sleep } from 'node:timers/promises';
import { MIB, bad } from './lib.mjs';

const LENGTH = 16 * MIB;

export default {
  name: 'bodies',
  what: 'bodies of 16 MiB without a token, never finished',
  async run({ port }, size) {
    const count = size === 'full' ? 40 : 6;
    const head =
      'POST /api/admin/products/1/serials HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n' +
      `Authorization: Bearer nothing\r\nContent-Length: ${LENGTH}\r\n\r\n`;
    const sockets = await Promise.all(Array.from({ length: count }, () => bad(port)));
    for (const socket of sockets) {
      socket.resume();
      socket.write(head);
    }
    const piece = Buffer.alloc(MIB, 0x61);
    await Promise.all(
      sockets.map(async (socket) => {
        for (let i = 0; i < 15 && !socket.destroyed; i++) {
          socket.write(piece);
          for (let wait = 0; wait < 300 && socket.writableLength > 0 && !socket.destroyed; wait++) await sleep(10);
        }
      }),
    );
    const open = sockets.filter((s) => !s.destroyed).length;
    for (const socket of sockets) socket.destroy();
    return { connections: count, 'still open': open };
  },
};
