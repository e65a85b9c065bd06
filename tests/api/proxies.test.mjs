// The proxies of the guide to operations, as it has them except for ports, names and certificates: TLS and HTTP/2 in front, the
// right address and scheme behind.
// runs: sqlite release
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './lib/port.mjs';
import { freshDatabase, runSouk, startSouk } from './lib/souk.mjs';

const guide = fs.readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const has = (program) => spawnSync(program, ['-v'], { stdio: 'ignore' }).error === undefined;

let dir, database, souk;
before(async () => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-proxies-'));
  const made = spawnSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=shop.example.com', '-keyout'].concat(
      `${dir}/privkey.pem`,
      '-out',
      `${dir}/fullchain.pem`,
    ),
    { encoding: 'utf8' },
  );
  assert.equal(made.status, 0, made.stderr);
  fs.writeFileSync(
    `${dir}/shop.pem`,
    fs.readFileSync(`${dir}/fullchain.pem`, 'utf8') + fs.readFileSync(`${dir}/privkey.pem`, 'utf8'),
  );
  database = freshDatabase();
  const demo = await runSouk(['demo', '--db', database.dbArg], { cwd: database.dir, env: database.env });
  assert.equal(demo.code, 0, demo.stderr);
  souk = await startSouk({ database, args: ['--trusted-proxy', '127.0.0.1'] });
});
after(async () => {
  await souk?.stop();
  database?.remove();
  fs.rmSync(dir, { recursive: true, force: true });
});

/** The block behind these words. */
const blockBehind = (words) => /```\w*\n([\s\S]*?)```/.exec(guide.slice(guide.indexOf(words)))[1];

function fetchThrough(port, target, more = []) {
  const run = spawnSync(
    'curl',
    [
      '-sik',
      '--http2',
      '--resolve',
      `shop.example.com:${port}:127.0.0.1`,
      `https://shop.example.com:${port}${target}`,
      ...more,
    ],
    { encoding: 'utf8' },
  );
  return run.stdout;
}

async function judge(t, program, args, port) {
  const proxy = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [proxy.stdout, proxy.stderr]) stream.on('data', (bytes) => (said += bytes));
  t.after(async () => {
    if (proxy.exitCode !== null) return;
    proxy.kill('SIGTERM');
    await once(proxy, 'exit');
  });
  let answer = '';
  for (let i = 0; i < 200 && !answer.startsWith('HTTP/2 200'); i++) {
    assert.equal(proxy.exitCode, null, said);
    answer = fetchThrough(port, '/readyz');
    if (!answer) await sleep(50);
  }
  assert.match(answer, /^HTTP\/2 200/, said);
  const [, slug] = /"slug":"([^"]+)"/.exec(fetchThrough(port, '/api/store/products'));
  const fields = [
    ...fetchThrough(port, `/p/${slug}`).matchAll(/name="(product_id|variant_id|quantity)"[^>]*value="(\d+)"/g),
  ];
  const added = fetchThrough(port, '/cart/add', [
    '--data',
    new URLSearchParams(Object.fromEntries(fields.reverse().map(([, name, value]) => [name, value]))).toString(),
  ]);
  assert.match(added, /^set-cookie: __Host-souk=[^\n]*; Secure/im, added);
}

test('nginx', { skip: !has('nginx') && 'nginx is not installed' }, async (t) => {
  const port = await freePort();
  const server = blockBehind('nginx:')
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replaceAll('/etc/letsencrypt/live/shop.example.com/', `${dir}/`)
    .replace('127.0.0.1:8080', `127.0.0.1:${souk.port}`);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((p) => `${p}_temp_path ${dir}/${p};`)
    .join('\n');
  fs.writeFileSync(
    `${dir}/nginx.conf`,
    `daemon off; pid ${dir}/nginx.pid; error_log stderr;\nevents {}\nhttp { access_log off;\n${paths}\n${server}\n}\n`,
  );
  await judge(t, 'nginx', ['-p', dir, '-c', `${dir}/nginx.conf`], port);
});

test('HAProxy', { skip: !has('haproxy') && 'haproxy is not installed' }, async (t) => {
  const port = await freePort();
  const parts = blockBehind('HAProxy:')
    .replace('bind :443', `bind 127.0.0.1:${port}`)
    .replace('/etc/haproxy/shop.pem', `${dir}/shop.pem`)
    .replace('127.0.0.1:8080', `127.0.0.1:${souk.port}`);
  const defaults = 'defaults\n    mode http\n    timeout connect 5s\n    timeout client 30s\n    timeout server 30s\n';
  fs.writeFileSync(`${dir}/haproxy.cfg`, `${defaults}${parts}`);
  await judge(t, 'haproxy', ['-db', '-f', `${dir}/haproxy.cfg`], port);
});
