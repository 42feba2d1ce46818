'use strict';

// Topic templates. A template is compiled once. The hot path writes topics as bytes, never as strings.

const { classNames: CLASS_NAMES } = require('./classes');
const { shown } = require('./values');

const PLACEHOLDERS = ['gateway', 'class', 'device', 'topic'];
const MAX_TOPIC_BYTES = 65535;

/** Parts of a compiled topic, besides literal bytes: strings of the record. */
const DEVICE = Symbol('device');
const TOPIC = Symbol('topic');

const PLUS = 0x2b;
const HASH = 0x23;
const SLASH = 0x2f;
const UNDERSCORE = 0x5f;

/** @typedef {Buffer | typeof DEVICE | typeof TOPIC} Part */
/** @typedef {{parts: Part[][]}} CompiledTopic parts by class (index 0 unused) */

/**
 * Returns why a text cannot be in a topic name, or ''. [MQTT-3.3.2-2] no wildcards, [MQTT-1.5.4-2] no NUL.
 * @param {string} text
 */
function badCharacter(text) {
  if (/[+#]/.test(text)) return 'must not contain + or # (these are for subscriptions)';
  if (text.includes('\0')) return 'must not contain the NUL character';
  // A lone surrogate has no UTF-8 form [MQTT-1.5.4-1].
  if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text))
    return 'must be valid Unicode';
  return '';
}

/**
 * @param {unknown} template e.g. 'gw/{gateway}/{class}'
 * @returns {true | string} true, or the reason as a sentence with a remedy
 */
function validateTopicTemplate(template) {
  if (typeof template !== 'string' || template === '') {
    return 'The topic is empty. Enter a topic such as gw/{gateway}/{class}.';
  }
  const literal = template.replace(/\{[^{}]*\}/g, '');
  const bad = badCharacter(literal);
  const topic = shown(template);
  if (bad) return `The topic '${topic}' ${bad}.`;
  for (const [whole, name] of template.matchAll(/\{([^{}]*)\}/g)) {
    if (!PLACEHOLDERS.includes(name)) {
      return `The topic '${topic}' has the unknown placeholder ${shown(whole)}. Known placeholders: ${PLACEHOLDERS.map((p) => `{${p}}`).join(', ')}.`;
    }
  }
  if (/[{}]/.test(literal)) return `The topic '${topic}' has an unmatched brace.`;
  if (Buffer.byteLength(template) > MAX_TOPIC_BYTES)
    return `The topic is longer than ${MAX_TOPIC_BYTES} bytes.`;
  return true;
}

/**
 * REQUIRES: validateTopicTemplate(template) === true.
 * @param {string} template
 * @param {string} gateway value of {gateway}
 * @returns {CompiledTopic}
 */
function compileTopic(template, gateway) {
  const tokens = template.split(/(\{[^{}]*\})/);
  return { parts: CLASS_NAMES.map((className) => mergeTokens(tokens, gateway, className)) };
}

/** @param {string[]} tokens @param {string} gateway @param {string} className */
function mergeTokens(tokens, gateway, className) {
  /** @type {Part[]} */
  const parts = [];
  let literal = '';
  const close = () => {
    if (literal) parts.push(Buffer.from(literal));
    literal = '';
  };
  for (const token of tokens) {
    if (token === '{gateway}') literal += gateway;
    else if (token === '{class}') literal += className;
    else if (token === '{device}' || token === '{topic}') {
      close();
      parts.push(token === '{device}' ? DEVICE : TOPIC);
    } else literal += token;
  }
  close();
  return parts;
}

/**
 * Where the record's strings are in the bytes of a batch.
 * @typedef {object} TopicFields
 * @property {Buffer} buffer
 * @property {number} deviceAt
 * @property {number} deviceLength
 * @property {number} topicAt
 * @property {number} topicLength
 */

/**
 * @param {Part[]} parts
 * @param {TopicFields} fields
 * @returns {number} bytes that writeTopic will write
 */
function topicBytes(parts, fields) {
  let length = 0;
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (part === DEVICE) length += fields.deviceLength;
    else if (part === TOPIC) length += fields.topicLength;
    else length += /** @type {Buffer} */ (part).length;
  }
  return length;
}

/**
 * Writes a topic. A device id is one level of the topic: / + # and NUL become _, so that no device can publish in
 * another device's name. The record's own topic is not changed. REQUIRES: topicIsValid(fields), if the template has
 * {topic}.
 * @param {Part[]} parts
 * @param {TopicFields} fields
 * @param {Buffer} out
 * @param {number} at
 * @returns {number} where the topic ends
 */
function writeTopic(parts, fields, out, at) {
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (part === DEVICE) at = writeLevel(fields.buffer, fields.deviceAt, fields.deviceLength, out, at);
    else if (part === TOPIC) {
      const { buffer, topicAt: from, topicLength: length } = fields;
      for (let k = 0; k < length; k++) out[at + k] = buffer[from + k];
      at += length;
    } else {
      const bytes = /** @type {Buffer} */ (part);
      for (let k = 0; k < bytes.length; k++) out[at + k] = bytes[k];
      at += bytes.length;
    }
  }
  return at;
}

/**
 * @param {Buffer} from
 * @param {number} start
 * @param {number} length
 * @param {Buffer} out
 * @param {number} at
 */
function writeLevel(from, start, length, out, at) {
  for (let k = 0; k < length; k++) {
    const byte = from[start + k];
    out[at + k] = byte === SLASH || byte === PLUS || byte === HASH || byte === 0 ? UNDERSCORE : byte;
  }
  return at + length;
}

/**
 * True if the record's topic is valid in a PUBLISH.
 * @param {TopicFields} fields
 */
function topicIsValid(fields) {
  const end = fields.topicAt + fields.topicLength;
  for (let k = fields.topicAt; k < end; k++) {
    const byte = fields.buffer[k];
    if (byte === PLUS || byte === HASH || byte === 0) return false;
  }
  return true;
}

module.exports = {
  CLASS_NAMES,
  DEVICE,
  MAX_TOPIC_BYTES,
  TOPIC,
  badCharacter,
  compileTopic,
  topicBytes,
  topicIsValid,
  validateTopicTemplate,
  writeTopic
};
