'use strict';
// A question that is asked twice, so that a packet that is lost by chance is no dead path, without waiting for the first to end.

/** @typedef {import('./path-probe').Answer} Answer */

/** What is lost together by chance is mostly lost within less. */
const PAUSE_MS = 60;

/** @param {() => Promise<Answer>} ask never rejects @returns {Promise<Answer>} the first that is one, else that of the second */
async function askTwice(ask) {
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

module.exports = { askTwice, PAUSE_MS };
