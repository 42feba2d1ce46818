'use strict';
// /oic/res: the links of the user's devices, as the device published them, but leading through the cloud.

const { asUuid } = require('./bodies');
const { encode } = require('./bodies');
const { array, extended, text } = require('./cbor-pieces');
const { FORMAT, queryValues } = require('./coap');
const { Refusal } = require('./refusal');
const { checkMethod } = require('./replies');

/** @typedef {import('./store/links').Found} Found */
/** @typedef {import('./replies').Answer} Answer */

const ROUTE = '/oic/route';
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
  const types = [...new Set(queryValues(request, 'rt'))];
  const devices = [...new Set(queryValues(request, 'di').map((di) => asUuid(di) || 'none'))];
  if (types.length > MOST_TYPES || devices.length > MOST_DEVICES) {
    throw new Refusal('4.00', `The query may have ${MOST_TYPES} times rt and ${MOST_DEVICES} times di.`);
  }
  if (types.some((type) => type.includes('\0')))
    throw new Refusal('4.00', 'rt must not have the character NUL.');
  const now = cloud.now();
  const found = await cloud.store.read('find', { uid: peer.uid, types, devices, now, most: MOST_FOUND });
  if (found.length > MOST_FOUND) {
    throw new Refusal('4.00', `More than ${MOST_FOUND} links match. Ask for a type (rt) or a device (di).`);
  }
  const eps = encode([{ ep: cloud.endpointFor(request), pri: 1 }]);
  return { code: '2.05', encoded: format === FORMAT.CBOR ? byDevice(found, eps) : flat(found, eps) };
}

/** @param {Found[]} found @param {Buffer} eps @returns {Buffer} */
function flat(found, eps) {
  return array(found.map((link) => outward(link, eps)));
}

/** @param {Found[]} found @param {Buffer} eps @returns {Buffer} */
function byDevice(found, eps) {
  /** @type {Map<string, Buffer[]>} */
  const devices = new Map();
  for (const link of found) {
    const own = devices.get(link.di);
    if (own) own.push(outward(link, eps));
    else devices.set(link.di, [outward(link, eps)]);
  }
  const empty = encode({});
  return array(
    [...devices].map(([di, links]) => extended(empty, [text('di'), text(di), text('links'), array(links)]))
  );
}

/** @param {Found} link @param {Buffer} eps @returns {Buffer} the link for a controller, encoded */
function outward({ di, href, ins, body }, eps) {
  return extended(body, [
    ...[text('anchor'), text(`ocf://${di}`)],
    ...[text('href'), text(`${ROUTE}/${di}${href}`)],
    ...[text('ins'), encode(ins)],
    ...[text('eps'), eps]
  ]);
}

module.exports = { discovery, ROUTE };
