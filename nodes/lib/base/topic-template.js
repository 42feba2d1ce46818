'use strict';

// Topic templates. A template is compiled once; the engine writes the topics.

const { classNames: CLASS_NAMES } = require('./classes');
const { shown } = require('./values');

const PLACEHOLDERS = ['gateway', 'class', 'device', 'topic'];
const MAX_TOPIC_BYTES = 65535;

/** A part of a compiled topic: literal bytes, or a string of the record. @typedef {Buffer | 'device' | 'topic'} Part */
/** Parts by class (index 0 unused). @typedef {Part[][]} CompiledTopic */

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
  return CLASS_NAMES.map((className) => mergeTokens(tokens, gateway, className));
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
      parts.push(token === '{device}' ? 'device' : 'topic');
    } else literal += token;
  }
  close();
  return parts;
}

module.exports = { CLASS_NAMES, badCharacter, compileTopic, validateTopicTemplate };
