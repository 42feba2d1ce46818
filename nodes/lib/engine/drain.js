'use strict';
// The end of an engine, first half: nothing new comes in, and what is held leaves while there is time.

const POLL_MS = 50;

/**
 * @typedef {import('../../../native/index.js').EngineStats} EngineStats
 *
 * @typedef {object} Drained
 * @property {Pick<import('../../../native/index.js').Engine, 'flush' | 'stats'>} engine reading is stopped already
 * @property {{ size: number, run: () => void }} inbox
 */

/**
 * @param {Drained} held
 * @param {(stats: EngineStats) => boolean} isDone
 * @param {{ timeoutMs: number, goesOn?: () => boolean, readings?: number, pollMs?: number }} options goesOn: false ends
 *   the wait early; readings: how often in a row it must be done
 * @returns {Promise<boolean>} true when it is done
 */
async function drain(
  { engine, inbox },
  isDone,
  { timeoutMs, goesOn = () => true, readings = 1, pollMs = POLL_MS }
) {
  const until = performance.now() + timeoutMs;
  for (let done = 0; ;) {
    inbox.run();
    // Again at each turn: records that waited for room, or ran on message wires, open new batches.
    engine.flush(0);
    done = inbox.size === 0 && isDone(engine.stats()) ? done + 1 : 0;
    if (done >= readings) return true;
    if (performance.now() >= until || !goesOn()) return false;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** @param {EngineStats} stats @returns {boolean} true when nothing is in memory that the cloud does not have */
function isDelivered({ heldRecords }) {
  return sum(heldRecords) === 0;
}

/** @param {EngineStats} stats @returns {boolean} true when each record is in the cloud or on disk */
function isSafe(stats) {
  return unsafeRecords(stats) === 0;
}

/** @param {EngineStats} stats @returns {number} records that are in memory alone, those of open batches included */
function unsafeRecords({ heldRecords, unsavedRecords, storedRecords, backlogRecords }) {
  const open = heldRecords.map((held, cls) => held - (storedRecords[cls] - backlogRecords[cls]));
  return sum(unsavedRecords.map((unsaved, cls) => Math.max(unsaved, open[cls])));
}

/** @param {number[]} counts */
function sum(counts) {
  return counts.reduce((total, count) => total + count, 0);
}

module.exports = { drain, isDelivered, isSafe, unsafeRecords, sum };
