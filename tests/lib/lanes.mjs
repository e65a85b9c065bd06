// tests/lib/lanes.mjs - lanes of the test run, side by side: many tests wait more than they work. Each lane is a run of its own.
import { spawn } from 'node:child_process';
import readline from 'node:readline';

const RUN = new URL('../run.mjs', import.meta.url).pathname;

/** The first word of a lane's own command line: a lane of phases that words have chosen, or of the whole test run. */
export const LANE = '--lane';
export const LANE_OF_ALL = '--lane-of-all';

/** Runs the lanes, each a list of phases; says what they say, and sums up. Gives the exit code. */
export async function runLanes(lanes, fileWords, { isAll, started }) {
  const kind = isAll ? LANE_OF_ALL : LANE;
  const children = lanes.map((phases) => startLane([kind, ...phases.map((p) => p.name), ...fileWords]));
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.on(signal, () => {
      for (const { child } of children) child.kill(signal);
    });
  const ends = await Promise.all(children.map((c) => c.ended));
  const sum = summary(ends);
  const skipped = sum.skipped ? `, ${sum.skipped} skipped` : '';
  const wall = ((Date.now() - started) / 1000).toFixed(1);
  console.log(`== all: ${wall} s, ${sum.minutes.toFixed(1)} CPU minutes${skipped}`);
  for (const line of sum.told) console.log(line);
  console.log(`${sum.passed} passed, ${sum.failed} failed`);
  return sum.failed > 0 ? 1 : 0;
}

/** Passes on what a lane says; the lines from its own "== all" on are kept for the end. */
function startLane(args) {
  const child = spawn(process.execPath, [RUN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const tail = [];
  const lines = readline.createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    if (tail.length > 0 || line.startsWith('== all: ')) tail.push(line);
    else console.log(line);
  });
  const ended = Promise.all([
    new Promise((resolve) => child.on('close', (code, signal) => resolve(code ?? signal))),
    new Promise((resolve) => lines.on('close', resolve)),
  ]).then(([exit]) => ({ exit, tail, args }));
  return { child, ended };
}

/** Of the ends of all lanes. A lane that did not come to its last line has failed, and so has one whose code says so. */
export function summary(ends) {
  const sum = { passed: 0, failed: 0, skipped: 0, minutes: 0, told: [] };
  for (const { exit, tail, args } of ends) {
    const counts = /^(\d+) passed, (\d+) failed$/.exec(tail.at(-1) ?? '');
    const all = /, ([\d.]+) CPU minutes(?:, (\d+) skipped)?$/.exec(tail[0] ?? '');
    const failed = Number(counts?.[2] ?? 0);
    const isBroken = !counts || (failed === 0) !== (exit === 0);
    sum.passed += Number(counts?.[1] ?? 0);
    sum.failed += failed + (isBroken ? 1 : 0);
    sum.minutes += Number(all?.[1] ?? 0);
    sum.skipped += Number(all?.[2] ?? 0);
    sum.told.push(...tail.slice(1, -1));
    if (isBroken) sum.told.push(`FAILED the lane ${args.join(' ')}: it ended with ${exit}`);
  }
  return sum;
}
