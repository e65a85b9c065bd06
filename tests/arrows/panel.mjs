// tests/arrows/panel.mjs - the rules of the admin panel's sources, read as text: who may import whom, how long a line may be,
// what a page is called, and that nobody calculates with money.
//
//     ui <- parts <- pages <- pages.ts, main.tsx
import fs from 'node:fs';
import path from 'node:path';

const COLUMNS_MAX = 120;
/** Who may import a page: the list of pages, and the start (pages for those who are not logged in). */
const PAGE_OWNERS = ['pages.ts', 'main.tsx'];
/** Money is added here, as whole minor units, and JSON is read here. */
const MONEY_HOME = 'amount.ts';

/** All files below `dir` whose name matches, as paths relative to it. */
export function filesBelow(dir, pattern) {
  const all = fs.readdirSync(dir, { recursive: true, withFileTypes: true });
  return all
    .filter((e) => e.isFile() && pattern.test(e.name))
    .map((e) => path.relative(dir, path.join(e.parentPath ?? e.path, e.name)))
    .filter((f) => !/(^|\/)(generated|node_modules)\//.test(f))
    .sort();
}

const sourcesOf = (src) => filesBelow(src, /\.tsx?$/);
const linesOf = (dir, file) => fs.readFileSync(path.join(dir, file), 'utf8').split('\n');

/** [line, path of the file below `src`] of every import of a file of ours. */
function importsOf(src, file) {
  const text = fs.readFileSync(path.join(src, file), 'utf8');
  const known = new Set(sourcesOf(src));
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']*)'/g)].flatMap((match) => {
    const target = path.posix.join(path.posix.dirname(file), match[1]);
    const found = [target, `${target}.ts`, `${target}.tsx`].find((f) => known.has(f));
    return found ? [[text.slice(0, match.index).split('\n').length, found]] : [];
  });
}

/** `pages/admin_orders/list.tsx` and `pages/admin_orders.tsx` are about admin_orders; other files about nothing. */
export function nounOf(file) {
  return /^pages\/([a-z0-9_]+)(?:\.tsx?$|\/)/.exec(file)?.[1] ?? null;
}

/** Imports that turn an arrow round, tie a page to another, or reach into the folder of another noun. */
export function importViolations(src) {
  const pages = new Set(PAGE_OWNERS.flatMap((owner) => importsOf(src, owner)).map(([, target]) => target));
  const wrong = [];
  for (const file of sourcesOf(src).filter((f) => !PAGE_OWNERS.includes(f))) {
    for (const [line, target] of importsOf(src, file)) {
      const at = `web/src/${file}:${line}`;
      if (nounOf(target) && !nounOf(file)) wrong.push(`${at}: only ${PAGE_OWNERS.join(' and ')} import pages`);
      else if (nounOf(target) && nounOf(target) !== nounOf(file)) wrong.push(`${at}: reaches into ${nounOf(target)}`);
      else if (nounOf(target) && pages.has(target)) wrong.push(`${at}: a page imports the page ${target}`);
      else if (/^(ui|parts)\//.test(file) && target === 'pages.ts')
        wrong.push(`${at}: ${file} imports the list of pages`);
      else if (file.startsWith('ui/') && target.startsWith('parts/')) wrong.push(`${at}: ui imports parts`);
    }
  }
  return wrong;
}

/** Pages whose noun no surface of the server carries: `admin_orders` is admin_orders.c or admin/orders.c. */
export function strayNouns(src, serverSrc) {
  const surfaces = filesBelow(serverSrc, /\.c$/).map((f) => f.replace(/\.c$/, '').replaceAll('/', '_'));
  const nouns = new Set(sourcesOf(src).map(nounOf).filter(Boolean));
  return [...nouns].filter((noun) => !surfaces.some((s) => s === noun || s.endsWith(`_${noun}`)));
}

/** Settings that the API takes, by its table of fields, and no page of the panel sends. */
export function missingSettings(src, rows) {
  const names = [...rows.matchAll(/\{"(\w+)", FIELD_/g)].map(([, name]) => name);
  const texts = sourcesOf(src).map((file) => fs.readFileSync(path.join(src, file), 'utf8'));
  return names.filter((name) => !texts.some((text) => new RegExp(`name="${name}"`).test(text)));
}

export function longLines(dir) {
  return filesBelow(dir, /\.(tsx?|mjs|css|html)$/).flatMap((file) =>
    linesOf(dir, file).flatMap((line, i) =>
      [...line].length > COLUMNS_MAX ? [`${file}:${i + 1}: ${[...line].length} columns`] : [],
    ),
  );
}

/** The members that the OpenAPI document calls a number: amounts. (`value` is also what every signal and field has.) */
export function moneyWords(api) {
  const words = filesBelow(api, /\.yaml$/).flatMap((file) =>
    linesOf(api, file).flatMap((line) => {
      const isMoney = /schemas\/Money'|type: \[?number/.test(line);
      const word = /^\s*(\w+): \{/.exec(line)?.[1];
      return isMoney && word && word !== 'value' ? [word] : [];
    }),
  );
  return [...new Set(words)];
}

/** Operators on amounts, amounts made doubles, and JSON that is read in the usual way, which makes them doubles. */
export function moneyArithmetic(src, words) {
  const amount = String.raw`(?:\w+[?!]?\.)*\b(?:${words.join('|')})\b`;
  const patterns = [
    new RegExp(String.raw`${amount}\s*(?:[-+*/%]|[<>])`),
    new RegExp(String.raw`(?:[-+*%<]|\s/|(?<!=)>)=?\s*${amount}(?!=)`),
    new RegExp(String.raw`\b(?:Number|parseFloat|parseInt|Math\.\w+)\([^)]*${amount}`),
    new RegExp(String.raw`${amount}\.toFixed\(`),
    /\.json\(\)/,
    /= JSON\.parse\(/,
  ];
  return sourcesOf(src)
    .filter((f) => f !== MONEY_HOME)
    .flatMap((file) =>
      linesOf(src, file).flatMap((line, i) =>
        !/^\s*(\/\/|\/?\*|import\b)/.test(line) && patterns.some((p) => p.test(line))
          ? [`web/src/${file}:${i + 1}: calculates with money: ${line.trim()}`]
          : [],
      ),
    );
}
