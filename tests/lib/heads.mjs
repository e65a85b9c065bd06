// tests/lib/heads.mjs - what a test file says in its head about where it runs:
//
//     // runs: sqlite            on SQLite only, in every build
//     // runs: release asan      in these builds only, on either engine
//     // runs: failing           in the phase with failing statements only
//     // spares: tsan            not in this build in the whole test run; a phase that is named runs it
//     // release: sqlite pg      the release build, too, runs it in the whole test run, on these engines
//
// Each file of the black-box suite and of the races runs with AddressSanitizer on SQLite and with ThreadSanitizer on PostgreSQL. The
// release build runs what asks for it: files whose tests skip the sanitizers or do less there, and all races. Commands have no threads
// to speak of: files about them spare ThreadSanitizer, and leave PostgreSQL to the release build.
import fs from 'node:fs';

export const ENGINES = ['sqlite', 'pg'];
const BUILDS = ['release', 'asan', 'tsan'];
const HEAD_CHARS = 2000;

function wordsOf(file, key) {
  const head = fs.readFileSync(file, 'utf8').slice(0, HEAD_CHARS);
  return new RegExp(`^// ${key}: (.*)$`, 'm').exec(head)?.[1].split(' ') ?? [];
}

function allows(words, choices, value) {
  return !value || !words.some((w) => choices.includes(w)) || words.includes(value);
}

/** Whether the file may run in a phase at all. */
export function belongs({ engine, build, leaves_out }, file) {
  const words = wordsOf(file, 'runs');
  if (words.includes('failing') && !leaves_out) return false;
  return allows(words, ENGINES, engine) && allows(words, BUILDS, build);
}

/** Whether the whole test run leaves the file out of a phase. */
export function isSpared({ build }, file) {
  return wordsOf(file, 'spares').includes(build);
}

/** The engines on which the release build runs the file in the whole test run. */
export function releaseEngines(file) {
  const runs = wordsOf(file, 'runs');
  if (!allows(runs, BUILDS, 'release')) return [];
  const asked = wordsOf(file, 'release');
  if (asked.length > 0 || !runs.some((w) => BUILDS.includes(w))) return asked;
  return ENGINES.filter((engine) => allows(runs, ENGINES, engine));
}

/** Whether tests of the file skip the sanitizers or do less there, by what its text asks. A longer patience is neither. */
export function differs(file) {
  const text = fs.readFileSync(file, 'utf8').replace(/^import [^;]*;$/gm, '');
  return /\bSLOW\s*(?:[<>=!]|\?)|\bIS_[AT]SAN\b/.test(text);
}
