'use strict';
// A row of the files, their columns (docs/use/parquet.md), and the order in a file.

/**
 * @typedef {object} Row
 * @property {string} gateway
 * @property {string} boot epoch of the key, base 36
 * @property {number} class 1 to 8
 * @property {number} sequence of the batch
 * @property {number} part of the batch; -1 = the batch is this record
 * @property {string} device
 * @property {string} topic
 * @property {number} ts ms since 1970
 * @property {number | null} seq
 * @property {number | null} value
 * @property {string | null} unit
 * @property {Uint8Array} payload
 */

/** Bytes of a row in memory that are not its payload. */
const ROW_BYTES = 200;
/** The name that Hive gives to the folder of rows without a value of the partition. */
const NO_DATE = '__HIVE_DEFAULT_PARTITION__';
const DAY_MS = 86400000;
/** 10000-01-01: later days have no name of ten characters. */
const END_MS = 253402300800000;

/**
 * Compares two rows by device, time and key. Two copies of a record are equal, and so neighbors.
 * @param {Row} a @param {Row} b
 */
function compareRows(a, b) {
  return (
    compareTexts(a.device, b.device) ||
    a.ts - b.ts ||
    compareTexts(a.boot, b.boot) ||
    a.class - b.class ||
    a.sequence - b.sequence ||
    a.part - b.part ||
    compareTexts(a.gateway, b.gateway)
  );
}

/** @param {string} a @param {string} b */
function compareTexts(a, b) {
  return a === b ? 0 : a < b ? -1 : 1;
}

/**
 * Returns the day of a time in UTC, as in the name of its folder.
 * @param {number} ts ms since 1970
 */
function dateOf(ts) {
  if (!(ts >= 0 && ts < END_MS)) return NO_DATE;
  return nameOfDay(Math.floor(ts / DAY_MS));
}

let lastDay = -1;
let lastName = '';

/** Most records have the day of the one before. @param {number} day since 1970 */
function nameOfDay(day) {
  if (day !== lastDay) {
    lastDay = day;
    lastName = new Date(day * DAY_MS).toISOString().slice(0, 10);
  }
  return lastName;
}

/** @param {Row} row @returns {number} bytes in memory, about */
function sizeOf({ device, topic, payload }) {
  return ROW_BYTES + device.length + topic.length + payload.length;
}

module.exports = { DAY_MS, NO_DATE, compareRows, dateOf, sizeOf };
