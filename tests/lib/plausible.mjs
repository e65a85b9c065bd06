// A plausible request for every route of the API, from the examples of the OpenAPI document. For tests that go over all routes and
// care about what happens on the way, not about the answer: the ids are those of a store with one or two of everything.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Where the document has no example. */
const BODIES = {
  'PUT /api/admin/settings/logo': '\x89PNG\r\n\x1a\n',
  'POST /api/admin/products/{id}/images': '\x89PNG\r\n\x1a\n',
  'PUT /api/admin/products/{id}/file': 'PK\x03\x04 a file',
  'POST /api/admin/webhook-endpoints': { url: 'https://hooks.example/in', events: ['order.created'] },
  'POST /api/admin/orders/{id}/cancel': { money: 'credit' },
  'POST /api/auth/verify-email': { token: 'A'.repeat(43) },
};

const PLACES = {
  label: 'card_gateway_a',
  gateway: 'card_gateway_a',
  kind: 'order',
  language: 'en',
  slug: 'editor',
  token: 'A'.repeat(43),
};

export function openapi(build = path.join(root, 'build')) {
  return JSON.parse(readFileSync(path.join(build, 'api/openapi.json'), 'utf8'));
}

/** [{route, method, target, who, body, type, takesKey}]: who is 'staff', 'customer' or null. `places` adds to what stands for {…}. */
export function plausibleRequests(document, places = {}) {
  const words = { ...PLACES, ...places };
  const list = [];
  for (const [template, item] of Object.entries(document.paths)) {
    for (const [verb, operation] of Object.entries(item)) {
      if (verb === 'parameters') continue;
      const method = verb.toUpperCase();
      const route = `${method} ${template}`;
      const content = Object.entries(operation.requestBody?.content ?? {})[0];
      const example = BODIES[route] ?? exampleOf(content?.[1]);
      list.push({
        route,
        method,
        target: template.replace(/\{(\w+)\}/g, (_, name) => words[name] ?? '1'),
        who: whoCalls(template, operation),
        body: example === undefined || typeof example === 'string' ? example : JSON.stringify(example),
        type: content && (content[0] === '*/*' ? 'application/octet-stream' : content[0]),
        takesKey: JSON.stringify(operation.parameters ?? []).includes('Idempotency-Key'),
      });
    }
  }
  return list;
}

function exampleOf(content) {
  return content?.example ?? Object.values(content?.examples ?? {})[0]?.value;
}

function whoCalls(template, operation) {
  if (template.startsWith('/api/admin/')) return 'staff';
  return operation.security?.length === 0 || !template.startsWith('/api/') ? null : 'customer';
}
