'use strict';

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const { automatic } = require('../../network/paths/path-selection');
const { readStatus } = require('../../network/paths/paths-status-file');
const { PathChanges } = require('./path-changes');

/** @typedef {import('../../network/paths/path-settings').Wanted} Wanted */
/** @typedef {import('../../network/paths/path-settings').Role} Role */
/** @typedef {import('../../network/paths/paths-status-file').PathStatus} PathStatus */

/**
 * A way that a connection may be bound to.
 * @typedef {object} Way
 * @property {string} name as it was entered @property {Role} wanted as it was entered, too
 * @property {Role} role that it has now: the watch may have made an active one backup by its quality
 * @property {string} device '' = there is no such interface now, or it has no link @property {string[]} addresses of the interface, the last known, or the one
 *   that was entered
 */

/** A path on which nothing came back is tried after the others for so long. */
const AVOID_MS = 30_000;
/** How long what was read of the machine counts. */
const FRESH_MS = 200;
/** The watch needs less to see that a path is dead. */
const SEEN_MS = 3000;
/** A path of the first choice has to be up for so long before a connection goes back to it. */
const STEADY_MS = 30_000;

/**
 * The paths of an uplink: which there are, how each is by the file of `seganet-paths watch` where that runs, and by what the sessions have
 * met. One for all sessions: what one learns saves the others a second.
 */
class Paths {
  /**
   * @param {Wanted[]} wanted none = auto
   * @param {object} [parts]
   * @param {() => number} [parts.now] ms, monotonic
   * @param {() => import('../../network/paths/paths-status-file').Status | null} [parts.read] @param {typeof os.networkInterfaces} [parts.interfaces]
   * @param {() => {device: string}[]} [parts.defaults] interfaces with a default route, best first
   * @param {Pick<import('./path-hints').PathHints, 'suspect'>} [parts.hints]
   */
  constructor(wanted, parts = {}) {
    const { now = () => performance.now(), read = () => readStatus() } = parts;
    const { interfaces = os.networkInterfaces, defaults = defaultRoutes } = parts;
    this.wanted = wanted;
    this.isAuto = wanted.length === 0;
    this.now = now;
    this.sources = { read, interfaces, defaults };
    this.hints = parts.hints;
    this.readAt = -Infinity;
    /** @type {Way[]} */
    this.known = [];
    /** The watch probes, and does not only look at links. */
    this.asks = false;
    /** By name, of the watch. @type {Map<string, PathStatus>} */
    this.told = new Map();
    /** When nothing came back on it, by name. @type {Map<string, number>} */
    this.failures = new Map();
    /** Of the broker's name, for a time when the resolver is behind a path that is dead. @type {{address: string}[]} */
    this.addresses = [];
    this.changes = new PathChanges();
  }

  /** All that were asked for, in that order. @returns {Way[]} */
  all() {
    this.#look();
    return this.known;
  }

  /** Those that a connection may leave by, the best first: what is not known to be dead, then active before backup, then as they were entered. */
  inOrder() {
    const rank = (/** @type {Way} */ way) => (this.isLive(way) ? 0 : 2) + (way.role === 'backup' ? 1 : 0);
    return this.all()
      .filter(exists)
      .sort((a, b) => rank(a) - rank(b));
  }

  /** Nobody knows of anything against it, or it was something else than the path. @param {Way} way */
  isLive(way) {
    return !this.isDown(way) && (!this.hasFailed(way.name) || this.#isVouched(way.name));
  }

  /** The watch asks it, and has it up still: what failed there was not the path, but a middlebox or the broker. @param {string} name */
  #isVouched(name) {
    return this.asks && this.stateOf(name) === 'up' && this.now() - this.failedAt(name) > SEEN_MS;
  }

  /** It is certain. @param {Way} way */
  isDown(way) {
    return !exists(way) || this.stateOf(way.name) === 'down';
  }

  /** @param {string} name @returns {'up' | 'down' | 'probing' | 'unknown'} */
  stateOf(name) {
    return this.told.get(name)?.state ?? 'unknown';
  }

  /** Lately, and no probe was answered since. @param {string} name */
  hasFailed(name) {
    return this.now() - this.failedAt(name) < AVOID_MS;
  }

  /** -Infinity = not since it worked. @param {string} name */
  failedAt(name) {
    return this.failures.get(name) ?? -Infinity;
  }

