'use strict';
// Operations on published links, and on who may see a device.

const { settle } = require('./groups');

/** @typedef {import('./accounts').Transaction} Transaction */
/** @typedef {{ href: string, types: string[], shown: boolean, body: Uint8Array }} Link body: the link as the device sent it */
/** @typedef {{ di: string, href: string, ins: number, expires: number, body: Uint8Array }} Found expires: ms since 1970, 0 = never */

/** Expired links that one transaction deletes. */
const SWEEP_LINKS = 500;

/**
 * Saves links; those with an href that is known replace the earlier ones and keep their number.
 * @param {Transaction} tx
 * @param {{ di: string, name: string, links: Link[], expires: number, most: number }} input
 * @returns {Promise<{ problem: 'device' | 'full' } | { problem: '', ins: number[] }>} the number of each link
 */
async function publish(tx, { di, name, links, expires, most }) {
  const device = await tx.get('SELECT last_ins FROM device WHERE di = $1', di);
  if (!device) return { problem: 'device' };
  let last = Number(device.last_ins);
  const ins = [];
  for (const { href, types, shown, body } of links) {
    const known = await tx.get('SELECT ins FROM link WHERE di = $1 AND href = $2', di, href);
    if (known) await tx.run('DELETE FROM link_type WHERE di = $1 AND href = $2', di, href);
    const own = known ? Number(known.ins) : ++last;
    await tx.run(
      `INSERT INTO link (di, href, ins, expires, shown, body) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (di, href) DO UPDATE SET expires = excluded.expires, shown = excluded.shown, body = excluded.body`,
      di,
      href,
      own,
      expires,
      shown ? 1 : 0,
      body
    );
    for (const rt of new Set(types)) {
      await tx.run('INSERT INTO link_type (rt, di, href) VALUES ($1, $2, $3)', rt, di, href);
    }
    ins.push(own);
  }
  const count = await tx.get('SELECT count(*) AS n FROM link WHERE di = $1', di);
  if (Number(count?.n) > most) throw new TooManyLinks();
  await tx.run(
    "UPDATE device SET last_ins = $2, name = CASE WHEN $3 = '' THEN name ELSE $3 END WHERE di = $1",
    di,
    last,
    name
  );
  return { problem: '', ins };
}

/** Undoes the transaction of a publish. */
class TooManyLinks extends Error {
  constructor() {
    super('The device has too many links.');
    this.code = 'TOO_MANY_LINKS';
  }
}

/**
 * @param {Transaction} tx
 * @param {{ di: string, ins: number[] }} input ins: empty = all links
 * @returns {Promise<number>} links that were deleted
 */
async function unpublish(tx, { di, ins }) {
  const rows = await tx.all('SELECT href, ins FROM link WHERE di = $1', di);
  const gone = ins.length === 0 ? rows : rows.filter((row) => ins.includes(Number(row.ins)));
  for (const { href } of gone) await removeLink(tx, di, href);
  return gone.length;
}

/** @param {Transaction} tx @param {string} di @param {string} href */
async function removeLink(tx, di, href) {
  await tx.run('DELETE FROM link_type WHERE di = $1 AND href = $2', di, href);
  await tx.run('DELETE FROM link WHERE di = $1 AND href = $2', di, href);
}

/**
 * Deletes some of the expired links.
 * @param {Transaction} tx
 * @param {{ now: number }} input
 * @returns {Promise<boolean>} true if there may be more
 */
async function removeOldLinks(tx, { now }) {
  const sql = `SELECT di, href FROM link WHERE expires > 0 AND expires <= $1 LIMIT ${SWEEP_LINKS}`;
  const rows = await tx.all(sql, now);
  for (const { di, href } of rows) await removeLink(tx, di, href);
  return rows.length === SWEEP_LINKS;
}

/**
 * Returns the text of the discovery query. CROSS JOIN keeps the order of the tables in SQLite: from the user's devices
 * to their links. Without it, the query starts at all links of the type, those of all users, which is thousands of
 * times slower in a large directory.
 * @param {{ isShared: boolean, byType: boolean, byDevice: boolean }} form
 */
function findSql({ isShared, byType, byDevice }) {
  const own = isShared ? 'share' : 'device';
  return [
    `SELECT l.di, l.href, l.ins, l.expires, l.body FROM ${own} AS d`,
    byType
      ? 'CROSS JOIN link_type AS t CROSS JOIN link AS l WHERE t.di = d.di AND t.rt = $4 AND l.di = t.di AND l.href = t.href'
      : 'CROSS JOIN link AS l WHERE l.di = d.di',
    'AND d.uid = $1 AND l.shown = 1 AND (l.expires = 0 OR l.expires > $2)',
    byDevice ? `AND d.di = $${byType ? 5 : 4}` : '',
    'LIMIT $3'
  ].join(' ');
}

/**
 * Returns the links of a user's devices, and of devices that others share with the user.
 * @param {Transaction} tx
 * @param {{ uid: string, types: string[], devices: string[], now: number, most: number }} input types, devices: empty =
 *   all
 * @returns {Promise<Found[]>} at most one more than `most`
 */
