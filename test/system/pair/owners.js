'use strict';
// Which epochs have changed the log of a pair, in the order of the database: a trigger writes down each transaction.

const SET_UP = `CREATE TABLE seganet_log.audit (at BIGSERIAL PRIMARY KEY, epoch BIGINT NOT NULL);
CREATE FUNCTION seganet_log.audit() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN INSERT INTO seganet_log.audit (epoch) VALUES (NEW.epoch); RETURN NULL; END $$;
CREATE TRIGGER audit AFTER INSERT OR UPDATE ON seganet_log.lease FOR EACH ROW EXECUTE FUNCTION seganet_log.audit()`;
const RESULT = `SELECT count(*)::int AS transactions, count(DISTINCT epoch)::int AS owners,
count(*) FILTER (WHERE epoch < highest)::int AS late
FROM (SELECT epoch, max(epoch) OVER (ORDER BY at) AS highest FROM seganet_log.audit) AS each`;

/** @typedef {import('../../fixtures/pair/database').Pair} Pair */

/** @param {Pair} pair @param {string} sql @returns {Promise<any>} the first row */
async function ask(pair, sql) {
  const client = await pair.connect(await pair.primary());
  try {
    const { rows = [] } = await client.query(sql);
    return rows[0];
  } finally {
    await client.end();
  }
}

/** Begins with the next transaction. REQUIRES: a gateway has made its tables. @param {Pair} pair */
const watchOwners = (pair) => ask(pair, SET_UP);

/**
 * @param {Pair} pair
 * @returns {Promise<{ transactions: number, owners: number, late: number }>} late: transactions of an earlier owner
 *   behind one of a later owner
 */
const ownersOf = (pair) => ask(pair, RESULT);

module.exports = { ownersOf, watchOwners };
