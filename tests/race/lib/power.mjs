// tests/race/lib/power.mjs - a PostgreSQL of its own that is killed in every way it can be, and a socket before it that cuts connections
// right after a COMMIT has been passed on.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createDatabase,
  postmasterPid,
  sql,
  startAgain,
  startCluster,
  stopCluster,
  stopServer,
} from '../../lib/pg.mjs';
import { memoryFolder } from '../../lib/memory.mjs';

const SOCKET = '.s.PGSQL.5432';
const START_TRIES = 50;

export class Power {
  /** Gives a Power whose `database` is for Souk: its servers connect through the socket that cuts. */
  static async open() {
    const p = new Power();
    p.cluster = startCluster({ fsync: true, isInMemory: true });
    const dir = fs.mkdtempSync(path.join(memoryFolder(), 'souk-'));
    const real = createDatabase(p.cluster.url);
    p.cutter = new Cutter(path.join(p.cluster.dir, SOCKET), path.join(dir, SOCKET));
    await p.cutter.listen();
    p.database = {
      engine: 'pg',
      dir,
      real,
      dbArg: real.replace(p.cluster.dir, dir),
      env: { SOUK_KEY: randomBytes(32).toString('hex'), SOUK_DATA: path.join(dir, 'data') },
      remove: () => p.close(),
    };
    return p;
  }

  async close() {
    await this.cutter.close();
    stopCluster(this.cluster.dir);
    fs.rmSync(this.database.dir, { recursive: true, force: true });
  }

  #processes() {
    const pid = postmasterPid(this.cluster.dir);
    const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
    return [pid, ...children.map(Number)];
  }

  #signal(pids, name) {
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch (e) {
        if (e.code !== 'ESRCH') throw e;
      }
    }
  }

  async #start() {
    for (let tries = 1; ; tries++) {
      try {
        startAgain({ dir: this.cluster.dir, fsync: true });
        return;
      } catch (e) {
        // The dead one's processes may still hold its memory.
        if (tries === START_TRIES) throw e;
        await sleep(50);
      }
    }
  }

  /** `pg_ctl -m immediate`: every session ends at once, and nothing is written any more. */
  async immediate() {
    stopServer(this.cluster.dir, 'immediate');
    await this.#start();
  }

  /** kill -9 of all of its processes. */
  async kill9() {
    const pids = this.#processes();
    this.#signal([pids[0]], 'SIGSTOP'); // it would tidy up
    this.#signal(pids.slice(1), 'SIGKILL');
    this.#signal([pids[0]], 'SIGKILL');
    await this.#start();
  }

  /** The data files as they are on the disk after a checkpoint: what powerOff goes back to. */
  remember() {
    const { dir } = this.cluster;
    sql(this.database.real, 'CHECKPOINT');
    const pids = this.#processes();
    this.#signal(pids, 'SIGSTOP');
    fs.rmSync(`${dir}/then`, { recursive: true, force: true });
    execFileSync('cp', ['-a', `${dir}/data`, `${dir}/then`]);
    this.#signal(pids, 'SIGCONT');
  }

  /**
   * The power goes: of all that was written since the checkpoint only the log is left, which is what a commit waits for. The data files
   * are those that remember() has kept, as if the disk had lost every other write. losesLog: so is the log, by a disk that lied.
   */
  async powerOff({ losesLog = false } = {}) {
    const { dir } = this.cluster;
    const pids = this.#processes();
    this.#signal([pids[0]], 'SIGSTOP');
    this.#signal(pids.slice(1), 'SIGKILL');
    this.#signal([pids[0]], 'SIGKILL');
    if (!losesLog) {
      fs.rmSync(`${dir}/then/pg_wal`, { recursive: true, force: true });
      fs.renameSync(`${dir}/data/pg_wal`, `${dir}/then/pg_wal`);
    }
    fs.rmSync(`${dir}/data`, { recursive: true, force: true });
    fs.renameSync(`${dir}/then`, `${dir}/data`);
    fs.rmSync(`${dir}/data/postmaster.pid`, { force: true });
    await this.#start();
  }
}

/** Passes bytes between servers and PostgreSQL, and understands as much of them as it needs to see a COMMIT. */
class Cutter {
  constructor(far, near) {
    this.far = far;
    this.near = near;
    this.open = new Set();
    this.cuts = 0;
    this.isArmed = false;
  }

  listen() {
    this.server = net.createServer((near) => this.#accept(near));
    return new Promise((resolve) => this.server.listen(this.near, resolve));
  }

  close() {
    for (const socket of this.open) socket.destroy();
    return new Promise((resolve) => this.server.close(resolve));
  }

  /** The next COMMIT is the last that its connection sends, and nobody hears what became of it. */
  arm() {
    this.isArmed = true;
  }

  #accept(near) {
    const far = net.connect(this.far);
    const reader = new CommitReader();
    for (const socket of [near, far]) {
      this.open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.open.delete(socket);
        near.destroy();
        far.end();
      });
    }
    far.on('data', (bytes) => near.write(bytes));
    near.on('data', (bytes) => {
      const isCommit = reader.read(bytes);
      far.write(bytes);
      if (!isCommit || !this.isArmed) return;
      this.isArmed = false;
      this.cuts += 1;
      near.destroy(); // far is ended when what was written to it has gone
    });
  }
}

/** Follows the messages of a client: which prepared statement is the COMMIT, and when it is run. */
class CommitReader {
  rest = Buffer.alloc(0);
  names = new Set();
  isBegun = false;

  /** Whether these bytes complete a message that runs COMMIT. */
  read(bytes) {
    this.rest = this.rest.length > 0 ? Buffer.concat([this.rest, bytes]) : bytes;
    let found = false;
    for (;;) {
      const head = this.isBegun ? 1 : 0; // the first message has no type
      if (this.rest.length < head + 4) return found;
      const size = head + this.rest.readUInt32BE(head);
      if (this.rest.length < size) return found;
      if (this.isBegun) found = this.#isCommit(this.rest[0], this.rest.subarray(5, size)) || found;
      this.isBegun = true;
      this.rest = this.rest.subarray(size);
    }
  }

  #isCommit(type, body) {
    const [first, second] = body.toString('latin1', 0, 200).split('\0');
    switch (String.fromCharCode(type)) {
      case 'P':
        if (second === 'COMMIT') this.names.add(first);
        return false;
      case 'B':
        this.isBound = this.names.has(second);
        return false;
      case 'E':
        return Boolean(this.isBound);
      case 'Q':
        return first === 'COMMIT';
      default:
        return false;
    }
  }
}
