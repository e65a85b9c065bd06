// tests/race/lib/linear.mjs - can a history be explained by its calls having happened one after the other, each between its call and
// its return? The search is Wing and Gong's with Lowe's memory of what was tried, as in porcupine.
//
// A history is a list of {call, back, input, output}: when it was called and when its answer came, on one clock. A call without an answer
// has no `output` and its `back` is Infinity: it may have happened at any time since, or never.
//
// An object is {start, step(state, input, output)}: step gives the state after it, or undefined where this answer is not possible in
// this state. Of a call without an answer the output is undefined, and step gives what the state would be. States are plain values.

/** Calls and returns in the order of their times, as a list that calls can be lifted out of. */
function eventsOf(history) {
  const events = history.flatMap((op, id) => [
    { id, op, at: op.call, isCall: true },
    { id, op, at: op.back, isCall: false },
  ]);
  // At the same instant calls come first: they count as concurrent.
  events.sort((x, y) => (x.at === y.at ? Number(y.isCall) - Number(x.isCall) : x.at < y.at ? -1 : 1));
  const head = { next: null };
  let last = head;
  const returns = new Map();
  for (const e of events) {
    e.prev = last;
    e.next = null;
    last.next = e;
    last = e;
    if (!e.isCall) returns.set(e.id, e);
  }
  for (const e of events) if (e.isCall) e.back = returns.get(e.id);
  return head;
}

const unlink = (e) => {
  e.prev.next = e.next;
  if (e.next) e.next.prev = e.prev;
};
const link = (e) => {
  e.prev.next = e;
  if (e.next) e.next.prev = e;
};
const lift = (call) => {
  unlink(call);
  unlink(call.back);
};
const unlift = (call) => {
  link(call.back);
  link(call);
};

/** True, or false where no order explains the answers. */
export function isLinearizable({ start, step }, history) {
  const head = eventsOf(history);
  const tried = new Set();
  const stack = [];
  let [state, done] = [start, 0n];
  let e = head.next;
  while (e) {
    if (e.isCall) {
      const next = step(state, e.op.input, e.op.output);
      const bits = done | (1n << BigInt(e.id));
      const key = next === undefined ? null : `${bits.toString(36)} ${JSON.stringify(next)}`;
      if (key !== null && !tried.has(key)) {
        tried.add(key);
        stack.push({ call: e, state, done });
        [state, done] = [next, bits];
        lift(e);
        e = head.next;
      } else {
        e = e.next;
      }
    } else if (e.at === Infinity) {
      return true; // only calls without an answer are left: they need not have happened
    } else {
      const last = stack.pop();
      if (!last) return false;
      [state, done] = [last.state, last.done];
      unlift(last.call);
      e = last.call.next;
    }
  }
  return true;
}

/** A clock and a list for one object. */
export class Recorder {
  history = [];

  /** Runs job and notes its times; a job that gives undefined has no known outcome. */
  async record(input, job) {
    const op = { input, call: performance.now(), back: Infinity, output: undefined };
    this.history.push(op);
    const output = await job();
    if (output === undefined) return;
    op.output = output;
    op.back = performance.now();
  }
}
