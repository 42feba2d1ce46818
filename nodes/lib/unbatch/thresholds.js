'use strict';
// The thresholds of a batch stage, from the settings of its node.

const { keyBytes } = require('./record-key');

/** The engine's limit for a batch whose size follows the link. */
const ADAPTIVE_BYTES = 65536;
/** Of a batch that waits to save bytes, while the link is busy. */
const SAVING = { maxDelayMs: 1000, gapMs: 2 };

/**
 * @template {{ mode: string, flush: string, minDevices: number, maxBytes: number }} T
 * @param {T} settings
 * @param {string} gatewayId
 * @returns {T} without limits, the thresholds of the flow file that the dialog hides are replaced
 */
function thresholds(settings, gatewayId) {
  const { flush } = settings;
  const own = {
    ...(flush !== 'limits' && { minDevices: 0, maxBytes: ADAPTIVE_BYTES }),
    ...((flush === 'balanced' || flush === 'thrifty') && SAVING)
  };
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

module.exports = { thresholds };
