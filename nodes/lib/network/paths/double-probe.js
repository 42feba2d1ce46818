'use strict';
// Sends two probes, so that the accidental loss of one packet does not make a path look dead. The second does not wait
// for the end of the first.

/** @typedef {import('./path-probe').Answer} Answer */

/** Packets lost together by accident are mostly closer together than this. */
const PAUSE_MS = 60;

/**
 * Sends a double probe.
 * @param {() => Promise<Answer>} ask never rejects
 * @returns {Promise<Answer>} the first successful answer, or else the second one
 */
async function doubleProbe(ask) {
  const pause = new Promise((resolve) => setTimeout(() => resolve(null), PAUSE_MS));
  const first = ask();
  const early = await Promise.race([first, pause]);
  if (early && early.ok !== false) return early;
  await pause;
  const second = ask();
  return Promise.any([first, second].map(answered)).catch(() => second);
}

/** @param {Promise<Answer>} asked */
async function answered(asked) {
  const answer = await asked;
  if (answer.ok === false) throw new Error(answer.why);
  return answer;
}

module.exports = { doubleProbe, PAUSE_MS };
