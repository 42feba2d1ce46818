'use strict';

const { dateOf, sizeOf } = require('../files/row');

/** @typedef {import('../files/row').Row} Row */

/** Days of one commit, each of which gets a file. */
const MAX_DAYS = 64;

/** Rows that were taken from the engine, and are in no file yet, with the batches that they belong to. */
class OpenRows {
  /** @param {{ maxRows: number, maxBytes: number }} limits */
  constructor({ maxRows, maxBytes }) {
    this.maxRows = maxRows;
    this.maxBytes = maxBytes;
    /** @type {Map<string, Row[]>} */
    this.days = new Map();
    /** Numbers of the batches, for release(). @type {number[]} */
    this.batches = [];
    /** Batches that are not backlog. */
    this.live = 0;
    this.backlog = 0;
    this.rows = 0;
    this.bytes = 0;
    /** When the first row came, ms, monotonic. */
    this.since = 0;
  }

  /**
   * @param {number} id
   * @param {boolean} isBacklog
   * @param {Row[]} rows
   * @param {number} now ms, monotonic
   */
  add(id, isBacklog, rows, now) {
    if (this.batches.length === 0) this.since = now;
    this.batches.push(id);
    if (isBacklog) this.backlog += rows.length;
    else this.live++;
    for (const row of rows) {
      const date = dateOf(row.ts);
      const day = this.days.get(date);
      if (day) day.push(row);
      else this.days.set(date, [row]);
      this.bytes += sizeOf(row);
    }
    this.rows += rows.length;
  }

  get isEmpty() {
    return this.batches.length === 0;
  }

  /** True if no further batch may be added; one batch may exceed the limits. */
  get isFull() {
    return this.rows >= this.maxRows || this.bytes >= this.maxBytes || this.days.size >= MAX_DAYS;
  }
}

exports.OpenRows = OpenRows;
exports.MAX_DAYS = MAX_DAYS;
