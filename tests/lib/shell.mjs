// tests/lib/shell.mjs - a database's shell that stays open between calls: to start sqlite3, or psql and a server process for it, takes
// longer than most of what tests ask.
//
// Calls wait for their answer, as execFileSync does. Between the two processes are named pipes, the only ones that Node can read
// while it waits. A shell that ends (an error, a database that is dropped) is started again by the next call.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { memoryFolder } from './memory.mjs';

/** A text that is longer may not fit into a pipe whose other end waits for us. */
export const SHELL_BYTES_MAX = 32768;

const open = new Map();

class Shell {
  constructor(program, args) {
    const dir = fs.mkdtempSync(path.join(memoryFolder(), 'souk-shell-'));
    const [input, output, errors] = ['in', 'out', 'err'].map((name) => path.join(dir, name));
    execFileSync('mkfifo', ['-m', '600', input, output]);
    // Opened for both, a pipe does not wait for its other end; ours of the output must not keep it open.
    this.input = fs.openSync(input, 'r+');
    const theirs = fs.openSync(output, 'r+');
    this.output = fs.openSync(output, 'r');
    this.errors = fs.openSync(errors, 'w+');
    const theirInput = fs.openSync(input, 'r');
    this.child = spawn(program, args, { stdio: [theirInput, theirs, this.errors] });
    this.child.on('error', () => {}); // then the output ends at once
    this.child.unref();
    fs.closeSync(theirInput);
    fs.closeSync(theirs);
    fs.rmSync(dir, { recursive: true });
  }

  /** What the shell writes until it has done all of `text`, and `reset` behind it; null when it ended before. */
  ask(text, reset, say, mark) {
    const bytes = Buffer.from(`${text}\n${reset}\n${say} ${mark}\n`);
    const end = Buffer.from(`${mark}\n`);
    const chunks = [];
    for (let at = 0; at < bytes.length;) at += fs.writeSync(this.input, bytes, at, Math.min(4096, bytes.length - at));
    const chunk = Buffer.alloc(1 << 16);
    for (;;) {
      const n = fs.readSync(this.output, chunk);
      if (n === 0) return null;
      chunks.push(Buffer.from(chunk.subarray(0, n)));
      const tail = Buffer.concat(chunks.slice(-2));
      if (tail.subarray(-end.length).equals(end))
        return Buffer.concat(chunks).subarray(0, -end.length).toString('utf8');
    }
  }

  get complaints() {
    return fs.readFileSync(`/proc/self/fd/${this.errors}`, 'utf8');
  }

  close() {
    for (const fd of [this.input, this.output, this.errors]) fs.closeSync(fd);
    this.child.kill();
  }
}

/**
 * The output of `program` started with `args` for this text. `reset` are statements that write nothing and leave nothing behind
 * for the next call; `say` is the shell's command to write a word. Throws with what the program said on stderr when it ended.
 */
export function ask(program, args, text, reset, say) {
  const key = [program, ...args].join('\0');
  let shell = open.get(key);
  if (!shell) open.set(key, (shell = new Shell(program, args)));
  const output = shell.ask(text, reset, say, randomBytes(12).toString('hex'));
  if (output !== null) return output;
  const said = shell.complaints;
  open.delete(key);
  shell.close();
  throw Object.assign(new Error(`${path.basename(program)}: ${said}`), { stderr: said });
}

/** Ends the shells that have this among their arguments. */
export function endShells(argument) {
  for (const [key, shell] of open) {
    if (!key.split('\0').includes(argument)) continue;
    open.delete(key);
    shell.close();
  }
}
