// tests/lib/sqlite.mjs - statements through SQLite's own shell, whose process is kept: most of what tests ask takes less time than
// to start it. The file is open only for as long as a call takes, as if each call had a process of its own.
import { execFileSync } from 'node:child_process';
import { SHELL_BYTES_MAX, ask } from './shell.mjs';

const OPTIONS = ['-batch', '-bail'];

/** What sqlite3 with these options writes for a text of statements about `file`. isReadOnly: it may not write. */
export function sqlite(options, file, text, isReadOnly = false) {
  const all = [...OPTIONS, ...options];
  const opened = `.open ${isReadOnly ? '--readonly ' : ''}${JSON.stringify(file)}\n${text}`;
  if (Buffer.byteLength(opened) <= SHELL_BYTES_MAX)
    return ask('sqlite3', [...all, ':memory:'], opened, '.open :memory:', '.print');
  return execFileSync('sqlite3', [...all, ...(isReadOnly ? ['-readonly'] : []), file], {
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    input: text,
    maxBuffer: 1 << 30,
  });
}
