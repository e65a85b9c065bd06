// tests/api/lib/raw.mjs - bytes over a socket, for HTTP that no client would send.
import net from 'node:net';

/** Opens a connection; gives an object with write(), read(), end(), destroy() and what has arrived so far. */
export function connect(url) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.removeListener('error', reject);
      resolve(new RawConnection(socket));
    });
  });
}

class RawConnection {
  constructor(socket) {
    this.socket = socket;
    this.received = Buffer.alloc(0);
    this.closed = false;
    this.waiting = [];
    socket.on('data', (bytes) => {
      this.received = Buffer.concat([this.received, bytes]);
      this.#look();
    });
    socket.on('error', (e) => {
      this.error = e;
    });
    socket.on('close', () => {
      this.closed = true;
      this.closedAt = Date.now();
      this.#look();
    });
  }

  get text() {
    return this.received.toString('latin1');
  }

  write(bytes) {
    if (!this.closed && !this.socket.destroyed) this.socket.write(bytes);
    return this;
  }

  #look() {
    this.waiting = this.waiting.filter((w) => !w());
  }

  /** Waits until `ready(this)` is true, the connection is closed, or the time is over. Gives whether it is true. */
  wait(ready, timeout_ms = 30000) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => finish(), timeout_ms);
      const finish = () => {
        clearTimeout(timer);
        resolve(Boolean(ready(this)));
      };
      const look = () => {
        if (!ready(this) && !this.closed) return false;
        finish();
        return true;
      };
      if (!look()) this.waiting.push(look);
    });
  }

  /** The next whole answer in what was received, cut off from it: {status, headers, text, json}; null when none came. */
  async answer({ timeout_ms = 30000, head = false } = {}) {
    await this.wait(() => parseAnswer(this.received, head) !== null, timeout_ms);
    const parsed = parseAnswer(this.received, head, this.closed);
    if (parsed) this.received = this.received.subarray(parsed.bytes);
    return parsed;
  }

  waitClosed(timeout_ms = 60000) {
    return this.wait(() => this.closed, timeout_ms);
  }

  destroy() {
    this.socket.destroy();
  }
  /** Ends the connection with a RST instead of a FIN. */
  reset() {
    this.socket.resetAndDestroy();
  }
}

/** Parses one answer from the start of `bytes`; null when it is not complete. Answers 1xx are skipped. */
export function parseAnswer(bytes, head = false, closed = false) {
  const text = bytes.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [statusLine, ...lines] = text.slice(0, end).split('\r\n');
  const match = /^HTTP\/1\.1 (\d{3}) ([^\r\n]*)$/.exec(statusLine);
  if (!match) throw new Error(`not an HTTP/1.1 status line: ${JSON.stringify(statusLine)}`);
  const status = Number(match[1]);
  const headers = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon <= 0) throw new Error(`not a header line: ${JSON.stringify(line)}`);
    const name = line.slice(0, colon).toLowerCase();
    headers[name] =
      name in headers ? `${headers[name]}, ${line.slice(colon + 1).trim()}` : line.slice(colon + 1).trim();
  }
  if (status >= 100 && status < 200) {
    const rest = parseAnswer(bytes.subarray(end + 4), head, closed);
    return rest ? { ...rest, bytes: rest.bytes + end + 4, interim: [status, ...(rest.interim ?? [])] } : null;
  }
  const none = head || status === 304 || status === 204;
  const length = none
    ? 0
    : headers['content-length'] === undefined
      ? closed
        ? bytes.length - end - 4
        : Infinity
      : Number(headers['content-length']);
  if (bytes.length < end + 4 + length) return null;
  const body = bytes.subarray(end + 4, end + 4 + length);
  const answer = { status, headers, text: body.toString('utf8'), bytes: end + 4 + length };
  if (/^application\/json\b/.test(headers['content-type'] ?? '') && length > 0) answer.json = JSON.parse(answer.text);
  return answer;
}

/** One exchange on a fresh connection: sends `bytes`, gives the first answer and whether the server closed after it. */
export async function once(url, bytes, { timeout_ms = 30000, head = false, close_ms = 2000 } = {}) {
  const connection = await connect(url);
  connection.write(bytes);
  const answer = await connection.answer({ timeout_ms, head });
  const closed = answer?.headers.connection === 'close' ? await connection.waitClosed(close_ms) : connection.closed;
  connection.destroy();
  return { answer, closed, rest: connection.text };
}
