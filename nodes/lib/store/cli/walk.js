'use strict';
// Iterates over the rows of a table, even if some pages of the database are damaged.

const { isDamage } = require('./sqlite');

/** @typedef {import('node:sqlite').DatabaseSync} DatabaseSync */
/** @typedef {'chunk' | 'dead' | 'quarantine'} Table */
/**
 * A row without its body. Columns that a table does not have are 0 or ''.
 * @typedef {object} Row
 * @property {number} id
 * @property {string} node
 * @property {number} class
 * @property {number} records
 * @property {number} bytes
 * @property {number} firstTs
 * @property {number} lastTs
 * @property {number} at
 * @property {number} code
 * @property {string} reason
 */
/**
 * Rows that no query reaches: their ids are between `after` and `before` (Infinity: to the end of the table). known:
 * what the index contains about them.
 * @typedef {{ after: number, before: number, known: Row[] }} Gap
 */

const TABLES = /** @type {const} */ (['chunk', 'dead', 'quarantine']);
const COLUMNS = {
  chunk: 'id, node, class, records, bytes, first_ts, last_ts',
  dead: 'id, node, class, at, code, reason, records',
  quarantine: 'id, node, class, at, reason, records'
};
const PAGE_ROWS = 256;
/** Number of ids that are tried one by one behind a gap whose end is unknown, and in total. */
const BLIND_PROBES = 100_000;
const MOST_PROBES = 5_000_000;

/** @param {any} row @returns {Row} */
function toRow(row) {
  return {
    id: Number(row.id),
    node: String(row.node),
    class: Number(row.class),
    records: Number(row.records),
    bytes: Number(row.bytes ?? 0),
    firstTs: Number(row.first_ts ?? 0),
    lastTs: Number(row.last_ts ?? 0),
    at: Number(row.at ?? 0),
    code: Number(row.code ?? 0),
    reason: String(row.reason ?? '')
  };
}

/**
 * @template T
 * @param {() => T} read
 * @returns {T | null} null = damaged
 */
function orNull(read) {
  try {
    return read();
  } catch (error) {
    if (!isDamage(error)) throw error;
    return null;
  }
}

/** @param {DatabaseSync} db @param {string} sql */
function prepare(db, sql) {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  return statement;
}

class Walk {
  /** @param {DatabaseSync} db @param {Table} table */
  constructor(db, table) {
    this.db = db;
    this.table = table;
    const select = `SELECT ${COLUMNS[table]} FROM ${table}`;
    // Not `id > ?`: that would step from a row in a damaged page to one behind it through that page.
    this.page = prepare(db, `${select} WHERE id >= ? ORDER BY id LIMIT ${PAGE_ROWS}`);
    this.next = prepare(db, `${select} WHERE id >= ? ORDER BY id LIMIT 1`);
    this.one = prepare(db, `${select} WHERE id = ?`);
    this.body = db.prepare(`SELECT CAST(body AS BLOB) AS body FROM ${table} WHERE id = ?`);
  }

  /** @returns {Generator<{ row: Row, gap?: undefined } | { gap: Gap, row?: undefined }>} */
  *[Symbol.iterator]() {
    for (let after = -1; ;) {
      const rows = orNull(() => this.page.all(after + 1));
      let inOrder = rows !== null;
      for (const row of rows ?? this.#whileSound(after)) {
        // A damaged tree can contain loops.
        inOrder &&= Number(row.id) > after;
        if (rows && !inOrder) break;
        after = Number(row.id);
        yield { row: toRow(row) };
      }
      if (inOrder && rows && rows.length < PAGE_ROWS) return;
      // Behind it, adding 1 changes nothing. Such numbers are wrong, and are reported elsewhere.
      if (!Number.isSafeInteger(after + 1)) return;
      if (inOrder) continue;
      const before = this.#behind(after);
      yield { gap: { after, before, known: this.#known(after, before) } };
      if (before === Infinity) return;
      after = before - 1;
    }
  }

  /**
   * Returns the body of a row; null = it has none, undefined = its pages are damaged.
   * @param {number} id
   * @returns {Buffer | null | undefined}
   */
  bodyOf(id) {
    const found = orNull(() => ({ row: this.body.get(id) }));
    if (!found) return undefined;
    const body = found.row?.body;
    if (!(body instanceof Uint8Array)) return null;
    return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  }

  /**
   * Yields the rows after this one, up to the damage.
   * @param {number} after
   * @returns {Generator<any>}
   */
  *#whileSound(after) {
    for (;;) {
      const found = orNull(() => ({ row: this.next.get(after + 1) }));
      if (!found?.row || Number(found.row.id) <= after) return;
      after = Number(found.row.id);
      yield found.row;
    }
  }

  /** Returns the first readable id behind the damage. @param {number} after */
  #behind(after) {
    const last = this.#last();
    const end = Math.min(last ?? after + BLIND_PROBES, after + MOST_PROBES);
    // Ids of a log are dense: they count up, and the oldest are freed first.
    for (let id = after + 1; id <= end; id++) {
      if (orNull(() => ({ row: this.one.get(id) }))?.row) return id;
    }
    return Infinity;
  }

  /** Returns the highest id, from the table or else from its index. @returns {number | null} */
  #last() {
    const from = [this.table, ...(this.table === 'chunk' ? ['chunk INDEXED BY chunk_lane'] : [])];
    for (const source of from) {
      const found = orNull(() => prepare(this.db, `SELECT max(id) AS id FROM ${source}`).get());
      const last = Number(found?.id ?? 0);
      // Damage can also change a number.
      if (found && last >= 0 && Number.isSafeInteger(last)) return last;
    }
    return null;
  }

  /**
   * @param {number} after
   * @param {number} before
   * @returns {Row[]}
   */
  #known(after, before) {
    if (this.table !== 'chunk') return [];
    const sql =
      'SELECT id, node, class, records, bytes FROM chunk INDEXED BY chunk_lane WHERE id > ? AND id < ? ORDER BY id';
    const end = before === Infinity ? Number.MAX_SAFE_INTEGER : before;
    return (orNull(() => this.db.prepare(sql).all(after, end)) ?? []).map(toRow);
  }
}

module.exports = { Walk, TABLES };
