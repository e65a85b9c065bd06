// A customer asks for their own long ticket on many connections, and reads nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import { bad } from './lib.mjs';

export default {
  name: 'unread',
  what: 'a long ticket, asked for on many connections and never read',
  async prepare({ souk, owner }, size) {
    const { token } = await souk.customer();
    const made = await owner.post('/api/admin/departments', { name: 'Help' });
    const ticket = await souk.post(
      '/api/customer/tickets',
      { department_id: made.json.data.id, subject: 'Long', message: 'x' },
      { token },
    );
    const id = ticket.json.data.id;
    for (let i = 0; i < (size === 'full' ? 200 : 20); i++)
      await souk.post(`/api/customer/tickets/${id}/replies`, { message: '€'.repeat(20000) }, { token });
    return { token, id };
  },
  async run({ port, token, id }, size) {
    const get = `GET /api/customer/tickets/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const sockets = await Promise.all(Array.from({ length: size === 'full' ? 40 : 12 }, () => bad(port)));
    for (const socket of sockets) {
      socket.pause();
      socket.write(get.repeat(20));
    }
    await sleep(size === 'full' ? 6000 : 1500);
    for (const socket of sockets) socket.destroy();
    return { connections: sockets.length };
  },
};
