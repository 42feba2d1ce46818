'use strict';
// The dead letters of an open log: their list, and sending them again while the gateway runs.
//
// A dead letter that is sent again is moved to the table of chunks in one transaction. At each moment the database has
// it in exactly one of the two tables, so a kill -9 leaves either a dead letter or a record that waits.

const { splitEntries, splitLines, splitSingle, KIND } = require('./batch-records');
const { readChunk } = require('./log-chunk');
const { costOf } = require('./log-limits');
const { isWildNumber } = require('./log-reasons');

/** @typedef {import('./log-database').Database} Database */
/** @typedef {import('./log-limits').Usage} Usage */

const MAX_PAGE = 50;
/** Bytes of the dead letters of a page, unless one has more: they are read in the thread that stores records. */
const PAGE_BYTES = 4 << 20;
/** Dead letters that one transaction moves, and about how many bytes: records wait for it. */
const TURN_LETTERS = 64;
const TURN_BYTES = 1 << 20;
/** Characters of a device id or topic in the list. */
const MAX_TEXT = 256;

/**
 * @typedef {object} Letter a dead letter in the list
 * @property {number} row
 * @property {number} at ms since 1970 when it was written
 * @property {string} node id of its uplink node
 * @property {number} class
 * @property {number} records
 * @property {number} bytes
 * @property {number} code
 * @property {string} reason
 * @property {string} device of its first record, '' = unknown
 * @property {string} topic of its first record, '' = unknown
 *
 * @typedef {object} Moved a dead letter that was moved to the chunks
 * @property {number} from row of the dead letter
 * @property {number} row of the chunk
 * @property {string} node
 * @property {number} class
 * @property {number} at
 * @property {number} code
 * @property {string} reason
 * @property {number[]} records of each batch
 * @property {number} bytes
 *
 * @typedef {object} Outcome
 * @property {number} sent dead letters that were moved
 * @property {number} records in them
 * @property {number} strangers left because their uplink node is not in the flow
 * @property {number} damaged left because they cannot be read
 * @property {number} noRoom left because the log has no room
 * @property {number} gone rows that are not dead letters, or no longer
 */

/** @returns {Outcome} */
const noOutcome = () => ({ sent: 0, records: 0, strangers: 0, damaged: 0, noRoom: 0, gone: 0 });

/**
 * Returns a page of dead letters, the oldest first. Throws an SQLite error.
 * @param {Database} database
 * @param {{ after: number, limit: number }} page after: row; limit: 1 to 50
 * @returns {{ letters: Letter[], next: number | null }} letters: fewer than `limit` if they are large; next: to be used
 *   as `after`; null = there are no more
 */
function listDeadLetters({ statements }, { after, limit }) {
  const most = Math.min(MAX_PAGE, Math.max(1, limit));
  const heads = statements.deadHeads.all(after, most + 1);
  const letters = pageOf(heads, most).map((head) => {
    const row = Number(head.id);
    return {
      row,
      at: Number(head.at),
      node: String(head.node),
      class: Number(head.class),
      records: Number(head.records),
      bytes: Number(head.bytes),
      code: Number(head.code),
      reason: String(head.reason),
      ...firstRecord(bodyOf(statements.deadBody.get(row)))
    };
  });
  return { letters, next: heads.length > letters.length ? (letters.at(-1)?.row ?? null) : null };
}

/** @param {Record<string, unknown>[]} heads @param {number} most */
function pageOf(heads, most) {
  let bytes = 0;
  const end = heads.findIndex((head, i) => (bytes += Number(head.bytes)) > PAGE_BYTES && i > 0);
  return heads.slice(0, end < 0 ? most : Math.min(end, most));
}

/** @param {any} found @returns {Uint8Array} */
const bodyOf = (found) => (found?.body instanceof Uint8Array ? found.body : new Uint8Array(0));

/**
 * Returns the device and the topic of the first record.
 * @param {Uint8Array} body of a chunk
 * @returns {{ device: string, topic: string }}
 */
