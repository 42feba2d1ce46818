'use strict';
// Which options pass between a controller and a device. iotivity-lite closes its whole connection on an Accept or a
// Content-Format that it does not know, and on a critical option that it does not know: without this filter, any
// controller could take any of its devices offline.

const { speaksOcf } = require('./bodies');
const { FORMAT, KNOWN_CRITICAL, OCF_VERSION, OPTION, uint, uintOption } = require('./coap');
const { Refusal } = require('./refusal');

/** @typedef {import('./coap').Option} Option */
/** @typedef {import('./coap').Request} Request */
/** @typedef {Pick<Request, 'query' | 'options' | 'payload'>} Wanted */

/**
 * Options that go to a device as they are, and their lengths (RFC 7252 section 5.10, RFC 7959). Path, query and Observe
 * go separately.
 * @type {Map<number, { least: number, most: number, repeats: boolean }>}
 */
const TO_DEVICE = new Map([
  [OPTION.IF_MATCH, { least: 0, most: 8, repeats: true }],
  [OPTION.ETAG, { least: 1, most: 8, repeats: true }],
  [OPTION.IF_NONE_MATCH, { least: 0, most: 0, repeats: false }],
  [OPTION.BLOCK2, { least: 0, most: 3, repeats: false }],
  [OPTION.BLOCK1, { least: 0, most: 3, repeats: false }],
  [OPTION.SIZE2, { least: 0, most: 4, repeats: false }],
  [OPTION.SIZE1, { least: 0, most: 4, repeats: false }]
]);

/** Repeated options of one kind that pass. */
const MOST_REPEATED = 8;
/** The desk takes no longer values (RFC 7252: none is), and no more options, in an answer. */
const MOST_VALUE_BYTES = 1034;
const MOST_PASSED = 64;
const MOST_QUERY = 32;
const MOST_FORMAT = 65535;

/** Options of a device's answer that a controller gets; others could make it reject the answer. */
const TO_CONTROLLER = new Set([
  OPTION.ETAG,
  OPTION.OBSERVE,
  OPTION.LOCATION_PATH,
  OPTION.CONTENT_FORMAT,
  OPTION.MAX_AGE,
  OPTION.LOCATION_QUERY,
  OPTION.BLOCK2,
  OPTION.BLOCK1,
  OPTION.SIZE2,
  OPTION.SIZE1,
  OPTION.OCF_CONTENT_VERSION
]);

/** @param {Request} request @throws {Refusal} 4.02 for a critical option that is unknown, 5.05 for a proxy request */
function checkCritical({ options }) {
  for (const [number] of options) {
    if (number === OPTION.PROXY_URI || number === OPTION.PROXY_SCHEME) {
      throw new Refusal('5.05', 'The cloud is no proxy for other addresses.');
    }
    if (number % 2 === 1 && !KNOWN_CRITICAL.has(number)) {
      throw new Refusal('4.02', `The option ${number} is critical and not supported.`);
    }
  }
}

/**
 * Returns the options for an OCF device.
 * @param {Wanted} request that passed checkCritical()
 * @returns {Option[]}
 * @throws {Refusal} 4.02, 4.06, 4.15
 */
function forDevice(request) {
  const options = passing(request);
  if (!isCbor(uintOption(request, OPTION.ACCEPT))) {
    throw new Refusal('4.06', 'Devices answer in CBOR: accept 60 or 10000.');
  }
  if (!isCbor(uintOption(request, OPTION.CONTENT_FORMAT))) {
    throw new Refusal('4.15', 'Devices take CBOR: the content format must be 60 or 10000.');
  }
  return [...options, ...formatsFor(request.payload)];
}

/**
 * Returns the options that every device understands: what it gets, and what it shall answer in.
 * @param {Uint8Array} payload
 * @returns {Option[]}
 */
function formatsFor(payload) {
  /** @type {Option[]} */
  const options = [
    [OPTION.ACCEPT, uint(FORMAT.OCF)],
    [OPTION.OCF_ACCEPT_VERSION, uint(OCF_VERSION)]
  ];
  if (payload.length > 0) {
    options.push([OPTION.CONTENT_FORMAT, uint(FORMAT.OCF)], [OPTION.OCF_CONTENT_VERSION, uint(OCF_VERSION)]);
  }
  return options;
}

