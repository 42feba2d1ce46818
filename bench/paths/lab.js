'use strict';
// Two ways to a cloud: here the gateway and its devices, there, in a nameless network namespace, the broker, and two shaped cables between. Each can
// die in several ways. The kernel removes all of it with its last process.

const fs = require('node:fs');
const { holdCloud, namesOf, run, within } = require('../harness/netns');
const { tbf } = require('../harness/qdisc');
const { Watch, undo } = require('./watch');

/** Mbit/s of the paper's two paths. */
const PAPER = [31.31, 47.1];

/** Bytes of tbf's bucket: some 4 ms of the slower cable, so that a late timer costs no rate. */
const BURST = 15000;

/** @typedef {'gateway-link' | 'peer-link' | 'silent' | 'silent-out'} Way */
/** @typedef {1 | 2} Cable */

/** @type {Set<PathsLab>} */
const open = new Set();

/** Ends those that are open. */
async function closeLabs() {
  await Promise.all([...open].map((lab) => lab.close()));
}

let isOwnRun = false;

/** What the watch and the gateway share is in /run: one of our own, which goes with the mount namespace. */
function hideRun() {
  if (!isOwnRun) run('mount', ['-t', 'tmpfs', 'tmpfs', '/run']);
  isOwnRun = true;
}

class PathsLab {
  /** @param {import('../harness/child').Child} holder a process that keeps the cloud's namespace */
  constructor(holder) {
    this.holder = holder;
    /** The broker's address, behind both cables. */
    this.broker = '198.18.9.9'; // 198.18.0.0/15 is for benchmarks [RFC 2544]
    /** Put before a command that is to run at the cloud. */
    this.inCloud = within(holder);
    /** The gateway's, by cable. */
    this.addresses = ['', '198.18.1.1', '198.18.2.1'];
    /** @type {Watch | undefined} */
    this.watching = undefined;
  }

  /**
   * REQUIRES: isInside().
   * @param {object} [options]
   * @param {number[]} [options.mbit] of each cable, in both directions; 0 = not shaped
   * @param {number} [options.staleLosses] net.mptcp.stale_loss_cnt at the cloud, as docs/paths.md wants it
   */
  static async open({ mbit = PAPER, staleLosses = 1 } = {}) {
    hideRun();
    const lab = new PathsLab(await holdCloud());
    open.add(lab);
    try {
      lab.#connect(mbit, staleLosses);
    } catch (error) {
      await lab.close();
      throw error;
    }
    return lab;
  }

