// tests/api/lib/faults.mjs - with SOUK_FAULTS=1 every request of the black-box suite is first made to fail at each of its statements.
//
// A server on SQLite is started with a library that fails the n-th statement from now (tests/coverage/faulty_step.c). A request is sent
// with n = 1, 2, 3 … until it gets through without meeting the failure; only this answer is the test's. So whatever failed must have
// left nothing behind, or the test sees it. A page that a test waits at is made to fail once: what it waits for has statements, too.
import fs from 'node:fs';
import path from 'node:path';

/** For a request that never gets through. */
const STATEMENTS_MAX = 400;

export const HAS_FAULTS = process.env.SOUK_FAULTS === '1';

/** Faults of the servers that have some, by origin. */
const known = new Map();

/** Sends a request to a server that may have faults, so that it meets them first. `name`: what is sent. */
export function throughFaults(origin, name, send) {
  return known.has(origin) ? known.get(origin).through(name, send) : send();
}

export class Faults {
  constructor(dir) {
    this.file = path.join(dir, 'faulty-step');
    fs.writeFileSync(this.file, Buffer.alloc(8));
    this.fd = fs.openSync(this.file, 'r+');
    this.bytes = Buffer.alloc(8);
    this.seen = new Set();
  }

  /** Browsers that come to this origin meet the faults, too. */
  servedAt(origin) {
    known.set(origin, this);
  }

  /** What a server's environment needs. */
  environment(build) {
    return { LD_PRELOAD: path.join(build, 'tests/coverage/faulty_step.so'), FAULTY_STEP: this.file };
  }

  /** The n-th statement from now fails; 0: none. Gives how many have failed so far. */
  order(n) {
    this.bytes.writeInt32LE(n);
    fs.writeSync(this.fd, this.bytes, 0, 4, 0);
    fs.readSync(this.fd, this.bytes, 0, 8, 0);
    return this.bytes.readInt32LE(4);
  }

  /** Gives the first answer of `send` that no failure caused. `name`: what is sent. */
  async through(name, send) {
    if (this.seen.has(name)) return send();
    if (name.startsWith('GET ')) this.seen.add(name);
    for (let n = 1; ; n++) {
      const before = this.order(n);
      const answer = await send();
      const after = this.order(0);
      const isFailure = answer.status >= 500 && after > before;
      if (!isFailure || n > STATEMENTS_MAX) return answer;
    }
  }
}
