'use strict';
// The points in memory: one open block for a series and minute, and the latest value of each series.

const MINUTE_MS = 60000;

/**
 * @typedef {object} Block
 * @property {Series} series
 * @property {number} start of its minute, ms since the epoch
 * @property {number} journal first row of the journal that has points of this block
 * @property {number} openedMs monotonic
 * @property {number[]} times
 * @property {number[]} values
 */

/** One series: its number in the database, its latest value and its open blocks. */
class Series {
  /** @param {number} id @param {string} device @param {string} name */
  constructor(id, device, name) {
    this.id = id;
    this.device = device;
    this.name = name;
    /** 0 = no value yet. */
    this.lastTime = 0;
    this.lastValue = NaN;
    /** The block that got the latest point. @type {Block | null} */
    this.current = null;
    /** Open blocks by their start; most series have one. @type {Map<number, Block>} */
    this.blocks = new Map();
  }
}

/** All open blocks, the oldest first. */
class OpenBlocks {
  constructor() {
    /** @type {Set<Block>} */
    this.blocks = new Set();
    this.points = 0;
  }

  /**
   * @param {Series} series
   * @param {number} time
   * @param {number} value
   * @param {{ journal: number, nowMs: number }} at the row of the journal that has the point, and the monotonic time
   */
  add(series, time, value, { journal, nowMs }) {
    const start = time - (time % MINUTE_MS);
    let block = series.current;
    if (block?.start !== start) block = series.blocks.get(start) ?? null;
    if (!block) {
      block = { series, start, journal, openedMs: nowMs, times: [], values: [] };
      series.blocks.set(start, block);
      this.blocks.add(block);
    }
    series.current = block;
    block.times.push(time);
    block.values.push(value);
    this.points++;
  }

  /**
   * Returns the blocks to write, the oldest first; they stay open until close() is called.
   * @param {number} openedBeforeMs
   * @param {number} maxPoints as long as more points are in memory, blocks that are not that old are included
   * @param {number} limit most blocks
   * @returns {Block[]}
   */
  due(openedBeforeMs, maxPoints, limit) {
    const due = [];
    let { points } = this;
    for (const block of this.blocks) {
      if (due.length >= limit) break;
      if (block.openedMs >= openedBeforeMs && points <= maxPoints) break;
      due.push(block);
      points -= block.times.length;
    }
    return due;
  }

  /** Removes blocks that were written. @param {Block[]} blocks */
  close(blocks) {
    for (const block of blocks) {
      this.blocks.delete(block);
      block.series.blocks.delete(block.start);
      if (block.series.current === block) block.series.current = null;
      this.points -= block.times.length;
    }
  }

  /**
   * Returns the first row of the journal that is needed once these blocks, the oldest ones, are written.
   * @param {Block[]} blocks
   * @param {number} next number of the next row
   */
  neededJournal(blocks, next) {
    const written = new Set(blocks);
    for (const block of this.blocks) if (!written.has(block)) return block.journal;
    return next;
  }
}

exports.MINUTE_MS = MINUTE_MS;
exports.OpenBlocks = OpenBlocks;
exports.Series = Series;
