'use strict';
// Lists the dead letters of a running log, and sends them again, for the store thread. Records wait only for one
// transaction at a time.

const { Resending, listDeadLetters, noOutcome } = require('./dead-letters');
const { costOf } = require('./log-limits');
const { explain } = require('./log-reasons');

/** @typedef {import('./dead-letters').Outcome} Outcome */
/** @typedef {import('./log-store').Store} Store */
/** @typedef {import('../../../native').RecordClass} RecordClass */

const NOT_OPEN = 'The log is not open.';
/** Rows that are looked up for one transaction. */
const TURN_ROWS = 64;

class DeadLetterService {
  #store;

  /** @param {Store} store */
  constructor(store) {
    this.#store = store;
  }

  /**
   * @param {{ after: number, limit: number }} page
   * @returns {ReturnType<typeof listDeadLetters>}
   * @throws {Error} with a sentence if the log cannot be read
   */
  list(page) {
    return this.#read((database) => listDeadLetters(database, page));
  }

  /**
   * Sends dead letters again. Those that cannot be sent stay, and are counted.
   * @param {number[] | null} rows null = all that exist at this moment
   * @param {string[]} nodes uplink nodes of the flow
   * @returns {Promise<Outcome & { failure: string }>} failure: a sentence if the log could not be written, else ''
   */
  async sendAgain(rows, nodes) {
    const sum = { ...noOutcome(), failure: '' };
    const known = new Set(nodes);
    try {
      for (const turn = this.#turns(rows); ;) {
        const next = turn();
        if (next.length === 0) return sum;
        for (let at = 0; at < next.length;) {
          const { done, outcome } = this.#transaction(next.slice(at), known);
          at += done;
          for (const [name, count] of Object.entries(outcome))
            sum[/** @type {keyof Outcome} */ (name)] += count;
          await new Promise(setImmediate);
        }
      }
    } catch (error) {
      return { ...sum, failure: /** @type {Error} */ (error).message };
    }
  }

  /**
   * Returns a function that returns the next rows, ascending; none = the end.
   * @param {number[] | null} rows
   * @returns {() => number[]}
   */
  #turns(rows) {
    if (rows) {
      const rest = [...new Set(rows)].sort((a, b) => a - b);
      return () => rest.splice(0, TURN_ROWS);
    }
    // Records that are refused meanwhile are not sent a second time.
    const newest = this.#read(({ statements }) => Number(statements.newestDead.get()?.id));
    let after = 0;
    return () => {
      const found = this.#read(({ statements }) => statements.deadIds.all(after, newest, TURN_ROWS));
      const ids = found.map(({ id }) => Number(id));
      after = ids.at(-1) ?? after;
      return ids;
    };
  }

  /**
   * Moves dead letters to the chunks, and passes them to the engine when they are durable there.
   * @param {number[]} rows ascending
   * @param {Set<string>} nodes
   * @returns {{ done: number, outcome: Outcome }} done: rows that were treated, at least 1
   */
  #transaction(rows, nodes) {
    const store = this.#store;
    const { source, limits, recovery } = store;
    const database = this.#database();
    if (!source || !store.isAnnounced || recovery.isDry) throw new Error(store.condition.reason || NOT_OPEN);
    const nextRow = () => ++store.rows[0];
    const tx = new Resending({ database, usage: store.usage.clone(), limits, nextRow });
    let done;
    try {
      database.begin();
      done = tx.move(rows, nodes);
      recovery.moving = tx.moved;
      database.commit();
    } catch (error) {
      database.rollback();
      store.fault(error);
      throw new Error(store.condition.reason, { cause: error });
    }
    recovery.good();
    this.#apply(tx);
    return { done, outcome: tx.outcome };
  }

  /** Applies a committed transaction. @param {InstanceType<typeof Resending>} tx */
  #apply({ moved, usage }) {
    const store = this.#store;
    store.usage = usage;
    for (const { row, node, class: recordClass, records, bytes } of moved) {
      store.nodes.add(node);
      store.dead.count--;
      store.dead.bytes -= bytes;
      store.bodyBytes += bytes;
      store.walBytes += costOf(bytes);
      store.source?.sendAgain(row, node, /** @type {RecordClass} */ (recordClass), records);
    }
    store.ring();
  }

  /** @returns {import('./log-database').Database} */
  #database() {
    const { recovery, condition, stopping, isStopped } = this.#store;
    if (!recovery.database || recovery.isBroken || stopping || isStopped)
      throw new Error(condition.reason || NOT_OPEN);
    return recovery.database;
  }

  /**
   * @template T
   * @param {(database: import('./log-database').Database) => T} read
   * @returns {T}
   */
  #read(read) {
    const database = this.#database();
    try {
      return read(database);
    } catch (error) {
      // Only damage of this table can be the reason; the records are in another one.
      throw new Error(explain(error, this.#store.options.directory).reason, { cause: error });
    }
  }
}

exports.DeadLetterService = DeadLetterService;
