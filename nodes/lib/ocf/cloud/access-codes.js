'use strict';
// Users that exist by access codes alone: the operator makes a code for a user, and the user gives it to a device.

const { randomBytes } = require('node:crypto');
const { hashOf, userId } = require('./tokens');

/** Distinguishes these users from those of OpenID providers. */
const ISSUER = 'urn:seganet:access-codes';
/** 24 characters of 5 bits, 120 bits: none can be mistaken for another one. */
const CODE_CHARACTERS = 24;
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789L';
const SUBJECT = /^[^\p{Cc}]{1,255}$/u;
const MINUTE_MS = 60000;
const MOST_MINUTES = 1440;

/**
 * sealed: the refresh token of the provider, to be kept.
 * @typedef {'accessCode' | 'wrong' | { issuer: string, sub: string, sealed?: Uint8Array | null }} Exchanged
 */
/**
 * What exchanges the code of a sign-up for a user.
 * @typedef {object} Users
 * @property {(code: string, device: { di: string, provider: string }) => Promise<Exchanged>} exchange
 *   accessCode: the store knows whether the code is right. Rejects if the provider cannot be reached.
 * @property {(device: { di: string }) => Promise<boolean>} [confirm] false: the provider refuses the user of a device
 * @property {(token: string) => Promise<{ issuer: string, sub: string, expires: number } | null>} [bearer] the user of
 *   an access token of the provider; expires: ms; null: wrong or expired. Rejects with a Refusal if the provider cannot
 *   be reached.
 */

/** @type {Users} */
const accessCodes = { exchange: async () => 'accessCode' };

/**
 * @param {string} name
 * @param {string} [issuer] of the user
 * @returns {string} what is wrong with a user's name, '' if nothing is
 */
function userProblem(name, issuer = ISSUER) {
  // OpenID Connect Core, section 2: the provider chooses the characters.
  if (issuer !== ISSUER) return SUBJECT.test(name) ? '' : 'must have 1 to 255 characters, none for control';
  return /^[^\p{Cc}\p{Z}:/]{1,128}$/u.test(name)
    ? ''
    : 'must have 1 to 128 characters without spaces, colons and slashes';
}

/** @param {string} name @param {string} [issuer] of the user @returns {string} the user's id */
function userIdOf(name, issuer = ISSUER) {
  return userId(issuer, name);
}

/**
 * Makes an access code for one sign-up.
 * @param {import('../store/operations').Store} store
 * @param {string} name of the user
 * @param {{ minutes?: number, issuer?: string, now?: number }} [options] issuer: for a user of an OpenID provider
 * @returns {Promise<{ code: string, uid: string, expires: number }>}
 */
async function newCode(store, name, { minutes = 10, issuer = ISSUER, now = Date.now() } = {}) {
  const problem = userProblem(name, issuer);
  if (problem) throw new RangeError(`The user name ${problem}.`);
  const code = [...randomBytes(CODE_CHARACTERS)].map((byte) => ALPHABET[byte & 31]).join('');
  const expires = now + minutes * MINUTE_MS;
  const uid = userIdOf(name, issuer);
  await store.write('addCode', { issuer, sub: name, uid, hash: hashOf(code), expires, now });
  return { code, uid, expires };
}

module.exports = { accessCodes, newCode, userIdOf, userProblem, ISSUER, SUBJECT, MOST_MINUTES };
