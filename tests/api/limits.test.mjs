// Rate limits: what they count, what they report, and that they cannot be evaded.
// runs: sqlite
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { startSouk, together } from './lib/souk.mjs';

const limited = (t, args, more = {}) => startSouk({ t, limited: true, args, ...more });
const CHEAP = { dear: false };
const password = 'correct horse battery';

test('an answer says the limit and what is left of it', async (t) => {
  const souk = await limited(t, ['--rate-customer', '20']);
  const { token } = await souk.customer();
  const left = [];
  for (let i = 0; i < 3; i++) {
    const answer = await souk.get('/api/auth/me', { token });
    assert.equal(answer.headers['ratelimit-policy'], '"customer";q=20;w=60');
    const [, remaining, reset] = /^"customer";r=(\d+);t=(\d+)$/.exec(answer.headers.ratelimit);
    left.push(Number(remaining));
    assert.ok(Number(reset) >= 0 && Number(reset) <= 60, answer.headers.ratelimit);
  }
  assert.deepEqual(left, [19, 18, 17]);
});

test('past the limit: 429 with the literal message, Retry-After, and it heals', async (t) => {
  const souk = await limited(t, ['--rate-customer', '60']);
  const { token } = await souk.customer();
  const answers = await together(90, 10, () => souk.get('/api/auth/me', { token }));
  const refused = answers.filter((a) => a.status === 429);
  const passed = answers.filter((a) => a.status === 200);
  assert.equal(passed.length + refused.length, 90);
  assert.ok(passed.length >= 60 && passed.length <= 66, `${passed.length} passed`);
  for (const answer of refused) {
    expectError(answer, 429, 'rate_limited', 'Too Many Requests');
    assert.match(answer.headers['retry-after'], /^[1-9]\d*$/);
    assert.match(answer.headers.ratelimit, /^"customer";r=0;t=\d+$/);
  }
  await sleep(Number(refused.at(-1).headers['retry-after']) * 1000 + 100);
  expectStatus(await souk.get('/api/auth/me', { token }), 200);
});

test('every token has a limit of its own', async (t) => {
  const souk = await limited(t, ['--rate-customer', '5']);
  const one = await souk.customer();
  const two = await souk.customer();
  const use = (token) => together(8, 4, () => souk.get('/api/auth/me', { token }));
  assert.ok((await use(one.token)).some((a) => a.status === 429));
  expectStatus(await souk.get('/api/auth/me', { token: two.token }), 200);
});

/** A server behind a proxy that says where callers are; `call(token, address)` verifies a key that nobody has. */
async function fromNetworks(t, args) {
  const souk = await limited(t, [...args, '--trusted-proxy', '127.0.0.1']);
  const call = (token, address) =>
    souk.post(
      '/api/v1/license/verify',
      { license_key: 'AAAAA-AAAAA-AAAAA-AAAAA-AAAAA' },
      { token, headers: { 'X-Forwarded-For': address } },
    );
  return { souk, call };
}
const refusedOf = (answers) => answers.filter((a) => a.status === 429).length;

test('a token that many networks share is limited in each of them; an IPv6 network is a /64', async (t) => {
  const { souk, call } = await fromNetworks(t, ['--rate-v1', '10', '--rate-customer', '0']);
  const { token } = await souk.customer();
  assert.ok(refusedOf(await together(15, 5, () => call(token, '192.0.2.1'))) >= 3);
  assert.equal(refusedOf([await call(token, '192.0.2.2')]), 0, 'another installation goes on');
  assert.ok(
    refusedOf(await together(15, 5, (i) => call(token, `2001:db8::${i}`))) >= 3,
    'one customer has a whole /64',
  );
  assert.equal(refusedOf([await call(token, '2001:db8:0:1::1')]), 0);
});

test("many tokens, and many networks, are not many limits: behind them stands the account's", async (t) => {
  const { souk, call } = await fromNetworks(t, ['--rate-v1', '10', '--rate-customer', '0']);
  const { token } = await souk.customer();
  const tokens = await together(
    20,
    1,
    async (i) =>
      dataOf(await souk.post('/api/customer/tokens', { name: `t${i}`, scopes: ['verify'] }, { token }), 201).token,
  );
  const answers = await together(180, 6, (i) => call(tokens[i % 20], `192.0.2.${i % 20}`));
  const passed = answers.length - refusedOf(answers);
  assert.ok(passed >= 95 && passed <= 120, `${passed} of 180 passed; ten times a token's limit is 100`);
  assert.ok((await souk.metrics()).get('souk_rate_limited_account_total') >= 60);
  const other = await souk.customer();
  assert.equal(refusedOf([await call(other.token, '192.0.2.1')]), 0, 'other accounts are not touched');
});

