// bench/lib/load.mjs - bench/load.c at a subject, with the processor time that the subject and its database used for one request.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { BUILD, lines } from './subjects.mjs';

const run = promisify(execFile);
export const ORDER = '/api/v1/order/create';
export const VERIFY = '/api/v1/license/verify';

async function loadWith(subject, args, { all = true } = {}) {
  const before = subject.cpu();
  const { stdout } = await run(path.join(BUILD, 'bench/load'), args);
  const after = subject.cpu();
  const result = JSON.parse(stdout);
  if (all && result.ok !== result.count) throw new Error(`${subject.name}: ${args.join(' ')}: ${stdout}`);
  const per = Math.max(1, result.ok) * 1000;
  result.cpu_us = (after.server - before.server) / per;
  result.db_us = (after.database - before.database) / per;
  return result;
}

/** Bodies are posted by turns. count: requests; seconds: instead of a count; rate: requests a second, whatever comes back. */
export function post(subject, target, bodies, options = {}) {
  const { connections = 64, count = 10_000_000, seconds = 0, rate = 0, key = '', all = true } = options;
  const file =
    typeof bodies === 'string' ? bodies : lines(subject.dir, `bodies-${target.replaceAll('/', '-')}`, bodies);
  return loadWith(
    subject,
    [
      ...(rate ? ['-r', String(rate)] : []),
      ...(seconds ? ['-t', String(seconds)] : []),
      `127.0.0.1:${subject.port}`,
      target,
      subject.tokens,
      file,
      String(connections),
      String(count),
      ...(key ? [key] : []),
    ],
    { all },
  );
}

export function get(subject, target, { connections = 16, count }, headers = []) {
  return loadWith(subject, [
    'get',
    `127.0.0.1:${subject.port}`,
    target,
    String(connections),
    String(count),
    ...headers,
  ]);
}

/** A bare storage program: {per_second, cpu_us, db_us}. */
export async function bare(program, args) {
  const { stdout } = await run(path.join(BUILD, 'bench', program), args.map(String));
  return JSON.parse(stdout);
}

/**
 * Each job in turn, again and again; of each the run with the least processor time: whatever else runs only ever adds. Each round begins
 * with another job: what a store does after so many orders would meet the same one in every round.
 */
export async function best(rounds, jobs) {
  const kept = jobs.map(() => null);
  for (let round = 0; round < rounds; round++) {
    for (let n = 0; n < jobs.length; n++) {
      const i = (n + round) % jobs.length;
      const r = await jobs[i](round);
      if (!r) continue;
      const cost = (x) => x.cpu_us + x.db_us;
      const fastest = Math.max(r.per_second, kept[i]?.per_second ?? 0);
      if (!kept[i] || cost(r) < cost(kept[i])) kept[i] = r;
      kept[i].per_second = fastest;
    }
  }
  return kept;
}
