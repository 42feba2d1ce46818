'use strict';
// The network of npm run overlay -- --nat: network namespaces without names, which the kernel removes with the
// processes that hold them. Nothing leaves them, and the machine's own network stays unchanged.
//
//   gw 192.168.11.2 ─ NAT 10.77.0.11 ─┬─ street ─┬─ NAT 10.77.0.12 ─ 192.168.12.2 hub
//                                     └ services 10.77.0.1

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const { CliError } = require('../../../nodes/lib/base/cli/cli-error');
const { EXIT } = require('../command');
const { cutTo, rulesOf } = require('./nat-rules');

const SERVICES = '10.77.0.1';
const OUTSIDE = { gw: '10.77.0.11', hub: '10.77.0.12' };
const LANS = { gw: '192.168.11', hub: '192.168.12' };
const TOOLS = ['ip', 'nft', 'nsenter', 'unshare', 'setpriv'];
const READY_MS = 5000;

/** @typedef {'gw' | 'hub'} Side */

/** @param {string} name */
function isInstalled(name) {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'];
  return folders.some((folder) => fs.existsSync(`${folder}/${name}`));
}

/** @throws {CliError} if this user or machine cannot make namespaces */
function checkPossible() {
  if (process.getuid?.() !== 0)
    throw new CliError(
      '--nat makes network namespaces, which needs root. Run it with sudo, or leave --nat out.',
      EXIT.CANNOT
    );
  const missing = TOOLS.filter((name) => !isInstalled(name));
  if (missing.length > 0)
    throw new CliError(
      `--nat needs ${missing.join(', ')}. Debian: apt install iproute2 nftables util-linux.`,
      EXIT.CANNOT
    );
}

class NatNetwork {
  /** Processes that hold the namespaces, by name. @type {Map<string, import('node:child_process').ChildProcess>} */
  #holders = new Map();
  /** The namespace whose router or host is asked to drop packets. */
  #cutter = 'gw';
  address = SERVICES;
  /** Relayed addresses that are no public ones. */
  relayAllow = '10.77.0.0/24';

  /** @param {[string, string]} kinds at gw and at hub */
  static async open([gw, hub]) {
    checkPossible();
    const network = new NatNetwork();
    try {
      await network.#build(gw, hub);
    } catch (error) {
      network.close();
      throw new CliError(
        `The network of --nat cannot be made: ${/** @type {Error} */ (error).message}`,
        EXIT.CANNOT
      );
    }
    return network;
  }

  /** @param {string} gw @param {string} hub */
  async #build(gw, hub) {
    for (const name of ['street', 'services', 'gw', 'hub']) await this.#hold(name);
    this.#ip('street', 'link add name br0 type bridge');
    this.#ip('street', 'link set br0 up');
    this.#connect('services', `${SERVICES}/24`);
    await this.#side('gw', gw);
    await this.#side('hub', hub);
    if (gw !== 'none') this.#cutter = 'nat-gw';
  }

  /** Makes a namespace, which lives as long as its holder. @param {string} name */
  async #hold(name) {
    const holder = spawn(
      'setpriv',
      [
        '--pdeathsig',
        'KILL',
        'unshare',
        '--net',
        '/bin/sh',
        '-c',
        'ip link set lo up && echo ready && exec sleep infinity'
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] }
    );
    this.#holders.set(name, holder);
    await new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('a namespace takes too long.')), READY_MS);
      holder.once('error', reject);
      holder.once('exit', () => reject(new Error('unshare failed.')));
      holder.stdout.once('data', () => {
        clearTimeout(late);
        resolve(undefined);
      });
    });
  }

  /** @param {Side} name @param {string} kind */
  async #side(name, kind) {
    const outside = `${OUTSIDE[name]}/24`;
    if (kind === 'none') return this.#connect(name, outside);
    const router = `nat-${name}`;
    const lan = LANS[name];
    await this.#hold(router);
    this.#connect(router, outside);
    this.#link(name, 'eth0', router, 'lan');
    this.#up(name, 'eth0', `${lan}.2/24`);
    this.#up(router, 'lan', `${lan}.1/24`);
    this.#ip(name, `route add default via ${lan}.1`);
    this.#run(router, ['/bin/sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward']);
    this.#run(router, ['nft', '-f', '-'], rulesOf(kind, `${lan}.2`));
  }

  /** Connects a namespace to the street. @param {string} name @param {string} address */
  #connect(name, address) {
    this.#link(name, 'pub', 'street', name);
    this.#ip('street', `link set ${name} master br0 up`);
    this.#up(name, 'pub', address);
  }

  /** @param {string} one @param {string} near @param {string} other @param {string} far */
  #link(one, near, other, far) {
    this.#ip(
      one,
      `link add ${near} type veth peer name ${far} netns ${this.#holders.get(other)?.pid ?? 'gone'}`
    );
  }

  /** @param {string} name @param {string} device @param {string} address */
  #up(name, device, address) {
    this.#ip(name, `addr add ${address} dev ${device}`);
    this.#ip(name, `link set ${device} up`);
  }

  /** @param {string} name @param {string} words */
  #ip(name, words) {
    this.#run(name, ['ip', ...words.split(' ')]);
  }

  /** @param {string} name @param {string[]} command @param {string} [input] */
  #run(name, command, input = '') {
    const [program, ...args] = [...this.within(name), ...command];
    try {
      execFileSync(program, args, { input, stdio: ['pipe', 'ignore', 'pipe'] });
    } catch (error) {
      const { stderr } = /** @type {{ stderr?: Buffer }} */ (error);
      throw new Error(`${command.join(' ')}: ${String(stderr ?? error).trim()}`, { cause: error });
    }
  }

  /** The prefix of a command that runs in a namespace. @param {string} name @returns {string[]} */
  within(name) {
    return ['nsenter', `--net=/proc/${this.#holders.get(name)?.pid}/ns/net`];
  }

  /** Drops UDP between the two sides; both still reach the services and the relay. */
  cut() {
    this.#run(this.#cutter, ['nft', '-f', '-'], cutTo(OUTSIDE.hub));
  }

  heal() {
    this.#run(this.#cutter, ['nft', 'delete', 'table', 'ip', 'seganet-cut']);
  }

  close() {
    for (const holder of this.#holders.values()) holder.kill('SIGKILL');
    this.#holders.clear();
  }
}

module.exports = { NatNetwork };
