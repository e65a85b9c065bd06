// bench/shop.bench.mjs - what a page of the shop costs the processor, against nginx sending the same bytes from a file.
//
//     node bench/shop.bench.mjs [REQUESTS]     (default 40000)
//
// Counted is the processor time of the server's processes alone, user and system, per request: not latency, and not how many
// requests fit into a second, both of which depend on what else the machine does. Both servers are asked by turns in small
// rounds, and each figure is the least of its rounds: whatever else runs only ever adds. nginx is Debian's with one worker, its
// log off, a cache of open files, and the page compressed beforehand (gzip_static), as a careful administrator sets it up. Pages of
// a session are not compressed (their csrf would show in the length): nginx sends as many bytes then.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { Browser } from '../tests/api/lib/browser.mjs';
import { freshDatabase, runSouk, startSouk } from '../tests/api/lib/souk.mjs';
import { cpuNanoseconds } from '../tests/lib/cpu.mjs';
import { nginxProgram } from './lib/subjects.mjs';

const REQUESTS = Number(process.argv[2] ?? 40000);
const ROUNDS = 10;
const CONNECTIONS = 16;
const root = fileURLToPath(new URL('..', import.meta.url));
const LOAD = path.join(process.env.SOUK_BUILD ?? path.join(root, 'build'), 'bench/load');
const ENGINES = process.env.SOUK_ENGINE ? [process.env.SOUK_ENGINE] : ['sqlite', 'pg'];
/** What a page may cost, as a multiple of nginx. */
const TARGETS = { ready: 1.3, cart: 3 };

/** nginx in the foreground with one worker and the folder as its pages: {port, pid, stop()}. */
async function startNginx(dir, port) {
  const conf = path.join(dir, 'nginx.conf');
  fs.writeFileSync(
    conf,
    `daemon off; worker_processes 1; pid ${dir}/pid; error_log ${dir}/error.log;
    events { worker_connections 1024; }
    http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; gzip_static on; open_file_cache max=100;
      types { text/html html; } client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/fcgi;
      uwsgi_temp_path ${dir}/uwsgi; scgi_temp_path ${dir}/scgi;
      server { listen 127.0.0.1:${port}; root ${dir}/pages; charset utf-8; add_header Cache-Control "public, no-cache"; } }`,
  );
  const child = spawn(nginxProgram(), ['-c', conf, '-p', dir], { stdio: ['ignore', 'ignore', 'inherit'] });
  for (let i = 0; i < 100; i++) {
    if (
      await fetch(`http://127.0.0.1:${port}/catalogue.html`).then(
        (r) => r.ok,
        () => false,
      )
    )
      break;
    await sleep(100);
  }
  const [worker] = fs.readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ').filter(Boolean);
  return {
    port,
    pid: Number(worker),
    stop: () =>
      new Promise((done) => {
        child.once('exit', done);
        child.kill('SIGQUIT');
      }),
  };
}

/** Nanoseconds of the process for one request; the connections are kept, as browsers and proxies keep them. */
function ask({ port, pid }, target, headers, count) {
  const before = cpuNanoseconds(pid);
  const out = JSON.parse(
    execFileSync(LOAD, ['get', `127.0.0.1:${port}`, target, String(CONNECTIONS), String(count), ...headers], {
      encoding: 'utf8',
    }),
  );
  if (out.statuses['200'] !== count) throw new Error(`${target}: ${JSON.stringify(out)}`);
  return (cpuNanoseconds(pid) - before) / count;
}

/** The least of each row's rounds, in microseconds. */
function measure(rows) {
  const least = rows.map(() => Infinity);
  const count = Math.ceil(REQUESTS / ROUNDS);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, { server, target, headers }] of rows.entries())
      least[i] = Math.min(least[i], ask(server, target, headers, count));
  }
  return least.map((ns) => ns / 1000);
}

const PLAIN = ['Accept: text/html', 'Accept-Language: en'];
const GZIP = ['Accept-Encoding: gzip', ...PLAIN];

async function bench(engine) {
  const database = freshDatabase(engine);
  const demo = await runSouk(['demo', '--db', database.dbArg], { cwd: database.dir, env: database.env });
  if (demo.code !== 0) throw new Error(demo.stderr);
  const souk = await startSouk({ engine, database });
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-nginx-'));
  fs.chmodSync(dir, 0o755);
  let nginx;
  try {
    const product = (await souk.get('/api/store/products')).json.data[0];
    const pages = { catalogue: '/', product: `/p/${product.slug}` };
    fs.mkdirSync(`${dir}/pages`);
    for (const [name, target] of Object.entries(pages)) {
      const gzip = execFileSync('curl', ['-s', ...GZIP.flatMap((h) => ['-H', h]), souk.url + target]);
      fs.writeFileSync(`${dir}/pages/${name}.html.gz`, gzip);
      fs.writeFileSync(`${dir}/pages/${name}.html`, gunzipSync(gzip));
    }
    const port = Number(
      execFileSync(process.execPath, [path.join(root, 'tools/free_port.mjs'), '18080'], { encoding: 'utf8' }),
    );
    nginx = await startNginx(dir, port);
    const shop = { port: souk.port, pid: souk.child.pid };
    const browser = new Browser(souk.url);
    await browser.open(pages.product);
    await browser.submit('/cart/add', { then: 'cart' }, { expect: 303 });
    const cookie = [...browser.cookies].map(([name, value]) => `Cookie: ${name}=${value}`);
    for (const [name, target] of Object.entries(pages)) {
      const bytes = fs.statSync(`${dir}/pages/${name}.html.gz`).size;
      const plain = fs.statSync(`${dir}/pages/${name}.html`).size;
      const [a, s, b, c] = measure([
        { server: nginx, target: `/${name}.html`, headers: GZIP },
        { server: shop, target, headers: GZIP },
        { server: nginx, target: `/${name}.html`, headers: PLAIN },
        { server: shop, target, headers: [...GZIP, ...cookie] },
      ]);
      const line = `${engine.padEnd(7)} ${name.padEnd(10)}`;
      const us = (v) => `${v.toFixed(1).padStart(6)} µs`;
      const row = (what, size, theirs, ours, most) =>
        console.log(
          `${line} ${what.padEnd(12)} ${String(size).padStart(6)} bytes  nginx ${us(theirs)}  souk ${us(ours)}` +
            `  ${(ours / theirs).toFixed(2)}× (target: at most ${most}×)${ours / theirs <= most ? '' : '  MISSED'}`,
        );
      row('no cookie', bytes, a, s, TARGETS.ready);
      row('with a cart', plain, b, c, TARGETS.cart);
    }
  } finally {
    await nginx?.stop();
    await souk.stop();
    database.remove();
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

for (const engine of ENGINES) await bench(engine);
