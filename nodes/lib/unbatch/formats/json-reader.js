'use strict';
// Parses the JSON texts of one envelope with a limit of items in all, and of levels in each. Without it, an envelope of
// 16 MiB could occupy Node-RED's thread for many seconds, and a deep value overflows the stack of nodes that copy it.

/**
 * Values, and names of members, of one envelope. One for each byte of the largest envelope of a batch node, 1 MiB: its
 * SenML has up to five for a member of five bytes.
 */
const MAX_ITEMS = 1024 * 1024;
/** Arrays and objects in one another: those of a JSON payload (native/core/record/json.h). */
const MAX_DEPTH = 64;

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d];

class JsonReader {
  #counts;
  #left;
  #most;

  /**
   * @param {number} bytes of the envelope
   * @param {number} [most] items
   */
  constructor(bytes, most = MAX_ITEMS) {
    // An item takes two bytes, one of which separates it from the next one.
    this.#counts = bytes > 2 * most;
    this.#left = this.#most = most;
  }

  /**
   * @param {string} text
   * @param {object} [limits]
   * @param {number} [limits.around] arrays and objects that are not of the payload
   * @param {number} [limits.maxElements] of the outermost array
   * @param {string} [limits.wrong] ends the sentence if it is not JSON
   * @returns {any}
   * @throws {TypeError} that ends the sentence "Line 2 of the envelope …"
   */
  parse(text, { around = 0, maxElements = Infinity, wrong = 'is not JSON' } = {}) {
    const deepest = MAX_DEPTH + around;
    if (this.#counts || maxElements < Infinity || mayBeDeeper(text, deepest)) {
      const { items, depth, elements } = measure(text, this.#left, maxElements);
      if (elements > maxElements) throw new TypeError(`has more than ${maxElements} elements; it is refused`);
      if (items > this.#left)
        throw new TypeError(`exceeds the ${this.#most} JSON values and names that an envelope may have`);
      if (depth > deepest) throw new TypeError(`is nested deeper than ${MAX_DEPTH} levels`);
      if (this.#counts) this.#left -= items;
    }
    try {
      return JSON.parse(text);
    } catch {
      throw new TypeError(wrong);
    }
  }
}

/**
 * False if a text has too few ends of arrays and objects. Nearly all lines do, and this costs next to nothing.
 * @param {string} text
 * @param {number} most levels
 */
function mayBeDeeper(text, most) {
  if (text.length <= 2 * most) return false;
  let count = 0;
  for (const end of [']', '}'])
    for (let at = text.indexOf(end); at >= 0; at = text.indexOf(end, at + 1)) if (++count > most) return true;
  return false;
}

/**
 * @param {string} text if it is not JSON, the result has no meaning
 * @param {number} most items; counting ends behind this many
 * @param {number} maxElements of the outermost array; the same
 * @returns {{ items: number, depth: number, elements: number }}
 */
function measure(text, most, maxElements) {
  let [items, elements, depth, deepest] = [1, 1, 0, 0];
  /** Behind the start of an array or object that may be empty. */
  let opened = -1;
  // The last one may yet be no item.
  for (let at = 0; at < text.length && items <= most + 1 && elements <= maxElements; at++) {
    const code = text.charCodeAt(at);
    if (code === BRACKET || code === BRACE) {
      if (++depth > deepest) deepest = depth;
      items++;
      opened = at + 1;
    } else if (code === BRACKET_END || code === BRACE_END) {
      depth--;
      if (opened >= 0 && text.slice(opened, at).trim() === '') items--;
      opened = -1;
    } else if (code === COMMA) {
      if (depth === 1) elements++;
      items++;
      opened = -1;
    } else if (code === COLON) {
      items++;
    } else if (code === QUOTE) {
      at++;
      for (let one; at < text.length && (one = text.charCodeAt(at)) !== QUOTE; at++)
        if (one === BACKSLASH) at++;
      opened = -1;
    }
  }
  return { items, depth: deepest, elements };
}

exports.JsonReader = JsonReader;
exports.MAX_ITEMS = MAX_ITEMS;
exports.MAX_DEPTH = MAX_DEPTH;
