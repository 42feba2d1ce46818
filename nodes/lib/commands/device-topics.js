'use strict';
// Which topic a device gets a command at, where it has topics of its own.

const { matchesGlob } = require('../base/glob');
const { deviceTopic, restOf } = require('./command');

/** @typedef {{ pattern: string, template: string }} TopicRule see command-topics.js */

class DeviceTopics {
  /** @type {Set<readonly TopicRule[]>} */
  #rules = new Set();

  /** @param {readonly TopicRule[]} rules @returns {() => void} removes them */
  add(rules) {
    this.#rules.add(rules);
    return () => void this.#rules.delete(rules);
  }

  /**
   * @param {Pick<import('./command').Command, 'device' | 'topic'>} command
   * @returns {string | null} the topic that the first rule gives it; null: it does not have the form of ours, or no
   *   rule matches the device
   */
  of({ device, topic }) {
    const rest = restOf({ device, topic });
    if (this.#rules.size === 0 || rest === '' || topic !== deviceTopic(device, rest)) return null;
    for (const rules of this.#rules) {
      const rule = rules.find(({ pattern }) => matchesGlob(pattern, device));
      // As functions, because a name may contain what replaceAll() gives a meaning.
      if (rule) return rule.template.replaceAll('{device}', () => device).replaceAll('{rest}', () => rest);
    }
    return null;
  }
}

exports.DeviceTopics = DeviceTopics;
