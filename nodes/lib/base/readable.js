'use strict';

const MAX_CHARACTERS = 200;
/** Control characters, characters that change the direction of text, surrogates, and noncharacters [MQTT 1.5.4]. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;

/**
 * Returns a device's text in a form for logs: quoted, on one line, and limited in length.
 * @param {string} text
 */
function readable(text) {
  const short = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
  return `"${short.replace(/["\\]/g, '\\$&').replace(HIDDEN, escape)}"`;
}

/** @param {string} character */
function escape(character) {
  const code = /** @type {number} */ (character.codePointAt(0)).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
}

exports.readable = readable;
