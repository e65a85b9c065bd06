// Every route of the program × everybody who might call it. Made from `souk routes`: a new route is in the matrix at once.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { document } from './lib/openapi.mjs';
import { seeder } from './lib/seed.mjs';
import { freshStore, runSouk, startSouk } from './lib/souk.mjs';

const SCOPES = ['customer', 'store', 'catalog', 'verify', 'order', 'admin'];
const PASSWORD = 'correct horse battery';
const MISSING_ID = '9007199254740991';

const database = freshStore();
const cli = (args) => runSouk([...args, '--db', database.dbArg], { cwd: database.dir, env: database.env, helps: true });
let souk;
let routes;
const tokens = {};

before(async () => {
  for (const [email, role] of [
    ['owner@example.com', 'owner'],
    ['staff@example.com', 'staff'],
    ['customer@example.com', 'customer'],
  ]) {
    const made = await runSouk(
      ['account', 'create', '--email', email, '--role', role, '--password-stdin', '--db', database.dbArg],
      { cwd: database.dir, env: database.env, input: `${PASSWORD}\n`, helps: true },
    );
    assert.equal(made.code, 0, made.stderr);
  }
  // A token of one scope each, all of an owner; admin once more for staff that is no owner.
  for (const scope of SCOPES) tokens[scope] = await tokenOf('owner@example.com', scope);
  tokens.power = await tokenOf('owner@example.com', 'admin,owner');
  tokens.staff = await tokenOf('staff@example.com', 'admin');
  tokens.plain = await tokenOf('customer@example.com', 'customer,store,catalog,verify,order');
  routes = (await runSouk(['routes'], { helps: true })).stdout
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [method, path, scope, transaction, ...flags] = line.split(' ');
      return { name: `${method} ${path}`, method, path, scope, transaction, flags };
    });
  souk = await startSouk({ database });
  const login = await souk.post('/api/auth/login', { email: 'owner@example.com', password: PASSWORD });
  tokens.login = login.json.data.token;
});
after(async () => {
  await souk.stop();
  database.remove();
});

async function tokenOf(email, scopes) {
  const made = await cli(['token', 'create', '--email', email, '--scopes', scopes]);
  assert.equal(made.code, 0, made.stderr);
  return made.stdout.trim();
}

/** A target of the route that hits nothing, and a body that no route takes: only the gate is tried. */
function call(route, options = {}) {
  const target = route.path.replace(/\{id\}/g, MISSING_ID).replace(/\{[^}]+\}/g, 'nothing-here');
  const operation = document().document.paths[route.path][route.method.toLowerCase()];
  const type = Object.keys(operation.requestBody?.content ?? {})[0];
  if (type && options.body === undefined) options.body = type === 'application/json' ? '{"surprise":1}' : 'x';
  if (type && options.type === undefined) options.type = type;
  return souk.request(route.method, target, options);
}

const takesJson = (route) => {
  const operation = document().document.paths[route.path][route.method.toLowerCase()];
  return 'application/json' in (operation.requestBody?.content ?? {});
};

test('there are public, secured and administrative routes to try', () => {
  assert.ok(routes.some((r) => r.scope === '-') && routes.some((r) => r.scope === 'customer'));
  assert.ok(
    routes.every((r) => ['-', 'login', ...SCOPES].includes(r.scope)),
    'a scope that this matrix does not know',
  );
});

test('every secured route refuses a caller without a token, and one with a made-up token', async () => {
  for (const route of routes.filter((r) => r.scope !== '-')) {
    const nobody = expectError(await call(route), 401, 'token_missing');
    assert.equal(nobody.headers['www-authenticate'], 'Bearer realm="souk"', route.name);
    expectError(await call(route, { token: `souk_api_${'a'.repeat(38)}` }), 401, 'token_invalid');
    expectError(await call(route, { token: '' }), 401, 'token_missing');
  }
});

for (const scope of SCOPES) {
  test(`a token of scope ${scope} opens the routes of ${scope}, and no others`, async () => {
    for (const route of routes.filter((r) => r.scope !== '-')) {
      const answer = await call(route, { token: tokens[scope] });
      if (route.scope === scope && !isOwners(route))
        assert.ok(![401, 403].includes(answer.status), `${route.name}: ${answer.status} ${answer.text}`);
      else {
        expectError(answer, 403, 'insufficient_scope');
        assert.ok([route.scope, 'owner'].includes(answer.json.required_scope), answer.text);
      }
    }
  });
}

test('sensitive routes open to an API token only with the scope owner', async () => {
  const sensitive = routes.filter(isOwners);
  assert.ok(sensitive.length > 8, 'there are sensitive routes');
  for (const route of sensitive) {
    const answer = await call(route, { token: tokens.power });
    assert.ok(![401, 403].includes(answer.status), `${route.name}: ${answer.status} ${answer.text}`);
  }
});

/** What owners change without a fresh proof: it gives nobody more than they have, and takes nothing away. */
const HARMLESS = [
  'PATCH /api/admin/checklist',
  'POST /api/admin/webhook-endpoints/{id}/test',
  'POST /api/admin/webhook-deliveries/{id}/resend',
];

/** What other staff do that outlasts a stolen session: money, tokens of customers, programs that buyers run. */
const LASTING = [
  'DELETE /api/admin/products/{id}/file',
  'POST /api/admin/customers/{id}/tokens',
  'POST /api/admin/customers/{id}/wallet',
  'POST /api/admin/tickets/{id}/credit',
  'POST /api/admin/withdrawals/{id}/approve',
  'PUT /api/admin/products/{id}/file',
];