  /** @param {number[]} mbit @param {number} staleLosses */
  #connect(mbit, staleLosses) {
    // Neighbour discovery of IPv6 goes out with priority 7; a new address must outlive the old one of its network, as where systemd runs; what
    // one run learned of a path must not help the next.
    const settings = [
      'net/ipv6/conf/default/disable_ipv6=1',
      'net/ipv4/conf/default/rp_filter=0',
      'net/ipv4/conf/all/rp_filter=0',
      'net/ipv4/conf/default/promote_secondaries=1',
      'net/ipv4/tcp_no_metrics_save=1'
    ];
    this.#set([], settings);
    this.#set(this.inCloud, [...settings, `net/mptcp/stale_loss_cnt=${staleLosses}`]);
    this.#atCloud(`ip addr add ${this.broker}/32 dev lo`);
    for (const i of /** @type {Cable[]} */ ([1, 2])) {
      this.#here(`ip link add p${i} type veth peer name p${i} netns ${this.holder.pid}`);
      this.#here(`ip addr add ${this.addresses[i]}/24 dev p${i}`);
      this.#atCloud(`ip addr add 198.18.${i}.2/24 dev p${i}`);
      for (const there of [[], this.inCloud]) {
        this.#run(there, `ip link set p${i} up`);
        if (mbit[i - 1]) tbf(`p${i}`, Math.round(mbit[i - 1] * 1e6), { burst: BURST, within: there });
      }
      this.#route(i);
    }
  }

  /** @param {string[]} there words before a command @param {string} line */
  #run(there, line) {
    const [command, ...args] = [...there, ...line.split(' ')];
    return run(command, args);
  }

  /** @param {string} line */
  #here(line) {
    return this.#run([], line);
  }

  /** @param {string} line */
  #atCloud(line) {
    return this.#run(this.inCloud, line);
  }

  /** A kernel may lack one. @param {string[]} there @param {string[]} settings */
  #set(there, settings) {
    const lines = settings.map((setting) => {
      const [name, value] = setting.split('=');
      return `[ ! -e /proc/sys/${name} ] || echo ${value} > /proc/sys/${name}`;
    });
    const [command, ...args] = [...there, '/bin/sh', '-c', lines.join('\n')];
    run(command, args);
  }

  /** As DHCP makes it. @param {Cable} i */
  #route(i) {
    this.#here(`ip route replace default via 198.18.${i}.2 dev p${i} metric ${i}00`);
  }

  /** The cable dies, at once. @param {Way} way @param {Cable} i */
  cut(way, i) {
    if (way === 'gateway-link') this.#here(`ip link set p${i} down`);
    if (way === 'peer-link') this.#atCloud(`ip link set p${i} down`);
    // Nothing arrives any more, ARP neither, and nobody is told.
    const swallow = (/** @type {string[]} */ there) =>
      this.#run(
        there,
        `nft table netdev silent${i} { chain in { type filter hook ingress device p${i} priority 0; drop; }; }`
      );
    if (way === 'silent' || way === 'silent-out') swallow(this.inCloud);
    if (way === 'silent') swallow([]);
  }

  /** It is back, with the address and the default route that a DHCP client would put back. @param {Way} way @param {Cable} i */
  heal(way, i) {
    if (way === 'gateway-link') this.#here(`ip link set p${i} up`);
    if (way === 'peer-link') this.#atCloud(`ip link set p${i} up`);
    const hear = (/** @type {string[]} */ there) => this.#run(there, `nft delete table netdev silent${i}`);
    if (way === 'silent' || way === 'silent-out') hear(this.inCloud);
    if (way === 'silent') hear([]);
    this.#here(`ip addr replace ${this.addresses[i]}/24 dev p${i}`);
    this.#route(i);
  }

  /** A middlebox on both cables that takes MPTCP's option out of every segment. */
  strip() {
    const chain = (/** @type {string} */ hook) =>
      `chain ${hook} { type filter hook ${hook} priority -300; meta l4proto tcp reset tcp option mptcp; };`;
    this.#atCloud(`nft table ip middlebox { ${chain('prerouting')} ${chain('postrouting')} }`);
  }

  /** A middlebox that drops a SYN with MP_CAPABLE. */
  dropCapable() {
    const rule = 'tcp flags syn tcp option mptcp subtype 0 drop;';
    this.#atCloud(
      `nft table ip middlebox { chain in { type filter hook prerouting priority -300; ${rule} }; }`
    );
  }

  /** The middlebox is gone. */
  pass() {
    this.#atCloud('nft delete table ip middlebox');
  }

  /** The cable gets another address, as DHCP would do it: the new one first. @param {Cable} i @param {string} address */
  readdress(i, address) {
    const before = this.addresses[i];
    this.#here(`ip addr add ${address}/24 dev p${i}`);
    this.#here(`ip addr del ${before}/24 dev p${i}`);
    this.addresses[i] = address;
    this.#route(i);
  }

  /** Of the gateway's end of the cable, until now. @param {Cable} i */
  counters(i) {
    const read = (/** @type {string} */ name) =>
      Number(fs.readFileSync(`/sys/class/net/p${i}/statistics/${name}`, 'utf8'));
    return { txBytes: read('tx_bytes'), rxBytes: read('rx_bytes') };
  }

  /**
   * The real `seganet-paths watch`, until it says that its paths are up. One at a time.
   * @param {string} paths as SEGANET_UPLINK_PATHS has them
   * @param {number} [port] of the broker; the default is one that nobody listens at: a refusal is an answer, too
   * @param {string[]} [more] of its arguments
   */
  async watch(paths, port = 9, more = []) {
    await this.unwatch();
    this.watching = await Watch.start(paths, `${this.broker}:${port}`, more);
  }

  /** What the watch said, with the time at which each line came. */
  get watchLog() {
    return this.watching?.log ?? [];
  }

  /** The watch ends, and what it made is undone. */
  async unwatch() {
    if (!this.watching) return;
    await this.watching.stop();
    this.watching = undefined;
    undo();
  }

  /** The kernel's names of the two namespaces. */
  get names() {
    return namesOf(this.holder);
  }

  async close() {
    if (!open.delete(this)) return;
    await this.unwatch();
    // The kernel takes its time with a namespace; the next lab has cables of the same names.
    for (const i of [1, 2]) {
      if (fs.existsSync(`/sys/class/net/p${i}`)) this.#here(`ip link del p${i}`);
    }
    await this.holder.stop();
  }
}

module.exports = { PathsLab, closeLabs, PAPER };
