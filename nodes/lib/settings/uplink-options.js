'use strict';

const { checkAlarms, withAlarmSessions } = require('./alarm-options');
const { rows } = require('./broker');
const { brokerUrlsOf } = require('./broker-url');
const { parseCongestion } = require('./congestion');
const { clientIdsOf, parseGroups, parseSockets } = require('./group-options');
const { parsePaths } = require('./path-options');
const { LEVEL } = require('../base/sparkplug-topic');
const { badCharacter } = require('../base/topic-template');

/**
 * @typedef {object} TlsOptions options of tls.connect() as plain data
 * @property {string | Uint8Array} [ca]
 * @property {string | Uint8Array} [cert]
 * @property {string | Uint8Array} [key]
 * @property {string | Uint8Array} [pfx] instead of cert and key; may contain certificate authorities
 * @property {string} [passphrase]
 * @property {string} [servername]
 * @property {boolean} [rejectUnauthorized]
 * @property {string[]} [ALPNProtocols]
 */

/** @typedef {{ca?: string, cert?: string, key?: string, pfx?: string}} TlsFiles paths */

/**
 * What a thread must know to find the local place that leads to a broker, as plain data: a file that exports
 * placesOf(address), whose place(host, port) resolves to it.
 * @typedef {{ module: string, address: string }} Dialer
 */

/**
 * @typedef {object} UplinkOptions
 * @property {string} url mqtts://host:8883, or mqtt://host:1883 on a trusted network; several are separated by commas,
 *   the first is preferred
 * @property {number} [returnS] seconds for which an earlier URL must answer before the uplink returns to it, default
 *   300, 0 = never
 * @property {TlsOptions} [tls]
 * @property {TlsFiles} [tlsFiles] override `tls`; read for each connection, and a change causes a reconnect
 * @property {string} [minTls] 'TLSv1.3' (default) or 'TLSv1.2'
 * @property {string} gateway value of {gateway}
 * @property {string} [clientId] default: gateway; several sessions append -1, -2 …
 * @property {string | number[][]} [groups] classes by session, most urgent first, default '1,2/3,4'; 'all' = one
 *   session
 * @property {string} [priority] SO_PRIORITY, 0..6, comma-separated by session, '' = defaults
 * @property {string} [dscp] 0..63, by session
 * @property {string} [notSentLowat] most unsent bytes in the kernel, by session
 * @property {string} [sendBuffer] bytes, by session, 0 = the system's
 * @property {number} [reserve] part of the window that only live records of class 1 may fill, 0..1, default 0.25. At
 *   least one place if class 1 shares a session and the window has two or more
 * @property {string} [username]
 * @property {string} [password]
 * @property {4 | 5 | '4' | '5'} [protocolVersion] default 5
 * @property {number} [keepalive] seconds, default 30, 0 = off
 * @property {number} [inflight] PUBLISH packets in flight, default 32, 1..1024
 * @property {number} [reconnectMinMs] default 500
 * @property {number} [reconnectMaxMs] default 5000
 * @property {number} [refusedMinMs] delay if the broker refuses this client, default 30000
 * @property {number} [refusedMaxMs] default 300000
 * @property {number} [connectTimeoutMs] default 15000
 * @property {number} [ackTimeoutMs] reconnect after this time without an acknowledgement, default 15000
 * @property {number} [userTimeoutMs] TCP_USER_TIMEOUT, default 10000, 0 = the system's
 * @property {number} [retryMs] delay after a refused PUBLISH, and before the first attempt of a poison record, default
 *   1000
 * @property {number} [backlogRate] records of the backlog per second, default 5000, 0 = no limit
 * @property {number} [backlogShare] part of the window that the backlog may fill, 0..1, default 0.5; at least one
 *   packet
 * @property {string} [sparkplugGroup] group id; the sessions are then edge nodes of Sparkplug. '' (default) = none
 * @property {string} [sparkplugNode] id of the edge node, default: clientId; several sessions append -1, -2 …
 * @property {boolean} [commands] the cloud may send commands, in their own session, default false
 * @property {string} [commandPrefix] first levels of the command topics, default cmd
 * @property {string} [commandGroup] name of gateways that share their commands, '' (default) = the gateway has its own
 * @property {string} [congestion] congestion control of all sockets, such as cubic; '' (default) = the system's
 * @property {string} [paths] interfaces or addresses to use, such as 'eth0,wwan0:backup:metered', or 'auto': MPTCP if
 *   both ends support it, else the next path if one is dead. '' (default) = the system's routes
 * @property {import('./alarm-options').RedundantAlarms} [redundantAlarms] class 1 has two sessions, on two paths, and
 *   each of its records is sent on both; default off. The first two groups are then these sessions
 * @property {number} [pathLossMs] a path is dead if the peer confirms nothing for this time, default 1000
 * @property {string} [pathsDir] folder with the state of `seganet-paths watch`, default: its own default
 * @property {Dialer | null} [dialer] knows the local port that leads to the broker; null (default) = no such port
 * @property {number} [stateMs] interval of state events, in addition to one for each change, default 1000
 * @property {string} [nativePath] module with UplinkSource, default the engine's addon
 */

