'use strict';
// Validates names and numbers that become part of commands run as root.

const { quoted } = require('../common/quoted');
const { LIMITS, parseRate } = require('./link-bitrate');
const { SCHEMES } = require('./schemes');
const { usageOf } = require('../../base/cli/command-line');

const DEFAULT_SHARE = 10;
const MOST_SHARE = 45;

const usage = usageOf('seganet-net');

/**
 * The kernel's rule [dev_valid_name: 1 to 15 bytes, no slash, colon or white space, not . or ..], without options,
 * templates and unprintable characters.
 * @param {string} name
 * @returns {string}
 */
function checkInterface(name) {
  if (/^(?!\.{1,2}$)(?!-)[!-$&-.0-9;-~]{1,15}$/.test(name)) return name;
  throw usage(`--interface takes the name of a network interface such as eth0, not ${quoted(name)}.`);
}

/** @param {string} text @returns {number} bits per second */
function checkRate(text) {
  const rate = parseRate(text);
  if (Number.isNaN(rate)) {
    throw usage(`--rate takes ${LIMITS} (bit, kbit, mbit, gbit), such as 2mbit, not ${quoted(text)}.`);
  }
  return rate;
}

/** @param {string} text @returns {number} percent */
function checkShare(text) {
  const share = /^\d{1,2}$/.test(text) ? Number(text) : NaN;
  if (share >= 1 && share <= MOST_SHARE) return share;
  throw usage(`--share takes 1 to ${MOST_SHARE} percent, not ${quoted(text)}.`);
}

/** @param {string} text @returns {string} */
function checkScheme(text) {
  if (text === 'auto' || Object.hasOwn(SCHEMES, text)) return text;
  throw usage(`--scheme takes auto or one of ${Object.keys(SCHEMES).join(', ')}, not ${quoted(text)}.`);
}

module.exports = {
  DEFAULT_SHARE,
  MOST_SHARE,
  usage,
  checkInterface,
  checkRate,
  checkShare,
  checkScheme
};
