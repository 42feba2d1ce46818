'use strict';

/** @type {Record<string, number>} */
const UNITS = { bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9 };

const LEAST = 8e3;
const MOST = 100e9;
const LIMITS = '8kbit to 100gbit';

/** @param {string} text as tc takes it, always with a unit @returns {number} bits a second; NaN when it is none or out of limits */
function parseRate(text) {
  const found = /^(\d{1,15}(?:\.\d{1,6})?)(bit|kbit|mbit|gbit)$/i.exec(text);
  if (!found) return NaN;
  const rate = Math.round(Number(found[1]) * UNITS[found[2].toLowerCase()]);
  return rate >= LEAST && rate <= MOST ? rate : NaN;
}

/** @param {number} rate bits a second @returns {string} the largest unit that shows it without a fraction */
function formatRate(rate) {
  const units = Object.entries(UNITS).reverse();
  const [name, factor] = units.find(([, unit]) => rate >= unit && rate % unit === 0) ?? ['bit', 1];
  return `${rate / factor}${name}`;
}

/** @param {string} text as tc shows it, such as 1600Kbit @returns {number} bits a second, 0 for what is none */
function readRate(text) {
  const found = /^(\d+(?:\.\d+)?)([KMGT]?)bit$/i.exec(text);
  if (!found) return 0;
  const factor = { '': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12 }[found[2].toLowerCase()] ?? 1;
  return Math.round(Number(found[1]) * factor);
}

module.exports = { LIMITS, parseRate, formatRate, readRate };
