'use strict';
// What an ocf request node outputs for an answer of a device.

const { decode } = require('../cloud/bodies');
const { problemOf } = require('../cloud/cbor-bounds');
const { FORMAT, OPTION, uintOption } = require('../cloud/coap');
const { dotted } = require('../../sources/coap-desk/codes');

/** @typedef {import('../cloud/coap').DeviceAnswer} DeviceAnswer */

const LIMITS = { bytes: 256 * 1024, depth: 16, items: 65536 };

/**
 * @param {DeviceAnswer} answer
 * @returns {{ payload: unknown, coap: { code: string, format?: number } }} payload: decoded; the text of an error; a
 *   Buffer if it is in another format, or invalid or too large as CBOR
 */
function contentOf(answer) {
  const format = uintOption(answer, OPTION.CONTENT_FORMAT);
  const coap = { code: dotted(answer.code), ...(format !== undefined && { format }) };
  return { payload: payloadOf(answer, format), coap };
}

/** @param {DeviceAnswer} answer @param {number | undefined} format */
function payloadOf({ code, payload }, format) {
  if (payload.length === 0) return payload;
  const isError = code >> 5 !== 2;
  if (format === 0 || (isError && format === undefined)) return payload.toString();
  const isCbor = format === undefined || format === FORMAT.CBOR || format === FORMAT.OCF;
  if (!isCbor || problemOf(payload, LIMITS)) return payload;
  try {
    return decode(payload);
  } catch {
    return payload;
  }
}

module.exports = { contentOf };
