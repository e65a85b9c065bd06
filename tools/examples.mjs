// tools/examples.mjs - chooses examples for the OpenAPI document among the answers that a run of the suite has written down.
//
//     node tools/examples.mjs FOLDER        writes api/examples/*.json; ./dev examples does both
//
// What is there and still fits stays as it is, so a run of a part of the suite adds what is missing; remove a file to get it fresh.
//
// api/examples/TAG.json has, by operationId and status, a success or the refusals by code; errors.json has one refusal for each code, for
// operations whose own tests do not provoke it. What differs from run to run (ids, times, keys, addresses) is replaced.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { document } from '../tests/api/lib/openapi.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const ID_MAX = 1000;

/** A text of the same form, always the same: letters and digits are replaced by such as every alphabet of ours has. */
const stableText = (text) =>
  text.replace(/[A-Za-z0-9]/g, (c, i) => (/\d/.test(c) ? '234567' : /[a-z]/.test(c) ? 'abcdef' : 'ABCDEF')[i % 6]);

const REPLACEMENTS = [
  [/https?:\/\/127\.0\.0\.1:\d+/g, 'https://shop.example.com'],
  [/\b127\.0\.0\.\d+\b/g, '203.0.113.7'],
  [/(souk_[a-z]+_)([A-Za-z0-9]{38})/g, (_, head, rest) => head + stableText(rest)],
  [/(\bsouk_)([A-Za-z0-9]{24})\b/g, (_, head, rest) => head + stableText(rest)],
  [/\b[0-9A-Z]{5}(-[0-9A-Z]{5}){4}\b/g, '7K3QM-0ZT5A-GC8WX-4N1EV-R9HJ2'],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '2026-11-15T10:00:00Z'],
  [/\b20\d\d-\d\d-\d\d\b(?!T)/g, '2026-11-15'],
  [/[\w.+-]+@[\w-]+(\.[\w-]+)+/g, 'ada@example.com'],
  [/\b[0-9a-f]{12,}\b/g, (text) => '0123456789abcdef'.repeat(Math.ceil(text.length / 16)).slice(0, text.length)],
  [/(\/download\/)[\w.~-]+/g, '$1example'],
];
const SECRETS = /^(totp|secret|uri|qr|otpauth_url|recovery_codes|next_cursor|cursor|csrf)$/;

const hideSecret = (_, head = '', secret = '', rest = '') => `${head}${stableText(secret)}${rest}`;

/** The value with everything replaced that differs from run to run. */
function settled(value, key = '') {
  if (Array.isArray(value)) {
    const isTexts = value.every((item) => typeof item === 'string');
    return (isTexts ? value : value.slice(0, 3)).map((item) => settled(item, key));
  }
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, settled(v, k)]));
  }
  if (typeof value === 'number' && /(^|_)id$/.test(key) && value > ID_MAX) return 17;
  if (typeof value !== 'string') return value;
  if (key === 'path' && /^M\d+ \d+h/.test(value)) return value.slice(0, value.indexOf('z') + 1); // of a QR code
  if (key === 'request_id') return '0f8fad5bd9cb469f';
  if (/password/.test(key)) return 'correct horse battery staple';
  if (SECRETS.test(key)) return value.replace(/^(whsec_|otpauth:\/\/totp\/[^?]*\?secret=)?(.*?)(&.*)?$/, hideSecret);
  return REPLACEMENTS.reduce((text, [from, to]) => text.replace(from, to), value);
}

/** Small is better; what tests for hostile input left behind is worse, and so are members without a value. */
function cost({ text }) {
  const isOdd = /[^\x20-\x7e]|[<>\\]|x{8}|a{12}|["'] OR /.test(text);
  const empty = text.match(/:(\[\]|null)/g)?.length ?? 0;
  const isEmpty = /"data":(\[\]|null)/.test(text);
  return text.length + (isOdd ? 1e6 : 0) + (isEmpty ? 1e5 : 0) + 200 * empty;
}

function readRows(folder) {
  return fs
    .readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => fs.readFileSync(path.join(folder, name), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line))
    .map((row) => ({ ...row, json: JSON.parse(row.text) }))
    .sort((a, b) => cost(a) - cost(b) || (a.text < b.text ? -1 : 1));
}

const doc = document();

/** Where the schema of an operation's response is, if the response is described by the operation itself. */
function ownSchema(template, method, status) {
  const response = doc.document.paths[template]?.[method]?.responses[status];
  if (!response || response.$ref || !response.content?.['application/json']) return null;
  return ['paths', template, method, 'responses', String(status), 'content', 'application/json', 'schema'];
}

function fits(at, value) {
  try {
    doc.checkValue('', at, value);
    return true;
  } catch {
    return false;
  }
}

/** What is kept already, as rows that cost nothing. */
function keptRows(folder) {
  const operations = new Map(
    Object.entries(doc.document.paths).flatMap(([template, item]) =>
      Object.entries(item).map(([method, { operationId }]) => [
        operationId,
        { method: method.toUpperCase(), template },
      ]),
    ),
  );
  const rows = [];
  const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
  for (const name of names.sort((a, b) => (b === 'errors.json') - (a === 'errors.json'))) {
    const kept = JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8'));
    if (name === 'errors.json')
      rows.push(...Object.values(kept).map((json) => ({ method: 'GET', template: '', status: 0, json })));
    else {
      for (const [id, { request, ...statuses }] of Object.entries(kept)) {
        for (const [status, answers] of Object.entries(statuses)) {
          for (const json of Object.values(answers)) {
            if (operations.has(id))
              rows.push({ ...operations.get(id), status: Number(status), json, request, isKept: true });
          }
        }
      }
    }
  }
  return rows;
}

function choose(rows) {
  const files = new Map();
  const errors = {};
  for (const { method, template, status, json, request, isKept } of rows) {
    const code = json.code;
    const value = settled(json);
    if (code && code !== 'validation_failed') errors[code] ??= value;
    if (code === 'validation_failed' && value.errors) errors[code] ??= value;
    const at = ownSchema(template, method.toLowerCase(), status);
    if (!at || !fits(at, value)) continue;
    const operation = doc.document.paths[template][method.toLowerCase()];
    const tag = operation.tags[0].replaceAll(' ', '_');
    if (!files.has(tag)) files.set(tag, {});
    const kept = (files.get(tag)[operation.operationId] ??= {});
    kept[status] ??= {};
    if (kept[status][code ?? 'answer']) continue;
    kept[status][code ?? 'answer'] = value;
    const given = operation.requestBody?.content?.['application/json'];
    if (status < 300 && request && given && (isKept || given.example === undefined) && !kept.request) {
      const asked = settled(request);
      const where = ['paths', template, method.toLowerCase(), 'requestBody', 'content', 'application/json', 'schema'];
      if (fits(where, asked)) kept.request = asked;
    }
  }
  files.set('errors', errors);
  return files;
}

const sorted = (node) =>
  Object.fromEntries(
    Object.keys(node)
      .sort()
      .map((key) => [key, node[key]]),
  );

const out = path.join(root, 'api/examples');
fs.mkdirSync(out, { recursive: true });
const chosen = choose([...keptRows(out), ...readRows(process.argv[2])]);
for (const name of fs.readdirSync(out)) fs.rmSync(path.join(out, name));
for (const [name, kept] of chosen) {
  fs.writeFileSync(path.join(out, `${name}.json`), `${JSON.stringify(sorted(kept), null, 1)}\n`);
}
