'use strict';
// /oic/sec/account: sign-up and deletion of a device. /oic/sec/tokenrefresh: new tokens.

const { asUuid, mapOf, optionalText, textOf, uuidOf } = require('./bodies');
const { queryValues } = require('./coap');
const { Refusal } = require('./refusal');
const { checkMethod } = require('./replies');
const { expiresIn, hashOf, newPair, userId } = require('./tokens');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./sessions').Peer} Peer */
/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./replies').Answer} Answer */

/** The same code and device may sign up again for this time, because the first answer may be lost. */
const REPEAT_MS = 600000;
const DAY_MS = 86400000;

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function account(cloud, peer, request) {
  checkMethod(request, 'POST', 'DELETE');
  return request.method === 'POST' ? signUp(cloud, peer, request) : remove(cloud, peer, request);
}

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function signUp(cloud, peer, request) {
  const body = mapOf(request);
  const di = uuidOf(body, 'di');
  const code = textOf(body, 'accesstoken', 4096);
  const provider = optionalText(body, 'authprovider');
  const kind = optionalText(body, 'devicetype').slice(0, 64);
  cloud.attempts.check(peer.address);
  const now = cloud.now();
  const hash = hashOf(code);
  const isRepeated = (await cloud.store.read('redeemedFor', { hash, di, now })) !== '';
  // A provider revokes everything when a code is used twice, so a repeated sign-up does not ask it.
  const found = isRepeated ? 'accessCode' : await cloud.users.exchange(code, { di, provider });
  if (found === 'wrong') throw wrong(cloud, peer, 'The access code is not valid.');
  const identity = found === 'accessCode' ? null : identityOf(found);
  const pair = newPair(now, cloud.options.accessSeconds);
  const result = await cloud.store.write('signUp', {
    hash,
    di,
    kind,
    identity,
    sealed: found === 'accessCode' ? null : found.sealed,
    now,
    tokens: pair.stored,
    redeemedUntil: now + REPEAT_MS,
    isFull: cloud.isFull
  });
  const { problem } = result;
  if (problem === 'code') throw wrong(cloud, peer, 'The access code is not valid.');
  if (problem === 'owned') throw new Refusal('4.03', 'The device belongs to another user.');
  if (problem !== '') throw new Refusal('5.03', 'The cloud has no room for more devices.', 3600);
  if (result.isNew) cloud.deviceAdded(di);
  const { access, refresh, stored } = pair;
  const tokens = { accesstoken: access, refreshtoken: refresh, expiresin: expiresIn(stored.expires, now) };
  return { code: '2.04', body: { ...tokens, uid: result.uid, redirecturi: '' } };
}

/** @param {{ issuer: string, sub: string }} user */
const identityOf = ({ issuer, sub }) => ({ issuer, sub, uid: userId(issuer, sub) });

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function remove(cloud, peer, request) {
  const di = asUuid(queryValues(request, 'di')[0] ?? '');
  if (!di) throw new Refusal('4.00', 'The query must have di, a UUID.');
  const [token] = queryValues(request, 'accesstoken');
  const [uid] = queryValues(request, 'uid');
  cloud.attempts.check(peer.address);
  const owner = (await cloud.grants.of(di))?.uid;
  const isOwn = cloud.sessions.isSignedIn(peer) && peer.di === di && owner === peer.uid;
  if (token === undefined ? !isOwn : !(await isTokenOf(cloud, di, owner, token))) {
    throw wrong(cloud, peer, 'The access token is not valid for this device.');
  }
  if (uid !== undefined && asUuid(uid) !== owner) throw wrong(cloud, peer, 'The device has another user.');
  await cloud.deleteDevice(di);
  return { code: '2.02' };
}

/** @param {OcfCloud} cloud @param {string} di @param {string | undefined} owner @param {string} token */
async function isTokenOf(cloud, di, owner, token) {
  if (owner === undefined) return false;
  const input = { di, uid: owner, hash: hashOf(token), now: cloud.now() };
  return (await cloud.store.read('checkToken', input)) !== null;
}

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function tokenRefresh(cloud, peer, request) {
  checkMethod(request, 'POST');
  const body = mapOf(request);
  const [di, uid] = [uuidOf(body, 'di'), uuidOf(body, 'uid')];
  const token = textOf(body, 'refreshtoken');
  const grant = optionalText(body, 'granttype');
  if (grant && grant !== 'refresh_token') throw new Refusal('4.00', 'granttype must be refresh_token.');
  cloud.attempts.check(peer.address);
  const now = cloud.now();
  const { accessSeconds, refreshDays } = cloud.options;
  const pair = newPair(now, accessSeconds);
  const result = await cloud.store.write('refresh', {
    di,
    uid,
    hash: hashOf(token),
    tokens: pair.stored,
    now,
    idleSince: now - refreshDays * DAY_MS
  });
  if (result === 'reused') revoked(cloud, di, uid, peer.address);
  if (result !== 'done') throw wrong(cloud, peer, 'The refresh token is not valid.');
  if ((await cloud.users.confirm?.({ di })) === false) {
    cloud.signIns.endSoon(di);
    throw new Refusal('4.01', 'The provider of users refuses the user of the device.');
  }
  const { access, refresh, stored } = pair;
  const answer = { accesstoken: access, refreshtoken: refresh, expiresin: expiresIn(stored.expires, now) };
  return { code: '2.04', body: answer };
}

/**
 * Ends the session of a device whose tokens were revoked, after the time in which it could still sign in with new ones.
 * @param {OcfCloud} cloud
 * @param {string} di
 * @param {string} uid
 * @param {string} address
 */
function revoked(cloud, di, uid, address) {
  cloud.signIns.endSoon(di);
  cloud.tallies.tokensReused++;
  cloud.events.tokenReused?.({ di, uid, address });
}

/** @param {OcfCloud} cloud @param {Peer} peer @param {string} text @returns {Refusal} */
function wrong(cloud, peer, text) {
  cloud.attempts.failed(peer.address);
  return new Refusal('4.01', text);
}

module.exports = { account, tokenRefresh, wrong };
