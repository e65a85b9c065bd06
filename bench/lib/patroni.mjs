// bench/lib/patroni.mjs - PostgreSQL on three machines (namespaces.mjs), kept by Patroni; etcd and HAProxy beside them.
//
// Files are in memory: what is tested is who holds the data, not the disk. There is no watchdog device.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { binDir, psqlProgram } from '../../tests/lib/pg.mjs';
import { Machine, SUBNET, kill } from './namespaces.mjs';

export const TTL_S = 20;
const LOOP_S = 3;
const RETRY_S = 5;
const NODES = 3;
const PROXY_PORT = 5000;
const USER = 'souk';
const DATABASE = 'souk';
const START_MS = 120000;
/** Commits wait for this long for a standby that is silently gone. */
const SENDER_TIMEOUT = '10s';

/**
 * Before 3.0.3 a leader that comes back after its lease has ended writes its own name into etcd 3, also when there is another
 * leader by then, and what that leader committed is gone (patroni/patroni#2689). Through etcd's older interface it does not.
 */
const OVERWRITES_LEADER = isBefore(execFileSync('patroni', ['--version'], { encoding: 'utf8' }), [3, 0, 3]);

function isBefore(text, than) {
  const version = /(\d+)\.(\d+)\.(\d+)/.exec(text).slice(1).map(Number);
  const at = version.findIndex((n, i) => n !== than[i]);
  return at >= 0 && version[at] < than[at];
}

export class Patroni {
  /** synchronous: an order is answered when two machines have it; otherwise when the leader has it. */
  static async start(dir, { synchronous }) {
    const p = new Patroni();
    p.dir = dir;
    p.synchronous = synchronous;
    p.etcd = new Machine('etcd', 10);
    p.startEtcd();
    p.nodes = Array.from({ length: NODES }, (_, i) => new Machine(`pg${i + 1}`, 11 + i));
    p.proxy = new Machine('proxy', 20);
    for (const node of p.nodes) p.startNode(node);
    p.startProxy();
    await p.whole();
    await p.createDatabase();
    return p;
  }

  /** The address for souk: all nodes, of which libpq takes the one that can be written to. */
  get url() {
    return `postgres://${USER}@${this.nodes.map((n) => n.address).join(',')}/${DATABASE}?target_session_attrs=read-write`;
  }
  /** The same through HAProxy. */
  get proxyUrl() {
    return `postgres://${USER}@${this.proxy.address}:${PROXY_PORT}/${DATABASE}`;
  }

  log(name) {
    return fs.openSync(path.join(this.dir, `${name}.log`), 'a');
  }

