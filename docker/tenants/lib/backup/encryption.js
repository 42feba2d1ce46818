'use strict';
// Encryption of a backup with a passphrase.
//
//   header  8 B 'SEGANETB' | version 1 | log2 N | r | p | 16 B salt |
//           the first 8 B of the SHA-256 of the 28 B before | 32 B HMAC-SHA-256 of the 36 B before
//   chunks  AES-256-GCM of 64 KiB of plaintext each, the last one shorter (it may be empty), with a tag of 16 B
//
// scrypt makes 64 B of the passphrase and the salt: the key of the cipher and the key of the HMAC. A header whose
// checksum is right and whose HMAC is not was written with another passphrase. The nonce of a chunk is its number (11
// B) and 1 for the last chunk, 0 for others, so a file that is cut short, longer, or in another order is refused. The
// key belongs to one file because the salt is random. The header is authenticated with each chunk.

const crypto = require('node:crypto');
const { promisify } = require('node:util');
const { CliError, EXIT } = require('../base/errors');

const scrypt =
  /** @type {(password: Buffer, salt: Buffer, bytes: number, options: crypto.ScryptOptions) => Promise<Buffer>} */ (
    promisify(crypto.scrypt)
  );

const MAGIC = Buffer.from('SEGANETB');
const VERSION = 1;
const CHUNK = 64 << 10;
const TAG = 16;
const SALTED = 28;
const CHECKED = 36;
const HEADER = 68;
/** scrypt with 32 MiB of memory, three times: as costly as OWASP's 2^17, 8, 1, and possible on a small board. */
const COST = { logN: 15, r: 8, p: 3 };
/** Most memory and passes that a file may demand of its reader. */
const MOST = { logN: 18, r: 16, p: 16, bytes: 256 << 20 };
const LEAST_CHARACTERS = 12;

/** A file that cannot be decrypted. Its message is the rest of a sentence. */
class CipherError extends Error {}

/** @param {Buffer} start of a file */
const isEncrypted = (start) => start.subarray(0, MAGIC.length).equals(MAGIC);

/** @param {string} passphrase @throws {CliError} */
function checkPassphrase(passphrase) {
  if ([...passphrase].length >= LEAST_CHARACTERS) return;
  throw new CliError(`The passphrase must have at least ${LEAST_CHARACTERS} characters.`, EXIT.CONFIG);
}

/**
 * @param {string} passphrase
 * @param {Buffer} salted the first 28 B of the header
 */
async function keysOf(passphrase, salted) {
  const [logN, r, p] = salted.subarray(9, 12);
  const options = { N: 2 ** logN, r, p, maxmem: MOST.bytes + (32 << 20) };
  const bytes = await scrypt(Buffer.from(passphrase.normalize('NFC')), salted.subarray(12), 64, options);
  return { cipher: bytes.subarray(0, 32), mac: bytes.subarray(32) };
}

/** @param {number} index @param {boolean} isLast */
function nonceOf(index, isLast) {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(index), 3);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

/**
 * @param {AsyncIterable<Buffer>} source
 * @param {string} passphrase
 * @param {{ logN: number, r: number, p: number }} [cost] of scrypt
 * @returns {AsyncGenerator<Buffer, void>} the encrypted file
 */
async function* encrypt(source, passphrase, cost = COST) {
  const salted = Buffer.alloc(SALTED);
  MAGIC.copy(salted);
  salted.set([VERSION, cost.logN, cost.r, cost.p], 8);
  crypto.randomFillSync(salted, 12);
  const { cipher: key, mac } = await keysOf(passphrase, salted);
  const checked = Buffer.concat([salted, sumOf(salted)]);
  const header = Buffer.concat([checked, crypto.createHmac('sha256', mac).update(checked).digest()]);
  yield header;
  let index = 0;
  const seal = (/** @type {Buffer} */ plain, /** @type {boolean} */ isLast) => {
    const cipher = crypto.createCipheriv('aes-256-gcm', key, nonceOf(index++, isLast)).setAAD(header);
    return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  };
  for await (const { bytes, isLast } of pieces(source, CHUNK)) yield seal(bytes, isLast);
}

