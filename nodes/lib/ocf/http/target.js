'use strict';
// The target of a request: /hc/{di}{href}[?query], or the standard form /hc/coap://{di}{href} (RFC 8075 section 5.3).

const { HttpRefusal } = require('../../sources/http/http-refusal');

/** A path of more segments or bytes is not asked for. */
const MOST_SEGMENTS = 64;
const MOST_PATH_BYTES = 1024;
const PREFIX = '/hc/';
const SCHEME = /^coaps?(\+tcp)?:\/\//i;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** @typedef {{ di: string, path: string[], query: string[] }} Target */

/**
 * Reads a request's target. The segments are decoded, but not resolved: `.` and `..` stay, and the cloud refuses them.
 * @param {string} url as it was sent
 * @returns {Target | null} null: another resource
 * @throws {HttpRefusal}
 */
function targetOf(url) {
  const at = url.indexOf('?');
  const whole = at < 0 ? url : url.slice(0, at);
  if (!whole.startsWith(PREFIX)) return null;
  const address = whole.slice(PREFIX.length).replace(SCHEME, '');
  const [host, ...segments] = address.split('/');
  const di = decoded(host).toLowerCase();
  if (!UUID.test(di) || segments.length === 0 || (segments.length === 1 && segments[0] === '')) {
    throw new HttpRefusal(404, 'The address must be /hc/, the id of a device, and a path.');
  }
  if (segments.length > MOST_SEGMENTS || Buffer.byteLength(address) > MOST_PATH_BYTES) {
    throw new HttpRefusal(
      414,
      `A path may have ${MOST_SEGMENTS} segments, and ${MOST_PATH_BYTES} bytes with the id.`
    );
  }
  // RFC 7252 section 6.4: each argument is an option. A plus sign is a plus sign.
  const query = at < 0 || at === url.length - 1 ? [] : url.slice(at + 1).split('&');
  return { di, path: segments.map(decoded), query: query.map(decoded) };
}

/** @param {string} text @returns {string} */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new HttpRefusal(400, 'The address has a malformed percent-encoding.');
  }
}

/** @param {string[]} path @param {string[]} query @param {string} di @returns {string} of a resource on the device */
function locationOf(di, path, query) {
  const args = query.length > 0 ? `?${query.map((each) => encodeURIComponent(each)).join('&')}` : '';
  return `${PREFIX}${di}/${path.map((each) => encodeURIComponent(each)).join('/')}${args.replaceAll('%3D', '=')}`;
}

module.exports = { targetOf, locationOf };
