'use strict';
// Finds out whether commits are on two machines: a small transaction that waits for the standby, again and again. A
// standby that does not confirm it in time is missing, until it does.

/** @typedef {import('./pair-database').PairDatabase} PairDatabase */

const PROBE_MS = 1000;
const LATE_MS = 2000;
const SETTING = "SELECT current_setting('synchronous_standby_names') <> '' AS yes";
const PROBE = 'INSERT INTO probe VALUES ($1, 1) ON CONFLICT (log) DO UPDATE SET count = probe.count + 1';

const NO_STANDBY = 'no standby of PostgreSQL confirms commits';
const NOT_SET = 'PostgreSQL has no synchronous standby (synchronous_standby_names is empty)';

class Replication {
  #database;
  #log;
  #changed;
  #isClosed = false;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {NodeJS.Timeout | undefined} */
  #late;

  /**
   * @param {PairDatabase} database
   * @param {string} log
   * @param {(reason: string) => Promise<void>} changed called with '' = commits are on two machines; the next probe
   *   begins when it resolves
   */
  constructor(database, log, changed) {
    this.#database = database;
    this.#log = log;
    this.#changed = changed;
    /** Why commits are on one machine only, '' = they are on two. */
    this.reason = NO_STANDBY;
  }

  start() {
    void this.#run();
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#late);
  }

  /** @returns {Promise<boolean>} true when a standby has all that was committed before; false: it is late */
  async confirm() {
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, LATE_MS, false)));
    const isConfirmed = await Promise.race([this.#commit().then(() => true), late]);
    clearTimeout(timer);
    // Another confirmation changes it.
    if (!isConfirmed) this.reason = NO_STANDBY;
    return isConfirmed;
  }

  async #commit() {
    await this.#database.prober.run(PROBE, this.#log);
  }

  async #run() {
    try {
      this.#late = setTimeout(() => void this.#set(NO_STANDBY), LATE_MS);
      const reason = await this.#probe();
      clearTimeout(this.#late);
      await this.#set(reason);
    } catch (error) {
      if (!this.#isClosed) this.#database.fail(/** @type {Error} */ (error));
      return;
    }
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#run(), PROBE_MS);
  }

  async #probe() {
    const setting = await this.#database.prober.get(SETTING);
    if (!setting?.yes) return NOT_SET;
    await this.#commit();
    return '';
  }

  /** @param {string} reason */
  async #set(reason) {
    if (this.#isClosed || reason === this.reason) return;
    this.reason = reason;
    await this.#changed(reason);
  }
}

exports.Replication = Replication;