test('what only owners may change, and who they are, wants a fresh proof: from sessions and from tokens', () => {
  const changes = routes.filter((r) => r.scope === 'admin' && r.method !== 'GET');
  const owners = changes.filter((r) => r.flags.includes('owner') || r.path.startsWith('/api/admin/me/'));
  const open = owners.filter((r) => !(r.flags.includes('confirmed') && isOwners(r)));
  assert.deepEqual(open.map((r) => r.name).sort(), [...HARMLESS].sort());
  const asked = changes.filter((r) => r.flags.includes('confirmed') && !owners.includes(r));
  assert.deepEqual(asked.map((r) => r.name).sort(), LASTING);
});

test('sensitive routes refuse a session whose last proof is old, before they look at anything else', async () => {
  const { token } = dataOf(await souk.post('/api/auth/login', { email: 'owner@example.com', password: PASSWORD }));
  seeder(souk).sql(`UPDATE token SET confirmed_at = ${Date.now() - 601e3} WHERE hint = '${token.slice(-4)}';`);
  for (const route of routes.filter((r) => r.flags.includes('confirmed')))
    expectError(await call(route, { token }), 403, 'confirmation_required');
});

test('a login opens every route of its account, API tokens none of those for logins', async () => {
  for (const route of routes.filter((r) => r.scope === 'login')) {
    for (const token of [tokens.plain, tokens.power])
      expectError(await call(route, { token }), 403, 'insufficient_scope');
  }
  for (const route of routes.filter((r) => r.scope !== '-' && r.path !== '/api/auth/logout')) {
    const answer = await call(route, { token: tokens.login });
    assert.ok(![401, 403].includes(answer.status), `${route.name}: ${answer.status} ${answer.text}`);
  }
});

test("a customer's token opens no administrative route", async () => {
  for (const route of routes.filter((r) => r.scope === 'admin')) {
    expectError(await call(route, { token: tokens.plain }), 403, 'insufficient_scope');
  }
});

test('routes of the owner are closed to other staff', async () => {
  for (const route of routes.filter((r) => r.scope === 'admin')) {
    const answer = await call(route, { token: tokens.staff });
    if (route.flags.includes('owner')) expectError(answer, 403, 'forbidden');
    else if (isOwners(route)) expectError(answer, 403, 'insufficient_scope');
    else assert.ok(![401, 403].includes(answer.status), `${route.name}: ${answer.status} ${answer.text}`);
  }
});

function isOwners(route) {
  return route.flags.includes('owner-token');
}

function tokenFor(route) {
  return route.scope === '-' ? undefined : isOwners(route) ? tokens.power : tokens[route.scope];
}

test('every JSON body refuses members that nobody described', async () => {
  for (const route of routes.filter(takesJson)) {
    const answer = await call(route, { token: tokenFor(route), body: { surprise: 1, 'balance ': 5, __proto__x: {} } });
    expectError(answer, 422, 'validation_failed');
    const unknown = answer.json.errors.filter((e) => e.code === 'unknown_field').map((e) => e.field);
    assert.deepEqual(unknown, ['surprise', 'balance ', '__proto__x'], `${route.name}: ${answer.text}`);
  }
});

test('every JSON body refuses what is no JSON object, and other media types', async () => {
  for (const route of routes.filter(takesJson)) {
    const token = tokenFor(route);
    expectError(await call(route, { token, body: '{"a":' }), 400, 'malformed_json');
    for (const body of ['[]', '1', 'null', '"x"', 'true'])
      expectError(await call(route, { token, body }), 422, 'validation_failed');
    const types = Object.keys(document().document.paths[route.path][route.method.toLowerCase()].requestBody.content);
    if (types.length > 1) continue;
    const other = expectError(
      await call(route, { token, body: 'a=1', type: 'application/x-www-form-urlencoded' }),
      415,
      'unsupported_media_type',
      'The body must be application/json',
    );
    assert.equal(other.headers['accept-post'], 'application/json', route.name);
  }
});

test('every path answers OPTIONS with the methods it has, and 405 to others', async () => {
  for (const path of new Set(routes.map((r) => r.path))) {
    const methods = routes.filter((r) => r.path === path).map((r) => r.method);
    const expected = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort();
    const target = path.replace(/\{id\}/g, MISSING_ID).replace(/\{[^}]+\}/g, 'nothing-here');
    const options = expectStatus(await souk.request('OPTIONS', target), 200);
    assert.deepEqual(options.headers.allow.split(', ').sort(), expected, path);
    const missing = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].find((m) => !methods.includes(m));
    const refused = expectError(
      await souk.request(missing, target),
      405,
      'method_not_allowed',
      'This method is not allowed here',
    );
    assert.deepEqual(refused.headers.allow.split(', ').sort(), expected, path);
  }
});

test('HEAD is GET without the body', async () => {
  for (const route of routes.filter((r) => r.method === 'GET')) {
    const token = tokenFor(route);
    const target = route.path.replace(/\{id\}/g, MISSING_ID).replace(/\{[^}]+\}/g, 'nothing-here');
    const get = await souk.get(target, { token, headers: { 'X-Request-Id': 'same' } });
    const head = await souk.request('HEAD', target, { token, headers: { 'X-Request-Id': 'same' } });
    assert.equal(head.status, get.status, route.name);
    assert.equal(head.text, '');
    assert.equal(head.headers['content-type'], get.headers['content-type'], route.name);
    // Counters and clocks move between two calls.
    if (route.path !== '/metrics')
      assert.equal(head.headers['content-length'], get.headers['content-length'], route.name);
  }
});
