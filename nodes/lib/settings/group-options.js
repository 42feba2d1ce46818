'use strict';

// Parses the groups of an uplink's classes, each with its own MQTT session, and the socket options of each group.

const { CLASSES } = require('../base/classes');
const { rows } = require('./broker');
const { shown } = require('../base/values');

/**
 * Socket options of a group.
 * @typedef {object} SocketPlan
 * @property {number} priority SO_PRIORITY, 0..6
 * @property {number} dscp 0..63
 * @property {number} notSentLowat most unsent bytes in the kernel, 0 = the system's
 * @property {number} sendBuffer SO_SNDBUF in bytes, 0 = the system's
 */

/** @typedef {'priority' | 'dscp' | 'notSentLowat' | 'sendBuffer'} SocketField */

const ALL = Array.from({ length: CLASSES }, (_, i) => i + 1);
const DEFAULT_GROUPS = rows.groups.initial;
const HIGHEST_PRIORITY = 6;
const LOWER_PRIORITY = 2;
const EXPEDITED = 46; // EF [RFC 3246]
const UNSENT_BYTES = 16384;

/** @type {Record<SocketField, {max: number, of: (index: number, count: number) => number}>} */
const FIELDS = {
  priority: { max: rows.priority.max, of: priorityOf },
  dscp: { max: rows.dscp.max, of: (index, count) => (index === 0 && count > 1 ? EXPEDITED : 0) },
  notSentLowat: {
    max: rows.notSentLowat.max,
    of: (index, count) => (index === 0 && count > 1 ? 0 : UNSENT_BYTES)
  },
  sendBuffer: { max: rows.sendBuffer.max, of: () => 0 }
};

/** @param {number} index @param {number} count of groups */
function priorityOf(index, count) {
  if (count === 1) return 0;
  if (index === 0) return HIGHEST_PRIORITY;
  return count > 2 && index === count - 1 ? LOWER_PRIORITY : 0;
}

/**
 * Parses classes by group, the most urgent group first: `1,2/3,4`, or `all` for one group. Classes that are not listed
 * belong to the last group.
 * @param {string | number[][] | undefined} value
 * @returns {number[][]}
 * @throws {TypeError} with a sentence
 */
function parseGroups(value) {
  const text = Array.isArray(value) ? value.map((group) => [group].flat().join(',')).join('/') : value;
  const entered = String(text ?? '').trim() || DEFAULT_GROUPS;
  if (entered.toLowerCase() === 'all') return [ALL];
  const groups = entered.split('/').map((group) => group.split(',').map((name) => classOf(name, entered)));
  const named = groups.flat();
  const twice = named.find((one, i) => named.indexOf(one) !== i);
  if (twice !== undefined) throw wrong(entered, `names class ${twice} twice`);
  groups[groups.length - 1].push(...ALL.filter((one) => !named.includes(one)));
  for (const group of groups) group.sort((a, b) => a - b);
  if (groups.some((group, i) => i > 0 && group[0] < groups[i - 1][0])) {
    throw wrong(entered, 'does not begin with the group of the most urgent class');
  }
  return groups;
}

/** @param {string} name @param {string} entered */
function classOf(name, entered) {
  const number = name.trim() === '' ? NaN : Number(name);
  if (!ALL.includes(number)) throw wrong(entered, `has '${shown(name.trim())}' where a class is expected`);
  return number;
}

/** @param {string} entered @param {string} fault */
function wrong(entered, fault) {
  return new TypeError(
    `Sessions '${shown(entered)}' ${fault}. Enter the classes 1 to ${CLASSES} once each, the groups separated by /, most urgent first: ${DEFAULT_GROUPS}, or all for one session.`
  );
}

/**
 * @param {Partial<Record<SocketField, string>>} options comma-separated lists by group; blank parts have the default
 * @param {number} count of groups
 * @returns {SocketPlan[]}
 */
function parseSockets(options, count) {
  const lists = Object.fromEntries(
    Object.entries(FIELDS).map(([name, field]) => {
      const entered = String(options[/** @type {SocketField} */ (name)] ?? '').trim();
      return [name, parseList(name, entered, field, count)];
    })
  );
  return Array.from(
    { length: count },
    (_, i) =>
      /** @type {any} */ (Object.fromEntries(Object.keys(FIELDS).map((name) => [name, lists[name][i]])))
  );
}

/**
 * @param {string} name
 * @param {string} entered
 * @param {typeof FIELDS[SocketField]} field
 * @param {number} count
 */
function parseList(name, entered, { max, of }, count) {
  const values = entered.split(',').map((value) => value.trim());
  if (values.length > count) {
    throw new TypeError(
      `${name} is ${shown(entered)}; there ${count === 1 ? 'is one session' : `are ${count} sessions`}, so it must have at most ${count}.`
    );
  }
  return Array.from({ length: count }, (_, i) => {
    const value = values[i] ?? '';
    if (value === '') return of(i, count);
    const number = Number(value);
    if (!Number.isInteger(number) || number < 0 || number > max) {
      throw new TypeError(`${name} is ${shown(entered)}; each must be a whole number from 0 to ${max}.`);
    }
    return number;
  });
}

/** @param {string} clientId @param {number} count of groups */
function clientIdsOf(clientId, count) {
  return Array.from({ length: count }, (_, i) => (count === 1 ? clientId : `${clientId}-${i + 1}`));
}

module.exports = { clientIdsOf, parseGroups, parseSockets };