/**
 * @param {AsyncIterable<Buffer>} source the whole file
 * @param {string} passphrase '' = none was given
 * @returns {AsyncGenerator<Buffer, void>} authenticated plaintext
 * @throws {CipherError}
 */
async function* decrypt(source, passphrase) {
  const iterator = source[Symbol.asyncIterator]();
  /** @type {Buffer} */
  let held = Buffer.alloc(0);
  while (held.length < HEADER) {
    const { value, done } = await iterator.next();
    if (done) throw new CipherError('it is cut short');
    held = Buffer.concat([held, value]);
  }
  const header = Buffer.from(held.subarray(0, HEADER));
  const key = await openHeader(header, passphrase);
  const rest = (async function* () {
    yield held.subarray(HEADER);
    yield* { [Symbol.asyncIterator]: () => iterator };
  })();
  let index = 0;
  for await (const { bytes, isLast } of pieces(rest, CHUNK + TAG)) {
    if (bytes.length < TAG) throw new CipherError('it is cut short');
    const nonce = nonceOf(index++, isLast);
    const cipher = crypto.createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG }).setAAD(header);
    cipher.setAuthTag(bytes.subarray(-TAG));
    const plain = cipher.update(bytes.subarray(0, -TAG));
    try {
      cipher.final();
    } catch {
      throw new CipherError(isLast ? 'it is damaged, or cut short' : 'it is damaged');
    }
    yield plain;
  }
}

/** @param {Buffer} header @param {string} passphrase @returns {Promise<Buffer>} the key of the cipher */
async function openHeader(header, passphrase) {
  const [salted, checked] = [header.subarray(0, SALTED), header.subarray(0, CHECKED)];
  const [version, logN, r, p] = header.subarray(8, 12);
  if (!isEncrypted(header) || !sumOf(salted).equals(header.subarray(SALTED, CHECKED))) {
    throw new CipherError('its header is damaged');
  }
  if (version !== VERSION) throw new CipherError('a newer version of this program encrypted it');
  const isSmall = logN >= 1 && logN <= MOST.logN && r >= 1 && r <= MOST.r && p >= 1 && p <= MOST.p;
  if (!isSmall || 128 * 2 ** logN * r > MOST.bytes)
    throw new CipherError('its header demands too much memory');
  if (!passphrase)
    throw new CipherError('it is encrypted. Name the file of its passphrase with --passphrase-file');
  const { cipher, mac } = await keysOf(passphrase, salted);
  const right = crypto.createHmac('sha256', mac).update(checked).digest();
  if (!crypto.timingSafeEqual(right, header.subarray(CHECKED))) {
    throw new CipherError('the passphrase is wrong');
  }
  return cipher;
}

/** @param {Buffer} bytes */
const sumOf = (bytes) => crypto.createHash('sha256').update(bytes).digest().subarray(0, 8);

/**
 * Cuts a stream into pieces of `size` bytes. The last piece has 0 to `size` bytes.
 * @param {AsyncIterable<Buffer>} source
 * @param {number} size
 * @returns {AsyncGenerator<{ bytes: Buffer, isLast: boolean }, void>}
 */
async function* pieces(source, size) {
  /** @type {Buffer[]} */
  let parts = [];
  let held = 0;
  for await (const chunk of source) {
    parts.push(chunk);
    held += chunk.length;
    if (held <= size) continue;
    const all = Buffer.concat(parts);
    let at = 0;
    // A whole piece stays until more bytes follow it: it may be the last one.
    for (; all.length - at > size; at += size) yield { bytes: all.subarray(at, at + size), isLast: false };
    parts = [all.subarray(at)];
    held = all.length - at;
  }
  yield { bytes: Buffer.concat(parts), isLast: true };
}

module.exports = { CHUNK, CipherError, HEADER, checkPassphrase, decrypt, encrypt, isEncrypted };
