// tests/api/lib/openapi.mjs - holds an answer against the OpenAPI document of the build under test.
//
// The path template, method, status, content type, headers and body must all be described there. A path that the document
// does not know must be answered 404, a method that it does not know 405; refusals below the level of endpoints (broken
// HTTP, deadlines, size limits) are described in x-protocol-responses.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { BUILD, IS_ASAN, IS_TSAN } from '../../lib/build.mjs';
import { releaseEngines } from '../../lib/heads.mjs';
import { recordExample } from './examples.mjs';
import { compilerOf, pointerOf, validatorsOf } from './validators.mjs';

const stepsOf = (bare) => bare.split('/').length;

export class Document {
  /** validators: functions that are made already (validators.mjs). */
  constructor(document, validators = new Map()) {
    this.document = document;
    this.validators = validators;
    this.templates = Object.keys(document.paths)
      .map((template) => ({
        template,
        pattern: new RegExp(`^${template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')}$`),
        literal: template.split('/').filter((s) => !s.startsWith('{')).length,
      }))
      .sort((a, b) => b.literal - a.literal);
    this.byLength = new Map();
    for (const t of this.templates) this.byLength.set(stepsOf(t.template), [...this.ofLength(t.template), t]);
    this.patterns = new Map();
  }

  ofLength(bare) {
    return this.byLength.get(stepsOf(bare)) ?? [];
  }

  /** The path template that `target` matches, or null. */
  templateOf(target) {
    const bare = target.split('?')[0];
    return this.ofLength(bare).find((t) => t.pattern.test(bare))?.template ?? null;
  }

  /** Throws an AssertionError that says what is not as described. */
  check(method, target, answer, request = {}) {
    const where = `${method} ${target} -> ${answer.status}`;
    const template = this.templateOf(target);
    if (template === null) {
      assert.ok(this.isProtocol(answer.status), `${where}: no such path in the OpenAPI document`);
      return this.checkResponse(where, ['x-protocol-responses', String(answer.status)], method, answer);
    }
    const item = this.document.paths[template];
    if (method === 'OPTIONS' && !item.options) {
      assert.match(answer.headers.allow ?? '(none)', /^[A-Z]+(, [A-Z]+)*$/, `${where}: Allow`);
      return undefined;
    }
    const known = method === 'HEAD' && !item.head ? 'get' : method.toLowerCase();
    if (!item[known]) {
      assert.ok(this.isProtocol(answer.status), `${where}: no such method in the OpenAPI document`);
      return this.checkResponse(where, ['x-protocol-responses', String(answer.status)], method, answer);
    }
    const operation = ['paths', template, known];
    if (item[known].responses[answer.status]) {
      this.checkResponse(where, [...operation, 'responses', String(answer.status)], method, answer);
    } else {
      // An endpoint never answers 404 or 405 by way of the protocol: it exists, and has this method.
      assert.ok(
        this.isProtocol(answer.status) && ![404, 405].includes(answer.status),
        `${where}: this status is not in the OpenAPI document: ${answer.text}`,
      );
      this.checkResponse(where, ['x-protocol-responses', String(answer.status)], method, answer);
    }
    if (answer.status < 300) this.checkRequest(where, [...operation, 'requestBody'], request);
    return undefined;
  }

  isProtocol(status) {
    return this.document['x-protocol-responses']?.[status] !== undefined;
  }

  checkResponse(where, steps, method, answer) {
    const [response, at] = this.follow(steps);
    this.checkHeaders(where, response, answer);
    const type = (answer.headers['content-type'] ?? '').split(';')[0].trim();
    if (!response.content) {
      assert.equal(answer.text, '', `${where}: a body where the document has none`);
      return;
    }
    const described = Object.keys(response.content).find((t) => t === type || t === '*/*');
    assert.ok(
      described,
      `${where}: content type "${type}" is not in the OpenAPI document (${Object.keys(response.content)})`,
    );
    if (method === 'HEAD') {
      assert.equal(answer.text, '', `${where}: HEAD with a body`);
      return;
    }
    if (!response.content[described].schema) return;
    const value = type === 'application/json' ? answer.json : answer.text;
    this.checkValue(where, [...at, 'content', described, 'schema'], value);
  }

