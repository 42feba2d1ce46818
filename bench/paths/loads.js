'use strict';
// Loads of the cases.

const { PAPER } = require('./lab');

/** A record of the bulk, bytes of payload: so large that envelopes are. */
const BULK_BYTES = 8192;

/**
 * Offers more than both cables carry, for ever. What is beyond waits at the devices: each has few records in flight, a mebibyte in all, which
 * is sent in a fraction of the second after which the log would get it, also by one cable alone.
 * @param {number[]} [classes] that share it @returns {import('../harness/traffic').Traffic[]}
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

/** A record of 200 B each 20 ms. @param {number} cls @returns {import('../harness/traffic').Traffic} */
const steady = (cls) => ({ class: cls, devices: 5, perSecond: 50, payload: 200 });

/** Seconds in which the devices may still send after a load that saturates: then what waits there is forgotten. */
const DRAIN_S = 1;

module.exports = { saturating, steady, DRAIN_S };
