// bench/lib/namespaces.mjs - machines that are network namespaces, joined by a bridge; for Linux, as root.
//
// The program runs itself again inside namespaces of its own for network, mounts and processes. When that program ends,
// however it ends, the kernel ends every process it left and removes every namespace, address and mount: nothing is to be
// cleaned up by hand, and the real network is never touched.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

export const SUBNET = '10.77.0';
const BRIDGE = 'br0';
const UNSHARE = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];

/** Why this machine cannot have them; null when it can. */
export function whyNoNamespaces() {
  if (process.getuid() !== 0) return 'needs root for network namespaces';
  const probe =
    'mount -t tmpfs none /mnt && ip link add probe0 type veth peer name probe1 && ip link add probe2 type bridge && ip link set probe0 master probe2';
  const out = spawnSync('unshare', [...UNSHARE, 'sh', '-ec', probe], { encoding: 'utf8' });
  if (out.error) return `needs unshare (Debian package util-linux): ${out.error.message}`;
  return out.status === 0 ? null : `the kernel gives no namespaces, veth or bridge: ${out.stderr.trim()}`;
}

/** Runs this program again inside; gives its exit code. The shell is there to reap what others leave behind. */
export async function runInside(program, args, env) {
  const script = 'node "$@"; exit $?';
  const child = spawn('unshare', [...UNSHARE, 'sh', '-c', script, 'sh', program, ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  const end = () => child.kill('SIGKILL');
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const name of signals) process.on(name, end);
  const [code] = await once(child, 'exit');
  for (const name of signals) process.off(name, end);
  return code ?? 1;
}

const ip = (...args) => execFileSync('ip', args, { encoding: 'utf8' });

/** Once, inside: the bridge, with an address for those who are outside of all machines. */
export function makeNetwork() {
  execFileSync('mkdir', ['-p', '/run/netns']);
  execFileSync('mount', ['-t', 'tmpfs', 'none', '/run/netns']);
  ip('link', 'set', 'lo', 'up');
  ip('link', 'add', BRIDGE, 'type', 'bridge');
  ip('addr', 'add', `${SUBNET}.1/24`, 'dev', BRIDGE);
  ip('link', 'set', BRIDGE, 'up');
}

/** One machine: a namespace with an address. `last`: the last number of the address. */
export class Machine {
  constructor(name, last) {
    this.name = name;
    this.address = `${SUBNET}.${last}`;
    this.link = `to-${name}`;
    this.powerOn();
  }

  powerOn() {
    const { name, link, address } = this;
    ip('netns', 'add', name);
    ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    ip('link', 'set', link, 'master', BRIDGE);
    ip('-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    ip('-n', name, 'link', 'set', 'lo', 'up');
    ip('-n', name, 'link', 'set', 'eth0', 'up');
    ip('link', 'set', link, 'up');
  }

  /** With all it had still to send: the kernel would go on sending what the killed processes have written. */
  powerOff() {
    ip('link', 'del', this.link);
    this.#signal('SIGKILL');
    ip('netns', 'del', this.name);
  }

  /** A program on this machine, as this user; `out` is a file for what it says. */
  spawn(user, command, { out, env = {} }) {
    const who = [`--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
    const child = spawn('ip', ['netns', 'exec', this.name, 'setpriv', ...who, ...command], {
      cwd: '/',
      stdio: ['ignore', out, out],
      env: { ...process.env, ...env },
    });
    child.on('error', (e) => console.error(`${this.name}: ${e.message}`));
    return child;
  }

  pids() {
    return ip('netns', 'pids', this.name).split('\n').filter(Boolean).map(Number);
  }

  /** To every process of the machine, until there is none that has not got the signal: a process may be forking. */
  #signal(name) {
    const done = new Set();
    for (;;) {
      const missing = this.pids().filter((pid) => !done.has(pid));
      if (missing.length === 0) return;
      for (const pid of missing) {
        done.add(pid);
        kill(pid, name);
      }
    }
  }

  pause() {
    this.#signal('SIGSTOP');
  }
  resume() {
    this.#signal('SIGCONT');
  }

  /** No packet comes in or out; connections that exist notice nothing but silence. */
  unplug() {
    ip('link', 'set', this.link, 'down');
  }
  plug() {
    ip('link', 'set', this.link, 'up');
  }

  /** Packets to these machines are thrown away until it is powered off; everybody else is reached as before. */
  cutFrom(machines) {
    for (const m of machines) ip('-n', this.name, 'route', 'add', 'blackhole', `${m.address}/32`);
  }
}

/** A process that has already ended needs no signal. */
export function kill(pid, name) {
  try {
    process.kill(pid, name);
  } catch (e) {
    if (e.code !== 'ESRCH') throw e;
  }
}
