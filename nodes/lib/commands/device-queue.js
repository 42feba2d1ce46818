'use strict';
// The queue of one device's commands: those in the order of arrival, and those that are skipped.

/** @typedef {import('./command').Command} Command */
/** @typedef {import('./command').Status} Status */

/**
 * @typedef {object} Entry
 * @property {Command} command
 * @property {import('./command-queues').Watch} watch
 * @property {(() => void) | null} doubted of a leading command; null = it is an ordinary one
 * @property {string} sender of a leading command
 * @property {number} at time of arrival
 * @property {number} expiresAt by the monotonic clock
 * @property {import('./command-queues').Row} row
 * @property {boolean} storing
 * @property {{ status: Status, reason: string } | null} outcome null: it waits or is in flight
 * @property {boolean} skipped
 * @property {number} number ascends in the order of arrival
 * @property {number} attempts that timed out
 *
 * @typedef {object} Queue of one device
 * @property {Entry[]} entries in the order of arrival, without those that are skipped
 * @property {Map<string, Entry[]>} skipped by topic
 * @property {number} listenAt time of the next attempt for the skipped ones without a wake()
 * @property {number} size of both
 * @property {number} changedAt time of the last wake(), or of the first command
 * @property {boolean} settling parked until settleMs after that
 * @property {Entry | null} busy the entry in flight, which was the first one
 * @property {number} busySince
 * @property {number} attempt number of the attempt in flight
 * @property {number} parkedUntil 0 = not parked
 * @property {boolean} woken during an attempt
 * @property {boolean} pumping
 */

/** @param {number} now @returns {Queue} an empty one */
const emptyQueue = (now) => ({
  entries: [],
  skipped: new Map(),
  listenAt: 0,
  size: 0,
  changedAt: now,
  settling: false,
  busy: null,
  busySince: 0,
  attempt: 0,
  parkedUntil: 0,
  woken: false,
  pumping: false
});

/** @param {Queue} queue @returns {Entry[]} a copy */
function allOf({ entries, skipped }) {
  return [...entries, ...[...skipped.values()].flat()];
}

/** Moves the skipped entries to where they were. @param {Queue} queue */
function gather(queue) {
  if (queue.skipped.size === 0) return;
  queue.entries = allOf(queue).sort((a, b) => a.number - b.number);
  for (const entry of queue.entries) entry.skipped = false;
  queue.skipped.clear();
}

/**
 * Moves an entry behind those of its topic that are skipped.
 * @param {Queue} queue
 * @param {Entry} entry not in flight
 */
function skip(queue, entry) {
  const { topic } = entry.command;
  const alike = queue.skipped.get(topic);
  queue.entries.splice(queue.entries.indexOf(entry), 1);
  entry.skipped = true;
  if (alike) alike.push(entry);
  else queue.skipped.set(topic, [entry]);
}

/** Removes an entry that is not in flight. @param {Queue} queue @param {Entry} entry */
function remove(queue, entry) {
  const { topic } = entry.command;
  const list = (entry.skipped && queue.skipped.get(topic)) || queue.entries;
  list.splice(list.indexOf(entry), 1);
  if (entry.skipped && list.length === 0) queue.skipped.delete(topic);
  queue.size--;
}

module.exports = { allOf, emptyQueue, gather, remove, skip };
