'use strict';
// Loads the library for Parquet, which users of the node install beside the gateway. Only the threads of a parquet
// uplink node do it.

const { createRequire } = require('node:module');
const zlib = require('node:zlib');
const { howToInstall } = require('../../base/texts/how-to-install');

const PACKAGE = 'hyparquet-writer';
const VERSION = '0.17.0';
const LEVEL = { params: { [zlib.constants.ZSTD_c_compressionLevel]: 3 } };

/**
 * @typedef {object} ParquetPackages
 * @property {new (options: object) => { write(options: object): unknown, finish(): unknown }} ParquetWriter
 * @property {new () => { getBytes(): Uint8Array, offset: number }} ByteWriter
 * @property {(file: object) => Promise<any>} parquetMetadataAsync
 * @property {(options: object) => Promise<any[]>} parquetReadObjects
 */

/** Why no Parquet can be written on this machine; the message is a sentence with a remedy. */
class NoLibrary extends Error {
  /** @param {string} sentence */
  constructor(sentence) {
    super(sentence);
    this.code = 'NO_PARQUET';
  }
}

/**
 * @param {(name: string) => any} [load] for tests
 * @returns {ParquetPackages}
 * @throws {NoLibrary}
 */
function loadLibrary(load = require) {
  try {
    const { ParquetWriter, ByteWriter } = load(PACKAGE);
    // The reader belongs to the writer, and is not always beside it.
    const ofWriter = load === require ? createRequire(require.resolve(PACKAGE)) : load;
    const { parquetMetadataAsync, parquetReadObjects } = ofWriter('hyparquet');
    return { ParquetWriter, ByteWriter, parquetMetadataAsync, parquetReadObjects };
  } catch (error) {
    throw noLibrary(error);
  }
}

/** @param {unknown} error of require() */
function noLibrary(error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  const isMissing = code === 'MODULE_NOT_FOUND' && message.includes(PACKAGE);
  return new NoLibrary(
    isMissing
      ? `Parquet files need the package ${PACKAGE}: ${howToInstall(`${PACKAGE}@${VERSION}`)}, then restart.`
      : `The package ${PACKAGE} does not load (${message}). Install it again.`
  );
}

/** @returns {string} why no Parquet can be written on this machine: a sentence with a remedy; '' = it can */
function missingLibrary() {
  try {
    require.resolve(PACKAGE);
    return '';
  } catch (error) {
    return noLibrary(error).message;
  }
}

/** Zstandard of Node.js, for the writer. */
const compressors = { ZSTD: (/** @type {Uint8Array} */ bytes) => zlib.zstdCompressSync(bytes, LEVEL) };
/** The same for the reader. */
const decompressors = { ZSTD: (/** @type {Uint8Array} */ bytes) => zlib.zstdDecompressSync(bytes) };

module.exports = { compressors, decompressors, loadLibrary, missingLibrary };
