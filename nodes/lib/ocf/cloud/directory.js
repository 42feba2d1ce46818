'use strict';
// /oic/rd: devices publish the links of their resources, and withdraw them.

const { asUuid, encode, mapOf, optionalText, uuidOf } = require('./bodies');
const { queryValues } = require('./coap');
const { hrefProblem } = require('./href');
const { Refusal } = require('./refusal');
const { checkMethod } = require('./replies');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./sessions').Peer} Peer */
/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./replies').Answer} Answer */

/** Links of a device, also in one request. */
const MOST_LINKS = 256;
/** Members of a link, and types of a link. */
const MOST_MEMBERS = 16;
const MOST_TYPES = 16;
const MOST_TYPE_BYTES = 64;
/** Longest time to live: some 68 years in seconds. */
const MOST_TTL = 2 ** 31 - 1;
/** Members that the cloud sets. */
const OWN = new Set(['href', 'ins', 'anchor', 'eps']);
/** Bit of the policy: the resource is to be found. The standard defines bits below 16 only. */
const DISCOVERABLE = 1;
const MOST_POLICY = 2 ** 16 - 1;

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function directory(cloud, peer, request) {
  checkMethod(request, 'GET', 'POST', 'DELETE');
  if (request.method === 'POST') return publish(cloud, peer, request);
  if (request.method === 'DELETE') return unpublish(cloud, peer, request);
  // The directory's selection weight: this cloud has one directory.
  return { code: '2.05', body: { rt: ['oic.wk.rd'], if: ['oic.if.baseline'], sel: 0 } };
}

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function publish(cloud, peer, request) {
  const body = mapOf(request);
  const di = uuidOf(body, 'di');
  if (di !== peer.di) throw new Refusal('4.03', 'di is not the device of this session.');
  const { links } = body;
  if (!Array.isArray(links) || links.length === 0)
    throw new Refusal('4.00', 'links must be a list of links.');
  if (links.length > MOST_LINKS) throw new Refusal('4.00', `links has more than ${MOST_LINKS} links.`);
  const ttl = body.ttl ?? body.lt;
  if (typeof ttl !== 'number' || !Number.isInteger(ttl) || ttl < 0 || ttl > MOST_TTL) {
    throw new Refusal('4.00', 'ttl must be a whole number of seconds, 0 for no end.');
  }
  const result = await cloud.store
    .write('publish', {
      di,
      name: optionalText(body, 'n').slice(0, 128),
      links: links.map(asLink),
      expires: ttl === 0 ? 0 : cloud.now() + ttl * 1000,
      most: MOST_LINKS
    })
    .catch((error) => {
      if (error.code === 'TOO_MANY_LINKS')
        throw new Refusal('4.00', `A device has at most ${MOST_LINKS} links.`);
      throw error;
    });
  if (result.problem !== '') throw new Refusal('4.01', 'The device is no longer signed up.');
  const numbered = links.map((link, i) => ({ ...link, ins: result.ins[i] }));
  return { code: '2.04', body: { ...body, links: numbered } };
}

/** @param {any} link @returns {import('../store/links').Link} */
function asLink(link) {
  if (typeof link !== 'object' || link === null || Object.getPrototypeOf(link) !== Object.prototype) {
    throw new Refusal('4.00', 'A link must be a map.');
  }
  if (Object.keys(link).length > MOST_MEMBERS) {
    throw new Refusal('4.00', `A link has more than ${MOST_MEMBERS} members.`);
  }
  const problem = hrefProblem(link.href);
  if (problem) throw new Refusal('4.00', `The href of a link ${problem}.`);
  const kept = Object.entries(link).filter(([name]) => !OWN.has(name));
  return {
    href: link.href,
    types: typesOf(link),
    shown: isDiscoverable(link),
    // A copy: the bytes may go to another thread, and a view would take its whole buffer with it.
    body: new Uint8Array(encode(Object.fromEntries(kept)))
  };
}

/** @param {{ rt?: unknown, if?: unknown }} link @returns {string[]} */
function typesOf(link) {
  for (const name of /** @type {const} */ (['rt', 'if'])) {
    const list = link[name] ?? [];
    const isFine =
      Array.isArray(list) &&
      list.length <= MOST_TYPES &&
      list.every((each) => typeof each === 'string' && isType(each));
    if (!isFine) {
      throw new Refusal(
        '4.00',
        `${name} of a link must be a list of at most ${MOST_TYPES} texts of 1 to ${MOST_TYPE_BYTES} bytes without NUL.`
      );
    }
  }
  return /** @type {string[]} */ (link.rt ?? []);
}

/** @param {string} text */
function isType(text) {
  return text !== '' && Buffer.byteLength(text) <= MOST_TYPE_BYTES && !text.includes('\0');
}

/** @param {{ p?: any }} link @returns {boolean} true without a policy, too */
function isDiscoverable({ p }) {
  if (p === undefined) return true;
  if (typeof p !== 'object' || p === null || Object.getPrototypeOf(p) !== Object.prototype) {
    throw new Refusal('4.00', 'p of a link must be a map.');
  }
  const { bm } = p;
  if (bm === undefined) return true;
  if (!Number.isInteger(bm) || bm < 0 || bm > MOST_POLICY) {
    throw new Refusal('4.00', `p.bm of a link must be a whole number from 0 to ${MOST_POLICY}.`);
  }
  return (bm & DISCOVERABLE) !== 0;
}

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function unpublish(cloud, peer, request) {
  const di = asUuid(queryValues(request, 'di')[0] ?? '');
  if (!di) throw new Refusal('4.00', 'The query must have di, a UUID.');
  if (di !== peer.di) throw new Refusal('4.03', 'di is not the device of this session.');
  const ins = queryValues(request, 'ins').map(Number);
  if (ins.length > MOST_LINKS || !ins.every(Number.isSafeInteger)) {
    throw new Refusal('4.00', `ins must be a whole number, at most ${MOST_LINKS} times.`);
  }
  const count = await cloud.store.write('unpublish', { di, ins });
  if (count === 0) throw new Refusal('4.04', 'The device has no such link.');
  return { code: '2.02' };
}

module.exports = { directory, MOST_LINKS };
