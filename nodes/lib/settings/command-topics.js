'use strict';
// The topics at which devices take commands, where a device has its own: Tasmota, Shelly, ESPHome and others.

const { badCharacter } = require('../base/topic-template');
const { shown } = require('../base/values');

const MAX_RULES = 64;
const PLACEHOLDER = /\{(\w*)\}/g;

/**
 * For devices that match the glob, {device} and {rest} of the template give the topic.
 * @typedef {{ pattern: string, template: string }} TopicRule
 */

/**
 * @param {string} text such as "tasmota_* = cmnd/{device}/{rest}, shelly* = {device}/{rest}"
 * @returns {TopicRule[]} in their order: the first that matches applies
 * @throws {RangeError} with a sentence
 */
function parseCommandTopics(text) {
  const rules = text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)
    .map(ruleOf);
  if (rules.length > MAX_RULES)
    throw new RangeError(`Command topics has ${rules.length} rules; there may be ${MAX_RULES} at most.`);
  return rules;
}

/** @param {string} text @returns {TopicRule} */
function ruleOf(text) {
  const [, pattern = '', template = ''] = /^([^=\s]+)\s*=\s*(\S+)$/.exec(text) ?? [];
  const where = `Command topics: "${shown(text)}"`;
  if (!pattern)
    throw new RangeError(`${where} must be DEVICES=TOPIC, such as tasmota_*=cmnd/{device}/{rest}.`);
  const names = [...template.matchAll(PLACEHOLDER)].map(([, name]) => name);
  const unknown = names.find((name) => name !== 'device' && name !== 'rest');
  if (unknown !== undefined)
    throw new RangeError(`${where} has an unknown placeholder {${unknown}}. Use {device} and {rest}.`);
  if (!names.includes('rest'))
    throw new RangeError(`${where} lacks {rest}, the part of the topic after the device.`);
  const literal = template.replace(PLACEHOLDER, '');
  const bad = /[{}]/.test(literal) ? 'has an unmatched brace' : badCharacter(literal);
  if (bad) throw new RangeError(`${where} ${bad}.`);
  return { pattern, template };
}

exports.parseCommandTopics = parseCommandTopics;
