// tests/arrows/prose.mjs - the mechanical part of plain English, as rules over comments, messages and documents.
//
// What a program can check is little: phrases that crept in again and again, and what the documents claim about test names. The
// rest is for people who read.
import fs from 'node:fs';
import path from 'node:path';

/** What is not written, and what to write instead. */
export const RULES = [
  [/\bcan not\b/i, 'cannot'],
  [/\b(needs|wants) not\b|\bhas not (enough|any)\b/i, 'does not need, want, have'],
  [/\b(he|him|his|himself)\b/, 'they: callers, customers and staff are people of any kind'],
  [/\bwho(m)?ever\b/i, 'name the person: the caller, the customer, a person who …'],
  [/\banew\b/i, 'again'],
  [/\bbut for (the|one|this|those|what)\b/i, 'except'],
  [/\bof late\b/i, 'lately'],
  [/\b(hangs?|hung) on (it|this|that|the|a)\b/i, 'depends on, belongs to'],
  [/\bthe own\b/i, 'its own, the private …'],
  [/\b(so many|so much) (at once|as)\b/i, 'as many as, a number of'],
  [/\bas it stands\b/i, 'now, unchanged'],
  [/\bby the (thousand|hundred)s?\b/i, 'in thousands'],
  [/\bthe same,? whatever\b/i, 'whatever …, the same'],
  [
    /\b(is|are|was|were) to be (rolled|run|sent|read|made|given|shown|found|left|written|released)\b/i,
    'must be, will be',
  ],
  [/\b(any|no|some)body's business\b/i, 'is up to'],
  [/\binformations\b|\badvices\b|\bsoftwares\b/i, 'the singular'],
  [/[a-z][.;,] {2,}[A-Za-z]/, 'one space'],
  [/\b(the|a|an|is|of|to|and|in) \1\b/, 'the word once'],
  [/\b(TODO|FIXME|XXX)\b/, 'a change, or nothing'],
];

const CODE = /\.(c|h|def|mjs|ts|tsx|css)$/;
const TEXT = /\.(md|yaml|sql|py|txt|html)$|^web\/shop\/words\/en$|^dev$/;
const SKIPPED = /(^|\/)node_modules(\/|$)|^(\.git|build[^/]*|\.souk|docs\/screenshots)(\/|$)|package-lock\.json$/;
const ROOTS = ['api', 'bench', 'clients', 'docs', 'sql', 'src', 'tests', 'tools', 'web'];

/** The prose of a file with its line breaks: of programs the comments and the literals with spaces in them. */
export function prose(file, text) {
  if (!CODE.test(file)) return text.replace(/```[\s\S]*?```/g, (m) => m.replace(/[^\n]/g, ' '));
  const blank = (s) => s.replace(/[^\n]/g, ' ');
  let at = 0;
  let out = '';
  for (const m of text.matchAll(
    /\/\*[\s\S]*?\*\/|(?<!:)\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g,
  )) {
    out += blank(text.slice(at, m.index));
    out += m[0].startsWith('/') || / \w+ /.test(m[0]) ? m[0] : blank(m[0]);
    at = m.index + m[0].length;
  }
  return out + blank(text.slice(at));
}

/** Every place under `root` that a rule is against: ["src/x.c:3: "can not": cannot"]. */
export function offences(root, rules = RULES) {
  const wrong = [];
  for (const file of proseFiles(root)) {
    const lines = prose(file, fs.readFileSync(path.join(root, file), 'utf8')).split('\n');
    lines.forEach((line, i) => {
      for (const [rule, instead] of rules) {
        const hit = rule.exec(line);
        if (hit) wrong.push(`${file}:${i + 1}: "${hit[0]}": ${instead}`);
      }
    });
  }
  return wrong;
}

function proseFiles(root) {
  const found = fs.readdirSync(root).filter((f) => /\.md$|^dev$/.test(f));
  const walk = (dir) => {
    for (const entry of fs.readdirSync(path.join(root, dir), { withFileTypes: true })) {
      const name = path.posix.join(dir, entry.name);
      if (SKIPPED.test(name)) continue;
      if (entry.isDirectory()) walk(name);
      else if (CODE.test(name) || TEXT.test(name)) found.push(name);
    }
  };
  for (const dir of ROOTS) if (fs.existsSync(path.join(root, dir))) walk(dir);
  return found.filter((f) => f !== 'tests/arrows/prose.mjs' && f !== 'tests/arrows/prose.test.mjs').sort();
}

/** Tests that a document names and that are not there. A name is in *italics*; "…" stands for the part that is left out. */
export function lostTests(document, tests) {
  const lost = [];
  for (const [, name] of document.matchAll(/(?<!\*)\*([^*|\n]+)\*(?!\*)/g)) {
    const parts = name
      .split('…')
      .map((p) => p.trim())
      .filter(Boolean);
    if (!parts.every((p) => tests.includes(p))) lost.push(name);
  }
  return lost;
}

/** The text of everything that is a test, apostrophes as people write them. */
export function testTexts(root) {
  const all = [];
  const walk = (dir) => {
    for (const entry of fs.readdirSync(path.join(root, dir), { withFileTypes: true })) {
      const name = path.posix.join(dir, entry.name);
      if (entry.isDirectory()) walk(name);
      else if (/\.(mjs|c)$/.test(name)) all.push(fs.readFileSync(path.join(root, name), 'utf8'));
    }
  };
  walk('tests');
  return all.join('\n').replaceAll("\\'", "'");
}
