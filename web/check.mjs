// web/check.mjs - holds the panel against the contract: types made from the OpenAPI document, then the type checker.
//
//     node web/check.mjs [BUILD_DIR]     (the build's merged document; default build)
//
// An answer that loses or renames a member fails here.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import openapiTS, { NULL, astToString } from 'openapi-typescript';
import ts from 'typescript';

const here = path.dirname(fileURLToPath(import.meta.url));

/** What the document calls a number is an amount or a percentage (the rest are integers): never a double. */
function amounts(schema) {
  const types = [schema.type ?? []].flat();
  if (!types.includes('number')) return undefined;
  const amount = ts.factory.createTypeReferenceNode('Amount');
  return types.includes('null') ? ts.factory.createUnionTypeNode([amount, NULL]) : amount;
}

/** `change` may alter the document first, to see that it is noticed. */
export async function makeTypes(buildDir, change = () => {}) {
  const document = JSON.parse(fs.readFileSync(path.join(buildDir, 'api/openapi.json'), 'utf8'));
  change(document);
  const text = astToString(await openapiTS(document, { transform: amounts }));
  fs.mkdirSync(path.join(here, 'generated'), { recursive: true });
  fs.writeFileSync(path.join(here, 'generated/openapi.d.ts'), `import type { Amount } from '../src/amount';\n${text}`);
}

/** The native compiler, which takes a tenth of the time of the one in JavaScript; the latter is only what makes the types. */
const COMPILER = path.join(here, '../node_modules/typescript-native/bin/tsc');

/** Gives {ok, output}: a line for each mistake, with its file. `only`: a file of src/, which is checked with what it imports. */
export function checkTypes({ only } = {}) {
  const config = path.join(here, only ? 'generated/only.json' : 'tsconfig.json');
  if (only) {
    const files = ['modules.d.ts', only].map((name) => path.join(here, 'src', name));
    fs.writeFileSync(config, JSON.stringify({ extends: '../tsconfig.json', include: [], files }));
  }
  const run = spawnSync(process.execPath, [COMPILER, '--project', config, '--pretty', 'false', '--singleThreaded'], {
    cwd: here,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (only) fs.rmSync(config);
  const isJudged = run.status === 0 || /: error TS\d+/.test(run.stdout);
  if (!isJudged) throw run.error ?? new Error(`the compiler ended with ${run.status}: ${run.stdout}${run.stderr}`);
  return { ok: run.status === 0, output: run.stdout };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await makeTypes(process.argv[2] ?? path.join(here, '../build'));
  const { ok, output } = checkTypes();
  process.stdout.write(output);
  process.exitCode = ok ? 0 : 1;
}
