'use strict';
// Checks whether a history keeps the gateway's promises (docs/understand/guarantees.md). Pure, and linear in the length
// of the history.

const { checkDuplicates, checkKeys } = require('./duplicates');
const { nameOf, story } = require('./history');
const { checkCounters, checkLimits, dropped } = require('./limits');
const { checkOrder } = require('./order');

/**
 * @typedef {import('./history').History} History
 * @typedef {import('./history').Settings} Settings
 * @typedef {import('./history').RecordName} RecordName
 * @typedef {import('./history').Violation} Violation
 */

/** Violations of each kind that are reported with their history. */
const EXPLAINED = 10;

/** Collects violations by kind; reports the first ones with their history. */
class Findings {
  /** @param {History} history */
  constructor(history) {
    this.history = history;
    /** @type {Record<string, number>} */
    this.counts = {};
    /** @type {Violation[]} */
    this.violations = [];
  }

  /** @param {string} what @param {string} text @param {RecordName[]} [records] whose history explains it */
  add(what, text, records = []) {
    this.counts[what] = (this.counts[what] || 0) + 1;
    if (this.counts[what] > EXPLAINED) return;
    this.violations.push({ what, text, history: records.flatMap((record) => story(this.history, record)) });
  }
}

/**
 * The devices' view of a record.
 * @typedef {{hash: string, sends: number, acked: boolean, record: RecordName}} Known
 * @param {History} history
 */
function readDevices(history) {
  /** @type {Map<string, Known>} */
  const known = new Map();
  for (const event of history.devices) {
    const name = nameOf(event);
    let entry = known.get(name);
    if (!entry) {
      entry = { hash: '', sends: 0, acked: false, record: event };
      known.set(name, entry);
    }
    if (event.type === 'send') {
      entry.sends += 1;
      entry.hash = /** @type {string} */ (event.hash);
    } else entry.acked = true;
  }
  return known;
}

/**
 * Checks that every record was delivered as sent, and nothing else.
 * @param {History} history
 * @param {Map<string, Known>} known
 * @param {Findings} findings
 */
function checkArrivals(history, known, findings) {
  /** @type {Set<string>} */
  const delivered = new Set();
  for (const arrival of history.arrivals) {
    const name = nameOf(arrival);
    const sent = known.get(name);
    if (!sent) {
      findings.add('phantom', `${name} arrived and no device ever sent it`, [arrival]);
      continue;
    }
    if (sent.hash !== arrival.hash) {
      findings.add('changed', `${name} was sent as ${sent.hash} and arrived as ${arrival.hash}`, [arrival]);
    }
    // A PUBACK that never reached the gateway does not allow it to forget the record.
    if (arrival.passed) delivered.add(name);
  }
  return delivered;
}

/**
 * Finds records that were acknowledged and neither delivered nor in a counted outcome.
 * @param {History} history @param {Settings} settings @param {Map<string, Known>} known @param {Set<string>} delivered
 * @param {Findings} findings
 */
function checkLosses(history, settings, known, delivered, findings) {
  const dead = new Set(history.dead.map(nameOf));
  /** The gateway's reported drops, by class; a missing record may be one of them. */
  const excused = dropped(history.stats, settings.allowedDrops, ['deadLetter']);
  const result = { acknowledged: 0, delivered: 0, dead: 0, dropped: 0, unacknowledged: 0 };
  for (const [name, { acked, record }] of known) {
    if (delivered.has(name)) result.delivered += 1;
    if (!acked) {
      result.unacknowledged += 1;
      continue;
    }
    result.acknowledged += 1;
    if (delivered.has(name)) continue;
    if (dead.has(name)) result.dead += 1;
    else if (excused[record.class] > 0) {
      excused[record.class] -= 1;
      result.dropped += 1;
    } else findings.add('lost', `${name} was acknowledged and not delivered`, [record]);
  }
  for (const record of history.dead) {
    if (!known.has(nameOf(record))) {
      findings.add('phantom', `${nameOf(record)} is a dead letter and no device ever sent it`, [record]);
    }
  }
  return result;
}

/**
 * @param {History} history
 * @param {Settings} settings
 */
function check(history, settings) {
  const findings = new Findings(history);
  const known = readDevices(history);
  const delivered = checkArrivals(history, known, findings);
  const outcome = checkLosses(history, settings, known, delivered, findings);
  const excusedSwaps = settings.isUnordered ? 0 : checkOrder(history, settings, known, findings);
  const duplicates = checkDuplicates(history, settings, known, findings);
  checkKeys(history, known, findings);
  checkLimits(history, settings, findings);
  const counters = checkCounters(history, settings, findings);
  for (const { what, text } of history.findings) findings.add(what, text);
  if (!settings.settled)
    findings.add('stuck', 'the end was not quiet in time: records or acknowledgements are missing');
  const { counts, violations } = findings;
  return {
    valid: violations.length === 0,
    ...outcome,
    lost: counts.lost || 0,
    swapped: counts.swapped || 0,
    excusedSwaps,
    phantom: counts.phantom || 0,
    changed: counts.changed || 0,
    ...duplicates,
    counters,
    counts,
    violations
  };
}

/** @typedef {ReturnType<typeof check>} Verdict */

module.exports = { check };
