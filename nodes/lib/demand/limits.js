'use strict';
// The limits of questions, by device, by asker and in all.

const { Refusal } = require('./request');

/** Devices with a question or an owed restore, and questions. */
const MAX_DEVICES = 10000;
const MAX_QUESTIONS = 20000;

/**
 * @typedef {object} Counts
 * @property {boolean} isRenewal the asker has a question about the device
 * @property {number} ofUser questions of the asker
 * @property {number} ofDevice
 * @property {number} questions
 * @property {number} devices 0 = the device is one of them
 */

/**
 * @param {import('./request').Question} question
 * @param {import('./ways').Way['limits']} limits of the node
 * @param {Counts} counts
 * @throws {Refusal}
 */
function checkLimits({ by, everyMs, forS }, { minEveryMs, maxForS, maxOfUser, maxOfDevice }, counts) {
  const { isRenewal, ofUser, ofDevice, questions, devices } = counts;
  if (everyMs < minEveryMs)
    throw new Refusal(400, `everyMs must be at least ${minEveryMs}, the limit of the node.`);
  if (forS > maxForS) throw new Refusal(400, `forS must be at most ${maxForS}, the limit of the node.`);
  if (devices >= MAX_DEVICES)
    throw new Refusal(
      429,
      `${MAX_DEVICES} devices have questions or wait for their normal rate. Ask again later.`
    );
  if (isRenewal) return;
  if (ofUser >= maxOfUser)
    throw new Refusal(429, `${by} asks about ${maxOfUser} devices already. End one of these questions.`);
  if (ofDevice >= maxOfDevice)
    throw new Refusal(
      429,
      `${maxOfDevice} askers ask about this device already. Ask again when one has ended.`
    );
  if (questions >= MAX_QUESTIONS)
    throw new Refusal(429, `There are ${MAX_QUESTIONS} questions already. Ask again when some have ended.`);
}

module.exports = { checkLimits };
