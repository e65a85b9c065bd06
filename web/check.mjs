// web/check.mjs - holds the panel against the contract: types made from the OpenAPI document, then the type checker.
//
//     node web/check.mjs [BUILD_DIR]     (the build's merged document; default build)
//
// An answer that loses or renames a member fails here.
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

/** Files that were read for an earlier check: most of the time goes to the browser's and the language's own types. */
const parsed = new Map();

function cachingHost(options) {
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (file, ...rest) => {
    const text = ts.sys.readFile(file);
    if (parsed.get(file)?.text !== text) parsed.set(file, getSourceFile.call(host, file, ...rest));
    return parsed.get(file);
  };
  return host;
}

/** Gives {ok, output}: a line for each mistake, with its file. `only`: a file of src/; the others are read, but not checked. */
export function checkTypes({ only } = {}) {
  const fail = (diagnostic) => {
    throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'));
  };
  const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(
    path.join(here, 'tsconfig.json'),
    { noEmit: true, strict: true },
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail },
  );
  const program = ts.createProgram(fileNames, options, cachingHost(options));
  const file = only && program.getSourceFile(path.join(here, 'src', only));
  if (only && !file) throw new Error(`no such file: ${only}`);
  const found = [...errors, ...ts.getPreEmitDiagnostics(program, file)];
  const output = ts.formatDiagnostics(found, {
    getCurrentDirectory: () => here,
    getCanonicalFileName: (f) => f,
    getNewLine: () => '\n',
  });
  return { ok: found.length === 0, output };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await makeTypes(process.argv[2] ?? path.join(here, '../build'));
  const { ok, output } = checkTypes();
  process.stdout.write(output);
  process.exitCode = ok ? 0 : 1;
}
