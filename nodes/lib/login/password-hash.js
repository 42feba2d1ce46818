'use strict';
// Password hashes: scrypt (RFC 7914) in the form $scrypt$ln=14,r=8,p=1$salt$hash, base64 without padding.

const crypto = require('node:crypto');

const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Allowed cost of a hash. With a higher cost, one login could take a second or all memory. */
const LIMITS = { ln: [10, 18], r: [1, 16], p: [1, 4] };
const MAX_MEMORY = 256 << 20;
const DEFAULT_COST = { ln: 14, r: 8, p: 1 };
const FORM = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{43})$/;

/**
 * @typedef {{ ln: number, r: number, p: number }} Cost memory is 128 · 2^ln · r bytes
 * @typedef {Cost & { salt: Buffer, hash: Buffer }} PasswordHash
 */

/** @param {Cost} cost @returns {boolean} */
function isAllowed({ ln, r, p }) {
  const within = (/** @type {number} */ value, /** @type {number[]} */ [min, max]) =>
    value >= min && value <= max;
  return (
    within(ln, LIMITS.ln) && within(r, LIMITS.r) && within(p, LIMITS.p) && 128 * r * 2 ** ln <= MAX_MEMORY
  );
}

/**
 * @param {string} text
 * @returns {PasswordHash | null} null: not a hash, or its cost is too low or too high
 */
function parseHash(text) {
  const [, ln, r, p, salt, hash] = FORM.exec(text) ?? [];
  if (hash === undefined) return null;
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
  if (!isAllowed(cost)) return null;
  return { ...cost, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') };
}

/** @param {PasswordHash} parts */
function formatHash({ ln, r, p, salt, hash }) {
  const base64 = (/** @type {Buffer} */ bytes) => bytes.toString('base64').replace(/=+$/, '');
  return `$scrypt$ln=${ln},r=${r},p=${p}$${base64(salt)}$${base64(hash)}`;
}

/**
 * Computes a hash in libuv's thread pool.
 * @param {Buffer} password
 * @param {Cost & { salt: Buffer }} parts
 * @returns {Promise<Buffer>}
 */
function derive(password, { ln, r, p, salt }) {
  const options = { N: 2 ** ln, r, p, maxmem: MAX_MEMORY + (1 << 20) };
  return new Promise((resolve, reject) => {
    crypto.scrypt(password, salt, HASH_BYTES, options, (error, key) =>
      error ? reject(error) : resolve(key)
    );
  });
}

/** @param {Buffer} password @param {Cost} [cost] @returns {Promise<string>} */
async function hashPassword(password, cost = DEFAULT_COST) {
  const salt = crypto.randomBytes(SALT_BYTES);
  return formatHash({ ...cost, salt, hash: await derive(password, { ...cost, salt }) });
}

/** @param {Buffer} password @param {PasswordHash} known @returns {Promise<boolean>} */
async function matches(password, known) {
  return crypto.timingSafeEqual(await derive(password, known), known.hash);
}

/**
 * Returns a hash that no password matches, at the same cost as other hashes.
 * @param {Cost} [cost]
 * @returns {PasswordHash}
 */
function decoyHash({ ln, r, p } = DEFAULT_COST) {
  return { ln, r, p, salt: crypto.randomBytes(SALT_BYTES), hash: crypto.randomBytes(HASH_BYTES) };
}

module.exports = { DEFAULT_COST, LIMITS, isAllowed, parseHash, hashPassword, matches, decoyHash };
