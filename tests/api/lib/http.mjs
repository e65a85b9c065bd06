// tests/api/lib/http.mjs - a small HTTP client whose every answer is held against the OpenAPI document.
import assert from 'node:assert/strict';
import http from 'node:http';
import { SLOW } from '../../lib/build.mjs';
import { checkAnswer } from './openapi.mjs';

/** Long enough for an import on a busy machine; a test that expects no answer says how long it waits. */
const TIMEOUT_MS = 60000 * SLOW;
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

export class Client {
  /** sockets: how many connections it may hold open at once; faults: those that every request meets first (faults.mjs). */
  constructor(url, { sockets = 128, faults = null } = {}) {
    this.url = new URL(url);
    this.faults = faults;
    this.agent = new http.Agent({ keepAlive: true, maxSockets: sockets, maxFreeSockets: sockets });
  }

  /**
   * Sends one request and gives {status, headers, rawHeaders, text, json, ms}.
   *   token        sent as bearer token
   *   body         sent as JSON, unless it is a string or Buffer: then as it is, Content-Type application/json all the same
   *   type         another Content-Type; null: none
   *   headers      added to or replacing the others
   *   unchecked    true for a request that is broken on purpose: the document is not asked
   *   timeout_ms   default TIMEOUT_MS
   */
  async request(method, target, options = {}) {
    const path = target.startsWith(`${this.url.origin}/`) ? target.slice(this.url.origin.length) : target; // an address that the server gave
    const { token, body, type, headers = {}, unchecked = false, timeout_ms = TIMEOUT_MS } = options;
    const send = { ...headers };
    let payload;
    if (token !== undefined) send.Authorization ??= `Bearer ${token}`;
    if (body !== undefined) {
      payload =
        typeof body === 'string' || Buffer.isBuffer(body) ? Buffer.from(body) : Buffer.from(JSON.stringify(body));
      if (type !== null) send['Content-Type'] ??= type ?? 'application/json';
      send['Content-Length'] ??= payload.length;
    } else if (['POST', 'PUT', 'PATCH'].includes(method)) {
      send['Content-Length'] ??= 0;
    }
    const exchange = () => this.#exchange(method, path, send, payload, timeout_ms);
    const answer = await (this.faults ? this.faults.through(`${method} ${path}`, exchange) : exchange());
    if (!unchecked) {
      checkEveryAnswer(method, path, answer, send);
      checkAnswer(method, path, answer, { body: payload, type: send['Content-Type'] });
    }
    return answer;
  }

  #exchange(method, path, headers, payload, timeout_ms) {
    return new Promise((resolve, reject) => {
      const started = process.hrtime.bigint();
      const req = http.request(
        { host: this.url.hostname, port: this.url.port, method, path, headers, agent: this.agent, timeout: timeout_ms },
        (res) => {
          const chunks = [];
          res.on('data', (c) => chunks.push(c));
          res.on('error', reject);
          res.on('end', () => {
            const bytes = Buffer.concat(chunks);
            const answer = {
              status: res.statusCode,
              sent: payload ?? Buffer.alloc(0),
              headers: res.headers,
              rawHeaders: res.rawHeaders,
              bytes,
              text: bytes.toString('utf8'),
              ms: Number(process.hrtime.bigint() - started) / 1e6,
            };
            if (/^application\/json\b/.test(res.headers['content-type'] ?? '') && bytes.length > 0) {
              try {
                answer.json = JSON.parse(answer.text);
              } catch (e) {
                reject(new Error(`${method} ${path}: the answer is no JSON: ${e.message}\n${answer.text}`));
                return;
              }
            }
            resolve(answer);
          });
        },
      );
      req.on('timeout', () => req.destroy(new Error(`${method} ${path}: no answer within ${timeout_ms} ms`)));
      req.on('error', (e) => reject(Object.assign(e, { request: `${method} ${path}` })));
      req.end(payload);
    });
  }

  get(path, options) {
    return this.request('GET', path, options);
  }
  post(path, body, options) {
    return this.request('POST', path, { ...options, body });
  }
  put(path, body, options) {
    return this.request('PUT', path, { ...options, body });
  }
  patch(path, body, options) {
    return this.request('PATCH', path, { ...options, body });
  }
  delete(path, options) {
    return this.request('DELETE', path, options);
  }

  close() {
    this.agent.destroy();
  }
}

/** What holds for every answer, whatever the endpoint. */
function checkEveryAnswer(method, path, answer, sent) {
  const where = `${method} ${path} -> ${answer.status}`;
  const id = answer.headers['x-request-id'];
  assert.match(id ?? '(none)', REQUEST_ID, `${where}: X-Request-Id`);
  const asked = sent['X-Request-Id'];
  if (asked !== undefined && REQUEST_ID.test(asked)) assert.equal(id, asked, `${where}: the caller's X-Request-Id`);
  if (answer.json?.status === 'error') assert.equal(answer.json.request_id, id, `${where}: request_id`);
  if (sent.Authorization !== undefined && answer.status < 400) {
    assert.equal(answer.headers['cache-control'], 'no-store', `${where}: an authenticated answer must not be cached`);
  }
  assert.ok(
    answer.headers['content-length'] !== undefined ||
      answer.headers['transfer-encoding'] !== undefined ||
      answer.status === 304,
    `${where}: the answer's length is not said`,
  );
}

/** Fails with the whole answer in the message, so that a red test says what came instead. */
export function expectStatus(answer, status) {
  assert.equal(answer.status, status, `expected ${status}, got ${answer.status}: ${answer.text}`);
  return answer;
}

/** An error answer with exactly this status and code, and the given message if any. */
export function expectError(answer, status, code, message) {
  expectStatus(answer, status);
  assert.equal(answer.json?.status, 'error', answer.text);
  assert.equal(answer.json.code, code, answer.text);
  if (message !== undefined) assert.equal(answer.json.message, message);
  return answer;
}

/** 422 validation_failed with exactly these {field: code}, in any order. */
export function expectFields(answer, fields) {
  expectError(answer, 422, 'validation_failed');
  const got = answer.json.errors.map((e) => [e.field, e.code]).sort();
  assert.deepEqual(got, Object.entries(fields).sort(), answer.text);
  return answer;
}

/** The `data` of a success with this status. */
export function dataOf(answer, status = 200) {
  expectStatus(answer, status);
  assert.equal(answer.json.status, 'success');
  return answer.json.data;
}