/**
 * Returns the options for an endpoint of the RFC 9176 directory, which takes any format and knows no OCF version.
 * @param {Wanted} request that passed checkCritical()
 * @returns {Option[]}
 * @throws {Refusal} 4.02
 */
function forEndpoint(request) {
  const options = passing(request);
  for (const number of [OPTION.ACCEPT, OPTION.CONTENT_FORMAT]) {
    const value = uintOption(request, number);
    if (value === undefined || (number === OPTION.CONTENT_FORMAT && request.payload.length === 0)) continue;
    if (!(value <= MOST_FORMAT)) throw new Refusal('4.02', `The option ${number} is malformed.`);
    options.push([number, uint(value)]);
  }
  return options;
}

/** @param {Wanted} request @returns {Option[]} those that pass to any device @throws {Refusal} 4.02 */
function passing(request) {
  if (request.query.length > MOST_QUERY || request.query.some((part) => Buffer.byteLength(part) > 255)) {
    throw new Refusal('4.02', `A request may have ${MOST_QUERY} query options of at most 255 bytes.`);
  }
  /** @type {Option[]} */
  const options = [];
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const [number, value] of request.options) {
    const rule = TO_DEVICE.get(number);
    if (!rule) continue;
    const count = (counts.get(number) ?? 0) + 1;
    counts.set(number, count);
    const isFine =
      value.length >= rule.least && value.length <= rule.most && count <= (rule.repeats ? MOST_REPEATED : 1);
    if (isFine) options.push([number, value]);
    else if (number % 2 === 1) throw new Refusal('4.02', `The option ${number} is malformed or repeated.`);
  }
  return options;
}

/** @param {number | undefined} format */
function isCbor(format) {
  return format === undefined || format === FORMAT.CBOR || format === FORMAT.OCF;
}

/**
 * Returns the options of a device's answer for a controller.
 * @param {Option[]} options
 * @param {Request} request of the controller
 * @param {string} di
 * @returns {Option[]}
 */
function forController(options, request, di) {
  const wants60 = uintOption(request, OPTION.ACCEPT) === FORMAT.CBOR;
  const getsVersion = speaksOcf(request) && !wants60;
  // A new resource is reached through the cloud, too.
  const isLocated = options.some(([number]) => number === OPTION.LOCATION_PATH);
  /** @type {Option[]} */
  const prefix = isLocated
    ? ['oic', 'route', di].map((segment) => [OPTION.LOCATION_PATH, Buffer.from(segment)])
    : [];
  const passed = options
    .filter(
      ([number, { length }]) =>
        TO_CONTROLLER.has(number) &&
        length <= MOST_VALUE_BYTES &&
        (number !== OPTION.OCF_CONTENT_VERSION || getsVersion)
    )
    .slice(0, MOST_PASSED);
  return [
    ...prefix,
    ...passed.map(([number, value]) =>
      number === OPTION.CONTENT_FORMAT && wants60 && uintOption({ options }, number) === FORMAT.OCF
        ? /** @type {Option} */ ([number, uint(FORMAT.CBOR)])
        : /** @type {Option} */ ([number, value])
    )
  ];
}

/**
 * Returns the same rules for the engine, which forwards what fits them (ForwardOptions in native/index.d.ts).
 * @param {number} timeoutMs
 * @returns {import('../../../../native/index.js').ForwardOptions}
 */
function forwardOptions(timeoutMs) {
  return {
    prefix: 'oic/route',
    timeoutMs,
    options: [...TO_DEVICE].map(([number, { least, most, repeats }]) => [
      number,
      least,
      most,
      repeats ? MOST_REPEATED : 1
    ]),
    mostQueries: MOST_QUERY,
    answerOptions: [...TO_CONTROLLER],
    format: {
      value: FORMAT.OCF,
      alias: FORMAT.CBOR,
      acceptOption: OPTION.OCF_ACCEPT_VERSION,
      contentOption: OPTION.OCF_CONTENT_VERSION,
      version: OCF_VERSION
    }
  };
}

module.exports = { checkCritical, forDevice, forEndpoint, formatsFor, forController, forwardOptions };
