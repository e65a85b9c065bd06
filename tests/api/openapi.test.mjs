// The document and the program say the same: every route is described, and everything described is a route.
// runs: sqlite release
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { document } from './lib/openapi.mjs';
import { runSouk, startSouk } from './lib/souk.mjs';

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'];
/** The document has no example of itself. */
const WITHOUT_EXAMPLE = 'GET /openapi.json';
let souk;
before(async () => {
  souk = await startSouk();
});
after(() => souk.stop());

/** Every operation of the document: ["GET /path", operation]. */
function described() {
  return Object.entries(document().document.paths).flatMap(([path, item]) =>
    METHODS.filter((m) => item[m]).map((m) => [`${m.toUpperCase()} ${path}`, item[m]]),
  );
}

async function routes() {
  const run = await runSouk(['routes']);
  assert.equal(run.code, 0, run.stderr);
  assert.equal(run.stderr, '');
  return run.stdout
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [method, path, scope, transaction, ...flags] = line.split(' ');
      assert.match(method, /^[A-Z]+$/, line);
      assert.match(path, /^\//, line);
      return { name: `${method} ${path}`, scope, transaction, flags };
    });
}

test('the document is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate(structuredClone(document().document));
  assert.ok(result.valid, JSON.stringify(result.errors, null, 1));
  assert.match(document().document.openapi, /^3\.1\./);
});

test('control: a broken document is found', async () => {
  const broken = structuredClone(document().document);
  broken.paths['/livez'].get.responses['200'] = { content: {} };
  assert.equal((await new Validator().validate(broken)).valid, false);
});

test('every route is described, and everything described is a route', async () => {
  const known = (await routes()).map((r) => r.name).sort();
  assert.ok(known.length >= 10);
  assert.deepEqual(
    described()
      .map(([name]) => name)
      .sort(),
    known,
  );
  assert.equal(new Set(known).size, known.length);
});

test('the scopes are those of the route table', async () => {
  const operations = new Map(described());
  for (const route of await routes()) {
    const operation = operations.get(route.name);
    assert.deepEqual(operation.security, route.scope === '-' ? [] : [{ bearer: [] }], route.name);
    assert.equal(operation['x-scope'] ?? route.scope, route.scope, route.name);
    assert.equal('x-scope' in operation, !['-', 'login'].includes(route.scope), route.name);
  }
});

test('a route takes an Idempotency-Key exactly where the document says so', async () => {
  const operations = new Map(described());
  for (const route of await routes()) {
    const parameters = operations.get(route.name).parameters ?? [];
    const says = parameters.some((p) => p.$ref === '#/components/parameters/Idempotency-Key');
    assert.equal(says, route.flags.includes('idempotent'), route.name);
  }
});

test('/openapi.json is the document', async () => {
  const answer = await souk.get('/openapi.json');
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.json, document().document);
});

test('every schema compiles, every example fits its schema', () => {
  const doc = document();
  for (const [path, item] of Object.entries(doc.document.paths)) {
    for (const method of METHODS.filter((m) => item[m])) {
      const at = ['paths', path, method];
      for (const [type, content] of Object.entries(item[method].requestBody?.content ?? {})) {
        if (content.example !== undefined) {
          doc.checkValue(
            `${method} ${path} example`,
            [...at, 'requestBody', 'content', type, 'schema'],
            content.example,
          );
        }
      }
      for (const status of Object.keys(item[method].responses)) {
        const [response, where] = doc.follow([...at, 'responses', status]);
        for (const [type, content] of Object.entries(response.content ?? {})) {
          if (content.schema)
            assert.throws(() => doc.checkValue('', [...where, 'content', type, 'schema'], Symbol('nothing fits')));
          const examples = { example: { value: content.example }, ...content.examples };
          for (const [name, { value }] of Object.entries(examples)) {
            const what = `${method} ${path} ${status} ${name}`;
            if (value !== undefined) doc.checkValue(what, [...where, 'content', type, 'schema'], value);
          }
        }
      }
    }
  }
});

/** The codes that a response may have, as its schema says; none for a success. */
function codesOf(schema) {
  const parts = (schema.allOf ?? []).map((part) => part.properties?.code).filter(Boolean);
  return parts.flatMap((code) => code.enum ?? (code.const ? [code.const] : []));
}

test('every operation has a real answer as its example, and each of its errors one of that code', () => {
  const doc = document();
  const lacks = [];
  for (const [name, operation] of described()) {
    for (const status of Object.keys(operation.responses)) {
      const [response] = doc.follow([
        'paths',
        name.split(' ')[1],
        name.split(' ')[0].toLowerCase(),
        'responses',
        status,
      ]);
      const content = response.content?.['application/json'];
      if (!content) continue;
      const codes = codesOf(content.schema);
      const real = content.examples ?? {};
      if (codes.length === 0 && Object.keys(real).length === 0 && name !== WITHOUT_EXAMPLE)
        lacks.push(`${name} ${status}`);
      for (const code of codes) {
        if (real[code]?.value.code !== code) lacks.push(`${name} ${status} ${code}`);
      }
    }
  }
  assert.deepEqual(lacks, [], './dev examples FILE adds what the tests of FILE have');
});
