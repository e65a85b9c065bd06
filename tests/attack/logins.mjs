// Logins whose senders do not wait for the answer.
import { bad } from './lib.mjs';

export default {
  name: 'logins',
  what: 'logins whose senders close the connection at once, and a good one behind them',
  async prepare({ souk }) {
    return { who: await souk.customer() };
  },
  async run({ souk, port, who }, size) {
    const body = JSON.stringify({ email: who.email, password: 'a wrong password' });
    const request = `POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const count = size === 'full' ? 500 : 150;
    for (let i = 0; i < count; i += 50) {
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const socket = await bad(port);
          await new Promise((resolve) => {
            socket.write(request, resolve);
          });
          socket.destroy();
        }),
      );
    }
    const started = performance.now();
    const { status } = await souk.post('/api/auth/login', { email: who.email, password: who.password });
    return { 'thrown away': count, 'good login': status, 'good login ms': performance.now() - started };
  },
};
