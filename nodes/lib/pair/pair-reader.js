'use strict';
// Reads chunks of a log in PostgreSQL back, which the engine wants.

/** @typedef {import('../../../native').StoreSource} StoreSource */
/** @typedef {import('../store/pending-removals').Move} Move */

const EMPTY = new Uint8Array(0);
const NEXT = `SELECT id, records, body FROM chunk
WHERE log = $1 AND node = $2 AND class = $3 AND id > $4 AND id <= $5 ORDER BY id LIMIT 1`;

class PairReader {
  #parts;
  #isReading = false;

  /**
   * @param {object} parts
   * @param {import('./ownership').Ownership} parts.ownership
   * @param {(source: StoreSource) => boolean} parts.isCurrent true: the engine still has this source
   * @param {(move: Move) => void} parts.move moves a damaged chunk to quarantine
   * @param {(code: string, reason: string) => void} parts.problem
   * @param {() => void} parts.ring
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /** Serves what the source wants, unless it is being served. @param {StoreSource} source */
  async serve(source) {
    const { ownership, isCurrent, ring } = this.#parts;
    const { use } = ownership;
    if (this.#isReading || !use) return;
    this.#isReading = true;
    const meta = new Float64Array(3);
    for (let node = source.wanted(meta); node !== null; node = source.wanted(meta)) {
      const [recordClass, after, upTo] = meta;
      const range = [after, Math.min(upTo, Number.MAX_SAFE_INTEGER)];
      const values = [use.log, node, recordClass, ...range];
      const rows = await use.database.reader
        .rows(NEXT, values)
        .catch((/** @type {Error} */ error) => use.database.fail(error));
      if (!rows || !isCurrent(source) || ownership.use !== use) break;
      if (rows.length === 0) source.missing();
      else this.#loaded(source, node, recordClass, /** @type {any} */ (rows[0]));
    }
    this.#isReading = false;
    if (ownership.use !== use) ring();
  }

  /**
   * @param {StoreSource} source
   * @param {string} node
   * @param {number} recordClass
   * @param {{ id: number, records: number, body: Uint8Array }} chunk
   */
  #loaded(source, node, recordClass, { id: row, records, body }) {
    if (source.loaded(row, records, body ?? EMPTY) !== 'corrupt') return;
    const { move, problem, ring } = this.#parts;
    const reason = 'its checksum or format is wrong';
    move({ row, node, recordClass, records, reason, unread: false });
    problem(
      'CHUNK_CORRUPT',
      `A chunk of the log is damaged: ${reason}. It was moved to the table quarantine. Check the disks of the database.`
    );
    ring();
  }
}

exports.PairReader = PairReader;
