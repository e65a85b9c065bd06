// The document is as strict as the server: every field that a route takes is described with the same bounds, words and form.
// Made from `souk routes --fields`, so that a new field is in it at once.
// runs: sqlite release
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { document } from './lib/openapi.mjs';
import { runSouk } from './lib/souk.mjs';

const { document: doc } = document();
const ID_MAX = Number.MAX_SAFE_INTEGER;
const SLUG = '^[a-z0-9]+(-[a-z0-9]+)*$';

const lines = (await runSouk(['routes', '--fields'])).stdout.trimEnd().split('\n');
const fields = lines.map((line) => {
  const [method, path, place, name, type, required, nullable, min, max, itemMax, ...choices] = line.split(' ');
  return {
    route: `${method} ${path}`,
    method: method.toLowerCase(),
    path,
    place,
    name,
    type,
    required: required === 'required',
    nullable: nullable === 'nullable',
    min: Number(min),
    max: Number(max),
    itemMax: Number(itemMax),
    choices,
  };
});

function deref(node) {
  return node?.$ref
    ? deref(
        node.$ref
          .slice(2)
          .split('/')
          .reduce((at, step) => at?.[step.replaceAll('~1', '/')], doc),
      )
    : node;
}

/** A schema with its $ref, its allOf and what is no `null` of its alternatives folded into one. */
function flat(schema) {
  let out = { ...schema };
  if (out.$ref) out = { ...deref(out), ...out };
  for (const part of out.allOf ?? []) {
    const inner = flat(part);
    out = {
      ...inner,
      ...out,
      properties: { ...inner.properties, ...out.properties },
      required: [...(inner.required ?? []), ...(out.required ?? [])],
    };
  }
  const others = (out.anyOf ?? out.oneOf ?? []).map(flat);
  const real = others.filter((s) => s.type !== 'null');
  if (real.length === 1) out = { ...real[0], ...out, nullable: others.length > 1 };
  if (Array.isArray(out.type))
    out = { ...out, nullable: out.type.includes('null'), type: out.type.find((t) => t !== 'null') };
  return out;
}

function describedField(f) {
  const item = doc.paths[f.path];
  const operation = item[f.method];
  if (f.place === 'query') {
    const found = [...(item.parameters ?? []), ...(operation.parameters ?? [])]
      .map(deref)
      .find((p) => p.in === 'query' && p.name === f.name);
    return found && { schema: flat(found.schema), required: found.required === true };
  }
  const body = flat(operation.requestBody?.content?.['application/json']?.schema ?? {});
  const member = body.properties?.[f.name];
  return member && { schema: flat(member), required: (body.required ?? []).includes(f.name) };
}

/** What the document lacks of the field's rule. */
function lacks(f) {
  const found = describedField(f);
  if (!found) return ['is not described'];
  const { schema, required } = found;
  const wrong = [];
  const want = (key, value, holder = schema) => {
    if (JSON.stringify(holder?.[key]) !== JSON.stringify(value))
      wrong.push(`${key}: ${JSON.stringify(holder?.[key])}, the server has ${JSON.stringify(value)}`);
  };
  const bounds = (low, high, holder) => {
    if (f.min > 0 || (f.required && low === 'minLength'))
      want(low, Math.max(f.min, low === 'minLength' && f.required ? 1 : f.min), holder);
    if (f.max > 0 && f.max >= f.min) want(high, f.max, holder);
  };
  const text = { line: true, text: true, secret: true };
  if (required !== f.required) wrong.push(`required: ${required}, the server has ${f.required}`);
  if (text[f.type]) {
    want('type', 'string');
    bounds('minLength', 'maxLength');
  } else if (f.type === 'int') {
    want('type', 'integer');
    want('format', 'int64');
    if (f.min || f.max) want('minimum', f.min);
    if ((f.min || f.max) && f.max >= f.min) want('maximum', f.max);
  } else if (f.type === 'id') {
    want('type', 'integer');
    want('format', 'int64');
    want('minimum', 1);
    want('maximum', ID_MAX);
  } else if (f.type === 'money' || f.type === 'decimal' || f.type === 'number') {
    want('type', 'number');
  } else if (f.type === 'email') {
    want('format', 'email');
    want('maxLength', 254);
  } else if (f.type === 'slug') {
    want('pattern', SLUG);
    want('maxLength', 100);
  } else if (f.type === 'url') {
    want('format', 'uri');
    want('maxLength', 2048);
  } else if (f.type === 'time') {
    want('format', 'date-time');
  } else if (f.type === 'choice') {
    // A handler may refuse a word of its table: the document has those that it takes.
    want(
      'enum',
      f.choices.filter((word) => schema.enum?.includes(word)),
      { enum: schema.enum?.filter((word) => word !== null) },
    );
  } else if (f.type === 'choices') {
    want('enum', f.choices, flat(schema.items));
    bounds('minItems', 'maxItems');
  } else if (f.type === 'ids' || f.type === 'lines') {
    want('type', 'array');
    bounds('minItems', 'maxItems');
    if (f.type === 'ids') want('format', 'int64', flat(schema.items));
    if (f.type === 'lines') want('maxLength', f.itemMax, flat(schema.items));
  } else if (f.type === 'bool') want('type', 'boolean');
  if (f.nullable && !schema.nullable) wrong.push('null is taken, and not described');
  return wrong;
}

test('every field of every route is described as strictly as the server reads it', () => {
  assert.ok(fields.length > 150);
  assert.deepEqual(
    fields.flatMap((f) => lacks(f).map((what) => `${f.route} ${f.place} ${f.name}: ${what}`)),
    [],
  );
});

test('control: a bound that is missing is found', () => {
  const f = fields.find((x) => x.type === 'line' && x.max > 0);
  assert.notDeepEqual(lacks({ ...f, max: f.max + 1 }), []);
  assert.deepEqual(lacks({ ...f, name: 'no_such_field' }), ['is not described']);
});
