'use strict';
// The values of an uplink's series in a step of time, from its reported state:
//   capacity   bytes/s that the broker acknowledged while the link was the limit; none if it never was
//   roundTrip  ms from a PUBLISH to its PUBACK; none if nothing was acknowledged
//   connected  share of the time in which the session of the least urgent class was connected
//   path/NAME/…  of each path of the uplink: capacity, roundTrip (of the path watch, else of TCP), connected (it is up)

/** Shorter times in which the link was the limit say little about it, ms. */
const LEAST_BUSY_MS = 250;
/** A path's bytes are its capacity only if the link was the limit for this share of the step. */
const BUSY_SHARE = 0.8;

/**
 * @typedef {import('../../engine/modules').UplinkState} UplinkState
 * @typedef {import('../../engine/modules').SessionState} SessionState
 * @typedef {import('../../uplink/paths/path-view').PathView} PathView
 * @typedef {{ sum: number, count: number }} Mean
 * @typedef {{ at: number, acknowledged: number, busy: Map<number, { ms: number, bytes: number }>,
 *   paths: Map<string, number> }} Counts when the last step ended
 */

class UplinkFigures {
  /** @type {Counts | null} */
  #before = null;
  /** Of what is looked at more often. @type {Map<string, Mean>} */
  #shares = new Map();

  /** Call it several times in a step: notes what is connected. @param {UplinkState} state */
  look(state) {
    const { state: name } = bulkSession(state);
    // Before the first connection, the reason may be a setting.
    if ((state.connects ?? 0) > 0 && name !== 'stopped' && name !== 'refused') {
      this.#note('connected', isConnected(state));
    }
    for (const { name: path, state: of } of pathsOf(state)) {
      if (of === 'up' || of === 'down') this.#note(`path/${path}/connected`, of === 'up');
    }
  }

  /**
   * Ends a step.
   * @param {UplinkState} state
   * @param {number} now ms
   * @returns {Map<string, number>} value by topic, of those that have one
   */
  take(state, now) {
    const before = this.#before;
    const counts = (this.#before = countsOf(state, now));
    /** @type {Map<string, number>} */
    const values = new Map();
    for (const [topic, { sum, count }] of this.#shares) values.set(topic, sum / count);
    this.#shares.clear();
    const isMoving = before !== null && counts.acknowledged > before.acknowledged;
    if (isMoving && (state.rttMs ?? 0) > 0) values.set('roundTrip', /** @type {number} */ (state.rttMs));
    const busy = before ? busyIn(before, counts) : { ms: 0, bytes: 0 };
    if (busy.ms >= LEAST_BUSY_MS) values.set('capacity', (busy.bytes * 1000) / busy.ms);
    this.#addPaths(values, state, before, counts, busy.ms);
    return values;
  }

  /**
   * @param {Map<string, number>} values
   * @param {UplinkState} state
   * @param {Counts | null} before
   * @param {Counts} counts
   * @param {number} busyMs
   */
  #addPaths(values, state, before, counts, busyMs) {
    const ms = before ? counts.at - before.at : 0;
    for (const { name, quality, rttMs } of pathsOf(state)) {
      const roundTrip = quality?.rttMs ?? rttMs;
      if (roundTrip > 0) values.set(`path/${name}/roundTrip`, roundTrip);
      const bytes = (counts.paths.get(name) ?? NaN) - (before?.paths.get(name) ?? NaN);
      // The counters of a path begin again with each subflow.
      if (bytes >= 0 && ms > 0 && busyMs >= BUSY_SHARE * ms)
        values.set(`path/${name}/capacity`, (bytes * 1000) / ms);
    }
  }

  /** @param {string} topic @param {boolean} is */
  #note(topic, is) {
    const { sum, count } = this.#shares.get(topic) ?? { sum: 0, count: 0 };
    this.#shares.set(topic, { sum: sum + Number(is), count: count + 1 });
  }
}

/** Returns the session of the least urgent class. @param {UplinkState} state */
const bulkSession = (state) => state.sessions?.at(-1) ?? state;

/** True if bulk can leave now. @param {UplinkState} state */
const isConnected = (state) => bulkSession(state).state === 'connected';

/** @param {UplinkState} state @returns {PathView[]} as the most urgent session sees them */
const pathsOf = (state) => state.sessions?.[0]?.paths ?? [];

/** @param {UplinkState} state @param {number} at @returns {Counts} */
function countsOf(state, at) {
  const sessions = state.sessions ?? [];
  /** @type {Map<string, number>} */
  const paths = new Map();
  for (const { name, bytesAcked } of sessions.flatMap((session) => session.paths ?? [])) {
    if (bytesAcked >= 0) paths.set(name, (paths.get(name) ?? 0) + bytesAcked);
  }
  const busy = sessions.map(({ group, busyMs = 0, busyBytes = 0 }) => ({
    group,
    ms: busyMs,
    bytes: busyBytes
  }));
  return {
    at,
    acknowledged: state.acknowledged ?? 0,
    busy: new Map(busy.map(({ group, ms, bytes }) => [group, { ms, bytes }])),
    paths
  };
}

/**
 * Returns the longest time in which a session found the link to be the limit, and what all such sessions got through.
 * @param {Counts} before
 * @param {Counts} counts
 */
function busyIn(before, counts) {
  const all = { ms: 0, bytes: 0 };
  for (const [group, { ms, bytes }] of counts.busy) {
    const old = before.busy.get(group) ?? { ms: 0, bytes: 0 };
    // The counters begin again with each thread.
    const isNew = ms < old.ms || bytes < old.bytes;
    all.ms = Math.max(all.ms, isNew ? 0 : ms - old.ms);
    all.bytes += isNew ? 0 : bytes - old.bytes;
  }
  return all;
}

module.exports = { UplinkFigures, isConnected };
