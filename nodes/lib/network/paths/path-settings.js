'use strict';
// Validates names, addresses and numbers that become part of commands run with CAP_NET_ADMIN.

const net = require('node:net');
const { quoted } = require('../common/quoted');
const { usageOf } = require('../../base/cli/command-line');
const { shownUrl } = require('../../base/shown-url');
const { MOST_PATHS } = require('./path-numbers');

/** @typedef {'active' | 'backup'} Role */
/**
 * target: an interface, or an IPv4 address of one; metered: it costs by the byte, default false.
 * @typedef {{ target: string, role: Role, metered?: boolean }} Wanted
 */
/** @typedef {{ host: string, port: number }} Broker */

const usage = usageOf('seganet-paths');

/** Mark of a path that costs by the byte. */
const METERED = 'metered';

/** The kernel's rule for interface names [dev_valid_name], without options and separators of paths. */
const INTERFACE = /^(?!\.{1,2}$)(?!-)[!-$&-+.0-9;-~-]{1,15}$/;

/**
 * @param {string} text such as eth0,wwan0:backup:metered
 * @param {string} [name] of the option
 * @param {(message: string) => Error} [refusal]
 * @returns {Wanted[]} none = auto
 */
function checkPaths(text, name = '--paths', refusal = usage) {
  if (text === 'auto') return [];
  const wanted = text.split(',').map((part) => {
    const [target, ...words] = part.trim().split(':');
    if (!(net.isIPv4(target) || INTERFACE.test(target))) {
      throw refusal(
        `${name} takes auto or a list such as eth0,wwan0:backup of interfaces or IPv4 addresses, not ${quoted(part)}.`
      );
    }
    return { target, ...checkMarks(words, refusal) };
  });
  if (wanted.length > MOST_PATHS) throw refusal(`${name} takes at most ${MOST_PATHS} paths.`);
  const duplicate = wanted.find(({ target }, i) => wanted.findIndex((each) => each.target === target) !== i);
  if (duplicate) throw refusal(`${name} names '${duplicate.target}' twice.`);
  return wanted;
}

/**
 * @param {string[]} words after the target of a path
 * @param {(message: string) => Error} refusal
 * @returns {{ role: Role, metered?: boolean }}
 */
function checkMarks(words, refusal) {
  const roles = words.filter((word) => word !== METERED);
  const [role = 'active'] = roles;
  if (role !== 'active' && role !== 'backup') {
    throw refusal(`A path is 'active' or 'backup', and may be 'metered', not ${quoted(role)}.`);
  }
  if (roles.length > 1 || words.length - roles.length > 1) {
    throw refusal(`A path has one role and at most one 'metered', not ${quoted(words.join(':'))}.`);
  }
  return { role, ...(words.includes(METERED) && { metered: true }) };
}

/** @type {Record<string, number>} */
const PORTS = { 'mqtt:': 1883, 'tcp:': 1883, 'mqtts:': 8883, 'ssl:': 8883, 'ws:': 80, 'wss:': 443 };

/** @param {string} text host:port, or the URL of the broker @returns {Broker} */
function checkBroker(text) {
  const wrong = () =>
    usage(`--broker takes host:port or a URL such as mqtts://cloud.example, not ${quoted(shownUrl(text))}.`);
  let url;
  try {
    url = new URL(/^[a-z]+:\/\//i.test(text) ? text : `tcp://${text}`);
  } catch {
    throw wrong();
  }
  const isBare = !text.includes('://');
  const port = url.port === '' ? (isBare ? 0 : PORTS[url.protocol]) : Number(url.port);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (!port || host === '' || host.length > 253 || /[^\w.:-]/.test(host)) throw wrong();
  return { host, port };
}

/**
 * @param {string} name of the option
 * @param {string} text
 * @param {number} least
 * @param {number} most
 * @param {string} [unit]
 * @returns {number} a whole number
 */
function checkNumber(name, text, least, most, unit = 'milliseconds') {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : NaN;
  if (number >= least && number <= most) return number;
  throw usage(`--${name} takes ${least} to ${most} ${unit}, not ${quoted(text)}.`);
}

module.exports = { checkPaths, checkBroker, checkNumber };