  #folder(name) {
    const folder = path.join(this.dir, name);
    fs.mkdirSync(folder, { mode: 0o700 });
    execFileSync('chown', ['postgres:', folder]);
    return folder;
  }

  startEtcd() {
    const url = `http://${this.etcd.address}`;
    const args = [
      ['name', 'etcd'],
      ['data-dir', this.#folder('etcd')],
      ['listen-client-urls', `${url}:2379`],
      ['advertise-client-urls', `${url}:2379`],
      ['listen-peer-urls', `${url}:2380`],
      ['initial-advertise-peer-urls', `${url}:2380`],
      ['initial-cluster', `etcd=${url}:2380`],
      ...(OVERWRITES_LEADER ? [['enable-v2', 'true']] : []),
    ].map(([name, value]) => `--${name}=${value}`);
    this.etcd.spawn('postgres', ['etcd', ...args], { out: this.log('etcd') });
  }

  #config(node) {
    const name = node.name;
    return {
      scope: 'souk',
      name,
      restapi: { listen: `${node.address}:8008`, connect_address: `${node.address}:8008` },
      [OVERWRITES_LEADER ? 'etcd' : 'etcd3']: { hosts: [`${this.etcd.address}:2379`] },
      bootstrap: {
        dcs: {
          ttl: TTL_S,
          loop_wait: LOOP_S,
          retry_timeout: RETRY_S,
          maximum_lag_on_failover: 1 << 30,
          synchronous_mode: this.synchronous,
          synchronous_mode_strict: this.synchronous,
          postgresql: {
            use_pg_rewind: true,
            parameters: {
              max_connections: 200,
              shared_buffers: '64MB',
              wal_sender_timeout: SENDER_TIMEOUT,
              wal_receiver_timeout: SENDER_TIMEOUT,
              log_min_messages: 'warning',
            },
          },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
      },
      postgresql: {
        listen: `${node.address}:5432`,
        connect_address: `${node.address}:5432`,
        bin_dir: binDir(),
        data_dir: path.join(this.dir, name, 'data'),
        pgpass: path.join(this.dir, name, 'pgpass'),
        parameters: { unix_socket_directories: path.join(this.dir, name) },
        pg_hba: [
          'local all all trust',
          `host all all ${SUBNET}.0/24 trust`,
          `host replication all ${SUBNET}.0/24 trust`,
        ],
        authentication: { superuser: { username: 'postgres' }, replication: { username: 'postgres' } },
        remove_data_directory_on_rewind_failure: true,
        remove_data_directory_on_diverged_timelines: true,
      },
      watchdog: { mode: 'off' },
    };
  }

  startNode(node) {
    const file = path.join(this.dir, `${node.name}.yml`);
    if (!fs.existsSync(file)) {
      this.#folder(node.name);
      fs.writeFileSync(file, JSON.stringify(this.#config(node)), { mode: 0o644 }); // YAML knows JSON
    }
    node.spawn('postgres', ['patroni', file], { out: this.log(node.name) });
  }

  powerOn(node) {
    node.powerOn();
    this.startNode(node);
  }

  /** Who is not the leader, says Patroni, is shut out at once, with those who are connected. */
  startProxy() {
    const file = path.join(this.dir, 'haproxy.cfg');
    const servers = this.nodes.map((n) => `  server ${n.name} ${n.address}:5432 check port 8008`);
    const text = `global
  maxconn 1000
defaults
  mode tcp
  timeout connect 3s
  timeout client 1h
  timeout server 1h
  timeout check 3s
listen souk
  bind ${this.proxy.address}:${PROXY_PORT}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 3 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`;
    fs.writeFileSync(file, text);
    this.proxy.spawn('haproxy', ['haproxy', '-db', '-f', file], { out: this.log('haproxy') });
  }

  /** What Patroni says of its members, asked of a node that answers; null when none does. */
  async members() {
    for (const node of this.nodes) {
      try {
        const answer = await fetch(`http://${node.address}:8008/cluster`, { signal: AbortSignal.timeout(2000) });
        return (await answer.json()).members;
      } catch {
        // this one is down
      }
    }
    return null;
  }

  async leader() {
    const name = (await this.members())?.find((m) => m.role === 'leader')?.name;
    return this.nodes.find((n) => n.name === name) ?? null;
  }

  #isWhole(members) {
    const count = (...roles) => members.filter((m) => roles.includes(m.role)).length;
    const follows = members.every((m) => ['running', 'streaming'].includes(m.state));
    const sameLine = new Set(members.map((m) => m.timeline)).size === 1;
    const synced = !this.synchronous || count('sync_standby') === 1;
    return members.length === NODES && count('leader') === 1 && follows && sameLine && synced;
  }

  /** Waits until there is a leader that everybody follows, and a standby that its commits wait for. */
  async whole() {
    const deadline = Date.now() + START_MS;
    for (;;) {
      const members = await this.members();
      if (members && this.#isWhole(members)) return;
      if (Date.now() > deadline) throw new Error(`the cluster is not whole: ${JSON.stringify(members)}`);
      await sleep(500);
    }
  }

  /** Made when every node has it: libpq does not ask the next host when one knows no such role. */
  async createDatabase() {
    const run = (node, text) =>
      execFileSync(psqlProgram(), ['-XqAt', '-h', node.address, '-U', 'postgres', '-d', 'postgres', '-c', text], {
        encoding: 'utf8',
        stdio: 'pipe',
      });
    const leader = await this.leader();
    run(leader, `CREATE ROLE ${USER} LOGIN`);
    run(leader, `CREATE DATABASE ${DATABASE} OWNER ${USER} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'`);
    const there = `SELECT COUNT(*) FROM pg_database WHERE datname = '${DATABASE}'`;
    while (!this.nodes.every((node) => run(node, there).trim() === '1')) await sleep(100);
  }

  /** kill -9 of the postmaster alone; its children end with it, and Patroni is left to see to it. */
  killPostmaster(node) {
    const file = path.join(this.dir, node.name, 'data', 'postmaster.pid');
    kill(Number(fs.readFileSync(file, 'utf8').split('\n')[0]), 'SIGKILL');
  }
}
