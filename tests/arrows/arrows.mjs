// tests/arrows/arrows.mjs - the architecture as rules over the sources: who may include whom, and SQL is fixed text.
//
//     base <- json, http, db, page <- domain <- backup <- view <- outbound <- gateway <- outbox <- serve <- api <- cli <- main
import fs from 'node:fs';
import path from 'node:path';

/** Layer -> the layers whose headers it may include, itself among them. */
export const LAYERS = {
  base: ['base'],
  json: ['base', 'json'],
  http: ['base', 'http'],
  db: ['base', 'db'],
  page: ['base', 'page'],
  domain: ['base', 'db', 'page', 'domain'], // page: amounts, dates and words of the mails that a change sends
  backup: ['base', 'db', 'domain', 'backup'],
  view: ['base', 'json', 'domain', 'view'],
  outbound: ['base', 'http', 'outbound'],
  gateway: ['base', 'json', 'http', 'domain', 'outbound', 'gateway'],
  outbox: ['base', 'db', 'domain', 'view', 'page', 'outbound', 'gateway', 'outbox'],
  serve: ['base', 'json', 'http', 'db', 'domain', 'backup', 'view', 'page', 'outbound', 'gateway', 'outbox', 'serve'],
  api: ['base', 'json', 'http', 'db', 'domain', 'view', 'page', 'outbound', 'gateway', 'outbox', 'serve', 'api'],
  cli: [
    'base',
    'json',
    'http',
    'db',
    'domain',
    'backup',
    'view',
    'page',
    'outbound',
    'gateway',
    'outbox',
    'serve',
    'api',
    'cli',
  ],
  main: ['base', 'cli'],
};

