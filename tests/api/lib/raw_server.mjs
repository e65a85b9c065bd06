// tests/api/lib/raw_server.mjs - the server under the raw-socket cases: the store itself, or echo_server, which has the
// same HTTP layer and nothing behind it.
//
// Both give {kind, url, pid, get, post, stop(), terminate(), ended}: `get` and `post` are requests that they accept,
// with the expected status. Options have one name for both: connectionsMax, headerMs, idleMs, bodyRateMin, drainMs,
// loops.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { SANITIZER_ENV, crashReport, sanitizerReport } from '../../lib/sanitizer.mjs';
import { BUILD } from '../../lib/build.mjs';
import { SLOW, Souk } from './souk.mjs';

const STORE_FLAGS = {
  connectionsMax: '--connections-max',
  headerMs: '--header-timeout-ms',
  idleMs: '--idle-timeout-ms',
  bodyRateMin: '--body-rate-min',
  drainMs: '--drain-timeout-ms',
  loops: '--loops',
  connectionsPerAddress: '--connections-per-address',
  bodyMemoryMax: '--body-memory-max',
};
const ECHO_FLAGS = {
  connectionsMax: '--connections-max',
  headerMs: '--header-ms',
  idleMs: '--idle-ms',
  bodyRateMin: '--body-rate-min',
  drainMs: '--drain-ms',
  loops: '--loops',
  bodyWindowMs: '--body-window-ms',
  lingerMs: '--linger-ms',
  trustedProxy: '--trusted-proxy',
  listen: '--listen',
  connectionsPerAddress: '--connections-per-address',
  bodyMemoryMax: '--body-memory-max',
};

function flags(names, options) {
  return Object.entries(options).flatMap(([name, value]) => {
    assert.ok(names[name], `no such option: ${name}`);
    return [names[name], String(value)];
  });
}

export async function startRawServer(kind, options = {}) {
  if (kind === 'echo') return startEcho(options);
  const souk = new Souk({ args: flags(STORE_FLAGS, options) });
  await souk.start();
  souk.client.close(); // its connections would be counted
  return {
    kind,
    url: souk.url,
    pid: souk.child.pid,
    ended: souk.ended,
    get: { target: '/readyz', status: 200 },
    post: { target: '/api/auth/login', status: 422 },
    terminate: () => souk.child.kill('SIGTERM'),
    stop: () => souk.stop(),
  };
}

/** `limits` is a shell command to run before it, like "ulimit -n 20". */
export async function startEcho(options = {}, limits = null) {
  const program = path.join(BUILD, 'tests/unit/echo_server');
  const args = flags(ECHO_FLAGS, options);
  const command = limits ? ['/bin/sh', ['-c', `${limits}; exec "$0" "$@"`, program, ...args]] : [program, args];
  const child = spawn(...command, { env: { ...process.env, ...SANITIZER_ENV }, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  const log = process.env.SOUK_LOG_DIR && path.join(process.env.SOUK_LOG_DIR, `echo-${child.pid}.stderr`);
  child.stderr.on('data', (bytes) => {
    stderr += bytes;
    if (log) fs.appendFileSync(log, bytes);
  });
  const exit = () => child.kill('SIGKILL');
  process.on('exit', exit);
  const ended = new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal })));
  const port = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.stdout.on('data', (bytes) => {
      stdout += bytes;
      const match = /^listening on (\d+)$/m.exec(stdout);
      if (match) resolve(Number(match[1]));
    });
    ended.then(() => reject(new Error(`echo_server did not start:\n${stderr}`)));
  });
  return {
    kind: 'echo',
    url: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid,
    ended,
    get: { target: '/', status: 200 },
    post: { target: '/', status: 200 },
    terminate: () => child.kill('SIGTERM'),
    stderr: () => stderr,
    /** Resolves when http_server_stop has returned; an instrumented program takes long to end after it. */
    stopped: new Promise((resolve) => {
      child.stdout.on('data', () => {
        if (/^accepted /m.test(stdout)) resolve();
      });
      ended.then(resolve);
    }),
    /** Gives what it counted: {accepted, open, refused, timeouts, bad}. */
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 40000 * SLOW);
      const end = await ended;
      clearTimeout(late);
      process.removeListener('exit', exit);
      assert.equal(sanitizerReport(stderr) ?? crashReport(stderr), null);
      assert.deepEqual(end, { code: 0, signal: null }, stderr);
      return Object.fromEntries([...stdout.matchAll(/(\w+) (-?\d+)(?:,|$)/gm)].map((m) => [m[1], Number(m[2])]));
    },
  };
}
