'use strict';

/** One for all: to make one takes longer than to decode a line. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @param {Uint8Array} bytes @returns {string | null} null = they are not UTF-8 */
function textOf(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

module.exports = { textOf };