/**
 * @typedef {'url' | 'returnS' | 'username' | 'password' | 'protocolVersion' | 'groups' | 'priority' | 'dscp' | 'notSentLowat' |
 *   'sendBuffer' | 'paths' | 'sparkplugGroup' | 'sparkplugNode'} Rewritten
 */

/**
 * Classes, client ids, socket options and edge nodes (none = no Sparkplug), by session.
 * @typedef {{groups: number[][], clientIds: string[], sockets: import('./group-options').SocketPlan[], edgeNodes:
 *   {group: string, node: string}[]}} Groups
 */

/**
 * @typedef {Required<Omit<UplinkOptions, Rewritten>> & import('./broker-url').Address & Groups & {addresses:
 *   import('./broker-url').Address[], returnMs: number, username?: string, password?: string, protocolVersion: 4 | 5, paths: import('./path-options').Wanted[] | null}} CheckedOptions
 */

/**
 * @param {string} name
 * @param {unknown} value
 * @param {number} fallback
 * @param {number} min
 * @param {number} max
 */
function number(name, value, fallback, min, max) {
  if (value === undefined || value === null || value === '') return fallback;
  const n = Number(value);
  if (!Number.isInteger(n) || n < min || n > max) {
    throw new TypeError(`${name} is ${value}; it must be a whole number from ${min} to ${max}.`);
  }
  return n;
}

/**
 * @param {string} name
 * @param {string | undefined} value
 * @param {string} fallback
 * @param {readonly string[]} allowed
 */
function oneOf(name, value, fallback, allowed) {
  if (value === undefined || value === '') return fallback;
  if (!allowed.includes(value))
    throw new TypeError(`${name} is ${value}; it must be ${allowed.join(' or ')}.`);
  return value;
}

/** @param {string} name @param {unknown} value @param {number} fallback */
function share(name, value, fallback) {
  if (value === undefined || value === null || value === '') return fallback;
  const n = Number(value);
  if (!(n >= 0 && n <= 1)) throw new TypeError(`${name} is ${value}; it must be from 0 to 1.`);
  return n;
}

/** @param {TlsOptions} [tls] */
function checkTls(tls = {}) {
  if (tls.rejectUnauthorized === false) {
    throw new TypeError(
      "The TLS node does not verify the broker's certificate, so anyone could receive the records. Turn verification on, and add the broker's certificate authority there if it is your own."
    );
  }
  return tls;
}

/** @param {string} prefix */
function checkPrefix(prefix) {
  // A $ topic [MQTT-4.7.2-1] is the broker's own.
  const bad = /^[$/]|\/$/.test(prefix) ? 'must not begin with $ or /, or end with /' : badCharacter(prefix);
  if (bad || prefix.length > 256)
    throw new TypeError(`The command prefix '${prefix}' ${bad || 'exceeds 256 characters'}.`);
  return prefix;
}

/**
 * @param {string | undefined} group '' = no Sparkplug
 * @param {string} node
 * @param {number} count of sessions
 * @returns {{ group: string, node: string }[]}
 */
function edgeNodesOf(group, node, count) {
  if (!group) return [];
  for (const [name, value] of [
    ['group id', group],
    ['edge node id', node]
  ]) {
    if (!LEVEL.test(value))
      throw new TypeError(
        `The Sparkplug ${name} '${value}' must have 1 to 128 characters without /, + and #.`
      );
  }
  return clientIdsOf(node, count).map((id) => ({ group, node: id }));
}

/**
 * Checks the options and fills in defaults.
 * @param {UplinkOptions} options
 * @param {string} defaultNative
 * @returns {CheckedOptions}
 * @throws {TypeError} with a sentence
 */
