// tests/lib/phases.mjs - what the test run consists of, and which part of it some words ask for.

/**
 * Connections of each server to PostgreSQL where tests ask one thing after another: each one fills its own caches of the catalogue.
 * Eight are the fewest with which requests are run in groups. Where many ask at once (race) there are as many as on a machine in use.
 */
const FEW = { SOUK_WORKERS: '8' };

/**
 * Black-box tests that a database which fails now and then disturbs, although nothing is wrong: they count calls, mails, failures or
 * uses, hold back what waits in the outbox, wait for work in the background (which waits longer after a failure), want the address of a payment's page at once, have
 * more statements than are failed, or have faults of their own (memory).
 */
const UNDISTURBED = [
  'admin_gateways',
  'admin_outbox',
  'admin_reconciliations',
  'admin_serials',
  'admin_webhook_endpoints',
  'confirm',
  'customer_order_pay',
  'customer_topup',
  'download',
  'limits',
  'mail',
  'memory',
  'mishaps',
  'operations',
  'payment_errand',
  'payment_table',
  'sandbox_page',
  'store_catalog',
  'store_checkout',
  'strangers',
  'strangers_gone',
  'v1_license',
  'v1_order',
];

/**
 * The whole matrix, in order of running. `at_once` is how many files of the phase run side by side. Each sanitizer runs the
 * black-box suite on one engine; the other two combinations (`more`) run when a filter names them, and in ./dev soak. A phase of the
 * release build that is `sparse` runs those files which ask for it (heads.mjs); named by a filter, and in ./dev soak, it runs
 * all of them.
 *
 * The builds (see ./dev) are the matrix of compilers, too: the release build is gcc with the machine's own char, tsan is gcc
 * with a char of the other sign, asan is clang with such a char; a warning stops each of them.
 *
 * `patience`: how many times as long as elsewhere a file may take.
 *
 * `stores`: the engine on which unit programs about a whole store run in the whole test run; the release build has both, and so
 * has the phase when a filter names it.
 *
 * `beside`: runs with the other builds although it is about the release build, when the latter has long been made.
 */
export const PHASES = [
  { name: 'arrows', run: 'files', folder: 'tests/arrows', needs: ['gcc'] },
  { name: 'harness', run: 'files', folder: 'tests/lib', build: 'release', needs: ['tools'] },
  { name: 'package', run: 'files', folder: 'tests/package', build: 'release', needs: ['package'] },
  { name: 'unit', run: 'units', build: 'release', pg: true, at_once: 2 },
  { name: 'sim', run: 'files', folder: 'tests/sim', build: 'release' },
  {
    name: 'api-sqlite',
    run: 'files',
    folder: 'tests/api',
    build: 'release',
    engine: 'sqlite',
    sparse: true,
    at_once: 3,
    needs: ['clients', 'promtool'],
  },
  {
    name: 'api-pg',
    run: 'files',
    folder: 'tests/api',
    build: 'release',
    engine: 'pg',
    sparse: true,
    at_once: 3,
    env: FEW,
  },
  {
    name: 'api-failing',
    run: 'files',
    folder: 'tests/api',
    build: 'release',
    engine: 'sqlite',
    at_once: 2,
    env: { SOUK_FAULTS: '1' },
    patience: 12,
    leaves_out: UNDISTURBED,
    more: true,
  },
  { name: 'race-pg', run: 'files', folder: 'tests/race', build: 'release', engine: 'pg', sparse: true, at_once: 2 },
  {
    name: 'web',
    run: 'files',
    folder: 'tests/web',
    build: 'release',
    engine: 'sqlite',
    at_once: 2,
    needs: ['chromium'],
  },
  { name: 'unit-asan', run: 'units', build: 'asan', pg: true, at_once: 2, stores: 'sqlite' },
  {
    name: 'api-asan-sqlite',
    run: 'files',
    folder: 'tests/api',
    build: 'asan',
    engine: 'sqlite',
    at_once: 3,
    needs: ['promtool'],
  },
  {
    name: 'api-asan-pg',
    run: 'files',
    folder: 'tests/api',
    build: 'asan',
    engine: 'pg',
    at_once: 3,
    env: FEW,
    more: true,
  },
  { name: 'race-asan', run: 'files', folder: 'tests/race', build: 'asan', engine: 'sqlite', at_once: 2 },
  { name: 'sim-asan', run: 'files', folder: 'tests/sim', build: 'asan', more: true },
  { name: 'unit-tsan', run: 'units', build: 'tsan', pg: true, at_once: 2, stores: 'postgres' },
  {
    name: 'api-tsan-sqlite',
    run: 'files',
    folder: 'tests/api',
    build: 'tsan',
    engine: 'sqlite',
    at_once: 3,
    more: true,
  },
  { name: 'api-tsan-pg', run: 'files', folder: 'tests/api', build: 'tsan', engine: 'pg', at_once: 3, env: FEW },
  { name: 'race-tsan', run: 'files', folder: 'tests/race', build: 'tsan', engine: 'pg', at_once: 2 },
  { name: 'fuzz', run: 'fuzzers', build: 'asan', at_once: 2 },
  {
    name: 'race-sqlite',
    run: 'files',
    folder: 'tests/race',
    build: 'release',
    beside: true,
    engine: 'sqlite',
    sparse: true,
    at_once: 2,
  },
  { name: 'model-sqlite', run: 'files', folder: 'tests/model', build: 'release', beside: true, engine: 'sqlite' },
  { name: 'model-pg', run: 'files', folder: 'tests/model', build: 'release', beside: true, engine: 'pg' },
  { name: 'attack', run: 'files', folder: 'tests/attack', build: 'release', beside: true, engine: 'sqlite' },
  { name: 'lint', run: 'files', folder: 'tests/lint', build: 'release', beside: true, needs: ['lint'] },
];

/**
 * What the words of the command line choose: {phases, fileWords}. A word that is a phase's name chooses this phase alone, one
 * that is a part of names all of these phases, and any other chooses test files and unit programs by name.
 */
export function choose(words, phases = PHASES) {
  const named = (word) => {
    const exact = phases.filter((p) => p.name === word);
    return exact.length > 0 ? exact : phases.filter((p) => p.name.includes(word));
  };
  const chosen = new Set(words.flatMap(named));
  return {
    phases: phases.filter((p) => (chosen.size > 0 ? chosen.has(p) : !p.more)),
    fileWords: words.filter((word) => named(word).length === 0),
  };
}

/** The phases that run one after the other: those of the release build, and beside them those of the other builds. */
export function lanesOf(phases) {
  const isOther = (p) => p.beside || (Boolean(p.build) && p.build !== 'release');
  return [phases.filter((p) => !isOther(p)), phases.filter(isOther)].filter((lane) => lane.length > 0);
}

/** Names for what the phases need of the machine; ./dev knows the packages. */
export function needsOf(phases) {
  const needs = phases.flatMap((p) => [
    ...(p.needs ?? []),
    ...(p.build ? ['build'] : []),
    ...(p.build === 'asan' ? ['clang'] : []),
    ...(p.pg || p.engine === 'pg' ? ['postgresql'] : []),
    ...(p.engine ? ['tools'] : []),
  ]);
  return [...new Set(needs)].sort();
}

/** The unit programs that tests/unit/meson.build, given as text, leaves out of the build with ThreadSanitizer. */
export function withoutThreads(text) {
  const list = /^without_threads = \[([^\]]*)\]/m.exec(text)?.[1] ?? '';
  return [...list.matchAll(/'(\w+)'/g)].map((m) => m[1]);
}
