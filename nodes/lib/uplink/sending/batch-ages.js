'use strict';

/** @typedef {import('./feeder').Feeder} Feeder */

/**
 * True if no live batch is taken and none waits, not even for its rate. The backlog is on disk and can wait.
 * @param {Feeder} feeder
 */
function isIdle({ source, express, taken }) {
  express.refresh();
  if (taken.live > 0 || express.open > 0) return false;
  return !source || (source.best() === 0 && (source.retryMs() < 0 || source.oldestMs() < 0));
}

/** Returns the age of the oldest batch without an acknowledgement in ms; -1 = none. @param {Feeder} feeder */
function oldestMs({ source, taken }) {
  return Math.max(source ? source.oldestMs() : -1, taken.oldestMs());
}

/**
 * The same, but without batches that the engine does not give out yet: they wait for their rate or their turn, not for
 * the broker.
 * @param {Feeder} feeder
 */
function dueMs(feeder) {
  const { taken, express, source } = feeder;
  const age = oldestMs(feeder);
  const isAnyDue = age < 0 || taken.oldestMs() >= 0 || express.open > 0 || source?.best() !== 0;
  return isAnyDue ? age : -1;
}

module.exports = { dueMs, isIdle, oldestMs };
