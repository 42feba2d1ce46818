'use strict';
// The days of which files are read.

const { NO_DATE } = require('../files/row');

/** @typedef {{ from: string, to: string }} Days with both ends, '' = no end; both '' = also rows without a day */

/** @param {Days} days @param {string} date as in the name of a folder */
function isAmong({ from, to }, date) {
  if (from === '' && to === '') return true;
  return date !== NO_DATE && date >= from && (to === '' || date <= to);
}

/**
 * @param {string} text a day, or FROM..TO, each of which may be missing
 * @returns {Days | null} null: it is wrong
 */
function readDays(text) {
  const [, from, dots = '', to = dots ? '' : from] = /^([\d-]*)(?:(\.\.)([\d-]*))?$/.exec(text) ?? [];
  if (from === undefined || (from === '' && to === '')) return null;
  if (![from, to].every((day) => day === '' || isDay(day))) return null;
  return from !== '' && to !== '' && from > to ? null : { from, to };
}

/** @param {string} day */
function isDay(day) {
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) return false;
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

module.exports = { isAmong, readDays };
