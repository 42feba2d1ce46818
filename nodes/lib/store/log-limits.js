'use strict';

// What the chunks take on disk, and what to do with one more.

const { CLASSES, zeroByClass } = require('../base/classes');

const PAGE = 4096;
/** Of an overflow page, 4 bytes point to the next. */
const PAGE_ROOM = PAGE - 4;
/** The row's other columns, and what SQLite adds. */
const ROW_BYTES = 100;
/** Its entry in the index. */
const INDEX_BYTES = 64;

/** Bytes on disk of a chunk of so many bytes: whole pages, and the entry in the index. @param {number} bytes */
const costOf = (bytes) => Math.ceil((bytes + ROW_BYTES) / PAGE_ROOM) * PAGE + INDEX_BYTES;

/** The same in SQL, of the column `bytes`. */
const COST_SQL = `((bytes + ${ROW_BYTES + PAGE_ROOM - 1}) / ${PAGE_ROOM} * ${PAGE} + ${INDEX_BYTES})`;

/** What is on disk, by class; index 0 is not used. */
class Usage {
  constructor() {
    this.chunks = zeroByClass();
    this.records = zeroByClass();
    this.bytes = zeroByClass();
  }

  /** @param {number} recordClass @param {number} chunks @param {number} records @param {number} bytes as costOf() counts */
  add(recordClass, chunks, records, bytes) {
    // A damaged row may tell any class; it counts as the nearest.
    const c = Math.min(CLASSES, Math.max(1, recordClass));
    this.chunks[c] += chunks;
    this.records[c] += records;
    this.bytes[c] += bytes;
  }

  /** @param {number} recordClass */
  clear(recordClass) {
    this.add(recordClass, -this.chunks[recordClass], -this.records[recordClass], -this.bytes[recordClass]);
  }

  get totalChunks() {
    return this.chunks.reduce((sum, n) => sum + n, 0);
  }

  get totalBytes() {
    return this.bytes.reduce((sum, n) => sum + n, 0);
  }

  /** The least urgent class that has chunks, 0 = none has. */
  get leastUrgent() {
    return Math.max(
      0,
      this.chunks.findLastIndex((n) => n > 0)
    );
  }

  clone() {
    const copy = new Usage();
    for (let c = 1; c <= CLASSES; c++) copy.add(c, this.chunks[c], this.records[c], this.bytes[c]);
    return copy;
  }
}

class Limits {
  /** @param {{limitMiB: number, classLimitMiB: number[], whenFull: 'slow' | 'drop'}} options */
  constructor({ limitMiB, classLimitMiB, whenFull }) {
    this.total = limitMiB * 2 ** 20;
    this.byClass = classLimitMiB.map((mib) => mib * 2 ** 20);
    this.whenFull = whenFull;
  }

  /**
   * A log, or class, without chunks takes any: one that is larger than the limit would else wait for ever.
   * @param {Usage} usage @param {number} recordClass @param {number} cost
   * @returns {'fits' | 'class' | 'total'} which limit is in the way
   */
  check(usage, recordClass, cost) {
    const own = this.byClass[recordClass];
    if (own > 0 && usage.chunks[recordClass] > 0 && usage.bytes[recordClass] + cost > own) return 'class';
    if (usage.totalChunks > 0 && usage.totalBytes + cost > this.total) return 'total';
    return 'fits';
  }

  /**
   * Policy 'drop', when the chunk does not fit: the class whose oldest chunk goes, or 0 = the incoming chunk itself goes,
   * because all that is on disk is more urgent, or because no room would do.
   * @param {Usage} usage @param {number} recordClass @param {number} cost
   */
  victim(usage, recordClass, cost) {
    const own = this.byClass[recordClass];
    if (cost > this.total || (own > 0 && cost > own)) return 0;
    if (this.check(usage, recordClass, cost) === 'class') return recordClass;
    return usage.leastUrgent >= recordClass ? usage.leastUrgent : 0;
  }
}

exports.COST_SQL = COST_SQL;
exports.Limits = Limits;
exports.Usage = Usage;
exports.costOf = costOf;
