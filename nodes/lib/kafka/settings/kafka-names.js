'use strict';
// Names of Kafka topics: templates, and a reversible escape for names that Kafka does not allow.

const { classNames } = require('../../base/classes');
const { shown } = require('../../base/values');

/** Kafka allows at most this many characters of A–Z, a–z, 0–9, dot, underscore and hyphen. */
const MAX_NAME = 249;
const NAME = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/;
const PLACEHOLDERS = ['gateway', 'class', 'device', 'topic'];
/** Placeholders that differ from record to record. */
const OF_RECORD = /\{(device|topic)\}/;

const SLASH = 0x2f;
const DOT = 0x2e;

/** A part of a compiled name: literal text, or a string of the record. @typedef {string | { of: 'device' | 'topic' }} Part */
/** Parts by class (index 0 unused). @typedef {Part[][]} CompiledName */

/** @param {string} name @returns {boolean} true if Kafka accepts a topic of this name */
function isTopicName(name) {
  return NAME.test(name);
}

/** True for A–Z, a–z, 0–9 and the hyphen, which stand for themselves. @param {number} byte */
function isPlain(byte) {
  return (
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x2d
  );
}

/**
 * Escapes a text for a topic name: a slash becomes a dot, and every other byte of its UTF-8 form that is not a letter,
 * a digit or a hyphen becomes an underscore and two hexadecimal digits. Different texts have different names.
 * @param {Uint8Array | string} text
 * @returns {string}
 */
function escapeName(text) {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  let name = '';
  for (const byte of bytes) {
    if (isPlain(byte)) name += String.fromCharCode(byte);
    else name += byte === SLASH ? '.' : `_${byte.toString(16).padStart(2, '0')}`;
  }
  return name;
}

/**
 * Returns the text of an escaped name; null if it is not one.
 * @param {string} name
 * @returns {string | null}
 */
function unescapeName(name) {
  if (!/^(?:[A-Za-z0-9.-]|_[0-9a-f]{2})*$/.test(name)) return null;
  /** @type {number[]} */
  const bytes = [];
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at);
    if (code === DOT) bytes.push(SLASH);
    else if (name[at] !== '_') bytes.push(code);
    else {
      const byte = parseInt(name.slice(at + 1, at + 3), 16);
      // The bytes that have another form would make two names for one text.
      if (isPlain(byte) || byte === SLASH) return null;
      bytes.push(byte);
      at += 2;
    }
  }
  const decoded = Buffer.from(bytes);
  const text = decoded.toString();
  return Buffer.from(text).equals(decoded) ? text : null;
}

/**
 * @param {unknown} template such as seganet.{class}
 * @param {{ ofRecord?: boolean }} [allowed] ofRecord: {device} and {topic} are allowed, default true
 * @returns {true | string} true, or the reason as a sentence with a remedy
 */
function validateNameTemplate(template, { ofRecord = true } = {}) {
  if (typeof template !== 'string' || template === '') {
    return 'The topic is empty. Enter a topic such as seganet.{class}.';
  }
  const topic = shown(template);
  const known = ofRecord ? PLACEHOLDERS : PLACEHOLDERS.slice(0, 2);
  for (const [whole, name] of template.matchAll(/\{([^{}]*)\}/g)) {
    if (!known.includes(name)) {
      return `The topic '${topic}' has the placeholder ${shown(whole)}. Possible here: ${known.map((p) => `{${p}}`).join(', ')}.`;
    }
  }
  const literal = template.replace(/\{[^{}]*\}/g, '');
  if (/[{}]/.test(literal)) return `The topic '${topic}' has an unmatched brace.`;
  if (!/^[A-Za-z0-9._-]*$/.test(literal)) {
    return `The topic '${topic}' has a character that Kafka does not allow. Use letters, digits, dot, underscore and hyphen.`;
  }
  if (literal.length > MAX_NAME) return `The topic is longer than ${MAX_NAME} characters.`;
  if (/^\.{1,2}$/.test(template)) return `Kafka allows no topic with the name '${topic}'.`;
  return true;
}

/**
 * REQUIRES: validateNameTemplate(template) === true.
 * @param {string} template
 * @param {string} gateway value of {gateway}
 * @returns {CompiledName}
 */
function compileName(template, gateway) {
  const tokens = template.split(/(\{[^{}]*\})/).filter(Boolean);
  return classNames.map((className) => {
    /** @type {Part[]} */
    const parts = [];
    for (const token of tokens) {
      const [, name] = /^\{(.*)\}$/.exec(token) ?? [];
      if (name === 'device' || name === 'topic') parts.push({ of: name });
      else {
        const text = name === 'gateway' ? escapeName(gateway) : name === 'class' ? className : token;
        const last = parts.at(-1);
        if (typeof last === 'string') parts[parts.length - 1] = last + text;
        else parts.push(text);
      }
    }
    return parts;
  });
}

/** True if the name differs from record to record. @param {string} template */
function isOfRecord(template) {
  return OF_RECORD.test(template);
}

module.exports = {
  MAX_NAME,
  compileName,
  escapeName,
  isOfRecord,
  isTopicName,
  unescapeName,
  validateNameTemplate
};
