// tests/api/lib/cut.mjs - a server on a PostgreSQL that can be cut off and given back.
import net from 'node:net';
import path from 'node:path';
import { freshStore, startSouk } from './souk.mjs';

/** Gives {souk, off(), on()}. A socket of ours, in the database's own folder, sits between the two. */
export async function startWithCut(t, options = {}) {
  const database = freshStore('pg');
  const name = '.s.PGSQL.5432';
  const real = /[?&]host=([^&]*)/.exec(database.dbArg)[1];
  const open = new Set();
  let isOn = true;
  const proxy = net.createServer((near) => {
    if (!isOn) return near.destroy();
    const far = net.connect(path.join(real, name));
    for (const socket of [near, far]) {
      open.add(socket);
      socket
        .on('error', () => {})
        .on('close', () => {
          near.destroy();
          far.destroy();
          open.delete(socket);
        });
    }
    return near.pipe(far).pipe(near);
  });
  await new Promise((resolve) => proxy.listen(path.join(database.dir, name), resolve));
  const through = { ...database, dbArg: database.dbArg.replace(real, database.dir) };
  const souk = await startSouk({ ...options, t, database: through });
  t.after(() => {
    proxy.close();
    database.remove();
  });
  return {
    souk,
    off() {
      isOn = false;
      for (const socket of open) socket.destroy();
    },
    on() {
      isOn = true;
    },
  };
}
