'use strict';
// The commands of seganet-accounts about groups of users.

const { randomUUID } = require('node:crypto');
const { CliError } = require('../../base/cli/cli-error');
const { plural, table } = require('../../base/cli/cli-output');
const { asUuid } = require('../cloud/bodies');
const { LIMITS } = require('../cloud/groups');
const { EXIT, usage } = require('./usage');
const { userNamed } = require('./users');

/** @typedef {import('./usage').Input} Input */
/** @typedef {import('../../base/cli/cli-output').Output} Output */
/** @typedef {import('../store/operations').Store} Store */

/** Arguments of each verb, beside itself. @type {Record<string, string[]>} */
const VERBS = {
  create: ['USER', 'NAME'],
  add: ['GROUP', 'USER'],
  remove: ['GROUP', 'USER'],
  share: ['GROUP', 'DEVICE', 'RIGHTS'],
  delete: ['GROUP']
};

/** @type {Record<string, string>} */
const PROBLEMS = {
  group: 'There is no such group. List them with groups.',
  user: 'There is no such user.',
  full: `A user is in at most ${LIMITS.groups} groups, and a group has at most ${LIMITS.members} members and ${LIMITS.devices} devices.`,
  device: 'There is no such device.',
  member: 'The user, or the owner of the device, is not a member of the group.',
  last: 'The owner cannot leave the group. Delete it.'
};

/** @param {string} problem of an operation @throws {CliError} */
function check(problem) {
  if (problem) throw new CliError(PROBLEMS[problem], EXIT.NO);
}

/** @param {Store} store @param {Input} input @param {Output} output @returns {Promise<number>} */
async function groups(store, { names: [name], issuer, json }, output) {
  const users = await store.read('users');
  const uid = name === undefined ? undefined : userNamed(users, name, issuer).uid;
  const names = new Map(users.map((user) => [user.uid, user.sub]));
  const nameOf = (/** @type {string} */ id) => names.get(id) ?? id;
  const found = (await store.read('groups', { uid })).map((each) => ({
    gid: each.gid,
    name: each.name,
    owner: nameOf(each.uid),
    members: each.members.map(nameOf),
    devices: each.devices
  }));
  if (json) {
    await output.line(JSON.stringify({ groups: found }));
    return EXIT.OK;
  }
  const rows = found.map(({ gid, name: own, owner, members, devices }) => [
    ...[gid, own, owner, String(members.length), String(devices.length)]
  ]);
  for (const line of table(['group', 'name', 'owner', 'members', 'devices'], rows)) await output.line(line);
  return EXIT.OK;
}

/** @param {Store} store @param {Input} input @param {Output} output @returns {Promise<number>} */
async function group(store, { names: [verb, ...args], issuer }, output) {
  const wanted = Object.hasOwn(VERBS, verb) ? VERBS[verb] : null;
  if (!wanted || args.length !== wanted.length) {
    const forms = Object.entries(VERBS).map(([each, words]) => `group ${each} ${words.join(' ')}`);
    throw usage(`The forms are: ${forms.join('; ')}.`);
  }
  const users = await store.read('users');
  if (verb === 'create') return create(store, userNamed(users, args[0], issuer), args[1], output);
  const gid = asUuid(args[0]);
  if (verb === 'share') return share(store, gid, args, output);
  if (verb === 'delete') {
    const { problem, devices } = await store.write('removeGroup', { gid });
    check(problem);
    await output.note(`The group ${gid} was deleted; it had ${plural(devices.length, 'device')}.`);
    return EXIT.OK;
  }
  const { uid: mid, sub } = userNamed(users, args[1], issuer);
  if (verb === 'remove') {
    check((await store.write('removeMember', { gid, mid })).problem);
    await output.note(`${sub} is no longer a member.`);
    return EXIT.OK;
  }
  const { problem } = await store.write('addMember', { gid, mid, most: LIMITS });
  if (problem !== 'member') check(problem);
  await output.note(`${sub} is a member.`);
  return EXIT.OK;
}

/**
 * @param {Store} store
 * @param {{ uid: string, sub: string }} owner
 * @param {string} name
 * @param {Output} output
 */
async function create(store, { uid, sub }, name, output) {
  if (name === '' || name.length > LIMITS.nameCharacters || /\p{Cc}/u.test(name)) {
    throw usage(`The name of a group has 1 to ${LIMITS.nameCharacters} characters, none for control.`);
  }
  const gid = randomUUID();
  check(await store.write('createGroup', { gid, uid, name, now: Date.now(), most: LIMITS }));
  await output.note(`${sub} owns the group ${name}. Its id is:`);
  await output.line(gid);
  return EXIT.OK;
}

/** @param {Store} store @param {string} gid @param {string[]} args @param {Output} output */
async function share(store, gid, [, device, rights], output) {
  const given = /** @type {Record<string, '' | 'r' | 'rw'>} */ ({ r: 'r', rw: 'rw', none: '' })[rights];
  if (given === undefined) throw usage(`The rights are r, rw or none, not '${rights}'.`);
  const input = { gid, dis: [asUuid(device)], rights: given, most: LIMITS.devices };
  check((await store.write('shareWithGroup', input)).problem);
  await output.note(given ? `The group has the rights ${given}.` : 'The group has no rights.');
  return EXIT.OK;
}

module.exports = { group, groups };
