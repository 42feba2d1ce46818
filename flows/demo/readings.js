'use strict';

// Generates the readings of the simulated devices. Each kind of device is a function of its number and the time, so
// that a value changes gradually like a real one and two runs look alike.

/**
 * @typedef {object} Reading
 * @property {string} topic after `d/<device>/`
 * @property {Record<string, unknown>} data
 */

const MINUTE_MS = 60000;

/**
 * Returns a slow wave between -1 and 1 with its own phase for each device.
 * @param {number} device
 * @param {number} now
 * @param {number} minutes
 */
function wave(device, now, minutes) {
  return Math.sin((2 * Math.PI * now) / (minutes * MINUTE_MS) + device * 1.7);
}

/** @param {number} value @param {number} digits */
const round = (value, digits) => Number(value.toFixed(digits));

/**
 * @param {number} device
 * @param {number} now
 * @returns {Reading}
 */
function climate(device, now) {
  return {
    topic: 'climate',
    data: {
      temperature: round(19 + 6 * wave(device, now, 7) + Math.random() * 0.2, 2),
      humidity: round(62 + 18 * wave(device + 3, now, 11) + Math.random(), 1),
      battery: round(3.1 + 0.2 * wave(device, now, 600), 3)
    }
  };
}

/**
 * A probe with several depths: a longer record.
 * @param {number} device
 * @param {number} now
 * @returns {Reading}
 */
function soil(device, now) {
  const layers = Array.from({ length: 12 }, (_, i) => ({
    depthCm: 5 + i * 5,
    moisture: round(24 + 8 * wave(device + i, now, 13) + Math.random() * 0.3, 2),
    temperature: round(14 + 2 * wave(device - i, now, 17), 2)
  }));
  return { topic: 'soil', data: { field: `field-${device % 8}`, layers } };
}

/**
 * A wearable that sends a short section of its signal.
 * @param {number} device
 * @param {number} now
 * @returns {Reading}
 */
function heart(device, now) {
  const rate = round(72 + 14 * wave(device, now, 3) + Math.random() * 2, 0);
  const beats = Array.from({ length: 24 }, () => round(60000 / rate + (Math.random() - 0.5) * 40, 0));
  return { topic: 'heart', data: { rate, beatsMs: beats, contact: true } };
}

/** Mostly short records, as in the field: five of eight kinds report the climate, two a heart, one the soil. */
const KINDS = [climate, heart, climate, climate, soil, climate, heart, climate];
/** About one alarm per second from a fleet of 64 devices with 10 records per second each. */
const ALARM_CHANCE = 1 / 640;

/**
 * Returns the next reading of a device: JSON of 100 to 1,000 bytes.
 * @param {number} device its number
 * @param {number} now ms since the epoch
 * @param {number} random from 0 to 1
 * @returns {{ topic: string, payload: string }} topic after `d/<device>/`
 */
function nextReading(device, now, random = Math.random()) {
  const kind = KINDS[device % KINDS.length];
  const { topic, data } = kind(device, now);
  const head = { at: new Date(now).toISOString(), unit: `${kind.name}-${device}`, firmware: '1.4.2' };
  if (random < ALARM_CHANCE) {
    const alarm = {
      ...head,
      alarm: `${topic} out of range`,
      level: 'critical',
      acknowledged: false,
      count: 1
    };
    return { topic: 'alarm', payload: JSON.stringify(alarm) };
  }
  return { topic, payload: JSON.stringify({ ...head, ...data }) };
}

module.exports = { nextReading };
