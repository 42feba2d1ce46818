'use strict';
// Parses the output of ip about interfaces, routes, rules and MPTCP. Any part may be missing; unknown parts are
// skipped.

/** @typedef {{ address: string, prefix: number }} Address */
/**
 * @typedef {object} Interface
 * @property {string} name
 * @property {number} index
 * @property {boolean} isUp set up by the administrator
 * @property {boolean} carrier it can send
 * @property {boolean} isLoopback
 * @property {Address[]} addresses of IPv4, in the kernel's order of preference
 */
/**
 * gateway '' = none.
 * @typedef {object} Route
 * @property {string} destination
 * @property {string} gateway
 * @property {string} device
 * @property {number} table
 * @property {number} metric
 * @property {string} source
 * @property {boolean} onlink
 */
/**
 * suppress -1 = no such condition.
 * @typedef {{ preference: number, source: string, table: number, protocol: number, suppress: number }} Rule
 */
/**
 * more: it has flags that our endpoints never have.
 * @typedef {object} Endpoint
 * @property {number} id
 * @property {string} address
 * @property {string} device
 * @property {boolean} subflow
 * @property {boolean} backup
 * @property {boolean} more
 */
/** @typedef {{ subflows: number, accepted: number }} Limits */

/**
 * @param {unknown} value
 * @param {number} [otherwise]
 * @returns {number} a whole number, not negative
 */
function count(value, otherwise = 0) {
  const number = typeof value === 'number' || typeof value === 'string' ? Number(value) : NaN;
  return Number.isSafeInteger(number) && number >= 0 && value !== '' ? number : otherwise;
}

/** @param {unknown} value */
const text = (value) => (typeof value === 'string' ? value : '');

/** @param {string} json @returns {any[]} empty if it is not a JSON array: ip prints nothing where there is nothing */
function parseArray(json) {
  try {
    const value = JSON.parse(json);
    return Array.isArray(value) ? value.filter((entry) => entry !== null && typeof entry === 'object') : [];
  } catch {
    return [];
  }
}

/** @param {any} info @returns {Address[]} */
function addressOf(info) {
  const isOurs =
    info !== null &&
    typeof info === 'object' &&
    info.family === 'inet' &&
    info.scope === 'global' &&
    !info.deprecated &&
    !info.tentative &&
    !info.secondary;
  return isOurs && text(info.local) !== ''
    ? [{ address: info.local, prefix: count(info.prefixlen, 32) }]
    : [];
}

/** @param {string} json of `ip -j -4 addr show` @returns {Interface[]} */
function parseInterfaces(json) {
  return parseArray(json)
    .filter(({ ifname }) => text(ifname) !== '')
    .map((entry) => {
      const flags = Array.isArray(entry.flags) ? entry.flags : [];
      const isUp = flags.includes('UP');
      return {
        name: entry.ifname,
        index: count(entry.ifindex),
        isUp,
        // Wi-Fi that is not authenticated yet is DORMANT; drivers that do not report a state are UNKNOWN.
        carrier:
          isUp &&
          flags.includes('LOWER_UP') &&
          ['UP', 'UNKNOWN'].includes(text(entry.operstate) || 'UNKNOWN'),
        isLoopback: flags.includes('LOOPBACK'),
        addresses: Array.isArray(entry.addr_info) ? entry.addr_info.flatMap(addressOf) : []
      };
    });
}

/**
 * @param {string} json of `ip -j -N -4 route show …`
 * @param {number} table if the output contains none
 * @returns {Route[]} without routes of the kernel's own kinds
 */
function parseRoutes(json, table) {
  return parseArray(json)
    .filter(({ dst, dev, type }) => text(dst) !== '' && text(dev) !== '' && !type)
    .map((entry) => ({
      destination: entry.dst,
      gateway: text(entry.gateway),
      device: entry.dev,
      table: count(entry.table, table),
      metric: count(entry.metric),
      source: text(entry.prefsrc),
      onlink: Array.isArray(entry.flags) && entry.flags.includes('onlink')
    }));
}

/** @param {string} json of `ip -j -N -4 rule show` @returns {Rule[]} */
function parseRules(json) {
  return parseArray(json).map((entry) => ({
    preference: count(entry.priority),
    source: text(entry.src),
    table: count(entry.table),
    protocol: count(entry.protocol),
    suppress: count(entry.suppress_prefixlen, -1)
  }));
}

/** @param {string} json of `ip -j mptcp endpoint show` @returns {Endpoint[]} */
function parseEndpoints(json) {
  return parseArray(json)
    .filter(({ address }) => text(address) !== '')
    .map((entry) => ({
      id: count(entry.id),
      address: entry.address,
      device: text(entry.dev),
      subflow: entry.subflow === true,
      backup: entry.backup === true,
      more: entry.signal === true || entry.fullmesh === true || entry.port !== undefined
    }));
}

/**
 * @param {string} out of `ip mptcp limits show`: the same words as text, and as JSON if -j is supported
 * @returns {Limits | null}
 */
function parseLimits(out) {
  const limit = (/** @type {string} */ name) =>
    /** @type {number} */ (count(new RegExp(`\\b${name}"?:? *(\\d{1,4})\\b`).exec(out)?.[1], -1));
  const limits = { subflows: limit('subflows'), accepted: limit('add_addr_accepted') };
  return limits.subflows < 0 || limits.accepted < 0 ? null : limits;
}

module.exports = { parseInterfaces, parseRoutes, parseRules, parseEndpoints, parseLimits };
