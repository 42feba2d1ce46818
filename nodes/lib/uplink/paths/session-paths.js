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
 * A path that a connection may be bound to.
 * @typedef {object} Way
 * @property {string} name as configured
 * @property {Role} wanted role as configured
 * @property {Role} role the present role: the watch may have changed an active path to backup because of its quality
 * @property {boolean} metered it costs by the byte
 * @property {string} device '' = there is no such interface now, or it has no link
 * @property {string[]} addresses the last known addresses of the interface, or the configured address
 */

/** A path on which nothing came back is tried after the others for this time. */
const AVOID_MS = 30_000;
/** How long the machine's interfaces and routes are cached. */
const FRESH_MS = 200;
/** The watch needs less time to detect a dead path. */
const SEEN_MS = 3000;
/** A preferred path must be up for this long before a connection returns to it. */
const STEADY_MS = 30_000;

/**
 * The paths of an uplink, and the state of each: from the file of `seganet-paths watch` if that runs, and from the
 * experience of the sessions. All sessions share one object: what one learns saves the others a second.
 */
class Paths {
  /**
   * @param {Wanted[]} wanted none = auto
   * @param {object} [parts]
   * @param {() => number} [parts.now] ms, monotonic
   * @param {() => import('../../network/paths/paths-status-file').Status | null} [parts.read]
   * @param {typeof os.networkInterfaces} [parts.interfaces]
   * @param {() => {device: string}[]} [parts.defaults] interfaces with a default route, best first
   * @param {Pick<import('./path-hints').PathHints, 'suspect'>} [parts.hints]
   */
  constructor(wanted, parts = {}) {
    const { now = () => performance.now(), read = () => readStatus() } = parts;
    const { interfaces = os.networkInterfaces, defaults = defaultRoutes } = parts;
    this.wanted = wanted;
    this.isAuto = wanted.length === 0;
    /** Connections use MPTCP if possible. */
    this.usesMptcp = true;
    this.now = now;
    this.sources = { read, interfaces, defaults };
    this.hints = parts.hints;
    this.readAt = -Infinity;
    /** @type {Way[]} */
    this.known = [];
    /** True if the watch probes the paths and does not only check their links. */
    this.asks = false;
    /** What the watch reports, by name. @type {Map<string, PathStatus>} */
    this.reported = new Map();
    /** When nothing came back on a path, by name. @type {Map<string, number>} */
    this.failures = new Map();
    /**
     * The addresses of each host, for use while the resolver is behind a dead path.
     * @type {Map<string, {address: string}[]>}
     */
    this.addresses = new Map();
    this.changes = new PathChanges();
  }

  /** Returns all configured paths, in that order. @returns {Way[]} */
  all() {
    this.#inspect();
    return this.known;
  }

  /**
   * Returns the paths that a connection may use, the best first: paths not known to be dead, then active before backup,
   * then in the configured order.
   */
  inOrder() {
    const rank = (/** @type {Way} */ way) => (this.isLive(way) ? 0 : 2) + (way.role === 'backup' ? 1 : 0);
    return this.all()
      .filter(exists)
      .sort((a, b) => rank(a) - rank(b));
  }

  /** Returns why no connection can be made; null = none is known. @returns {import('../session/reason-codes').Reason | null} */
  missing() {
    return null;
  }

  /** True if nothing indicates that the path is dead, or the cause was not the path. @param {Way} way */
  isLive(way) {
    return !this.isDown(way) && (!this.hasFailed(way.name) || this.#isVouched(way.name));
  }

  /**
   * True if the watch probes the path and still reports it up: then a middlebox or the broker failed, not the path.
   * @param {string} name
   */
  #isVouched(name) {
    return this.asks && this.stateOf(name) === 'up' && this.now() - this.failedAt(name) > SEEN_MS;
  }

  /** True if the path is certainly down. @param {Way} way */
  isDown(way) {
    return !exists(way) || this.stateOf(way.name) === 'down';
  }

  /** @param {string} name @returns {'up' | 'down' | 'probing' | 'unknown'} */
  stateOf(name) {
    return this.reported.get(name)?.state ?? 'unknown';
  }

  /** True if the path failed recently, and no probe was answered since. @param {string} name */
  hasFailed(name) {
    return this.now() - this.failedAt(name) < AVOID_MS;
  }

