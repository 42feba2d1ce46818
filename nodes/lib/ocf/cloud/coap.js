'use strict';
// Names of CoAP's numbers (RFC 7252, 7641, 7959, 8323 and OCF), how option values are written, and the types of the
// desk: the transport below the cloud.

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
/**
 * @typedef {object} DeviceAnswer
 * @property {number} code such as 0x45
 * @property {Option[]} options
 * @property {Buffer} payload
 * @property {boolean} last none follows
 * @property {boolean} [failed] it is not of the device: the payload is a sentence of the desk
 */
/** @typedef {{ method: string, path: string[], query: string[], options: Option[], payload: Buffer, observe: boolean, timeoutMs: number }} Question */
/**
 * @typedef {(connection: number, token: Buffer, code: string | number, options: Option[], payload: Buffer) => unknown}
 *   Answering
 */
/**
 * @typedef {(connection: number, topic: string, payload: Buffer, recordClass?: number, post?: number) => Promise<string>}
 *   Recording post: number of a topic
 */
/**
 * Topics whose posts the desk makes records of by itself.
 * @typedef {object} DeskTopics
 * @property {(owner: string, name: string, subject: string, recordClass?: number) => number} openTopic 0: all its posts
 *   are requests
 * @property {(topic: number) => unknown} closeTopic
 * @property {(topic: number, on: boolean) => unknown} followTopic posts go to Topics.posted(); if
 *   it is slow, the latest one
 * @property {(topic: number) => Promise<{ number: number, payload: Buffer } | null>} latestPost
 */
/**
 * @typedef {object} DeskSession
 * @property {string} device
 * @property {string} owner
 * @property {number} until ms since 1970, 0 = no end
 * @property {number} forwardUntil the same for the requests that the desk forwards, if it does
 * @property {true} replace
 */
/**
 * The transport below the cloud. A connection is a number, and keeps it until gone() reports its end. The desk reports
 * each answer that it sends to answered().
 * @typedef {object} Desk
 * @property {Answering} answer
 *   repeated with an Observe option for each notification
 * @property {(requests: Request[], code: string | number, options: Option[], payload: Buffer) => unknown} [answerAll]
 *   the same answer to several requests
 * @property {(connection: number, session: DeskSession) => boolean} identify
 *   false: the connection has closed, or the id is not allowed. Closes an older connection of the device. Called again
 *   when the ends change
 * @property {(connection: number, owner: string, rights: 'r' | 'rw') => unknown} [grant] the desk forwards requests to
 *   devices: those of the owner, and of the users in grant(), until forget() or revoke()
 * @property {(connection: number, owner: string) => unknown} [revoke]
 * @property {(connection: number, token: Buffer) => unknown} [settled] a request without an answer was passed on: what
 *   the desk forwards cannot overtake it
 * @property {(connection: number, reason: string) => unknown} forget the connection stays open
 * @property {(connection: number, reason: string) => unknown} close
 * @property {(device: string, question: Question, onAnswer: (answer: DeviceAnswer) => void) => unknown} ask
 *   returns a handle; that a device is offline or too slow comes as an answer
 * @property {(handle: any) => unknown} cancel
 * @property {Recording} record
 *   resolves to 'safe' when the record is safe, or to the reason why it will not be
 * @property {DeskTopics} [topics] without it, all posts are requests
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
