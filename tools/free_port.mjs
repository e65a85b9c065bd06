// tools/free_port.mjs - prints the first free port on 127.0.0.1, starting at the given one.
import net from 'node:net';

const TRIES = 100;

function isFree(port) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

const first = Number(process.argv[2]);
let port = first;
while (port < first + TRIES && !(await isFree(port))) port++;
console.log(port);
