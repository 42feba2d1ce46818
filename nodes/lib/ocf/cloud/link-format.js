'use strict';
// CoRE link format (RFC 6690): reads, writes and filters lists of links.

const { isUtf8 } = require('node:buffer');

const LIMITS = { bytes: 65536, links: 256, attributes: 32, targetBytes: 1024 };
/** RFC 6690 section 2: parmname of RFC 5987. */
const NAME = /[!#$&+\-.^_`|~0-9A-Za-z]+\*?/y;
/** ptoken of RFC 6690, and what is common beside it in unquoted values. */
const TOKEN = /[!#$%&'()*+\-./:<=>?@[\]^_`{|}~0-9A-Za-z]+/y;
const TARGET = /<([^<>"\s\p{Cc}]*)>/uy;
const QUOTED = /"((?:[^"\\\p{Cc}]|\\[^\p{Cc}])*)"/uy;
const SPACE = /[ \t\r\n]*/y;
/** Values are lists with spaces between (RFC 6690 section 4.1, RFC 9176 section 6.2). */
const LISTS = new Set(['rt', 'if', 'rel', 'rev', 'ct']);
/** Numbers without quotes: sz must have none (RFC 6690 section 2), ct needs none (RFC 7252 section 7.2.1). */
const NUMBERS = new Set(['sz', 'ct']);

/** @typedef {[string, string | null]} Attribute null: without a value */
/** @typedef {{ target: string, attributes: Attribute[] }} Link */

class LinkFormatError extends Error {}

/**
 * Reads links.
 * @param {Buffer} bytes
 * @param {typeof LIMITS} [limits]
 * @returns {Link[]}
 * @throws {LinkFormatError} what is wrong, to follow "The link format "
 */
function parseLinks(bytes, limits = LIMITS) {
  if (bytes.length > limits.bytes) throw new LinkFormatError(`has more than ${limits.bytes} bytes`);
  if (!isUtf8(bytes)) throw new LinkFormatError('is not UTF-8');
  const cursor = new Cursor(bytes.toString());
  /** @type {Link[]} */
  const links = [];
  cursor.take(SPACE);
  if (cursor.isAtEnd) return links;
  do {
    cursor.take(SPACE);
    links.push(oneLink(cursor, limits));
    if (links.length > limits.links) throw new LinkFormatError(`has more than ${limits.links} links`);
    cursor.take(SPACE);
  } while (cursor.pass(','));
  if (!cursor.isAtEnd) throw cursor.error('a comma or the end');
  return links;
}

/** @param {Cursor} cursor @param {typeof LIMITS} limits @returns {Link} */
function oneLink(cursor, { attributes: most, targetBytes }) {
  const target = cursor.take(TARGET)?.[1];
  if (target === undefined) throw cursor.error('a target in angle brackets');
  if (Buffer.byteLength(target) > targetBytes) {
    throw new LinkFormatError(`has a target of more than ${targetBytes} bytes`);
  }
  /** @type {Attribute[]} */
  const attributes = [];
  cursor.take(SPACE);
  while (cursor.pass(';')) {
    cursor.take(SPACE);
    const name = cursor.take(NAME)?.[0];
    if (name === undefined) throw cursor.error('the name of an attribute');
    attributes.push([name, cursor.pass('=') ? value(cursor) : null]);
    if (attributes.length > most) throw new LinkFormatError(`has more than ${most} attributes at a link`);
    cursor.take(SPACE);
  }
  return { target, attributes };
}

/** @param {Cursor} cursor @returns {string} */
function value(cursor) {
  const quoted = cursor.take(QUOTED)?.[1];
  if (quoted !== undefined) return quoted.replace(/\\(.)/gsu, '$1');
  const token = cursor.take(TOKEN)?.[0];
  if (token === undefined) throw cursor.error('the value of an attribute');
  return token;
}

class Cursor {
  #text;
  #at = 0;

  /** @param {string} text */
  constructor(text) {
    this.#text = text;
  }

  get isAtEnd() {
    return this.#at === this.#text.length;
  }

  /** @param {RegExp} pattern sticky @returns {RegExpExecArray | null} */
  take(pattern) {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found) this.#at += found[0].length;
    return found;
  }

  /** @param {string} character @returns {boolean} true if it was there */
  pass(character) {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  /** @param {string} expected */
  error(expected) {
    return new LinkFormatError(`has no ${expected.replace(/^an? |^the /, '')} at character ${this.#at}`);
  }
}

/** @param {Link[]} links @returns {string} */
function writeLinks(links) {
  return links
    .map(({ target, attributes }) => `<${target}>${attributes.map(writeAttribute).join('')}`)
    .join(',');
}

/** @param {Attribute} attribute */
function writeAttribute([name, content]) {
  if (content === null) return `;${name}`;
  if (NUMBERS.has(name) && /^\d+$/.test(content)) return `;${name}=${content}`;
  return `;${name}="${content.replace(/["\\]/g, '\\$&')}"`;
}

/**
 * True if one of the attributes has the name and the value, or begins with it if the filter ends with an asterisk (RFC
 * 6690 section 4.1).
 * @param {Attribute[]} attributes
 * @param {string} name
 * @param {string} wanted
 */
function hasAttribute(attributes, name, wanted) {
  return attributes.some(([own, content]) => {
    if (own !== name) return false;
    const values = LISTS.has(name) ? (content ?? '').split(/ +/) : [content ?? ''];
    return values.some((each) => isMatch(each, wanted));
  });
}

/** @param {string} content @param {string} wanted */
function isMatch(content, wanted) {
  return wanted.endsWith('*') ? content.startsWith(wanted.slice(0, -1)) : content === wanted;
}

module.exports = { parseLinks, writeLinks, hasAttribute, isMatch, LinkFormatError, LIMITS };
