'use strict';
// Resources that anyone may use before signing in: /oic/ping and /.well-known/core.

const { checkLinkFormat, mapOf } = require('./bodies');
const { queryPairs } = require('./coap');
const { hasAttribute, isMatch, parseLinks, writeLinks } = require('./link-format');
const { Refusal } = require('./refusal');
const { checkMethod } = require('./replies');

/** @typedef {import('./replies').Answer} Answer */

const MINUTE_MS = 60000;
/** Suggested intervals in minutes. */
const INTERVALS = [1, 2, 4, 8];
const MOST_MINUTES = 1440;
/** A connection may be late by a tenth of its interval. */
const TOLERANCE = 1.1;

/**
 * The keep-alive of older clients: they name an interval and ask within it. Newer ones use Ping (RFC 8323).
 * @param {import('./cloud').OcfCloud} cloud
 * @param {import('./sessions').Peer} peer
 * @param {import('./coap').Request} request
 * @returns {Promise<Answer>}
 */
async function ping(cloud, peer, request) {
  checkMethod(request, 'GET', 'PUT', 'POST');
  if (request.method === 'GET') return { code: '2.05', body: { inarray: INTERVALS } };
  const minutes = mapOf(request).in;
  if (typeof minutes !== 'number' || !Number.isInteger(minutes) || minutes < 1 || minutes > MOST_MINUTES) {
    throw new Refusal('4.00', `in must be a whole number of minutes from 1 to ${MOST_MINUTES}.`);
  }
  peer.silentMs = minutes * MINUTE_MS * TOLERANCE;
  peer.silentUntil = cloud.now() + peer.silentMs;
  cloud.forwarding.start(peer);
  return { code: '2.03' };
}

const CORE = [
  '</oic/sec/account>;rt="oic.r.account"',
  '</oic/sec/session>;rt="oic.r.session"',
  '</oic/sec/tokenrefresh>;rt="oic.r.tokenrefresh"',
  '</oic/rd>;rt="oic.wk.rd"',
  '</oic/res>;rt="oic.wk.res"',
  '</oic/prs>;obs',
  '</oic/ps>',
  '</oic/ping>',
  '</oic/acl/group>',
  '</oic/acl/invite>;obs',
  '</oic/acl/verify>',
  '</rd>;rt="core.rd";ct=40',
  '</rd-lookup/res>;rt="core.rd-lookup-res";ct=40;obs',
  '</rd-lookup/ep>;rt="core.rd-lookup-ep";ct=40;obs'
];
const CORE_LINKS = parseLinks(Buffer.from(CORE.join(',')));
const HTTP_LINKS = parseLinks(Buffer.from('</hc>;rt="core.hc"'));

/**
 * Returns the cloud's resources, or those that fit a query such as rt=core.rd* (RFC 6690 section 4.1).
 * @param {import('./cloud').OcfCloud} cloud
 * @param {{ query: string[] }} request
 * @returns {string} link format
 */
function coreLinks(cloud, request) {
  return filtered(cloud.hasHttp ? [...CORE_LINKS, ...HTTP_LINKS] : CORE_LINKS, request);
}

/** As coreLinks(), but what there is over HTTP. @param {{ query: string[] }} request @returns {string} */
function httpLinks(request) {
  return filtered(HTTP_LINKS, request);
}

/** @param {import('./link-format').Link[]} links @param {{ query: string[] }} request @returns {string} */
function filtered(links, request) {
  const filters = queryPairs(request);
  const found = links.filter(({ target, attributes }) =>
    filters.every(([name, wanted]) =>
      name === 'href' ? isMatch(target, wanted) : hasAttribute(attributes, name, wanted)
    )
  );
  return writeLinks(found);
}

/**
 * @param {import('./cloud').OcfCloud} cloud
 * @param {import('./coap').Request} request
 * @returns {Promise<Answer>} in link format (RFC 6690)
 */
async function core(cloud, request) {
  checkMethod(request, 'GET');
  checkLinkFormat(request);
  return { code: '2.05', encoded: Buffer.from(coreLinks(cloud, request)) };
}

module.exports = { ping, core, httpLinks };
