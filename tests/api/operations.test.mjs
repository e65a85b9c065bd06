// For the operator: health, metrics, logs, shutdown, secrets at rest.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from '../lib/pg.mjs';
import { dataOf, expectError, expectStatus } from './lib/http.mjs';
import { connect, once } from './lib/raw.mjs';
import { ENGINE, Souk, freshDatabase, metricSum, startSouk, together } from './lib/souk.mjs';

const rules = fileURLToPath(new URL('../../ops/alerts.yml', import.meta.url));
const DRAIN_MS = 30_000; // the server's own patience with requests that run
let souk;
before(async () => {
  souk = await startSouk();
});
after(() => souk.stop());

test('/livez and /readyz', async () => {
  assert.deepEqual(dataOf(await souk.get('/livez')), { alive: true });
  const ready = dataOf(await souk.get('/readyz'));
  assert.equal(ready.ready, true);
  assert.ok(ready.schema >= 1);
});

test('who listens for others without --base-url is warned once; on loopback, or with it, not at all', async (t) => {
  const warnings = async (...args) => {
    const souk = await startSouk({ t, args });
    return souk.stderr.split('\n').filter((line) => /level="?warn"?.*base_url_missing/.test(line));
  };
  const open = await warnings('--listen', ':0');
  assert.equal(open.length, 1, open.join('\n'));
  assert.match(open[0], /http:\/\/127\.0\.0\.1:\d+.*set --base-url/);
  assert.deepEqual(await warnings('--listen', '0.0.0.0:0', '--base-url', 'https://shop.example'), []);
  assert.deepEqual(await warnings(), []);
});

test('/readyz says when the disk is full, and when it no longer is', async (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-disk-'));
  t.after(() => {
    spawnSync('umount', ['--lazy', dir]);
    fs.rmSync(dir, { recursive: true, force: true });
  });
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', dir]).status !== 0)
    return t.skip('needs the right to mount');
  const souk = new Souk({ args: ['--data', dir] });
  if (souk.engine === 'sqlite') souk.args.push('--key-file', path.join(`${souk.dbArg}.d`, 'master.key'));
  await souk.start();
  t.after(() => souk.stop());
  const ballast = path.join(dir, 'ballast');
  fs.writeFileSync(ballast, Buffer.alloc(62 * 1024 * 1024));
  const answer = expectError(await souk.get('/readyz'), 503, 'unavailable');
  assert.equal(answer.json.disk, 'full');
  fs.rmSync(ballast);
  assert.equal(dataOf(await souk.get('/readyz')).ready, true);
});

test('/readyz says when the disk of the PostgreSQL server is full, and when it no longer is', async (t) => {
  if (process.env.SOUK_ENGINE !== 'pg') return t.skip('PostgreSQL alone has a server');
  const souk = await startSouk({ t });
  const change = (text) => sql(souk.dbArg, text);
  const { token } = await souk.customer();
  const write = () => souk.post('/api/customer/tokens', { name: 'x' }, { token });
  assert.equal(dataOf(await souk.get('/readyz')).ready, true);
  // Every table, since a background job that writes would show that there is room.
  change(`CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$;
    DO $$ DECLARE one name; BEGIN
      FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        EXECUTE format('CREATE TRIGGER no_room BEFORE INSERT OR UPDATE OR DELETE ON %I EXECUTE FUNCTION no_room()', one);
      END LOOP; END $$;`);
  expectError(await write(), 503, 'unavailable');
  assert.equal(expectError(await souk.get('/readyz'), 503, 'unavailable').json.disk, 'full');
  change('DROP FUNCTION no_room CASCADE');
  dataOf(await write(), 201);
  assert.equal(dataOf(await souk.get('/readyz')).ready, true);
});

