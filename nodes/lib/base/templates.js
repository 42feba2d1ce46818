'use strict';
// Builds device ids and topics from data of a device. The data is not trusted: it becomes exactly one level of a topic,
// and characters that a broker refuses are replaced.

const { shown } = require('./values');

const PLACEHOLDER = /\{(\w+)\}/g;
/** + and #: [MQTT-3.3.2-2]. * and ? are wildcards of our patterns. Control characters: [MQTT-1.5.4-2]. */
// eslint-disable-next-line no-control-regex
const NOT_IN_A_LEVEL = /[/+#*?\u0000-\u001f\u007f-\u009f]/g;

/**
 * @param {string} name of the property, for the error
 * @param {string} template
 * @param {readonly string[]} known placeholders
 * @throws {RangeError} whose message is a sentence
 */
function checkTemplate(name, template, known) {
  for (const [whole, word] of template.matchAll(PLACEHOLDER)) {
    if (!known.includes(word)) {
      const words = known.map((each) => `{${each}}`).join(', ');
      throw new RangeError(`"${name}" has an unknown placeholder ${shown(whole)}. Use ${words}.`);
    }
  }
  if (/[{}]/.test(template.replaceAll(PLACEHOLDER, ''))) {
    throw new RangeError(`"${name}" has an unmatched brace.`);
  }
  // eslint-disable-next-line no-control-regex
  if (/[+#\u0000]/.test(template)) {
    throw new RangeError(
      `"${name}" contains + or #, which only filters may have: nothing can be published to it.`
    );
  }
}

/**
 * @param {string} template
 * @param {Record<string, string>} values
 * @param {readonly string[]} [whole] names of values that may have several levels
 */
function fill(template, values, whole = []) {
  return template.replaceAll(PLACEHOLDER, (_match, word) => {
    const value = values[word] ?? '';
    return whole.includes(word) ? value.split('/').map(toLevel).join('/') : toLevel(value);
  });
}

/** @param {string} value @returns {string} fit for one level of a topic */
const toLevel = (value) => value.replaceAll(NOT_IN_A_LEVEL, '_');

module.exports = { checkTemplate, fill };
