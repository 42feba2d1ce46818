'use strict';
// The text of records, for the search (text-search.js): each device's latest record of each topic, or all records up to
// a limit.

/** A longer payload is not searched. */
const MAX_TEXT_BYTES = 16384;
/** The search writes this often, so that a record that is soon replaced is not written. A crash loses as much. */
const FLUSH_MS = 5000;
const MAX_WAITING_BYTES = 4 << 20;
/** Bytes of a row beside its text. */
const ROW_BYTES = 64;
/**
 * @typedef {{ device: string, topic: string, ts: number, payload: string }} Text
 */

class TextStore {
  /** @param {import('./series-store').SeriesStore} store */
  constructor(store) {
    this.store = store;
    /** @type {Map<string, Text> | null} */
    this.latest = store.options.search === 'latest' ? new Map() : null;
    /** @type {Text[]} */
    this.all = [];
    this.waitingBytes = 0;
    this.bytes = 0;
    this.flushAt = 0;
    this.counters = { texts: 0, noText: 0, removed: 0 };
    /** @type {ReturnType<typeof prepare> | null} */
    this.statements = null;
  }

  /** @param {import('./series-database').SeriesDatabase} database that was just opened */
  load({ db }) {
    this.statements = prepare(db);
    this.bytes = Number(this.statements.bytes.get()?.bytes ?? 0);
  }

  /** @param {import('./series-store').Batch} batch */
  add({ devices, stamps, topics, texts }) {
    if (this.store.options.search === 'off') return;
    for (let i = 0; i < topics.length; i++) {
      const payload = texts[i];
      if (payload === null || payload.length > MAX_TEXT_BYTES) {
        this.counters.noText++;
        continue;
      }
      const text = {
        // As SQLite gives them back.
        device: devices[i].toWellFormed(),
        topic: topics[i].toWellFormed(),
        ts: stamps[i] || this.store.clock.wall(),
        payload: payload.toWellFormed()
      };
      const key = `${text.device}\n${text.topic}`;
      const old = this.latest?.get(key);
      this.waitingBytes += sizeOf(text) - (old ? sizeOf(old) : 0);
      if (this.latest) this.latest.set(key, text);
      else this.all.push(text);
    }
    if (this.waitingBytes > MAX_WAITING_BYTES) this.store.guarded(() => this.flush());
  }

  tick() {
    const now = this.store.clock.monotonic();
    if (now < this.flushAt) return;
    this.flushAt = now + FLUSH_MS;
    this.flush();
  }

  /** Writes what waits. */
  flush() {
    const texts = this.latest ? [...this.latest.values()] : this.all;
    if (texts.length === 0) return;
    const before = this.bytes;
    try {
      this.store.writable.transact(() => {
        for (const text of texts) this.#write(text);
        this.#shrink();
      });
    } catch (error) {
      this.bytes = before;
      // What a failing disk cannot take must not fill the memory.
      if (this.waitingBytes > MAX_WAITING_BYTES) this.#forget();
      throw error;
    }
    this.counters.texts += texts.length;
    this.#forget();
  }

  #forget() {
    this.latest?.clear();
    this.all = [];
    this.waitingBytes = 0;
  }

  /**
   * Returns the topics of each device, of the records that the search has.
   * @param {{ device: string, topic: string }} after the last one of the page before; blank: from the first on
   * @param {number} limit
   * @returns {{ device: string, topic: string }[]} fewer than the limit: there are no more
   */
  topics({ device, topic }, limit) {
    return /** @type {any[]} */ (this.#sql.topics.all(device, topic, limit)).map((row) => ({ ...row }));
  }

  get #sql() {
    return /** @type {ReturnType<typeof prepare>} */ (this.statements);
  }

  /** @param {Text} text */
  #write(text) {
    const { device, topic, ts, payload } = text;
    if (this.latest) {
      const old = this.#sql.latest.get(device, topic);
      if (old) this.#delete(Number(old.record));
    }
    const id = Number(this.#sql.insert.get(device, topic, ts, payload)?.id);
    this.#sql.index.run(id, device, topic, payload);
    this.#sql.setLatest.run(device, topic, id);
    this.bytes += sizeOf(text);
  }

  /** @param {number} id */
  #delete(id) {
    const row = this.#sql.record.get(id);
    if (!row) return;
    const { device, topic, payload } = row;
    this.#sql.unindex.run(id, device, topic, payload);
    this.#sql.remove.run(id);
    this.#sql.removeLatest.run(device, topic, id);
    this.bytes -= sizeOf(/** @type {any} */ (row));
  }

  #shrink() {
    const limit = this.store.options.searchMiB * 2 ** 20;
    while (this.bytes > limit) {
      const oldest = this.#sql.oldest.get()?.id;
      if (oldest === null || oldest === undefined) return;
      this.#delete(Number(oldest));
      this.counters.removed++;
    }
  }
}

/** @param {Text} text */
function sizeOf({ device, topic, payload }) {
  return Buffer.byteLength(device) + Buffer.byteLength(topic) + Buffer.byteLength(payload) + ROW_BYTES;
}

/** @param {import('node:sqlite').DatabaseSync} db */
function prepare(db) {
  return {
    bytes: db.prepare(
      `SELECT ifnull(sum(octet_length(device) + octet_length(topic) + octet_length(payload) + ${ROW_BYTES}), 0) AS bytes
       FROM record`
    ),
    latest: db.prepare('SELECT record FROM latest WHERE device = ? AND topic = ?'),
    setLatest: db.prepare('INSERT OR REPLACE INTO latest VALUES (?, ?, ?)'),
    topics: db.prepare(
      'SELECT device, topic FROM latest WHERE (device, topic) > (?, ?) ORDER BY device, topic LIMIT ?'
    ),
    removeLatest: db.prepare('DELETE FROM latest WHERE device = ? AND topic = ? AND record = ?'),
    record: db.prepare('SELECT device, topic, payload FROM record WHERE id = ?'),
    insert: db.prepare('INSERT INTO record (device, topic, ts, payload) VALUES (?, ?, ?, ?) RETURNING id'),
    remove: db.prepare('DELETE FROM record WHERE id = ?'),
    oldest: db.prepare('SELECT min(id) AS id FROM record'),
    index: db.prepare('INSERT INTO record_text (rowid, device, topic, payload) VALUES (?, ?, ?, ?)'),
    unindex: db.prepare(
      "INSERT INTO record_text (record_text, rowid, device, topic, payload) VALUES ('delete', ?, ?, ?, ?)"
    )
  };
}

exports.MAX_TEXT_BYTES = MAX_TEXT_BYTES;
exports.TextStore = TextStore;
