'use strict';

require('../native/node/needs-node');
const { claim } = require('./lib/sources/ble/adapters');
const { carryCommands } = require('./lib/sources/ble/ble-commands');
const { BleProcess } = require('./lib/sources/ble/ble-process');
const { reasonFor } = require('./lib/sources/ble/ble-reasons');
const { schema, toSettings } = require('./lib/sources/ble/ble-settings');
const { Complaints } = require('./lib/base/complaints');
const { join } = require('./lib/engine/join');
const { rate } = require('./lib/base/status');

const NORMAL = 3;

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function BleDevices(config) {
    RED.nodes.createNode(this, config);
    /** @type {BleProcess | undefined} */
    let radio;
    /** @type {(() => void) | null} */
    let release = null;
    let cls = NORMAL;
    /** @type {import('./lib/engine/member').Member | null} */
    const member = join(RED, this, config, schema, (values) => {
      const settings = toSettings(values);
      cls = values.class;
      release = claim(settings.adapter, this.id);
      if (!release) {
        throw new Error(
          'Another ble devices node uses this adapter. Choose another adapter, or combine both nodes.'
        );
      }
      radio = new BleProcess(settings);
      return {
        kind: 'source',
        settings: { protocol: 'pushed' },
        protocol: 'ble',
        shown: () => shown(radio)
      };
    });
    if (!member || !radio) {
      /** @type {(() => void) | null} */ (release)?.();
      return;
    }

    const process = radio;
    const complaints = new Complaints((sentence) => this.warn(sentence));
    process.on('record', ({ deviceId, topic, payload, ts }, taken) => {
      member.inlet.put({ deviceId, topic, payload, cls, flags: 0, ts, seq: -1 }, (error) => {
        taken();
        if (error) complaints.tell('record', `A record of ${deviceId} was not accepted: ${error.message}`);
      });
    });
    process.on('state', ({ state, reason }) => {
      const { sentence } = reasonFor(state, reason);
      if (sentence) complaints.tell(state, sentence);
    });
    process.on('trouble', (device, reason) => {
      complaints.tell(
        `device ${device}`,
        `${device}: ${reason}. The node reconnects when it receives the device again.`
      );
    });
    carryCommands(member.host, process);
    // join() closes the member while the radio process stops.
    this.on('close', (/** @type {() => void} */ done) => {
      process
        .stop()
        .then(() => release?.())
        .finally(done);
    });
  }

  RED.nodes.registerType('seganet-ble-devices', BleDevices);
};

/**
 * @param {BleProcess | undefined} radio
 * @returns {import('./lib/base/status').Shown}
 */
function shown(radio) {
  if (!radio) return { fill: 'grey', shape: 'dot', text: '' };
  if (radio.state !== 'poweredOn') {
    const { shown: text, sentence } = reasonFor(radio.state);
    return { fill: sentence ? 'red' : 'grey', shape: 'ring', text };
  }
  const { connected, seen, valuesDropped } = radio.view;
  if (valuesDropped > 0)
    return { fill: 'yellow', shape: 'ring', text: `${rate(valuesDropped)} values dropped` };
  return { fill: 'green', shape: 'dot', text: `${connected} connected · ${rate(seen)} heard` };
}
