'use strict';
// Values that somebody entered, in sentences and as text.

const { shownUrl } = require('./shown-url');

/** Characters of a wrong value that a sentence repeats. */
const MAX_SHOWN = 100;

/**
 * @param {unknown} value
 * @returns {string} the value as a sentence can hold it: one line, not too long
 */
function shown(value) {
  const written = typeof value === 'string' ? value : JSON.stringify(value);
  const line = shownUrl(String(written ?? typeof value).replace(/\p{Cc}+/gu, ' '));
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}

/**
 * @param {unknown} value
 * @returns {string}
 * @throws {RangeError} whose message completes "<label> …" for what a single field cannot hold
 */
function asText(value) {
  if (typeof value === 'object' && value !== null)
    throw new RangeError(`must be a single value, not ${shown(value)}.`);
  return String(value ?? '');
}

module.exports = { shown, asText };
