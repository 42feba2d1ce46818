'use strict';
// Rules that say what devices are and where: {"device":"th-*","type":"saref:TemperatureSensor","room":"{1}"}. Pure.

const { matchesGlob } = require('../base/glob');
const { commandProblem, deviceTopic } = require('../commands/command');
const { shown } = require('../base/values');

const MAX_RULES = 1000;
const MAX_LENGTH = 256;
const MAX_TYPES = 8;
const MAX_ASK = 1024;
/** Names of levels with dots between them: rate, limits.high. */
const PATH = /^[^.]+(\.[^.]+){0,7}$/;
const TEXTS = /** @type {const} */ ([
  'device',
  'room',
  'floor',
  'building',
  'property',
  'value',
  'unit',
  'title',
  'write'
]);
const KEYS = [...TEXTS, 'type', 'ask'];

/**
 * @typedef {object} Ask how the value is asked for: one of command and url
 * @property {string} [command] the topic after cmd/DEVICE/
 * @property {string} [payload] of the command
 * @property {string} [url] coap://…
 *
 * @typedef {object} Rule
 * @property {string} device id or glob
 * @property {string[]} types
 * @property {Partial<Record<Exclude<(typeof TEXTS)[number], 'device'>, string>>} texts with placeholders
 * @property {Ask | null} ask
 *
 * What a rule says of one device: texts without placeholders.
 * @typedef {Rule['texts'] & { types: string[], ask: Ask | null }} Placed
 */

/**
 * @param {string} text JSON, '' = none
 * @returns {Rule[]}
 * @throws {RangeError} with a sentence
 */
function parseRules(text) {
  if (text.trim() === '') return [];
  let list;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new RangeError(`Rules must be JSON: ${shown(/** @type {Error} */ (error).message)}.`, {
      cause: error
    });
  }
  if (!Array.isArray(list)) throw new RangeError('Rules must be a list: [{"device":"th-*","room":"{1}"}].');
  if (list.length > MAX_RULES) throw new RangeError(`There may be ${MAX_RULES} rules, not ${list.length}.`);
  return list.map((rule, index) => readRule(rule, `Rule ${index + 1}`));
}

/** @param {any} rule @param {string} name @returns {Rule} */
function readRule(rule, name) {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule))
    throw new RangeError(`${name} must be an object.`);
  const unknown = Object.keys(rule).find((key) => !KEYS.includes(key));
  if (unknown !== undefined)
    throw new RangeError(`${name} has an unknown key "${shown(unknown)}". The keys are ${KEYS.join(', ')}.`);
  /** @type {Record<string, string>} */
  const texts = {};
  for (const key of TEXTS) {
    const value = typeof rule[key] === 'number' ? String(rule[key]) : rule[key];
    if (value === undefined) continue;
    if (!isText(value))
      throw new RangeError(`${key} of ${name} must be text of 1 to ${MAX_LENGTH} characters.`);
    texts[key] = value;
  }
  const { device = '', ...others } = texts;
  if (device === '') throw new RangeError(`${name} has no device. Enter an id, or a pattern with * and ?.`);
  const stars = device.split('*').length - 1;
  for (const text of Object.values(others)) checkPlaceholders(text, stars, name);
  const types = [rule.type ?? []].flat();
  if (types.length > MAX_TYPES || !types.every(isText))
    throw new RangeError(`type of ${name} must be text, or a list of at most ${MAX_TYPES} texts.`);
  if (others.write !== undefined && !PATH.test(others.write))
    throw new RangeError(
      `write of ${name} must be a key of what is desired, such as rate or limits.high, with at most 8 levels.`
    );
  return { device, types, texts: others, ask: readAsk(rule.ask, name, stars) };
}

/** @param {any} ask @param {string} name @param {number} stars @returns {Ask | null} */
function readAsk(ask, name, stars) {
  if (ask === undefined) return null;
  const { command, payload = '', url, ...rest } = typeof ask === 'object' && ask !== null ? ask : {};
  const texts = [command, url].filter((text) => text !== undefined);
  const isFine = texts.length === 1 && isText(texts[0]) && Object.keys(rest).length === 0;
  if (!isFine || typeof payload !== 'string' || payload.length > MAX_ASK)
    throw new RangeError(
      `ask of ${name} must be {"command":"get","payload":"…"} or {"url":"coap://…"}, not ${shown(ask)}.`
    );
  checkPlaceholders(texts[0], stars, name);
  const problem =
    command === undefined ? '' : commandProblem({ device: 'd', topic: deviceTopic('d', command) });
  if (problem) throw new RangeError(`ask of ${name}: ${problem}`);
  if (url !== undefined && !/^coap:\/\/[^/]/.test(url))
    throw new RangeError(`url of ${name} must begin with coap://, not "${shown(url)}".`);
  return command === undefined ? { url } : { command, payload };
}

/** @param {unknown} value */
function isText(value) {
  return (
    typeof value === 'string' && value.trim() !== '' && value.length <= MAX_LENGTH && !/\p{Cc}/u.test(value)
  );
}

/** @param {string} text @param {number} stars @param {string} name */
function checkPlaceholders(text, stars, name) {
  for (const [whole, word] of text.matchAll(/\{([^{}]*)\}/g)) {
    const isKnown = word === 'device' || (/^[1-9]$/.test(word) && Number(word) <= stars);
    if (!isKnown)
      throw new RangeError(
        `${name} has an unknown placeholder ${shown(whole)}. {device} is the device, {1} what the first * stands for.`
      );
  }
}

/**
 * @param {Rule[]} rules
 * @param {string} device
 * @returns {Placed | null} of the first rule that matches
 */
function placeOf(rules, device) {
  const rule = rules.find((each) => matchesGlob(each.device, device));
  if (!rule) return null;
  const parts = captures(rule.device, device);
  const fill = (/** @type {string} */ text) =>
    text.replace(/\{(\d|device)\}/g, (_whole, word) =>
      word === 'device' ? device : parts[Number(word) - 1]
    );
  const texts = Object.fromEntries(Object.entries(rule.texts).map(([key, text]) => [key, fill(text)]));
  const { ask } = rule;
  const filled =
    ask &&
    Object.fromEntries(
      Object.entries(ask).map(([key, text]) => [key, key === 'payload' ? text : fill(text)])
    );
  return { ...texts, types: rule.types, ask: filled };
}

/**
 * Returns what each * of a glob stands for. Each takes as few characters as possible, from the left; the last takes
 * the rest. REQUIRES: the glob matches.
 * @param {string} glob
 * @param {string} id
 * @returns {string[]}
 */
function captures(glob, id) {
  const text = [...id];
  const pieces = glob.split('*').map((piece) => [...piece]);
  /** @type {string[]} */
  const found = [];
  let at = pieces[0].length;
  for (const [index, piece] of pieces.slice(1).entries()) {
    const isLast = index === pieces.length - 2;
    let next = isLast ? text.length - piece.length : at;
    const fits = () => piece.every((letter, i) => letter === '?' || letter === text[next + i]);
    while (!isLast && !fits()) next++;
    found.push(text.slice(at, next).join(''));
    at = next + piece.length;
  }
  return found;
}

module.exports = { captures, parseRules, placeOf };
