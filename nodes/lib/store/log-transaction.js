'use strict';

const { makeRoom } = require('./full-log');
const { costOf } = require('./log-limits');
const { isDamage, isReadError } = require('./log-reasons');

/** @typedef {import('./log-database').Database} Database */
/** @typedef {import('./log-limits').Usage} Usage */
/** @typedef {import('./log-limits').Limits} Limits */
/** @typedef {import('./pending-removals').Pending} Pending */
/** @typedef {import('../../../native').StoreSource} StoreSource */
/** @typedef {{count: number, bytes: number}} Sum */

const TRANSACTION_BYTES = 1 << 20;
const FIRST_BUFFER = 128 << 10;
const KEPT_BUFFER = 2 << 20;
/** Limit of chunks that found no room in their class; those of other classes may still find room. */
const MAX_HELD = 8;
const DEAD_LETTER = 1;
const PAGE = 4096;
/** WAL frames of a commit that belong to no row: page 1, the ends of table and index. */
const COMMIT_BYTES = 4 * PAGE;

/** The buffer that receives chunks; SQLite copies its input. */
class Intake {
  constructor() {
    this.bytes = Buffer.allocUnsafeSlow(FIRST_BUFFER);
    this.meta = new Float64Array(10);
  }

  /** @param {StoreSource} source @returns {number} length, -1 = none due */
  take(source) {
    for (;;) {
      const length = source.take(this.bytes, this.meta);
      if (length >= -1) return length;
      this.bytes = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(-(length + 2))));
    }
  }

  /** Releases a large buffer: a single large record must not keep its memory forever. */
  rest() {
    if (this.bytes.length > KEPT_BUFFER) this.bytes = Buffer.allocUnsafeSlow(FIRST_BUFFER);
  }
}

/**
 * One transaction, and the changes that its commit makes. Nothing takes effect before the commit: the sums are a copy,
 * and the engine is not notified.
 */
class Transaction {
  /**
   * @param {{database: Database, usage: Usage, dead: Sum, quarantine: Sum, limits: Limits, asideLimit: number,
   *   nodes: Set<string>, nextRow: () => number, intake: Intake}} context
   */
  constructor(context) {
    this.context = context;
    this.usage = context.usage.clone();
    this.dead = { ...context.dead };
    this.quarantine = { ...context.quarantine };
    /** @type {{ticket: number, row: number}[]} */
    this.saved = [];
    /** Tickets of chunks that the full log drops. @type {number[]} */
    this.dropped = [];
    /**
     * Chunks that were taken and found no room.
     * @type {{ticket: number, recordClass: number, cost: number, limit: 'class' | 'total'}[]}
     */
    this.held = [];
    /** @type {{row: number, recordClass: number, records: number}[]} */
    this.removed = [];
    this.deadRemoved = 0;
    this.quarantineRemoved = 0;
    /** Size of the bodies. */
    this.bytes = 0;
    /** Approximate growth of the WAL. */
    this.walBytes = COMMIT_BYTES;
  }

  /** Deletes rows, and moves rows to quarantine. @param {Pending} pending */
  clear(pending) {
    for (const row of pending.deletes) if (!pending.stuck.has(row)) this.#delete(row);
    for (const move of pending.moves) this.#quarantine(move, pending.stuck.has(move.row));
  }

