'use strict';
// Bodies of requests and answers: CBOR maps with text keys, in OCF's content format or as plain CBOR.

const cbor = require('../../base/cbor');
const { problemOf } = require('./cbor-bounds');
const { FORMAT, OCF_VERSION, OPTION, hasOption, uint, uintOption } = require('./coap');
const { Refusal } = require('./refusal');

/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./coap').Option} Option */

/** Devices that are small may not read floats of 16 bits. */
const WRITTEN = /** @type {const} */ ({ floats: 'single' });
/** Values of options, which stay as they are. @type {Map<number, Buffer>} */
const FORMAT_VALUES = new Map(Object.values(FORMAT).map((format) => [format, uint(format)]));
const VERSION_VALUE = uint(OCF_VERSION);

/** @param {unknown} value @returns {Buffer} */
function encode(value) {
  return cbor.encode(value, WRITTEN);
}

/**
 * Returns the map in a payload.
 * @param {Request} request
 * @returns {Record<string, unknown>}
 * @throws {Refusal} 4.15 for another format, 4.00 for anything but a map
 */
function mapOf(request) {
  checkContentFormat(request);
  const problem = problemOf(request.payload);
  if (problem) throw new Refusal('4.00', `The CBOR body ${problem}.`);
  const value = decode(request.payload);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) {
    throw new Refusal('4.00', 'The body must be a CBOR map with text keys.');
  }
  return value;
}

/**
 * Checks that a payload is a CBOR map, without decoding it.
 * @param {Request} request
 */
function checkMap(request) {
  checkContentFormat(request);
  const problem = problemOf(request.payload);
  if (problem) throw new Refusal('4.00', `The CBOR body ${problem}.`);
  if (request.payload[0] >> 5 !== 5) throw new Refusal('4.00', 'The body must be a CBOR map with text keys.');
}

/** @param {Buffer} payload that passed problemOf() @returns {any} */
function decode(payload) {
  try {
    return cbor.decode(payload);
  } catch (error) {
    if (!(error instanceof cbor.CborError)) throw error;
    throw new Refusal('4.00', `The CBOR body is invalid: it ${error.message}.`);
  }
}

/** A payload without a format counts as CBOR, as older clients send it. @param {Request} request */
function checkContentFormat(request) {
  const format = uintOption(request, OPTION.CONTENT_FORMAT) ?? FORMAT.OCF;
  if (format !== FORMAT.CBOR && format !== FORMAT.OCF) {
    throw new Refusal('4.15', 'The content format must be 60 or 10000 (CBOR).');
  }
}

/**
 * Returns the format in which to answer.
 * @param {Request} request
 * @param {number} [usual] for a client that shows no preference
 * @returns {number}
 * @throws {Refusal} 4.06
 */
function answerFormat(request, usual = FORMAT.OCF) {
  const accept = uintOption(request, OPTION.ACCEPT);
  if (accept === undefined) {
    if (speaksOcf(request)) return FORMAT.OCF;
    return uintOption(request, OPTION.CONTENT_FORMAT) === FORMAT.CBOR ? FORMAT.CBOR : usual;
  }
  if (accept === FORMAT.CBOR || accept === FORMAT.OCF) return accept;
  throw new Refusal('4.06', 'The answer is available in the formats 60 and 10000 (CBOR).');
}

/** @param {Request} request @throws {Refusal} 4.06 if the client does not accept link format */
function checkLinkFormat(request) {
  const accept = uintOption(request, OPTION.ACCEPT);
  if (accept === undefined || accept === FORMAT.LINKS) return;
  throw new Refusal('4.06', 'The answer is available in the format 40 (link format).');
}

/** True if the client sent an OCF version, and so understands one. @param {Request} request */
function speaksOcf(request) {
  return hasOption(request, OPTION.OCF_ACCEPT_VERSION) || hasOption(request, OPTION.OCF_CONTENT_VERSION);
}

/**
 * Returns the options that describe an answer's payload. The version option is critical, so only a client that sent one
 * gets it: libcoap rejects the answer otherwise.
 * @param {Request} request
 * @param {number} format
 * @returns {Option[]}
 */
function formatOptions(request, format) {
  /** @type {Option[]} */
  const options = [[OPTION.CONTENT_FORMAT, FORMAT_VALUES.get(format) ?? uint(format)]];
  if (format === FORMAT.OCF && speaksOcf(request)) {
    options.push([OPTION.OCF_CONTENT_VERSION, VERSION_VALUE]);
  }
  return options;
}

/**
 * Returns a text of the body.
 * @param {Record<string, unknown>} body
 * @param {string} name
 * @param {number} [most] characters
 * @returns {string}
 * @throws {Refusal} 4.00 if it is missing, empty, too long or no text
 */
function textOf(body, name, most = 1024) {
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  if (typeof value !== 'string' || value === '') throw new Refusal('4.00', `${name} must be a text.`);
  if (value.length > most) throw new Refusal('4.00', `${name} has more than ${most} characters.`);
  // PostgreSQL has no NUL in texts.
  if (value.includes('\0')) throw new Refusal('4.00', `${name} must not have the character NUL.`);
  return value;
}

/**
 * As textOf(), but the text may be missing.
 * @param {Record<string, unknown>} body
 * @param {string} name
 * @returns {string} '' = missing
 */
function optionalText(body, name) {
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  return value === undefined || value === null || value === '' ? '' : textOf(body, name);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** @param {string} text @returns {string} lower case, '' if it is not a UUID */
function asUuid(text) {
  const lower = text.toLowerCase();
  return UUID.test(lower) ? lower : '';
}

/** @param {Record<string, unknown>} body @param {string} name @returns {string} the UUID in lower case */
function uuidOf(body, name) {
  const id = asUuid(textOf(body, name));
  if (!id) throw new Refusal('4.00', `${name} must be a UUID.`);
  return id;
}

module.exports = {
  encode,
  decode,
  mapOf,
  checkMap,
  answerFormat,
  checkLinkFormat,
  formatOptions,
  speaksOcf,
  textOf,
  optionalText,
  uuidOf,
  asUuid
};
