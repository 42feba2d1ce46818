'use strict';
// Records of the presence topic. The key of a device's record is its id; the value is JSON. Each gateway also writes a
// marker to each partition: when it reads its own marker, it has read what was there before.

const { asUuid } = require('../cloud/bodies');
const { parseAddress } = require('./links/address');

/**
 * @typedef {object} Claim where a device is signed in
 * @property {string} uid
 * @property {string} ci address of the region
 * @property {number} epoch the higher one counts
 * @property {boolean} isOn
 */
/**
 * @typedef {{ kind: 'claim', di: string, claim: Claim } | { kind: 'deleted', di: string } |
 *   { kind: 'marker', ci: string, instance: string, partition: number }} PresenceRecord
 */

/** Begins the key of a marker, before the address of its region. */
const MARKER = 'region:';
const MOST_KEY_BYTES = 320;
const MOST_VALUE_BYTES = 1024;
/** Epochs are near the time in ms. The bound keeps the next one exact. */
const MOST_EPOCH = 2 ** 52;

/** @param {string} di @param {Claim} claim @returns {{ key: string, value: string }} */
function claimRecord(di, { uid, ci, epoch, isOn }) {
  return { key: di, value: JSON.stringify({ di, uid, ci, epoch, state: isOn ? 'on' : 'off' }) };
}

/**
 * @param {string} key
 * @param {string | null} value null = deleted
 * @returns {PresenceRecord | null} null: it is no record of ours
 */
function parseRecord(key, value) {
  if (Buffer.byteLength(key) > MOST_KEY_BYTES) return null;
  const isMarker = key.startsWith(MARKER);
  if (value === null) return !isMarker && asUuid(key) === key ? { kind: 'deleted', di: key } : null;
  if (Buffer.byteLength(value) > MOST_VALUE_BYTES) return null;
  const body = parseMap(value);
  if (!body || typeof body.ci !== 'string' || !parseAddress(body.ci)) return null;
  const { ci } = body;
  if (isMarker) {
    const { instance, partition } = body;
    if (typeof instance !== 'string' || !Number.isInteger(partition)) return null;
    return { kind: 'marker', ci, instance, partition };
  }
  const { di, uid, epoch, state } = body;
  const isFine =
    asUuid(key) === key &&
    di === key &&
    typeof uid === 'string' &&
    asUuid(uid) === uid &&
    Number.isInteger(epoch) &&
    epoch > 0 &&
    epoch <= MOST_EPOCH &&
    (state === 'on' || state === 'off');
  return isFine ? { kind: 'claim', di: key, claim: { uid, ci, epoch, isOn: state === 'on' } } : null;
}

/** @param {string} text @returns {Record<string, any> | null} */
function parseMap(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

module.exports = { MARKER, MOST_EPOCH, claimRecord, parseRecord };