  /** Takes pending chunks, the most urgent first, up to about 1 MiB. @param {StoreSource} source */
  take(source) {
    const { intake, limits } = this.context;
    while (this.bytes < TRANSACTION_BYTES && this.held.length < MAX_HELD) {
      const length = intake.take(source);
      if (length === -1) break;
      const [ticket, recordClass, records, , firstTs, lastTs, kind, nodeLength, reasonLength, code] =
        intake.meta;
      const node = intake.bytes.toString('utf8', 0, nodeLength);
      const start = nodeLength + reasonLength;
      const body = intake.bytes.subarray(start, length);
      if (kind === DEAD_LETTER) {
        this.#saveDead(
          ticket,
          node,
          recordClass,
          code,
          intake.bytes.toString('utf8', nodeLength, start),
          records,
          body
        );
      } else if (
        makeRoom(this, limits, { ticket, recordClass, cost: costOf(body.length) }, (victim) =>
          this.#removeOldest(victim)
        )
      ) {
        this.#save(ticket, [node, recordClass, records, body.length, firstTs, lastTs, body]);
      }
      if (this.held.some(({ limit }) => limit === 'total')) break;
    }
    intake.rest();
  }

  /** @param {Pending} pending */
  isEmpty(pending) {
    return this.saved.length + this.dropped.length + this.removed.length + pending.size === 0;
  }

  /** All tickets that were taken. */
  get tickets() {
    return [
      ...this.saved.map(({ ticket }) => ticket),
      ...this.dropped,
      ...this.held.map(({ ticket }) => ticket)
    ];
  }

  /** @param {number} ticket @param {[string, number, number, number, number, number, Uint8Array]} columns */
  #save(ticket, columns) {
    const { database, nodes, nextRow } = this.context;
    const row = nextRow();
    // Recorded first, so that the ticket fails if the statement fails.
    this.saved.push({ ticket, row });
    database.statements.insertChunk.run(row, ...columns);
    const [node, recordClass, records, bytes] = columns;
    nodes.add(node);
    const cost = costOf(bytes);
    this.usage.add(recordClass, 1, records, cost);
    this.bytes += bytes;
    this.walBytes += cost + PAGE;
  }

  /**
   * @param {number} ticket
   * @param {string} node
   * @param {number} recordClass
   * @param {number} code
   * @param {string} reason
   * @param {number} records
   * @param {Uint8Array} body
   */
  #saveDead(ticket, node, recordClass, code, reason, records, body) {
    const { statements } = this.context.database;
    const row = this.context.nextRow();
    this.saved.push({ ticket, row });
    statements.insertDead.run(row, node, recordClass, Date.now(), code, reason, records, body);
    this.bytes += body.length;
    this.walBytes += costOf(body.length) + PAGE;
    this.dead.count++;
    this.dead.bytes += body.length;
    this.deadRemoved += this.#trim(this.dead, statements.deleteOldestDead);
  }

  /**
   * Deletes the oldest rows while the table is above its limit; the newest row always stays.
   * @param {Sum} sum
   * @param {import('node:sqlite').StatementSync} deleteOldest
   */
  #trim(sum, deleteOldest) {
    let removed = 0;
    for (; sum.count > 1 && sum.bytes > this.context.asideLimit; removed++) {
      const gone = deleteOldest.get();
      sum.count--;
      sum.bytes -= Number(gone?.bytes ?? 0);
    }
    return removed;
  }

  /** @param {number} recordClass @returns {true} */
  #removeOldest(recordClass) {
    const { database, nodes } = this.context;
    let oldest;
    for (const node of nodes) {
      const row = database.statements.oldest.get(node, recordClass);
      if (row && (!oldest || Number(row.id) < Number(oldest.id))) oldest = row;
    }
    if (!oldest) {
      // The sums are wrong; the class has no chunks left in any case.
      this.usage.clear(recordClass);
      return true;
    }
    const row = Number(oldest.id);
    this.#delete(row);
    const own = this.saved.findIndex((chunk) => chunk.row === row);
    if (own >= 0) this.dropped.push(...this.saved.splice(own, 1).map(({ ticket }) => ticket));
    else this.removed.push({ row, recordClass, records: Number(oldest.records) });
    return true;
  }

  /** @param {number} row */
  #delete(row) {
    const gone = named(row, () => this.context.database.statements.deleteChunk.get(row));
    this.walBytes += 2 * PAGE;
    if (gone) this.usage.add(Number(gone.class), -1, -Number(gone.records), -Number(gone.cost));
  }

  /** @param {import('./pending-removals').Move} move @param {boolean} isStuck */
  #quarantine({ row, node, recordClass, records, reason, unread }, isStuck) {
    const { statements } = this.context.database;
    const at = Date.now();
    if (unread || isStuck) statements.quarantineUnread.run(row, node, recordClass, at, reason, records);
    else named(row, () => statements.quarantine.run(at, reason, row));
    if (!isStuck) this.#delete(row);
    // Counted again: this is rare, and a row may replace one with the same number.
    Object.assign(this.quarantine, this.context.database.aside().quarantine);
    this.quarantineRemoved += this.#trim(this.quarantine, statements.deleteOldestQuarantine);
  }
}

/**
 * Adds the number of the row whose pages could not be used to the error.
 * @template T
 * @param {number} row
 * @param {() => T} run
 * @returns {T}
 */
function named(row, run) {
  try {
    return run();
  } catch (error) {
    if (isDamage(error) || isReadError(error)) Object.assign(/** @type {object} */ (error), { row });
    throw error;
  }
}

exports.Intake = Intake;
exports.Transaction = Transaction;
