// tests/api/lib/validators.mjs - functions that say whether a value is as a schema of the OpenAPI document wants it.
//
// To make all of them takes longer than most test files. They are written as a program into the build folder once, by the test run
// (`node tests/api/lib/validators.mjs`) or by the first process that needs them, under a name that changes with the document. The builds
// with sanitizers take those of the release build where it is there.
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { BUILD } from '../../lib/build.mjs';

const require = createRequire(import.meta.url);

/** The document as a schema of Ajv, whose parts `souk#/…` names. */
export function compilerOf(document, options = {}) {
  const Ajv2020 = require('ajv/dist/2020.js').default;
  const ajv = new Ajv2020({
    allErrors: true,
    strict: true,
    strictRequired: false,
    strictTypes: false,
    validateFormats: true,
    ...options,
  });
  require('ajv-formats').default(ajv);
  ajv.addVocabulary([
    'openapi',
    'info',
    'servers',
    'tags',
    'paths',
    'components',
    'security',
    'example',
    'externalDocs',
    'x-protocol-responses',
  ]);
  return ajv.addSchema({ $id: 'souk', ...document });
}

/** How Ajv names the part of the document at these steps. */
export function pointerOf(steps) {
  return `souk#/${steps.map((s) => encodeURIComponent(s.replace(/~/g, '~0').replace(/\//g, '~1'))).join('/')}`;
}

/** Of the schemas of all bodies. */
function pointersOf(node, steps = []) {
  if (node === null || typeof node !== 'object') return [];
  return Object.entries(node).flatMap(([key, value]) => {
    const at = [...steps, key];
    if (key !== 'content')
      return ['schema', 'schemas', 'example', 'examples'].includes(key) ? [] : pointersOf(value, at);
    return Object.keys(value)
      .filter((type) => value[type].schema)
      .map((type) => pointerOf([...at, type, 'schema']));
  });
}

function programOf(document) {
  const ajv = compilerOf(document, { code: { source: true } });
  const names = {};
  const all = pointersOf(document).map((pointer, n) => {
    ajv.addSchema({ $id: `v${n}`, $ref: pointer });
    names[`v${n}`] = `v${n}`;
    return [pointer, `v${n}`];
  });
  return `${require('ajv/dist/standalone').default(ajv, names)}\nexports.all = ${JSON.stringify(all)};\n`;
}

/** {pointer: function} for every body of the document whose text is `text`, as a Map. */
export function validatorsOf(text) {
  const versions = ['ajv', 'ajv-formats'].map((name) => require(`${name}/package.json`).version);
  const hash = createHash('sha256')
    .update([...versions, text].join('\n'))
    .digest('hex')
    .slice(0, 16);
  const file = path.join(process.env.SOUK_HELPER ?? BUILD, `api/validators-${hash}.cjs`);
  if (!fs.existsSync(file)) {
    const part = `${file}.${randomBytes(6).toString('hex')}`;
    fs.writeFileSync(part, programOf(JSON.parse(text)));
    fs.renameSync(part, file); // others may be at it, too
    removeOlder(file);
  }
  const program = { exports: {} };
  // Not required: the build folder may be outside the tree, where there is no Ajv.
  const run = vm.compileFunction(fs.readFileSync(file, 'utf8'), ['module', 'exports', 'require'], { filename: file });
  run(program, program.exports, require);
  return new Map(program.exports.all.map(([pointer, name]) => [pointer, program.exports[name]]));
}

function removeOlder(file) {
  for (const name of fs.readdirSync(path.dirname(file)))
    if (/^validators-.*\.cjs$/.test(name) && name !== path.basename(file))
      fs.rmSync(path.join(path.dirname(file), name), { force: true });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  validatorsOf(fs.readFileSync(path.join(BUILD, 'api/openapi.json'), 'utf8'));
