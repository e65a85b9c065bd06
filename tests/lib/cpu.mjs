// tests/lib/cpu.mjs - the seconds of processor time that processes have used.
import fs from 'node:fs';

const TICKS_PER_SECOND = 100; // USER_HZ, which is the same on every Linux

/** {name, parent, own, ended, begun}: seconds of its own and of its children that have ended. Null for one that is gone. */
function look(pid) {
  let text;
  try {
    text = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The second field is the program's name in brackets and may hold anything; utime to cstime are the 12th to 15th behind it.
  const end = text.lastIndexOf(')');
  const fields = text.slice(end + 2).split(' ');
  const seconds = (i) => (Number(fields[i]) + Number(fields[i + 1])) / TICKS_PER_SECOND;
  return {
    name: text.slice(text.indexOf('(') + 1, end),
    parent: Number(fields[1]),
    own: seconds(11),
    ended: seconds(13),
    begun: fields[19],
  };
}

/** Of a process with all of its children that have ended; 0 for one that is gone. */
export function cpuSeconds(pid = 'self') {
  const seen = look(pid);
  return seen ? seen.own + seen.ended : 0;
}

/**
 * Which programs the time goes to: look() now and then at some processes and all that they have started. What a process used
 * between the last look and its end is nobody's.
 */
export class CpuByProgram {
  #last = new Map();
  #seconds = new Map();

  look(roots) {
    const all = new Map(
      fs
        .readdirSync('/proc')
        .filter((f) => /^\d+$/.test(f))
        .map((pid) => [Number(pid), look(pid)])
        .filter(([, p]) => p),
    );
    const isOurs = (pid) => roots.includes(pid) || (all.has(pid) && isOurs(all.get(pid).parent));
    for (const [pid, p] of all) {
      if (!isOurs(pid)) continue;
      const key = `${pid} ${p.begun}`;
      this.#seconds.set(p.name, (this.#seconds.get(p.name) ?? 0) + p.own - (this.#last.get(key) ?? 0));
      this.#last.set(key, p.own);
    }
  }

  /** [[name, seconds]], the greatest first, since the last time it was asked. */
  take() {
    const found = [...this.#seconds].sort((a, b) => b[1] - a[1]);
    this.#seconds.clear();
    return found;
  }
}

/** Of a process alone, with the threads that it has now. */
export function cpuNanoseconds(pid) {
  const threads = fs.readdirSync(`/proc/${pid}/task`);
  return threads.reduce(
    (sum, t) => sum + Number(fs.readFileSync(`/proc/${pid}/task/${t}/schedstat`, 'utf8').split(' ')[0]),
    0,
  );
}

/** The same for a process and the children that it has now: a PostgreSQL server with all of its connections. */
export function cpuSecondsOfFamily(pid) {
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [pid, ...children].reduce((sum, p) => sum + cpuSeconds(p), 0);
}
