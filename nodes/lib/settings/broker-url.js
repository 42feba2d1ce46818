'use strict';

const { shown } = require('../base/values');

const EXAMPLE = 'mqtts://broker.example.com:8883';
const MOVE = 'Move them to their own fields, which are stored separately';
/** True: TLS. @type {Record<string, boolean>} */
const SCHEMES = { 'mqtts:': true, 'mqtt:': false };
/** Other names of the same, which an MQTT source takes too. @type {Record<string, boolean>} */
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
    throw new RangeError(`must not contain a user name or password. ${remedy}.`);
  }
  if (!url.hostname) throw new RangeError(`must name a host, as in ${EXAMPLE}.`);
  if (url.port === '0') {
    throw new RangeError(
      "has port 0. Enter the broker's port, such as 8883, or omit it for 8883 (mqtts) or 1883 (mqtt)."
    );
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(url.port) || (secure ? 8883 : 1883), secure };
}

/**
 * The same, for a caller without a label of its own.
 * @param {string} text
 * @param {string} label begins the sentence, such as "The address of the uplink broker"
 * @param {Parameters<typeof parseBrokerUrl>[1]} [options]
 * @returns {Address}
 * @throws {Error} with a sentence
 */
function brokerUrlOf(text, label, options) {
  try {
    return parseBrokerUrl(text, options);
  } catch (error) {
    throw new TypeError(`${label} ${/** @type {Error} */ (error).message}`, { cause: error });
  }
}

module.exports = { parseBrokerUrl, brokerUrlOf };
