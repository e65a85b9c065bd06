// tests/lib/worker.mjs - runs test files one after another in one process, as it is told: a process of its own for each file
// would spend most of its time on starting, loading libraries and compiling the OpenAPI document's schemas.
//
// Each message is the name of a file, whose tests become a suite of that name; `null` is the end. The TAP output says when a file
// is done (tap.mjs, FileResults).
import path from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';

let before = Promise.resolve();
process.on('message', (file) => {
  before = before.then(() => (file === null ? process.disconnect() : run(file)));
});

async function run(file) {
  process.env.SOUK_TEST_FILE = path.resolve(file);
  await describe(file, async () => {
    await import(pathToFileURL(path.resolve(file)));
  });
}
