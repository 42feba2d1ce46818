'use strict';
// Words of a systemd unit.

/** @param {string} text @returns {string} one word of a line where $ has no meaning; % stands for itself */
function word(text) {
  const plain = text.replaceAll('%', '%%');
  return /[\s"'\\]/.test(plain) || plain === '' ? `"${plain.replace(/["\\]/g, '\\$&')}"` : plain;
}

/** @param {string} text @returns {string} one word of a command line; % and $ stand for themselves */
const quoted = (text) => word(text.replaceAll('$', '$$$$'));

module.exports = { quoted, word };
