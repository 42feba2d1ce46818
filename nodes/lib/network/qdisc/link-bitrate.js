'use strict';

/** @type {Record<string, number>} */
const UNITS = { bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9 };

const LEAST = 8e3;
const MOST = 100e9;
const LIMITS = '8kbit to 100gbit';

/**
 * @param {string} text as tc accepts it, always with a unit
 * @returns {number} bits per second; NaN if it is invalid or out of limits
 */
function parseRate(text) {
  const found = /^(\d{1,15}(?:\.\d{1,6})?)(bit|kbit|mbit|gbit)$/i.exec(text);
  if (!found) return NaN;
  const rate = Math.round(Number(found[1]) * UNITS[found[2].toLowerCase()]);
  return rate >= LEAST && rate <= MOST ? rate : NaN;
}

/** @param {number} rate bits per second @returns {string} in the largest unit that needs no fraction */
function formatRate(rate) {
  const units = Object.entries(UNITS).reverse();
  const [name, factor] = units.find(([, unit]) => rate >= unit && rate % unit === 0) ?? ['bit', 1];
  return `${rate / factor}${name}`;
}

/** @param {string} text as tc prints it, such as 1600Kbit @returns {number} bits per second, 0 if it is invalid */
function readRate(text) {
  const found = /^(\d+(?:\.\d+)?)([KMGT]?)bit$/i.exec(text);
  if (!found) return 0;
  const factor = { '': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 }[found[2].toLowerCase()] ?? 1;
  return Math.round(Number(found[1]) * factor);
}

module.exports = { LIMITS, parseRate, formatRate, readRate };