/** Library headers that only some files may see. */
const GUARDED = [
  { header: /^sqlite3\.h$/, files: /^db\/sqlite[a-z_]*\.[ch]$/ },
  { header: /^(libpq-fe|postgres_ext|libpq\/.*|pg_config.*)\.h$/, files: /^db\/postgres[a-z_]*\.[ch]$/ },
  { header: /^uv\.h$/, files: /^(http|cli)\// },
  { header: /^curl\//, files: /^outbound\// },
  { header: /^cmark\.h$/, files: /^page\/(markdown|mail_tree|mail_plain)[a-z_]*\.[ch]$/ },
  { header: /^qrencode\.h$/, files: /^page\/qr\.c$/ },
];

/** The surfaces stand in rooms by who calls them. What two rooms share stands in api/ itself or below it. */
const room = (file) => /^api\/([^/]+)\//.exec(file)?.[1];

export function sourceFiles(src) {
  const found = [];
  const walk = (dir) => {
    for (const entry of fs.readdirSync(path.join(src, dir), { withFileTypes: true })) {
      const name = path.posix.join(dir, entry.name);
      if (entry.isDirectory()) walk(name);
      else if (/\.[ch]$/.test(entry.name)) found.push(name);
    }
  };
  walk('');
  return found.sort();
}

function layerOf(file) {
  return file.includes('/') ? file.split('/')[0] : 'main';
}

/** Comments and literals blanked out, line breaks kept. `keepStrings` leaves literals (for #include lines). */
export function bare(text, keepStrings = false) {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g, (match) =>
    keepStrings && match[0] === '"' ? match : match.replace(/[^\n]/g, ' '),
  );
}

function includesOf(text) {
  const found = [];
  for (const [number, line] of bare(text, true).split('\n').entries()) {
    const quoted = /^\s*#\s*include\s*"([^"]+)"/.exec(line);
    const angled = /^\s*#\s*include\s*<([^>]+)>/.exec(line);
    if (quoted) found.push({ line: number + 1, name: quoted[1], ours: true });
    if (angled) found.push({ line: number + 1, name: angled[1], ours: false });
  }
  return found;
}

/** Every wrong include of one layer under `src`: ["src/api/x.c:3: …"]. */
export function layerViolations(src, layer) {
  const wrong = [];
  for (const file of sourceFiles(src).filter((f) => layerOf(f) === layer)) {
    for (const inc of includesOf(fs.readFileSync(path.join(src, file), 'utf8'))) {
      const at = `src/${file}:${inc.line}`;
      if (!inc.ours) continue;
      const target = inc.name.split('/')[0];
      if (!inc.name.includes('/') || inc.name.includes('..')) {
        wrong.push(`${at}: "${inc.name}" is not written as "layer/name.h"`);
      } else if (!(target in LAYERS)) {
        wrong.push(`${at}: "${inc.name}" is in no layer`);
      } else if (!LAYERS[layer].includes(target)) {
        wrong.push(`${at}: ${layer} must not include ${target} ("${inc.name}")`);
      } else if (room(file) && room(inc.name) && room(file) !== room(inc.name)) {
        wrong.push(`${at}: api/${room(file)} must not include api/${room(inc.name)} ("${inc.name}")`);
      }
    }
  }
  return wrong;
}

/** Library headers seen where they must not be. */
export function guardViolations(src) {
  const wrong = [];
  for (const file of sourceFiles(src)) {
    for (const inc of includesOf(fs.readFileSync(path.join(src, file), 'utf8'))) {
      for (const guard of GUARDED) {
        if (guard.header.test(inc.name) && !guard.files.test(file)) {
          wrong.push(`src/${file}:${inc.line}: <${inc.name}> belongs behind its own layer`);
        }
      }
    }
  }
  return wrong;
}

/** Names that two files bear: a search for one would find the other. A .c and its .h are one. */
export function sharedNames(src) {
  const places = new Map();
  for (const file of sourceFiles(src)) {
    const name = path.basename(file).replace(/\.[ch]$/, '');
    places.set(name, new Set([...(places.get(name) ?? []), file.replace(/\.[ch]$/, '')]));
  }
  return [...places].filter(([, files]) => files.size > 1).map(([name, files]) => `${name}: ${[...files].join(', ')}`);
}

/** Types that are defined twice under one name. */
export function sharedTypes(src) {
  const places = new Map();
  for (const file of sourceFiles(src)) {
    for (const [, type] of bare(fs.readFileSync(path.join(src, file), 'utf8')).matchAll(
      /^((?:struct|enum|union) \w+) \{/gm,
    )) {
      places.set(type, [...(places.get(type) ?? []), file]);
    }
  }
  return [...places].filter(([, files]) => files.length > 1).map(([type, files]) => `${type}: ${files.join(', ')}`);
}

/**
 * One noun, one search: the file of a surface (a table of routes in one of api's rooms), its part of the OpenAPI document and its
 * tests bear one name. `root` is the project's folder. Surfaces with nothing but hidden rows are in no document.
 */
export function strayNouns(root) {
  const src = path.join(root, 'src');
  const surfaces = new Map();
  for (const file of sourceFiles(src).filter((f) => room(f) && f.endsWith('.c'))) {
    const text = bare(fs.readFileSync(path.join(src, file), 'utf8'), true);
    const table = /^const struct route (\w+)_routes\[\]/m.exec(text);
    if (!table) continue;
    const name = path.basename(file, '.c');
    surfaces.set(
      name,
      [...text.matchAll(/\{"(?:GET|POST|PUT|PATCH|DELETE)",[\s\S]*?\},\n/g)].some(
        ([row]) => !/HIDDEN|SHOP_(PAGE|FORM)/.test(row),
      ),
    );
    if (table[1] !== name) surfaces.set(`${table[1]} (the table in ${file})`, true);
  }
  const names = (folder, end) =>
    fs
      .readdirSync(path.join(root, folder))
      .filter((f) => f.endsWith(end))
      .map((f) => f.slice(0, -end.length));
  const parts = names('api/paths', '.yaml');
  const tests = names('tests/api', '.test.mjs').concat(names('tests/web', '.test.mjs'));
  const wrong = parts
    .filter((part) => !surfaces.has(part))
    .map((part) => `api/paths/${part}.yaml: no surface has this name`);
  for (const [name, isPublic] of surfaces) {
    if (isPublic && !parts.includes(name)) wrong.push(`${name}: no part of the OpenAPI document has this name`);
    if (isPublic && !tests.some((t) => t === name || t.startsWith(`${name}_`)))
      wrong.push(`${name}: no test in tests/api has this name`);
  }
  return wrong;
}

/** Source folders that no layer names. */
export function strayFolders(src) {
  return [...new Set(sourceFiles(src).map(layerOf))].filter((layer) => !(layer in LAYERS));
}

const SQL_WORDS = /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|FROM|WHERE|ORDER BY|VALUES)\b/;
const BUILDERS =
  'str_printf|str_cat|str_join|buf_printf|buf_append|buf_lit|buf_cstr|buf_str|snprintf|asprintf|memcpy|strdup';

/**
 * SQL is a fixed text: no piece of it goes through a function that builds text, and what db_prepare is given is a name, an
 * element of a table, or a choice between such (db_sql, DB_PAGE and FILING_PAGE choose by engine). Buffers and results of other calls are
 * refused.
 */
export function builtSql(src) {
  const wrong = [];
  for (const file of sourceFiles(src).filter((f) => f.endsWith('.c') && !f.startsWith('db/'))) {
    const text = bare(fs.readFileSync(path.join(src, file), 'utf8'), true);
    const buffers = buffersOf(text);
    const at = (index) => `src/${file}:${text.slice(0, index).split('\n').length}`;
    for (const match of text.matchAll(/\bdb_prepare\(\s*[^,()]+,\s*/g)) {
      const argument = upToClosing(text, match.index + match[0].length).trim();
      if (!isFixedText(buffers, argument))
        wrong.push(`${at(match.index)}: db_prepare(…, ${argument}) is not a fixed text`);
    }
    for (const match of text.matchAll(new RegExp(`\\b(${BUILDERS})\\(`, 'g'))) {
      const literals = upToClosing(text, match.index + match[0].length).match(/"(?:\\.|[^"\\])*"/g) ?? [];
      if (literals.some((l) => SQL_WORDS.test(l))) wrong.push(`${at(match.index)}: SQL goes through ${match[1]}()`);
    }
  }
  return wrong;
}

/** From `start` to the bracket that closes the call. */
function upToClosing(text, start) {
  let depth = 1;
  let end = start;
  while (end < text.length && depth > 0) {
    if (text[end] === '(') depth++;
    if (text[end] === ')') depth--;
    end++;
  }
  return text.slice(start, end - 1);
}

function isFixedText(buffers, argument) {
  const calls = [...argument.matchAll(/(\w+)\s*\(/g)]
    .map((m) => m[1])
    .filter((name) => !['db_sql', 'DB_PAGE', 'DB_PAGE_2', 'FILING_PAGE', 'id_is'].includes(name));
  if (calls.length > 0 || /\.(ptr|data|text)\b/.test(argument)) return false;
  return (argument.match(/\b[a-z_]\w*\b/gi) ?? []).every((name) => !buffers.has(name));
}

/** The char arrays of a file that can be written to. */
function buffersOf(text) {
  return new Set([...text.matchAll(/(const\s+)?\bchar\s+(\w+)\s*\[/g)].filter((m) => !m[1]).map((m) => m[2]));
}
