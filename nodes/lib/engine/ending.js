'use strict';
// The end of an engine: what becomes of the records that it holds.

const { drain, isDelivered, isSafe } = require('./drain');

/** Time to deliver the records in memory. Without a log they would be lost; with a log, a short time is enough. */
const DRAIN_MS = 10000;
const DRAIN_WITH_LOG_MS = 3000;
const SAVE_MS = 10000;

/** @typedef {import('./log-link').LogLink} LogLink */

/**
 * Delivers the records in memory while an uplink accepts them. The log, if any, saves the rest.
 * @param {import('./drain').Drained & { engine: { saveAll(): void }, log: LogLink | null, uplinks: { anyConnected: boolean } }} host
 * @param {number} until ms of performance.now()
 * @returns {Promise<boolean>} true if all records are delivered or saved
 */
async function empty(host, until) {
  const atMost = (/** @type {number} */ ms) => Math.max(0, Math.min(ms, until - performance.now()));
  if (!host.log) return drain(host, isDelivered, { timeoutMs: atMost(DRAIN_MS) });
  const goesOn = () => host.uplinks.anyConnected;
  if (await drain(host, isDelivered, { timeoutMs: atMost(DRAIN_WITH_LOG_MS), goesOn })) return true;
  host.engine.saveAll();
  // Two polls: workers seal the open batches, and only then do these count as unsaved.
  return drain(host, isSafe, { timeoutMs: atMost(SAVE_MS), readings: 2 });
}

/**
 * Reports the records that an engine held when it stopped.
 * @param {{ lost: number, kept: number, isRemoved: boolean }} left isRemoved: the engine node was deleted or disabled
 * @param {LogLink | null} log
 * @param {{ warn: (sentence: string) => void, info: (sentence: string) => void }} node
 */
function reportLeft({ lost, kept, isRemoved }, log, node) {
  const keeps = kept > 0 ? `Kept on disk for the next start: ${kept}.` : '';
  if (lost > 0) {
    const why = log
      ? `Neither the uplink nor the log took them${log.reason()}.`
      : "Check the uplink's status.";
    node.warn(
      `Records that were not delivered when the engine stopped and were dropped: ${lost}. ${why} ${keeps}`.trim()
    );
  }
  if (isRemoved && keeps) {
    const directory = log?.view().directory ?? '';
    node.warn(
      `The engine node was deleted or disabled while ${kept} records waited for the cloud. They stay on disk in ${directory} and are sent when this engine node and its uplink nodes are back (undo the deletion, or enable them).`
    );
  } else if (lost === 0) {
    const place = kept > 0 ? ' They are on disk and are sent when their uplink nodes run again.' : '';
    node.info(`Stopped. Records that wait for the cloud: ${kept}.${place}`);
  }
}

module.exports = { empty, reportLeft };
