'use strict';
// Encryption of a backup with a passphrase, in the format of age (https://c2sp.org/age): `age --decrypt` asks for the
// passphrase and opens the file. That program itself takes a passphrase only from a terminal, which a backup at night
// does not have.
//
//   header   age-encryption.org/v1
//            -> scrypt SALT LOG2-N
//            the key of the file, sealed with the key that scrypt makes of the passphrase
//            --- HMAC-SHA-256 of all before
//   payload  nonce of 16 B, and 64 KiB of plaintext each in ChaCha20-Poly1305 with a tag of 16 B
//
// The nonce of a chunk is its number (11 B) and 1 for the last chunk, 0 for others, so a file that is cut short, longer
// or in another order is refused.

const crypto = require('node:crypto');
const { promisify } = require('node:util');
const { CliError, EXIT } = require('../base/errors');

const scrypt =
  /** @type {(password: string, salt: Buffer, bytes: number, options: crypto.ScryptOptions) => Promise<Buffer>} */ (
    promisify(crypto.scrypt)
  );

const START = 'age-encryption.org/v1\n-> scrypt ';
/** The salt, the cost, the sealed key, and behind the match the HMAC. */
const HEADER =
  /^age-encryption\.org\/v1\n-> scrypt ([A-Za-z0-9+/]{22}) ([1-9]\d?)\n([A-Za-z0-9+/]{43})\n---(?= ([A-Za-z0-9+/]{43})\n)/;
/** Longest header, bytes. */
const MOST_HEADER = 150;
/** Bytes of a key of a file, a salt, the nonce of a payload, and a tag. */
const SIXTEEN = 16;
const CHUNK = 64 << 10;
/** Of scrypt with r = 8 and p = 1, as OWASP recommends: 128 MiB of memory, for a second on a small board. */
const LOG_N = 17;
/** The most that a file may demand, 256 MiB: what age itself writes. */
const MOST_LOG_N = 18;
const LEAST_CHARACTERS = 12;

/** A file that cannot be decrypted. Its message is the rest of a sentence. */
class CipherError extends Error {}

/** @param {Buffer} start at least 32 B of a file */
const hasPassphrase = (start) => start.subarray(0, START.length).equals(Buffer.from(START));

/** @param {string} passphrase @throws {CliError} */
function checkPassphrase(passphrase) {
  if ([...passphrase].length >= LEAST_CHARACTERS) return;
  throw new CliError(`The passphrase must have at least ${LEAST_CHARACTERS} characters.`, EXIT.CONFIG);
}

/** @param {Buffer} bytes @returns {string} without padding */
const base64 = (bytes) => bytes.toString('base64').replace(/=+$/, '');

/** @param {string} text @returns {Buffer} @throws {CipherError} it has bits behind its last byte */
function bytesOf(text) {
  const bytes = Buffer.from(text, 'base64');
  if (base64(bytes) !== text) throw new CipherError('its header is damaged');
  return bytes;
}

/**
 * Returns the key that seals the key of the file.
 * @param {string} passphrase
 * @param {Buffer} salt
 * @param {number} logN
 */
const wrappingKey = (passphrase, salt, logN) =>
  scrypt(passphrase, Buffer.concat([Buffer.from('age-encryption.org/v1/scrypt'), salt]), 32, {
    N: 2 ** logN,
    r: 8,
    p: 1,
    // 1 KiB for each unit of N, and what OpenSSL needs beside it.
    maxmem: 2 ** (logN + 10) + (1 << 20)
  });

/** @param {Buffer} fileKey @param {Buffer} salt @param {string} purpose */
const derived = (fileKey, salt, purpose) =>
  Buffer.from(crypto.hkdfSync('sha256', fileKey, salt, Buffer.from(purpose), 32));

/** @param {Buffer} fileKey @param {string} header up to its last line, with the three dashes of that */
const macOf = (fileKey, header) =>
  crypto
    .createHmac('sha256', derived(fileKey, Buffer.alloc(0), 'header'))
    .update(header)
    .digest();

/** Of a chunk; the key of the file is sealed as 0, not the last. @param {number} index @param {boolean} isLast */
function nonceOf(index, isLast) {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(index), 3);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

