'use strict';
// Keeps the MQTT sessions of one engine in PostgreSQL, beside its log: the same contract with the engine as
// nodes/lib/store/session-store.js. They are restored when this gateway takes the log.

/** @typedef {import('../../../native').SessionSource} SessionSource */
/** @typedef {import('./ownership').Use} Use */

const PAGE_ROWS = 256;
const POLL_MS = 2;
/** Damaged rows that are kept for an examination; the oldest are deleted. */
const MOST_DAMAGED = 1000;
/** Results of SessionSource.restore(). */
const RESTORED = 0;
const DAMAGED = 2;
/** SessionSource.restoring() */
const MAY_RESTORE = 0;
const IS_RESTORED = 1;

const WRITE = `WITH mine AS (SELECT log FROM lease WHERE log = $1 AND epoch = $2 FOR SHARE),
put AS (INSERT INTO session SELECT mine.log, s.device, substring($3::bytea FROM s.at FOR s.bytes)
  FROM mine, unnest($4::text[], $5::int[], $6::int[]) AS s(device, at, bytes)
  ON CONFLICT (log, device) DO UPDATE SET row = excluded.row),
gone AS (DELETE FROM session USING mine WHERE session.log = mine.log AND device = ANY($7::text[])),
ended AS (INSERT INTO run SELECT log, $8 FROM mine ON CONFLICT (log) DO UPDATE SET ended_in_order = excluded.ended_in_order)
SELECT count(*)::int AS mine FROM mine`;
const PAGE = `SELECT device, row FROM session WHERE log = $1 AND device > $2 ORDER BY device LIMIT ${PAGE_ROWS}`;
const KEEP = `INSERT INTO damaged SELECT log, device, $2, row FROM session WHERE log = $1 AND device = ANY($3::text[])
ON CONFLICT (log, device) DO UPDATE SET at = excluded.at, row = excluded.row`;
const TRIM = `DELETE FROM damaged WHERE log = $1 AND device NOT IN
(SELECT device FROM damaged WHERE log = $1 ORDER BY at DESC LIMIT ${MOST_DAMAGED})`;

class PairSessions {
  #problem;
  #restored;
  /** @type {SessionSource | null} */
  #source = null;
  /** @type {Use | null} */
  #use = null;
  #isBusy = false;
  /** What this run found: the last one ended in order. */
  #isExact = false;

  /**
   * @param {object} context
   * @param {(code: string, reason: string) => void} context.problem
   * @param {(sessions: number) => void} context.restored devices may connect
   */
  constructor({ problem, restored }) {
    this.#problem = problem;
    this.#restored = restored;
  }

  /** @param {SessionSource} source */
  attach(source) {
    this.#source?.close();
    this.#source = source;
    this.ring();
  }

  /** Handles the doorbell. */
  ring() {
    void this.#turn();
  }

  /** True: it has something to write, which cannot be written now. */
  get isWaiting() {
    return this.#source !== null && this.#use === null;
  }

  /** Call it once a second. */
  tick() {
    this.ring();
  }

  /** This gateway has the log from now on. @param {Use} use */
  async open(use) {
    const { database, log } = use;
    const run = await database.writer.get('SELECT ended_in_order AS yes FROM run WHERE log = $1', log);
    this.#isExact ||= run?.yes === true;
    await this.#write(use, []);
    this.#use = use;
    this.ring();
  }

  /**
   * Writes the last changes.
   * @param {number} timeoutMs
   */
  async stop(timeoutMs) {
    const until = performance.now() + timeoutMs;
    const source = this.#source;
    const isOwing = () => this.#isBusy || (this.#use && source && source.waiting() > 0);
    while (isOwing() && performance.now() < until) {
      this.ring();
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    const use = this.#use;
    const hasAll = source?.waiting() === 0 && source.restoring() === IS_RESTORED;
    if (use && hasAll) await this.#write(use, [], true).catch(() => {});
    this.#use = null;
    source?.close();
    this.#source = null;
  }

  async #turn() {
    const [source, use] = [this.#source, this.#use];
    if (!source || !use || this.#isBusy) return;
    this.#isBusy = true;
    try {
      if (source.restoring() !== IS_RESTORED) await this.#restore(source, use);
      for (let writes = source.take(); writes.length > 0; writes = source.take()) {
        await this.#write(use, writes);
        if (this.#source !== source) return;
        source.committed();
      }
    } catch (error) {
      // The log opens new connections.
      this.#use = null;
      use.database.fail(/** @type {Error} */ (error));
    } finally {
      this.#isBusy = false;
    }
  }

  /** @param {SessionSource} source @param {Use} use */
  async #restore(source, { database, log }) {
    let sessions = 0;
    if (source.restoring() === MAY_RESTORE) {
      /** @type {string[]} */
      const gone = [];
      /** @type {string[]} */
      const damaged = [];
      for (let page = await this.#page(database, log, ''); page.length > 0;) {
        const results = source.restore(
          page.map(({ row }) => row),
          this.#isExact
        );
        page.forEach(({ device }, i) => {
          if (results[i] === RESTORED) sessions++;
          else (results[i] === DAMAGED ? damaged : gone).push(device);
        });
        page = await this.#page(database, log, page[page.length - 1].device);
      }
      await this.#drop(database, log, gone, damaged);
    } else {
      // Devices connected without them, and were informed that they have no session.
      await database.writer.run('DELETE FROM session WHERE log = $1', log);
    }
    source.restored();
    this.#restored(sessions);
  }

  /**
   * @param {Use['database']} database
   * @param {string} log
   * @param {string} after device
   * @returns {Promise<{ device: string, row: Uint8Array }[]>}
   */
  async #page(database, log, after) {
    const rows = await database.reader.rows(PAGE, [log, after]);
    return /** @type {any} */ (rows);
  }

  /**
   * @param {Use['database']} database
   * @param {string} log
   * @param {string[]} gone
   * @param {string[]} damaged
   */
  async #drop({ writer }, log, gone, damaged) {
    if (damaged.length > 0) {
      await writer.rows(KEEP, [log, Date.now(), damaged]);
      await writer.run(TRIM, log);
      this.#problem(
        'SESSION_DAMAGED',
        `${damaged.length} sessions of devices in the database were damaged and were set aside. Their devices begin new sessions.`
      );
    }
    const all = [...gone, ...damaged];
    if (all.length > 0)
      await writer.rows('DELETE FROM session WHERE log = $1 AND device = ANY($2::text[])', [log, all]);
  }

  /**
   * @param {Use} use
   * @param {{ device: string, row: Uint8Array | null }[]} writes row null: delete the session
   * @param {boolean} [isLast] the run ends in order
   */
  async #write({ database, log, epoch }, writes, isLast = false) {
    /** @type {string[]} */
    const gone = [];
    /** @type {[string[], number[], number[]]} */
    const [devices, starts, lengths] = [[], [], []];
    /** @type {Uint8Array[]} */
    const bodies = [];
    let at = 1;
    for (const { device, row } of writes) {
      if (row) {
        devices.push(device);
        starts.push(at);
        lengths.push(row.length);
        bodies.push(row);
        at += row.length;
      } else gone.push(device);
    }
    const values = [log, epoch, Buffer.concat(bodies), devices, starts, lengths, gone, isLast];
    const [{ mine }] = await database.writer.rows(WRITE, values);
    if (mine === 0) throw new Error('another gateway has the log');
  }
}

exports.PairSessions = PairSessions;
