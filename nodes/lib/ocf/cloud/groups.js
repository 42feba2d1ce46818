'use strict';
// /oic/acl/group: groups of users, with whom their members share devices. /oic/acl/verify: what a user may do with a
// device. A group exists only for its members.

const { randomUUID } = require('node:crypto');
const { asUuid, mapOf, textOf } = require('./bodies');
const { queryValues } = require('./coap');
const { Refusal } = require('./refusal');
const { checkMethod } = require('./replies');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./sessions').Peer} Peer */
/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./replies').Answer} Answer */
/** @typedef {import('../store/groups').Group} Group */

const LIMITS = { members: 64, groups: 32, devices: 256, nameCharacters: 64 };
const SENTENCES = {
  group: new Refusal('4.04', 'There is no such group.'),
  owner: new Refusal('4.03', 'Only the owner of the group may do that.'),
  last: new Refusal('4.03', 'The owner cannot leave the group, but delete it.'),
  device: new Refusal('4.03', 'A device belongs to another user, or does not exist.'),
  member: new Refusal('4.04', 'The user is not a member of the group.')
};

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function group(cloud, peer, request) {
  checkMethod(request, 'GET', 'POST', 'DELETE');
  if (request.method === 'GET') return list(cloud, peer, request);
  const gid = idOf(request, 'gid');
  if (request.method === 'DELETE') return remove(cloud, peer, request, gid);
  return gid ? share(cloud, peer, request, gid) : create(cloud, peer, request);
}

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function list(cloud, { uid }, request) {
  const gid = idOf(request, 'gid');
  const found = (await cloud.store.read('groups', { uid })).map(readable);
  if (!gid) return { code: '2.05', body: { grouplist: found } };
  const one = found.find((each) => each.gid === gid);
  if (!one) throw SENTENCES.group;
  return { code: '2.05', body: one };
}

/** @param {Group} group */
function readable({ gid, name, uid, members, devices }) {
  return { gid, gname: name, owner: uid, members, devices };
}

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function create(cloud, { uid }, request) {
  const name = textOf(mapOf(request), 'gname', LIMITS.nameCharacters);
  if (/\p{Cc}/u.test(name)) throw new Refusal('4.00', 'gname must not have control characters.');
  const gid = randomUUID();
  const problem = await cloud.store.write('createGroup', { gid, uid, name, now: cloud.now(), most: LIMITS });
  if (problem === 'full') throw new Refusal('5.03', `A user has at most ${LIMITS.groups} groups.`, 3600);
  if (problem) throw new Refusal('4.03', 'The user does not exist.');
  return { code: '2.04', body: { gid, gname: name } };
}

/**
 * @param {OcfCloud} cloud
 * @param {Peer} peer
 * @param {Request} request
 * @param {string} gid
 * @returns {Promise<Answer>}
 */
async function share(cloud, { uid }, request, gid) {
  const body = mapOf(request);
  const rights = textOf(body, 'rights', 2);
  if (rights !== 'r' && rights !== 'rw') throw new Refusal('4.00', 'rights must be r or rw.');
  const { devices } = body;
  const isList = Array.isArray(devices) && devices.length > 0 && devices.length <= LIMITS.devices;
  const dis = isList ? devices.map((di) => (typeof di === 'string' ? asUuid(di) : '')) : [];
  if (dis.length === 0 || dis.includes('')) {
    throw new Refusal('4.00', `devices must be a list of 1 to ${LIMITS.devices} UUIDs.`);
  }
  return shareAll(cloud, { gid, uid, dis: [...new Set(dis)], rights });
}

/**
 * @param {OcfCloud} cloud
 * @param {{ gid: string, uid: string, dis: string[], rights: '' | 'r' | 'rw' }} input
 * @returns {Promise<Answer>}
 */
async function shareAll(cloud, input) {
  const { problem, devices } = await cloud.store.write('shareWithGroup', { ...input, most: LIMITS.devices });
  if (problem === 'full') throw new Refusal('5.03', `A group has at most ${LIMITS.devices} devices.`, 3600);
  check(problem);
  await cloud.sharesChanged(devices);
  return { code: '2.04' };
}

/**
 * Deletes a group, removes a member (mid), or ends that a device is shared with it (di).
 * @param {OcfCloud} cloud
 * @param {Peer} peer
 * @param {Request} request
 * @param {string} gid
 * @returns {Promise<Answer>}
 */
async function remove(cloud, { uid }, request, gid) {
  if (!gid) throw new Refusal('4.00', 'The query must have gid, a UUID.');
  const [di, mid] = [idOf(request, 'di'), idOf(request, 'mid')];
  if (di && mid) throw new Refusal('4.00', 'The query may have di or mid.');
  if (di) {
    await shareAll(cloud, { gid, uid, dis: [di], rights: '' });
    return { code: '2.02' };
  }
  const { problem, devices } = mid
    ? await cloud.store.write('removeMember', { gid, uid, mid })
    : await cloud.store.write('removeGroup', { gid, uid });
  check(problem);
  await cloud.sharesChanged(devices);
  cloud.invitations.changed();
  return { code: '2.02' };
}

/** @param {OcfCloud} cloud @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
async function verify(cloud, { uid }, request) {
  checkMethod(request, 'GET');
  const di = idOf(request, 'di');
  if (!di) throw new Refusal('4.00', 'The query must have di, a UUID.');
  const rights = (await cloud.grants.rights(di, uid)) ?? '';
  return { code: '2.05', body: { gp: rights ? 'Allowed' : 'Denied', rights } };
}

/** @param {string} problem of an operation @throws {Refusal} */
function check(problem) {
  if (problem) throw /** @type {Record<string, Refusal>} */ (SENTENCES)[problem];
}

/** @param {Request} request @param {string} name @returns {string} '' if it is missing @throws {Refusal} */
function idOf(request, name) {
  const [text, ...more] = queryValues(request, name);
  if (text === undefined) return '';
  const id = asUuid(text);
  if (!id || more.length > 0) throw new Refusal('4.00', `The query may have ${name} once, a UUID.`);
  return id;
}

module.exports = { group, verify, check, idOf, LIMITS };
