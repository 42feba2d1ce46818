'use strict';
// Tar archives (POSIX.1-2001: ustar with pax headers), as far as a backup needs them: files, folders and relative
// links, each behind a pax header, which may have the SHA-256 of a file, so that a reader can name the one that is
// damaged.
//
// The reader accepts what the writer makes and nothing else. Every size in it is limited before memory is taken.

const { isUtf8 } = require('node:buffer');

const BLOCK = 512;
/** The end of an archive. */
const END = Buffer.alloc(2 * BLOCK);
/** Largest size in the eleven octal digits of a header; a larger one is in the pax header. */
const MAX_OCTAL = 8 ** 11 - 1;
const MAX_PAX_BYTES = 64 << 10;
const MAX_NAME_BYTES = 4096;
/** Latest and, below zero, earliest time of a file, ms. */
const LARGEST_TIME = 1e14;
const TYPES = /** @type {const} */ ({ file: '0', link: '2', folder: '5' });
const SUM = 'SEGANET.sha256';
const KEYS = ['path', 'linkpath', 'size', 'mtime', SUM];

/**
 * @typedef {keyof typeof TYPES} Type
 *
 * @typedef {object} Entry
 * @property {string} name with / between the parts and none at the end
 * @property {Type} type
 * @property {number} size bytes of the body, 0 unless it is a file
 * @property {number} mode 0..0o777
 * @property {number} mtimeMs whole milliseconds
 * @property {string} link target of a link, '' for others
 * @property {string} sha256 of a file in hexadecimal digits; '' = not known, or not a file
 */

/** An archive that is damaged, or that no backup contains. Its message is the rest of a sentence. */
class TarError extends Error {}

/**
 * Returns what precedes the body of an entry.
 * @param {Pick<Entry, 'name' | 'size' | 'mode' | 'mtimeMs'> & Partial<Entry>} entry a file, unless it has another type
 * @returns {Buffer}
 */
function head({ name, type = 'file', size, mode, mtimeMs: time, link = '', sha256 = '' }) {
  const shown = type === 'folder' ? `${name}/` : name;
  const mtimeMs = possibleTime(time);
  const records = [`mtime=${(mtimeMs / 1000).toFixed(3)}`];
  if (!isShort(shown)) records.push(`path=${shown}`);
  if (link && !isShort(link)) records.push(`linkpath=${link}`);
  if (size > MAX_OCTAL) records.push(`size=${size}`);
  if (sha256) records.push(`${SUM}=${sha256}`);
  const pax = Buffer.from(records.map(paxRecord).join(''));
  const seconds = Math.max(0, Math.floor(mtimeMs / 1000));
  return Buffer.concat([
    header({ name: 'pax', size: pax.length, mode: 0o600, seconds, type: 'x', link: '' }),
    pax,
    padding(pax.length),
    header({
      name: isShort(shown) ? shown : 'long',
      size: Math.min(size, MAX_OCTAL),
      mode,
      seconds,
      type: TYPES[type],
      link: isShort(link) ? link : 'long'
    })
  ]);
}

/** Returns the next time that an archive can have, in whole milliseconds. @param {number} mtimeMs */
const possibleTime = (mtimeMs) => Math.round(Math.max(-LARGEST_TIME, Math.min(LARGEST_TIME, mtimeMs)));

/** True if a name needs no pax header. @param {string} name */
const isShort = (name) => name.length <= 100 && /^[\x20-\x7e]*$/.test(name);

/** @param {string} text `key=value` @returns {string} with its length in bytes, which counts its own digits, too */
function paxRecord(text) {
  const rest = Buffer.byteLength(text) + 2;
  let length = rest + 1;
  while (rest + String(length).length !== length) length = rest + String(length).length;
  return `${length} ${text}\n`;
}

/** @param {{ name: string, size: number, mode: number, seconds: number, type: string, link: string }} fields */
function header({ name, size, mode, seconds, type, link }) {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 100);
  block.write(octal(mode & 0o777, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(Math.min(seconds, MAX_OCTAL), 11), 136);
  block.write(type, 156);
  block.write(link, 157, 100);
  block.write('ustar\x0000', 257, 'latin1');
  block.write(`${octal(checksum(block), 6)}\0 `, 148, 'latin1');
  return block;
}

/** @param {number} value @param {number} digits */
const octal = (value, digits) => value.toString(8).padStart(digits, '0');

/** @param {Buffer} block @returns {number} of the header, with spaces in place of the sum */
function checksum(block) {
  let sum = 8 * 32;
  for (let i = 0; i < BLOCK; i++) if (i < 148 || i >= 156) sum += block[i];
  return sum;
}

/** @param {number} size @returns {Buffer} zeros up to the next block */
const padding = (size) => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

/**
 * Reads an archive.
 * @param {AsyncIterable<Buffer>} chunks
 * @param {(entry: Entry, body: AsyncGenerator<Buffer, void>) => Promise<void>} onEntry reads all of the body
 * @param {{ before: string }} [place] before: name of the entry that was read last, for messages
 * @returns {Promise<void>}
 * @throws {TarError}
 */
async function readTar(chunks, onEntry, place = { before: '' }) {
  const bytes = new ByteReader(chunks);
  for (;;) {
    const block = await bytes.exactly(BLOCK);
    if (isZero(block)) break;
    const first = parseHeader(block);
    if (first.type !== 'x')
      throw new TarError(
        'it has an entry without a pax header: another program wrote it, or an older version'
      );
    if (first.size > MAX_PAX_BYTES) throw new TarError('it has a header that is too long');
    const pax = parsePax(await bytes.exactly(first.size));
    checkZero(await bytes.exactly(padding(first.size).length));
    const entry = entryOf(parseHeader(await bytes.exactly(BLOCK)), pax);
    place.before = entry.name;
    await onEntry(entry, bytes.body(entry.size));
    checkZero(await bytes.exactly(padding(entry.size).length));
  }
  checkZero(await bytes.exactly(BLOCK));
  if (!(await bytes.isAtEnd())) throw new TarError('it has more bytes behind its end');
}

