'use strict';
// Which gateway of a pair has the log. The owner gives signs of life. The other one counts the time without a new sign
// by its own clock, and then takes the log with a higher epoch. Nothing depends on clocks but the moment: each
// transaction of the log carries the epoch, so that one of an earlier owner changes nothing.

/** @typedef {import('./pair-database').PairDatabase} PairDatabase */
/**
 * @typedef {{ holder: string, place: string, epoch: number, batch: number, count: number, connections: number }} Row
 */

/** Time that the owner has, after another server became the primary, to find it and give a sign. */
const GRACE_MS = 1000;

/** Silence after which an owner without a connection counts as ended. */
const ENDED_MS = 600;

const LOOK = `SELECT lease.holder, lease.place, lease.epoch, lease.batch, coalesce(pulse.count, 0) AS count, (SELECT
count(*) FROM pg_stat_activity WHERE application_name = 'seganet-log-' || lease.holder) AS connections
FROM lease LEFT JOIN pulse USING (log) WHERE log = $1`;
const CREATE = "INSERT INTO lease VALUES ($1, '', '', 0, 0) ON CONFLICT DO NOTHING";
const TAKE = `UPDATE lease SET holder = $2, place = $3, epoch = epoch + 1 WHERE log = $1 AND epoch = $4
RETURNING epoch, batch`;
const RELEASE = "UPDATE lease SET holder = '' WHERE log = $1 AND epoch = $2";
const BEAT = `INSERT INTO pulse SELECT log, 1 FROM lease WHERE log = $1 AND epoch = $2
ON CONFLICT (log) DO UPDATE SET count = pulse.count + 1`;
/** Processes of the server that still work for an earlier owner may wait for a standby with the lease locked. */
const END = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = $1 AND usename = current_user AND pid <> ALL($2::int[])`;

/** @param {string} holder @returns {string} the application_name of its connections */
const nameOf = (holder) => `seganet-log-${holder}`;

class Lease {
  #log;
  #holder;
  #place;
  #waitMs;
  #now;
  /** What was seen last, and when that began, ms of now(). */
  #seen = { epoch: -1, count: -1, at: 0 };
  #connectedAt = 0;

  /**
   * @param {{ log: string, holder: string, place: string, waitMs: number, now: () => number }} parts holder: a random
   *   word for this process
   */
  constructor({ log, holder, place, waitMs, now }) {
    this.#log = log;
    this.#holder = holder;
    this.#place = place;
    this.#waitMs = waitMs;
    this.#now = now;
    /** Of this gateway, 0 = it never had the log. */
    this.epoch = 0;
    /** The machine that has the log, as last seen, for messages. */
    this.owner = '';
  }

  /** New connections are there. */
  connected() {
    this.#connectedAt = this.#now();
  }

  /**
   * Takes the log if nobody has it.
   * @param {PairDatabase} database
   * @returns {Promise<{ batch: number } | null>} batch: number of the last transaction; null: another gateway has it
   */
  async take(database) {
    const { writer } = database;
    const row = (await this.#look(database)) ?? { holder: '', epoch: 0 };
    if (!this.#isFree(row)) return null;
    if (row.epoch === 0) await writer.run(CREATE, this.#log);
    if (row.holder) await writer.rows(END, [nameOf(row.holder), database.backends]);
    const taken = await writer.get(TAKE, this.#log, this.#holder, this.#place, row.epoch);
    if (!taken) return null;
    this.epoch = taken.epoch;
    this.owner = this.#place;
    await this.beat(database);
    return { batch: taken.batch };
  }

  /**
   * Gives a sign of life.
   * @param {PairDatabase} database
   * @returns {Promise<boolean>} false: another gateway has the log
   */
  async beat(database) {
    if ((await database.keeper.run(BEAT, this.#log, this.epoch)) > 0) return true;
    return !(await this.isLost(database));
  }

  /** @param {PairDatabase} database @returns {Promise<boolean>} true: another gateway took the log from this one */
  async isLost(database) {
    const row = await this.#look(database);
    return this.epoch > 0 && row !== undefined && row.holder !== this.#holder;
  }

  /** Lets the other gateway have the log at once. @param {PairDatabase} database */
  async release(database) {
    await database.keeper.run(RELEASE, this.#log, this.epoch);
  }

  /** @param {PairDatabase} database @returns {Promise<Row | undefined>} */
  async #look(database) {
    const row = /** @type {Row | undefined} */ (await database.keeper.get(LOOK, this.#log));
    this.owner = row?.place ?? '';
    return row;
  }

  /** @param {{ holder: string, epoch: number, count?: number, connections?: number }} row */
  #isFree({ holder, epoch, count = 0, connections = 0 }) {
    const now = this.#now();
    if (epoch !== this.#seen.epoch || count !== this.#seen.count) this.#seen = { epoch, count, at: now };
    if (holder === '' || holder === this.#holder) return true;
    const waitMs = connections > 0 ? this.#waitMs : Math.min(ENDED_MS, this.#waitMs);
    return now - this.#seen.at >= waitMs && now - this.#connectedAt >= GRACE_MS;
  }
}

exports.Lease = Lease;
exports.nameOf = nameOf;
