'use strict';

// Computes the space of the chunks on disk, and decides whether another one fits.

const { CLASSES, zeroByClass } = require('../base/classes');

const PAGE = 4096;
/** 4 bytes of an overflow page point to the next page. */
const PAGE_ROOM = PAGE - 4;
/** The row's other columns, and SQLite's overhead. */
const ROW_BYTES = 100;
/** The row's entry in the index. */
const INDEX_BYTES = 64;

/**
 * Returns the disk space of a chunk of this many bytes: whole pages, and the entry in the index.
 * @param {number} bytes
 */
const costOf = (bytes) => Math.ceil((bytes + ROW_BYTES) / PAGE_ROOM) * PAGE + INDEX_BYTES;

/**
 * Returns SQL that reads a column of counts, and 0 for a value that is no count. SQLite does not check the type or the
 * size of a value that it reads from a damaged row.
 * @param {string} column
 */
const countSql = (column) =>
  `CASE WHEN typeof(${column}) = 'integer' AND ${column} BETWEEN 0 AND ${2 ** 32 - 1} THEN ${column} ELSE 0 END`;

/** The same as costOf() in SQL, for the column `bytes`. */
const COST_SQL = `((${countSql('bytes')} + ${ROW_BYTES + PAGE_ROOM - 1}) / ${PAGE_ROOM} * ${PAGE} + ${INDEX_BYTES})`;

/** The same for a database that checks the type of each value. */
const CHECKED_COST_SQL = `((bytes + ${ROW_BYTES + PAGE_ROOM - 1}) / ${PAGE_ROOM} * ${PAGE} + ${INDEX_BYTES})`;

/** The chunks on disk, by class; index 0 is not used. */
class Usage {
  constructor() {
    this.chunks = zeroByClass();
    this.records = zeroByClass();
    this.bytes = zeroByClass();
  }

  /**
   * @param {number} recordClass
   * @param {number} chunks
   * @param {number} records
   * @param {number} bytes as costOf() counts them
   */
  add(recordClass, chunks, records, bytes) {
    // A damaged row may contain any class; it counts as the nearest.
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

  /** The least urgent class that has chunks, 0 = none. */
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
   * Checks whether a chunk fits. A log, or a class, without chunks accepts any chunk: one larger than the limit would
   * otherwise wait forever.
   * @param {Usage} usage
   * @param {number} recordClass
   * @param {number} cost
   * @returns {'fits' | 'class' | 'total'} the limit that the chunk would exceed
   */
  check(usage, recordClass, cost) {
    const own = this.byClass[recordClass];
    if (own > 0 && usage.chunks[recordClass] > 0 && usage.bytes[recordClass] + cost > own) return 'class';
    if (usage.totalChunks > 0 && usage.totalBytes + cost > this.total) return 'total';
    return 'fits';
  }

  /**
   * @param {{ recordClass: number, limit: 'class' | 'total' }} full
   * @returns {string} a sentence
   */
  explain({ recordClass, limit }) {
    const [total, own] = [this.total, this.byClass[recordClass]].map((bytes) => bytes / 2 ** 20);
    return limit === 'total'
      ? `The log has reached its limit of ${total} MiB. It continues when the cloud has acknowledged records; raise the limit if outages last longer.`
      : `The log has reached the limit of class ${recordClass}, ${own} MiB. It continues when the cloud has acknowledged records of that class.`;
  }

  /**
   * Selects a victim for policy 'drop' when the chunk does not fit: the class whose oldest chunk is removed, or 0 = the
   * incoming chunk is dropped, because all chunks on disk are more urgent, or because it would not fit in any case.
   * @param {Usage} usage
   * @param {number} recordClass
   * @param {number} cost
   */
  victim(usage, recordClass, cost) {
    const own = this.byClass[recordClass];
    if (cost > this.total || (own > 0 && cost > own)) return 0;
    if (this.check(usage, recordClass, cost) === 'class') return recordClass;
    return usage.leastUrgent >= recordClass ? usage.leastUrgent : 0;
  }
}

exports.CHECKED_COST_SQL = CHECKED_COST_SQL;
exports.COST_SQL = COST_SQL;
exports.Limits = Limits;
exports.Usage = Usage;
exports.costOf = costOf;
exports.countSql = countSql;
