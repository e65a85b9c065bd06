// The Debian package, made from the release build: what is in it, that it works where it is unpacked, and its life in a bare
// Debian, where this machine can make one. Compiling it twice takes minutes: ./dev package --test.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import zlib from 'node:zlib';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
let dir, deb, tree, control;

function run(program, args, options = {}) {
  const out = spawnSync(program, args, { cwd: dir, encoding: 'utf8', ...options });
  assert.equal(out.status, 0, `${program} ${args.join(' ')}: ${out.error ?? ''}${out.stdout}${out.stderr}`);
  return out.stdout;
}
const souk = (...args) => run(path.join(tree, 'usr/bin/souk'), args);
const read = (name) => fs.readFileSync(path.join(tree, name), 'utf8');

before(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'souk-package-test-'));
  run(path.join(ROOT, 'tools/package'), ['--built', path.join(ROOT, 'build'), '--to', dir]);
  [deb] = fs.readdirSync(dir).filter((name) => name.endsWith('.deb'));
  tree = path.join(dir, 'tree');
  control = path.join(dir, 'control');
  run('dpkg-deb', ['--extract', deb, tree]);
  run('dpkg-deb', ['--control', deb, control]);
});
after(() => fs.rmSync(dir, { recursive: true, force: true }));

const unit = (name) =>
  ['lib', 'usr/lib'].map((lib) => `${lib}/systemd/system/${name}`).find((file) => fs.existsSync(path.join(tree, file)));
const page = (name) => zlib.gunzipSync(fs.readFileSync(path.join(tree, `usr/share/man/${name}.gz`))).toString();

test('program, units, user, config file, manual pages, completion and licence are in it', () => {
  for (const file of [
    'usr/bin/souk',
    unit('souk.service'),
    unit('souk.socket'),
    'usr/lib/sysusers.d/souk.conf',
    'etc/souk/souk.conf',
    'usr/share/bash-completion/completions/souk',
    'usr/share/doc/souk/copyright',
  ])
    assert.ok(file && fs.existsSync(path.join(tree, file)), String(file));
  assert.equal(fs.readFileSync(path.join(control, 'conffiles'), 'utf8'), '/etc/souk/souk.conf\n');
  const fields = fs.readFileSync(path.join(control, 'control'), 'utf8');
  assert.equal(/^Version: (.*)$/m.exec(fields)[1], souk('version').trim().split(' ')[1]);
  assert.match(fields, /^Depends: .*libsqlite3-0/m);
  assert.match(read(unit('souk.service')), /^ExecStart=\/usr\/bin\/souk serve .*--config \/etc\/souk\/souk\.conf$/m);
  for (const script of ['postinst', 'prerm', 'postrm']) run('sh', ['-n', path.join(control, script)]);
});

test('no time of the build is in it: every file is as old as the changelog says', () => {
  const changelog = fs.readFileSync(path.join(ROOT, 'debian/changelog'), 'utf8');
  const said = new Date(/^ -- .*> {2}(.*)$/m.exec(changelog)[1]);
  const listed = run('dpkg-deb', ['--contents', deb], { env: { ...process.env, TZ: 'UTC' } });
  const times = [...listed.matchAll(/ (\d{4}-\d\d-\d\d \d\d:\d\d) /g)].map((m) => m[1]);
  assert.deepEqual([...new Set(times)], [said.toISOString().slice(0, 16).replace('T', ' ')]);
});

test('packed again, elsewhere and for somebody with other habits, it is the same bytes', () => {
  const other = path.join(dir, 'elsewhere');
  fs.mkdirSync(other);
  const pack = [path.join(ROOT, 'tools/package'), '--built', path.join(ROOT, 'build'), '--to', other];
  run('sh', ['-c', 'umask 077 && exec "$0" "$@"', ...pack], {
    env: { ...process.env, TMPDIR: other, TZ: 'Pacific/Kiritimati', LC_ALL: 'C', SOURCE_DATE_EPOCH: '' },
  });
  assert.ok(fs.readFileSync(path.join(other, deb)).equals(fs.readFileSync(path.join(dir, deb))), 'they differ');
});

test('neither the folder nor the time of the build is in the program', () => {
  assert.ok(!fs.readFileSync(path.join(tree, 'usr/bin/souk')).includes(path.join(ROOT, 'src')));
  const named = spawnSync('grep', ['-rnE', '__(DATE|TIME|TIMESTAMP)__', path.join(ROOT, 'src')], { encoding: 'utf8' });
  assert.equal(named.stdout, '');
});

