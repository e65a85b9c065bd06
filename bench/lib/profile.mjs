// bench/lib/profile.mjs - where a server's processor time goes while something is measured, by `perf` (Debian's linux-perf).
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Samples a second: no multiple of what the kernel's own clock does. */
const RATE = 1999;
const PARTS = [
  [/^\[(kernel|vdso|guest)/, 'kernel'],
  [/^libsqlite3/, 'SQLite'],
  [/^libsodium/, 'libsodium'],
  [/^libpq/, 'libpq'],
  [/^(libc|ld-linux|libm|libpthread|linux-vdso)/, 'libc'],
  [/^(souk|postgres)$/, 'program'],
];

export function canProfile() {
  return spawnSync('perf', ['record', '-a', '-o', '/dev/null', 'true'], { stdio: 'ignore' }).status === 0;
}

/**
 * Of what a process used while the job ran, or, without `pid`, all processes whose name begins with this one:
 * {parts: [[name, share]], functions: [[name, part, share]]}, the largest first.
 */
export async function profile(dir, { name, pid }, job) {
  const file = path.join(dir, 'perf.data');
  const whose = pid ? ['-p', String(pid)] : ['-a'];
  const recorder = spawn('perf', ['record', '-q', ...whose, '-F', String(RATE), '-o', file], { stdio: 'ignore' });
  const ended = new Promise((resolve) => recorder.on('close', resolve));
  try {
    await sleep(300);
    await job();
  } finally {
    recorder.kill('SIGINT');
    await ended;
  }
  const said = execFileSync(
    'perf',
    ['report', '-i', file, '--no-children', '--stdio', '-q', '-t', ';', '-F', 'sample,comm,dso,symbol'],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 28 },
  );
  const rows = said
    .split('\n')
    .map((line) => line.split(';').map((cell) => cell.trim()))
    .filter(([samples, comm]) => /^\d+$/.test(samples) && comm.startsWith(name))
    .map(([samples, , dso, symbol]) => ({
      samples: Number(samples),
      part: PARTS.find(([pattern]) => pattern.test(dso))?.[1] ?? 'others',
      symbol: symbol.replace(/^\[.\]\s*/, ''),
    }));
  const all = rows.reduce((sum, { samples }) => sum + samples, 0);
  if (all === 0) throw new Error(`no sample of ${name}`);
  const shares = (keyOf) => {
    const sums = new Map();
    for (const row of rows) {
      const key = keyOf(row);
      if (key) sums.set(key, (sums.get(key) ?? 0) + row.samples);
    }
    return [...sums].sort((a, b) => b[1] - a[1]).map(([key, samples]) => [key, samples / all]);
  };
  return {
    parts: shares(({ part }) => part),
    functions: shares(({ symbol, part }) => (symbol.startsWith('0x') ? null : `${symbol};${part}`)).map(
      ([key, share]) => [...key.split(';'), share],
    ),
  };
}
