// tests/lib/memory.mjs - where scratch files are cheapest: in memory, on a machine that has enough of it.
import fs from 'node:fs';
import os from 'node:os';

const SHARED_MEMORY = '/dev/shm';
const BYTES_MIN = 3 * 2 ** 30;

/** The folder of shared memory, or `otherwise` where that is small (containers often have 64 MB) or memory is. */
export function memoryFolder(otherwise = os.tmpdir()) {
  try {
    const { bavail, bsize } = fs.statfsSync(SHARED_MEMORY);
    fs.accessSync(SHARED_MEMORY, fs.constants.W_OK);
    return Math.min(bavail * bsize, available()) >= BYTES_MIN ? SHARED_MEMORY : otherwise;
  } catch {
    return otherwise;
  }
}

/** Bytes that can be taken without swapping; os.freemem() leaves out what only caches files. */
function available() {
  return Number(/^MemAvailable:\s+(\d+) kB$/m.exec(fs.readFileSync('/proc/meminfo', 'utf8'))[1]) * 1024;
}
