'use strict';
// Names of CoAP's numbers (RFC 7252, 7641, 7959, 8323 and OCF), and how option values are written.

const OPTION = {
  IF_MATCH: 1,
  URI_HOST: 3,
  ETAG: 4,
  IF_NONE_MATCH: 5,
  OBSERVE: 6,
  URI_PORT: 7,
  LOCATION_PATH: 8,
  URI_PATH: 11,
  CONTENT_FORMAT: 12,
  MAX_AGE: 14,
  URI_QUERY: 15,
  ACCEPT: 17,
  LOCATION_QUERY: 20,
  BLOCK2: 23,
  BLOCK1: 27,
  SIZE2: 28,
  PROXY_URI: 35,
  PROXY_SCHEME: 39,
  SIZE1: 60,
  /** OCF-Accept-Content-Format-Version. */
  OCF_ACCEPT_VERSION: 2049,
  /** OCF-Content-Format-Version. */
  OCF_CONTENT_VERSION: 2053
};

const FORMAT = { LINKS: 40, CBOR: 60, OCF: 10000 };

/** OCF 2.0.0, the value of the two version options. */
const OCF_VERSION = 2048;

/** Critical options (odd numbers, RFC 7252 section 5.4.1) that the cloud understands. */
const KNOWN_CRITICAL = new Set([1, 3, 5, 7, 11, 15, 17, 23, 27, 2049, 2053]);

/** @typedef {[number, Buffer]} Option number and value */
/**
 * A request as the desk passes it.
 * @typedef {object} Request
 * @property {number} connection
 * @property {string} device '' before the connection is identified
 * @property {{ address: string, certificate?: object }} peer
 * @property {string} method such as GET
 * @property {string[]} path
 * @property {string[]} query
 * @property {Option[]} options without those of path and query
 * @property {Buffer} payload
 * @property {Buffer} token
 */

/** @param {number} value whole, 0 to 2^32 - 1 @returns {Buffer} without leading zeros (RFC 7252 section 3.2) */
function uint(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes.subarray(Math.min(4, Math.floor(Math.clz32(value) / 8)));
}

/** @param {Buffer} bytes @returns {number} NaN if it has more than 4 bytes */
function toUint(bytes) {
  return bytes.length > 4 ? NaN : bytes.reduce((value, byte) => value * 256 + byte, 0);
}

/** @param {{ options: Option[] }} message @param {number} number @returns {boolean} */
function hasOption({ options }, number) {
  return options.some(([each]) => each === number);
}

/** @param {{ options: Option[] }} message @param {number} number @returns {number | undefined} the first one's value */
function uintOption({ options }, number) {
  const found = options.find(([each]) => each === number);
  return found && toUint(found[1]);
}

/**
 * Returns the pairs of a query. Clients send one option for each pair, or all pairs in one option (iotivity-lite).
 * @param {{ query: string[] }} request
 * @returns {[string, string][]}
 */
function queryPairs(request) {
  /** @type {[string, string][]} */
  const pairs = [];
  eachPair(request, (part, from, equals, to) => {
    pairs.push([part.slice(from, equals), part.slice(equals + 1, to)]);
  });
  return pairs;
}

/**
 * Calls see() for each pair, which is part[from..to), with its first `=` at `equals`, or none if that is `to`.
 * @param {{ query: string[] }} request
 * @param {(part: string, from: number, equals: number, to: number) => void} see
 */
function eachPair({ query }, see) {
  for (const part of query) {
    let from = 0;
    let equals = -1;
    for (let at = 0; at <= part.length; at++) {
      const char = part[at];
      if (char === '=' && equals < 0) equals = at;
      if (at < part.length && char !== '&' && char !== ';') continue;
      if (at > from) see(part, from, equals < 0 ? at : equals, at);
      from = at + 1;
      equals = -1;
    }
  }
}

/** @param {{ query: string[] }} request @param {string} name @returns {string[]} all values of the name */
function queryValues(request, name) {
  /** @type {string[]} */
  const values = [];
  eachPair(request, (part, from, equals, to) => {
    if (equals - from !== name.length || !part.startsWith(name, from)) return;
    values.push(part.slice(equals + 1, to));
  });
  return values;
}

module.exports = {
  OPTION,
  FORMAT,
  OCF_VERSION,
  KNOWN_CRITICAL,
  uint,
  toUint,
  hasOption,
  uintOption,
  queryPairs,
  queryValues
};
