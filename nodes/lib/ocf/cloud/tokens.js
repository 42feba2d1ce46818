'use strict';
// Tokens of devices: random, without a meaning, and stored only as hashes.

const { createHash, randomBytes } = require('node:crypto');

const TOKEN_BYTES = 32;
const NAMESPACE_URL = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex');

/** @returns {string} 43 characters */
function newToken() {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/**
 * Returns the stored form of a token or code. A token cannot be found by guessing, so a plain hash is enough.
 * @param {string} token
 * @returns {Buffer}
 */
function hashOf(token) {
  return createHash('sha256').update(token).digest();
}

/**
 * Returns a pair of new tokens and what to store of them.
 * @param {number} now ms
 * @param {number} lifetimeSeconds -1 = indefinitely
 */
function newPair(now, lifetimeSeconds) {
  const [access, refresh] = [newToken(), newToken()];
  const expires = lifetimeSeconds < 0 ? 0 : now + lifetimeSeconds * 1000;
  return { access, refresh, stored: { access: hashOf(access), refresh: hashOf(refresh), expires } };
}

/** @param {number} expires ms, 0 = never @param {number} now ms @returns {number} whole s, -1 = never */
function expiresIn(expires, now) {
  return expires === 0 ? -1 : Math.max(0, Math.floor((expires - now) / 1000));
}

/** UUID of version 5 (RFC 9562 section 5.5). @param {Buffer} namespace @param {string} name @returns {string} */
function uuid5(namespace, name) {
  const bytes = createHash('sha1').update(namespace).update(name).digest().subarray(0, 16);
  bytes[6] = (bytes[6] & 0x0f) | 0x50;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/**
 * Returns the id of a user. It depends on nothing but the provider's names, so it is the same in every cloud.
 * @param {string} issuer
 * @param {string} sub the user's name or id at the issuer
 */
function userId(issuer, sub) {
  return uuid5(Buffer.from(uuid5(NAMESPACE_URL, issuer).replaceAll('-', ''), 'hex'), sub);
}

module.exports = { newToken, hashOf, newPair, expiresIn, userId, uuid5 };
