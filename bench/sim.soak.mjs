// The simulation of tests/sim/sim.c on every core, each with seeds of its own, for so many minutes. ./dev soak sim [MINUTES]
//
//     node bench/sim.soak.mjs [MINUTES] [FIRST SEED]
import { spawn } from 'node:child_process';
import os from 'node:os';
import { fileURLToPath } from 'node:url';

const minutes = Number(process.argv[2] ?? 30);
const first = Number(process.argv[3] ?? Math.floor(Date.now() / 1000));
const program = fileURLToPath(new URL('../build/tests/sim/sim', import.meta.url));
const APART = 1_000_000; // seeds of one core

function run(core) {
  const args = ['--seed', String(first + core * APART), '--seconds', String(Math.round(minutes * 60))];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (text) => {
    said += text;
    process.stdout.write(text);
  });
  return new Promise((resolve) => child.on('exit', (status, signal) => resolve({ said, status: status ?? signal })));
}

const ends = await Promise.all(os.cpus().map((_, core) => run(core)));
const sum = (pattern) => ends.reduce((n, { said }) => n + Number(pattern.exec(said)?.[1] ?? 0), 0);
console.log(
  `all: ${sum(/(\d+) runs/)} runs, ${sum(/(\d+) crash images/)} crash images (${sum(/\((\d+) of them different/)} different),` +
    ` ${sum(/(\d+) restarts/)} restarts, ${sum(/(\d+) failures/)} failures`,
);
if (ends.some(({ status }) => status !== 0)) process.exit(1);