test('a commit whose end nobody knows is said to be one; the same key finds out', async (t) => {
  if (process.env.SOUK_ENGINE !== 'pg') return t.skip('SQLite’s commits fail in tests/unit/test_tx_faults.c');
  const souk = await startSouk({ t });
  const { token } = await souk.customer();
  const key = { 'Idempotency-Key': 'the end of the session' };
  const write = () => souk.post('/api/customer/tokens', { name: 'once' }, { token, headers: key });
  sql(
    souk.dbArg,
    `CREATE FUNCTION session_ends() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
     CREATE CONSTRAINT TRIGGER session_ends AFTER INSERT ON token DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION session_ends();`,
  );
  expectError(await write(), 503, 'outcome_unknown');
  assert.match(souk.stderr, /event="?db\.outcome_unknown/);
  sql(souk.dbArg, 'DROP TRIGGER session_ends ON token');
  const made = dataOf(await write(), 201);
  assert.equal(dataOf(await write(), 201).id, made.id);
  const named = dataOf(await souk.get('/api/customer/tokens', { token })).filter((one) => one.name === 'once');
  assert.equal(named.length, 1);
});

test('/metrics counts requests by route, method and code', async () => {
  const count = async (labels) => (await souk.metrics()).get(`souk_requests_total{${labels}}`) ?? 0;
  const cases = [
    ['route="/livez",method="GET",code="200"', () => souk.get('/livez')],
    ['route="/api/auth/me",method="GET",code="401"', () => souk.get('/api/auth/me')],
    ['route="/api/customer/tokens/{id}",method="DELETE",code="401"', () => souk.delete('/api/customer/tokens/77')],
    ['route="/api/auth/login",method="POST",code="422"', () => souk.post('/api/auth/login', {})],
    ['route="/api/auth/login",method="POST",code="400"', () => souk.post('/api/auth/login', '{')],
  ];
  for (const [labels, act] of cases) {
    const start = await count(labels);
    await together(7, 3, act);
    assert.equal(await count(labels), start + 7, labels);
  }
});

test('a path that a client makes up is no label: the number of series is bounded', async () => {
  const before_ = (await souk.metrics()).size;
  for (let i = 0; i < 20; i++) await souk.get(`/made/up/${i}`);
  await souk.get('/made-up-"\\\n'.replace(/["\\\n]/g, encodeURIComponent));
  const now = await souk.metrics();
  assert.ok(now.size <= before_ + 30, `${before_} series became ${now.size}`);
  assert.ok(![...now.keys()].some((k) => k.includes('made')));
});

test('/metrics is what Prometheus reads', async () => {
  await souk.customer();
  const answer = await souk.get('/metrics', { headers: { Accept: 'text/plain' } });
  assert.match(answer.headers['content-type'], /^text\/plain; version=0\.0\.4/);
  assert.ok(answer.text.endsWith('\n'));
  const metrics = await souk.metrics();
  for (const name of [
    'souk_requests_total',
    'souk_request_seconds_count',
    'souk_connections_open',
    'souk_writer_queue',
    'souk_batches_total',
    'souk_batch_jobs_total',
    'souk_batch_size_count',
    'souk_db_errors_total',
    'souk_build_info',
  ]) {
    assert.ok(
      [...metrics.keys()].some((k) => k === name || k.startsWith(`${name}{`)),
      `${name} is missing`,
    );
  }
  assert.ok(metrics.get('souk_connections_open') >= 1);
  assert.ok(metrics.get('souk_batches_total') >= 1);
  assert.equal(metrics.get('souk_db_errors_total'), 0);
  assert.ok([...metrics.keys()].some((k) => /^souk_build_info\{.*version="\d+\.\d+\.\d+"/.test(k)));
  // Every series has a TYPE in front of it.
  const types = new Map([...answer.text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map((m) => [m[1], m[2]]));
  for (const key of metrics.keys()) {
    const name = key.replace(/\{.*/, '');
    assert.ok(
      types.has(name) || types.get(name.replace(/_(bucket|sum|count)$/, '')) === 'histogram',
      `${name} has no type`,
    );
  }
});

test('every metric that the alert rules and the dashboard name is there', async () => {
  const { text } = await souk.get('/metrics', { headers: { Accept: 'text/plain' } });
  const types = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map((m) => [m[1], m[2]]));
  const dashboard = JSON.parse(fs.readFileSync(new URL('../../ops/grafana.json', import.meta.url), 'utf8'));
  const expressions = [
    ...dashboard.panels.flatMap((p) => p.targets ?? []).map((x) => x.expr),
    ...dashboard.annotations.list.map((a) => a.expr),
    ...[...fs.readFileSync(rules, 'utf8').matchAll(/^ *expr: (.*(?:\n {10}.*)*)/gm)].map((m) => m[1]),
  ];
  assert.ok(expressions.length > 40);
  const named = new Set(expressions.flatMap((e) => e.match(/\b(souk|process)_\w+/g) ?? []));
  for (const name of named) {
    const base = name.replace(/_(bucket|sum|count)$/, '');
    assert.ok(types.has(name) || types.get(base) === 'histogram', `${name} is not in /metrics`);
  }
  // And the guide names every metric that there is.
  const guide = fs.readFileSync(new URL('../../docs/monitoring.md', import.meta.url), 'utf8');
  const documented = [...guide.matchAll(/`((?:souk|process)_[\w*]+)`/g)].map((m) => m[1].replace('*', '\\w+'));
  const missing = [...types.keys()].filter((name) => !documented.some((d) => new RegExp(`^${d}$`).test(name)));
  assert.deepEqual(missing, [], 'not in docs/monitoring.md');
  // A counter is looked at through its growth, a gauge as it is.
  for (const e of expressions)
    for (const [, around, name] of e.matchAll(/(rate\(|increase\()?\b(souk_\w+_total)\b/g))
      assert.ok(around, `${name} is a counter: ${e}`);
  // Every rule says what to do.
  const parts = fs
    .readFileSync(rules, 'utf8')
    .split(/^ {6}- alert: /m)
    .slice(1);
  for (const rule of parts) assert.match(rule, /severity: (page|ticket)[^]*summary: .+\n *action: .+/);
});

/** promtool as the machine has it, or as ./dev took it out of Debian's package. */
const promtool = ['promtool', fileURLToPath(new URL('../../.tools/promtool', import.meta.url))].find(
  (program) => spawnSync(program, ['--version']).status === 0,
);

test(
  'promtool takes the alert rules and /metrics',
  { skip: ENGINE !== 'sqlite' ? 'the same on both engines' : !promtool && 'not possible here: there is no promtool' },
  async (t) => {
    const check = (what, args, input) =>
      spawnSync(promtool, ['check', what, ...args], {
        encoding: 'utf8',
        input,
        env: { ...process.env, GOMAXPROCS: '1' },
      });
    const right = check('rules', [rules]);
    assert.equal(right.status, 0, right.stdout + right.stderr);
    assert.match(
      right.stdout,
      new RegExp(`SUCCESS: ${fs.readFileSync(rules, 'utf8').match(/- alert:/g).length} rules found`),
    );
    const { text } = await souk.get('/metrics', { headers: { Accept: 'text/plain' } });
    const read = check('metrics', [], text);
    assert.ok(read.status === 0 || read.status === 3, read.stdout + read.stderr); // 3: opinions about names
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-rules-'));
    t.after(() => fs.rmSync(folder, { recursive: true }));
    const broken = path.join(folder, 'alerts.yml');
    fs.writeFileSync(broken, fs.readFileSync(rules, 'utf8').replace('expr: ', 'expr: sum('));
    assert.notEqual(check('rules', [broken]).status, 0);
  },
);

test('the process says what it uses', async () => {
  const metrics = await souk.metrics();
  assert.ok(metrics.get('process_resident_memory_bytes') > 1e6);
  assert.ok(metrics.get('process_open_fds') > 5 && metrics.get('process_max_fds') >= metrics.get('process_open_fds'));
  assert.ok(metrics.get('process_threads') > 5);
  assert.ok(metrics.get('process_cpu_seconds_total') > 0);
  assert.ok(Math.abs(metrics.get('process_start_time_seconds') - Date.now() / 1000) < 900);
  assert.ok(metrics.get('souk_disk_free_bytes') > 0);
});

test('histograms add up', async () => {
  const metrics = await souk.metrics();
  const groups = new Map();
  for (const [key, value] of metrics) {
    const match = /^(\w+)_bucket\{(.*?),?le="([^"]+)"\}$/.exec(key);
    if (!match) continue;
    const id = `${match[1]}{${match[2]}}`;
    groups.set(id, [...(groups.get(id) ?? []), [match[3] === '+Inf' ? Infinity : Number(match[3]), value]]);
  }
  assert.ok(groups.size >= 2);
  for (const [id, buckets] of groups) {
    const [, name, labels] = /^(\w+)\{(.*)\}$/.exec(id);
    const of = (suffix) => metrics.get(labels ? `${name}_${suffix}{${labels}}` : `${name}_${suffix}`);
    for (let i = 1; i < buckets.length; i++) {
      assert.ok(buckets[i][0] > buckets[i - 1][0] && buckets[i][1] >= buckets[i - 1][1], `${id}: buckets go down`);
    }
    assert.equal(buckets.at(-1)[0], Infinity, id);
    assert.equal(buckets.at(-1)[1], of('count'), id);
    assert.ok(of('sum') >= 0, id);
  }
});

test('connections that are closed are counted off', async () => {
  const open = async () => (await souk.metrics()).get('souk_connections_open');
  const start = await open();
  const many = await Promise.all(Array.from({ length: 20 }, () => connect(souk.url)));
  for (let i = 0; i < 100 && (await open()) < start + 20; i++) await sleep(10);
  assert.ok((await open()) >= start + 20);
  for (const c of many) c.destroy();
  for (let i = 0; i < 200 && (await open()) > start; i++) await sleep(10);
  assert.ok((await open()) <= start);
});

test('every line of the log is one record, whatever a client sends', async (t) => {
  for (const format of ['logfmt', 'json']) {
    const other = await startSouk({ t, args: ['--log-requests', '--log-format', format, '--log-level', 'debug'] });
    const evil = 'evil%0d%0alevel=error%20event=forged';
    await other.get(`/${evil}?a="b"`);
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    await other.get('/livez', { headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` } });
    await other.get('/livez', { headers: { traceparent: `00-${trace}-0-01"level=error` } });
    const two = `traceparent: 00-${trace}-00f067aa0ba902b7-01\r\n`.repeat(2);
    await once(other.url, `GET /livez HTTP/1.1\r\nHost: a\r\n${two}Connection: close\r\n\r\n`); // which of them?
    await other.get('/api/auth/me', { token: 'souk_login_x"y' });
    await once(other.url, `GET /x\x1b[31m HTTP/1.1\r\nHost: a\r\nUser-Agent: a"b\\c\x09\r\n\r\n`);
    await once(other.url, 'GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n');
    await other.post('/api/auth/login', { email: 'a@b.example', password: 'x\r\nlevel=error' }).catch(() => {});
    await sleep(50);
    // The one thing that is said to a person: how to become the owner of a new store.
    const lines = other.stderr
      .replace(/\nsouk: this store has no owner yet\..*\n\n {2}\S+\n\n/, '')
      .trimEnd()
      .split('\n');
    assert.ok(
      lines.some((l) => l.includes('request')),
      other.stderr,
    );
    assert.equal(lines.filter((l) => /\/livez/.test(l) && l.includes(trace)).length, 1, other.stderr);
    for (const line of lines) {
      // eslint-disable-next-line no-control-regex
      assert.ok(!/[\x00-\x08\x0b-\x1f\x7f]/.test(line), `control character in: ${JSON.stringify(line)}`);
      if (format === 'json') assert.equal(typeof JSON.parse(line), 'object');
      else
        assert.match(
          line,
          /^time="[^"]+" level="?(debug|info|warn|error)"? event="?[a-z_.]+"?( \w+=("(\\.|[^"\\])*"|-?\d+))*$/,
          line,
        );
    }
    assert.ok(!lines.some((l) => /^level=error event=forged/.test(l)));
  }
});

test('SIGTERM ends the server with 0, and running requests get their answer', async () => {
  const other = await startSouk();
  const { token } = await other.customer();
  const running = together(200, 40, () =>
    other.post('/api/customer/tokens', { name: 'late' }, { token }).then(
      (a) => a.status,
      (e) => e.code ?? e.message,
    ),
  );
  await sleep(5);
  await other.stop();
  const results = await running;
  const odd = results.filter(
    (r) => ![201, 503, 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(r) && !/socket hang up/.test(r),
  );
  assert.deepEqual(odd, []);
});

test('a server that is idle ends at once, also with connections open', async () => {
  const other = await startSouk();
  const idle = await Promise.all(Array.from({ length: 5 }, () => connect(other.url)));
  const started = Date.now();
  await other.stop();
  assert.ok(Date.now() - started < DRAIN_MS, `${Date.now() - started} ms`);
  for (const c of idle) {
    assert.ok(await c.waitClosed());
    c.destroy();
  }
});

test('no password, token or key is found in the database, its files or the log', async () => {
  const database = freshDatabase();
  const other = await startSouk({ database, args: ['--log-requests', '--log-level', 'debug'] });
  const secrets = [];
  const password = 'canary-password-4711';
  secrets.push(password);
  const options = { headers: { 'Idempotency-Key': 'canary' } };
  const registered = await other.post('/api/auth/register', { email: 'canary@example.com', password }, options);
  secrets.push(dataOf(registered, 201).token);
  const made = await other.post('/api/customer/tokens', { name: 'c' }, { token: secrets[1], headers: options.headers });
  secrets.push(dataOf(made, 201).token);
  secrets.push(dataOf(await other.post('/api/auth/login', { email: 'canary@example.com', password })).token);
  const wrong = 'canary-wrong-password';
  secrets.push(wrong);
  expectError(
    await other.post('/api/auth/login', { email: 'canary@example.com', password: wrong }),
    401,
    'credentials_invalid',
  );
  const replay = await other.post(
    '/api/customer/tokens',
    { name: 'c' },
    { token: secrets[1], headers: options.headers },
  );
  assert.equal(replay.text, made.text);

  const places = { log: Buffer.from(other.stderr) };
  const read = (dir) => {
    for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
      const file = path.join(dir, entry.name);
      if (entry.isDirectory()) read(file);
      else if (entry.isFile()) places[file] = fs.readFileSync(file);
    }
  };
  read(database.dir);
  if (database.engine === 'pg') {
    const tables = sql(database.dbArg, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'").split('\n');
    for (const table of tables) places[table] = Buffer.from(sql(database.dbArg, `SELECT t::text FROM ${table} t`));
  }
  // Control: what is no secret is found, so the search looks at the right place.
  assert.ok(
    Object.values(places).some((bytes) => bytes.includes('canary@example.com')),
    Object.keys(places).join(' '),
  );
  for (const secret of secrets) {
    const needles = [secret, secret.replace(/^souk_[a-z]+_/, ''), Buffer.from(secret).toString('hex')];
    for (const [place, bytes] of Object.entries(places)) {
      const text = bytes.toString('latin1');
      for (const needle of needles) assert.ok(!text.includes(needle), `${secret.slice(0, 12)}… is in ${place}`);
    }
  }
  await other.stop();
  database.remove();
});

test('the files are readable by their owner alone', { skip: process.env.SOUK_ENGINE === 'pg' && 'SQLite only' }, () => {
  for (const name of fs.readdirSync(souk.dir)) {
    const mode = fs.statSync(path.join(souk.dir, name)).mode & 0o077;
    assert.equal(mode, 0, `${name}: ${mode.toString(8)}`);
  }
  assert.equal(fs.statSync(path.join(souk.dir, 'souk.db.d', 'master.key')).mode & 0o777, 0o600);
});

test('the writes of many clients share commits', async () => {
  const tokens = await Promise.all(Array.from({ length: 6 }, async () => (await souk.customer()).token));
  const start = await souk.metrics();
  await together(300, 64, (i) =>
    souk.post('/api/customer/tokens', { name: 'b' }, { token: tokens[i % tokens.length] }),
  );
  const end = await souk.metrics();
  const grown = (name) => end.get(name) - start.get(name);
  assert.ok(grown('souk_batch_jobs_total') >= 300);
  assert.ok(grown('souk_batches_total') >= 1 && grown('souk_batches_total') <= grown('souk_batch_jobs_total'));
  assert.equal(metricSum(end, 'souk_batch_size_count'), end.get('souk_batches_total'));
  expectStatus(await souk.get('/readyz'), 200);
});
