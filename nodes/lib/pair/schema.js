'use strict';
// The tables of the logs of pairs in PostgreSQL, in a schema of their own. A log has the id of its gateway, which both
// members of the pair share, and that of its engine node.

const SCHEMA = 'seganet_log';
/** The number of the advisory lock while tables are made: "SGP1". */
const LOCK = 0x53475031;

/**
 * What each version adds to the one before it. A database of a later version is not used.
 *
 * lease: which gateway has the log. Each transaction of a log sets `batch`, and finds its row only with its own epoch,
 * so that of an earlier owner changes nothing. pulse: its last sign of life. It has a table of its own because a
 * transaction that waits for the standby locks the row of the lease.
 */
const VERSIONS = [
  `CREATE TABLE lease (log TEXT PRIMARY KEY, holder TEXT NOT NULL, place TEXT NOT NULL, epoch BIGINT NOT NULL, batch BIGINT NOT NULL);
   CREATE TABLE pulse (log TEXT PRIMARY KEY, count BIGINT NOT NULL);
   CREATE TABLE probe (log TEXT PRIMARY KEY, count BIGINT NOT NULL);
   CREATE TABLE chunk (log TEXT NOT NULL, id BIGINT NOT NULL, node TEXT NOT NULL, class INTEGER NOT NULL, records INTEGER NOT NULL, bytes INTEGER NOT NULL, first_ts BIGINT NOT NULL, last_ts BIGINT NOT NULL, body BYTEA NOT NULL, PRIMARY KEY (log, id));
   CREATE INDEX chunk_lane ON chunk (log, node, class, id) INCLUDE (records, bytes);
   CREATE TABLE dead (log TEXT NOT NULL, id BIGINT NOT NULL, node TEXT NOT NULL, class INTEGER NOT NULL, at BIGINT NOT NULL, code INTEGER NOT NULL, reason TEXT NOT NULL, records INTEGER NOT NULL, body BYTEA NOT NULL, PRIMARY KEY (log, id));
   CREATE TABLE quarantine (log TEXT NOT NULL, id BIGINT NOT NULL, node TEXT NOT NULL, class INTEGER NOT NULL, at BIGINT NOT NULL, reason TEXT NOT NULL, records INTEGER NOT NULL, body BYTEA, PRIMARY KEY (log, id));
   CREATE TABLE session (log TEXT NOT NULL, device TEXT NOT NULL, row BYTEA NOT NULL, PRIMARY KEY (log, device));
   CREATE TABLE damaged (log TEXT NOT NULL, device TEXT NOT NULL, at BIGINT NOT NULL, row BYTEA NOT NULL, PRIMARY KEY (log, device));
   CREATE TABLE command (log TEXT NOT NULL, row BIGINT NOT NULL, id TEXT NOT NULL, device TEXT NOT NULL, topic TEXT NOT NULL, qos INTEGER NOT NULL, expires_at BIGINT NOT NULL, origin TEXT, correlation BYTEA, payload BYTEA NOT NULL, PRIMARY KEY (log, row));
   CREATE TABLE run (log TEXT PRIMARY KEY, ended_in_order BOOLEAN NOT NULL);
   ALTER TABLE chunk ALTER body SET STORAGE EXTERNAL;
   ALTER TABLE chunk SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_scale_factor = 0.5);
   ALTER TABLE lease SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
   ALTER TABLE pulse SET (fillfactor = 20);
   ALTER TABLE probe SET (fillfactor = 20)`
];

/**
 * Creates the tables if necessary.
 * @param {import('../postgres/connection').PostgresConnection} db
 * @param {string} shown the address, for messages
 * @throws {Error} with a sentence
 */
async function setUp(db, shown) {
  const { encoding } = /** @type {any} */ (
    await db.get("SELECT current_setting('server_encoding') AS encoding")
  );
  if (encoding !== 'UTF8') {
    throw new Error(`The database ${shown} has the encoding ${encoding}. It must be UTF8.`);
  }
  const name = `${SCHEMA}.meta`;
  const version = await versionOf(db, name);
  if (version === VERSIONS.length) return;
  await db.exec(`BEGIN; SELECT pg_advisory_xact_lock(${LOCK})`);
  try {
    await create(db, name, shown);
    await db.exec('COMMIT');
  } catch (error) {
    await db.exec('ROLLBACK').catch(() => {});
    throw error;
  }
}

/**
 * @param {import('../postgres/connection').PostgresConnection} db
 * @param {string} meta
 * @returns {Promise<number>} 0 = there are no tables
 */
async function versionOf(db, meta) {
  const found = await db.get('SELECT to_regclass($1) IS NOT NULL AS yes', meta);
  if (!found?.yes) return 0;
  return Number((await db.get(`SELECT version FROM ${meta}`))?.version ?? 0);
}

/**
 * @param {import('../postgres/connection').PostgresConnection} db
 * @param {string} meta
 * @param {string} shown
 */
async function create(db, meta, shown) {
  // The other gateway may have made them meanwhile.
  const version = await versionOf(db, meta);
  if (version > VERSIONS.length) {
    throw new Error(`${shown} was written by a later version of the gateway (format ${version}). Update it.`);
  }
  if (version === VERSIONS.length) return;
  await db.exec(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}; SET LOCAL search_path = ${SCHEMA}`);
  // Texts are compared by their bytes.
  for (const sql of VERSIONS.slice(version)) await db.exec(sql.replaceAll(/\bTEXT\b/g, 'TEXT COLLATE "C"'));
  await db.exec(`CREATE TABLE IF NOT EXISTS ${meta} (version INTEGER NOT NULL); DELETE FROM ${meta}`);
  await db.run(`INSERT INTO ${meta} VALUES ($1)`, VERSIONS.length);
}

module.exports = { SCHEMA, setUp };
