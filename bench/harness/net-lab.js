'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');

const script = path.join(__dirname, '../../nodes/lib/network/qdisc/cli/seganet-net.js');
const traffic = path.join(__dirname, '../../test/fixtures/network/net-traffic.py');
let made = 0;

/** @param {string[]} args */
const ip = (...args) => execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/**
 * Two network namespaces, separate from the machine's network, with a link between them: a gateway whose interface is
 * configured, and a cloud. Requires root.
 */
class Lab {
  constructor() {
    const id = `${process.pid}${made++}`;
    this.gateway = `seganet-g${id}`;
    this.cloud = `seganet-c${id}`;
    this.interface = 'up0';
    this.address = '198.18.0.2';
    this.address6 = 'fd00::2';
    this.stateDir = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-net-')), 'state');
    ip('netns', 'add', this.gateway);
    ip('netns', 'add', this.cloud);
    ip(
      '-n',
      this.gateway,
      'link',
      'add',
      'up0',
      'type',
      'veth',
      'peer',
      'name',
      'down0',
      'netns',
      this.cloud
    );
    for (const [space, name, n] of [
      [this.gateway, 'up0', 1],
      [this.cloud, 'down0', 2]
    ]) {
      ip('-n', String(space), 'addr', 'add', `198.18.0.${n}/30`, 'dev', String(name));
      ip('-n', String(space), 'addr', 'add', `fd00::${n}/64`, 'dev', String(name), 'nodad');
      ip('-n', String(space), 'link', 'set', 'lo', 'up');
      ip('-n', String(space), 'link', 'set', String(name), 'up');
    }
  }

  /** @param {string[]} args run in the gateway's namespace */
  run(...args) {
    return execFileSync('ip', ['netns', 'exec', this.gateway, ...args], { encoding: 'utf8' });
  }

  /** @param {string[]} args */
  tc(...args) {
    return this.run('tc', ...args);
  }

  /** The state that `apply` can change, without counters. */
  picture() {
    const [link] = JSON.parse(this.run('ip', '-j', '-d', 'link', 'show', 'dev', this.interface));
    const { txqlen, gso_max_segs: gso, qdisc } = link;
    // The kernel sends packets of its own, which htb counts.
    const queues = this.tc('qdisc', 'show', 'dev', this.interface).replace(/direct_packets_stat \d+ /, '');
    return { txqlen, gso, qdisc, queues };
  }

  /** @param {string} command @param {string[]} args */
  net(command, ...args) {
    return this.netWith({}, command, ...args);
  }

  /** @param {{ env?: Record<string, string>, as?: string[] }} how @param {string} command @param {string[]} args */
  netWith({ env = {}, as = [] }, command, ...args) {
    const { status, signal, stdout, stderr } = spawnSync(
      'ip',
      [
        ...['netns', 'exec', this.gateway, ...as, process.execPath, script, command],
        ...['--interface', this.interface, '--state-dir', this.stateDir, ...args]
      ],
      { encoding: 'utf8', env: { ...process.env, ...env } }
    );
    if (/^\s+at /m.test(stderr)) throw new Error(`a stack trace instead of an error message:\n${stderr}`);
    return { code: status, signal, out: stdout, err: stderr };
  }

  /** @param {string} command @param {string[]} args @returns {Promise<number | null>} its exit code */
  async start(command, ...args) {
    const all = ['netns', 'exec', this.gateway, process.execPath, script, command];
    const child = spawn(
      'ip',
      [...all, '--interface', this.interface, '--state-dir', this.stateDir, ...args],
      {
        stdio: 'ignore'
      }
    );
    return (await once(child, 'exit'))[0];
  }

  /** @param {string[]} args */
  check(...args) {
    const { code, out } = this.net('check', '--json', ...args);
    return { code, ...JSON.parse(out) };
  }

  /**
   * A wrapper of tc that fails at the first command that contains these words.
   * @param {string} words @param {string} action a shell command @returns {Record<string, string>} environment
   */
  failingTc(words, action = 'echo "Error: no room." >&2; exit 2') {
    const folder = path.join(path.dirname(this.stateDir), 'bin');
    const real = execFileSync('sh', ['-c', 'command -v tc'], {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
    }).trim();
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(
      path.join(folder, 'tc'),
      `#!/bin/sh\ncase "$*" in *"${words}"*) ${action};; esac\nexec ${real} "$@"\n`,
      { mode: 0o755 }
    );
    return { PATH: `${folder}:${process.env.PATH}` };
  }

  /**
   * Sends marked datagrams.
   * @param {string} address @param {{ priority?: number, tos?: number }} mark @param {number} count
   */
  send(address, mark, count) {
    this.run('python3', traffic, 'datagrams', address, JSON.stringify(mark), String(count));
  }

  /**
   * Sends small messages on connections with these marks, while other connections saturate the link.
   * @param {Record<string, { priority?: number, tos?: number, fills?: boolean }>} connections @param {number} seconds
   * @returns {Promise<Record<string, { bytes: number, count: number, medianMs: number, p99Ms: number }>>}
   */
  async race(connections, seconds) {
    const receiver = spawn('ip', ['netns', 'exec', this.cloud, 'python3', traffic, 'receive', this.address], {
      stdio: ['ignore', 'pipe', 'inherit']
    });
    receiver.stdout.setEncoding('utf8');
    let out = '';
    receiver.stdout.on('data', (text) => (out += text));
    const closed = once(receiver, 'close');
    await once(receiver.stdout, 'data');
    const args = [traffic, 'send', this.address, JSON.stringify(connections), String(seconds)];
    const sender = spawn('ip', ['netns', 'exec', this.gateway, 'python3', ...args], { stdio: 'inherit' });
    await once(sender, 'close');
    await closed;
    return JSON.parse(out.split('\n')[1]);
  }

  remove() {
    ip('netns', 'del', this.gateway);
    ip('netns', 'del', this.cloud);
    fs.rmSync(path.dirname(this.stateDir), { recursive: true, force: true });
  }
}

module.exports = { Lab, script };
