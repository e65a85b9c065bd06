// tests/lib/build.mjs - the build under test.
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Its folder. */
export const BUILD = process.env.SOUK_BUILD ?? path.join(root, 'build');
export const IS_ASAN = /-asan$/.test(BUILD);
export const IS_TSAN = /-tsan$/.test(BUILD);
/** Instrumented programs are several times slower: tests scale loads and patience by it. */
export const SLOW = IS_ASAN || IS_TSAN ? 5 : 1;
