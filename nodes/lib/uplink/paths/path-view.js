'use strict';
// Describes the paths of a session.

/** @typedef {import('./session-paths').Paths} Paths @typedef {import('./session-paths').Way} Way */
/** @typedef {import('../../../../native').MptcpInfo} MptcpInfo */

/** @typedef {{code: string, reason: string}} Note */

/** True if the kernel moves the connection between paths by itself. @param {MptcpInfo} info */
const mayGo = ({ transport }) => transport === 'mptcp' || transport === 'unknown';

/** @param {Way[]} ways */
const names = (ways) => ways.map(({ name }) => name).join(', ') || 'of the connection';

/**
 * Returns why a connection has only one path, in words.
 * @param {MptcpInfo} info
 * @param {string} noMptcp of openSocket()
 * @returns {Note | null}
 */
function whyOne({ transport }, noMptcp) {
  if (transport === 'fallback') {
    const reason =
      'Fell back to TCP: the broker does not speak MPTCP, or a device along the path removes it. If the path fails, the session opens a new connection over the next one.';
    return { code: 'NO_MPTCP', reason };
  }
  if (transport !== 'tcp') return null;
  const cause =
    noMptcp === 'ENOPROTOOPT'
      ? 'MPTCP is turned off on this machine (net.mptcp.enabled)'
      : 'this machine has no MPTCP';
  return {
    code: 'NO_MPTCP_HERE',
    reason: `Plain TCP: ${cause}. If the path fails, the session opens a new connection over the next one.`
  };
}

/**
 * True if records of a session may go over a path that costs by the byte. A backup path carries nothing while an active
 * one has a subflow.
 * @param {Paths} paths
 * @param {Pick<import('../../../../native').Subflow, 'local'>[]} subflows those that can carry data
 */
function isMetered(paths, subflows) {
  const ways = paths.having(subflows.map(({ local }) => local));
  const active = ways.filter((way) => way.role === 'active' && !paths.isDown(way));
  return (active.length > 0 ? active : ways).some(({ metered }) => metered);
}

/**
 * Returns each path with this session's figures on it; -1 = unknown.
 * @param {Paths} paths
 * @param {MptcpInfo | null} info null = it has no connection
 */
function pathsView(paths, info) {
  return paths.all().map(({ name, wanted, role, metered, device, addresses }) => {
    const report = paths.reported.get(name);
    const state = stateOf(paths, name, device);
    const subflows = (info?.subflows ?? []).filter(
      (each) => addresses.includes(each.local) && each.state === 1
    );
    /** @param {'rttUs' | 'retransmits' | 'bytesSent' | 'bytesAcked'} figure */
    const all = (figure) =>
      subflows.reduce(
        (sum, each) => (sum < 0 || each[figure] < 0 ? -1 : sum + each[figure]),
        subflows.length > 0 ? 0 : -1
      );
    return {
      name,
      role: wanted,
      actingRole: role,
      metered,
      interface: device,
      address: subflows[0]?.local ?? report?.address ?? addresses[0] ?? '',
      state,
      why: report?.why ?? '',
      since: report?.since ?? paths.changes.since(name, state),
      quality: report?.quality ?? null,
      advice: report?.advice ?? role,
      adviceWhy: report?.adviceWhy ?? '',
      subflows: subflows.length,
      rttMs: subflows.length > 0 ? Math.max(...subflows.map(({ rttUs }) => rttUs)) / 1000 : -1,
      retransmits: all('retransmits'),
      bytesSent: all('bytesSent'),
      bytesAcked: all('bytesAcked')
    };
  });
}

/** @typedef {ReturnType<typeof pathsView>[number]} PathView */

/**
 * @param {Paths} paths
 * @param {string} name
 * @param {string} device
 */
function stateOf(paths, name, device) {
  const state = paths.stateOf(name);
  if (state !== 'unknown') return state;
  return device === '' || paths.hasFailed(name) ? 'down' : 'unknown';
}

module.exports = { isMetered, mayGo, names, pathsView, whyOne };
