'use strict';
// Operations on the registrations of the RFC 9176 directory. An endpoint is reached through the connection of the
// device that registered it (via).

/** @typedef {import('./accounts').Transaction} Transaction */
/**
 * @typedef {object} Endpoint
 * @property {string} di its id, a UUID
 * @property {string} uid
 * @property {string} via the device that registered it
 * @property {string} ep its name
 * @property {string} base '' = none
 * @property {number} lt lifetime in s
 * @property {number} expires ms
 * @property {Uint8Array} attributes JSON of names and values
 * @property {Uint8Array} links JSON of the links
 */

const COLUMNS = 'di, uid, via, ep, base, lt, expires, attributes, links';

/** @param {Record<string, any>} row @returns {Endpoint} */
function readable(row) {
  return /** @type {any} */ ({ ...row, lt: Number(row.lt), expires: Number(row.expires) });
}

/**
 * Saves a registration; one with the same id is replaced.
 * @param {Transaction} tx
 * @param {Endpoint & { most: number, now: number }} input most: endpoints of the user
 * @returns {Promise<'' | 'device' | 'full'>} what is wrong
 */
async function register(tx, input) {
  const { di, uid, via, ep, base, lt, expires, attributes, links, most, now } = input;
  const device = await tx.get('SELECT uid FROM device WHERE di = $1', via);
  if (device?.uid !== uid) return 'device';
  const others = 'SELECT count(*) AS n FROM endpoint WHERE uid = $1 AND di <> $2 AND expires > $3';
  if (Number((await tx.get(others, uid, di, now))?.n) >= most) return 'full';
  await tx.run(
    `INSERT INTO endpoint (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (di) DO UPDATE SET via = excluded.via, base = excluded.base, lt = excluded.lt,
       expires = excluded.expires, attributes = excluded.attributes, links = excluded.links`,
    ...[di, uid, via, ep, base, lt, expires, attributes, links]
  );
  return '';
}

/**
 * Extends a registration and replaces its parameters.
 * @param {Transaction} tx
 * @param {Pick<Endpoint, 'di' | 'base' | 'lt' | 'expires' | 'attributes'>} input
 * @returns {Promise<boolean>} false: there is no such registration
 */
async function renew(tx, { di, base, lt, expires, attributes }) {
  const sql = 'UPDATE endpoint SET base = $2, lt = $3, expires = $4, attributes = $5 WHERE di = $1';
  return (await tx.run(sql, di, base, lt, expires, attributes)) > 0;
}

/** @param {Transaction} tx @param {{ di: string }} input @returns {Promise<boolean>} false: there was none */
async function removeEndpoint(tx, { di }) {
  return (await tx.run('DELETE FROM endpoint WHERE di = $1', di)) > 0;
}

/** @param {Transaction} tx @param {{ now: number }} input @returns {Promise<boolean>} true if any was deleted */
async function removeOldEndpoints(tx, { now }) {
  return (await tx.run('DELETE FROM endpoint WHERE expires <= $1', now)) > 0;
}

/** @param {Transaction} tx @param {{ di: string }} input @returns {Promise<Endpoint | null>} also an expired one */
async function endpoint(tx, { di }) {
  const row = await tx.get(`SELECT ${COLUMNS} FROM endpoint WHERE di = $1`, di);
  return row ? readable(row) : null;
}

/**
 * Returns the endpoints of a user, and of devices that others share with the user.
 * @param {Transaction} tx
 * @param {{ uid: string, now: number, most: number }} input
 * @returns {Promise<Endpoint[]>} at most one more than `most`
 */
async function endpoints(tx, { uid, now, most }) {
  const sql = `SELECT ${COLUMNS} FROM endpoint
    WHERE (uid = $1 OR via IN (SELECT di FROM share WHERE uid = $1)) AND expires > $2 ORDER BY ep, di LIMIT $3`;
  return (await tx.all(sql, uid, now, most + 1)).map(readable);
}

/** @param {Transaction} tx @param {{ now: number }} input @returns {Promise<number>} endpoints of all users */
async function countEndpoints(tx, { now }) {
  return Number((await tx.get('SELECT count(*) AS n FROM endpoint WHERE expires > $1', now))?.n);
}

module.exports = { register, renew, removeEndpoint, removeOldEndpoints, endpoint, endpoints, countEndpoints };
