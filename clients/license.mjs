// license.mjs - checks a licence with a souk store: online, and offline for a while after the last good answer.
//
//     const { state } = await check({ baseUrl, token, publicKey, licenseKey, productId, hardwareId: hardwareId(productId), stateFile });
//     if (state !== 'valid') …
//
// `token` has the scope `verify` and nothing else; `publicKey` is what GET /api/v1/license/public-key says, built into your program.
// Needs Node 18 and no packages. How it works: docs/checking-a-licence.md.
import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import { fileURLToPath } from 'node:url';

const GRACE_S = 7 * 24 * 3600; // how long the last good answer counts while the store cannot be reached
const SKEW_S = 300; // clocks differ by as much
const TIMEOUT_MS = 5000;
const ANSWER_BYTES_MAX = 64 * 1024;
const COMPONENTS = '("@status" "content-digest" "content-digest";req)';

/** This machine, for this product: other vendors' programs see another id. */
export function hardwareId(productId) {
  let machine;
  try {
    machine = fs.readFileSync('/etc/machine-id', 'ascii').trim();
  } catch {
    machine = os.hostname();
  }
  return createHash('sha256').update(`${machine}\n${productId}`).digest('hex');
}

/** {state, reason}: `valid`; `refused`: the store says so; `unknown`: nobody says anything that can be trusted. */
export async function check({ baseUrl, token, publicKey, licenseKey, productId, hardwareId: hardware, stateFile }) {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey, 'base64').toString('base64url') };
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  const request = JSON.stringify({ license_key: licenseKey, product_id: productId, hardware_id: hardware });
  const nonce = randomBytes(16).toString('hex');
  const now = Math.floor(Date.now() / 1000);
  const answer = await ask(baseUrl, token, request, nonce);
  if (!answer?.params.includes(`;nonce="${nonce}"`) || !isSigned(key, request, answer)) {
    return checkOffline(key, request, stateFile, now);
  }
  if (answer.status === 200) {
    save(stateFile, Math.max(now, created(answer)), request, answer);
    return { state: 'valid', reason: 'online' };
  }
  fs.rmSync(stateFile, { force: true });
  return { state: 'refused', reason: JSON.parse(answer.body).code };
}

/** The store's answer, signed or not; null when there is none. Not by fetch, whose deadline does not hold in every Node 18. */
function ask(baseUrl, token, request, nonce) {
  const asked = new Promise((resolve, reject) => {
    const url = new URL(`${baseUrl}/api/v1/license/verify`);
    const headers = {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(request),
      'Accept-Signature': `sig1=();nonce="${nonce}"`,
    };
    const { request: call } = url.protocol === 'https:' ? https : http;
    const sent = call(url, { method: 'POST', headers, agent: false }, (response) => {
      const params = /^sig1=(.+)$/.exec(response.headers['signature-input'] ?? '');
      const signature = /^sig1=:([A-Za-z0-9+/=]+):$/.exec(response.headers.signature ?? '');
      if (!params || !signature) {
        sent.destroy();
        return;
      }
      const chunks = [];
      let bytes = 0;
      response.on('data', (chunk) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES_MAX) sent.destroy();
      });
      response.on('error', reject);
      response.on('end', () => {
        const { statusCode: status } = response;
        resolve({ status, params: params[1], signature: signature[1], body: Buffer.concat(chunks) });
      });
    });
    const deadline = setTimeout(() => sent.destroy(), TIMEOUT_MS);
    sent.on('error', reject);
    sent.on('close', () => {
      clearTimeout(deadline);
      reject(new Error('no whole answer'));
    });
    sent.end(request);
  });
  return asked.catch(() => null);
}

const digest = (bytes) => `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;
const created = (answer) => Number(/;created=(\d{1,12})/.exec(answer.params)[1]);

/** Whether the store has signed this answer to this question (RFC 9421). */
function isSigned(key, request, { status, params, signature, body }) {
  if (!params.startsWith(`${COMPONENTS};created=`)) return false;
  const text =
    `"@status": ${status}\n"content-digest": ${digest(body)}\n"content-digest";req: ${digest(request)}\n` +
    `"@signature-params": ${params}`;
  return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
}

/** The last good answer counts for a while, if it is about this question and the clock has not been turned back. */
function checkOffline(key, request, stateFile, now) {
  const { seen, answer, wrong } = load(stateFile, request);
  if (wrong) return { state: 'unknown', reason: wrong };
  if (answer.status !== 200 || !isSigned(key, request, answer)) return { state: 'unknown', reason: 'bad_state' };
  if (now + SKEW_S < Math.max(seen, created(answer))) return { state: 'unknown', reason: 'clock' };
  if (now > created(answer) + GRACE_S) return { state: 'unknown', reason: 'grace_over' };
  const { expires_at: expires } = JSON.parse(answer.body).data;
  if (expires && now >= Date.parse(expires) / 1000) return { state: 'refused', reason: 'license_expired' };
  save(stateFile, Math.max(seen, now), request, answer);
  return { state: 'valid', reason: 'offline' };
}

// The kept answer: the latest time seen, the question, status, signature parameters, signature, a line each; then the body.

function save(stateFile, seen, request, { status, params, signature, body }) {
  try {
    const head = `${seen}\n${request}\n${status}\n${params}\n${signature}\n`;
    fs.writeFileSync(`${stateFile}.new`, Buffer.concat([Buffer.from(head), body]));
    fs.renameSync(`${stateFile}.new`, stateFile);
  } catch {
    // Without it there is no grace; the verdict stands.
  }
}

function load(stateFile, request) {
  let text;
  try {
    text = fs.readFileSync(stateFile, 'utf8');
  } catch {
    return { wrong: 'unreachable' };
  }
  const match = /^(\d+)\n(.*)\n(\d+)\n(.*)\n(.*)\n([^]*)$/.exec(text);
  if (!match) return { wrong: 'bad_state' };
  const [, seen, question, status, params, signature, body] = match;
  if (question !== request) return { wrong: 'other_licence' };
  return { seen: Number(seen), answer: { status: Number(status), params, signature, body: Buffer.from(body) } };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  if (args.length === 0 || args.length % 7 !== 0) {
    console.error('usage: license.mjs (URL TOKEN PUBLIC_KEY LICENSE_KEY PRODUCT_ID HARDWARE_ID|auto STATE_FILE)...');
    process.exit(64);
  }
  while (args.length > 0) {
    const [baseUrl, token, publicKey, licenseKey, product, hardware, stateFile] = args.splice(0, 7);
    const productId = Number(product);
    const id = hardware === 'auto' ? hardwareId(productId) : hardware;
    const { state, reason } = await check({ baseUrl, token, publicKey, licenseKey, productId, hardwareId: id, stateFile });
    console.log(state, reason);
    process.exitCode = { valid: 0, refused: 1, unknown: 2 }[state];
  }
}
