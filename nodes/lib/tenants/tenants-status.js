'use strict';
// The status of a tenants node: how many tenants are awake, and why some wait.

const { rate, shorten } = require('../base/status');
const { shortReason } = require('../base/texts/short-reasons');

/**
 * @typedef {Record<import('./uplink/tenant').TenantState, number>} Counts
 *
 * @typedef {object} Seen
 * @property {Counts} counts
 * @property {string} fileProblem '' = the file is in use
 * @property {string} keeperProblem '' = the keeper answers
 * @property {{ name: string, state: string, reason: string }[]} failed tenants
 * @property {number} kept records that wait
 */

/**
 * @param {Seen} seen
 * @returns {import('../base/status').Shown}
 */
function tenantsShown({ counts, fileProblem, keeperProblem, failed, kept }) {
  const { awake, waking, connecting, leaving, asleep } = counts;
  const waiting = counts.waiting + waking + connecting + counts.failed;
  const tail = kept > 0 ? ` · ${rate(kept)} kept` : '';
  if (fileProblem)
    return { fill: 'red', shape: 'ring', text: shorten(`file: ${cause(fileProblem, 'not found')}`, tail) };
  if (keeperProblem)
    return { fill: 'red', shape: 'ring', text: shorten(`keeper: ${cause(keeperProblem)}`, tail) };
  if (failed.length > 0) {
    const others = failed.length > 1 ? ` (+${failed.length - 1})` : '';
    return {
      fill: 'red',
      shape: 'ring',
      text: shorten(`${failed[0].name}: ${failed[0].reason}`, others + tail)
    };
  }
  const text = [
    `${awake + leaving} awake`,
    `${asleep} asleep`,
    ...(waiting > 0 ? [`${waiting} waiting`] : [])
  ];
  return {
    fill: waiting > 0 ? 'yellow' : awake > 0 ? 'green' : 'grey',
    shape: waiting > 0 ? 'ring' : 'dot',
    text: shorten(text.join(', '), tail)
  };
}

/**
 * @param {string} sentence
 * @param {string} [missing] words of ENOENT, which the name of a socket gets while nothing runs there
 * @returns {string} the words of the system's code in it, or its first words
 */
function cause(sentence, missing = '') {
  const code = /\((E[A-Z]+)\)/.exec(sentence)?.[1] ?? '';
  if (missing && code === 'ENOENT') return missing;
  return shortReason(code) || code || (/is not used\. (.*)/.exec(sentence)?.[1] ?? sentence);
}

module.exports = { tenantsShown };
