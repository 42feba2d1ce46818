'use strict';
// Drains an engine before it closes: it accepts no new records, and delivers or saves those it holds.

const POLL_MS = 50;

/**
 * @typedef {import('../../../native/index.js').EngineStats} EngineStats
 *
 * @typedef {object} Drained
 * @property {Pick<import('../../../native/index.js').Engine, 'flush' | 'stats'>} engine must no longer read devices
 * @property {{ size: number, run: () => void }} inbox
 */

/**
 * @param {Drained} held
 * @param {(stats: EngineStats) => boolean} isDone
 * @param {{ timeoutMs: number, goesOn?: () => boolean, readings?: number, pollMs?: number }} options goesOn: returns
 *   false to stop early; readings: consecutive polls at which `isDone` must be true
 * @returns {Promise<boolean>} true if `isDone` became true in time
 */
async function drain(
  { engine, inbox },
  isDone,
  { timeoutMs, goesOn = () => true, readings = 1, pollMs = POLL_MS }
) {
  const until = performance.now() + timeoutMs;
  for (let done = 0; ;) {
    inbox.run();
    // At each poll: records that waited for room, or came over message wires, open new batches.
    engine.flush(0);
    done = inbox.size === 0 && isDone(engine.stats()) ? done + 1 : 0;
    if (done >= readings) return true;
    if (performance.now() >= until || !goesOn()) return false;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** @param {EngineStats} stats @returns {boolean} true if the cloud has every record in memory and of every window */
function isDelivered({ heldRecords, openWindows = 0 }) {
  return sum(heldRecords) === 0 && openWindows === 0;
}

/** @param {EngineStats} stats @returns {boolean} true if each record and window is in the cloud or on disk */
function isSafe(stats) {
  return unsafeRecords(stats) === 0 && !stats.openWindows;
}

/**
 * @param {EngineStats} stats
 * @returns {number} records that are only in memory, including those of open batches
 */
function unsafeRecords({ heldRecords, unsavedRecords, storedRecords, backlogRecords }) {
  const open = heldRecords.map((held, cls) => held - (storedRecords[cls] - backlogRecords[cls]));
  return sum(unsavedRecords.map((unsaved, cls) => Math.max(unsaved, open[cls])));
}

/** @param {number[]} counts */
function sum(counts) {
  return counts.reduce((total, count) => total + count, 0);
}

module.exports = { drain, isDelivered, isSafe, unsafeRecords, sum };
