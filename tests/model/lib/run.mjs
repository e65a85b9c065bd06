// tests/model/lib/run.mjs - many programs at once on one store, each in a world and on a connection of its own.
import { playGiven, playRandom, shrink } from './program.mjs';

/**
 * Plays programs of `length` calls until `calls` were made; the n-th has the seed `seed` + n.
 * Gives {calls, programs, count, failure}: count is {name of a call: {good, refused}}; failure is null, or a text with the seed, what
 * differed, and the shortest program that shows it.
 */
export async function runPrograms(target, { seed, calls, length = 250, width = 16, Rules, onProgress }) {
  const sum = { calls: 0, programs: 0, count: {}, failure: null };
  let next = seed;
  const worker = async () => {
    const wire = await target.wire();
    const own = { ...target, wire };
    try {
      while (sum.calls < calls && !sum.failure) {
        const mine = next++;
        const { calls: made, problem, play } = await playRandom(own, mine, length, Rules);
        sum.programs += 1;
        sum.calls += play.said.length;
        add(sum.count, play.count);
        onProgress?.(sum);
        if (problem && !sum.failure) {
          sum.failure = `seed ${mine}: ${problem}`;
          sum.failure = await explain(own, mine, made, problem, Rules);
        }
      }
    } finally {
      wire.close();
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return sum;
}

async function explain(target, seed, calls, problem, Rules) {
  const shortest = await shrink(target, calls, Rules);
  const { play, problem: again } = await playGiven(target, shortest, Rules);
  const told = again ? play.said.map((line) => `  ${line}`).join('\n') : '  (does not happen again)';
  return `seed ${seed}, call ${calls.length}: ${problem}\nthe shortest program that shows it, ${shortest.length} calls:\n${told}\n  ${again ?? ''}`;
}

function add(sum, count) {
  for (const [name, { good, refused }] of Object.entries(count)) {
    sum[name] ??= { good: 0, refused: 0 };
    sum[name].good += good;
    sum[name].refused += refused;
  }
}
