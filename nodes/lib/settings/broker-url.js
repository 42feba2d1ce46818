'use strict';

const { domainToASCII } = require('node:url');
const { shown } = require('../base/values');

const EXAMPLE = 'mqtts://broker.example.com:8883';
/** URLs of one uplink. */
const MOST_URLS = 8;
const MOVE = 'Move them to their own fields, which are stored separately';
/** Value: uses TLS. @type {Record<string, boolean>} */
const SCHEMES = { 'mqtts:': true, 'mqtt:': false };
/** Other names of the schemes, which an MQTT source accepts too. @type {Record<string, boolean>} */
const ALIASES = { 'ssl:': true, 'tls:': true, 'tcp:': false };

/** @typedef {{ host: string, port: number, secure: boolean }} Address host: an IPv6 address has no brackets */

/**
 * Parses the URL of an MQTT broker.
 * @param {string} text
 * @param {object} [options]
 * @param {boolean} [options.takesAliases] ssl:, tls: and tcp: are accepted too
 * @param {string} [options.remedy] where a user name and a password belong
 * @returns {Address}
 * @throws {RangeError} whose message completes "<label> …"; it never repeats a password
 */
function parseBrokerUrl(text, { takesAliases = false, remedy = MOVE } = {}) {
  if (!text) throw new RangeError(`is missing. Enter one such as ${EXAMPLE}.`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url) throw new RangeError(`must be a URL such as ${EXAMPLE}, not "${shown(text)}".`);
  const secure = SCHEMES[url.protocol] ?? (takesAliases ? ALIASES[url.protocol] : undefined);
  if (secure === undefined) {
    throw new RangeError(
      `must start with mqtts:// or mqtt://, as in ${EXAMPLE}, not with ${url.protocol}//.`
    );
  }
  if (url.username || url.password) {
    throw new RangeError(withUser(remedy));
  }
  if (url.port === '0') {
    throw new RangeError(
      "has port 0. Enter the broker's port, such as 8883, or omit it for 8883 (mqtts) or 1883 (mqtt)."
    );
  }
  const host = hostOf(url);
  if (!host) throw new RangeError(`must name a host, as in ${EXAMPLE}.`);
  return { host, port: Number(url.port) || (secure ? 8883 : 1883), secure };
}

/** @param {URL} url @returns {string} the host as DNS has it (IDNA); '' = none, or one that is no name */
function hostOf({ hostname }) {
  // Node encodes other letters than ASCII in the host of a scheme that it does not know.
  if (!hostname.includes('%')) return hostname.replace(/^\[(.*)\]$/, '$1');
  try {
    const name = decodeURIComponent(hostname);
    return /[\s/?#@:\\]/.test(name) ? '' : domainToASCII(name);
  } catch {
    return '';
  }
}

/**
 * Parses the URLs of an uplink, in the order of priority.
 * @param {string} text one URL, or several separated by commas
 * @param {Parameters<typeof parseBrokerUrl>[1]} [options]
 * @returns {Address[]} at least one
 * @throws {RangeError} whose message completes "<label> …"; it never repeats a password
 */
function parseBrokerUrls(text, options) {
  const urls = splitUrls(text);
  if (urls.length === 1) return [parseBrokerUrl(text, options)];
  if (urls.length > MOST_URLS)
    throw new RangeError(`lists ${urls.length} URLs; the most are ${MOST_URLS}. Remove some.`);
  // A comma may be part of a password, of which no text may contain a piece.
  if (text.includes('@')) throw new RangeError(withUser(options?.remedy));
  const places = urls.map((url, i) => partOf(url, i + 1, options));
  const names = places.map(placeName);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice) throw new RangeError(`lists ${twice} twice. Remove one of the two.`);
  return places;
}

/** @param {string} [remedy] */
const withUser = (remedy = MOVE) => `must not contain a user name or password. ${remedy}.`;

/** @param {string} url @param {number} number @param {Parameters<typeof parseBrokerUrl>[1]} [options] */
function partOf(url, number, options) {
  try {
    return parseBrokerUrl(url, options);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new RangeError(`has a list of URLs whose number ${number} ${message}`, { cause: error });
  }
}

/** Splits a list of URLs. @param {string} text @returns {string[]} at least one, which may be empty */
function splitUrls(text) {
  return text.split(',').map((url) => url.trim());
}

/** Returns the host and the port of an address, for display. @param {Pick<Address, 'host' | 'port'>} address */
function placeName({ host, port }) {
  return `${host.includes(':') ? `[${host}]` : host.toLowerCase()}:${port}`;
}

/**
 * Parses the URL of an MQTT broker, with a complete sentence as the error.
 * @param {string} text
 * @param {string} label begins the sentence, such as "The address of the uplink broker"
 * @param {Parameters<typeof parseBrokerUrl>[1]} [options]
 * @returns {Address}
 * @throws {Error} with a sentence
 */
function brokerUrlOf(text, label, options) {
  return inSentence(label, () => parseBrokerUrl(text, options));
}

/**
 * Parses the URLs of an uplink, with a complete sentence as the error.
 * @param {string} text one URL, or several separated by commas
 * @param {string} label
 * @returns {Address[]} at least one, in the order of priority
 * @throws {Error} with a sentence
 */
function brokerUrlsOf(text, label) {
  return inSentence(label, () => parseBrokerUrls(text));
}

/** @template T @param {string} label @param {() => T} parse @returns {T} */
function inSentence(label, parse) {
  try {
    return parse();
  } catch (error) {
    throw new TypeError(`${label} ${/** @type {Error} */ (error).message}`, { cause: error });
  }
}

module.exports = {
  brokerUrlOf,
  brokerUrlsOf,
  parseBrokerUrl,
  parseBrokerUrls,
  placeName,
  splitUrls
};
