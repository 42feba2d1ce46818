'use strict';
// /rd: the registration interface of the resource directory (RFC 9176 section 5), for endpoints that do not speak OCF.

const { asUuid } = require('./bodies');
const { FORMAT, OPTION, hasOption, queryPairs, uintOption } = require('./coap');
const { LinkFormatError, parseLinks } = require('./link-format');
const { Refusal } = require('./refusal');
const { checkMethod } = require('./replies');
const { uuid5 } = require('./tokens');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./sessions').Peer} Peer */
/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./replies').Answer} Answer */
/** @typedef {import('../store/endpoints').Endpoint} Endpoint */
/** @typedef {{ lt: number | null, base: string | null, attributes: [string, string][] }} Parameters null: not given */

const LIMITS = { endpoints: 256, name: 63, base: 255, attributes: 16, valueBytes: 255 };
/** Lifetimes in s (RFC 9176 section 5). */
const LIFETIME = { usual: 90000, least: 1, most: 2 ** 32 - 1 };
/** Names of lookups and links, which a registration cannot have. `proxy` is an extension that is not supported. */
const RESERVED = new Set(['page', 'count', 'rt', 'href', 'anchor', 'proxy', 'di']);
const NAME = /^[!#$&+\-.^_`|~0-9A-Za-z]+$/;
const BASE = /^[a-z][a-z0-9+.-]*:\/\/[^\s<>"\\^`{|}/?#@]+(\/[^\s<>"\\^`{|}?#]*)?$/i;

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function registrations(cloud, peer, request) {
  const [, id, ...rest] = request.path;
  if (id === undefined) return register(cloud, peer, request);
  const di = rest.length === 0 ? asUuid(id) : '';
  const found = di && (await cloud.store.read('endpoint', { di }));
  if (!found || found.uid !== peer.uid || found.expires <= cloud.now()) {
    throw new Refusal('4.04', 'There is no such registration.');
  }
  checkMethod(request, 'POST', 'DELETE');
  if (request.method === 'POST') return renew(cloud, request, found);
  await cloud.store.write('removeEndpoint', { di });
  await tell(cloud, found);
  return { code: '2.02' };
}

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function register(cloud, peer, request) {
  checkMethod(request, 'POST');
  if (uintOption(request, OPTION.CONTENT_FORMAT) !== FORMAT.LINKS) {
    throw new Refusal('4.15', 'The content format must be 40 (link format).');
  }
  const pairs = queryPairs(request);
  const ep = single(pairs, 'ep');
  const d = single(pairs, 'd');
  if (ep === null) throw new Refusal('4.00', 'The query must have ep, the name of the endpoint.');
  for (const [key, name] of Object.entries({ ep, d })) {
    if (name !== null && (name === '' || !isText(name, LIMITS.name))) {
      throw new Refusal('4.00', `${key} must have 1 to ${LIMITS.name} bytes without control characters.`);
    }
  }
  const own = pairs.filter(([key]) => key !== 'ep' && key !== 'd');
  const { lt, base, attributes } = parametersOf(own);
  const links = linksOf(request.payload);
  const seconds = lt ?? LIFETIME.usual;
  const endpoint = {
    di: endpointId(peer.uid, ep, d ?? ''),
    uid: peer.uid,
    via: peer.di,
    ep,
    base: base ?? '',
    lt: seconds,
    expires: cloud.now() + seconds * 1000,
    attributes: json(d === null ? attributes : [['d', d], ...attributes]),
    links: json(links)
  };
  const input = { ...endpoint, most: LIMITS.endpoints, now: cloud.now() };
  const problem = await cloud.store.write('register', input);
  if (problem === 'device') throw new Refusal('4.01', 'The device is no longer signed up.');
  if (problem !== '') throw new Refusal('5.03', `A user has at most ${LIMITS.endpoints} endpoints.`, 3600);
  await tell(cloud, endpoint);
  const location = ['rd', endpoint.di].map((segment) => Buffer.from(segment));
  return { code: '2.01', options: location.map((segment) => [OPTION.LOCATION_PATH, segment]) };
}

/** @param {OcfCloud} cloud @param {Request} request @param {Endpoint} found @returns {Promise<Answer>} */
async function renew(cloud, request, found) {
  const pairs = queryPairs(request);
  if (pairs.some(([key]) => key === 'ep' || key === 'd')) {
    throw new Refusal('4.00', 'ep and d of a registration cannot change.');
  }
  if (request.payload.length > 0 || hasOption(request, OPTION.CONTENT_FORMAT)) {
    throw new Refusal('4.00', 'An update of a registration has no body. Register again to change links.');
  }
  const { lt, base, attributes } = parametersOf(pairs);
  const changed = new Set(attributes.map(([name]) => name));
  const kept = attributesOf(found).filter(([name]) => !changed.has(name));
  const all = [...kept, ...attributes];
  if (all.filter(([name]) => name !== 'd').length > LIMITS.attributes) throw tooMany();
  const seconds = lt ?? found.lt;
  const isDone = await cloud.store.write('renew', {
    di: found.di,
    base: base ?? found.base,
    lt: seconds,
    expires: cloud.now() + seconds * 1000,
    attributes: json(all)
  });
  if (!isDone) throw new Refusal('4.04', 'There is no such registration.');
  await tell(cloud, found);
  return { code: '2.04' };
}

/** @param {[string, string][]} pairs @returns {Parameters} @throws {Refusal} */
function parametersOf(pairs) {
  const [lifetime, base] = [single(pairs, 'lt'), single(pairs, 'base')];
  const lt = lifetime === null ? null : Number(lifetime);
  if (lt !== null && !(/^\d+$/.test(lifetime ?? '') && lt >= LIFETIME.least && lt <= LIFETIME.most)) {
    throw new Refusal(
      '4.00',
      `lt must be a whole number of seconds from ${LIFETIME.least} to ${LIFETIME.most}.`
    );
  }
  if (base !== null && !(BASE.test(base) && isText(base, LIMITS.base) && URL.canParse(base))) {
    throw new Refusal('4.00', 'base must be an address such as coap://[2001:db8::1]:5683.');
  }
  const attributes = pairs.filter(([key]) => key !== 'lt' && key !== 'base');
  if (attributes.length > LIMITS.attributes) throw tooMany();
  for (const [name, value] of attributes) {
    if (RESERVED.has(name)) throw new Refusal('4.00', `A registration cannot have ${name}.`);
    if (!NAME.test(name) || !isText(name, LIMITS.name) || !isText(value, LIMITS.valueBytes)) {
      throw new Refusal('4.00', 'An attribute of the registration is malformed or too long.');
    }
  }
  return { lt, base, attributes };
}

/** @param {[string, string][]} pairs @param {string} name @returns {string | null} @throws {Refusal} */
function single(pairs, name) {
  const found = pairs.filter(([key]) => key === name);
  if (found.length > 1) throw new Refusal('4.00', `The query may have ${name} only once.`);
  return found[0]?.[1] ?? null;
}

/** @param {Buffer} payload @returns {import('./link-format').Link[]} @throws {Refusal} */
function linksOf(payload) {
  try {
    return parseLinks(payload);
  } catch (error) {
    if (error instanceof LinkFormatError) throw new Refusal('4.00', `The link format ${error.message}.`);
    throw error;
  }
}

/** @param {OcfCloud} cloud @param {Pick<Endpoint, 'via'>} endpoint that changed */
async function tell(cloud, { via }) {
  cloud.lookups.changed(await cloud.grants.viewers(via));
}

/** @param {unknown} value @returns {Uint8Array} a copy: the bytes may go to another thread */
function json(value) {
  return new Uint8Array(Buffer.from(JSON.stringify(value)));
}

/** @param {Endpoint} endpoint @returns {[string, string][]} */
function attributesOf({ attributes }) {
  return JSON.parse(Buffer.from(attributes).toString());
}

/** @param {string} text @param {number} most bytes */
function isText(text, most) {
  return Buffer.byteLength(text) <= most && !/[\p{Cc}\ufffd]/u.test(text);
}

function tooMany() {
  return new Refusal('4.00', `A registration has at most ${LIMITS.attributes} attributes.`);
}

/**
 * Returns the id of an endpoint. It is the same whenever and wherever the user registers it.
 * @param {string} uid
 * @param {string} ep
 * @param {string} d '' = no sector
 * @returns {string} a UUID of version 5
 */
function endpointId(uid, ep, d) {
  // A name has no NUL.
  return uuid5(Buffer.from(uid.replaceAll('-', ''), 'hex'), d === '' ? ep : `${ep}\0${d}`);
}

/** True if the id may be that of an endpoint: a UUID of version 5. @param {string} di */
function mayBeEndpoint(di) {
  return di[14] === '5';
}

/**
 * Returns the device through whose connection an endpoint is reached. An endpoint comes before a device with the same
 * id, because anybody could sign up a device with the id of another user's endpoint.
 * @param {OcfCloud} cloud
 * @param {string} di
 * @returns {Promise<string>} '' = it is no endpoint
 */
async function viaOf(cloud, di) {
  if (!mayBeEndpoint(di)) return '';
  const found = await cloud.store.read('endpoint', { di });
  return found && found.expires > cloud.now() ? found.via : '';
}

module.exports = { registrations, viaOf, attributesOf, endpointId, LIMITS };
