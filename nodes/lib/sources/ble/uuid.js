'use strict';
// Bluetooth UUIDs as users write them (180D, 0x180d, 0000180d-0000-1000-8000-00805f9b34fb) and as noble returns them
// (180d, 18).

const { shown } = require('../../base/values');

/** Core specification, volume 3, part B, 2.5.1: a short UUID means 0000xxxx followed by this. */
const BASE = '00001000800000805f9b34fb';

/**
 * @param {string} text
 * @returns {string} 4 or 32 hexadecimal digits; '' if it is not a UUID
 */
function normalUuid(text) {
  const digits = text.trim().toLowerCase().replace(/^0x/, '').replaceAll('-', '');
  if (!/^[0-9a-f]{1,32}$/.test(digits)) return '';
  if (digits.length <= 4) return digits.padStart(4, '0');
  const long = digits.length === 8 ? digits + BASE : digits;
  if (long.length !== 32) return '';
  return long.startsWith('0000') && long.endsWith(BASE) ? long.slice(4, 8) : long;
}

const MAX_UUIDS = 32;

/**
 * @param {string} text separated by commas
 * @returns {string[]}
 * @throws {RangeError} whose message completes "<label> …"
 */
function parseUuids(text) {
  const words = text.split(',').filter((word) => word.trim() !== '');
  if (words.length > MAX_UUIDS)
    throw new RangeError(`has ${words.length} UUIDs; at most ${MAX_UUIDS} are allowed.`);
  return words.map((word) => {
    const uuid = normalUuid(word);
    if (!uuid) throw new RangeError(`contains "${shown(word.trim())}", which is not a UUID such as 180d.`);
    return uuid;
  });
}

module.exports = { normalUuid, parseUuids };
