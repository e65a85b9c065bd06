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

/** Gives {ok, output}. */
export function checkTypes() {
  const tsc = path.join(here, '../node_modules/typescript/bin/tsc');
  const run = spawnSync(process.execPath, [tsc, '--noEmit', '--strict', '-p', here], { encoding: 'utf8' });
  return { ok: run.status === 0, output: run.stdout + run.stderr };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await makeTypes(process.argv[2] ?? path.join(here, '../build'));
  const { ok, output } = checkTypes();
  process.stdout.write(output);
  process.exitCode = ok ? 0 : 1;
}
