'use strict';
// /oic/sec/session: sign-in and sign-out of a device on its connection.

const { mapOf, textOf, uuidOf } = require('./bodies');
const { Refusal } = require('./refusal');
const { checkMethod } = require('./replies');
const { wrong } = require('./account');
const { expiresIn, hashOf } = require('./tokens');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./sessions').Peer} Peer */
/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./replies').Answer} Answer */

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function session(cloud, peer, request) {
  checkMethod(request, 'POST');
  const body = mapOf(request);
  // Some clients sign out with an empty map. A token without `login` is a mistake, not a sign-out.
  const isEmpty = !Object.hasOwn(body, 'login') && !Object.hasOwn(body, 'accesstoken');
  const login = isEmpty ? false : body.login;
  if (typeof login !== 'boolean') throw new Refusal('4.00', 'login must be true or false.');
  return login ? signIn(cloud, peer, body) : signOut(cloud, peer, body);
}

/** @param {OcfCloud} cloud @param {Peer} peer @param {Record<string, unknown>} body @returns {Promise<Answer>} */
async function signIn(cloud, peer, body) {
  const [di, uid] = [uuidOf(body, 'di'), uuidOf(body, 'uid')];
  const hash = hashOf(textOf(body, 'accesstoken'));
  cloud.attempts.check(peer.address);
  const input = { di, uid, hash, now: cloud.now() };
  const checked = await cloud.store.read('checkToken', input);
  const { refreshGraceMs: graceMs } = cloud.options;
  const found = checked?.isFirst ? await cloud.store.write('useToken', { ...input, graceMs }) : checked;
  if (!found) throw wrong(cloud, peer, 'The access token is not valid.');
  await cloud.signIns.signIn(peer, { di, uid, until: found.expires === 0 ? Infinity : found.expires });
  return { code: '2.04', body: { expiresin: expiresIn(found.expires, cloud.now()) } };
}

/** @param {OcfCloud} cloud @param {Peer} peer @param {Record<string, unknown>} body @returns {Promise<Answer>} */
async function signOut(cloud, peer, body) {
  const isOther = peer.di !== '' && Object.hasOwn(body, 'di') && uuidOf(body, 'di') !== peer.di;
  if (isOther) throw new Refusal('4.03', 'Another device is signed in on this connection.');
  if (peer.di !== '') cloud.signIns.signOut(peer);
  return { code: '2.04', body: {} };
}

module.exports = { session };