function firstRecord(body) {
  const none = { device: '', topic: '' };
  const [entry] = readChunk(body).entries;
  if (!entry) return none;
  try {
    if (entry.kind === KIND.ENVELOPE) return ofLine(splitLines(entry.bytes).next().value) ?? none;
    const record = entry.kind === KIND.SINGLE ? splitSingle(entry) : splitEntries(entry.bytes).next().value;
    return record ? { device: cut(String(record.device)), topic: cut(String(record.topic)) } : none;
  } catch {
    return none;
  }
}

/** @param {Buffer | void} line of an envelope (docs/reference/messages.md) */
function ofLine(line) {
  const { d = '', t = '' } = line ? JSON.parse(String(line)) : {};
  return { device: cut(String(d)), topic: cut(String(t)) };
}

/** @param {string} text */
const cut = (text) => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

/**
 * @param {Database['statements']} statements
 * @param {number} row
 * @returns {Record<string, unknown> | null | undefined} null: it has a number that no log contains; undefined: there is
 *   no such row
 */
function headOf(statements, row) {
  try {
    return statements.deadHead.get(row);
  } catch (error) {
    if (!isWildNumber(error)) throw error;
    return null;
  }
}

/**
 * One transaction that moves dead letters. Nothing takes effect before the commit, which the caller makes.
 */
class Resending {
  /**
   * @param {object} context
   * @param {Database} context.database
   * @param {Usage} context.usage a copy, which gets the chunks
   * @param {import('./log-limits').Limits} context.limits
   * @param {() => number} context.nextRow
   */
  constructor({ database, usage, limits, nextRow }) {
    this.statements = database.statements;
    this.usage = usage;
    this.limits = limits;
    this.nextRow = nextRow;
    this.outcome = noOutcome();
    /** @type {Moved[]} */
    this.moved = [];
    this.bytes = 0;
  }

  /**
   * Moves dead letters until the transaction is large enough.
   * @param {number[]} rows ascending
   * @param {Set<string> | null} nodes uplink nodes of the flow; null = any
   * @returns {number} how many of the rows were treated
   */
  move(rows, nodes) {
    let done = 0;
    for (const row of rows) {
      if (this.moved.length === TURN_LETTERS || this.bytes >= TURN_BYTES) break;
      this.#one(row, nodes);
      done++;
    }
    return done;
  }

  /** @param {number} from @param {Set<string> | null} nodes */
  #one(from, nodes) {
    const { outcome, statements } = this;
    const head = headOf(statements, from);
    if (head === null) return void outcome.damaged++;
    if (!head) return void outcome.gone++;
    const [node, recordClass] = [String(head.node), Number(head.class)];
    if (nodes && !nodes.has(node)) return void outcome.strangers++;
    const body = bodyOf(statements.deadBody.get(from));
    const { error, head: chunk, entries } = readChunk(body);
    if (error !== '' || chunk?.class !== recordClass || chunk.records !== Number(head.records))
      return void outcome.damaged++;
    const cost = costOf(body.length);
    if (this.limits.check(this.usage, recordClass, cost) !== 'fits') return void outcome.noRoom++;
    const row = this.nextRow();
    const firstTs = Math.min(...entries.map((entry) => entry.firstTs));
    const lastTs = Math.max(...entries.map((entry) => entry.lastTs));
    statements.insertChunk.run(row, node, recordClass, chunk.records, body.length, firstTs, lastTs, body);
    statements.deleteDead.run(from);
    this.usage.add(recordClass, 1, chunk.records, cost);
    this.bytes += body.length;
    this.moved.push({
      from,
      row,
      node,
      class: recordClass,
      at: Number(head.at),
      code: Number(head.code),
      reason: String(head.reason),
      records: entries.map(({ records }) => records),
      bytes: body.length
    });
    outcome.sent++;
    outcome.records += chunk.records;
  }
}

module.exports = { MAX_PAGE, Resending, firstRecord, listDeadLetters, noOutcome, pageOf };
