'use strict';
// Paths of resources on devices.

/** Longest href in bytes. A segment is an option of at most 255 bytes (RFC 7252 section 5.10). */
const MOST_HREF_BYTES = 255;

/**
 * Returns what is wrong with a published href, '' if nothing is. It must come back unchanged from the segments of a
 * request.
 * @param {unknown} href
 */
function hrefProblem(href) {
  if (typeof href !== 'string' || href === '') return 'must be a text';
  if (Buffer.byteLength(href) > MOST_HREF_BYTES) return `has more than ${MOST_HREF_BYTES} bytes`;
  if (!/^\/[^/]/.test(href)) return 'must begin with / and a name';
  if (/[?#]/.test(href)) return 'must not have a query or a fragment';
  return segmentsProblem(href.slice(1).split('/'));
}

/**
 * Returns what is wrong with the segments of a path, '' if nothing is.
 * @param {string[]} segments
 */
function segmentsProblem(segments) {
  if (segments.some((segment) => segment === '.' || segment === '..'))
    return 'must not have the segments . and ..';
  if (segments.some((segment) => /\p{Cc}/u.test(segment))) return 'must not have control characters';
  if (segments.some((segment) => Buffer.byteLength(segment) > 255))
    return 'has a segment of more than 255 bytes';
  if (segments.some((segment) => segment.includes('/'))) return 'must not have a slash in a segment';
  return '';
}

module.exports = { hrefProblem, segmentsProblem };
