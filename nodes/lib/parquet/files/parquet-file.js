'use strict';
// Writes rows into the bytes of a Parquet file, and reads them back row group by row group.

const { compressors, decompressors } = require('./writer-package');
const { FORMAT, SCHEMA, toColumns, toRow } = require('./columns');
const { compareRows, sizeOf } = require('./row');

/** @typedef {import('./writer-package').ParquetPackages} ParquetPackages @typedef {import('./row').Row} Row */

/**
 * A file that can be read in parts.
 * @typedef {{ byteLength: number, slice: (start: number, end?: number) => Promise<ArrayBuffer> }} Readable
 */

/** A compaction has a row group of each file in memory. */
const GROUP_ROWS = 8192;
const GROUP_BYTES = 4 * 1024 * 1024;
const CREATED_BY = 'SegaNet Gateway';

/** A file that is written row by row. REQUIRES: rows arrive in the order of compareRows(). */
class FileWriter {
  #bytes;
  #writer;
  /** @type {Row[]} */
  #group = [];
  #groupBytes = 0;
  /** @type {Row | null} */
  #last = null;

  /** @param {ParquetPackages} library */
  constructor(library) {
    this.#bytes = new library.ByteWriter();
    this.#writer = new library.ParquetWriter({
      writer: this.#bytes,
      schema: SCHEMA,
      codec: 'ZSTD',
      compressors,
      createdBy: CREATED_BY,
      kvMetadata: [{ key: 'seganet.format', value: FORMAT }]
    });
    this.rows = 0;
    this.repeated = 0;
    this.from = Infinity;
    this.to = -Infinity;
  }

  /** Bytes of the finished row groups. */
  get bytes() {
    return this.#bytes.offset;
  }

  /** True if the row is another copy of the last one. @param {Row} row */
  isCopy(row) {
    return this.#last !== null && compareRows(this.#last, row) === 0;
  }

  /** Adds a row, unless it is a copy. @param {Row} row */
  add(row) {
    if (this.isCopy(row)) {
      this.repeated++;
      return;
    }
    this.#last = row;
    this.rows++;
    this.from = Math.min(this.from, row.ts);
    this.to = Math.max(this.to, row.ts);
    this.#group.push(row);
    this.#groupBytes += sizeOf(row);
    if (this.#group.length >= GROUP_ROWS || this.#groupBytes >= GROUP_BYTES) this.#endGroup();
  }

  #endGroup() {
    if (this.#group.length === 0) return;
    this.#writer.write({ columnData: toColumns(this.#group), rowGroupSize: this.#group.length });
    this.#group = [];
    this.#groupBytes = 0;
  }

  /** @returns {Uint8Array} the file */
  finish() {
    this.#endGroup();
    this.#writer.finish();
    return this.#bytes.getBytes();
  }
}

/**
 * Reads a file of ours. One row group is in memory at a time.
 * @param {ParquetPackages} library
 * @param {Readable} file
 * @returns {AsyncGenerator<Row[]>}
 */
async function* readGroups(library, file) {
  const metadata = await library.parquetMetadataAsync(file);
  let rowStart = 0;
  for (const { num_rows: count } of metadata.row_groups) {
    const rowEnd = rowStart + Number(count);
    const options = { file, metadata, rowStart, rowEnd, utf8: false, compressors: decompressors };
    yield (await library.parquetReadObjects(options)).map(toRow);
    rowStart = rowEnd;
  }
}

exports.FileWriter = FileWriter;
exports.readGroups = readGroups;
