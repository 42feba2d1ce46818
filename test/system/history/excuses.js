'use strict';
// Reasons for which a record may arrive behind a later one of its device (docs/understand/guarantees.md, "What is not
// promised"). Each excuse is as narrow as the evidence that the gateway, the broker or the device left.

const { nameOf } = require('./history');

/**
 * @typedef {import('./history').History} History
 * @typedef {import('./history').Settings} Settings
 * @typedef {import('./history').Arrival} Arrival
 * @typedef {import('./checker').Known} Known
 * @typedef {(arrival: Arrival) => null | ((later: Arrival) => boolean)} Excuse for a record that arrived late: null if
 *  there is none, or else a function that returns true for each later record that may have overtaken it
 */

/** @template T @param {T[]} list @param {(each: T) => string} keyOf @returns {Map<string, T[]>} */
function groupBy(list, keyOf) {
  /** @type {Map<string, T[]>} */
  const groups = new Map();
  for (const each of list) {
    const group = groups.get(keyOf(each));
    if (group) group.push(each);
    else groups.set(keyOf(each), [each]);
  }
  return groups;
}

/**
 * A broker that refuses one PUBLISH and takes the next one, both in flight, has made the swap itself. So a later
 * record is excused if it left before the gateway can have known of the refusal.
 * @param {History} history @param {Settings} settings @returns {Excuse}
 */
function refused({ refusals, pauses = [] }, { slackMs }) {
  const refusalsOf = groupBy(refusals, nameOf);
  /** @param {number} time of the refusal */
  const lastRead = (time) =>
    pauses.reduce(
      (end, { from, until }) => (from <= end && until > end ? until + slackMs : end),
      time + slackMs
    );
  return (arrival) => {
    const own = refusalsOf.get(nameOf(arrival));
    if (!own) return null;
    return (later) => own.some(({ sent, time }) => later.sent >= sent && later.sent <= lastRead(time));
  };
}

/**
 * The gateway sets a poison record aside and sends others. It reports this, and each report excuses one PUBLISH, of the
 * topic and size that it names: it may be overtaken by what left after the report.
 * @param {History} history @param {Settings} settings @returns {Excuse}
 */
function setAside({ setAside: reports = [] }, { slackMs }) {
  const unused = [...reports];
  /** By key of the PUBLISH; one without a key contains one record. @type {Map<string, number>} */
  const reportedAt = new Map();
  return (arrival) => {
    const publish = arrival.key || nameOf(arrival);
    if (!reportedAt.has(publish)) {
      const at = unused.findIndex(
        ({ topic, bytes, time }) =>
          topic === arrival.topic && bytes === arrival.bytes && time <= arrival.sent + slackMs
      );
      if (at < 0) return null;
      reportedAt.set(publish, unused.splice(at, 1)[0].time);
    }
    const earliest = /** @type {number} */ (reportedAt.get(publish)) - slackMs;
    return (later) => later.sent >= earliest;
  };
}

/** The gateway numbers the batches of a class. @param {string} key */
function readKey(key) {
  const slash = key.lastIndexOf('/');
  return { series: key.slice(0, slash), number: slash < 0 ? NaN : Number(key.slice(slash + 1)) };
}

/** @param {string} key @param {string} other @returns {boolean} true if the batch of `key` was made first */
function isBefore(key, other) {
  const [a, b] = [readKey(key), readKey(other)];
  return a.series === b.series && a.number < b.number;
}

/**
 * A record that its device sent twice is in two batches. If the first one went to the log, the live copy is the
 * repetition: it may be overtaken by what was batched between the two. The keys show that order.
 * @param {History} history @param {Map<string, Known>} known @returns {Excuse}
 */
function repeated({ arrivals }, known) {
  const historical = groupBy(
    arrivals.filter((each) => each.historical),
    nameOf
  );
  return (arrival) => {
    const name = nameOf(arrival);
    const firsts = historical.get(name);
    if (arrival.historical || !firsts || (known.get(name)?.sends ?? 0) < 2) return null;
    return (later) =>
      isBefore(later.key, arrival.key) && firsts.some((first) => isBefore(first.key, later.key));
  };
}

/** @param {History} history @param {Settings} settings @param {Map<string, Known>} known @returns {Excuse[]} */
const excusesOf = (history, settings, known) => [
  refused(history, settings),
  setAside(history, settings),
  repeated(history, known)
];

module.exports = { excusesOf };
