// tests/api/lib/examples.mjs - writes down answers of the suite, once they are validated, for the examples of the document.
// Only `./dev examples` asks for it.
import fs from 'node:fs';
import path from 'node:path';

const dir = process.env.SOUK_EXAMPLES;
const seen = new Map();
/** Of the answers of one kind, the first few: the program that chooses wants some choice, not all. */
const KEPT = 4;
const BYTES_MAX = 12000;

/** Keeps an answer of the operation at `template`, with the request that it was given for. */
export function recordExample(method, template, answer, request) {
  if (!dir || !answer.json || method === 'HEAD') return;
  const kind = `${method} ${template} ${answer.status} ${answer.json.code ?? ''}`;
  const times = seen.get(kind) ?? 0;
  if (times >= KEPT || answer.text.length > BYTES_MAX) return;
  seen.set(kind, times + 1);
  let body = null;
  if (request.body?.length > 0 && /^application\/json/.test(request.type ?? '')) {
    try {
      body = JSON.parse(request.body.toString('utf8'));
    } catch {
      // broken on purpose
    }
  }
  const row = { method, template, status: answer.status, text: answer.text, request: body };
  fs.appendFileSync(path.join(dir, `${process.pid}.jsonl`), `${JSON.stringify(row)}\n`);
}
