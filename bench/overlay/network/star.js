'use strict';
// A hub, spokes and services, each in a network namespace of its own, at a bridge in the hub's. The namespaces have no
// names: the kernel removes them, and all links, with their last process. Nothing leaves them.

const { Child } = require('../../harness/child');
const { run, within } = require('../../harness/netns');
const { haveTool } = require('../../harness/tools');

const TOOLS = ['unshare', 'nsenter', 'setpriv', 'ip'];
const HOLD_MS = 20_000;

/** @returns {string} why this machine or user cannot make the namespaces, '' if it can */
function lackingNamespaces() {
  if (process.platform !== 'linux') return 'Network namespaces exist on Linux only.';
  if (process.getuid?.() !== 0) return 'Its network namespaces need root.';
  const missing = TOOLS.filter((tool) => !haveTool(tool));
  return missing.length > 0
    ? `Not installed: ${missing.join(', ')}. Debian: apt install util-linux iproute2.`
    : '';
}

/** A namespace, and the programs in it. */
class Place {
  /** @param {string} name */
  static async open(name) {
    const hold = 'ip link set lo up && echo ready && exec sleep infinity';
    const holder = new Child('unshare', ['--net', '/bin/sh', '-c', hold], { name: `the namespace ${name}` });
    await holder.until((output) => output.includes('ready'), HOLD_MS);
    return new Place(name, holder);
  }

  /** @param {string} name @param {Child} holder */
  constructor(name, holder) {
    this.name = name;
    this.holder = holder;
    /** Prefix of a command that runs here. */
    this.within = within(holder);
    /** @type {Child[]} */
    this.started = [];
  }

  /** Runs a command here to its end. @param {string} command words without quotation marks @returns {string} output */
  run(command) {
    const [nsenter, ...enter] = this.within;
    return run(nsenter, [...enter, ...command.split(' ')]);
  }

  /** @param {string} file below /proc/sys/net @param {string} value */
  setting(file, value) {
    const [nsenter, ...enter] = this.within;
    run(nsenter, [...enter, '/bin/sh', '-c', `echo ${value} > /proc/sys/net/${file}`]);
  }

  /**
   * Starts a program here.
   * @param {string} command @param {string[]} args @param {import('../../harness/child').ChildOptions} [options]
   */
  start(command, args, options = {}) {
    const { within: more = [], ...rest } = options;
    const child = new Child(command, args, { ...rest, within: [...this.within, ...more] });
    this.started.push(child);
    return child;
  }

  /** Ends the namespace, and what still runs in it. */
  async close() {
    await Promise.all([...this.started, this.holder].map((child) => child.stop('SIGKILL')));
  }
}

class Star {
  /** @param {number} spokes */
  static async open(spokes) {
    const names = ['hub', 'services', ...Array.from({ length: spokes }, (_, i) => `s${i + 1}`)];
    const star = new Star(await Promise.all(names.map((name) => Place.open(name))));
    try {
      star.#connect();
      return star;
    } catch (error) {
      await star.close();
      throw error;
    }
  }

  /** @param {Place[]} places */
  constructor([hub, services, ...spokes]) {
    this.hub = hub;
    this.services = services;
    this.spokes = spokes;
    /** @type {Place[]} */
    this.more = [];
    this.hubAddress = '10.78.0.1';
    this.servicesAddress = '10.78.0.254';
  }

  #connect() {
    this.hub.run('ip link add br0 type bridge');
    this.hub.run(`ip addr add ${this.hubAddress}/24 dev br0`);
    this.hub.run('ip link set br0 up');
    this.#join(this.services, this.servicesAddress);
    for (const [i, spoke] of this.spokes.entries()) this.#join(spoke, this.spokeAddress(i));
  }

  /** @param {number} i of the spoke, from 0 @returns {string} */
  spokeAddress(i) {
    return `10.78.0.${i + 10}`;
  }

  /** @param {Place} place @param {string} address */
  #join(place, address) {
    const port = `p${place.name}`;
    place.run(`ip link add e type veth peer name ${port} netns ${this.hub.holder.pid}`);
    this.hub.run(`ip link set ${port} master br0 up`);
    place.run(`ip addr add ${address}/24 dev e`);
    place.run('ip link set e up');
  }

  /** Adds a namespace that close() ends. @param {string} name */
  async place(name) {
    const place = await Place.open(name);
    this.more.push(place);
    return place;
  }

  async close() {
    await Promise.all([...this.more, ...this.spokes, this.services, this.hub].map((place) => place.close()));
  }
}

exports.Place = Place;
exports.Star = Star;
exports.lackingNamespaces = lackingNamespaces;
