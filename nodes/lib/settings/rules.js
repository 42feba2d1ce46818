'use strict';
// Checks the rules of a priority node, from its list or from JSON text.

const { CLASS_WORDS } = require('../base/classes');
const { toClass } = require('../base/record');
const { isBlank } = require('../base/options');
const { shown } = require('../base/values');

/** @typedef {import('../../../native/index.js').Rule} Rule */

const KEYS = ['topic', 'device', 'when', 'class'];
const MAX_RULES = 1000;

/**
 * Checks an MQTT topic filter, [MQTT-4.7.1-2] and [MQTT-4.7.1-3]: # only as the last level, wildcards only as a whole
 * level.
 * @param {string} filter
 * @returns {string} why it is not valid, '' if it is
 */
function filterProblem(filter) {
  if (filter.includes('\0') || Buffer.byteLength(filter) > 65535) return 'is too long or contains NUL';
  const levels = filter.split('/');
  for (const [index, level] of levels.entries()) {
    if (level.includes('#') && (level !== '#' || index !== levels.length - 1)) {
      return 'may have # only as its last level, alone';
    }
    if (level.includes('+') && level !== '+') return 'may have + only as a whole level';
  }
  return '';
}

/**
 * Checks the conditions of a node with the engine's own parser, which is loaded only if there are any.
 * @param {string[]} conditions '' = none
 * @returns {{ index: number, sentence: string } | null} the first that is not valid
 */
function conditionProblem(conditions) {
  const given = conditions.flatMap((text, index) => (text ? [{ text, index }] : []));
  if (given.length === 0) return null;
  const found = require('../../../native/index.js').checkConditions(given.map(({ text }) => text));
  if (!found) return null;
  const { text, index } = given[found.index];
  return { index, sentence: `the condition "${shown(text)}" is invalid (${found.reason}).` };
}

/**
 * @param {unknown} given
 * @param {number} index
 * @param {boolean} isStrict refuses unknown keys, which are typing errors in JSON text
 * @returns {Rule}
 */
function parseRule(given, index, isStrict) {
  const where = `Rule ${index + 1}`;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new RangeError(`${where} must be an object such as {"topic": "alarm/#", "class": 1}.`);
  }
  const rule = /** @type {Record<string, unknown>} */ (given);
  const unknown = Object.keys(rule).find((name) => !KEYS.includes(name));
  if (isStrict && unknown !== undefined) {
    throw new RangeError(
      `${where} has the unknown key "${shown(unknown)}": use topic, device, when and class.`
    );
  }
  for (const name of ['topic', 'device', 'when']) {
    if (!isBlank(rule[name]) && typeof rule[name] !== 'string')
      throw new RangeError(`${where}: "${name}" must be text.`);
  }
  const topic = isBlank(rule.topic) ? '' : String(rule.topic);
  const device = isBlank(rule.device) ? '' : String(rule.device);
  const when = isBlank(rule.when) ? '' : String(rule.when);
  const problem = topic && filterProblem(topic);
  if (problem) throw new RangeError(`${where}: the topic filter "${shown(topic)}" ${problem}.`);
  if (Buffer.byteLength(device) > 256)
    throw new RangeError(`${where}: the device pattern exceeds 256 bytes.`);
  let cls;
  try {
    cls = toClass(rule.class, 0);
  } catch (error) {
    throw new RangeError(`${where}: ${/** @type {Error} */ (error).message}`, { cause: error });
  }
  if (!cls) throw new RangeError(`${where} has no class: use ${CLASS_WORDS}.`);
  return /** @type {Rule} */ ({
    ...(topic && { topic }),
    ...(device && { device }),
    ...(when && { when }),
    class: cls
  });
}

/**
 * @param {unknown} list rules of the dialog
 * @param {unknown} json rules as JSON text (an array); overrides the list if it is not blank
 * @returns {Rule[]}
 * @throws {RangeError} with a sentence
 */
function parseRules(list, json) {
  const isWritten = !isBlank(json);
  let rules = isWritten ? json : (list ?? []);
  if (typeof rules === 'string') {
    try {
      rules = JSON.parse(rules);
    } catch (error) {
      throw new RangeError(
        `The rules are not valid JSON (${oneLine(/** @type {Error} */ (error).message)}).`,
        {
          cause: error
        }
      );
    }
  }
  if (!Array.isArray(rules))
    throw new RangeError('The rules must be a JSON array: [{"topic": "alarm/#", "class": 1}].');
  if (rules.length > MAX_RULES)
    throw new RangeError(`There are ${rules.length} rules; at most ${MAX_RULES} are allowed.`);
  const parsed = rules.map((rule, index) => parseRule(rule, index, isWritten));
  const problem = conditionProblem(parsed.map(({ when = '' }) => when));
  if (problem) throw new RangeError(`Rule ${problem.index + 1}: ${problem.sentence}`);
  return parsed;
}

/** Returns a message that quotes JSON, without its line breaks. @param {string} message */
function oneLine(message) {
  return message.replace(/\s+/g, ' ');
}

module.exports = { parseRules, filterProblem, conditionProblem };
