// tests/api/lib/clients.mjs - the programs of clients/ that this machine can build and run, built once per source.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { BUILD } from '../../lib/build.mjs';

const SOURCES = fileURLToPath(new URL('../../../clients', import.meta.url));
const has = (tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;
const runs = (program, args) => spawnSync(program, args).status === 0;
/** Whether a tool is there in this version or a newer one. */
function isAtLeast(tool, major, minor = 0) {
  const [, a, b = 0] = /(\d+)\.(\d+)/.exec(spawnSync(tool, ['--version'], { encoding: 'utf8' }).stdout ?? '') ?? [];
  return Number(a) > major || (Number(a) === major && Number(b) >= minor);
}
const LIBRARIES = ['-lcurl', '-lsodium'];

/** A Python that has what license.py needs. */
function python() {
  const needs = 'try:\n import cryptography\nexcept ImportError:\n import nacl';
  return ['python3', '/usr/bin/python3'].find((program) => runs(program, ['-c', needs]));
}

/**
 * Each gives how to build into a folder (or nothing) and how to run from there; nothing where the machine lacks the language. Warnings of
 * compilers, which may be newer than those that the clients were written with, are no failures.
 */
const LANGUAGES = {
  'license.c': () => ({
    build: (source, dir) => ['gcc', '-O1', '-o', `${dir}/license`, source, ...LIBRARIES],
    run: (source, dir) => [`${dir}/license`],
  }),
  'license.cc': () => {
    const compiler = ['g++', 'clang++'].find(has);
    return (
      compiler && {
        build: (source, dir) => [compiler, '-std=c++17', '-o', `${dir}/license`, source, ...LIBRARIES],
        run: (source, dir) => [`${dir}/license`],
      }
    );
  },
  'License.cs': () =>
    has('mcs') &&
    has('mono') && {
      build: (source, dir) => ['mcs', '-r:System.Net.Http', `-out:${dir}/license.exe`, source],
      run: (source, dir) => ['mono', `${dir}/license.exe`],
    },
  'license.go': () =>
    has('go') && {
      build: (source, dir) => ['go', 'build', '-o', `${dir}/license`, source],
      run: (source, dir) => [`${dir}/license`],
    },
  'License.java': () =>
    isAtLeast('javac', 17) && {
      build: (source, dir) => ['javac', '-d', dir, source],
      run: (source, dir) => ['java', '-XX:TieredStopAtLevel=1', '-Xshare:auto', '-cp', dir, 'License'],
    },
  'license.mjs': () => ({ run: (source) => [process.execPath, source] }),
  'license.php': () => has('php') && { run: (source) => ['php', source] },
  'license.py': () => {
    const program = python();
    return program && { run: (source) => [program, source] };
  },
  'license.rs': () =>
    isAtLeast('rustc', 1, 65) && {
      build: (source, dir) => ['rustc', '-l', 'curl', '-l', 'sodium', '-o', `${dir}/license`, source],
      run: (source, dir) => [`${dir}/license`],
    },
};

export const CLIENTS = Object.keys(LANGUAGES);

/** Builds a client unless it was built before; gives its command line, or null where the machine lacks the language. */
export function prepareClient(name) {
  const language = LANGUAGES[name]();
  if (!language) return null;
  const source = path.join(SOURCES, name);
  const sum = createHash('sha256').update(fs.readFileSync(source)).digest('hex').slice(0, 16);
  const dir = path.join(BUILD, 'clients', `${name}-${sum}`);
  if (language.build && !fs.existsSync(dir)) {
    const fresh = fs.mkdtempSync(`${path.join(BUILD, 'clients')}-`);
    const [program, ...args] = language.build(source, fresh);
    // Go wants a home for its cache.
    const made = spawnSync(program, args, {
      encoding: 'utf8',
      env: { ...process.env, GOCACHE: path.join(BUILD, 'go') },
    });
    if (made.status !== 0)
      throw new Error(`${program} ${args.join(' ')}\n${made.error ?? ''}${made.stdout}${made.stderr}`);
    fs.mkdirSync(path.dirname(dir), { recursive: true });
    fs.renameSync(fresh, dir);
  }
  return language.run(source, dir);
}

/** Runs checks, seven arguments each; gives the lines that it printed, after its exit code was compared with the last. */
export function runClient([program, ...args], checks) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args, ...checks.flat()], { stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.on('data', (bytes) => (out += bytes));
    child.stderr.on('data', (bytes) => (err += bytes));
    child.on('error', reject);
    child.on('close', (code) => {
      const lines = out.trimEnd().split('\n');
      const expected = { valid: 0, refused: 1, unknown: 2 }[lines.at(-1).split(' ')[0]];
      if (code === expected) resolve(lines);
      else reject(new Error(`exit code ${code}\n${out}${err}`));
    });
  });
}
