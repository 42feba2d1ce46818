'use strict';

const { parseDevices } = require('./lib/device-classes');
const { join } = require('./lib/join');
const { integer, text } = require('./lib/options');
const { rate } = require('./lib/status');

const schema = {
  host: text('127.0.0.1', /^[0-9a-zA-Z.:-]+$/, 'a local address such as 127.0.0.1 or 0.0.0.0'),
  port: integer(0, 65535, 1883),
  devices: (/** @type {unknown} */ value) => value,
  devicesJson: (/** @type {unknown} */ value) => value
};

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function MqttDevices(config) {
    RED.nodes.createNode(this, config);
    join(RED, this, config, schema, ({ devices, devicesJson, ...listener }) => {
      const registered = parseDevices(devices, devicesJson);
      const settings = registered.length > 0 ? { devices: registered } : {};
      return { kind: 'source', settings, listener, shown };
    });
  }

  RED.nodes.registerType('seganet-mqtt-devices', MqttDevices);
};

/** @type {NonNullable<import('./lib/member').Stage['shown']>} */
function shown(rates, stats, member) {
  const trouble = member.host.waitsFor(stats);
  if (trouble) return { fill: 'red', shape: 'ring', text: `waiting: ${trouble}` };
  const { slowedFrom = 0 } = /** @type {typeof stats & { slowedFrom?: number }} */ (stats);
  const figures = `${stats.devices} devices · ${rate(rates.recordsOut)}/s`;
  // Others still come in.
  if (slowedFrom > 1) {
    return { fill: 'yellow', shape: 'ring', text: `slowed from class ${slowedFrom} · ${figures}` };
  }
  if (stats.slowed) return { fill: 'yellow', shape: 'ring', text: 'slowed (memory)' };
  return { fill: 'green', shape: 'dot', text: `${member.port} · ${figures}` };
}
