// Every allocation of every route fails once, on the release build and both engines: tests/api/memory.test.mjs without its stride.
// ./dev soak faults
//
//     node bench/faults.soak.mjs [STRIDE [ENGINE]]
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [stride = '1', only] = process.argv.slice(2);
for (const engine of only ? [only] : ['sqlite', 'pg']) {
  console.log(`-- ${engine}`);
  const run = spawnSync(process.execPath, ['--test', 'tests/api/memory.test.mjs'], {
    cwd: root,
    env: { ...process.env, SOUK_STRIDE: stride, SOUK_ENGINE: engine },
    stdio: 'inherit',
  });
  if (run.status !== 0) process.exitCode = 1;
}
