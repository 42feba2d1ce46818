'use strict';
// The topics at which devices take commands, where a device has its own: Tasmota, Shelly, ESPHome and others.

const { checkTemplate } = require('../base/templates');
const { shown } = require('../base/values');

const MAX_RULES = 64;

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
  checkTemplate('commandTopics', template, ['device', 'rest']);
  if (!template.includes('{rest}'))
    throw new RangeError(`${where} lacks {rest}, the part of the topic after the device.`);
  return { pattern, template };
}

exports.parseCommandTopics = parseCommandTopics;
