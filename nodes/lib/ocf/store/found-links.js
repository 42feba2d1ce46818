'use strict';
// The answer of a discovery, encoded: links as their devices published them, but leading through the cloud.

const { Writer } = require('../../base/cbor');
const { find } = require('./links');

/** @typedef {import('./accounts').Transaction} Transaction */
/** @typedef {import('./links').Found} Found */
/** @typedef {import('../../base/cbor/writer').Writer} CborWriter */
/**
 * @typedef {object} Wanted beside the input of find()
 * @property {string} endpoint of the cloud
 * @property {boolean} isGrouped a map for each device, as older clients expect
 */
/** @typedef {{ body: Uint8Array, until: number }} FoundLinks until: ms since 1970, when a link expires; Infinity = never */

/** Path under which a device can be reached through the cloud. */
const ROUTE = '/oic/route';
const [ANCHOR, HREF, INS, EPS, EP, PRI, DI, LINKS] = 'anchor href ins eps ep pri di links'
  .split(' ')
  .map((name) => Writer.text(name));
/** Entries that each link gets; a published link has fewer than 20 (bodies). */
const ADDED = 4;
/** Most bytes of what a link gets, beside its device, its path and the endpoints. */
const AROUND = 128;

/**
 * Returns the links of find(), encoded.
 * @param {Transaction} tx
 * @param {Parameters<typeof find>[1] & Wanted} input
 * @returns {Promise<FoundLinks | null>} null: there are more than `most`
 */
async function discover(tx, { endpoint, isGrouped, ...query }) {
  const found = await find(tx, query);
  if (found.length > query.most) return null;
  const ends = found.map(({ expires }) => expires || Infinity);
  return { body: encodeFound(found, { endpoint, isGrouped }), until: Math.min(Infinity, ...ends) };
}

/**
 * @param {Found[]} found
 * @param {Wanted} wanted
 * @returns {Uint8Array} with a buffer of its own
 */
function encodeFound(found, { endpoint, isGrouped }) {
  const eps = endpoints(endpoint);
  const most = found.reduce((sum, link) => sum + sizeOf(link) + eps.length, AROUND);
  const writer = new Writer(most);
  if (!isGrouped) {
    writer.array(found.length);
    for (const link of found) append(writer, link, eps);
    return writer.take();
  }
  const devices = byDevice(found);
  writer.array(devices.size);
  for (const [di, links] of devices) {
    writer.map(2);
    writer.encoded(DI);
    writer.text(di);
    writer.encoded(LINKS);
    writer.array(links.length);
    for (const link of links) append(writer, link, eps);
  }
  return writer.take();
}

/** @param {string} endpoint @returns {Uint8Array} */
function endpoints(endpoint) {
  const writer = new Writer(AROUND + 3 * endpoint.length);
  writer.array(1);
  writer.map(2);
  writer.encoded(EP);
  writer.text(endpoint);
  writer.encoded(PRI);
  writer.number(1);
  return writer.take();
}

/** @param {Found[]} found @returns {Map<string, Found[]>} */
function byDevice(found) {
  /** @type {Map<string, Found[]>} */
  const devices = new Map();
  for (const link of found) {
    const own = devices.get(link.di);
    if (own) own.push(link);
    else devices.set(link.di, [link]);
  }
  return devices;
}

/**
 * Returns the most bytes that a link takes. Its device is written at most three times, and a UTF-16 unit has at most
 * 3 bytes in UTF-8.
 * @param {Found} link
 */
const sizeOf = ({ di, href, body }) => AROUND + body.length + 3 * (3 * di.length + href.length);

/** @param {CborWriter} writer @param {Found} link @param {Uint8Array} eps */
function append(writer, { di, href, ins, body }, eps) {
  writer.map((body[0] & 31) + ADDED);
  writer.encoded(body.subarray(1));
  writer.encoded(ANCHOR);
  writer.text(`ocf://${di}`);
  writer.encoded(HREF);
  writer.text(`${ROUTE}/${di}${href}`);
  writer.encoded(INS);
  writer.number(ins);
  writer.encoded(EPS);
  writer.encoded(eps);
}

module.exports = { ROUTE, discover, encodeFound };