class ByteReader {
  #source;
  /** @type {Buffer} */
  #held = Buffer.alloc(0);

  /** @param {AsyncIterable<Buffer>} chunks */
  constructor(chunks) {
    this.#source = chunks[Symbol.asyncIterator]();
  }

  /** @param {number} most @returns {Promise<Buffer>} 1 to `most` bytes */
  async some(most) {
    if (await this.isAtEnd()) throw new TarError('it is cut short');
    const part = this.#held.subarray(0, most);
    this.#held = this.#held.subarray(part.length);
    return part;
  }

  /** @param {number} size */
  async exactly(size) {
    const parts = [];
    for (let left = size; left > 0; left -= parts[parts.length - 1].length) parts.push(await this.some(left));
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  /** @param {number} size @returns {AsyncGenerator<Buffer, void>} */
  async *body(size) {
    for (let left = size; left > 0;) {
      const part = await this.some(left);
      left -= part.length;
      yield part;
    }
  }

  async isAtEnd() {
    while (this.#held.length === 0) {
      const { value, done } = await this.#source.next();
      if (done) return true;
      this.#held = value;
    }
    return false;
  }
}

/** @param {Buffer} block */
const isZero = (block) => block.every((byte) => byte === 0);

/** @param {Buffer} block */
function checkZero(block) {
  if (!isZero(block)) throw new TarError('it is not a tar archive, or it is damaged');
}

/** @typedef {{ name: string, size: number, mode: number, type: string, link: string }} Header */

/** @param {Buffer} block @returns {Header} */
function parseHeader(block) {
  const text = (/** @type {number} */ at, /** @type {number} */ bytes) => {
    const field = block.subarray(at, at + bytes);
    const end = field.indexOf(0);
    return field.subarray(0, end < 0 ? bytes : end).toString('latin1');
  };
  const number = (/** @type {number} */ at, /** @type {number} */ bytes) => {
    const digits = text(at, bytes).trim();
    return /^[0-7]+$/.test(digits) ? parseInt(digits, 8) : NaN;
  };
  const [size, mode] = [number(124, 12), number(100, 8)];
  const isSound = number(148, 8) === checksum(block) && text(257, 6) === 'ustar';
  if (!isSound || Number.isNaN(size) || Number.isNaN(mode)) {
    throw new TarError('it is not a tar archive, or it is damaged');
  }
  return { name: text(0, 100), size, mode: mode & 0o777, type: text(156, 1), link: text(157, 100) };
}

/** @param {Buffer} bytes @returns {Map<string, string>} */
function parsePax(bytes) {
  const wrong = () => new TarError('it has a damaged header');
  /** @type {Map<string, string>} */
  const pax = new Map();
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(0x20, at);
    const digits = space > at && space - at <= 6 ? bytes.toString('latin1', at, space) : '';
    const end = at + (/^[1-9]\d*$/.test(digits) ? Number(digits) : 0);
    if (end <= space + 1 || end > bytes.length || bytes[end - 1] !== 0x0a) throw wrong();
    const record = decoded(bytes.subarray(space + 1, end - 1));
    if (record === null) throw wrong();
    const equals = record.indexOf('=');
    const key = record.slice(0, equals);
    if (equals < 1 || !KEYS.includes(key) || pax.has(key)) throw wrong();
    pax.set(key, record.slice(equals + 1));
    at = end;
  }
  return pax;
}

/** @param {Buffer} bytes @returns {string | null} null = not UTF-8 */
function decoded(bytes) {
  return isUtf8(bytes) ? bytes.toString() : null;
}

/** @param {Header} fields @param {Map<string, string>} pax @returns {Entry} */
function entryOf(fields, pax) {
  const shown = pax.get('path') ?? fields.name;
  const found = Object.entries(TYPES).find(([, code]) => code === fields.type);
  if (!found) throw new TarError(`${JSON.stringify(shown)} is neither a file, a folder nor a link`);
  const type = /** @type {Type} */ (found[0]);
  const size = pax.has('size') ? Number(pax.get('size')) : fields.size;
  const mtimeMs = Math.round(Number(pax.get('mtime')) * 1000);
  const sha256 = pax.get(SUM) ?? '';
  const isFolder = type === 'folder';
  const isSound =
    /^\d{1,15}$/.test(String(size)) &&
    /^-?\d{1,12}\.\d{3}$/.test(pax.get('mtime') ?? '') &&
    (type === 'file' ? /^([0-9a-f]{64})?$/.test(sha256) : sha256 === '' && size === 0) &&
    shown.endsWith('/') === isFolder;
  if (!isSound) throw new TarError(`the header of ${JSON.stringify(shown)} is damaged`);
  const name = isFolder ? shown.slice(0, -1) : shown;
  const link = type === 'link' ? (pax.get('linkpath') ?? fields.link) : '';
  if (Buffer.byteLength(name) > MAX_NAME_BYTES || Buffer.byteLength(link) > MAX_NAME_BYTES) {
    throw new TarError('it has a name that is too long');
  }
  return { name, type, size, mode: fields.mode, mtimeMs, link, sha256 };
}

module.exports = { END, MAX_NAME_BYTES, TarError, head, padding, possibleTime, readTar };
