'use strict';
// Operations on the refresh tokens of OpenID providers, which are kept to ask the provider about a device's user again.
// They are sealed: the store cannot read them.

/** @typedef {import('./accounts').Transaction} Transaction */

/**
 * Replaces the token of a device that signs up.
 * @param {Transaction} tx
 * @param {{ di: string, sealed: Uint8Array | null, now: number }} input sealed null: the device has none
 */
async function keepProviderToken(tx, { di, sealed, now }) {
  await tx.run('DELETE FROM provider_token WHERE di = $1', di);
  if (!sealed) return;
  const sql = 'INSERT INTO provider_token (di, sealed, asked, uncertain) VALUES ($1, $2, $3, 0)';
  await tx.run(sql, di, sealed, now);
}

/**
 * @param {Transaction} tx
 * @param {{ di: string }} input
 * @returns {Promise<{ sealed: Uint8Array, asked: number, isUncertain: boolean } | null>} asked: when the provider last
 *   confirmed the user, ms; isUncertain: a question had no answer, so the provider may have replaced the token
 */
async function providerToken(tx, { di }) {
  const row = await tx.get('SELECT sealed, asked, uncertain FROM provider_token WHERE di = $1', di);
  return row
    ? { sealed: row.sealed, asked: Number(row.asked), isUncertain: Number(row.uncertain) === 1 }
    : null;
}

/**
 * Marks a token before or after a question to the provider.
 * @param {Transaction} tx
 * @param {{ di: string, isUncertain: boolean }} input
 */
async function markProviderToken(tx, { di, isUncertain }) {
  await tx.run('UPDATE provider_token SET uncertain = $2 WHERE di = $1', di, isUncertain ? 1 : 0);
}

/**
 * The provider confirmed the user.
 * @param {Transaction} tx
 * @param {{ di: string, sealed: Uint8Array, now: number }} input sealed: the token for the next question
 */
async function confirmProviderToken(tx, { di, sealed, now }) {
  const sql = 'UPDATE provider_token SET sealed = $2, asked = $3, uncertain = 0 WHERE di = $1';
  await tx.run(sql, di, sealed, now);
}

module.exports = { keepProviderToken, providerToken, markProviderToken, confirmProviderToken };