test('a customer uses as many keys on a day as the account makes calls in a minute', async (t) => {
  const souk = await limited(t, ['--rate-customer', '50'], CHEAP);
  const one = await souk.customer();
  const other = await souk.customer();
  const tokens = [];
  for (let i = 0; i < 12; i++) {
    const made = await souk.post('/api/customer/tokens', { name: `t${i}`, scopes: ['store'] }, { token: one.token });
    tokens.push(dataOf(made, 201).token);
  }
  const add = (token, key) =>
    souk.post('/api/store/cart/add', { product_id: 1, quantity: 1 }, { token, headers: { 'Idempotency-Key': key } });
  // The limits of a token and of the account let a call through again within a minute: these are waited for.
  let keys = 0;
  let last;
  for (let i = 0; i < 700; i++) {
    last = await add(tokens[i % 12], `key ${i}`);
    const wait = Number(last.headers['retry-after'] ?? 0);
    if (wait > 60) break;
    if (wait) await sleep(wait * 1000);
    else keys++;
  }
  expectError(last, 429, 'rate_limited', 'Too Many Requests');
  assert.ok(keys >= 500 && keys <= 510, `${keys} keys`);
  assert.notEqual((await add(other.token, 'key')).status, 429, 'other accounts are not touched');
});

test('an account has at most 100 API tokens, and a login past 100 ends the oldest', async (t) => {
  const souk = await limited(t, ['--rate-customer', '0', '--rate-auth', '0'], CHEAP);
  const { token, email, password: own } = await souk.customer();
  const made = await together(100, 4, async (i) =>
    dataOf(await souk.post('/api/customer/tokens', { name: `t${i}` }, { token }), 201),
  );
  expectError(await souk.post('/api/customer/tokens', { name: 'one too many' }, { token }), 409, 'token_limit');
  expectStatus(await souk.delete(`/api/customer/tokens/${made[0].id}`, { token }), 200);
  expectStatus(await souk.post('/api/customer/tokens', { name: 'in its place' }, { token }), 201);
  await together(99, 4, async () => dataOf(await souk.post('/api/auth/login', { email, password: own })));
  expectStatus(await souk.get('/api/auth/me', { token }), 200);
  dataOf(await souk.post('/api/auth/login', { email, password: own }));
  expectError(await souk.get('/api/auth/me', { token }), 401, 'token_invalid');
});

/** A made-up token that ends with the CRC-32 of what stands before, as real ones do. */
function withSum(random) {
  const text = `souk_login_${random}`;
  let crc = ~0;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let i = 0; i < 8; i++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let sum = '';
  for (let n = ~crc >>> 0, i = 0; i < 6; i++, n = Math.floor(n / 62)) sum = digits[n % 62] + sum;
  return text + sum;
}

test('made-up tokens count against the address', async (t) => {
  const souk = await limited(t, ['--rate-customer', '10']);
  const { token } = await souk.customer();
  const answers = await together(60, 6, (i) =>
    souk.get('/api/auth/me', { token: `souk_login_${String(i).padStart(38, 'a')}` }),
  );
  assert.ok(
    answers.some((a) => a.status === 429),
    'inventing tokens gets around the limit',
  );
  const page = await souk.get('/register', { headers: { Accept: 'text/html' }, unchecked: true });
  assert.equal(page.status, 429);
  assert.match(page.text, /<h1>/, 'people get a page that says so');
  const fitting = await together(30, 6, (i) =>
    souk.get('/api/auth/me', { token: withSum(String(i).padStart(32, 'a')) }),
  );
  const statuses = fitting.map((a) => a.status);
  assert.ok(statuses.includes(401) && statuses.includes(429), `with the right check digits, too: ${statuses}`);
  expectStatus(await souk.get('/api/auth/me', { token }), 200);
});

test('health and metrics are never limited', async (t) => {
  const souk = await limited(t, ['--rate-customer', '3', '--rate-v1', '3']);
  for (let i = 0; i < 20; i++) {
    for (const target of ['/livez', '/readyz', '/metrics']) {
      const answer = expectStatus(await souk.get(target), 200);
      assert.equal(answer.headers.ratelimit, undefined);
    }
  }
});

test('0 switches a limit off', async (t) => {
  const souk = await limited(t, ['--rate-customer', '0']);
  const { token } = await souk.customer();
  const answers = await together(700, 32, () => souk.get('/api/auth/me', { token })); // by default there are 600
  assert.ok(answers.every((a) => a.status === 200 && a.headers.ratelimit === undefined));
});

test('by default the customer API is limited to 600 a minute', async (t) => {
  const souk = await limited(t, []);
  const { token } = await souk.customer();
  assert.equal((await souk.get('/api/auth/me', { token })).headers['ratelimit-policy'], '"customer";q=600;w=60');
});