async function find(tx, { uid, types, devices: dis, now, most }) {
  /** @type {Map<string, Found>} */
  const found = new Map();
  for (const isShared of [false, true]) {
    for (const di of dis.length > 0 ? dis : [null]) {
      for (const rt of types.length > 0 ? types : [null]) {
        const sql = findSql({ isShared, byType: rt !== null, byDevice: di !== null });
        const filters = [rt, di].filter((value) => value !== null);
        // Rows may be links that an earlier type has found.
        const rows = await tx.all(sql, uid, now, most + 1, ...filters);
        for (const row of rows) {
          // A link may have several of the types.
          found.set(`${row.di}${row.href}`, {
            di: row.di,
            href: row.href,
            ins: Number(row.ins),
            expires: Number(row.expires),
            body: row.body
          });
        }
        if (found.size > most) return [...found.values()];
      }
    }
  }
  return [...found.values()];
}

/**
 * Returns the links of a device that have one of the types, in the order of their numbers.
 * @param {Transaction} tx
 * @param {{ di: string, types: string[], now: number }} input types: at least one, `*` = any
 * @returns {Promise<{ href: string, expires: number, body: Uint8Array }[]>} expires: ms since 1970, 0 = never
 */
async function linksOf(tx, { di, types, now }) {
  const marks = types.map((_type, i) => `$${i + 3}`).join(', ');
  const byType = types.includes('*')
    ? ''
    : `AND EXISTS (SELECT 1 FROM link_type AS t WHERE t.di = l.di AND t.href = l.href AND t.rt IN (${marks}))`;
  const sql = [
    'SELECT l.href, l.expires, l.body FROM link AS l',
    'WHERE l.di = $1 AND (l.expires = 0 OR l.expires > $2)',
    byType,
    'ORDER BY l.ins'
  ].join(' ');
  const rows = await tx.all(sql, di, now, ...(byType ? types : []));
  return rows.map(({ href, expires, body }) => ({ href, expires: Number(expires), body }));
}

/**
 * Returns who may see a device.
 * @param {Transaction} tx
 * @param {{ di: string }} input
 * @returns {Promise<{ uid: string, isRevoked: boolean, shares: { uid: string, rights: string }[] } | null>} null: there
 *   is no such device. isRevoked: its tokens were
 */
async function access(tx, { di }) {
  const device = await tx.get('SELECT uid, access FROM device WHERE di = $1', di);
  if (!device) return null;
  const shares = await tx.all('SELECT uid, rights FROM share WHERE di = $1', di);
  const isRevoked = device.access === null;
  return { uid: device.uid, isRevoked, shares: shares.map(({ uid, rights }) => ({ uid, rights })) };
}

/**
 * Returns the devices that a user may see.
 * @param {Transaction} tx
 * @param {{ uid: string }} input
 * @returns {Promise<string[]>}
 */
async function visible(tx, { uid }) {
  const own = await tx.all('SELECT di FROM device WHERE uid = $1', uid);
  const shared = await tx.all('SELECT di FROM share WHERE uid = $1', uid);
  return [...own, ...shared].map(({ di }) => di);
}

/**
 * Shares a device with a user, or ends that. Rights of a group stay.
 * @param {Transaction} tx
 * @param {{ di: string, uid: string, rights: '' | 'r' | 'rw' }} input rights: '' = none
 * @returns {Promise<'' | 'device' | 'user' | 'owner'>} what is wrong: unknown device, unknown user, the user owns it
 */
async function share(tx, { di, uid, rights }) {
  const device = await tx.get('SELECT uid FROM device WHERE di = $1', di);
  if (!device) return 'device';
  if (!(await tx.get('SELECT uid FROM account WHERE uid = $1', uid))) return 'user';
  if (device.uid === uid) return 'owner';
  await tx.run('DELETE FROM direct_share WHERE di = $1 AND uid = $2', di, uid);
  if (rights) await tx.run('INSERT INTO direct_share (di, uid, rights) VALUES ($1, $2, $3)', di, uid, rights);
  await settle(tx, di);
  return '';
}

/**
 * Returns devices for a list.
 * @param {Transaction} tx
 * @param {{ uid?: string }} input of this user only
 * @returns {Promise<{ di: string, uid: string, name: string, kind: string, created: number, links: number }[]>}
 */
async function devices(tx, { uid }) {
  const columns =
    'd.di, d.uid, d.name, d.kind, d.created, (SELECT count(*) FROM link l WHERE l.di = d.di) AS links';
  const sql = `SELECT ${columns} FROM device d ${uid ? 'WHERE d.uid = $1' : ''} ORDER BY d.di`;
  return /** @type {any} */ (await tx.all(sql, ...(uid ? [uid] : [])));
}

module.exports = {
  publish,
  unpublish,
  removeOldLinks,
  findSql,
  find,
  linksOf,
  access,
  visible,
  share,
  devices
};