function checkOptions(options, defaultNative) {
  const gateway = String(options.gateway ?? '');
  const bad = gateway === '' ? 'must not be empty' : badCharacter(gateway);
  if (bad) throw new TypeError(`The gateway id '${gateway}' ${bad}.`);
  const day = 86400000;
  const version = String(options.protocolVersion ?? '');
  const groups = parseGroups(options.groups);
  const clientId = options.clientId || gateway;
  const reconnectMinMs = number(
    'reconnectMinMs',
    options.reconnectMinMs,
    rows.reconnectMinMs.default,
    1,
    day
  );
  const reconnectMaxMs = number(
    'reconnectMaxMs',
    options.reconnectMaxMs,
    rows.reconnectMaxMs.default,
    1,
    day
  );
  checkReconnect(reconnectMinMs, reconnectMaxMs);
  const addresses = brokerUrlsOf(options.url, "The broker's address");
  const [first] = addresses;
  const redundantAlarms = /** @type {import('./alarm-options').RedundantAlarms} */ (
    oneOf(
      'redundantAlarms',
      options.redundantAlarms,
      rows.redundantAlarms.default,
      rows.redundantAlarms.values
    )
  );
  checkAlarms({ ...options, redundantAlarms });
  const sessions = {
    groups,
    clientIds: clientIdsOf(clientId, groups.length),
    edgeNodes: edgeNodesOf(options.sparkplugGroup, options.sparkplugNode || clientId, groups.length),
    sockets: parseSockets(options, groups.length)
  };
  return {
    ...first,
    addresses,
    returnMs: 1000 * number('returnS', options.returnS, rows.returnS.default, 0, rows.returnS.max),
    tls: checkTls(options.tls),
    // Files that nothing reads would count as changed at each look.
    tlsFiles: (addresses.some(({ secure }) => secure) && options.tlsFiles) || {},
    minTls: oneOf('minTls', options.minTls, rows.minTls.default, rows.minTls.values),
    gateway,
    clientId,
    ...(redundantAlarms === 'off' ? sessions : withAlarmSessions(sessions, clientId)),
    redundantAlarms,
    reserve: share('reserve', options.reserve, rows.reserve.default / 100),
    username: options.username || undefined,
    password: options.password || undefined,
    protocolVersion:
      oneOf('protocolVersion', version, rows.protocolVersion.default, rows.protocolVersion.values) === '5'
        ? 5
        : 4,
    keepalive: number('keepalive', options.keepalive, rows.keepalive.default, 0, 65535),
    inflight: number(
      'inflight',
      options.inflight,
      rows.inflight.default,
      rows.inflight.min,
      rows.inflight.max
    ),
    reconnectMinMs,
    reconnectMaxMs,
    refusedMinMs: number('refusedMinMs', options.refusedMinMs, 30000, 1, day),
    refusedMaxMs: number('refusedMaxMs', options.refusedMaxMs, 300000, 1, day),
    connectTimeoutMs: number('connectTimeoutMs', options.connectTimeoutMs, 15000, 1, day),
    ackTimeoutMs: number('ackTimeoutMs', options.ackTimeoutMs, rows.ackTimeoutMs.default, 1, day),
    userTimeoutMs: number('userTimeoutMs', options.userTimeoutMs, rows.userTimeoutMs.default, 0, day),
    congestion: parseCongestion(options.congestion),
    paths: parsePaths(options.paths),
    pathLossMs: number('pathLossMs', options.pathLossMs, rows.pathLossMs.default, 100, day),
    pathsDir: options.pathsDir ?? '',
    dialer: options.dialer ?? null,
    retryMs: number('retryMs', options.retryMs, 1000, 1, day),
    backlogRate: number('backlogRate', options.backlogRate, rows.backlogRate.default, 0, 1e9),
    backlogShare: share('backlogShare', options.backlogShare, rows.backlogShare.default / 100),
    commands: options.commands === true,
    commandPrefix: checkPrefix(options.commandPrefix || rows.commandPrefix.default),
    commandGroup: options.commandGroup ?? '',
    stateMs: number('stateMs', options.stateMs, 1000, 10, day),
    nativePath: options.nativePath ?? defaultNative
  };
}

/**
 * @param {number} minMs
 * @param {number} maxMs
 * @throws {TypeError} with a sentence
 */
function checkReconnect(minMs, maxMs) {
  if (maxMs >= minMs) return;
  throw new TypeError(
    `The longest delay before a reconnect (${maxMs} ms) is shorter than the shortest (${minMs} ms). Enter a longer maximum or a shorter minimum.`
  );
}

module.exports = { checkOptions, checkReconnect };
