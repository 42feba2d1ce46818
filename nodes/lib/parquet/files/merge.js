'use strict';
// Merges sorted streams of rows. A stream has one row group in memory.

const { compareRows } = require('./row');

/** @typedef {import('./row').Row} Row */

/** The next row of one stream. */
class Stream {
  /** @param {AsyncIterator<Row[]>} groups */
  constructor(groups) {
    this.groups = groups;
    /** @type {Row[]} */
    this.rows = [];
    this.at = 0;
  }

  get row() {
    return this.rows[this.at];
  }

  /** True if the next row is in memory already. */
  step() {
    return ++this.at < this.rows.length;
  }

  /** @returns {Promise<boolean>} false at the end of the stream */
  async load() {
    this.at = 0;
    do {
      const { done, value } = await this.groups.next();
      if (done) return false;
      this.rows = value;
    } while (this.rows.length === 0);
    return true;
  }
}

/**
 * @param {AsyncIterator<Row[]>[]} inputs each in the order of compareRows()
 * @param {(row: Row) => Promise<void> | void} take gets all rows in this order
 */
async function merge(inputs, take) {
  const streams = [];
  for (const groups of inputs) {
    const stream = new Stream(groups);
    if (await stream.load()) streams.push(stream);
  }
  while (streams.length > 0) {
    let least = streams[0];
    for (let i = 1; i < streams.length; i++)
      if (compareRows(streams[i].row, least.row) < 0) least = streams[i];
    const wait = take(least.row);
    if (wait) await wait;
    if (!least.step() && !(await least.load())) streams.splice(streams.indexOf(least), 1);
  }
}

module.exports = { merge };
