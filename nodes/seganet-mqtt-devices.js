'use strict';

const { join } = require('./lib/join');
const { integer, text } = require('./lib/options');
const { rate } = require('./lib/status');

const schema = {
  host: text('127.0.0.1', /^[0-9a-zA-Z.:-]+$/, 'a local address such as 127.0.0.1 or 0.0.0.0'),
  port: integer(0, 65535, 1883)
};

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function MqttDevices(config) {
    RED.nodes.createNode(this, config);
    join(RED, this, config, schema, (listener) => ({ kind: 'source', settings: {}, listener, shown }));
  }

  RED.nodes.registerType('seganet-mqtt-devices', MqttDevices);
};

/** @type {NonNullable<import('./lib/member').Stage['shown']>} */
function shown(rates, stats, member) {
  const trouble = member.host.waitsFor(stats);
  if (trouble) return { fill: 'red', shape: 'ring', text: `waiting: ${trouble}` };
  if (stats.slowed) return { fill: 'yellow', shape: 'ring', text: 'slowed (memory)' };
  return {
    fill: 'green',
    shape: 'dot',
    text: `${member.port} · ${stats.devices} devices · ${rate(rates.recordsOut)}/s`
  };
}
