'use strict';
// Topic filters of an mqtt source (MQTT 4.7, 4.8.2).

const { shown } = require('../../base/values');

const MAX_FILTERS = 100;
const MAX_FILTER_BYTES = 1024;

/** @param {string} filter @returns {string} without $share/{group}/ */
function plainFilter(filter) {
  return filter.startsWith('$share/') ? filter.split('/').slice(2).join('/') : filter;
}

/** @param {string} filter @returns {string} why it is not valid, '' if it is */
function filterProblem(filter) {
  if (filter === '') return 'is empty';
  if (Buffer.byteLength(filter) > MAX_FILTER_BYTES) return `exceeds ${MAX_FILTER_BYTES} bytes`;
  if (filter.includes('\0')) return 'contains NUL';
  if (filter.startsWith('$share/')) {
    const [, group, ...rest] = filter.split('/');
    // [MQTT-4.8.2-1], [MQTT-4.8.2-2]
    if (!group || /[+#]/.test(group)) return 'names no group: write $share/group/filter';
    if (rest.join('/') === '') return 'has no filter after its group: write $share/group/filter';
  }
  const levels = plainFilter(filter).split('/');
  for (const [index, level] of levels.entries()) {
    // [MQTT-4.7.1-1], [MQTT-4.7.1-2]
    if (level.includes('#') && (level !== '#' || index < levels.length - 1)) {
      return 'has # in a place other than the last level';
    }
    if (level.includes('+') && level !== '+') return 'has + next to other characters in a level';
  }
  return '';
}

/**
 * @param {string} text filters separated by commas or line feeds
 * @returns {string[]} without duplicates
 * @throws {Error} with a sentence
 */
function parseFilters(text) {
  const filters = text
    .split(/[\n,]/)
    .map((each) => each.trim())
    .filter(Boolean);
  if (filters.length === 0) {
    throw new Error('No topic is set. Enter at least one filter, such as factory/+/temperature.');
  }
  if (filters.length > MAX_FILTERS) {
    throw new Error(
      `There are ${filters.length} topic filters; at most ${MAX_FILTERS} are allowed. Use + and #.`
    );
  }
  for (const filter of filters) {
    const problem = filterProblem(filter);
    if (problem) throw new Error(`The topic filter "${shown(filter)}" ${problem}.`);
  }
  return [...new Set(filters)];
}

/**
 * @param {string} filter without $share
 * @param {string} topic
 */
function matches(filter, topic) {
  // [MQTT-4.7.2-1]
  if (topic.startsWith('$') && !filter.startsWith('$')) return false;
  return meets(filter.split('/'), topic.split('/'), false);
}

/**
 * @param {string} left
 * @param {string} right both filters without $share
 * @returns {boolean} true if some topic matches both
 */
function overlaps(left, right) {
  return meets(left.split('/'), right.split('/'), true);
}

/**
 * @param {string[]} left levels of a filter
 * @param {string[]} right of a filter or of a topic
 * @param {boolean} bothFilters
 */
function meets(left, right, bothFilters) {
  for (let i = 0; ; i++) {
    // "a/#" matches "a" too [MQTT 4.7.1.2].
    if (left[i] === '#' || (bothFilters && right[i] === '#')) return true;
    if (i === left.length || i === right.length) return left.length === right.length;
    const isWild = left[i] === '+' || (bothFilters && right[i] === '+');
    if (!isWild && left[i] !== right[i]) return false;
  }
}

module.exports = { parseFilters, plainFilter, matches, overlaps };
