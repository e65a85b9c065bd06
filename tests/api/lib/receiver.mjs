// tests/api/lib/receiver.mjs - a merchant's own system: takes events, checks them with the library that merchants use, and
// behaves as a path says.
//
//     const receiver = await openReceiver();
//     receiver.url('/orders')                      // an address to send to
//     receiver.behave('/orders', (n) => 500)       // n: how many came before; a number is a status, a function gets the answer
//     receiver.got('/orders')                      // [{ id, type, data, headers, body, at }, …]
import http from 'node:http';
import { Webhook } from 'standardwebhooks';

export async function openReceiver() {
  const calls = new Map();
  const manners = new Map();
  const held = new Set();
  const server = http.createServer((request, answer) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const list = calls.get(request.url) ?? [];
      calls.set(request.url, list);
      const n = list.length;
      let told = {};
      try {
        told = JSON.parse(body);
      } catch {
        /* the test will see that there is nothing */
      }
      list.push({ id: request.headers['webhook-id'], ...told, headers: request.headers, body, at: Date.now() });
      const does = (manners.get(request.url) ?? (() => 200))(n);
      if (typeof does === 'number') answer.writeHead(does).end(does === 200 ? 'thanks' : `status ${does}`);
      else if (does === 'silent') held.add(answer);
      else does(answer);
    });
  });
  server.keepAliveTimeout = 60000;
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = server.address().port;
  return {
    port,
    url: (path) => `http://127.0.0.1:${port}${path}`,
    behave: (path, does) => manners.set(path, does),
    got: (path) => calls.get(path) ?? [],
    forget: (path) => calls.delete(path),
    /** Throws unless the secret signed this. */
    verify: (secret, call) => new Webhook(secret).verify(call.body, call.headers),
    stop: () =>
      new Promise((resolve) => {
        for (const answer of held) answer.destroy();
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
