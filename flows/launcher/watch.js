'use strict';

// Reports on the console what is running, based on what the runtime itself reports: a line for the editor when it
// listens, and one for each device listener and each uplink when its node's status shows it, and again when that
// changes.

const { onRuntimeEvent } = require('../../nodes/lib/base/runtime-events');
const { fail, say } = require('./log');

/**
 * Without a status for a removed node.
 * @typedef {{ id: string, status?: { fill?: string, text?: string } }} NodeStatus
 */

const KINDS = /** @type {Record<string, string>} */ ({
  'seganet-mqtt-devices': 'devices',
  'seganet-uplink': 'uplink',
  'seganet-kafka-uplink': 'uplink',
  'seganet-parquet-uplink': 'uplink'
});

/**
 * @param {import('http').Server} server
 */
function watchEditor(server) {
  server.once('listening', () => {
    const { address, family, port } = /** @type {import('net').AddressInfo} */ (server.address());
    say(`editor: http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`);
  });
}

/**
 * Returns the complete sentence behind an uplink's red status, which has room for its first words only.
 * @param {any} RED
 * @param {string} id of the uplink node
 * @returns {string}
 */
function reasonOf(RED, id) {
  let broker = '';
  RED.nodes.eachNode((/** @type {{ id: string, broker?: string, cluster?: string }} */ config) => {
    // A parquet uplink has no node for its place.
    if (config.id === id) broker = config.broker ?? config.cluster ?? id;
  });
  const { state = '', reason = '' } = RED.nodes.getNode(broker)?.link?.state ?? {};
  return reason && `${state}: ${reason}`;
}

/**
 * Returns a status without figures, which go stale: those behind the first separator, and durations.
 * @param {string} text
 */
function withoutFigures(text) {
  return text.split(' · ')[0].replace(/ \d+ s$/, '');
}

/**
 * @param {any} RED the node-red module
 * @param {(port: number) => void} onListening called once, when devices can connect
 */
function watchStatuses(RED, onListening) {
  /** @type {Map<string, string>} the last reported state, by node */
  const reported = new Map();
  let listening = false;
  const follow = (/** @type {NodeStatus} */ { id, status }) => {
    const kind = KINDS[RED.nodes.getNode(id)?.type];
    const { fill, text = '' } = status ?? {};
    // Yellow is a transition. A red status is reported again when its reason changes.
    if (!kind || (fill !== 'green' && fill !== 'red')) return;
    const port = kind === 'devices' && fill === 'green' ? Number(/^\d+/.exec(text)?.[0]) : 0;
    const state = fill === 'red' ? withoutFigures(text) : `${fill} ${port}`;
    if (reported.get(id) === state) return;
    reported.set(id, state);
    const words = (fill === 'red' && reasonOf(RED, id)) || withoutFigures(text);
    say(port ? `devices: MQTT listener on port ${port}` : `${kind}: ${words}`);
    if (port && !listening) {
      listening = true;
      onListening(port);
    }
  };
  onRuntimeEvent(RED.events, 'node-status', follow, fail);
}

module.exports = { watchEditor, watchStatuses, withoutFigures };
