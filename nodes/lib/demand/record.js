'use strict';
// What is known of a device that somebody asks about, or whose normal rate is not restored yet.

/** How long an asker waits for the device. */
const PATIENCE_MS = 1000;

/**
 * waiting: the device is away, or has not answered yet. on: it has the rate. silent: it did not acknowledge three
 * times. refused: it refused. restoring: no question is left, and its normal rate waits for it. normal: it has that.
 * @typedef {'waiting' | 'on' | 'silent' | 'refused' | 'restoring' | 'normal'} State
 *
 * @typedef {object} View
 * @property {string} device
 * @property {State} state
 * @property {'command' | 'reading'} by how its rate changes
 * @property {number} everyMs 0 = normal
 * @property {number} endsAt ms since 1970; 0 = no question
 * @property {string[]} askers
 * @property {string} reason why it is silent or refused
 *
 * @typedef {object} Asked one asker's question
 * @property {number} everyMs
 * @property {number} endsAt monotonic
 * @property {boolean} isKept on disk
 *
 * @typedef {object} Responsible
 * @property {import('./ways').Way} way
 * @property {(view: View) => void} changed must not throw
 *
 * @typedef {object} Record of a device with a question or an owed restore
 * @property {string} device
 * @property {Map<string, Asked>} questions by asker
 * @property {Responsible | null} responsible
 * @property {'command' | 'reading'} by
 * @property {State} state
 * @property {string} reason
 * @property {import('./demand-file').Restore | null} restore on disk
 * @property {number} giveUpAt monotonic; when the restore is given up if there is no question
 * @property {boolean} isTouched it may have got a command since its last restore
 * @property {{ everyMs: number, endsAt: number } | null} sent the rate that was sent last
 * @property {object | null} job the latest command, unless it ended; a new one makes it obsolete
 * @property {number} retryAt monotonic; 0 = now
 * @property {{ everyMs: number, end: () => void } | null} reading
 * @property {number} writes to the disk that are under way
 * @property {Set<(refusal: string) => void>} waiters of ask()
 */

/** @param {string} device @returns {Record} */
function makeRecord(device) {
  return {
    device,
    questions: new Map(),
    responsible: null,
    by: 'command',
    state: 'waiting',
    reason: '',
    restore: null,
    giveUpAt: Infinity,
    isTouched: false,
    sent: null,
    job: null,
    retryAt: 0,
    reading: null,
    writes: 0,
    waiters: new Set()
  };
}

/** @param {Record} record @returns {{ everyMs: number, endsAt: number } | null} null: nobody asks */
function wantedOf({ questions }) {
  const kept = [...questions.values()].filter(({ isKept }) => isKept);
  if (kept.length === 0) return null;
  return {
    everyMs: Math.min(...kept.map(({ everyMs }) => everyMs)),
    endsAt: Math.max(...kept.map(({ endsAt }) => endsAt))
  };
}

/** @param {Record} record @param {number} aheadMs wall clock minus monotonic clock @returns {View} */
function viewOf(record, aheadMs) {
  const { device, state, by, questions, reason } = record;
  const wanted = wantedOf(record);
  return {
    device,
    state,
    by,
    everyMs: wanted?.everyMs ?? 0,
    endsAt: wanted ? Math.round(wanted.endsAt + aheadMs) : 0,
    askers: [...questions.keys()],
    reason
  };
}

/**
 * Resolves when the device has answered, or after PATIENCE_MS.
 * @param {Record} record
 * @returns {Promise<string>} why the device refused the rate, '' = it did not
 */
function settledOf({ waiters }) {
  return new Promise((resolve) => {
    const over = (/** @type {string} */ refusal) => {
      clearTimeout(timer);
      waiters.delete(over);
      resolve(refusal);
    };
    const timer = setTimeout(over, PATIENCE_MS, '');
    waiters.add(over);
  });
}

/** Ends the waiting of those who ask. @param {Record} record @param {string} [refusal] */
function answer({ waiters }, refusal = '') {
  for (const over of [...waiters]) over(refusal);
}

module.exports = { answer, makeRecord, settledOf, viewOf, wantedOf };
