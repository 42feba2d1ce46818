'use strict';
// Summarizes the sessions of an uplink for the status. There is one session for each group of classes.

/**
 * @typedef {import('./modules').UplinkState} UplinkState
 * @typedef {import('./modules').SessionState} SessionState
 */

/** Worst first: an operator must act, the connection failed, the session has not started. */
const ORDER = ['refused', 'disconnected', 'reconnecting', 'stalled', 'connecting', 'stopped'];

/**
 * @param {UplinkState} state
 * @returns {boolean} true if some class has a session that accepts records
 */
function anyConnected({ state, sessions = [] }) {
  return state === 'connected' || sessions.some((session) => session.state === 'connected');
}

/**
 * @param {UplinkState} state
 * @returns {SessionState | null} the worst session that is not connected, the most urgent among equals; null if all
 *   sessions have the same state, which is then the state of the uplink
 */
function odd({ sessions = [] }) {
  const troubled = sessions.filter(({ state }) => state !== 'connected');
  if (troubled.length === 0) return null;
  const [first] = sessions;
  if (sessions.every(({ state, code }) => state === first.state && code === first.code)) return null;
  return troubled.reduce((worst, each) => (rank(each) < rank(worst) ? each : worst));
}

/** @param {SessionState} session */
function rank({ state }) {
  const place = ORDER.indexOf(state);
  return place < 0 ? ORDER.length : place;
}

/**
 * @param {number[]} classes in ascending order
 * @returns {string} such as 1,2 or 3–8
 */
function classList(classes) {
  /** @type {number[][]} */
  const runs = [];
  for (const each of classes) {
    const run = runs.at(-1);
    if (run?.at(-1) === each - 1) run.push(each);
    else runs.push([each]);
  }
  return runs.map((run) => (run.length > 2 ? `${run[0]}–${run.at(-1)}` : run.join(','))).join(',');
}

module.exports = { anyConnected, odd, classList };
