'use strict';

const { isDamage, isReadError } = require('./log-reasons');

/** Chunks read in one turn; pending commits run between turns. */
const READS = 8;
/** A sector may need more than one try. */
const TRIES = 3;
const RETRY_MS = 250;
const EMPTY = new Uint8Array(0);

/** Reads the chunks that the engine requests, and moves unusable ones to quarantine. */
class Reader {
  /**
   * @param {{pending: import('./pending-removals').Pending, now: () => number,
   *   problem: (code: string, reason: string) => void}} context
   */
  constructor({ pending, now, problem }) {
    this.pending = pending;
    this.now = now;
    this.problem = problem;
    this.meta = new Float64Array(3);
    /** Tries of the last unreadable row. */
    this.failures = { row: 0, count: 0 };
    this.waitUntil = 0;
  }

  /**
   * Serves requests of the engine. Throws when the index is damaged.
   * @param {import('../../../native').StoreSource} source
   * @param {import('./log-database').Database} database
   * @param {() => boolean} isBusy something more urgent is pending
   * @returns {boolean} true if there are more requests
   */
  serve(source, database, isBusy) {
    for (let i = 0; i < READS; i++) {
      if (isBusy() || this.now() < this.waitUntil) return true;
      const node = source.wanted(this.meta);
      if (node === null) return false;
      if (!this.#one(source, database, node)) return true;
    }
    return true;
  }

  /**
   * @param {import('../../../native').StoreSource} source
   * @param {import('./log-database').Database} database
   * @param {string} node
   * @returns {boolean} false: the chunk cannot be read now
   */
  #one(source, database, node) {
    const [recordClass, after, upTo] = this.meta;
    const head = database.statements.next.get(node, recordClass, after, upTo);
    if (!head) {
      source.missing();
      return true;
    }
    const [row, records] = [Number(head.id), Number(head.records)];
    const body = this.#body(database, row);
    if (body === null) return false;
    const unread = body.length === 0;
    // Given an empty body, the engine answers 'corrupt': it counts the records and continues behind the row. missing()
    // would end the whole range that it requested.
    const verdict = source.loaded(row, records, body);
    free(body);
    if (verdict === 'corrupt') this.#quarantine(row, node, recordClass, records, unread);
    return true;
  }

  /**
   * Returns the bytes of a chunk; empty = permanently unreadable, null = not readable now.
   * @param {import('./log-database').Database} database
   * @param {number} row
   */
  #body(database, row) {
    try {
      return /** @type {Uint8Array | undefined} */ (database.statements.body.get(row)?.body) ?? EMPTY;
    } catch (error) {
      if (isDamage(error)) return EMPTY;
      if (!isReadError(error)) throw error;
      const { failures } = this;
      if (failures.row !== row) Object.assign(failures, { row, count: 0 });
      if (++failures.count >= TRIES) return EMPTY;
      this.waitUntil = this.now() + RETRY_MS;
      return null;
    }
  }

  /**
   * @param {number} row
   * @param {string} node
   * @param {number} recordClass
   * @param {number} records
   * @param {boolean} unread
   */
  #quarantine(row, node, recordClass, records, unread) {
    const reason = unread ? 'its pages cannot be read' : 'its checksum or format is wrong';
    this.pending.move({ row, node, recordClass, records, reason, unread }, this.now());
    this.problem(
      unread ? 'CHUNK_UNREADABLE' : 'CHUNK_CORRUPT',
      `A chunk of the log is damaged: ${reason}. It was moved to quarantine; list it with: seganet-log inspect. Check for disk errors (dmesg).`
    );
  }
}

/**
 * Frees the bytes of a body, which the engine has copied. V8 collects them only when such bytes take tens of megabytes.
 * @param {Uint8Array} body
 */
function free(body) {
  if (body !== EMPTY) /** @type {ArrayBuffer} */ (body.buffer).transfer(0);
}

exports.Reader = Reader;
