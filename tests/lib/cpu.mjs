// tests/lib/cpu.mjs - the seconds of processor time that a process has used, with all of its children that have ended.
import fs from 'node:fs';

const TICKS_PER_SECOND = 100; // USER_HZ, which is the same on every Linux

/** 0 for a process that is gone. */
export function cpuSeconds(pid = 'self') {
  let text;
  try { text = fs.readFileSync(`/proc/${pid}/stat`, 'utf8'); } catch { return 0; }
  // The second field is the program's name in brackets and may hold anything: utime to cstime are the 12th to 15th behind it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
}

/** Of a process alone, with the threads that it has now. */
export function cpuNanoseconds(pid) {
  const threads = fs.readdirSync(`/proc/${pid}/task`);
  return threads.reduce((sum, t) => sum + Number(fs.readFileSync(`/proc/${pid}/task/${t}/schedstat`, 'utf8').split(' ')[0]), 0);
}

/** The same for a process and the children that it has now: a PostgreSQL server with all of its connections. */
export function cpuSecondsOfFamily(pid) {
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [pid, ...children].reduce((sum, p) => sum + cpuSeconds(p), 0);
}