test('failed logins are limited per address: the right password does not get in behind the limit either', async (t) => {
  const souk = await limited(t, ['--rate-auth', '4', '--rate-customer', '0']);
  const who = await souk.customer();
  const other = await souk.customer();
  const login = (email, text) => souk.post('/api/auth/login', { email, password: text });
  for (let i = 0; i < 4; i++) expectError(await login(who.email, 'a wrong password'), 401, 'credentials_invalid');
  const refused = expectError(await login(who.email, 'a wrong password'), 429, 'rate_limited', 'Too Many Requests');
  assert.match(refused.headers['retry-after'], /^[1-9]\d*$/);
  expectError(await login(who.email, who.password), 429, 'rate_limited');
  expectError(await login(who.email.toUpperCase(), who.password), 429, 'rate_limited');
  // Somebody else, and the tokens that are there already, are not locked out.
  dataOf(await login(other.email, other.password));
  expectStatus(await souk.get('/api/auth/me', { token: who.token }), 200);
});

test('an unknown address is limited just the same', async (t) => {
  const souk = await limited(t, ['--rate-auth', '3', '--rate-customer', '0']);
  const login = () => souk.post('/api/auth/login', { email: 'nobody@example.com', password });
  for (let i = 0; i < 3; i++) expectError(await login(), 401, 'credentials_invalid');
  expectError(await login(), 429, 'rate_limited');
});

test('new passwords are asked for and set a few times a minute, for each address and each network', async (t) => {
  const souk = await limited(t, [
    ...['--rate-auth', '3', '--base-url', 'https://shop.example'],
    ...['--smtp-url', 'smtp://127.0.0.1:1', '--mail-from', 'shop@shop.example'],
  ]);
  const forgot = (email) => souk.post('/api/auth/password/forgot', { email });
  for (let i = 0; i < 3; i++) expectStatus(await forgot('ada@example.com'), 200);
  expectError(await forgot('ada@example.com'), 429, 'rate_limited');
  expectStatus(await forgot('bob@example.com'), 200);
  const token = 'A'.repeat(43);
  const answers = await together(40, 5, () => souk.post('/api/auth/password/reset', { token, password }));
  assert.ok(answers.some((a) => a.status === 422) && answers.some((a) => a.status === 429));
  expectError(await forgot('carl@example.com'), 429, 'rate_limited');
});

test('20 guesses at once are no way around the limit', async (t) => {
  const souk = await limited(t, ['--rate-auth', '5', '--rate-customer', '0']);
  const who = await souk.customer();
  const answers = await together(40, 40, () =>
    souk.post('/api/auth/login', { email: who.email, password: 'a wrong password' }),
  );
  const guesses = answers.filter((a) => a.status === 401).length;
  assert.ok(guesses <= 10, `${guesses} of 40 guesses were tried at a limit of 5`);
});

test('logins that succeed are not counted', async (t) => {
  const souk = await limited(t, ['--rate-auth', '2', '--rate-customer', '0']);
  const who = await souk.customer();
  for (let i = 0; i < 6; i++) dataOf(await souk.post('/api/auth/login', { email: who.email, password: who.password }));
});

/** Logins through a proxy that says where the client is. */
async function fromAnywhere(t, rate) {
  const souk = await limited(t, ['--rate-auth', String(rate), '--rate-customer', '0', '--trusted-proxy', '127.0.0.1']);
  const who = await souk.customer();
  const login = (text, address) =>
    souk.post('/api/auth/login', { email: who.email, password: text }, { headers: { 'X-Forwarded-For': address } });
  return { souk, who, login };
}

test('a stranger who fails keeps nobody out but their own network', async (t) => {
  const { who, login } = await fromAnywhere(t, 3);
  for (let i = 0; i < 3; i++) expectError(await login('a wrong password', '203.0.113.9'), 401, 'credentials_invalid');
  expectError(await login(who.password, '203.0.113.9'), 429, 'rate_limited');
  dataOf(await login(who.password, '198.51.100.1'));
  // An IPv6 network is a /64: another address in it is no other network.
  for (let i = 0; i < 3; i++)
    expectError(await login('a wrong password', `2001:db8::${i}`), 401, 'credentials_invalid');
  expectError(await login(who.password, '2001:db8::ffff:1'), 429, 'rate_limited');
  dataOf(await login(who.password, '2001:db8:0:1::1'));
});

test('guessing from many networks stops, and the person who is logged in at home still gets in there', async (t) => {
  const { who, login } = await fromAnywhere(t, 2);
  dataOf(await login(who.password, '198.51.100.1'));
  for (let i = 0; i < 20; i++)
    expectError(await login('a wrong password', `203.0.113.${i}`), 401, 'credentials_invalid');
  expectError(await login(who.password, '203.0.113.200'), 429, 'rate_limited');
  dataOf(await login(who.password, '198.51.100.1'));
});
