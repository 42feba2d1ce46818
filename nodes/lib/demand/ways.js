'use strict';
// The settings of a demand node: which devices may be asked for, by which commands, and within which limits.

const { matchesGlob } = require('../base/glob');
const { integer, text } = require('../base/options');
const { checkTemplate } = require('../base/templates');
const { commandProblem } = require('../commands/command');

const MAX_PAYLOAD = 4096;

const schema = {
  devices: text('*', /^[^\0]{1,256}$/, 'a device id or a pattern with * and ?'),
  topic: text('cmd/{device}/rate'),
  payload: text('{"everyMs":{everyMs},"forS":{forS}}'),
  restoreTopic: text(''),
  restorePayload: text('{"everyMs":0}'),
  minEveryMs: integer(10, 3600000, 100),
  maxForS: integer(1, 86400, 3600),
  maxOfUser: integer(1, 10000, 100),
  maxOfDevice: integer(1, 1000, 16)
};

/** @typedef {{ [K in keyof typeof schema]: ReturnType<(typeof schema)[K]> }} Values */
/** @typedef {{ device: string, topic: string, payload: Buffer }} Sent */

class Way {
  #values;

  /** @param {Values} values @throws {RangeError} with a sentence */
  constructor(values) {
    this.#values = values;
    const { topic, restoreTopic, payload, restorePayload } = values;
    for (const [name, template] of Object.entries({ topic, restoreTopic })) {
      checkTemplate(name, template, ['device']);
    }
    for (const [name, template] of Object.entries({ payload, restorePayload })) {
      if (template.length > MAX_PAYLOAD)
        throw new RangeError(`"${name}" must have at most ${MAX_PAYLOAD} characters.`);
    }
    const problem = commandProblem({ device: 'd', topic: topic.replaceAll('{device}', 'd') });
    if (problem) throw new RangeError(problem);
    /** @type {Pick<Values, 'minEveryMs' | 'maxForS' | 'maxOfUser' | 'maxOfDevice'>} */
    this.limits = values;
    /** True if the command contains its end, so that a later end is another command. */
    this.sendsEnd = payload.includes('{forS}');
  }

  /** @param {string} device */
  isExactly(device) {
    return this.#values.devices === device;
  }

  /** @param {string} device */
  matches(device) {
    return matchesGlob(this.#values.devices, device);
  }

  /** @param {string} device @param {number} everyMs @param {number} forMs @returns {Sent} */
  command(device, everyMs, forMs) {
    const { topic, payload } = this.#values;
    return sent(device, topic, payload, {
      everyMs: String(everyMs),
      everyS: String(everyMs / 1000),
      forS: String(Math.max(1, Math.ceil(forMs / 1000)))
    });
  }

  /** @param {string} device @returns {Sent} */
  restore(device) {
    const { topic, restoreTopic, restorePayload } = this.#values;
    return sent(device, restoreTopic || topic, restorePayload, {});
  }
}

/** @param {string} device @param {string} topic @param {string} payload @param {Record<string, string>} words */
function sent(device, topic, payload, words) {
  /** @type {Record<string, string>} */
  const given = { ...words, device };
  // As functions, because a name may contain what replaceAll() gives a meaning.
  return {
    device,
    topic: topic.replaceAll('{device}', () => device),
    // Other braces belong to JSON.
    payload: Buffer.from(payload.replace(/\{(\w+)\}/g, (whole, word) => given[word] ?? whole))
  };
}

exports.Way = Way;
exports.schema = schema;
