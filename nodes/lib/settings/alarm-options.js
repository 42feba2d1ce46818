'use strict';
// The two sessions of class 1 when each of its records is sent over two paths.

const { parseSockets } = require('./group-options');

/** @typedef {import('./uplink-options').Groups} Groups */
/** @typedef {'off' | 'all-paths' | 'unmetered-paths'} RedundantAlarms */

const MOST_URGENT = 1;

/**
 * Throws if alarms cannot be sent over two paths.
 * @param {object} options
 * @param {RedundantAlarms} options.redundantAlarms
 * @param {string} [options.paths]
 * @param {string} [options.sparkplugGroup]
 * @throws {TypeError} with a sentence
 */
function checkAlarms({ redundantAlarms, paths, sparkplugGroup }) {
  if (redundantAlarms === 'off') return;
  if (!String(paths ?? '').trim())
    throw new TypeError(
      'Alarms cannot be sent over two paths, because the list of paths is empty. Enter the paths, such as auto, or send alarms over one path.'
    );
  if (sparkplugGroup)
    throw new TypeError(
      'Alarms cannot be sent over two paths with Sparkplug, whose messages are numbered by session. Remove the group id, or send alarms over one path.'
    );
}

/**
 * Returns what a receiver must be prepared for; '' = nothing.
 * @param {object} options
 * @param {RedundantAlarms} options.redundantAlarms
 * @param {4 | 5} options.protocolVersion
 */
function alarmWarning({ redundantAlarms, protocolVersion }) {
  return redundantAlarms !== 'off' && protocolVersion === 4
    ? 'Alarms are sent over two paths, and with MQTT 3.1.1 a single record has no key, so receivers cannot recognize its second copy. Choose MQTT 5, or send alarms over one path if a receiver must not get them twice.'
    : '';
}

/**
 * Gives class 1 two sessions of its own, before those of the other classes, which keep their client ids and sockets.
 * @param {Groups} groups
 * @param {string} clientId of the uplink
 * @returns {Groups}
 */
function withAlarmSessions({ groups, clientIds, sockets, edgeNodes }, clientId) {
  const rest = groups.map((group) => group.filter((one) => one !== MOST_URGENT));
  /** @template T @param {T[]} list */
  const kept = (list) => list.filter((_, i) => rest[i].length > 0);
  // A session of all classes has no priority of its own.
  const socket = groups.length > 1 ? sockets[0] : parseSockets({}, 2)[0];
  return {
    groups: [[MOST_URGENT], [MOST_URGENT], ...kept(rest)],
    clientIds: [`${clientId}-a1`, `${clientId}-a2`, ...kept(clientIds)],
    sockets: [socket, socket, ...kept(sockets)],
    edgeNodes
  };
}

module.exports = { alarmWarning, checkAlarms, withAlarmSessions };
