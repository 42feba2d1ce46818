'use strict';
// The file of a backup: a tar archive in one zstd frame with a checksum, and behind it the SHA-256 of all bytes
// before, in a frame that zstd skips. `zstd -d < FILE | tar -x` unpacks it, too. An encrypted one has all of that in an
// age file.

const crypto = require('node:crypto');
const fs = require('node:fs');
const { Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const zlib = require('node:zlib');
const { CliError } = require('../base/errors');
const age = require('./age');
const { CipherError, decrypt, encrypt, hasPassphrase } = require('./passphrase');
const { TarError, readTar } = require('../../../../nodes/lib/base/tar/tar');
const { write } = require('./write');

const SUM_BYTES = 32;
/** A skippable frame: its magic number, and the size of what follows. */
const FRAME = Buffer.from([0x50, 0x2a, 0x4d, 0x18, SUM_BYTES, 0, 0, 0]);
const TRAILER = FRAME.length + SUM_BYTES;
const { ZSTD_c_compressionLevel, ZSTD_c_checksumFlag, ZSTD_d_windowLogMax } = zlib.constants;
/** Memory that a frame may demand: 16 MiB. The frames of this program need 2 MiB. */
const WINDOW_LOG = 24;
const LEVEL = 3;

/**
 * @typedef {{ passphrase?: string, identity?: string }} Keys passphrase: '' = none; identity: file of keys for age,
 *   '' = none
 */

/**
 * Writes an archive into a new file and syncs it. Its caller removes the file after a failure.
 * @param {string} file must not exist
 * @param {AsyncIterable<Buffer>} tar
 * @param {{ passphrase?: string, recipients?: string[] }} [keys] passphrase: '' = none; recipients: for age; neither
 *   = not encrypted
 */
async function writeArchive(file, tar, { passphrase = '', recipients = [] } = {}) {
  const zstd = zlib.createZstdCompress({
    params: { [ZSTD_c_compressionLevel]: LEVEL, [ZSTD_c_checksumFlag]: 1 }
  });
  const seal = (/** @type {AsyncIterable<Buffer>} */ source) => {
    const whole = withTrailer(source);
    if (passphrase) return encrypt(whole, passphrase);
    return recipients.length > 0 ? age.seal(whole, recipients) : whole;
  };
  // Opened first: a stream that fails at once would make the file after its caller has removed it.
  const handle = await fs.promises.open(file, 'wx', 0o600);
  const out = handle.createWriteStream({ flush: true });
  await pipeline(Readable.from(tar, { objectMode: true, highWaterMark: 1 }), zstd, seal, out);
}

/** @param {AsyncIterable<Buffer>} source @returns {AsyncGenerator<Buffer, void>} */
async function* withTrailer(source) {
  const hash = crypto.createHash('sha256');
  for await (const chunk of source) {
    hash.update(chunk);
    yield chunk;
  }
  hash.update(FRAME);
  yield Buffer.concat([FRAME, hash.digest()]);
}

/**
 * Reads an archive and checks every byte of it. What `onEntry` got is authentic only if this function returns.
 * @param {string} file
 * @param {Keys} keys
 * @param {Parameters<typeof readTar>[1]} onEntry
 * @throws {CliError} with a sentence that names the damaged entry
 */
async function readArchive(file, keys, onEntry) {
  const place = { before: '' };
  /** @type {Error | null} */
  let cause = null;
  /** @type {zlib.ZstdOptions & import('node:stream').TransformOptions} */
  const options = {
    params: { [ZSTD_d_windowLogMax]: WINDOW_LOG },
    // One chunk at a time, so that what precedes a damaged place is read before the error.
    readableHighWaterMark: 1
  };
  const zstd = zlib.createZstdDecompress(options);
  const feeding = feed(file, keys, zstd).catch((error) => {
    cause = error;
    // What came before the damaged place is read still: it tells the name.
    zstd.end();
  });
  try {
    await readTar(zstd, onEntry, place);
    await feeding;
    if (cause) throw cause;
  } catch (error) {
    zstd.destroy();
    await feeding;
    // An entry whose checksum is wrong names itself, which is more than its place.
    throw inWords(error instanceof CliError ? error : (cause ?? error), file, place.before);
  }
}

/**
 * @param {string} file
 * @param {Keys} keys
 * @param {zlib.ZstdDecompress} zstd
 */
async function feed(file, keys, zstd) {
  for await (const chunk of contentOf(file, keys)) {
    if (zstd.destroyed) return;
    await write(zstd, chunk);
  }
  zstd.end();
}

/** @param {string} file @param {Keys} keys @returns {AsyncGenerator<Buffer, void>} the zstd frame */
async function* contentOf(file, { passphrase = '', identity = '' }) {
  const handle = await fs.promises.open(file, 'r');
  try {
    const start = Buffer.alloc(32);
    await handle.read(start, 0, start.length, 0);
    const stream = handle.createReadStream({ start: 0, autoClose: false });
    if (hasPassphrase(start)) yield* checked(decrypt(stream, passphrase));
    else yield* checked(age.isAge(start) ? age.open(stream, identity) : stream);
  } finally {
    await handle.close();
  }
}

/** @param {AsyncIterable<Buffer>} source @returns {AsyncGenerator<Buffer, void>} all but the checksum at its end */
async function* checked(source) {
  const hash = crypto.createHash('sha256');
  /** @type {Buffer} */
  let held = Buffer.alloc(0);
  for await (const chunk of source) {
    const all = Buffer.concat([held, chunk]);
    const part = all.subarray(0, Math.max(0, all.length - TRAILER));
    held = all.subarray(part.length);
    hash.update(part);
    if (part.length > 0) yield part;
  }
  if (!held.subarray(0, FRAME.length).equals(FRAME)) throw new TarError('it is cut short');
  if (!hash.update(FRAME).digest().equals(held.subarray(FRAME.length))) {
    throw new TarError('its checksum is wrong');
  }
}

/** @param {any} error @param {string} file @param {string} before @returns {Error} */
function inWords(error, file, before) {
  if (error instanceof CliError) return error;
  const { code = '', message } = error;
  const isDamage = error instanceof TarError || error instanceof CipherError;
  if (!isDamage && !/^(ZSTD_|Z_|ERR_ZSTD|ERR_ZLIB)/.test(code) && !(code === '' && /zstd/i.test(message))) {
    return error;
  }
  const where = before ? ` (at ${before}, or behind it)` : '';
  return new CliError(`${file} cannot be used: ${isDamage ? message : `it is damaged: ${message}`}${where}.`);
}

module.exports = { readArchive, writeArchive };
