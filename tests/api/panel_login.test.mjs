// The panel's session in a cookie: what it is worth, and what it is not.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openOffice } from './lib/admin.mjs';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { startSouk } from './lib/souk.mjs';

const PASSWORD = 'correct horse battery';
const PANEL = { 'X-Souk-Panel': '1' };
let office, souk, cookie;
const login = (body, headers = PANEL) =>
  souk.post('/api/auth/panel', { email: 'panel@example.com', password: PASSWORD, ...body }, { headers });
const withCookie = (target, headers = PANEL) => souk.get(target, { headers: { Cookie: cookie, ...headers } });
before(async () => {
  office = await openOffice();
  ({ souk } = office);
  dataOf(
    await office.owner.post('/api/admin/staff', { email: 'panel@example.com', role: 'staff', password: PASSWORD }),
    201,
  );
});
after(() => office.stop());

test('logging in gives a cookie that no script sees, and no token in the answer', async () => {
  const answer = await login();
  assert.deepEqual(Object.keys(dataOf(answer)).sort(), ['account', 'expires_at']);
  assert.ok(!answer.text.includes('souk_login_'));
  const [set] = answer.headers['set-cookie'];
  assert.match(set, /^souk-panel=souk_login_[0-9A-Za-z]{38}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
  [cookie] = set.split(';');
  expectStatus(await withCookie('/api/auth/me'), 200);
  expectStatus(await withCookie('/api/admin/orders'), 200);
});

test('the cookie alone opens nothing: it wants the header, and no other site', async () => {
  expectError(await withCookie('/api/admin/orders', {}), 401, 'token_missing');
  for (const site of ['cross-site', 'same-site', 'none']) {
    expectError(await withCookie('/api/admin/orders', { ...PANEL, 'Sec-Fetch-Site': site }), 401, 'token_missing');
  }
  expectStatus(await withCookie('/api/admin/orders', { ...PANEL, 'Sec-Fetch-Site': 'same-origin' }), 200);
  const twice = await souk.get('/api/admin/orders', {
    headers: { ...PANEL, Cookie: `${cookie}; souk-panel=souk_login_x` },
  });
  expectError(twice, 401, 'token_missing');
  expectError(
    await souk.get('/api/admin/orders', { headers: { ...PANEL, Cookie: cookie, Authorization: 'Bearer x' } }),
    401,
    'token_invalid',
  );
});

test('other sites cannot log somebody in, and customers cannot log in here', async () => {
  expectError(await login({}, {}), 403, 'forbidden');
  expectError(await login({}, { ...PANEL, 'Sec-Fetch-Site': 'cross-site' }), 403, 'forbidden');
  const customer = await souk.customer();
  const refused = expectError(await login({ email: customer.email, password: customer.password }), 403, 'forbidden');
  assert.equal(refused.headers['set-cookie'], undefined);
  expectError(await login({ password: 'wrong password' }), 401, 'credentials_invalid');
});

test('an origin that may call the API may not send the header', async (t) => {
  const shared = await startSouk({ t, args: ['--cors-origins', 'https://app.example'] });
  const answer = await shared.request('OPTIONS', '/api/auth/me', {
    headers: { Origin: 'https://app.example', 'Access-Control-Request-Headers': 'x-souk-panel' },
  });
  assert.ok(!/x-souk-panel/i.test(answer.headers['access-control-allow-headers']));
  assert.equal(answer.headers['access-control-allow-credentials'], undefined);
});

test('logging out ends the session and takes the cookie away', async () => {
  const out = expectStatus(
    await souk.post('/api/auth/logout', undefined, { headers: { ...PANEL, Cookie: cookie } }),
    200,
  );
  assert.match(out.headers['set-cookie'][0], /^souk-panel=; Path=\/; Max-Age=0;/);
  expectError(await withCookie('/api/admin/orders'), 401, 'token_invalid');
});

test('on TLS the cookie is of this host alone', async (t) => {
  const secure = await startSouk({ t, args: ['--base-url', 'https://shop.example'] });
  const link = /#setup=(\w+)/.exec(secure.stderr)[1];
  dataOf(await secure.post('/api/setup', { token: link, email: 'o@example.com', password: PASSWORD }), 201);
  const answer = await secure.post(
    '/api/auth/panel',
    { email: 'o@example.com', password: PASSWORD },
    { headers: PANEL },
  );
  assert.match(
    answer.headers['set-cookie'][0],
    /^__Host-souk-panel=souk_login_\w+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/,
  );
});
