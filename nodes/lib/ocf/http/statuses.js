'use strict';
// CoAP codes as HTTP statuses (RFC 8075 section 7, table 2).

/** Codes whose status does not depend on the rest of the answer. @type {Record<string, number>} */
const STATUS = {
  2.01: 201,
  2.03: 304,
  2.05: 200,
  '4.00': 400,
  // 401 would ask for credentials of HTTP, which were right.
  4.01: 403,
  4.02: 400,
  4.03: 403,
  4.04: 404,
  4.06: 406,
  4.08: 413,
  4.09: 409,
  4.12: 412,
  4.13: 413,
  4.15: 415,
  4.22: 422,
  4.29: 429,
  '5.00': 500,
  5.01: 501,
  5.02: 502,
  5.03: 503,
  5.04: 504,
  5.05: 502
};

/**
 * @param {string} code such as 4.04
 * @param {{ hasBody: boolean, allow: string[] }} answer allow: methods of the resource, empty = not known
 * @returns {number}
 */
function statusOf(code, { hasBody, allow }) {
  // HTTP's 405 must name the methods.
  if (code === '4.05') return allow.length > 0 ? 405 : 400;
  if (Object.hasOwn(STATUS, code)) return STATUS[code];
  // RFC 7252 section 5.9: an unknown code counts as the first one of its class.
  if (code.startsWith('2')) return hasBody ? 200 : 204;
  return code.startsWith('4') ? 400 : 502;
}

module.exports = { statusOf };
