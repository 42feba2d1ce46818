'use strict';
// The status texts of the uplink node during a run, as the canvas shows them.

const { uplinkShown } = require('../../nodes/lib/engine/uplink-status');

/** @typedef {import('./run').PathsResult['statuses'][number]} Status */

const none = [0];
/** Statistics without figures, which change constantly. */
const still = /** @type {any} */ ({
  latency: [],
  heldRecords: none,
  storedRecords: none,
  backlogRecords: none
});

/** @param {Status} status @returns {string} */
function textOf({ state, code, reason, paths }) {
  const count = paths[0]?.subflows.length ?? 0;
  const sessions = Array.from({ length: count }, (_, i) => ({
    state,
    code,
    reason,
    classes: [],
    paths: paths.map(({ name, subflows }) => ({ name, subflows: subflows[i] }))
  }));
  return uplinkShown(/** @type {any} */ ({ state, code, reason, sessions }), still, true).text;
}

/**
 * Returns the texts in order, without repetitions.
 * @param {Status[]} statuses
 * @returns {{ms: number, text: string}[]}
 */
function texts(statuses) {
  const all = statuses.map((status) => ({ ms: status.ms, text: textOf(status) }));
  return all.filter(({ text }, i) => text !== all[i - 1]?.text);
}

/** @param {Status[]} statuses @param {number} ms since the start @returns {string} '' = unknown yet */
const textAt = (statuses, ms) => texts(statuses).findLast((each) => each.ms <= ms)?.text ?? '';

module.exports = { textAt, texts };
