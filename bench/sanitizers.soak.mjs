// What the ordinary test run leaves out of the matrix of builds and engines (tests/lib/phases.mjs): the black-box suite on the other engine
// for each sanitizer (`more`), every file of it and of the races on both engines in the release build (`sparse`), and the unit
// programs on both engines with each sanitizer (`stores`).
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { PHASES } from '../tests/lib/phases.mjs';

const left = PHASES.filter(
  (p) => p.sparse || p.stores || (p.more && p.folder === 'tests/api' && p.build !== 'release'),
).map((p) => p.name);
const root = fileURLToPath(new URL('..', import.meta.url));
const run = spawnSync(process.execPath, ['tests/run.mjs', ...left], { cwd: root, stdio: 'inherit' });
process.exitCode = run.status ?? 1;
