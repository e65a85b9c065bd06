// The black-box suite on the engines that the ordinary run leaves out for each sanitizer (tests/run.mjs, `more`).
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const run = spawnSync(process.execPath, ['tests/run.mjs', 'api-asan-pg', 'api-tsan-sqlite'], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = run.status ?? 1;
