'use strict';

require('../native/node/needs-node');
const { isLoopback } = require('./lib/base/loopback');
const { parseBridges } = require('./lib/settings/bridges');
const { parseCommandTopics } = require('./lib/settings/command-topics');
const { parseDevices } = require('./lib/settings/device-classes');
const { parsePermissions } = require('./lib/settings/permissions');
const { parseSubscribers } = require('./lib/settings/subscribers');
const { listenerParts } = require('./lib/settings/listener-settings');
const { join } = require('./lib/engine/join');
const { schema } = require('./lib/settings/mqtt-devices');
const { versionOf } = require('./lib/settings/migrations');
const status = require('./lib/base/status');

const MAX_TOPIC_BYTES = 1024;

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function MqttDevices(config) {
    RED.nodes.createNode(this, config);
    join(RED, this, config, schema, (values, host) => {
      const registered = parseDevices(values.devices, values.devicesJson);
      const bridges = parseBridges(values.bridges);
      const permissions = parsePermissions(values.permissions, values.permissionsJson);
      const subscribers = parseSubscribers(values.subscribers);
      const { presenceTopic, rate, burst, receiveMaximum, keepAliveMaxS, sessionExpiryMaxS } = values;
      if (Buffer.byteLength(presenceTopic) > MAX_TOPIC_BYTES) {
        throw new RangeError(`The presence topic exceeds ${MAX_TOPIC_BYTES} bytes. Choose a shorter one.`);
      }
      const settings = {
        ...(registered.length > 0 && { devices: registered }),
        ...(permissions.length > 0 && { permissions }),
        ...(bridges.length > 0 && { bridges }),
        ...(subscribers.length > 0 && { subscribers }),
        ...(presenceTopic && { presenceTopic }),
        classProperty: values.classProperty,
        rate,
        burst,
        receiveMaximum,
        keepAliveMaxS,
        sessionExpiryMaxS
      };
      warnOfOlder(this, config, values);
      const topics = parseCommandTopics(values.commandTopics);
      const parts = listenerParts(RED, this, values, 'mqtt', settings);
      if (topics.length > 0) this.on('close', host.commands.mapTopics(topics));
      return { kind: 'source', ...parts, shown: bridges.length > 0 ? shownWithComplaint(this) : shown };
    });
  }

  RED.nodes.registerType('seganet-mqtt-devices', MqttDevices);
};

/**
 * Warns of a node of an older flow that accepts devices without a login from the network, as it did before.
 * @param {import('node-red').Node} node
 * @param {object} config
 * @param {{ host: string, login: string }} values
 */
function warnOfOlder(node, config, { host, login }) {
  if (versionOf(config) > 1 || login !== 'none' || isLoopback(host)) return;
  node.warn(
    `On ${host}, any client that reaches the port can pose as any device, as in the version that created this flow. ` +
      'Open the node, choose a login or confirm that there is none, and deploy.'
  );
}

/**
 * Also warns, once, that a bridge names a device that it cannot speak for.
 * @param {import('node-red').Node} node
 * @returns {typeof shown}
 */
function shownWithComplaint(node) {
  /** @type {number | null} */
  let before = null;
  let isTold = false;
  return (rates, stats, member) => {
    const refused = stats.counters.notSpokenFor;
    before ??= refused;
    if (refused !== before && !isTold) {
      isTold = true;
      node.warn(
        'A bridge names devices that it cannot speak for, so their records keep the id of the bridge: such a device ' +
          'has a connection or a login of its own, is behind another bridge, has an id that is no device id, or is one ' +
          'too many. Restrict the topics in "Devices behind a bridge". The counter notSpokenFor has the number of records.'
      );
    }
    return shown(rates, stats, member);
  };
}

/** @type {NonNullable<import('./lib/engine/member').Stage['shown']>} */
function shown(rates, stats, member) {
  const trouble = member.host.waitsFor(stats);
  if (trouble) return { fill: 'red', shape: 'ring', text: `waiting: ${trouble}` };
  if (!member.listening) return { fill: 'yellow', shape: 'ring', text: 'opening' };
  const { slowedFrom = 0 } = /** @type {typeof stats & { slowedFrom?: number }} */ (stats);
  const figures = `${stats.devices} devices · ${status.rate(rates.recordsOut)}/s`;
  // More urgent classes are still accepted at full speed.
  if (slowedFrom > 1) {
    return { fill: 'yellow', shape: 'ring', text: `slowed from class ${slowedFrom} · ${figures}` };
  }
  if (stats.slowed) return { fill: 'yellow', shape: 'ring', text: 'slowed (memory)' };
  return { fill: 'green', shape: 'dot', text: `${member.port} · ${figures}` };
}
