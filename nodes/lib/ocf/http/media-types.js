'use strict';
// Media types of HTTP and content formats of CoAP (RFC 8075 section 6).

const { HttpRefusal } = require('../../sources/http/http-refusal');

const JSON_TYPE = 'application/json';
const EVENTS_TYPE = 'text/event-stream';
const GENERIC_TYPE = 'application/coap-payload';
const TEXT_TYPE = 'text/plain; charset=utf-8';
const [TEXT, JSON_FORMAT, CBOR, OCF] = [0, 50, 60, 10000];
const MOST_FORMAT = 65535;
const MOST_RANGES = 32;
/** Registered formats that have one media type; RFC 8075 section 6.1 asks for it before the generic one. */
const FORMATS = new Map([
  ['text/plain', TEXT],
  ['application/link-format', 40],
  ['application/xml', 41],
  ['application/octet-stream', 42],
  ['application/exi', 47],
  [JSON_TYPE, JSON_FORMAT],
  ['application/cbor', CBOR],
  ['application/senml+json', 110],
  ['application/senml+cbor', 112],
  ['application/vnd.ocf+cbor', OCF]
]);
const TYPES = new Map([...FORMATS].map(([type, format]) => [format, type]));
const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const RANGE = new RegExp(`^(${TOKEN})/(${TOKEN})((?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[^"\\\\]*"))*)$`);
const PARAMETER = new RegExp(`;[ \\t]*(${TOKEN})=(?:(${TOKEN})|"([^"\\\\]*)")`, 'g');

/** @typedef {{ type: string, cf: number | null, charset: string, q: number }} Range type in lower case; cf: of the generic type */

/** @param {string} text @returns {Range | null} null: malformed */
function readRange(text) {
  const [, main, sub, rest] = RANGE.exec(text.trim()) ?? [];
  if (main === undefined) return null;
  /** @type {Range} */
  const range = { type: `${main}/${sub}`.toLowerCase(), cf: null, charset: '', q: 1 };
  for (const [, name, token, quoted] of rest.matchAll(PARAMETER)) {
    const value = token ?? quoted;
    if (name.toLowerCase() === 'q') range.q = Number(value);
    if (name.toLowerCase() === 'charset') range.charset = value.toLowerCase();
    if (name.toLowerCase() === 'cf') range.cf = /^\d{1,5}$/.test(value) ? Number(value) : NaN;
  }
  // The generic type of a format that has its own one is the same (RFC 8075 section 6.1).
  const own = range.type === GENERIC_TYPE && range.cf !== null ? TYPES.get(range.cf) : undefined;
  if (own !== undefined) Object.assign(range, { type: own, cf: null });
  const isFine = range.q >= 0 && range.q <= 1 && (range.cf === null || range.cf <= MOST_FORMAT);
  return isFine ? range : null;
}

/**
 * Returns the content format of a request's body.
 * @param {string | undefined} contentType
 * @returns {number}
 * @throws {HttpRefusal} 415
 */
function formatOf(contentType) {
  const range = readRange(contentType ?? '');
  const format = range && (range.type === GENERIC_TYPE ? range.cf : FORMATS.get(range.type));
  const isUtf8 = range && (range.charset === '' || range.charset === 'utf-8');
  if (typeof format === 'number' && isUtf8) return format;
  throw new HttpRefusal(
    415,
    'The Content-Type must be application/json, application/cbor, application/vnd.ocf+cbor, or application/coap-payload;cf=N, in UTF-8.'
  );
}

/** @param {number} format @returns {string} the media type of a content format */
function typeOf(format) {
  const type = TYPES.get(format);
  if (format === TEXT) return TEXT_TYPE;
  return type ?? `${GENERIC_TYPE};cf=${format}`;
}

/** What a client accepts (RFC 9110 section 12.5.1). */
class Accepted {
  /** Preferred first. @type {Range[]} */
  #ranges;

  /**
   * @param {string | undefined} accept the header
   * @throws {HttpRefusal} 400
   */
  constructor(accept) {
    const texts = accept === undefined || accept.trim() === '' ? ['*/*'] : accept.split(',');
    if (texts.length > MOST_RANGES) throw new HttpRefusal(400, `Accept has more than ${MOST_RANGES} types.`);
    const ranges = texts.filter((text) => text.trim() !== '').map(readRange);
    if (ranges.includes(null)) throw new HttpRefusal(400, 'The header Accept is malformed.');
    this.#ranges = /** @type {Range[]} */ (ranges).sort((a, b) => b.q - a.q);
  }

  /** True if the client prefers a stream of events to any other answer. */
  get wantsEvents() {
    const [first] = this.#ranges;
    return first !== undefined && first.q > 0 && first.type === EVENTS_TYPE;
  }

  /** @param {string} type as of typeOf() @returns {number} the weight, 0 = not accepted */
  weight(type) {
    const { type: name, cf } = /** @type {Range} */ (readRange(type));
    const [main] = name.split('/');
    let best = { precision: -1, q: 0 };
    for (const range of this.#ranges) {
      const isExact = range.type === name && (range.cf === null || range.cf === cf);
      const precision = isExact ? 2 : range.type === `${main}/*` ? 1 : range.type === '*/*' ? 0 : -1;
      if (precision > best.precision) best = { precision, q: range.q };
    }
    return best.q;
  }

  /**
   * Returns the only content format that the client wants, if it names one first.
   * @returns {number | null} null: no or no single format
   */
  get format() {
    const [first] = this.#ranges;
    if (!first || first.q === 0) return null;
    return first.type === GENERIC_TYPE ? first.cf : (FORMATS.get(first.type) ?? null);
  }
}

exports.Accepted = Accepted;
exports.formatOf = formatOf;
exports.typeOf = typeOf;
exports.JSON_TYPE = JSON_TYPE;
exports.TEXT_TYPE = TEXT_TYPE;
exports.JSON_FORMAT = JSON_FORMAT;
exports.CBOR = CBOR;
exports.OCF = OCF;
exports.TEXT = TEXT;
