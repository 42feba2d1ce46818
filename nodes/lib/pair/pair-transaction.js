'use strict';
// One transaction of a log in PostgreSQL: a single statement, so that no transaction stays open when this gateway stops
// in the middle. It finds the row of the lease only with the epoch of its gateway; without the row it changes nothing.

const { makeRoom } = require('../store/full-log');
const { costOf } = require('../store/log-limits');

/** @typedef {import('../store/log-limits').Usage} Usage */
/** @typedef {import('../store/log-limits').Limits} Limits */
/** @typedef {import('../store/log-transaction').Intake} Intake */
/** @typedef {import('../../../native').StoreSource} StoreSource */
/** @typedef {{ row: number, recordClass: number, records: number, cost: number }} Known a chunk on disk */

const TRANSACTION_BYTES = 1 << 20;
/** As in the log in SQLite. */
const MAX_HELD = 8;
const DEAD_LETTER = 1;

/** The bodies are parts of one byte string, because lists of byte strings are sent as text. */
const COMMIT = `WITH mine AS (UPDATE lease SET batch = $3 WHERE log = $1 AND epoch = $2 RETURNING log),
added AS (INSERT INTO chunk SELECT mine.log, c.id, c.node, c.class, c.records, c.bytes, c.first_ts, c.last_ts,
  substring($4::bytea FROM c.at FOR c.bytes) FROM mine, unnest($5::bigint[], $6::text[], $7::int[], $8::int[], $9::int[],
  $10::bigint[], $11::bigint[], $12::int[]) AS c(id, node, class, records, bytes, first_ts, last_ts, at)),
dead_added AS (INSERT INTO dead SELECT mine.log, c.id, c.node, c.class, c.ts, c.code, c.reason, c.records,
  substring($4::bytea FROM c.at FOR c.bytes) FROM mine, unnest($13::bigint[], $14::text[], $15::int[], $16::int[],
  $17::int[], $18::bigint[], $19::int[], $20::int[], $21::text[]) AS c(id, node, class, records, bytes, ts, code, at,
  reason)),
aside AS (INSERT INTO quarantine SELECT mine.log, c.id, c.node, c.class, c.ts, c.reason, c.records,
  (SELECT body FROM chunk WHERE chunk.log = mine.log AND chunk.id = c.id AND NOT c.unread)
  FROM mine, unnest($22::bigint[], $23::text[], $24::int[], $25::int[], $26::bigint[], $27::text[], $28::bool[])
  AS c(id, node, class, records, ts, reason, unread) ON CONFLICT DO NOTHING),
gone AS (DELETE FROM chunk USING mine WHERE chunk.log = mine.log AND chunk.id = ANY($29::bigint[])
  RETURNING chunk.class, chunk.records, chunk.bytes)
SELECT (SELECT count(*)::int FROM mine) AS mine,
  (SELECT json_agg(json_build_array(class, records, bytes)) FROM gone) AS gone`;

/** Columns of lists, each with a value for each row. */
class Columns {
  /** @param {number} count */
  constructor(count) {
    /** @type {(string | number | boolean)[][]} */
    this.lists = Array.from({ length: count }, () => []);
  }

  /** @param {(string | number | boolean)[]} values */
  add(...values) {
    values.forEach((value, i) => this.lists[i].push(value));
  }

  get length() {
    return this.lists[0].length;
  }
}

class PairTransaction {
  #context;
  #chunks = new Columns(8);
  #dead = new Columns(9);
  #aside = new Columns(7);
  /** @type {Buffer[]} */
  #bodies = [];
  /** @type {number[]} */
  #deletes = [];

  /**
   * @param {object} context
   * @param {Usage} context.usage
   * @param {Limits} context.limits
   * @param {Intake} context.intake
   * @param {() => number} context.nextRow
   * @param {(recordClass: number) => Known | undefined} context.oldest takes the oldest chunk of a class from the list
   *   of those on disk
   */
  constructor(context) {
    this.#context = context;
    this.usage = context.usage.clone();
    /** @type {(Known & { ticket: number, node: string })[]} */
    this.saved = [];
    /** Tickets of dead letters, with their rows. @type {{ ticket: number, row: number }[]} */
    this.letters = [];
    /** Tickets of chunks that the full log drops. @type {number[]} */
    this.dropped = [];
    /** @type {{ ticket: number, recordClass: number, cost: number, limit: 'class' | 'total' }[]} */
    this.held = [];
    /** Removed to make room. @type {Known[]} */
    this.removed = [];
    this.deadBytes = 0;
    this.movesAside = 0;
    /** Size of the bodies. */
    this.bytes = 0;
  }

