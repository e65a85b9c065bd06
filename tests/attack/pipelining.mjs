// One connection sends requests faster than they can be served, and reads the answers. Two processes do it, because one of
// Node's would be slower than the server. The requests are as short as they can be: most of them fit into a reading.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export default {
  name: 'pipelining',
  what: 'one connection sends requests faster than they are served',
  async run({ port }, size) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-attack-'));
    const file = path.join(dir, 'requests');
    fs.writeFileSync(file, 'GET /a HTTP/1.1\r\nHost:x\r\n\r\n'.repeat(500000));
    const script = 'exec 3<>"/dev/tcp/127.0.0.1/$0"; cat <&3 >/dev/null & while cat "$1" >&3; do :; done';
    const bash = spawn('bash', ['-c', script, String(port), file], { stdio: 'ignore', detached: true });
    await sleep(size === 'full' ? 15000 : 2000);
    process.kill(-bash.pid, 'SIGKILL');
    fs.rmSync(dir, { recursive: true });
    return {};
  },
};
