'use strict';

const { onInput } = require('./lib/base/message-input');
const { join } = require('./lib/engine/join');
const { keyBytes } = require('./lib/unbatch/record-key');
const { schema } = require('./lib/settings/batch');
const { toRecord } = require('./lib/base/record');
const { rate } = require('./lib/base/status');

/** The engine's limit for a batch whose size follows the link. */
const ADAPTIVE_BYTES = 65536;

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Batch(config) {
    RED.nodes.createNode(this, config);
    const member = join(RED, this, config, schema, (settings, { gatewayId }) => ({
      kind: 'batch',
      settings: { ...thresholds(settings, gatewayId), immediateClass: 1 },
      shown
    }));
    if (!member) return;

    onInput(this, (msg, _send, done) => {
      if (msg.flush === true) {
        member.host.engine.flush(member.stage);
        return done();
      }
      member.put(toRecord(msg), done, { msg });
    });
  }

  RED.nodes.registerType('seganet-batch', Batch);
};

/**
 * @template {{ mode: string, flush: string, minDevices: number, maxBytes: number }} T
 * @param {T} settings
 * @param {string} gatewayId
 * @returns {T} in adaptive mode, the thresholds of the flow file are replaced
 */
function thresholds(settings, gatewayId) {
  const own = settings.flush === 'adaptive' ? { minDevices: 0, maxBytes: ADAPTIVE_BYTES } : {};
  const chosen = { ...settings, ...own };
  return { ...chosen, maxBytes: withoutKey(chosen, gatewayId) };
}

/**
 * @param {{ mode: string, maxBytes: number }} settings
 * @param {string} gatewayId
 * @returns {number} bytes left for the records: the uplink adds the batch key to an envelope, and both must fit
 */
function withoutKey({ mode, maxBytes }, gatewayId) {
  return mode === 'envelope' ? Math.max(1, maxBytes - keyBytes(gatewayId)) : maxBytes;
}

/** @type {NonNullable<import('./lib/engine/member').Stage['shown']>} */
function shown(rates, _stats, member) {
  const text = `${rate(rates.recordsIn)}/s in ${rate(rates.batches)} batches/s${member.carriage()}`;
  return { fill: rates.recordsIn > 0 ? 'green' : 'grey', shape: 'dot', text };
}