  /** Deletes rows, and moves rows to quarantine. @param {import('../store/pending-removals').Pending} pending */
  clear(pending) {
    this.#deletes.push(...pending.deletes);
    for (const { row, node, recordClass, records, reason, unread } of pending.moves) {
      this.#aside.add(row, node, recordClass, records, Date.now(), reason, unread);
      this.#deletes.push(row);
      this.movesAside++;
    }
  }

  /** Takes pending chunks, the most urgent first, up to about 1 MiB. @param {StoreSource} source */
  take(source) {
    const { intake, nextRow } = this.#context;
    while (this.bytes < TRANSACTION_BYTES && this.held.length < MAX_HELD) {
      const length = intake.take(source);
      if (length === -1) break;
      const [ticket, recordClass, records, , firstTs, lastTs, kind, nodeLength, reasonLength, code] =
        intake.meta;
      const node = intake.bytes.toString('utf8', 0, nodeLength);
      const reason = intake.bytes.toString('utf8', nodeLength, nodeLength + reasonLength);
      const body = intake.bytes.subarray(nodeLength + reasonLength, length);
      const cost = costOf(body.length);
      const at = this.bytes + 1;
      if (kind === DEAD_LETTER) {
        const row = nextRow();
        this.letters.push({ ticket, row });
        const columns = [row, node, recordClass, records, body.length, Date.now(), code, at, reason];
        this.#dead.add(...columns);
        this.deadBytes += body.length;
        this.#keep(body);
      } else if (
        makeRoom(this, this.#context.limits, { ticket, recordClass, cost }, (victim) =>
          this.#removeOldest(victim)
        )
      ) {
        const row = nextRow();
        this.saved.push({ ticket, row, node, recordClass, records, cost });
        this.#chunks.add(row, node, recordClass, records, body.length, firstTs, lastTs, at);
        this.usage.add(recordClass, 1, records, cost);
        this.#keep(body);
      }
      if (this.held.some(({ limit }) => limit === 'total')) break;
    }
    intake.rest();
  }

  get isEmpty() {
    const { length } = this.removed;
    return this.#chunks.length + this.#dead.length + this.#deletes.length + length === 0;
  }

  /** All tickets that were taken. */
  get tickets() {
    return [...[...this.saved, ...this.letters, ...this.held].map(({ ticket }) => ticket), ...this.dropped];
  }

  /** All rows that this transaction adds. */
  get rows() {
    return [...this.saved, ...this.letters].sort((a, b) => a.row - b.row);
  }

  /**
   * @param {import('../postgres/connection').PostgresConnection} db
   * @param {{ log: string, epoch: number, batch: number }} lease
   * @returns {Promise<boolean>} false: another gateway has the log
   */
  async commit(db, { log, epoch, batch }) {
    const removed = this.removed.map(({ row }) => row);
    const [{ mine, gone }] = await db.rows(COMMIT, [
      log,
      epoch,
      batch,
      Buffer.concat(this.#bodies),
      ...this.#chunks.lists,
      ...this.#dead.lists,
      ...this.#aside.lists,
      [...this.#deletes, ...removed]
    ]);
    if (mine === 0) return false;
    for (const [recordClass, records, bytes] of gone ?? []) {
      this.usage.add(recordClass, -1, -records, -costOf(bytes));
    }
    // They were subtracted when they were chosen.
    for (const { recordClass, records, cost } of this.removed) this.usage.add(recordClass, 1, records, cost);
    return true;
  }

  /** @param {Buffer} body a part of the buffer that receives chunks, which is used again */
  #keep(body) {
    this.#bodies.push(Buffer.from(body));
    this.bytes += body.length;
  }

  /** @param {number} recordClass @returns {boolean} false: none is on disk, but in this transaction */
  #removeOldest(recordClass) {
    const oldest = this.#context.oldest(recordClass);
    if (!oldest) return false;
    this.removed.push(oldest);
    this.usage.add(oldest.recordClass, -1, -oldest.records, -oldest.cost);
    return true;
  }
}

exports.PairTransaction = PairTransaction;
