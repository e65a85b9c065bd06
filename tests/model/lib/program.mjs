// tests/model/lib/program.mjs - programs: lists of calls, chosen at random or given, played against a server and the model at once.
import { Random } from '../../lib/random.mjs';
import { differs, refused } from './compare.mjs';
import { OPS } from './ops.mjs';
import { World } from './world.mjs';

/** What every program begins with, so that there is something to buy and somebody who can. */
const BEGINNING = [
  ...['make a customer', 'give a token', 'give or take money', 'make a customer', 'give a token', 'give or take money'],
  ...[
    'make a product',
    'make a product',
    'make a product',
    'import codes',
    'import codes',
    'make a coupon',
    'make a coupon',
    'make a department',
  ],
];

const NAMES = Object.keys(OPS);
const WEIGHTS = NAMES.map((name) => OPS[name].weight);
const ALL = WEIGHTS.reduce((sum, n) => sum + n, 0);

function pickOp(random) {
  let at = (random.below(1 << 24) / (1 << 24)) * ALL;
  const i = WEIGHTS.findIndex((weight) => (at -= weight) < 0);
  return NAMES[i < 0 ? 0 : i];
}

let worlds = 0;

/** One world, one connection, one call after the other. */
export class Play {
  /** target: {wire, staff (token), routes: {"METHOD /path": {scope, idempotent}}}; Rules: the class of the world. */
  constructor(target, Rules = World) {
    this.target = target;
    worlds += 1;
    this.world = new Rules(`M${process.pid.toString(36)}x${worlds}x`.toUpperCase());
    this.said = [];
    this.count = {};
  }

  /** Plays one call; null, or how the answer differs. call: {number, name, args, key}. */
  async step({ number, name, args, key }) {
    const { world } = this;
    world.number = number;
    const op = OPS[name];
    const plan = op.play(world, args);
    const token = plan && this.#token(plan.as);
    if (!plan || token === undefined) return null;
    const route = this.target.routes[op.route];
    const [method, pattern] = op.route.split(' ');
    const path = address(pattern, plan);
    const headers = { ...plan.headers };
    if (key !== undefined && route.idempotent) headers['Idempotency-Key'] = `${world.prefix}${key}`;
    const expected = this.#refusal(plan.as, route) ?? this.#stored(op, path, plan, headers) ?? plan.answer();
    if (expected === null) return null;
    const answer = await this.target.wire.call(method, path, { token: token ?? undefined, body: plan.body, headers });
    this.said.push(
      `${method} ${path}${plan.body === undefined ? '' : ` ${JSON.stringify(plan.body)}`}${plan.as === 'staff' ? ' as staff' : plan.as === 'nobody' ? '' : ` as ${world.get('token', plan.as).customer.title}`} -> ${answer.status}${answer.json?.code ? ` ${answer.json.code}` : ''}`,
    );
    this.#tally(name, answer.status);
    const problem =
      differs(expected, answer) ??
      (expected.text === undefined || answer.text === expected.text ? null : 'other bytes than the first time');
    if (problem) return `${name}: ${problem}`;
    if (headers['Idempotency-Key'] && answer.status < 300)
      world.keys.set(this.#keyOf(op, plan, headers), {
        body: JSON.stringify(plan.body),
        path,
        status: answer.status,
        text: answer.text,
        name,
        args,
        key,
      });
    return null;
  }

  #token(as) {
    if (as === 'staff') return this.target.staff;
    if (as === 'nobody') return null;
    return this.world.get('token', as)?.text;
  }

  /** What a token alone decides. */
  #refusal(as, route) {
    if (as === 'staff' || as === 'nobody') return null;
    const token = this.world.get('token', as);
    if (token.dead) return refused(401, 'token_invalid');
    return route.scope === '-' || token.scopes.includes(route.scope) ? null : refused(403, 'insufficient_scope');
  }

  #keyOf(op, plan, headers) {
    const account = this.world.get('token', plan.as)?.customer.id ?? plan.as;
    return `${account} ${op.route} ${headers['Idempotency-Key']}`;
  }

  /** What a key that took effect gives: the same answer, or a refusal of another body. */
  #stored(op, path, plan, headers) {
    if (!headers['Idempotency-Key']) return null;
    const kept = this.world.keys.get(this.#keyOf(op, plan, headers));
    if (!kept) return null;
    if (kept.body !== JSON.stringify(plan.body) || kept.path !== path) return refused(422, 'idempotency_key_reused');
    return { status: kept.status, text: kept.text };
  }

  #tally(name, status) {
    this.count[name] ??= { good: 0, refused: 0 };
    this.count[name][status < 400 ? 'good' : 'refused'] += 1;
  }
}

function address(pattern, { params, query }) {
  const path = params ? pattern.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name])) : pattern;
  return query ? `${path}?${new URLSearchParams(query)}` : path;
}

/** Plays `length` calls that the seed chooses: {calls, problem, play}. */
export async function playRandom(target, seed, length, Rules) {
  const random = new Random(seed);
  const play = new Play(target, Rules);
  const calls = [];
  for (let number = 1; number <= length; number++) {
    const name = BEGINNING[number - 1] ?? pickOp(random);
    const args = OPS[name].make(play.world, random);
    const key = random.oneIn(8) ? `k${number}` : undefined;
    const call = { number, name, args, key };
    calls.push(call);
    const problem = await play.step(call);
    if (problem) return { calls, problem, play };
  }
  for (const call of farewell(play.world, length)) {
    calls.push(call);
    const problem = await play.step(call);
    if (problem) return { calls, problem, play };
  }
  return { calls, problem: null, play };
}

/** What a world leaves in lists that others read is taken out of them: they would grow with every program. */
function farewell(world, length) {
  const left = (kind, fits) => world.all(kind).filter((thing) => thing.id && !thing.gone && fits(thing));
  return [
    ...left('product', (p) => p.is_active).map(({ name }) => ['change a product', { product: name, is_active: false }]),
    ...left('department', () => true).map(({ name }) => ['delete a department', { department: name }]),
    ...left('department', (d) => d.is_active).map(({ name }) => [
      'change a department',
      { department: name, is_active: false },
    ]),
    ...left('page', () => true).map(({ name }) => ['delete a page', { page: name }]),
  ].map(([name, args], i) => ({ number: length + 1 + i, name, args }));
}

/** Plays these calls in a world of their own. */
export async function playGiven(target, calls, Rules) {
  const play = new Play(target, Rules);
  for (const call of calls) {
    const problem = await play.step(call);
    if (problem) return { problem, play };
  }
  return { problem: null, play };
}

/** The calls without those that the difference at the last one does not need. */
export async function shrink(target, calls, Rules) {
  const { name } = calls.at(-1);
  const fails = async (list) => (await playGiven(target, list, Rules)).problem?.startsWith(`${name}: `);
  let best = calls;
  for (let size = Math.ceil(best.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < best.length;) {
      const fewer = [...best.slice(0, at), ...best.slice(at + size)];
      if (fewer.length > 0 && (await fails(fewer))) best = fewer;
      else at += size;
    }
  }
  return best;
}
