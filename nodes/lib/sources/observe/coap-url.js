'use strict';
// Addresses of CoAP resources (RFC 7252, 6.1 and 6.4): coap://host[:port]/path[?query].

const net = require('node:net');
const { shown } = require('../../base/values');

const DEFAULT_PORT = 5683;
const MAX_CHARACTERS = 1024;
/** Longest path segment and longest query part (RFC 7252, 5.10). */
const MAX_OPTION_BYTES = 255;

/**
 * @typedef {object} CoapUrl
 * @property {string} url as entered
 * @property {string} host a name or an address, without brackets
 * @property {number} port
 * @property {string} path for display and topics, without the first /
 * @property {Buffer[]} uriPath
 * @property {Buffer[]} uriQuery
 * @property {Buffer | null} uriHost for servers with many names; null for an address
 */

/**
 * @param {unknown} text
 * @returns {CoapUrl}
 * @throws {RangeError} whose message completes "<label> …"
 */
function parseCoapUrl(text) {
  const given = typeof text === 'string' ? text.trim() : '';
  const shape = 'must be like coap://sensor/temperature';
  if (given === '') throw new RangeError(`${shape}, and is missing.`);
  if (given.length > MAX_CHARACTERS) throw new RangeError(`exceeds ${MAX_CHARACTERS} characters.`);
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(given)?.[1].toLowerCase();
  if (scheme && scheme !== 'coap') throw new RangeError(`${shape}: ${scheme} is not supported.`);
  let url;
  try {
    url = new URL(given);
  } catch {
    throw new RangeError(`${shape}, not "${shown(given)}".`);
  }
  if (!url.hostname) throw new RangeError(`${shape}: the host is missing.`);
  if (url.username || url.password || url.hash) {
    throw new RangeError('must not contain a user, a password or a #fragment.');
  }
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  if (port === 0) throw new RangeError('must not have port 0.');
  const host = decode(url.hostname.replace(/^\[(.*)\]$/, '$1'));
  const segments = url.pathname.split('/').slice(1).map(decode);
  // A trailing / is removed, because constrained servers do not support an empty segment.
  if (segments.at(-1) === '') segments.pop();
  const query = url.search === '' ? [] : url.search.slice(1).split('&').map(decode);
  return {
    url: given,
    host,
    port,
    path: segments.join('/'),
    uriPath: segments.map(toOption),
    uriQuery: query.map(toOption),
    uriHost: net.isIP(host) ? null : toOption(host)
  };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RangeError(
      `contains "${shown(text)}", where a % is not followed by two hexadecimal digits of UTF-8.`
    );
  }
}

/** @param {string} text */
function toOption(text) {
  const bytes = Buffer.from(text.normalize('NFC'));
  if (bytes.length > MAX_OPTION_BYTES) {
    throw new RangeError(`has a part that exceeds ${MAX_OPTION_BYTES} bytes.`);
  }
  return bytes;
}

module.exports = { parseCoapUrl };
