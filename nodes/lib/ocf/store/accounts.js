'use strict';
// Operations on users, codes and the tokens of devices. Each runs as one transaction.

const { timingSafeEqual } = require('node:crypto');
const { removeUserOfGroups } = require('./groups');
const { keepProviderToken } = require('./provider-tokens');

/**
 * What an operation may do in its transaction. The statements use the part of SQL that SQLite and PostgreSQL share, and
 * parameters $1, $2, ….
 * @typedef {import('../../postgres/connection').Transaction} Transaction
 */
/** @typedef {import('../../postgres/connection').Value} Value */
/** @typedef {{ access: Uint8Array, refresh: Uint8Array, expires: number }} Hashes of a pair of tokens, and the end of the first */

/** Used refresh tokens that are remembered for each device, to detect that one is presented again. */
const MOST_SPENT = 16;

/** @param {unknown} stored @param {Uint8Array} hash */
function isSame(stored, hash) {
  return stored instanceof Uint8Array && stored.length === hash.length && timingSafeEqual(stored, hash);
}

/** @param {Transaction} tx @param {{ issuer: string, sub: string, uid: string, now: number }} user */
async function addUser(tx, { issuer, sub, uid, now }) {
  await tx.run(
    'INSERT INTO account (uid, issuer, sub, created) VALUES ($1, $2, $3, $4) ON CONFLICT (uid) DO NOTHING',
    uid,
    issuer,
    sub,
    now
  );
}

/**
 * Adds an access code, and its user if necessary.
 * @param {Transaction} tx
 * @param {{ issuer: string, sub: string, uid: string, hash: Uint8Array, expires: number, now: number }} input
 */
async function addCode(tx, { hash, expires, ...user }) {
  await addUser(tx, user);
  await tx.run('INSERT INTO code (hash, uid, expires) VALUES ($1, $2, $3)', hash, user.uid, expires);
}

/**
 * Returns the user for whom a device used a code before; '' = it did not. The answer to a sign-up may be lost, so the
 * same code and the same device may sign up again for some minutes.
 * @param {Transaction} tx
 * @param {{ hash: Uint8Array, di: string, now: number }} input
 * @returns {Promise<string>}
 */
async function redeemedFor(tx, { hash, di, now }) {
  const row = await tx.get('SELECT di, uid, expires FROM redeemed WHERE hash = $1', hash);
  return row && row.di === di && row.expires > now ? row.uid : '';
}

/**
 * Returns what is known of a code. own: it is an access code; used: a device signed up with it.
 * @param {Transaction} tx
 * @param {{ hash: Uint8Array, now: number }} input
 * @returns {Promise<'own' | 'used' | ''>}
 */
async function codeState(tx, { hash, now }) {
  if (await tx.get('SELECT expires FROM code WHERE hash = $1', hash)) return 'own';
  const redeemed = await tx.get('SELECT expires FROM redeemed WHERE hash = $1', hash);
  return redeemed && redeemed.expires > now ? 'used' : '';
}

/**
 * Signs a device up. The identity is null if the code is one of our own access codes.
 * @param {Transaction} tx
 * @param {{ hash: Uint8Array, di: string, kind: string, tokens: Hashes, now: number, redeemedUntil: number,
 *   isFull: boolean, identity: { issuer: string, sub: string, uid: string } | null, sealed?: Uint8Array | null }} input
 *   sealed: the refresh token of the provider
 * @returns {Promise<{ problem: '' | 'code' | 'owned' | 'full', uid: string, isNew: boolean }>}
 */
