// tools/reference.mjs - docs/configuration.md and docs/cli.md, from the tables of src/cli. `./dev docs` writes them; a test compares.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The rows {…} of a table in C: each a list of its parts, texts without quotes. */
export function rowsOf(source, table) {
  const body = new RegExp(`${table}\\[\\] = \\{\\n([\\s\\S]*?)\\n\\};`).exec(source)?.[1];
  if (!body) throw new Error(`there is no table ${table}`);
  return [...body.matchAll(/\{("(?:[^"\\]|\\.|"\s*")*"(?:[^{}"]|"(?:[^"\\]|\\.)*")*)\}/g)].map(([, row]) => {
    const parts = [...row.matchAll(/((?:"(?:[^"\\]|\\.)*"\s*)+)|([^,"\s][^,"]*)/g)];
    return parts.map(([, text, word]) =>
      text
        ? [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, t]) => t.replace(/\\(.)/g, '$1')).join('')
        : word.trim(),
    );
  });
}

function optionsOf(source) {
  return rowsOf(source, 'options').map(([name, kind, , fallback, help, ...marks]) => ({
    name,
    kind,
    fallback,
    help,
    isSecret: marks.some((m) => /^\.is_secret = true$/.test(m)),
    ofCommand: marks.some((m) => /^\.of_command = true$/.test(m)),
  }));
}

const cell = (text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
const table = (head, rows) => [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
const HEAD = 'Made from the tables in `src/cli` by `./dev docs`.';

function configuration(options) {
  const rows = options
    .filter((o) => !o.ofCommand)
    .map(({ name, kind, fallback, help, isSecret }) => [
      isSecret ? 'environment only' : `\`--${name}${kind === 'FLAG' ? '' : kind === 'NUMBER' ? ' N' : ' TEXT'}\``,
      `\`SOUK_${name.toUpperCase().replaceAll('-', '_')}\``,
      fallback ? `\`${fallback}\`` : '',
      cell(help),
    ]);
  return `# Configuration

${HEAD} A flag wins over the environment, the environment over the config file (\`--config FILE\`, lines of \`name = value\`), the
file over the default. \`souk config show\` lists all of them with where they come from; secrets are never shown, and are taken from the
environment only. What staff change in the panel (name, languages, limits, rules) are settings in the database, not options.

${table(['flag', 'environment', 'default', 'meaning'], rows)}
`;
}

function cli(commands, options) {
  const own = options
    .filter((o) => o.ofCommand)
    .map(({ name, kind, fallback, help }) => [
      `\`--${name}${kind === 'FLAG' ? '' : ' TEXT'}\``,
      fallback ? `\`${fallback}\`` : '',
      cell(help),
    ]);
  return `# Commands

${HEAD} \`souk COMMAND [OPTION …]\`; data goes to stdout, messages to stderr; the exit code is 0, 1 for a failure, 2 for wrong usage. Every command
takes the options of the [configuration](configuration.md) too, above all \`--db\`. \`init\` and \`demo\` make a database; every other command refuses
one that is missing, empty or not a store. Commands that go through the server work beside it, and without it when it does not run.

${table(
  ['command', 'does', 'through the server'],
  commands.map(([name, help, ...marks]) => [
    `\`souk ${name}\``,
    cell(help),
    marks.includes('.through_server = true') ? 'yes' : '',
  ]),
)}

## Options of commands

${table(['option', 'default', 'meaning'], own)}
`;
}

/** Map from file to its text as it should be. */
export function references() {
  const read = (file) => fs.readFileSync(path.join(root, file), 'utf8');
  const options = optionsOf(read('src/cli/config.c'));
  return new Map([
    ['docs/configuration.md', configuration(options)],
    ['docs/cli.md', cli(rowsOf(read('src/cli/commands.c'), 'commands'), options)],
  ]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of references()) fs.writeFileSync(path.join(root, file), text);
}
