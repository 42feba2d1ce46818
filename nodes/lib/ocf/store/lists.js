'use strict';
// Pages of devices and users for the live view. The database searches, so only one page of the rows leaves it.

const { countDevices } = require('./accounts');

/** @typedef {import('./accounts').Transaction} Transaction */
/** @typedef {{ q: string, page: number, size: number }} Search q: '' = all; page: from 1 */
/**
 * @template T
 * @typedef {{ known: number, found: number, page: number, pages: number, rows: T[] }} Page page: the last one if the
 *   wanted one does not exist
 */
/** @typedef {{ di: string, uid: string, user: string, name: string, kind: string, created: number, links: number }} DeviceRow */
/** @typedef {{ uid: string, user: string, devices: number, created: number }} UserRow */

const DEVICES = 'FROM device d LEFT JOIN account a ON a.uid = d.uid';
const DEVICE_TEXT = "d.di || ' ' || d.name || ' ' || d.kind || ' ' || coalesce(a.sub, '')";

/**
 * Returns the condition of a search, and its values. lower() of SQLite changes only ASCII letters, so the text is
 * searched as it is, too.
 * @param {string} text
 * @param {string} q
 */
function searching(text, q) {
  if (q === '') return { where: '', values: [] };
  const where = `WHERE (lower(${text}) LIKE $1 ESCAPE '!' OR ${text} LIKE $2 ESCAPE '!')`;
  return { where, values: [q.toLowerCase(), q].map((each) => `%${each.replace(/[!%_]/g, '!$&')}%`) };
}

/** @param {number} found @param {Search} search */
function place(found, { page, size }) {
  const pages = Math.max(1, Math.ceil(found / size));
  const shown = Math.min(page, pages);
  return { page: shown, pages, offset: (shown - 1) * size };
}

/**
 * Returns a page of the devices, by id. The search looks at id, name, type and user.
 * @param {Transaction} tx
 * @param {Search & { only: string[] | null }} input only: these devices, null = all
 * @returns {Promise<Page<DeviceRow>>}
 */
async function deviceList(tx, { only, ...search }) {
  const { q, size } = search;
  const known = await countDevices(tx);
  const { where, values } = searching(DEVICE_TEXT, q);
  if (only) {
    const dis = await matchesOf(tx, new Set(only), where, values);
    const { offset, ...shown } = place(dis.length, search);
    const rows = await rowsOf(tx, dis.slice(offset, offset + size));
    return { known, found: dis.length, ...shown, rows };
  }
  const found =
    q === '' ? known : Number((await tx.get(`SELECT count(*) AS n ${DEVICES} ${where}`, ...values))?.n);
  const { offset, ...shown } = place(found, search);
  const limit = `LIMIT $${values.length + 1} OFFSET $${values.length + 2}`;
  const sql = `SELECT d.di ${DEVICES} ${where} ORDER BY d.di ${limit}`;
  const dis = (await tx.all(sql, ...values, size, offset)).map(({ di }) => di);
  return { known, found, ...shown, rows: await rowsOf(tx, dis) };
}

/**
 * @param {Transaction} tx
 * @param {Set<string>} only
 * @param {string} where '' = all match
 * @param {string[]} values
 * @returns {Promise<string[]>} sorted
 */
async function matchesOf(tx, only, where, values) {
  if (where === '') return [...only].sort();
  const rows = await tx.all(`SELECT d.di ${DEVICES} ${where} ORDER BY d.di`, ...values);
  return rows.map(({ di }) => di).filter((di) => only.has(di));
}

/** @param {Transaction} tx @param {string[]} dis one page @returns {Promise<DeviceRow[]>} those that exist */
async function rowsOf(tx, dis) {
  const columns =
    'd.di, d.uid, a.sub, d.name, d.kind, d.created, (SELECT count(*) FROM link l WHERE l.di = d.di) AS links';
  const found = [];
  for (const di of dis) {
    const row = await tx.get(`SELECT ${columns} ${DEVICES} WHERE d.di = $1`, di);
    if (!row) continue;
    const { uid, sub, name, kind, created, links } = row;
    found.push({ di, uid, user: sub ?? uid, name, kind, created: Number(created), links: Number(links) });
  }
  return found;
}

/**
 * Returns a page of the users, by name.
 * @param {Transaction} tx
 * @param {Search} search
 * @returns {Promise<Page<UserRow>>}
 */
async function userList(tx, search) {
  const { q, size } = search;
  const known = Number((await tx.get('SELECT count(*) AS n FROM account'))?.n);
  const { where, values } = searching('sub', q);
  const found =
    q === '' ? known : Number((await tx.get(`SELECT count(*) AS n FROM account ${where}`, ...values))?.n);
  const { offset, ...shown } = place(found, search);
  const limit = `LIMIT $${values.length + 1} OFFSET $${values.length + 2}`;
  const devices = '(SELECT count(*) FROM device d WHERE d.uid = account.uid) AS devices';
  const sql = `SELECT uid, sub, created, ${devices} FROM account ${where} ORDER BY sub, issuer ${limit}`;
  const rows = (await tx.all(sql, ...values, size, offset)).map((row) => ({
    uid: row.uid,
    user: row.sub,
    devices: Number(row.devices),
    created: Number(row.created)
  }));
  return { known, found, ...shown, rows };
}

module.exports = { deviceList, userList };