  /** Nothing came back on it. @param {string} name */
  failed(name) {
    this.failures.set(name, this.now());
  }

  /** Nothing comes back to this address for now: the watch is to ask, as only its answer counts. @param {string} address @param {number} rttMs */
  suspect(address, rttMs) {
    this.hints?.suspect(address, rttMs);
  }

  /** @param {string} name */
  worked(name) {
    this.failures.delete(name);
  }

  /** By which paths connections from these addresses leave. @param {string[]} addresses @returns {Way[]} */
  having(addresses) {
    return this.all().filter((way) => way.addresses.some((address) => addresses.includes(address)));
  }

  /** Where else a connection could go now. @param {Way[]} ways that it has @param {boolean} [isDesperate] also where nothing came back lately */
  besides(ways, isDesperate = false) {
    return this.inOrder().filter(
      (way) =>
        (isDesperate ? !this.isDown(way) : this.isLive(way)) &&
        this.stateOf(way.name) !== 'probing' &&
        !ways.some(({ name }) => name === way.name)
    );
  }

  /** Active, and up for long enough to be gone back to; only a watch knows. @returns {Way | undefined} */
  steady() {
    return this.inOrder().find(({ name, role }) => {
      const told = this.told.get(name);
      const isUp = role === 'active' && told?.state === 'up' && !this.hasFailed(name);
      return isUp && Date.now() - Date.parse(told.since) > STEADY_MS;
    });
  }

  #look() {
    const now = this.now();
    if (now - this.readAt < FRESH_MS) return;
    this.readAt = now;
    const status = this.sources.read();
    this.asks = Boolean(status?.broker);
    this.told = new Map((status?.paths ?? []).map((path) => [path.name, path]));
    const found = Object.entries(this.sources.interfaces()).map(([name, list]) => ({
      name,
      addresses: usable(list)
    }));
    this.known = this.#wanted(status).map(({ target, role }) => {
      const isAddress = net.isIPv4(target);
      const has = found.find(({ name, addresses }) =>
        isAddress ? addresses.includes(target) : name === target
      );
      // A connection has its address for longer than the interface.
      const before = this.known.find(({ name }) => name === target)?.addresses ?? [];
      const addresses = isAddress ? [target] : (has?.addresses ?? before);
      return {
        name: target,
        wanted: role,
        role: this.#acting(target, role),
        device: has?.name ?? '',
        addresses
      };
    });
    for (const { name } of this.known) if (this.#answeredSince(name)) this.failures.delete(name);
  }

  /** @param {import('../../network/paths/paths-status-file').Status | null} status @returns {Wanted[]} */
  #wanted(status) {
    if (this.wanted.length > 0) return this.wanted;
    if (status) return status.paths.map(({ name, role }) => ({ target: name, role }));
    // One that has lost its route is remembered.
    const known = this.known.map(({ name }) => ({ name, interface: name, slot: 0, gateway: '' }));
    return automatic({ defaults: this.sources.defaults() }, known);
  }

  /** @param {string} name @param {Role} role @returns {Role} */
  #acting(name, role) {
    const told = this.told.get(name);
    return told?.role === 'active' && told.actingRole === 'backup' ? 'backup' : role;
  }

  /** The watch has seen it come up after our failure. @param {string} name */
  #answeredSince(name) {
    const told = this.told.get(name);
    return told?.state === 'up' && Date.now() - Date.parse(told.since) < this.now() - this.failedAt(name);
  }
}

/** @param {Way} way */
const exists = ({ device, addresses }) => device !== '' && addresses.length > 0;

/** Of IPv6, those that need no zone. @param {os.NetworkInterfaceInfo[]} [list] */
function usable(list = []) {
  return list.filter(({ address }) => !/^fe80:/i.test(address)).map(({ address }) => address);
}

/** Of IPv4, best first; proc(5). @returns {{device: string}[]} */
function defaultRoutes(text = readRoutes()) {
  const rows = text
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s+/));
  return rows
    .filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
    .sort((a, b) => Number(a[6]) - Number(b[6]))
    .map(([device]) => ({ device }));
}

function readRoutes() {
  try {
    return fs.readFileSync('/proc/net/route', 'utf8');
  } catch {
    return '';
  }
}

exports.Paths = Paths;
exports.defaultRoutes = defaultRoutes;
