'use strict';
// Counts what a log in PostgreSQL contains.

const { Usage, CHECKED_COST_SQL } = require('../store/log-limits');

/** @typedef {import('../postgres/connection').PostgresConnection} Connection */
/** @typedef {{ node: string, records: number, classes: Record<number, number> }} Holding */

const LANES = `SELECT node, class, count(*)::int AS chunks, sum(records)::float8 AS records, sum(bytes)::float8 AS bytes,
sum(${CHECKED_COST_SQL})::float8 AS cost FROM chunk WHERE log = $1 GROUP BY node, class`;
const LAST_ROW = `SELECT greatest((SELECT max(id) FROM chunk WHERE log = $1), (SELECT max(id) FROM dead WHERE log = $1),
(SELECT max(id) FROM quarantine WHERE log = $1), 0)::float8 AS id`;
const ASIDE = `SELECT (SELECT count(*) FROM dead WHERE log = $1)::float8 AS dead,
(SELECT coalesce(sum(length(body)), 0) FROM dead WHERE log = $1)::float8 AS dead_bytes,
(SELECT count(*) FROM quarantine WHERE log = $1)::float8 AS aside,
(SELECT coalesce(sum(length(body)), 0) FROM quarantine WHERE log = $1)::float8 AS aside_bytes`;
const ROWS = `SELECT id, class, records, ${CHECKED_COST_SQL} AS cost FROM chunk WHERE log = $1 ORDER BY id`;

/**
 * @param {Connection} db
 * @param {string} log
 * @returns {Promise<{ usage: Usage, bytes: Map<string, number> }>} bytes by uplink node
 */
async function lanesOf(db, log) {
  const usage = new Usage();
  /** @type {Map<string, number>} */
  const bytes = new Map();
  for (const row of await db.all(LANES, log)) {
    usage.add(row.class, row.chunks, row.records, row.cost);
    bytes.set(row.node, (bytes.get(row.node) ?? 0) + row.bytes);
  }
  return { usage, bytes };
}

/** @param {Connection} db @param {string} log @returns {Promise<Holding[]>} the records of each uplink node */
async function holdingsOf(db, log) {
  /** @type {Map<string, Record<number, number>>} */
  const nodes = new Map();
  for (const row of await db.all(LANES, log)) {
    nodes.set(row.node, { ...nodes.get(row.node), [row.class]: row.records });
  }
  return [...nodes].map(([node, classes]) => ({
    node,
    records: Object.values(classes).reduce((all, count) => all + count, 0),
    classes
  }));
}

/** @param {Connection} db @param {string} log @returns {Promise<number>} 0 = it has no rows */
async function lastRowOf(db, log) {
  return (await db.get(LAST_ROW, log))?.id ?? 0;
}

/** @param {Connection} db @param {string} log */
async function asideOf(db, log) {
  const sums = /** @type {any} */ (await db.get(ASIDE, log));
  return {
    dead: { count: sums.dead, bytes: sums.dead_bytes },
    quarantine: { count: sums.aside, bytes: sums.aside_bytes }
  };
}

/**
 * @param {Connection} db
 * @param {string} log
 * @returns {Promise<import('./pair-transaction').Known[]>} all chunks, the oldest first
 */
async function chunksOf(db, log) {
  const rows = await db.all(ROWS, log);
  return rows.map(({ id, class: recordClass, records, cost }) => ({ row: id, recordClass, records, cost }));
}

/**
 * Deletes the oldest rows while the table is above its limit; the newest row stays.
 * @param {Connection} db
 * @param {string} log
 * @param {'dead' | 'quarantine'} table
 * @param {number} limit bytes
 * @returns {Promise<number>} rows
 */
function trim(db, log, table, limit) {
  const sql = `DELETE FROM ${table} WHERE log = $1 AND id IN (SELECT id FROM (SELECT id, sum(length(body)) OVER newest AS
    bytes, row_number() OVER newest AS place FROM ${table} WHERE log = $1 WINDOW newest AS (ORDER BY id DESC)) AS sums
    WHERE bytes > $2 AND place > 1)`;
  return db.run(sql, log, limit);
}

module.exports = { asideOf, chunksOf, holdingsOf, lanesOf, lastRowOf, trim };
