'use strict';
// /oic/res: the links of the user's devices, as the device published them, but leading through the cloud.

const { asUuid } = require('./bodies');
const { FORMAT, queryValues } = require('./coap');
const { Refusal } = require('./refusal');
const { checkMethod } = require('./replies');

/** @typedef {import('./replies').Answer} Answer */

const MOST_FOUND = 8192;
const MOST_TYPES = 16;
const MOST_DEVICES = 64;

/**
 * @param {import('./cloud').OcfCloud} cloud
 * @param {import('./sessions').Peer} peer
 * @param {import('./coap').Request} request
 * @param {number} format of the answer; its shape depends on it, as in other clouds
 * @returns {Promise<Answer>}
 */
async function discovery(cloud, peer, request, format) {
  checkMethod(request, 'GET');
  const types = distinct(queryValues(request, 'rt'));
  const devices = distinct(queryValues(request, 'di').map((di) => asUuid(di) || 'none'));
  if (types.length > MOST_TYPES || devices.length > MOST_DEVICES) {
    throw new Refusal('4.00', `The query may have ${MOST_TYPES} times rt and ${MOST_DEVICES} times di.`);
  }
  if (types.some((type) => type.includes('\0')))
    throw new Refusal('4.00', 'rt must not have the character NUL.');
  const found = await cloud.store.read('discover', {
    uid: peer.uid,
    types,
    devices,
    now: cloud.now(),
    most: MOST_FOUND,
    endpoint: cloud.endpointFor(request),
    isGrouped: format === FORMAT.CBOR
  });
  if (!found) {
    throw new Refusal('4.00', `More than ${MOST_FOUND} links match. Ask for a type (rt) or a device (di).`);
  }
  const { buffer, byteOffset, byteLength } = found.body;
  return { code: '2.05', encoded: Buffer.from(buffer, byteOffset, byteLength) };
}

/** @param {string[]} values @returns {string[]} */
const distinct = (values) => (values.length < 2 ? values : [...new Set(values)]);

module.exports = { discovery };
