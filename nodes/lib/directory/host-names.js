'use strict';
// Whether a request without a login was sent to a name of this gateway. A page of another site can have its own name
// resolve to the gateway (DNS rebinding). Its browser then takes it for a page of the gateway, also by Origin and
// Sec-Fetch-Site; only the Host header has the page's name. X-Forwarded-Host does not count: a page may set it.

const net = require('node:net');
const os = require('node:os');
const { shown } = require('../base/values');

/** Of Node-RED's settings.js. */
const SETTING = 'seganetFindHosts';

/**
 * Returns a check of requests that no login protects.
 * @param {unknown} setting names that the user allows: a list, or separated by commas; undefined = none
 * @param {() => string} [machine] the name of this machine, which may change
 * @returns {(headers: import('node:http').IncomingHttpHeaders) => string} '' if the request may be answered, or a
 *   sentence
 * @throws {TypeError} with a sentence if the setting is wrong
 */
function hostCheck(setting, machine = os.hostname) {
  const allowed = new Set(namesOf(setting));
  return ({ host }) => {
    // HTTP/1.0 only: no browser.
    if (host === undefined) return '';
    const name = nameOf(host);
    if (net.isIP(name) || name === 'localhost' || allowed.has(name)) return '';
    if (machineNames(machine()).includes(name)) return '';
    return `Without a login, the directory is at IP addresses, localhost, the name of this machine and the names in ${SETTING} only, not at "${shown(host)}". Add this name to ${SETTING} in Node-RED's settings.js, or set a login (adminAuth).`;
  };
}

/** @param {unknown} setting @returns {string[]} */
function namesOf(setting) {
  const given = typeof setting === 'string' ? setting.split(',') : (setting ?? []);
  if (!Array.isArray(given)) throw new TypeError(`${SETTING} must be a list of host names.`);
  const texts = given.map((name) => (typeof name === 'string' ? name.trim() : name)).filter(Boolean);
  const names = texts.map((text) => (typeof text === 'string' ? nameOf(text) : ''));
  const wrong = texts.find((text, index) => !/^[^*/]+$/.test(names[index]) || String(text).includes('/'));
  if (wrong !== undefined)
    throw new TypeError(
      `${SETTING} must have host names such as gateway.example.org, not "${shown(wrong)}".`
    );
  return names;
}

/** @param {string} own @returns {string[]} as mDNS knows it, too */
function machineNames(own) {
  const name = nameOf(own);
  const [short] = name.split('.');
  return short ? [name, short, `${short}.local`] : [];
}

/** @param {string} host with or without a port @returns {string} in lower case, no brackets; '' = not a host */
function nameOf(host) {
  const url = `http://${host}`;
  if (!URL.canParse(url)) return '';
  return new URL(url).hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

module.exports = { SETTING, hostCheck };
