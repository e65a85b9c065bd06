// tests/api/lib/tls.mjs - a TLS front of a local server, whose certificate can be exchanged while it runs.
import net from 'node:net';
import tls from 'node:tls';

/** {url, use(certificate), stop()}; a certificate is {certificate, key} as from `issue`. */
export async function tlsFront(port, first) {
  const sockets = new Set();
  const server = tls.createServer({ cert: first.certificate, key: first.key }, (socket) => {
    const inner = net.connect(port, '127.0.0.1');
    for (const side of [socket, inner]) side.on('error', () => side.destroy());
    socket.pipe(inner).pipe(socket);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const hangUp = () => sockets.forEach((socket) => socket.destroy());
  return {
    url: `https://127.0.0.1:${server.address().port}`,
    use({ certificate, key }) {
      server.setSecureContext({ cert: certificate, key });
      hangUp();
    },
    stop() {
      hangUp();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
