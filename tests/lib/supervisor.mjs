// tests/lib/supervisor.mjs - a server under a supervisor that holds its socket (supervisor.py), and clients that keep it busy.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';

const PROGRAM = path.join(path.dirname(fileURLToPath(import.meta.url)), 'supervisor.py');
const PATIENCE_MS = 90000;

export class Supervisor {
  /** `command` is started by start(); `folder` is where the notification socket stands. */
  constructor(folder, command, env = {}) {
    this.lines = [];
    this.stderr = '';
    this.child = spawn('python3', [PROGRAM, folder, ...command], { env: { ...process.env, ...env } });
    let rest = '';
    this.child.stdout.on('data', (bytes) => {
      const parts = (rest + bytes).split('\n');
      rest = parts.pop();
      this.lines.push(...parts);
    });
    this.child.stderr.on('data', (bytes) => (this.stderr += bytes));
    this.ended = new Promise((resolve) => this.child.on('close', resolve));
  }

  /** Waits for a line that matches, from the `from`th on; gives its index. */
  async line(pattern, from = 0) {
    for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(5)) {
      const at = this.lines.findIndex((line, i) => i >= from && pattern.test(line));
      if (at >= 0) return at;
      assert.ok(Date.now() < deadline, `no ${pattern} in\n${this.lines.join('\n')}\n${this.stderr.slice(-4000)}`);
    }
  }

  async port() {
    return Number(this.lines[await this.line(/^port /)].split(' ')[1]);
  }

  say(word) {
    this.child.stdin.write(`${word}\n`);
  }

  /** Gives the number of the line that said it. */
  async start() {
    const from = this.lines.length;
    this.say('start');
    return this.line(/^notify READY=1$/, from);
  }

  async restart() {
    const from = this.lines.length;
    this.say('restart');
    const end = await this.line(/^exit /, from);
    assert.equal(this.lines[end], 'exit 0', this.stderr.slice(-4000));
    return this.line(/^notify READY=1$/, end);
  }

  async stop() {
    this.child.stdin.end();
    await this.ended;
  }
}

/**
 * `width` clients with a kept connection each make requests until `total` are made: ask(i) gives {method, path, headers, body}.
 * No client tries again. Gives {statuses: {code: count}, failures: [text]}.
 */
export async function hammer({ port, total, width, ask, onAnswer = () => {} }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: width });
  const result = { statuses: {}, failures: [] };
  let next = 0;
  const once = (i) =>
    new Promise((resolve) => {
      const { body, ...options } = ask(i);
      const request = http.request({ host: '127.0.0.1', port, agent, ...options }, (answer) => {
        answer.resume();
        answer.on('error', (e) => result.failures.push(`${i}: answer: ${e.code ?? e.message}`));
        answer.on('close', () => {
          result.statuses[answer.statusCode] = (result.statuses[answer.statusCode] ?? 0) + 1;
          onAnswer(i);
          resolve();
        });
      });
      request.on('error', (e) => {
        result.failures.push(`${i}: ${e.code ?? e.message}`);
        resolve();
      });
      request.setTimeout(PATIENCE_MS, () => request.destroy(new Error('no answer')));
      request.end(body);
    });
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (next < total) await once(next++);
    }),
  );
  agent.destroy();
  return result;
}