test('the files of the panel are the same bytes when they are made in another folder', () => {
  const other = path.join(dir, 'another', 'folder');
  fs.mkdirSync(path.join(other, 'out/web'), { recursive: true });
  run('cp', ['-a', path.join(ROOT, 'web'), path.join(ROOT, 'package.json'), other]);
  const modules = path.join(ROOT, 'node_modules');
  run('sh', ['-c', 'cp -al "$0" "$1" 2>/dev/null || cp -a "$0" "$1"', modules, other]);
  run('node', ['../web/build.mjs', 'web/panel_files.c', 'web/panel_files.c.d'], { cwd: path.join(other, 'out') });
  const made = fs.readFileSync(path.join(other, 'out/web/panel_files.c'));
  assert.ok(made.equals(fs.readFileSync(path.join(ROOT, 'build/web/panel_files.c'))), 'they differ');
});

test('its config file can be read, and names no option that is not there, also where it is commented out', () => {
  const text = read('etc/souk/souk.conf').replaceAll(/^#(?=[a-z-]+ = )/gm, '');
  fs.writeFileSync(path.join(dir, 'all.conf'), text);
  const shown = souk('config', 'show', '--config', path.join(dir, 'all.conf'));
  assert.match(shown, /^db = \/var\/lib\/souk\/souk\.db {2}# file$/m);
  assert.match(shown, /^trusted-proxy = 127\.0\.0\.1 {2}# file$/m);
});

test('the manual has every command and every option', () => {
  const text = (roff) => roff.replaceAll('\\-', '-').replaceAll('\\&', '');
  const [program, file] = [text(page('man1/souk.1')), text(page('man5/souk.conf.5'))];
  const help = souk('--help');
  const names = (pattern) => [...help.matchAll(pattern)].map((m) => m[1]);
  const commands = names(/^ {2}([a-z]+(?: [a-z]+)?) {2,}/gm);
  assert.ok(commands.includes('serve') && commands.includes('wallet credit'), commands.join(', '));
  for (const command of commands) assert.ok(program.includes(`\n.B ${command}\n`), command);
  for (const option of names(/^ {2}--([a-z0-9-]+) /gm)) assert.ok(program.includes(`\n.B --${option}\n`), option);
  for (const [, name] of souk('config', 'show').matchAll(/^([a-z0-9-]+) = (?!\(set\))/gm))
    assert.ok(
      file.includes(`\n.B ${name}\n`) || file.includes(`\n.B SOUK_${name.toUpperCase().replaceAll('-', '_')}\n`),
      name,
    );
});

test('the shell completes commands, their options and files', () => {
  const script = path.join(tree, 'usr/share/bash-completion/completions/souk');
  const complete = (...words) => {
    const program = '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _souk; printf "%s\\n" "${COMPREPLY[@]}"';
    return run('bash', ['-c', program, script, 'souk', ...words])
      .split('\n')
      .filter(Boolean);
  };
  assert.deepEqual(complete('wal'), ['wallet']);
  assert.deepEqual(complete('wallet', ''), ['credit']);
  assert.deepEqual(complete('wallet', 'credit', '--am'), ['--amount']);
  assert.deepEqual(complete('serve', '--am'), []);
  assert.deepEqual(complete('serve', '--lis'), ['--listen']);
  assert.deepEqual(complete('serve', '--config', 'contr'), ['control']);
});

test('its life in a bare Debian: installed, serving, installed again, removed, purged, and back', (t) => {
  const out = spawnSync(path.join(ROOT, 'tools/package_install'), [path.join(dir, deb)], { encoding: 'utf8' });
  const last = out.stdout.trimEnd().split('\n').at(-1);
  if (out.status === 77) return t.skip(last);
  assert.equal(out.status, 0, out.stdout + out.stderr);
  assert.equal(last, '== ok');
});

test('the service is locked in: systemd-analyze gives it 1.5 at most', () => {
  const out = run('systemd-analyze', [
    'security',
    '--offline=yes',
    '--no-pager',
    path.join(tree, unit('souk.service')),
  ]);
  const [, exposure] = /Overall exposure level for \S+: ([\d.]+)/.exec(out);
  assert.ok(Number(exposure) <= 1.5, out);
});
