'use strict';
// Keeps the commands that wait for their device in PostgreSQL, beside the log, for the store thread.

/** @typedef {import('./ownership').Use} Use */
/**
 * A command without its number: id, device, topic, qos, expires_at, origin, correlation, payload.
 * @typedef {[string, string, string, number, number, string | null, Uint8Array | null, Uint8Array]} Columns
 */
/** @typedef {{ id: number, add: Columns[], remove: number[] }} Change */

const WRITE = `WITH mine AS (SELECT log FROM lease WHERE log = $1 AND epoch = $2 FOR SHARE),
gone AS (DELETE FROM command USING mine WHERE command.log = mine.log AND row = ANY($3::bigint[])),
added AS (INSERT INTO command SELECT mine.log, c.* FROM mine, unnest($4::bigint[], $5::text[], $6::text[], $7::text[],
  $8::int[], $9::bigint[], $10::text[], $11::bytea[], $12::bytea[]) AS c)
SELECT count(*)::int AS mine FROM mine`;
const FOUND = `SELECT row, id, device, topic, qos, expires_at, origin, correlation, payload FROM command
WHERE log = $1 ORDER BY row`;

class PairCommands {
  #post;
  /** @type {Use | null} */
  #use = null;
  #lastRow = 0;
  #isRead = false;
  /** Rows whose commit failed. They may be there all the same. @type {number[]} */
  #refused = [];

  /** @param {(message: object) => void} post to Node-RED's thread: 'commandsFound' {rows}, 'commandsStored' {id, …} */
  constructor(post) {
    this.#post = post;
  }

  /** This gateway has the log from now on. @param {Use} use */
  async open(use) {
    const { database, log } = use;
    // Their senders got an error.
    if (this.#refused.length > 0) await this.#write(use, [], this.#refused, []);
    this.#refused = [];
    const rows = await database.writer.all(FOUND, log);
    this.#lastRow = Math.max(this.#lastRow, rows.at(-1)?.row ?? 0);
    if (!this.#isRead) this.#post({ type: 'commandsFound', rows });
    this.#isRead = true;
    this.#use = use;
  }

  /** Stores and removes commands, and posts the result. @param {Change} change */
  async change({ id, add, remove }) {
    const use = this.#use;
    const rows = add.map(() => ++this.#lastRow);
    try {
      if (!use) throw new Error('This gateway does not have the log of the pair.');
      await this.#write(use, add, remove, rows);
      this.#post({ type: 'commandsStored', id, rows, failure: '' });
    } catch (error) {
      this.#refused.push(...rows);
      this.#post({ type: 'commandsStored', id, rows: [], failure: /** @type {Error} */ (error).message });
    }
  }

  /**
   * @param {Use} use
   * @param {Columns[]} add
   * @param {number[]} remove
   * @param {number[]} rows of `add`
   */
  async #write({ database, log, epoch }, add, remove, rows) {
    const column = (/** @type {number} */ i) => add.map((values) => values[i]);
    const bytes = (/** @type {number} */ i) =>
      add.map((values) => values[i] && Buffer.from(/** @type {Uint8Array} */ (values[i])));
    const values = [0, 1, 2, 3, 4, 5].map(column);
    const [{ mine }] = await database.writer.rows(WRITE, [
      log,
      epoch,
      remove,
      rows,
      ...values,
      bytes(6),
      bytes(7)
    ]);
    if (mine === 0) throw new Error('Another gateway has the log of the pair.');
  }
}

exports.PairCommands = PairCommands;
