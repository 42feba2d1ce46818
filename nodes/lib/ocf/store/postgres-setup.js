'use strict';
// Creates and checks the tables in PostgreSQL: in a schema of their own, so that a database may have others.

const { VERSIONS } = require('./schema');

/** @typedef {import('../../postgres/connection').PostgresConnection} PostgresConnection */

/** The number of the advisory lock that a writing transaction holds: "SGO1". */
const LOCK = 0x53474f31;
const BEGIN = `BEGIN; SELECT pg_advisory_xact_lock(${LOCK})`;
const DAY_MS = 86400000;

/**
 * Settings of a session. A gateway that hangs must not hold the lock of writes; an acknowledged write must be on the
 * server's disk; and joins keep the order in which they are written, as CROSS JOIN keeps it in SQLite.
 */
const SESSION = `SET search_path = seganet_ocf; SET statement_timeout = '10s'; SET lock_timeout = '10s';
SET idle_in_transaction_session_timeout = '10s'; SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5;
SET tcp_keepalives_count = 3; SET join_collapse_limit = 1; SET jit = off; SET enable_seqscan = off;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

/** One row for each store that is or was open: its last transaction. */
const WRITERS =
  'CREATE TABLE IF NOT EXISTS writer (id TEXT PRIMARY KEY, batch BIGINT NOT NULL, at BIGINT NOT NULL)';

/**
 * @param {PostgresConnection} db
 * @param {{ creates: boolean, shown: string }} options
 * @throws {Error} with a sentence
 */
async function setUp(db, { creates, shown }) {
  const { encoding } = /** @type {any} */ (
    await db.get("SELECT current_setting('server_encoding') AS encoding")
  );
  if (encoding !== 'UTF8')
    throw new Error(`The database ${shown} has the encoding ${encoding}. It must be UTF8.`);
  await db.exec(BEGIN);
  try {
    await create(db, creates, shown);
    await db.run('DELETE FROM writer WHERE at < $1', Date.now() - DAY_MS);
    await db.exec('COMMIT');
  } catch (error) {
    await db.exec('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** @param {PostgresConnection} db @param {boolean} creates @param {string} shown */
async function create(db, creates, shown) {
  const tables = await db.all("SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'seganet_ocf'");
  const isOurs = tables.some(({ tablename }) => tablename === 'meta');
  if (!isOurs && tables.length > 0) {
    throw new Error(`The schema seganet_ocf of ${shown} belongs to another program; it was not changed.`);
  }
  if (!isOurs && !creates) {
    throw new Error(
      `There are no accounts in ${shown}. The gateway creates the tables when an OCF cloud with this store is deployed.`
    );
  }
  if (!isOurs) await db.exec('CREATE SCHEMA IF NOT EXISTS seganet_ocf');
  const row = isOurs ? await db.get("SELECT value FROM meta WHERE name = 'format'") : undefined;
  const version = Number(row?.value ?? 0);
  if (version > VERSIONS.length) {
    throw new Error(`${shown} was written by a later version of the gateway (format ${version}). Update it.`);
  }
  if (version === VERSIONS.length) return;
  for (const sql of VERSIONS.slice(version)) {
    const text = sql.replaceAll('{bytes}', 'BYTEA').replaceAll('{keyed}', '');
    // Texts are compared by their bytes, as in SQLite.
    await db.exec(text.replaceAll(/\bTEXT\b/g, 'TEXT COLLATE "C"'));
  }
  await db.exec(WRITERS);
  await db.run(
    "INSERT INTO meta (name, value) VALUES ('format', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    String(VERSIONS.length)
  );
}

module.exports = { BEGIN, SESSION, setUp };