/** @param {Buffer} key @param {Buffer} nonce @param {Buffer} plain */
function sealed(key, nonce, plain) {
  const cipher = crypto.createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: SIXTEEN });
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** @param {Buffer} key @param {Buffer} nonce @param {Buffer} bytes @returns {Buffer | null} null = not authentic */
function opened(key, nonce, bytes) {
  if (bytes.length < SIXTEEN) return null;
  const cipher = crypto.createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: SIXTEEN });
  cipher.setAuthTag(bytes.subarray(-SIXTEEN));
  const plain = cipher.update(bytes.subarray(0, -SIXTEEN));
  try {
    cipher.final();
  } catch {
    return null;
  }
  return plain;
}

/**
 * @param {AsyncIterable<Buffer>} source
 * @param {string} passphrase
 * @param {number} [logN] cost of scrypt
 * @returns {AsyncGenerator<Buffer, void>} the encrypted file
 */
async function* encrypt(source, passphrase, logN = LOG_N) {
  const [fileKey, salt, nonce] = [SIXTEEN, SIXTEEN, SIXTEEN].map((bytes) => crypto.randomBytes(bytes));
  const wrapped = sealed(await wrappingKey(passphrase, salt, logN), nonceOf(0, false), fileKey);
  const header = `${START}${base64(salt)} ${logN}\n${base64(wrapped)}\n---`;
  yield Buffer.concat([Buffer.from(`${header} ${base64(macOf(fileKey, header))}\n`), nonce]);
  const key = derived(fileKey, nonce, 'payload');
  let index = 0;
  for await (const { bytes, isLast } of pieces(source, CHUNK))
    yield sealed(key, nonceOf(index++, isLast), bytes);
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
  while (held.length < MOST_HEADER + SIXTEEN) {
    const { value, done } = await iterator.next();
    if (done) throw new CipherError('it is cut short');
    held = Buffer.concat([held, value]);
  }
  const { fileKey, end } = await openHeader(held.toString('latin1', 0, MOST_HEADER), passphrase);
  const key = derived(fileKey, held.subarray(end, end + SIXTEEN), 'payload');
  const rest = (async function* () {
    yield held.subarray(end + SIXTEEN);
    yield* { [Symbol.asyncIterator]: () => iterator };
  })();
  let index = 0;
  for await (const { bytes, isLast } of pieces(rest, CHUNK + SIXTEEN)) {
    const plain = opened(key, nonceOf(index, isLast), bytes);
    // Only the single chunk of an empty file may be empty.
    if (!plain || (plain.length === 0 && index > 0))
      throw new CipherError(isLast ? 'it is damaged, or cut short' : 'it is damaged');
    index++;
    yield plain;
  }
}

/**
 * @param {string} text of the file's beginning
 * @param {string} passphrase
 * @returns {Promise<{ fileKey: Buffer, end: number }>} end: of the header, bytes
 * @throws {CipherError}
 */
async function openHeader(text, passphrase) {
  const [header, salt, cost, wrapped, mac] = HEADER.exec(text) ?? [];
  if (!header) throw new CipherError('its header is damaged');
  const logN = Number(cost);
  if (logN > MOST_LOG_N) throw new CipherError('its header demands too much memory');
  if (!passphrase)
    throw new CipherError('it is encrypted. Name the file of its passphrase with --passphrase-file');
  const key = await wrappingKey(passphrase, bytesOf(salt), logN);
  const fileKey = opened(key, nonceOf(0, false), bytesOf(wrapped));
  if (!fileKey) throw new CipherError('the passphrase is wrong, or its header is damaged');
  if (!crypto.timingSafeEqual(macOf(fileKey, header), bytesOf(mac)))
    throw new CipherError('its header is damaged');
  return { fileKey, end: header.length + 1 + mac.length + 1 };
}

/**
 * Cuts a stream into pieces of `size` bytes. The last piece has 1 to `size` bytes, unless the stream is empty.
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

module.exports = { CHUNK, CipherError, checkPassphrase, decrypt, encrypt, hasPassphrase };