  checkHeaders(where, response, answer) {
    for (const [name, given] of Object.entries(response.headers ?? {})) {
      const header = this.resolve(given);
      const value = answer.headers[name.toLowerCase()];
      if (value === undefined) {
        assert.ok(!header.required, `${where}: the header ${name} is missing`);
        continue;
      }
      const { pattern, const: constant } = header.schema ?? {};
      if (pattern) assert.match(value, this.patternOf(pattern), `${where}: ${name}`);
      if (constant) assert.equal(value, constant, `${where}: ${name}`);
    }
  }

  patternOf(text) {
    if (!this.patterns.has(text)) this.patterns.set(text, new RegExp(text));
    return this.patterns.get(text);
  }

  /** A request that succeeded must have been one that the document allows. */
  checkRequest(where, steps, request) {
    const body = steps.reduce((node, step) => node?.[step], this.document);
    if (!body) {
      assert.ok(!request.body || request.body.length === 0, `${where}: accepted a body where the document has none`);
      return;
    }
    if (!request.body) return;
    const type = (request.type ?? '').split(';')[0].trim().toLowerCase();
    const described = Object.keys(body.content).find((t) => t === type || t === '*/*');
    assert.ok(described, `${where}: accepted a body of type "${type}", which the document does not know`);
    if (type === 'application/json' && body.content[described].schema) {
      this.checkValue(
        `${where}: the request that was accepted`,
        [...steps, 'content', described, 'schema'],
        JSON.parse(request.body.toString('utf8')),
      );
    }
  }

  checkValue(where, steps, value) {
    const pointer = pointerOf(steps);
    let validate = this.validators.get(pointer);
    if (!validate) {
      this.ajv ??= compilerOf(this.document);
      validate = this.ajv.compile({ $ref: pointer });
      this.validators.set(pointer, validate);
    }
    if (!validate(value)) {
      const errors = validate.errors.map((e) => `  ${e.instancePath || '/'} ${e.message} ${JSON.stringify(e.params)}`);
      assert.fail(
        `${where}: not as the OpenAPI document says:\n${[...new Set(errors)].join('\n')}\n${JSON.stringify(value)}`,
      );
    }
  }

  /** The object at `steps`, and where it really is when a $ref was followed. */
  follow(steps) {
    const node = steps.reduce((n, step) => n[step], this.document);
    if (!node.$ref) return [node, steps];
    const at = node.$ref
      .slice(2)
      .split('/')
      .map((s) => s.replace(/~1/g, '/').replace(/~0/g, '~'));
    return this.follow(at);
  }

  resolve(node) {
    return node.$ref ? this.follow(node.$ref.slice(2).split('/'))[0] : node;
  }
}

let loaded = null;

/** The document of the build under test. */
export function document() {
  if (!loaded) {
    const text = fs.readFileSync(path.join(BUILD, 'api/openapi.json'), 'utf8');
    loaded = new Document(JSON.parse(text), validatorsOf(text));
  }
  return loaded;
}

/** An instrumented build gives the same answers as the release build: what the latter runs on this engine is held against the document there. */
const isRepeat = new Map();

function repeats() {
  if (!IS_ASAN && !IS_TSAN) return false;
  const file = process.env.SOUK_TEST_FILE;
  if (!isRepeat.has(file))
    isRepeat.set(file, Boolean(file) && releaseEngines(file).includes(process.env.SOUK_ENGINE ?? 'sqlite'));
  return isRepeat.get(file);
}

export function checkAnswer(method, target, answer, request) {
  if (repeats()) return;
  document().check(method, target, answer, request);
  recordExample(method, document().templateOf(target), answer, request);
}
