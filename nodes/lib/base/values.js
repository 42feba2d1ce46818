'use strict';
// Entered values, as text and in error messages.

const { shownUrl } = require('./shown-url');

/** Most characters of a wrong value that an error message repeats. */
const MAX_SHOWN = 100;

/**
 * @param {unknown} value
 * @returns {string} the value in a form for error messages: one line of limited length
 */
function shown(value) {
  const written = typeof value === 'string' ? value : JSON.stringify(value);
  const line = shownUrl(String(written ?? typeof value).replace(/\p{Cc}+/gu, ' '));
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}

/**
 * @param {unknown} value
 * @returns {string}
 * @throws {RangeError} whose message completes "<label> …", for an object
 */
function asText(value) {
  if (typeof value === 'object' && value !== null)
    throw new RangeError(`must be a single value, not ${shown(value)}.`);
  return String(value ?? '');
}

module.exports = { shown, asText };
