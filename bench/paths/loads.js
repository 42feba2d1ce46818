'use strict';
// Loads of the cases.

const { PAPER } = require('./lab');

/** Payload bytes of a bulk record: large, so that envelopes are large. */
const BULK_BYTES = 8192;

/**
 * Returns a load that permanently exceeds the capacity of both links. Excess records wait at the devices: each has few
 * records in flight, one mebibyte in all. Even one link sends that in less than the second after which it would go to
 * the log.
 * @param {number[]} [classes] that share the load @returns {import('../harness/traffic').Traffic[]}
 */
function saturating(classes = [3]) {
  const bits = 1.2 * PAPER.reduce((sum, mbit) => sum + mbit * 1e6, 0);
  const perSecond = bits / 8 / BULK_BYTES / classes.length;
  return classes.map((cls) => ({
    class: cls,
    devices: 16 / classes.length,
    perSecond,
    payload: BULK_BYTES,
    inflight: 8
  }));
}

/**
 * Returns a load of one record of 200 B every 20 ms.
 * @param {number} cls
 * @returns {import('../harness/traffic').Traffic}
 */
const steady = (cls) => ({ class: cls, devices: 5, perSecond: 50, payload: 200 });

/** Seconds for which devices may still send after a saturating load; records that still wait then are discarded. */
const DRAIN_S = 1;

module.exports = { saturating, steady, DRAIN_S };
