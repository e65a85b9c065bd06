// tests/api/lib/players/player.mjs - a local server that plays a payment provider, as strict as the real one.
//
// Each rule of a provider that the players keep has a mark saying how sure the rule is:
//   (D) the provider's own documents or specification, (S) seen in its SDK or server source, (B) believed, no more.
// Where a rule is only believed, no test may rest money on it: a test may show that we bear it, never that we need it.
import { createHash } from 'node:crypto';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { btcpay } from './btcpay.mjs';
import { paypal } from './paypal.mjs';
import { razorpay } from './razorpay.mjs';
import { stripe } from './stripe.mjs';

const PROVIDERS = { stripe, razorpay, paypal, btcpay };

/** Starts a server that plays a provider. */
export async function play(provider) {
  const player = new Player(provider);
  await player.start();
  return player;
}

/**
 * `calls` has every request as {method, path, query, headers, body, raw}; `fail` says what the next answers are. What was made
 * is in `made`, by id; money that moved is in `charges` and `refunds`, by id: so tests count effects, not calls.
 */
export class Player {
  calls = [];
  made = new Map();
  charges = new Map();
  refunds = new Map();
  disputes = new Map();
  failures = [];
  #keys = new Map();
  #busy = new Set();
  #hung = new Set();
  #skew_ms = 0;

  constructor(provider) {
    this.provider = provider;
    this.rules = PROVIDERS[provider];
    this.server = http.createServer((req, res) => this.#serve(req, res));
  }

  async start() {
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    this.config = { base_url: this.url, ...this.rules.config };
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  /** The provider's clock; it goes ahead of ours by what `forward` was told. */
  now() {
    return Date.now() + this.#skew_ms;
  }
  seconds() {
    return Math.floor(this.now() / 1000);
  }
  forward(ms) {
    this.#skew_ms += ms;
  }

  /**
   * The next `times` calls whose "METHOD /path" matches are answered with {status, body?, headers?}, late (`delay_ms`), or not at all
   * (`hang`, `reset`). `effect`: what was asked for happens all the same. `then` is called before the answer, `answered` after it. `stored`: the answer is kept under the call's key.
   */
  fail(answer) {
    this.failures.push({ times: 1, match: /./, ...answer });
  }

  /** Ends what hangs, and fails no more. */
  release() {
    this.failures.length = 0;
    for (const res of this.#hung) res.destroy();
    this.#hung.clear();
  }

  /** Calls to a path, oldest first. */
  to(method, path) {
    return this.calls.filter(
      (c) => c.method === method && (path instanceof RegExp ? path.test(c.path) : c.path === path),
    );
  }

  /** What was made for one of our orders. */
  page(order) {
    return [...this.made.values()].find((m) => this.rules.orderOf(m) === String(order));
  }

  /** The customer pays the page of an order; gives what the provider calls the payment. */
  pay(order, more) {
    return this.rules.pay(this, this.page(order), more);
  }

  /** Money that the provider got some other way: for tests that make up their own events. */
  charge(id, amount, currency = 'usd') {
    this.charges.set(id, { id, amount, currency, refunded: 0, created: this.seconds() });
    return id;
  }

  /**
   * What a key stands for: the first call's answer for `life_ms`, then nothing. `same` answers a repeat, `other` one with another
   * body. `make` gives [status, body]; what is refused (4xx) is not remembered.
   */
  once(call, key, { life_ms, same = (answer) => answer, other }, make) {
    const body = createHash('sha256').update(`${call.method} ${call.path}\n${call.raw}`).digest('hex');
    const known = key === undefined ? undefined : this.#keys.get(key);
    if (known && known.until > this.now()) {
      if (other && known.body !== body) return other;
      return same(known.answer);
    }
    const answer = make();
    if (key !== undefined && (answer[0] < 400 || answer[0] >= 500))
      this.#keys.set(key, { body, answer, until: this.now() + life_ms });
    return answer;
  }

  async #serve(req, res) {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const raw = Buffer.concat(chunks).toString();
    const type = req.headers['content-type'] ?? '';
    const body =
      type.includes('json') && raw
        ? JSON.parse(raw)
        : type.includes('form')
          ? Object.fromEntries(new URLSearchParams(raw))
          : raw;
    const query = Object.fromEntries(new URL(req.url, this.url).searchParams);
    const call = { method: req.method, path: req.url, query, headers: req.headers, body, raw };
    this.calls.push(call);
    const key = this.rules.keyOf(call);
    if (key !== undefined && this.#busy.has(key)) {
      send(res, this.rules.busy);
      return;
    }
    this.#busy.add(key);
    try {
      const answer = await this.#answer(call, res);
      if (answer) send(res, answer);
    } finally {
      this.#busy.delete(key);
    }
  }

  async #answer(call, res) {
    const failure = this.failures.find((f) => f.times > 0 && f.match.test(`${call.method} ${call.path}`));
    if (!failure) return this.#obey(call);
    failure.times -= 1;
    if (failure.stored)
      this.once(call, this.rules.keyOf(call), { life_ms: this.rules.key_life_ms }, () => [
        failure.status,
        failure.body ?? { error: 'played' },
      ]);
    if (failure.effect) this.#obey(call);
    if (failure.then) await failure.then();
    if (failure.answered) res.on('finish', () => setImmediate(failure.answered));
    if (failure.hang) {
      this.#hung.add(res);
      return null;
    }
    if (failure.delay_ms) await sleep(failure.delay_ms);
    if (failure.reset) {
      res.destroy();
      return null;
    }
    return failure.status ? [failure.status, failure.body ?? { error: 'played' }, failure.headers] : this.#obey(call);
  }

  #obey(call) {
    return this.rules.serve(this, call) ?? [404, { error: 'no such path' }];
  }
}

function send(res, [status, body, headers = {}]) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  res.writeHead(status, {
    'Content-Type': typeof body === 'string' ? 'text/plain' : 'application/json',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  });
  res.end(text);
}
