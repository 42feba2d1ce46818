'use strict';

const { shownUrl } = require('../../base/shown-url');

const MAX_CHARACTERS = 40;

/**
 * Returns a wrong argument in a form for error messages: on one line, at most 40 characters, without credentials.
 * @param {string} text
 */
function quoted(text) {
  const plain = shownUrl(text);
  return JSON.stringify(plain.length > MAX_CHARACTERS ? `${plain.slice(0, MAX_CHARACTERS)}…` : plain);
}

exports.quoted = quoted;
