// tests/lib/wire.mjs - one kept connection, one call after the other. Reads only as much HTTP as the server writes: a general
// client costs more than the server does.
import assert from 'node:assert/strict';
import net from 'node:net';
import { once } from 'node:events';

const TIMEOUT_MS = 60000;

export class Wire {
  static async open(url) {
    const { hostname, port } = new URL(url);
    const wire = new Wire();
    wire.socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
    await once(wire.socket, 'connect');
    wire.got = '';
    wire.socket.setEncoding('latin1'); // a character is a byte: lengths are those of the headers
    wire.socket.on('data', (text) => {
      wire.got = wire.got === '' ? text : wire.got + text;
      wire.#look();
    });
    const end = (e) => wire.#fail(e ?? new Error('the server closed the connection'));
    wire.socket.on('error', end);
    wire.socket.on('close', () => end());
    return wire;
  }

  /** Gives {status, head, text, json}. body: an object, sent as JSON, or a text. */
  call(method, path, { token, body, headers = {} } = {}) {
    assert.ok(!this.waiting, 'one call at a time');
    const payload = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
    let head = `${method} ${path} HTTP/1.1\r\nHost: souk\r\n`;
    if (token) head += `Authorization: Bearer ${token}\r\n`;
    if (payload !== '') head += 'Content-Type: application/json\r\n';
    if (method !== 'GET') head += `Content-Length: ${Buffer.byteLength(payload)}\r\n`;
    for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject, what: `${method} ${path}` };
      if (this.ended) this.#fail(this.ended);
      this.timer ??= setInterval(() => this.#tick(), TIMEOUT_MS / 4);
      this.ticks = 0;
      this.socket.write(`${head}\r\n${payload}`, 'utf8');
    });
  }

  close() {
    clearInterval(this.timer);
    this.socket.destroy();
  }

  #tick() {
    if (this.waiting && ++this.ticks > 4) this.#fail(new Error(`${this.waiting.what}: no answer`));
  }

  #fail(error) {
    this.ended ??= error;
    const { waiting } = this;
    this.waiting = null;
    clearInterval(this.timer);
    waiting?.reject(error);
  }

  #look() {
    const end = this.got.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.got.slice(0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.got.length < end + 4 + length) return;
    const bytes = this.got.slice(end + 4, end + 4 + length);
    this.got = this.got.slice(end + 4 + length);
    const text = Buffer.from(bytes, 'latin1').toString('utf8');
    const { waiting } = this;
    this.waiting = null;
    const isJson = /\r\ncontent-type: application\/json/i.test(head);
    waiting.resolve({ status: Number(head.slice(9, 12)), head, text, json: isJson ? JSON.parse(text) : null });
  }
}
