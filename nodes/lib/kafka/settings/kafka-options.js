'use strict';
// Checks the options of the threads of a Kafka cluster, and reads the settings of its node into them.

const { CLASSES } = require('../../base/classes');
const { isLoopback } = require('../../base/loopback');
const { badCharacter } = require('../../base/topic-template');
const { shown } = require('../../base/values');
const { tlsOptions } = require('../../settings/broker-options');
const { isTopicName } = require('./kafka-names');
const { clientIdsOf } = require('../../settings/group-options');
const { checkReconnect } = require('../../settings/uplink-options');

/**
 * How to reach a cluster.
 * @typedef {object} ClusterOptions
 * @property {Broker[]} brokers
 * @property {string} url for display: the first broker
 * @property {boolean} secure
 * @property {import('../../settings/uplink-options').TlsOptions} tls
 * @property {import('../../settings/uplink-options').TlsFiles} tlsFiles override `tls`; read for each new client
 * @property {string} minTls 'TLSv1.3' or 'TLSv1.2'
 * @property {{ mechanism: string, username: string, password: string } | null} sasl
 * @property {string} clientId '' = the gateway id
 * @property {number} connectTimeoutMs
 * @property {number} ackTimeoutMs longest wait of a broker for its replicas
 * @property {number} reconnectMinMs
 * @property {number} reconnectMaxMs
 */

/** @typedef {{ host: string, port: number }} Broker */

/**
 * Options of the thread of the uplinks.
 * @typedef {ClusterOptions & {gateway: string, window: number, requestBytes: number, compression: string,
 *   backlogRate: number, backlogShare: number, replicated?: boolean, stateMs?: number,
 *   nativePath?: string}} KafkaOptions
 */

/**
 * @typedef {Required<KafkaOptions> & {groups: number[][], clientIds: string[]}} CheckedOptions
 */

const DEFAULT_PORT = 9092;
const MAX_BROKERS = 100;
/** Class 1 has a producer, and so connections, of its own: nothing that other classes send is ahead of it. */
const GROUPS = [[1], Array.from({ length: CLASSES - 1 }, (_, i) => i + 2)];
/** Names of the mechanisms in the protocol. */
const MECHANISMS = /** @type {Record<string, string>} */ ({
  plain: 'PLAIN',
  'scram-sha-256': 'SCRAM-SHA-256',
  'scram-sha-512': 'SCRAM-SHA-512'
});

/**
 * Parses the brokers of a cluster: `host:port`, separated by commas or spaces. The port 9092 may be omitted.
 * @param {string} text
 * @returns {Broker[]} at least one
 * @throws {TypeError} with a sentence
 */
function parseBrokers(text) {
  const names = text.split(/[\s,]+/).filter(Boolean);
  if (names.length === 0) {
    throw new TypeError(
      'The Kafka cluster has no broker. Enter one or more, such as kafka-1:9092, kafka-2:9092.'
    );
  }
  if (names.length > MAX_BROKERS)
    throw new TypeError(`The Kafka cluster has more than ${MAX_BROKERS} brokers.`);
  return names.map(parseBroker);
}

/** @param {string} name @returns {Broker} */
function parseBroker(name) {
  const [, v6, plain, digits] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]{1,253}))(?::(\d{1,5}))?$/.exec(name) ?? [];
  const port = digits === undefined ? DEFAULT_PORT : Number(digits);
  if ((v6 ?? plain) === undefined || port < 1 || port > 65535) {
    throw new TypeError(
      `The Kafka broker '${shown(name)}' is no address. Enter host:port, such as kafka-1:9092, without a protocol.`
    );
  }
  return { host: v6 ?? plain, port };
}

/** @param {Broker[]} brokers @returns {string} the first one, as an address */
function shownAddress([{ host, port }]) {
  return `kafka://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Turns the settings of a cluster node into options.
 * @param {ReturnType<typeof import('../../base/options').parseOptions<typeof import('./kafka').schema>>['values']} values
 * @param {{ node: any, files: import('../../settings/uplink-options').TlsFiles | undefined }} tls core tls-config node, and its files
 * @returns {{ options: Omit<KafkaOptions, 'gateway'>, warning: string,
 *   shared: { commands: string, devices: string } | null }} shared: topics of what gateways share, null = nothing
 * @throws {Error} with a sentence
 */
function clusterOptions(values, tls) {
  const { security, sasl, username = '', password, requestKiB, backlogShare, ...others } = values;
  const { commands, commandsTopic, devicesTopic, ...rest } = others;
  const brokers = parseBrokers(values.brokers);
  checkReconnect(values.reconnectMinMs, values.reconnectMaxMs);
  const secure = security === 'tls';
  const far = brokers.find(({ host }) => !isLoopback(host));
  const warning =
    secure || !far
      ? ''
      : `The connections to the Kafka cluster at ${far.host} are not encrypted${sasl === 'plain' ? ', and they show the password' : ''}. Choose TLS outside this machine.`;
  return {
    shared: commands === 'on' ? sharedTopics(commandsTopic, devicesTopic) : null,
    warning,
    options: {
      ...rest,
      brokers,
      url: shownAddress(brokers),
      secure,
      tls: secure ? checkTls(tlsOptions(values.tls, tls.node, 'Kafka cluster', tls.files)) : {},
      tlsFiles: (secure && tls.files) || {},
      sasl: saslOf(sasl, username, password),
      requestBytes: requestKiB * 1024,
      backlogShare: backlogShare / 100
    }
  };
}

/** @param {string} commands @param {string} devices */
function sharedTopics(commands, devices) {
  const wrong = [commands, devices].find((topic) => !isTopicName(topic));
  if (wrong !== undefined)
    throw new TypeError(
      `'${shown(wrong)}' is not the name of a Kafka topic. Use letters, digits, dot, underscore and hyphen.`
    );
  if (commands === devices)
    throw new TypeError(`Commands and devices have the same topic '${shown(devices)}'. Give each its own.`);
  return { commands, devices };
}

/** @param {string} mechanism @param {string} username @param {string} password */
function saslOf(mechanism, username, password) {
  if (mechanism === 'none') return null;
  if (username === '' || password === '') {
    throw new TypeError(
      'The Kafka cluster has a SASL mechanism, but no user name or no password. Enter both.'
    );
  }
  return { mechanism: MECHANISMS[mechanism], username, password };
}

/** @param {import('../../settings/uplink-options').TlsOptions} tls */
function checkTls(tls) {
  if (tls.rejectUnauthorized === false) {
    throw new TypeError(
      "The TLS node does not verify the cluster's certificates, so anyone could receive the records. Turn verification on, and add the cluster's certificate authority there if it is your own."
    );
  }
  return tls;
}

/**
 * Fills in what the uplink's thread needs.
 * @param {KafkaOptions} options
 * @param {string} defaultNative
 * @returns {CheckedOptions}
 * @throws {TypeError} with a sentence
 */
function checkOptions(options, defaultNative) {
  const { gateway, stateMs = 1000, nativePath = defaultNative, replicated = false } = options;
  const bad = badCharacter(gateway);
  if (bad) throw new TypeError(`The gateway id '${gateway}' ${bad}.`);
  const clientId = (options.clientId || gateway).replace(/\s/g, '_');
  return {
    ...options,
    clientId,
    groups: GROUPS,
    clientIds: clientIdsOf(clientId, GROUPS.length),
    replicated,
    stateMs,
    nativePath
  };
}

module.exports = { checkOptions, clusterOptions, parseBrokers };
