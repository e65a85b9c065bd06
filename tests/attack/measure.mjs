// tests/attack/measure.mjs - every attack in full, as a table in Markdown: node tests/attack/measure.mjs [NAME...]
//
// SOUK_BUILD names the build to be attacked: so older ones can be measured with the same programs.
import fs from 'node:fs';
import { attack } from './lib.mjs';

const files = fs
  .readdirSync(import.meta.dirname ?? new URL('.', import.meta.url).pathname)
  .filter((f) => /^[a-z]+\.mjs$/.test(f) && !['lib.mjs', 'measure.mjs'].includes(f))
  .sort();
const wanted = process.argv.slice(2);
const round = (n) => (n === null ? '–' : n < 10 ? n.toFixed(1) : String(Math.round(n)));

console.log(
  '| attack | server grew by | good requests answered | median | slowest | more |\n|---|---|---|---|---|---|',
);
for (const file of files) {
  const { default: a } = await import(`./${file}`);
  if (wanted.length && !wanted.includes(a.name)) continue;
  try {
    const r = await attack(a, 'full');
    const more = Object.entries(r.figures)
      .map(([k, v]) => `${k}: ${round(v)}`)
      .join(', ');
    console.log(
      `| ${a.name} | ${round(r.grew / 2 ** 20)} MiB | ${r.answered} of ${r.asked} | ${round(r.median_ms)} ms | ${round(r.slowest_ms)} ms | ${more} |`,
    );
  } catch (e) {
    console.log(`| ${a.name} | failed: ${String(e.message).split('\n')[0]} | | | | |`);
  }
}
