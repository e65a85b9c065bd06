// bench/report.mjs - measures souk beside nginx, bare storage programs and a Fastify service, and writes docs/performance.md.
//
//     ./dev bench                     all of it, up to 1 M orders: about 9 minutes on a quiet machine of two cores
//     ./dev bench --full              up to 10 M orders and licences: about 25 minutes, 20 GB of disk
//     ./dev bench --only=verify,…     some sections; nothing is written, the text goes to stdout
//     ./dev bench --brief             everything with a tenth of the requests: does it run at all
//
// Each section is measured for itself; one that fails is named in the report with the reason, and the others go on. Figures that
// are compared come from one run, by turns: whatever else the machine does meets all of them.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { sections } from './lib/sections.mjs';
import { describeMachine } from './lib/machine.mjs';
import { BUILD, ROOT, installPeers, nginxProgram, scratch } from './lib/subjects.mjs';
import { startCluster, stopCluster } from '../tests/lib/pg.mjs';

const args = process.argv.slice(2);
const unknown = args.find((a) => !/^--(full|brief|only=[\w,]+)$/.test(a));
if (unknown) {
  const usage = fs.readFileSync(new URL(import.meta.url), 'utf8').match(/^\/\/ {5}\.\/dev bench.*$/gm);
  console.error(usage.map((line) => line.slice(3)).join('\n'));
  console.error(`sections: ${sections.map(({ name }) => name).join(', ')}`);
  process.exit(unknown === '--help' ? 0 : 2);
}
const only = args
  .find((a) => a.startsWith('--only='))
  ?.slice('--only='.length)
  .split(',');
const missing = only?.find((word) => !sections.some(({ name }) => name === word));
if (missing) throw new Error(`there is no section ${missing}`);
const is = (word) => args.includes(`--${word}`);
const REPORT = path.join(ROOT, 'docs/performance.md');
const PLOTS = path.join(ROOT, 'docs/performance');
const BEGIN = '<!-- made by ./dev bench: begin -->';
const END = '<!-- made by ./dev bench: end -->';

function table(head, rows) {
  return [head, head.map((_, i) => (i ? '--:' : '---')), ...rows].map((r) => `| ${r.join(' | ')} |`).join('\n');
}

async function main() {
  const dir = scratch('report');
  const chosen = sections.filter(({ name }) => !only || only.includes(name));
  const peers = chosen.some(({ hasPeers }) => hasPeers) ? installPeers() : null;
  const machine = describeMachine({ root: ROOT, build: BUILD, dir, nginx: nginxProgram(), peers });
  const started = Date.now();
  const cluster = startCluster({ fsync: true, options: ['-c shared_buffers=1GB', '-c max_wal_size=4GB'] });
  const context = { cluster, dir, peers, isFull: is('full'), scale: is('brief') ? 0.1 : 1, table, plots: new Map() };
  const parts = [];
  try {
    for (const { title, measure } of chosen) {
      const from = Date.now();
      console.error(`== ${title}`);
      let text;
      try {
        text = await measure(context);
      } catch (e) {
        console.error(e);
        text = `Not measured: ${e.message.split('\n')[0]}.`;
        process.exitCode = 1;
      }
      parts.push(`### ${title}\n\n${text}\n`);
      console.error(`   ${((Date.now() - from) / 1000).toFixed(0)} s`);
    }
  } finally {
    stopCluster(cluster.dir);
    fs.rmSync(dir, { recursive: true, force: true });
  }
  const minutes = Math.round((Date.now() - started) / 60_000);
  const head = `Made by \`./dev bench${args.length ? ` ${args.join(' ')}` : ''}\` on ${new Date().toISOString().slice(0, 10)}, in ${minutes} minutes.
Everything ran on one machine: the load, the servers and the databases share its cores. Processor time for one request is the
figure to compare; how many requests fit into a second depends on what else the machine does.

${table(['', ''], machine)}
`;
  const text = [BEGIN, `## Measured side by side\n\n${head}`, ...parts, END].join('\n');
  if (only) {
    console.log(text);
    return;
  }
  fs.mkdirSync(PLOTS, { recursive: true });
  for (const [name, svg] of context.plots) fs.writeFileSync(path.join(PLOTS, `${name}.svg`), svg);
  const old = fs.readFileSync(REPORT, 'utf8');
  const [before, rest] = old.split(BEGIN);
  const after = rest.split(END)[1];
  fs.writeFileSync(REPORT, `${before}${text}${after}`);
  const oxfmt = path.join(ROOT, 'node_modules/.bin/oxfmt');
  if (fs.existsSync(oxfmt))
    execFileSync(oxfmt, ['--write', REPORT], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  console.error(`written: ${REPORT}`);
}

await main();