async function signUp(tx, { hash, di, kind, tokens, now, redeemedUntil, isFull, identity, sealed = null }) {
  let uid = await redeemedFor(tx, { hash, di, now });
  const isRepeated = uid !== '';
  if (!uid && identity) uid = identity.uid;
  if (!uid) {
    const code = await tx.get('SELECT uid, expires FROM code WHERE hash = $1', hash);
    if (!code || code.expires <= now) return { problem: 'code', uid: '', isNew: false };
    uid = code.uid;
  }
  const device = await tx.get('SELECT uid FROM device WHERE di = $1', di);
  if (device && device.uid !== uid) return { problem: 'owned', uid: '', isNew: false };
  if (!device && isFull) return { problem: 'full', uid: '', isNew: false };
  if (identity) await addUser(tx, { ...identity, now });
  if (!isRepeated) {
    await keepProviderToken(tx, { di, sealed, now });
    await tx.run('DELETE FROM code WHERE hash = $1', hash);
    await tx.run(
      `INSERT INTO redeemed (hash, di, uid, expires) VALUES ($1, $2, $3, $4)
       ON CONFLICT (hash) DO UPDATE SET di = excluded.di, uid = excluded.uid, expires = excluded.expires`,
      hash,
      di,
      uid,
      redeemedUntil
    );
  }
  await tx.run(
    `INSERT INTO device (di, uid, name, kind, access, expires, refresh, refresh_before, before_until, refreshed, last_ins, created)
     VALUES ($1, $2, '', $3, $4, $5, $6, NULL, 0, $7, 0, $7)
     ON CONFLICT (di) DO UPDATE SET kind = excluded.kind, access = excluded.access, expires = excluded.expires,
       refresh = excluded.refresh, refresh_before = NULL, before_until = 0, refreshed = excluded.refreshed`,
    di,
    uid,
    kind,
    tokens.access,
    tokens.expires,
    tokens.refresh,
    now
  );
  return { problem: '', uid, isNew: !device };
}

/**
 * Checks an access token. isFirst: the token is new, and useToken() must follow.
 * @param {Transaction} tx
 * @param {{ di: string, uid: string, hash: Uint8Array, now: number }} input
 * @returns {Promise<{ expires: number, isFirst: boolean } | null>} null: wrong or expired
 */
async function checkToken(tx, { di, uid, hash, now }) {
  const row = await tx.get(
    'SELECT uid, access, expires, refresh_before, before_until FROM device WHERE di = $1',
    di
  );
  if (!row || row.uid !== uid || !isSame(row.access, hash)) return null;
  if (row.expires !== 0 && row.expires <= now) return null;
  return { expires: row.expires, isFirst: row.refresh_before !== null && row.before_until === 0 };
}

/**
 * Checks an access token and records its first use: the device has its new tokens, so the refresh token of before is
 * used up, after a grace time if there is one.
 * @param {Transaction} tx
 * @param {{ di: string, uid: string, hash: Uint8Array, now: number, graceMs: number }} input
 * @returns {Promise<{ expires: number } | null>}
 */
async function useToken(tx, { graceMs, ...input }) {
  const found = await checkToken(tx, input);
  if (!found || !found.isFirst) return found;
  const { di, now } = input;
  if (graceMs > 0) {
    await tx.run('UPDATE device SET before_until = $2 WHERE di = $1', di, now + graceMs);
  } else {
    await spend(tx, di, now);
    await tx.run('UPDATE device SET refresh_before = NULL WHERE di = $1', di);
  }
  return found;
}

/** Remembers the refresh token of before as used up. @param {Transaction} tx @param {string} di @param {number} now */
async function spend(tx, di, now) {
  await tx.run(
    `INSERT INTO spent (hash, di, at) SELECT refresh_before, di, $2 FROM device WHERE di = $1 AND refresh_before IS NOT NULL
     ON CONFLICT (hash) DO NOTHING`,
    di,
    now
  );
  await tx.run(
    `DELETE FROM spent WHERE di = $1 AND hash NOT IN (SELECT hash FROM spent WHERE di = $1 ORDER BY at DESC LIMIT ${MOST_SPENT})`,
    di
  );
}

/**
 * Replaces the tokens of a device. The refresh token of before stays valid until the new access token was used, because
 * the answer may be lost. A used-up refresh token shows that there is a copy: both tokens of the device are
 * revoked.
 * @param {Transaction} tx
 * @param {{ di: string, uid: string, hash: Uint8Array, tokens: Hashes, now: number, idleSince: number }} input
 *   idleSince: refresh tokens that were not used since then are expired
 * @returns {Promise<'done' | 'wrong' | 'reused'>}
 */
async function refresh(tx, { di, uid, hash, tokens, now, idleSince }) {
  const row = await tx.get(
    'SELECT uid, refresh, refresh_before, before_until, refreshed FROM device WHERE di = $1',
    di
  );
  if (!row || row.uid !== uid || row.refresh === null) return 'wrong';
  const isCurrent = isSame(row.refresh, hash);
  const isBefore = isSame(row.refresh_before, hash);
  if (!isCurrent && !(isBefore && (row.before_until === 0 || row.before_until > now))) {
    const spent = await tx.get('SELECT di FROM spent WHERE hash = $1', hash);
    if (!isBefore && spent?.di !== di) return 'wrong';
    await tx.run('UPDATE device SET access = NULL, refresh = NULL, refresh_before = NULL WHERE di = $1', di);
    return 'reused';
  }
  if (row.refreshed < idleSince) return 'wrong';
  if (isCurrent) await spend(tx, di, now);
  await tx.run(
    `UPDATE device SET access = $2, expires = $3, refresh = $4, refresh_before = $5, before_until = 0, refreshed = $6
     WHERE di = $1`,
    di,
    tokens.access,
    tokens.expires,
    tokens.refresh,
    hash,
    now
  );
  return 'done';
}

