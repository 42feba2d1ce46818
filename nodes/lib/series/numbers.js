'use strict';
// The numbers of a record: a payload that is a number, chosen paths of a JSON payload, or all of its numbers. Pure.

const { types } = require('node:util');
const { valueAt } = require('./json-path');

const MAX_DEPTH = 8;
/** Values of one payload that are looked at. An object that a flow made may contain itself. */
const MAX_VISITS = 10000;
const MAX_NAME_BYTES = 128;
/** A larger payload is not parsed. */
const MAX_PAYLOAD_BYTES = 1 << 20;
/** The bar separates device and name in Grafana's targets. */
const UNFIT = /[|\p{Cc}]/gu;
/** Longest text, without the spaces around it, that can be a number and no JSON, such as +21.5 or .5. */
const MAX_NUMBER = 64;
const NUMBER = /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i;

/**
 * @typedef {{ name: string, keys: import('./json-path').Key[] }} Choice
 *
 * @typedef {object} NumberOptions
 * @property {Choice[]} choices empty = all numbers
 * @property {number} maxValues of one record
 * @property {boolean} byTopic names begin with the last level of the topic
 *
 * @typedef {{ names: string[], values: number[], left: number }} Numbers left: numbers beyond a limit
 */

/**
 * @param {unknown} payload
 * @returns {unknown} a number, an object, or undefined if there is nothing to read
 */
function parsed(payload) {
  if (!types.isUint8Array(payload) && typeof payload !== 'string') return payload;
  if (payload.length > MAX_PAYLOAD_BYTES || payload.length === 0) return undefined;
  const text = typeof payload === 'string' ? payload : Buffer.from(payload).toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    const plain = text.trim();
    return plain.length <= MAX_NUMBER && NUMBER.test(plain) ? Number(plain) : undefined;
  }
}

/**
 * @param {unknown} payload of the record
 * @param {string} topic
 * @param {NumberOptions} options
 * @returns {Numbers}
 */
function numbersOf(payload, topic, { choices, maxValues, byTopic }) {
  /** @type {Numbers} */
  const found = { names: [], values: [], left: 0 };
  const value = parsed(payload);
  const level = byTopic ? lastLevel(topic) : '';
  const add = (/** @type {string} */ name, /** @type {number} */ number) => {
    const full = fullName(level, name);
    if (found.names.length >= maxValues || Buffer.byteLength(full) > MAX_NAME_BYTES) found.left++;
    else {
      found.names.push(full);
      found.values.push(number);
    }
  };
  if (choices.length === 0) addLeaves(value, add);
  for (const { name, keys } of choices) {
    const chosen = valueAt(value, keys);
    if (typeof chosen === 'boolean') add(name, Number(chosen));
    else if (typeof chosen === 'number' && Number.isFinite(chosen)) add(name, chosen);
  }
  return found;
}

/**
 * @param {unknown} root
 * @param {(name: string, number: number) => void} add
 */
function addLeaves(root, add) {
  let visits = 0;
  const visit = (/** @type {unknown} */ value, /** @type {string} */ name, /** @type {number} */ depth) => {
    if (typeof value === 'number') {
      if (Number.isFinite(value)) add(name, value);
      return;
    }
    if (typeof value !== 'object' || value === null || depth >= MAX_DEPTH) return;
    for (const key in value) {
      if (++visits > MAX_VISITS) return;
      if (Object.hasOwn(value, key))
        visit(/** @type {Record<string, unknown>} */ (value)[key], name ? `${name}.${key}` : key, depth + 1);
    }
  };
  visit(root, '', 0);
}

/**
 * @param {string} topic
 * @param {import('./json-path').Key[]} keys path of a number in the payload
 * @param {Pick<NumberOptions, 'choices' | 'byTopic'>} options
 * @returns {string | null} the name that numbersOf() gives the number at the path, null = none
 */
function nameOf(topic, keys, { choices, byTopic }) {
  const text = JSON.stringify(keys.map(String));
  const chosen = choices.find((choice) => JSON.stringify(choice.keys.map(String)) === text)?.name;
  const name = choices.length === 0 ? keys.join('.') : chosen;
  if (name === undefined || keys.length > MAX_DEPTH) return null;
  const full = fullName(byTopic ? lastLevel(topic) : '', name);
  return Buffer.byteLength(full) > MAX_NAME_BYTES ? null : full;
}

/** @param {string} level of the topic, '' = names do not begin with it @param {string} name '' = the payload itself */
function fullName(level, name) {
  return fit(level && name ? `${level}.${name}` : level || name || 'value');
}

/** @param {string} topic */
function lastLevel(topic) {
  return topic.split('/').filter(Boolean).at(-1) ?? '';
}

/** @param {string} name */
const fit = (name) => name.toWellFormed().replace(UNFIT, '_');

module.exports = { MAX_NAME_BYTES, UNFIT, nameOf, numbersOf };
