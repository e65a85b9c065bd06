// bench/lib/machine.mjs - what figures were measured on: the machine, the versions, the disk.
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

function firstLine(command, ...args) {
  const out = spawnSync(command, args, { encoding: 'utf8' });
  return `${out.stdout ?? ''}${out.stderr ?? ''}`.split('\n')[0].trim();
}

/** Milliseconds of one fdatasync after 4 KiB were appended: the middle of 200. */
export function fsyncMs(dir) {
  const file = path.join(dir, 'fsync-probe');
  const fd = fs.openSync(file, 'w');
  const page = Buffer.alloc(4096, 1);
  const took = [];
  for (let i = 0; i < 200; i++) {
    fs.writeSync(fd, page);
    const from = process.hrtime.bigint();
    fs.fdatasyncSync(fd);
    took.push(Number(process.hrtime.bigint() - from) / 1e6);
  }
  fs.closeSync(fd);
  fs.rmSync(file);
  return took.sort((a, b) => a - b)[100];
}

/** [[name, value]] for the head of the report. */
export function describeMachine({ root, build, dir, nginx, peers }) {
  const release = /^PRETTY_NAME="(.*)"$/m.exec(fs.readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux';
  const peer = (name) =>
    peers ? JSON.parse(fs.readFileSync(path.join(peers, 'node_modules', name, 'package.json'), 'utf8')).version : '—';
  return [
    ['processor', `${os.cpus()[0].model.trim()}, ${os.cpus().length} cores (${os.arch()})`],
    ['memory', `${Math.round(os.totalmem() / 2 ** 30)} GiB`],
    ['system', `${release}, Linux ${os.release()}`],
    ['disk', `one fdatasync of 4 KiB takes ${fsyncMs(dir).toFixed(2)} ms`],
    ['load before the run', os.loadavg()[0].toFixed(1)],
    [
      'souk',
      `${firstLine(path.join(build, 'souk'), 'version')}, commit ${firstLine('git', '-C', root, 'rev-parse', '--short=10', 'HEAD')}`,
    ],
    ['SQLite', execFileSync('sqlite3', ['--version'], { encoding: 'utf8' }).split(' ')[0]],
    ['PostgreSQL', firstLine('psql', '--version').replace(/^psql \(PostgreSQL\) /, '')],
    ['nginx', nginx ? firstLine(nginx, '-v').replace(/^.*nginx\//, '') : '—'],
    [
      'peer',
      `Node.js ${process.version}, Fastify ${peer('fastify')}, better-sqlite3 ${peer('better-sqlite3')}, pg ${peer('pg')}`,
    ],
  ];
}
