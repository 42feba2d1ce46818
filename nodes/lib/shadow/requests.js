'use strict';
// What the admin API and the commands of the gateway's user ask of all shadows.

const { MAX_DEVICE_BYTES } = require('../base/device-id');
const { Refusal } = require('./refusal');

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

/**
 * @typedef {Map<{ id: string }, import('./shadows').Shadows>} AllShadows by engine
 *
 * @typedef {object} Which
 * @property {unknown} [engine] id of its node; undefined = the first that has shadows
 * @property {unknown} [device]
 */

/** @param {AllShadows} all @param {Which} which @returns {Promise<string>} the document, JSON */
const getShadow = (all, which) => askFor(all, 'get', which, '');

/** @param {AllShadows} all @param {Which} which @param {string} text JSON @returns {Promise<string>} JSON */
const setShadow = (all, which, text) => askFor(all, 'update', which, text);

/** @param {AllShadows} all @param {Which} which @returns {Promise<string>} JSON */
const deleteShadow = (all, which) => askFor(all, 'delete', which, '');

/**
 * @param {AllShadows} all
 * @param {{ engine?: unknown, after?: unknown, limit?: unknown }} page
 * @returns {Promise<string>} JSON
 */
async function listShadows(all, { engine, after, limit = DEFAULT_LIMIT }) {
  const shadows = shadowsIn(all, engine);
  const number = /^\d{1,4}$/.test(String(limit)) ? Number(limit) : 0;
  if (number < 1 || number > MAX_LIMIT)
    throw new Refusal(400, `limit must be a number from 1 to ${MAX_LIMIT}.`);
  return shadows.list(after ? readDevice(after) : '', number);
}

/** @param {AllShadows} all @param {'get' | 'update' | 'delete'} kind @param {Which} which @param {string} text */
async function askFor(all, kind, { engine, device }, text) {
  const { body } = await shadowsIn(all, engine).ask({ kind, device: readDevice(device), text });
  return body;
}

/** @param {unknown} device @returns {string} @throws {Refusal} */
function readDevice(device) {
  if (
    typeof device === 'string' &&
    device !== '' &&
    !device.includes('\0') &&
    Buffer.byteLength(device) <= MAX_DEVICE_BYTES
  )
    return device.toWellFormed();
  throw new Refusal(400, `device must be a device id of 1 to ${MAX_DEVICE_BYTES} bytes, without NUL.`);
}

/** @param {AllShadows} all @param {unknown} engine */
function shadowsIn(all, engine) {
  for (const [{ id }, shadows] of all)
    if (engine === undefined ? shadows.figures().isUsed : engine === id) return shadows;
  throw new Refusal(404, 'There is no such engine with a shadow node, or it does not run.');
}

module.exports = { deleteShadow, getShadow, listShadows, setShadow };