  /** Returns when the path failed; -Infinity = not since it last worked. @param {string} name */
  failedAt(name) {
    return this.failures.get(name) ?? -Infinity;
  }

  /** Call it when nothing came back on a path. @param {string} name */
  failed(name) {
    this.failures.set(name, this.now());
  }

  /**
   * Asks the watch to probe the path of an address because nothing comes back to it now. Only the watch's answer
   * counts.
   * @param {string} address
   * @param {number} rttMs
   */
  suspect(address, rttMs) {
    this.hints?.suspect(address, rttMs);
  }

  /** @param {string} name */
  worked(name) {
    this.failures.delete(name);
  }

  /**
   * Returns the paths that connections from these addresses use.
   * @param {string[]} addresses
   * @returns {Way[]}
   */
  having(addresses) {
    return this.all().filter((way) => way.addresses.some((address) => addresses.includes(address)));
  }

  /**
   * Returns the other paths that a connection could use now.
   * @param {Way[]} ways its present paths
   * @param {boolean} [isDesperate] includes paths on which nothing came back recently
   */
  besides(ways, isDesperate = false) {
    return this.inOrder().filter(
      (way) =>
        (isDesperate ? !this.isDown(way) : this.isLive(way)) &&
        this.stateOf(way.name) !== 'probing' &&
        !ways.some(({ name }) => name === way.name)
    );
  }

  /**
   * Returns an active path that has been up long enough to return to. Only a watch knows that.
   * @returns {Way | undefined}
   */
  steady() {
    return this.inOrder().find(({ name, role }) => {
      const report = this.reported.get(name);
      const isUp = role === 'active' && report?.state === 'up' && !this.hasFailed(name);
      return isUp && Date.now() - Date.parse(report.since) > STEADY_MS;
    });
  }

  #inspect() {
    const now = this.now();
    if (now - this.readAt < FRESH_MS) return;
    this.readAt = now;
    const status = this.sources.read();
    this.asks = Boolean(status?.broker);
    this.reported = new Map((status?.paths ?? []).map((path) => [path.name, path]));
    const found = Object.entries(this.sources.interfaces()).map(([name, list]) => ({
      name,
      addresses: usable(list)
    }));
    this.known = this.#wanted(status).map(({ target, role, metered = false }) => {
      const isAddress = net.isIPv4(target);
      const has = found.find(({ name, addresses }) =>
        isAddress ? addresses.includes(target) : name === target
      );
      // A connection keeps its address longer than the interface does.
      const before = this.known.find(({ name }) => name === target)?.addresses ?? [];
      const addresses = isAddress ? [target] : (has?.addresses ?? before);
      return {
        name: target,
        wanted: role,
        role: this.#acting(target, role),
        metered,
        device: has?.name ?? '',
        addresses
      };
    });
    for (const { name } of this.known) if (this.#answeredSince(name)) this.failures.delete(name);
  }

  /** @param {import('../../network/paths/paths-status-file').Status | null} status @returns {Wanted[]} */
  #wanted(status) {
    if (this.wanted.length > 0) return this.wanted;
    if (status) return status.paths.map(({ name, role, metered }) => ({ target: name, role, metered }));
    // An interface that has lost its route is remembered.
    const known = this.known.map(({ name }) => ({ name, interface: name, slot: 0, gateway: '' }));
    return automatic({ defaults: this.sources.defaults() }, known);
  }

  /**
   * @param {string} name
   * @param {Role} role
   * @returns {Role}
   */
  #acting(name, role) {
    const report = this.reported.get(name);
    return report?.role === 'active' && report.actingRole === 'backup' ? 'backup' : role;
  }

  /** True if the watch has seen the path come up after our failure. @param {string} name */
  #answeredSince(name) {
    const report = this.reported.get(name);
    return report?.state === 'up' && Date.now() - Date.parse(report.since) < this.now() - this.failedAt(name);
  }
}

/** @param {Way} way */
const exists = ({ device, addresses }) => device !== '' && addresses.length > 0;

/** Returns the usable addresses: all but IPv6 addresses that need a zone. @param {os.NetworkInterfaceInfo[]} [list] */
function usable(list = []) {
  return list.filter(({ address }) => !/^fe80:/i.test(address)).map(({ address }) => address);
}

/** Returns the interfaces with an IPv4 default route, best first; see proc(5). @returns {{device: string}[]} */
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
