'use strict';
// All operations on the database by name. A store runs each write as one transaction, which is durable when its promise
// resolves. A read may run at any time, and its statements may see different commits.

const accounts = require('./accounts');
const endpoints = require('./endpoints');
const foundLinks = require('./found-links');
const groups = require('./groups');
const links = require('./links');
const lists = require('./lists');
const providerTokens = require('./provider-tokens');
const userTokens = require('./user-tokens');

const READS = {
  redeemedFor: accounts.redeemedFor,
  codeState: accounts.codeState,
  checkToken: accounts.checkToken,
  providerToken: providerTokens.providerToken,
  users: accounts.users,
  knownUsers: accounts.knownUsers,
  cloudId: accounts.cloudId,
  countDevices: accounts.countDevices,
  find: links.find,
  discover: foundLinks.discover,
  linksOf: links.linksOf,
  access: links.access,
  visible: links.visible,
  devices: links.devices,
  checkUserToken: userTokens.checkUserToken,
  userTokens: userTokens.userTokens,
  endpoint: endpoints.endpoint,
  endpoints: endpoints.endpoints,
  countEndpoints: endpoints.countEndpoints,
  deviceList: lists.deviceList,
  userList: lists.userList,
  groups: groups.groups,
  invitations: groups.invitations
};

const WRITES = {
  addCode: accounts.addCode,
  signUp: accounts.signUp,
  useToken: accounts.useToken,
  markProviderToken: providerTokens.markProviderToken,
  confirmProviderToken: providerTokens.confirmProviderToken,
  refresh: accounts.refresh,
  removeDevice: accounts.removeDevice,
  removeUser: accounts.removeUser,
  removeOldCodes: accounts.removeOldCodes,
  claim: accounts.claim,
  publish: links.publish,
  unpublish: links.unpublish,
  removeOldLinks: links.removeOldLinks,
  share: links.share,
  addUserToken: userTokens.addUserToken,
  removeUserToken: userTokens.removeUserToken,
  removeOldUserTokens: userTokens.removeOldUserTokens,
  register: endpoints.register,
  renew: endpoints.renew,
  removeEndpoint: endpoints.removeEndpoint,
  removeOldEndpoints: endpoints.removeOldEndpoints,
  createGroup: groups.createGroup,
  removeGroup: groups.removeGroup,
  shareWithGroup: groups.shareWithGroup,
  invite: groups.invite,
  acceptInvitation: groups.acceptInvitation,
  addMember: groups.addMember,
  removeInvitation: groups.removeInvitation,
  removeMember: groups.removeMember,
  removeOldInvitations: groups.removeOldInvitations
};

/** What changed, beside devices, which are named by their ids. */
const [ENDPOINTS, INVITATIONS, USER_TOKENS] = ['endpoints', 'invitations', 'userTokens'];

/** @typedef {'all' | string[]} Changes devices whose owner, rights or tokens changed, and the above */

/**
 * What other gateways with the same store must know of a write. A write that is missing changes nothing that a gateway
 * keeps in memory.
 * @type {Record<string, (input: any, result: any) => Changes>}
 */
const CHANGES = {
  signUp: ({ di }, { problem, isNew }) => (problem === '' && isNew ? [di] : []),
  refresh: ({ di }, result) => (result === 'reused' ? [di] : []),
  removeDevice: ({ di }, wasThere) => (wasThere ? [di] : []),
  removeUser: () => 'all',
  share: ({ di }, problem) => (problem === '' ? [di] : []),
  removeUserToken: (_input, wasThere) => (wasThere ? [USER_TOKENS] : []),
  register: (_input, problem) => (problem === '' ? [ENDPOINTS] : []),
  renew: (_input, isKnown) => (isKnown ? [ENDPOINTS] : []),
  removeEndpoint: (_input, wasThere) => (wasThere ? [ENDPOINTS] : []),
  removeOldEndpoints: (_input, wereThere) => (wereThere ? [ENDPOINTS] : []),
  shareWithGroup: (_input, { devices }) => devices,
  removeMember: (_input, { problem, devices }) => (problem === '' ? [...devices, INVITATIONS] : []),
  invite: (_input, problem) => (problem === '' ? [INVITATIONS] : []),
  removeInvitation: (_input, wasThere) => (wasThere ? [INVITATIONS] : []),
  acceptInvitation: (_input, { problem, devices }) => (problem === '' ? [...devices, INVITATIONS] : []),
  addMember: (_input, { problem, devices }) => (problem === '' ? [...devices, INVITATIONS] : []),
  removeGroup: (_input, { problem, devices }) => (problem === '' ? [...devices, INVITATIONS] : []),
  removeOldInvitations: (_input, wereThere) => (wereThere ? [INVITATIONS] : [])
};

/** @typedef {typeof READS} Reads */
/** @typedef {typeof WRITES} Writes */
/**
 * @template {(...args: any[]) => any} F
 * @typedef {Parameters<F>[1]} Input of an operation
 */
/**
 * @template {(...args: any[]) => any} F
 * @typedef {Promise<Awaited<ReturnType<F>>>} Result of an operation
 */
/**
 * What every store has.
 * @typedef {object} Store
 * @property {<N extends keyof Reads>(name: N, input?: Input<Reads[N]>) => Result<Reads[N]>} read
 * @property {<N extends keyof Writes>(name: N, input: Input<Writes[N]>) => Result<Writes[N]>} write
 * @property {() => Promise<Changes>} takeChanges returns what other processes changed since the last call; `all` if
 *   that is not known
 * @property {() => ReturnType<import('./call-figures').CallFigures['snapshot']>} figures
 * @property {() => Promise<void>} close
 */

module.exports = { READS, WRITES, CHANGES, ENDPOINTS, INVITATIONS, USER_TOKENS };
