'use strict';
// A lab with two paths to a cloud: the gateway and its devices run in this network namespace, the broker in another
// without a name, with two shaped links (veth) between them. Each link can fail in several ways. The kernel removes
// everything with its last process.

const fs = require('node:fs');
const { holdCloud, namesOf, run, within } = require('../harness/netns');
const { tbf } = require('../harness/qdisc');
const { Watch, apply, undo } = require('./watch');

/** Mbit/s of the paper's two paths. */
const PAPER = [31.31, 47.1];

/** Bytes of tbf's bucket: about 4 ms of the slower link, so that a late timer does not reduce the rate. */
const BURST = 15000;

/** @typedef {'gateway-link' | 'peer-link' | 'silent' | 'silent-out'} Way */
/** @typedef {1 | 2} Cable */

/** @type {Set<PathsLab>} */
const open = new Set();

/** Closes all open labs. */
async function closeLabs() {
  await Promise.all([...open].map((lab) => lab.close()));
}

let isOwnRun = false;

/** Mounts a private /run, which the watch and the gateway share. It disappears with the mount namespace. */
function hideRun() {
  if (!isOwnRun) run('mount', ['-t', 'tmpfs', 'tmpfs', '/run']);
  isOwnRun = true;
}

class PathsLab {
  /** @param {import('../harness/child').Child} holder a process that holds the cloud's namespace */
  constructor(holder) {
    this.holder = holder;
    /** The broker's address, behind both links. */
    this.broker = '198.18.9.9'; // 198.18.0.0/15 is reserved for benchmarks [RFC 2544]
    /** The prefix of a command that runs in the cloud's namespace. */
    this.inCloud = within(holder);
    /** The gateway's addresses, by link. */
    this.addresses = ['', '198.18.1.1', '198.18.2.1'];
    /** @type {Watch | undefined} */
    this.watching = undefined;
    this.isApplied = false;
  }

  /**
   * REQUIRES: isInside().
   * @param {object} [options]
   * @param {number[]} [options.mbit] rate of each link, in both directions; 0 = not shaped
   * @param {number} [options.staleLosses] net.mptcp.stale_loss_cnt at the cloud; docs/use/paths.md recommends the
   *   default
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
    // IPv6 neighbor discovery would be sent with priority 7. A new address must survive the removal of the old one, as
    // it does under systemd. Metrics of one run must not help the next.
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

  /** @param {string[]} there prefix of the command @param {string} line */
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

  /** Writes settings, except those that the kernel lacks. @param {string[]} there @param {string[]} settings */
  #set(there, settings) {
    const lines = settings.map((setting) => {
      const [name, value] = setting.split('=');
      return `[ ! -e /proc/sys/${name} ] || echo ${value} > /proc/sys/${name}`;
    });
    const [command, ...args] = [...there, '/bin/sh', '-c', lines.join('\n')];
    run(command, args);
  }

  /** Sets the default route as DHCP would. @param {Cable} i */
  #route(i) {
    this.#here(`ip route replace default via 198.18.${i}.2 dev p${i} metric ${i}00`);
  }

  /** Makes the link fail at once. @param {Way} way @param {Cable} i */
  cut(way, i) {
    if (way === 'gateway-link') this.#here(`ip link set p${i} down`);
    if (way === 'peer-link') this.#atCloud(`ip link set p${i} down`);
    // Drops all incoming packets, including ARP, without any notification.
    const swallow = (/** @type {string[]} */ there) =>
      this.#run(
        there,
        `nft table netdev silent${i} { chain in { type filter hook ingress device p${i} priority 0; drop; }; }`
      );
    if (way === 'silent' || way === 'silent-out') swallow(this.inCloud);
    if (way === 'silent') swallow([]);
  }

  /**
   * Restores the link, with the address and the default route that a DHCP client would restore.
   * @param {Way} way @param {Cable} i
   */
  heal(way, i) {
    if (way === 'gateway-link') this.#here(`ip link set p${i} up`);
    if (way === 'peer-link') this.#atCloud(`ip link set p${i} up`);
    const hear = (/** @type {string[]} */ there) => this.#run(there, `nft delete table netdev silent${i}`);
    if (way === 'silent' || way === 'silent-out') hear(this.inCloud);
    if (way === 'silent') hear([]);
    this.#here(`ip addr replace ${this.addresses[i]}/24 dev p${i}`);
    this.#route(i);
  }

  /** Adds a middlebox on both links that removes MPTCP's option from every segment. */
  strip() {
    const chain = (/** @type {string} */ hook) =>
      `chain ${hook} { type filter hook ${hook} priority -300; meta l4proto tcp reset tcp option mptcp; };`;
    this.#atCloud(`nft table ip middlebox { ${chain('prerouting')} ${chain('postrouting')} }`);
  }

  /** Adds a middlebox that drops each SYN with MP_CAPABLE. */
  dropCapable() {
    const rule = 'tcp flags syn tcp option mptcp subtype 0 drop;';
    this.#atCloud(
      `nft table ip middlebox { chain in { type filter hook prerouting priority -300; ${rule} }; }`
    );
  }

  /** Removes the middlebox. */
  pass() {
    this.#atCloud('nft delete table ip middlebox');
  }

  /** Changes the address of the link as DHCP would: adds the new one first. @param {Cable} i @param {string} address */
  readdress(i, address) {
    const before = this.addresses[i];
    this.#here(`ip addr add ${address}/24 dev p${i}`);
    this.#here(`ip addr del ${before}/24 dev p${i}`);
    this.addresses[i] = address;
    this.#route(i);
  }

  /** Returns the byte counters of the gateway's end of the link. @param {Cable} i */
  counters(i) {
    const read = (/** @type {string} */ name) =>
      Number(fs.readFileSync(`/sys/class/net/p${i}/statistics/${name}`, 'utf8'));
    return { txBytes: read('tx_bytes'), rxBytes: read('rx_bytes') };
  }

  /**
   * Starts the real `seganet-paths watch` and waits until it reports its paths as up. One at a time.
   * @param {string} paths as in SEGANET_UPLINK_PATHS
   * @param {number} [port] of the broker; the default has no listener: a refusal is an answer, too
   * @param {string[]} [more] additional arguments
   */
  async watch(paths, port = 9, more = []) {
    await this.unwatch();
    this.watching = await Watch.start(paths, `${this.broker}:${port}`, more);
  }

  /** Sets up the paths without a watch: from then on, only the kernel acts. @param {string} paths */
  apply(paths) {
    apply(paths);
    this.isApplied = true;
  }

  /** The output of the watch, with the time of each line. */
  get watchLog() {
    return this.watching?.log ?? [];
  }

  /** Stops the watch and undoes its changes. */
  async unwatch() {
    if (!this.watching && !this.isApplied) return;
    await this.watching?.stop();
    this.watching = undefined;
    this.isApplied = false;
    undo();
  }

  /** The kernel's names of the two namespaces. */
  get names() {
    return namesOf(this.holder);
  }

  async close() {
    if (!open.delete(this)) return;
    await this.unwatch();
    // The kernel removes a namespace with a delay, and the next lab has links with the same names.
    for (const i of [1, 2]) {
      if (fs.existsSync(`/sys/class/net/p${i}`)) this.#here(`ip link del p${i}`);
    }
    await this.holder.stop();
  }
}

module.exports = { PathsLab, closeLabs, PAPER };
