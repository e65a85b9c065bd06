// Every allocation of every route fails once, on the release build: tests/api/memory.test.mjs without its stride. ./dev soak faults
//
//     node bench/faults.soak.mjs [STRIDE]
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const stride = process.argv[2] ?? '1';
const run = spawnSync(process.execPath, ['--test', 'tests/api/memory.test.mjs'], {
  cwd: root,
  env: { ...process.env, SOUK_STRIDE: stride },
  stdio: 'inherit',
});
process.exitCode = run.status ?? 1;
