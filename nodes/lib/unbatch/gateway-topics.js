'use strict';
// Which gateway may publish on a topic. The key and the records of an envelope are what its publisher wrote into it.
// Only its topic was checked by the broker. So an envelope counts only if its topic names the gateway and the class of
// its key. Otherwise a client with the rights of one gateway could send the keys of another one in advance, whose
// batches would then be dropped as duplicates, after the broker has acknowledged them.

const { classNames } = require('../base/classes');
const { badCharacter, validateTopicTemplate } = require('../base/topic-template');
const { shown } = require('../base/values');

/** @typedef {import('./record-key').Key} Key */

const GATEWAY = '{gateway}';
/** They may have several levels, and devices choose them. */
const LONG = /\{(?:device|topic)\}/;
/** Longest text of the setting. */
const MAX_CHARACTERS = 4096;

class GatewayTopics {
  #templates;
  #historySuffix;

  /**
   * @param {string} text templates of uplink nodes, separated by commas, such as gw/{gateway}/{class}; '' = none: every
   *   topic is accepted
   * @param {string} historySuffix of the topics of historical records, '' = none
   * @throws {RangeError} with a sentence
   */
  constructor(text, historySuffix) {
    this.#templates = parse(text);
    this.#historySuffix = historySuffix;
  }

  /** True if a topic proves the gateway. */
  get areProof() {
    return this.#templates.length > 0;
  }

  /**
   * @param {unknown} topic of a message
   * @param {Key | null} [key] of its envelope or record; null: it has none, or it is not known yet
   * @returns {string} why it is refused, as a sentence; '' = it is not
   */
  refusal(topic, key = null) {
    if (!this.areProof) return '';
    const name = this.#withoutSuffix(String(topic ?? ''));
    if (this.#templates.some((template) => matches(template, name, key))) return '';
    const remedy = 'If gateways publish there, add the topic to Topic of the gateways in this node.';
    return key && this.#templates.some((template) => matches(template, name, null))
      ? `A message on the topic "${shown(name)}" has the key of the gateway "${shown(key.gateway)}" and the class ${classNames[key.lane]}. It is refused, because the topic is not theirs.`
      : `No gateway has the topic "${shown(name)}", so a message there is refused. ${remedy}`;
  }

  /** @param {string} topic */
  #withoutSuffix(topic) {
    const suffix = this.#historySuffix;
    return suffix !== '' && topic.endsWith(suffix) ? topic.slice(0, -suffix.length) : topic;
  }
}

/** @param {string} text @returns {string[]} @throws {RangeError} with a sentence */
function parse(text) {
  if (text.length > MAX_CHARACTERS)
    throw new RangeError(`"gatewayTopic" must have at most ${MAX_CHARACTERS} characters.`);
  const templates = text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);
  for (const template of templates) {
    const valid = validateTopicTemplate(template);
    if (valid !== true) throw new RangeError(valid);
    const levels = template.split('/');
    const at = levels.findIndex((level) => level.includes(GATEWAY));
    if (at < 0)
      throw new RangeError(`The topic '${shown(template)}' does not name the gateway. Add {gateway} to it.`);
    // What a device chooses could otherwise look like the level of another gateway.
    if (levels.slice(0, at + 1).some((level) => LONG.test(level)))
      throw new RangeError(
        `The topic '${shown(template)}' has {device} or {topic} before, or in the level of, {gateway}. Choose a topic with {gateway} first.`
      );
  }
  return templates;
}

/**
 * @param {string} template
 * @param {string} topic
 * @param {Key | null} key null: any gateway and class
 */
function matches(template, topic, key) {
  if (badCharacter(topic) !== '') return false;
  const parts = template.split(/(\{[^{}]*\})/).map((part) => {
    if (part === GATEWAY) return key ? literal(key.gateway) : '[^/]+';
    if (part === '{class}') return key ? literal(classNames[key.lane]) : `(?:${CLASS})`;
    return LONG.test(part) ? '.+' : literal(part);
  });
  return new RegExp(`^${parts.join('')}$`, 's').test(topic);
}

const CLASS = classNames.slice(1).join('|');

/** @param {string} text */
function literal(text) {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

exports.GatewayTopics = GatewayTopics;
