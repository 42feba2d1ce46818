'use strict';
// How documents are written in each dialect. `own` is the gateway's; `aws` is that of the AWS IoT Device Shadow service
// (developer guide, "Device Shadow service documents"); `azure` is that of device twins over MQTT (IoT Hub developer
// guide, "Communicate with an IoT hub using the MQTT protocol").

const { deltaOf, metadataOf } = require('./document');

/**
 * @typedef {'own' | 'aws' | 'azure'} Dialect
 * @typedef {import('./document').Shadow} Shadow
 * @typedef {import('./document').Section} Section
 * @typedef {import('./json').JsonObject} JsonObject
 * @typedef {{ [section in Section]?: JsonObject | null }} Patch
 */

const seconds = (/** @type {number} */ ms) => Math.floor(ms / 1000);

/** @param {JsonObject} state @returns {JsonObject | undefined} */
const unlessEmpty = (state) => (Object.keys(state).length > 0 ? state : undefined);

/**
 * @param {Dialect} dialect
 * @param {Shadow} shadow
 * @param {JsonObject} delta not empty
 * @returns {JsonObject}
 */
function deltaForm(dialect, { version, changedAt, desired }, delta) {
  if (dialect === 'azure') return { ...delta, $version: desired.version };
  const form = { version, timestamp: seconds(changedAt), state: delta };
  return dialect === 'aws' ? { ...form, metadata: metadataOf(delta, desired.stamps) } : form;
}

/**
 * @param {Dialect} dialect
 * @param {Shadow} shadow
 * @param {string} [clientToken]
 * @returns {JsonObject}
 */
function documentForm(dialect, { version, changedAt, desired, reported }, clientToken) {
  if (dialect === 'azure') {
    return {
      desired: { ...desired.state, $version: desired.version },
      reported: { ...reported.state, $version: reported.version }
    };
  }
  const state = {
    desired: unlessEmpty(desired.state),
    reported: unlessEmpty(reported.state),
    delta: unlessEmpty(deltaOf(desired.state, reported.state))
  };
  const rest = { version, timestamp: seconds(changedAt), clientToken };
  if (dialect === 'own') return { ...state, ...rest };
  const metadata = {
    desired: unlessEmpty(metadataOf(desired.state, desired.stamps)),
    reported: unlessEmpty(metadataOf(reported.state, reported.stamps))
  };
  return { state, metadata, ...rest };
}

/**
 * The answer to an update.
 * @param {Dialect} dialect
 * @param {Shadow} shadow after it
 * @param {Patch} patch
 * @param {string} [clientToken]
 * @returns {JsonObject | null} null: an answer without a body
 */
function acceptedForm(dialect, { version, changedAt, desired, reported }, patch, clientToken) {
  if (dialect === 'azure') return null;
  const form = { version, timestamp: seconds(changedAt), clientToken };
  if (dialect === 'own') return form;
  const metadata = {
    desired: patch.desired ? metadataOf(patch.desired, desired.stamps) : undefined,
    reported: patch.reported ? metadataOf(patch.reported, reported.stamps) : undefined
  };
  return { state: patch, metadata, ...form };
}

/**
 * @param {Dialect} dialect
 * @param {{ status: number, message: string }} refusal
 * @param {number} nowMs
 * @param {string} [clientToken]
 * @returns {JsonObject}
 */
function rejectedForm(dialect, { status, message }, nowMs, clientToken) {
  if (dialect === 'azure') return { errorCode: status, message };
  return { code: status, message, timestamp: seconds(nowMs), clientToken };
}

module.exports = { acceptedForm, deltaForm, documentForm, rejectedForm };
