// tests/lib/heads.mjs - what a test file says in its head about where it runs:
//
//     // runs: sqlite            on SQLite only, in every build
//     // runs: release asan      in these builds only, on either engine
//     // runs: failing           in the phase with failing statements only
//     // release: sqlite pg      the release build, too, runs it on both engines, or on the one that is named
//
// Whatever a file does not say is decided here. Each file of the black-box suite and of the races runs in all three builds and on both
// engines: with AddressSanitizer on SQLite, with ThreadSanitizer on PostgreSQL, and in the release build on one of the two.
import fs from 'node:fs';
import path from 'node:path';

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

/** The engines on which the release build runs the file in the whole test run. */
export function releaseEngines(file) {
  const runs = wordsOf(file, 'runs');
  const may = ENGINES.filter((engine) => allows(runs, ENGINES, engine));
  if (may.length === 1 || runs.some((w) => BUILDS.includes(w))) return may;
  const asked = wordsOf(file, 'release');
  return asked.length > 0 ? asked : [ENGINES[parity(path.basename(file))]];
}

/** 0 or 1: of the name alone, so that a new file moves no other. */
function parity(name) {
  let hash = 0x811c9dc5; // FNV-1a
  for (const byte of Buffer.from(name)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return (hash >>> 16) & 1;
}