/**
 * Deletes a device with its tokens, links, shares and the endpoints that it registered.
 * @param {Transaction} tx
 * @param {{ di: string }} input
 * @returns {Promise<boolean>} false: there was none
 */
async function removeDevice(tx, { di }) {
  const tables = [
    'link_type',
    'link',
    'share',
    'direct_share',
    'group_device',
    'spent',
    'redeemed',
    'provider_token'
  ];
  for (const table of tables) {
    await tx.run(`DELETE FROM ${table} WHERE di = $1`, di);
  }
  await tx.run('DELETE FROM endpoint WHERE via = $1', di);
  return (await tx.run('DELETE FROM device WHERE di = $1', di)) > 0;
}

/**
 * Deletes a user with all devices, codes, tokens, shares and own groups.
 * @param {Transaction} tx
 * @param {{ uid: string }} input
 * @returns {Promise<{ isKnown: boolean, devices: string[] }>}
 */
async function removeUser(tx, { uid }) {
  const devices = (await tx.all('SELECT di FROM device WHERE uid = $1 ORDER BY di', uid)).map(({ di }) => di);
  for (const di of devices) await removeDevice(tx, { di });
  await removeUserOfGroups(tx, uid);
  for (const table of ['code', 'redeemed', 'share', 'direct_share', 'user_token']) {
    await tx.run(`DELETE FROM ${table} WHERE uid = $1`, uid);
  }
  return { isKnown: (await tx.run('DELETE FROM account WHERE uid = $1', uid)) > 0, devices };
}

/** @param {Transaction} tx @param {{ uids: string[] }} input @returns {Promise<string[]>} those that exist */
async function knownUsers(tx, { uids }) {
  const known = [];
  for (const uid of uids) if (await tx.get('SELECT 1 AS n FROM account WHERE uid = $1', uid)) known.push(uid);
  return known;
}

/** Deletes codes that can no longer be used. @param {Transaction} tx @param {{ now: number }} input */
async function removeOldCodes(tx, { now }) {
  await tx.run('DELETE FROM code WHERE expires <= $1', now);
  await tx.run('DELETE FROM redeemed WHERE expires <= $1', now);
}

/**
 * @param {Transaction} tx
 * @returns {Promise<{ uid: string, issuer: string, sub: string, devices: number, created: number }[]>}
 */
async function users(tx) {
  return /** @type {any} */ (
    await tx.all(
      `SELECT a.uid, a.issuer, a.sub, a.created, (SELECT count(*) FROM device d WHERE d.uid = a.uid) AS devices
       FROM account a ORDER BY a.sub, a.issuer`
    )
  );
}

/** @param {Transaction} tx @returns {Promise<number>} */
async function countDevices(tx) {
  return Number((await tx.get('SELECT count(*) AS n FROM device'))?.n);
}

/** @param {Transaction} tx @returns {Promise<string>} the id of the cloud to which the database belongs, '' = none */
async function cloudId(tx) {
  return (await tx.get("SELECT value FROM meta WHERE name = 'sid'"))?.value ?? '';
}

/**
 * Binds the database to a cloud id. Devices know the cloud by its id, so another one would cut them off.
 * @param {Transaction} tx
 * @param {{ sid: string, isNew?: boolean }} input isNew: the id is used only if the database has none
 * @returns {Promise<string>} the id in the database
 */
async function claim(tx, { sid, isNew = false }) {
  const known = (await tx.get("SELECT value FROM meta WHERE name = 'sid'"))?.value;
  if (known === sid || (known && (isNew || (await countDevices(tx)) > 0))) return known;
  await tx.run(
    "INSERT INTO meta (name, value) VALUES ('sid', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    sid
  );
  return sid;
}

module.exports = {
  addUser,
  addCode,
  redeemedFor,
  codeState,
  signUp,
  checkToken,
  useToken,
  refresh,
  removeDevice,
  removeUser,
  knownUsers,
  removeOldCodes,
  users,
  countDevices,
  cloudId,
  claim
};
