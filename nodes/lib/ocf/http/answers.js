'use strict';
// A device's answer as an HTTP response.

const { isUtf8 } = require('node:buffer');
const { HttpRefusal, retryAfter } = require('../../sources/http/http-refusal');
const { dotted } = require('../../sources/coap-desk/codes');
const { OPTION, toUint, uintOption } = require('../cloud/coap');
const { ConversionError, jsonOf, readJson } = require('./cbor-json');
const { entityTag } = require('./conditions');
const { CBOR, JSON_FORMAT, JSON_TYPE, OCF, TEXT, TEXT_TYPE, typeOf } = require('./media-types');
const { statusOf } = require('./statuses');
const { locationOf } = require('./target');

/** @typedef {import('../cloud/coap').DeviceAnswer} DeviceAnswer */
/** @typedef {import('../../sources/http/request-handler').Answer} Answer */
/**
 * What the answer depends on besides the device.
 * @typedef {object} Context
 * @property {string} method
 * @property {string} di
 * @property {import('./media-types').Accepted} accepted
 * @property {boolean} hasTags the request named entity tags
 * @property {string[]} allow methods of the resource, empty = not known
 */

/** What the bodies of devices are must not be guessed by a browser. */
const SAFE = { 'X-Content-Type-Options': 'nosniff' };

/** @param {DeviceAnswer} answer @param {Context} context @returns {Answer} @throws {HttpRefusal} */
function httpAnswer(answer, context) {
  const code = dotted(answer.code);
  const hasBody = answer.payload.length > 0;
  const status = statusOf(code, { hasBody, allow: context.allow });
  if (status === 304) return notModified(answer, context);
  const { bytes, type, isJson } = bodyOf(answer, context, status);
  /** @type {Record<string, string>} */
  const headers = { ...SAFE, ...cacheHeaders(answer, context, status) };
  if (bytes.length > 0) headers['Content-Type'] = type;
  if (status < 300) Object.assign(headers, tagOf(answer, isJson));
  if (status === 201) Object.assign(headers, placeOf(answer, context.di));
  if (status === 405) headers.Allow = context.allow.join(', ');
  const maxAge = uintOption(answer, OPTION.MAX_AGE);
  if ((status === 429 || status === 503) && maxAge !== undefined) Object.assign(headers, retryAfter(maxAge));
  return { status, headers, body: null, bytes: status === 204 ? null : bytes };
}

/** @param {DeviceAnswer} answer @param {Context} context @returns {Answer} */
function notModified(answer, context) {
  // RFC 7252 section 5.9.1.3: only a request with entity tags has this answer.
  if (!context.hasTags) throw new HttpRefusal(502, 'The device answered 2.03 without a reason.');
  const isJson = context.accepted.weight(JSON_TYPE) > 0;
  const headers = { ...cacheHeaders(answer, context, 304), ...tagOf(answer, isJson) };
  return { status: 304, headers, body: null, bytes: null };
}

/**
 * @param {DeviceAnswer} answer
 * @param {Context} context
 * @param {number} status
 * @returns {{ bytes: Buffer, type: string, isJson: boolean }} isJson: converted
 */
function bodyOf(answer, { method, accepted }, status) {
  const { payload } = answer;
  const format = uintOption(answer, OPTION.CONTENT_FORMAT);
  if (format === CBOR || format === OCF) return cborBody(payload, format, accepted);
  if (format === undefined) {
    // RFC 7252 section 5.5.2: the payload of an error is a sentence.
    const isText = status >= 400 && isUtf8(payload);
    return { bytes: payload, type: isText ? TEXT_TYPE : 'application/octet-stream', isJson: false };
  }
  const type = typeOf(format);
  const isReading = method === 'GET' || method === 'HEAD';
  if (isReading && status === 200 && accepted.weight(type) === 0) {
    throw new HttpRefusal(406, `The resource is available as ${type}.`);
  }
  return { bytes: payload, type, isJson: false };
}

/** @param {Buffer} payload @param {number} format @param {import('./media-types').Accepted} accepted */
function cborBody(payload, format, accepted) {
  const same = { bytes: payload, type: typeOf(format), isJson: false };
  if (payload.length === 0) return same;
  // Both CBOR formats have the same bytes, so a client gets the one that it prefers.
  const [best] = [JSON_TYPE, typeOf(format), typeOf(format === CBOR ? OCF : CBOR)]
    .map((type) => ({ type, q: accepted.weight(type) }))
    .sort((a, b) => b.q - a.q);
  if (best.q === 0) return same;
  if (best.type !== JSON_TYPE) return { ...same, type: best.type };
  try {
    return { bytes: Buffer.from(`${jsonOf(payload)}\n`), type: JSON_TYPE, isJson: true };
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error;
    if (accepted.weight(same.type) > 0) return same;
    throw new HttpRefusal(502, `The device's answer cannot become JSON: it ${error.message}.`);
  }
}

/** @param {DeviceAnswer} answer @param {boolean} isJson @returns {Record<string, string>} */
function tagOf({ options }, isJson) {
  const tag = options.find(([number]) => number === OPTION.ETAG);
  return tag && tag[1].length > 0 ? { ETag: entityTag(tag[1], isJson) } : {};
}

/** @param {DeviceAnswer} answer @param {string} di @returns {Record<string, string>} */
function placeOf({ options }, di) {
  const texts = (/** @type {number} */ wanted) =>
    options.filter(([number]) => number === wanted).map(([, value]) => value.toString());
  const path = texts(OPTION.LOCATION_PATH);
  return path.length > 0 ? { Location: locationOf(di, path, texts(OPTION.LOCATION_QUERY)) } : {};
}

/**
 * A value is only for the user who asked. Without Max-Age it must be asked for again each time: RFC 7252 allows 60 s,
 * but few devices think of that.
 * @param {DeviceAnswer} answer
 * @param {Context} context
 * @param {number} status
 * @returns {Record<string, string>}
 */
function cacheHeaders({ options }, { method }, status) {
  const isReading = method === 'GET' || method === 'HEAD';
  if (!isReading || (status !== 200 && status !== 304)) return { 'Cache-Control': 'no-store' };
  const age = options.find(([number]) => number === OPTION.MAX_AGE);
  const seconds = age ? toUint(age[1]) : 0;
  const control = seconds > 0 ? `private, max-age=${seconds}` : 'private, no-cache';
  return { 'Cache-Control': control, Vary: 'Accept, Authorization' };
}

/**
 * Returns a notification as JSON in one line. What is neither CBOR, JSON nor text becomes base64url.
 * @param {DeviceAnswer} answer
 * @returns {string}
 * @throws {ConversionError}
 */
function eventData(answer) {
  const { payload } = answer;
  const format = uintOption(answer, OPTION.CONTENT_FORMAT);
  if (payload.length === 0) return 'null';
  if (format === CBOR || format === OCF) return jsonOf(payload);
  if (format === JSON_FORMAT) {
    readJson(payload);
    // Ends of lines are only between the tokens of JSON, and numbers keep their digits.
    return payload
      .toString()
      .trim()
      .replace(/[\r\n]+/g, ' ');
  }
  return JSON.stringify(
    format === TEXT && isUtf8(payload) ? payload.toString() : payload.toString('base64url')
  );
}

module.exports = { httpAnswer, eventData, SAFE };
