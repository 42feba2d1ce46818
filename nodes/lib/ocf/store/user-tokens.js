'use strict';
// Operations on the tokens with which users reach their devices over HTTP. They belong to no device.

const { addUser } = require('./accounts');

/** @typedef {import('./accounts').Transaction} Transaction */

/**
 * Adds a token, and its user if necessary.
 * @param {Transaction} tx
 * @param {{ issuer: string, sub: string, uid: string, hash: Uint8Array, id: string, expires: number, now: number,
 *   most: number }} input id: names the token in lists; most: tokens of a user
 * @returns {Promise<boolean>} false: the user has too many
 */
async function addUserToken(tx, { hash, id, expires, most, ...user }) {
  const { uid, now } = user;
  const row = await tx.get('SELECT count(*) AS n FROM user_token WHERE uid = $1 AND expires > $2', uid, now);
  if (Number(row?.n) >= most) return false;
  await addUser(tx, user);
  const sql = 'INSERT INTO user_token (hash, id, uid, expires, created) VALUES ($1, $2, $3, $4, $5)';
  await tx.run(sql, hash, id, uid, expires, now);
  return true;
}

/**
 * @param {Transaction} tx
 * @param {{ hash: Uint8Array, now: number }} input
 * @returns {Promise<{ uid: string, expires: number } | null>} null: wrong, revoked or expired
 */
async function checkUserToken(tx, { hash, now }) {
  const row = await tx.get('SELECT uid, expires FROM user_token WHERE hash = $1', hash);
  return row && Number(row.expires) > now ? { uid: row.uid, expires: Number(row.expires) } : null;
}

/**
 * @param {Transaction} tx
 * @param {{ now: number }} input
 * @returns {Promise<{ id: string, uid: string, expires: number, created: number }[]>} those that are valid
 */
async function userTokens(tx, { now }) {
  const sql = 'SELECT id, uid, expires, created FROM user_token WHERE expires > $1 ORDER BY uid, created, id';
  return /** @type {any} */ (await tx.all(sql, now));
}

/** @param {Transaction} tx @param {{ id: string }} input @returns {Promise<boolean>} false: there is no such token */
async function removeUserToken(tx, { id }) {
  return (await tx.run('DELETE FROM user_token WHERE id = $1', id)) > 0;
}

/** @param {Transaction} tx @param {{ now: number }} input */
async function removeOldUserTokens(tx, { now }) {
  await tx.run('DELETE FROM user_token WHERE expires <= $1', now);
}

module.exports = { addUserToken, checkUserToken, userTokens, removeUserToken, removeOldUserTokens };
