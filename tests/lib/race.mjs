// tests/lib/race.mjs - many requests that reach the server at the same moment, each on a connection of its own.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../api/lib/raw.mjs';

/**
 * Sends all requests but their last byte, waits until the servers have taken that in, then releases the last bytes at once.
 *   requests  [{url, method, path, token, body, headers}]; body is sent as JSON
 *   frozen    a server's process that sleeps while the last bytes are sent: it then finds all of them at once
 * Gives the answers in the order of the requests: {status, headers, text, json}.
 */
export async function releaseTogether(requests, { timeout_ms = 60000, settle_ms = 50, frozen = null } = {}) {
  const connections = await Promise.all(requests.map((r) => connect(r.url)));
  try {
    const messages = requests.map(({ method = 'POST', path, token, body, headers = {} }) => {
      const payload = body === undefined ? '' : JSON.stringify(body);
      const lines = [
        `${method} ${path} HTTP/1.1`,
        'Host: souk',
        ...(token ? [`Authorization: Bearer ${token}`] : []),
        'Content-Type: application/json',
        `Content-Length: ${Buffer.byteLength(payload)}`,
        ...Object.entries(headers).map(([k, v]) => `${k}: ${v}`),
        '',
        payload,
      ];
      return Buffer.from(lines.join('\r\n'));
    });
    connections.forEach((c, i) => c.write(messages[i].subarray(0, -1)));
    await sleep(settle_ms);
    frozen?.kill('SIGSTOP');
    connections.forEach((c, i) => c.write(messages[i].subarray(-1)));
    if (frozen) {
      await sleep(settle_ms);
      frozen.kill('SIGCONT');
    }
    return await Promise.all(
      connections.map(async (c, i) => {
        const answer = await c.answer({ timeout_ms });
        assert.ok(answer, `no answer to request ${i} (${requests[i].path})`);
        return answer;
      }),
    );
  } finally {
    for (const c of connections) c.destroy();
  }
}

/** How often each status came: {200: 20, 422: 44}. */
export function countStatuses(answers) {
  const counts = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
