'use strict';
// Pages of lists that a node reads from its store, for the viewers of the live stream. The stream does not wait for the
// store: it sends the newest page that was read.
//
// The store has other work: after a reading, the next one of the same page waits for 50 times as long as it took.

const PAUSE = 50;
/** A little less than a second, so that a timer that is early does not skip a reading. */
const MIN_PAUSE_MS = 900;
/** A page that no viewer wanted for this long is forgotten, ms. */
const FORGET_MS = 5000;

/**
 * @typedef {(query: import('./live-query').CloudQuery) => Promise<object | null>} List
 * @typedef {object} Entry
 * @property {object | null} result null = not read yet
 * @property {string} error why the last reading failed, '' = it did not
 * @property {number} readAt ms
 * @property {number} startedAt ms
 * @property {number} spentMs of the last reading
 * @property {boolean} isReading
 * @property {number} wantedAt ms
 */

class ListPages {
  #now;
  /** @type {Map<string, Entry>} */
  #entries = new Map();

  /** @param {() => number} [now] ms */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Pages that are remembered. */
  get size() {
    return this.#entries.size;
  }

  /**
   * Returns the newest page, and reads it again if it is time for that.
   * @param {List} list
   * @param {import('./live-query').CloudQuery} query with the id of the node
   * @returns {object | null} with `ageMs`, and `error` if the last reading failed; null = not read yet
   */
  page(list, query) {
    const now = this.#now();
    this.#forget(now);
    const key = JSON.stringify(query);
    const entry = this.#entries.get(key) ?? {
      result: null,
      error: '',
      readAt: now,
      startedAt: -Infinity,
      spentMs: 0,
      isReading: false,
      wantedAt: now
    };
    this.#entries.set(key, entry);
    entry.wantedAt = now;
    const pauseMs = Math.max(MIN_PAUSE_MS, PAUSE * entry.spentMs);
    if (!entry.isReading && now - entry.startedAt >= pauseMs) void this.#read(entry, list, query);
    const { result, error } = entry;
    if (!result) return error === '' ? null : { error };
    return { ...result, ageMs: Math.round(now - entry.readAt), error };
  }

  /** @param {Entry} entry @param {List} list @param {import('./live-query').CloudQuery} query */
  async #read(entry, list, query) {
    entry.isReading = true;
    entry.startedAt = this.#now();
    try {
      entry.result = await list(query);
      entry.error = '';
    } catch (error) {
      entry.error = error instanceof Error ? error.message : String(error);
    }
    entry.isReading = false;
    entry.readAt = this.#now();
    entry.spentMs = entry.readAt - entry.startedAt;
  }

  /** @param {number} now */
  #forget(now) {
    for (const [key, { wantedAt, isReading }] of this.#entries)
      if (!isReading && now - wantedAt > FORGET_MS) this.#entries.delete(key);
  }
}

exports.ListPages = ListPages;
