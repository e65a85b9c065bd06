// tests/model/lib/compare.mjs - what an answer must be, and how an answer differs from it.
//
// What is expected is a value whose members the answer must have (more are allowed), with functions where the value is not known
// beforehand: they get what came and give true, or say what is wrong with it.

/** null, or where and how. */
export function difference(expected, actual, where = 'data') {
  if (typeof expected === 'function') {
    const said = expected(actual);
    return said === true ? null : `${where} is ${brief(actual)}: ${said === false ? 'not so' : said}`;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return `${where} is no list: ${brief(actual)}`;
    if (actual.length !== expected.length)
      return `${where} has ${actual.length} items, expected ${expected.length}: ${brief(actual)}`;
    return first(expected, (value, i) => difference(value, actual[i], `${where}[${i}]`));
  }
  if (expected !== null && typeof expected === 'object') {
    if (actual === null || typeof actual !== 'object') return `${where} is no object: ${brief(actual)}`;
    return first(Object.keys(expected), (name) => difference(expected[name], actual[name], `${where}.${name}`));
  }
  return expected === actual ? null : `${where} is ${brief(actual)}, expected ${brief(expected)}`;
}

function first(list, look) {
  for (let i = 0; i < list.length; i++) {
    const found = look(list[i], i);
    if (found) return found;
  }
  return null;
}

export const brief = (value) => (value === undefined ? 'absent' : JSON.stringify(value).slice(0, 300));

export const absent = (value) => value === undefined;
export const aTime = (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/.test(value);
export const anId = (value) => Number.isSafeInteger(value) && value > 0;
export const aText = (value) => typeof value === 'string' && value !== '';
export const oneOf =
  (...words) =>
  (value) =>
    words.includes(value) || `not one of ${words.join(', ')}`;

/** A list of which no order is promised; `name` is the member that tells the items apart. */
export const inAnyOrder = (name, expected) => (list) => {
  const sorted = (items) => [...items].sort((x, y) => x[name] - y[name]);
  return Array.isArray(list) ? (difference(sorted(expected), sorted(list), 'in order') ?? true) : 'no list';
};

/** Amounts are whole minor units in the model, and numbers with two decimals on the wire. */
export const money = (minor) => minor / 100;

/** The id of something new, which the model learns from the answer. */
export const born =
  (thing, name = 'id') =>
  (value) => {
    if (!anId(value)) return 'no id';
    thing[name] ??= value;
    return thing[name] === value || `it has the id ${thing[name]}`;
  };

/** The answers that a rule can give. */
export const ok = (data, more = {}) => ({ status: 200, data, ...more });
export const made = (data, more = {}) => ({ status: 201, data, ...more });
export const refused = (status, ...codes) => ({ status, codes });
export const notFound = () => refused(404, 'not_found');
/** fields: {name: code} */
export const invalid = (fields) => ({ status: 422, codes: ['validation_failed'], fields });

/** null, or how the answer differs from one of the expected. Several: whichever is the case first is told, no order is promised. */
export function differs(expected, answer) {
  if (Array.isArray(expected)) {
    const said = expected.map((e) => differs(e, answer));
    return said.includes(null) ? null : said.join('; or ');
  }
  if (answer.status !== expected.status)
    return `the status is ${answer.status}, expected ${expected.status}: ${answer.text.slice(0, 300)}`;
  if (expected.codes && !expected.codes.includes(answer.json?.code))
    return `the code is ${answer.json?.code}, expected ${expected.codes.join(' or ')}`;
  if (expected.fields) {
    const got = Object.fromEntries((answer.json.errors ?? []).map((e) => [e.field, e.code]));
    const [a, b] = [got, expected.fields].map((o) => JSON.stringify(Object.entries(o).sort()));
    if (a !== b) return `the fields are ${a}, expected ${b}`;
  }
  if (expected.message !== undefined && answer.json?.message !== expected.message)
    return `the message is ${brief(answer.json?.message)}, expected ${brief(expected.message)}`;
  if (expected.more) return difference(expected.more, answer.json, 'the answer');
  return expected.data === undefined ? null : difference(expected.data, answer.json?.data);
}
