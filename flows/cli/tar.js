'use strict';
// Tar archives (POSIX ustar) of regular files: what a backup needs, and no more.

const BLOCK = 512;
/** Largest file: eleven octal digits. */
const MAX_FILE_BYTES = 8 ** 11 - 1;
/** Most zeros behind the end of an archive: programs fill a record, of 10 KiB or more. */
const MAX_REST_BYTES = 1 << 20;

/**
 * @param {{ name: string, size: number, mode: number, mtimeMs: number }} entry
 * @returns {Buffer} the header
 */
function header({ name, size, mode, mtimeMs }) {
  if (size > MAX_FILE_BYTES) throw new Error(`${name} is larger than 8 GiB.`);
  const block = Buffer.alloc(BLOCK);
  const [prefix, short] = splitName(name);
  block.write(short, 0);
  block.write(octal(mode & 0o777, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(Math.max(0, Math.floor(mtimeMs / 1000)), 11), 136);
  block.write('0', 156);
  block.write('ustar\x0000', 257, 'latin1');
  block.write(prefix, 345);
  block.write(`${octal(checksum(block), 6)}\0 `, 148, 'latin1');
  return block;
}

/** @param {number} value @param {number} digits */
const octal = (value, digits) => value.toString(8).padStart(digits, '0');

/** @param {Buffer} block @returns {number} of the header, with spaces in place of the sum */
function checksum(block) {
  let sum = 8 * 32;
  for (const [i, byte] of block.entries()) if (i < 148 || i >= 156) sum += byte;
  return sum;
}

/** @param {string} name @returns {[string, string]} prefix of at most 155 bytes, name of at most 100 */
function splitName(name) {
  if (Buffer.byteLength(name) <= 100) return ['', name];
  for (let at = name.indexOf('/'); at >= 0; at = name.indexOf('/', at + 1)) {
    const [prefix, short] = [name.slice(0, at), name.slice(at + 1)];
    if (Buffer.byteLength(prefix) <= 155 && short && Buffer.byteLength(short) <= 100) return [prefix, short];
  }
  throw new Error(`The name ${name} is too long for a backup.`);
}

/** @param {number} size @returns {Buffer} zeros up to the next block */
const padding = (size) => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

/** The end of an archive. */
const END = Buffer.alloc(2 * BLOCK);

/** @typedef {{ name: string, size: number, mode: number, mtimeMs: number }} Entry */

/**
 * @param {Buffer} block
 * @returns {Entry | null} null = the end of the archive
 * @throws {Error} if it is not the header of a regular file
 */
function parseHeader(block) {
  if (block.every((byte) => byte === 0)) return null;
  const text = (/** @type {number} */ at, /** @type {number} */ bytes) =>
    block
      .subarray(at, at + bytes)
      .toString()
      .replace(/\0.*$/s, '');
  const number = (/** @type {number} */ at, /** @type {number} */ bytes) => {
    const digits = text(at, bytes).trim();
    return /^[0-7]+$/.test(digits) ? parseInt(digits, 8) : NaN;
  };
  const [size, mode, mtime] = [number(124, 12), number(100, 8), number(136, 12)];
  const kind = text(156, 1);
  const isSound = number(148, 8) === checksum(block) && text(257, 6).startsWith('ustar');
  if (!isSound || !Number.isSafeInteger(size) || Number.isNaN(mode) || Number.isNaN(mtime)) {
    throw new Error('it is not a tar archive, or it is damaged');
  }
  const prefix = text(345, 155);
  const name = (prefix ? `${prefix}/` : '') + text(0, 100);
  if (kind !== '0' && kind !== '') throw new Error(`${name} is not a regular file`);
  return { name, size, mode: mode & 0o777, mtimeMs: mtime * 1000 };
}

/**
 * Reads an archive.
 * @param {AsyncIterable<Buffer>} chunks
 * @param {(entry: Entry, body: AsyncGenerator<Buffer, void>) => Promise<void>} onEntry reads all of the body
 * @returns {Promise<void>} rejects if the archive is cut short
 */
async function readTar(chunks, onEntry) {
  const source = chunks[Symbol.asyncIterator]();
  /** @type {Buffer} */
  let held = Buffer.alloc(0);
  /** @param {number} most @returns {Promise<Buffer>} 1 to `most` bytes */
  const some = async (most) => {
    while (held.length === 0) {
      const { value, done } = await source.next();
      if (done) throw new Error('it is cut short');
      held = value;
    }
    const part = held.subarray(0, most);
    held = held.subarray(part.length);
    return part;
  };
  /** @param {number} size */
  const exactly = async (size) => {
    const parts = [];
    for (let left = size; left > 0; left -= parts[parts.length - 1].length) parts.push(await some(left));
    return Buffer.concat(parts);
  };
  /** @param {number} size */
  async function* body(size) {
    for (let left = size; left > 0;) {
      const part = await some(left);
      left -= part.length;
      yield part;
    }
  }
  for (;;) {
    const entry = parseHeader(await exactly(BLOCK));
    if (!entry) break;
    await onEntry(entry, body(entry.size));
    await exactly(padding(entry.size).length);
  }
  // Reads the rest, whose checksum zlib verifies.
  let rest = held.length;
  held = Buffer.alloc(0);
  for (;;) {
    const { value, done } = await source.next();
    if (done) return;
    rest += value.length;
    if (rest > MAX_REST_BYTES) throw new Error('it has more data behind its end');
  }
}

module.exports = { END, MAX_FILE_BYTES, header, padding, readTar };
