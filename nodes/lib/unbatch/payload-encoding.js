'use strict';
// How the payload of an envelope is encoded: by properties of MQTT 5, or by a prefix (docs/reference/messages.md).
// Pure. All of it is network input.

const { types } = require('node:util');
const zlib = require('node:zlib');
const { EnvelopeError, MAX_BYTES } = require('./envelope-error');

/** FE SG, version 1. */
const MAGIC = Buffer.from([0xfe, 0x53, 0x47, 0x01]);
const ENCODINGS = ['', 'zstd', 'deflate'];
/** A frame begins like this [RFC 8878, 3.1.1]; no JSON does. */
const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
/** Deflate with a window of 32 KiB, and the sum of the first two bytes [RFC 1950, 2.2]. */
const ZLIB_METHOD = 0x78;
const ZLIB_MODULUS = 31;
/** In the byte of the encoding: the hash of a dictionary follows. */
const HAS_DICTIONARY = 0x80;
const HASH_BYTES = 8;
/** In the byte of the format: the rest is the content of a dictionary. */
const DICTIONARY = 0xff;
/** Number of NDJSON in a prefix. */
const NDJSON = 0;
/** Number of SenML in CBOR. The first byte of the content names the format, too. */
const LAST_FORMAT = 4;
const MAX_DICTIONARY_BYTES = 32768;

/**
 * @typedef {object} Encoded
 * @property {number} format number of the format below the compression
 * @property {string} encoding '' = not compressed
 * @property {string} dictionary hash in hexadecimal, '' = none
 * @property {Buffer} bytes
 */

/**
 * Returns the content of a message that brings a dictionary, null for any other message. A single record of a device,
 * whose payload may be anything, has a key.
 * @param {{ payload?: unknown, userProperties?: Record<string, any> }} msg
 * @returns {Buffer | null}
 * @throws {EnvelopeError} with a sentence
 */
function dictionaryIn({ payload, userProperties = {} }) {
  if (userProperties['seganet-key'] !== undefined) return null;
  const bytes = prefixed(payload);
  if (bytes?.[MAGIC.length] !== DICTIONARY) return null;
  const content = bytes.subarray(MAGIC.length + 1);
  if (content.length > 0 && content.length <= MAX_DICTIONARY_BYTES) return content;
  throw new EnvelopeError(
    `The dictionary has ${content.length} bytes; it must have 1 to ${MAX_DICTIONARY_BYTES}.`
  );
}

/**
 * True for a message that removes a retained dictionary from the broker. Subscribers get it, too.
 * @param {{ topic?: unknown, payload?: unknown, userProperties?: Record<string, any> }} msg
 */
function isRemoval({ topic, payload, userProperties = {} }) {
  const isEmpty = types.isUint8Array(payload) && payload.length === 0;
  return isEmpty && userProperties['seganet-key'] === undefined && isDictionaryTopic(String(topic ?? ''));
}

/**
 * Tells whether a topic may be that of a dictionary: the class of the batch topic, which may share its level with other
 * text, is this word.
 * @param {string} topic
 */
function isDictionaryTopic(topic) {
  return /[12]$/.test(topic) && topic.slice(0, topic.lastIndexOf('/') + 1).includes('dictionary');
}

/**
 * Returns how the payload is encoded, null = it is not.
 * @param {{ payload?: unknown, userProperties?: Record<string, any> }} msg from the core mqtt in node
 * @returns {Encoded | null}
 * @throws {EnvelopeError} with a sentence
 */
function encodingOf({ payload, userProperties = {} }) {
  const named = first(userProperties['content-encoding']);
  if (named !== undefined) return byProperties(payload, named, first(userProperties['seganet-dictionary']));
  // A single record of a device has a key and no encoding, and its payload may begin with anything.
  if (userProperties['seganet-key'] !== undefined || !types.isUint8Array(payload)) return null;
  const bytes = prefixed(payload);
  return bytes ? byPrefix(bytes) : byMagic(payload);
}

/**
 * Recognizes a compressed envelope that has lost its properties, such as the record of an mqtt devices node.
 * @param {Uint8Array} payload
 * @returns {Encoded | null}
 */
function byMagic(payload) {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length);
  const isZstd = startsWith(bytes, ZSTD_MAGIC);
  const isZlib = bytes.length > 1 && bytes[0] === ZLIB_METHOD && bytes.readUInt16BE(0) % ZLIB_MODULUS === 0;
  if (!isZstd && !isZlib) return null;
  return { format: NDJSON, encoding: isZstd ? 'zstd' : 'deflate', dictionary: '', bytes };
}

/**
 * @param {unknown} payload
 * @param {unknown} encoding
 * @param {unknown} dictionary
 * @returns {Encoded}
 */
function byProperties(payload, encoding, dictionary = '') {
  if (encoding === '' || !ENCODINGS.includes(String(encoding)))
    throw new EnvelopeError(
      `The envelope has the content-encoding '${String(encoding).slice(0, 40)}'; zstd and deflate are supported.`
    );
  if (!types.isUint8Array(payload))
    throw new EnvelopeError(
      'The envelope is compressed, so msg.payload must be a Buffer. Set the output of the mqtt in node to "a Buffer".'
    );
  if (!/^([0-9a-f]{16})?$/.test(String(dictionary)))
    throw new EnvelopeError(
      'The name of the dictionary (seganet-dictionary) must have 16 hexadecimal digits.'
    );
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length);
  return { format: NDJSON, encoding: String(encoding), dictionary: String(dictionary), bytes };
}

/** @param {Buffer} bytes with the prefix @returns {Encoded} */
function byPrefix(bytes) {
  const at = MAGIC.length;
  const [format = -1, code = -1] = bytes.subarray(at);
  const encoding = ENCODINGS[code & ~HAS_DICTIONARY];
  const hasDictionary = (code & HAS_DICTIONARY) !== 0;
  const start = at + 2 + (hasDictionary ? HASH_BYTES : 0);
  if (code < 0 || bytes.length < start) throw new EnvelopeError('The prefix of the envelope is incomplete.');
  if (encoding === undefined || (hasDictionary && encoding === ''))
    throw new EnvelopeError(`The prefix of the envelope has the unknown encoding ${code}.`);
  const dictionary = hasDictionary ? bytes.toString('hex', at + 2, start) : '';
  return { format, encoding, dictionary, bytes: bytes.subarray(start) };
}

/**
 * @param {Encoded} encoded with an encoding
 * @param {Buffer | undefined} dictionary its content; undefined = none
 * @returns {Buffer}
 * @throws {EnvelopeError} with a sentence
 */
function decompress({ encoding, bytes }, dictionary) {
  const options = { maxOutputLength: MAX_BYTES, ...(dictionary && { dictionary }) };
  try {
    if (encoding === 'deflate') return zlib.inflateSync(bytes, options);
    // Node.js 22.15 has zstd; dictionaries for it came with 22.19 and 24.6.
    if (!zlib.zstdDecompressSync) throw new EnvelopeError(NO_ZSTD);
    return zlib.zstdDecompressSync(bytes, options);
  } catch (error) {
    throw explained(/** @type {NodeJS.ErrnoException} */ (error), encoding, dictionary !== undefined);
  }
}

/**
 * @param {NodeJS.ErrnoException} error
 * @param {string} encoding
 * @param {boolean} hasDictionary
 */
function explained(error, encoding, hasDictionary) {
  if (error instanceof EnvelopeError) return error;
  if (error.code === 'ERR_BUFFER_TOO_LARGE')
    return new EnvelopeError(
      `The envelope has more than ${MAX_BYTES} bytes when decompressed; it is refused.`
    );
  if (encoding === 'zstd' && hasDictionary && !zstdKnowsDictionaries()) return new EnvelopeError(NO_ZSTD);
  return new EnvelopeError(
    `The envelope cannot be decompressed (${encoding}, ${error.code ?? error.message}).`
  );
}

function zstdKnowsDictionaries() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > 24 || (major === 24 && minor >= 6) || (major === 22 && minor >= 19);
}

const NO_ZSTD = `The envelope is compressed with zstd and a dictionary, which Node.js ${process.version} cannot read. Use Node.js 22.19, 24.6 or newer, or let the gateway use deflate.`;

/** @param {unknown} payload @returns {Buffer | null} a Buffer if it begins with the prefix */
function prefixed(payload) {
  if (!types.isUint8Array(payload)) return null;
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length);
  return startsWith(bytes, MAGIC) ? bytes : null;
}

/** @param {Buffer} bytes @param {Buffer} magic */
function startsWith(bytes, magic) {
  return bytes.subarray(0, magic.length).equals(magic);
}

/** @param {unknown} value of a user property, which may occur several times */
function first(value) {
  return Array.isArray(value) ? value[0] : value;
}

module.exports = {
  DICTIONARY,
  LAST_FORMAT,
  MAGIC,
  NDJSON,
  decompress,
  dictionaryIn,
  encodingOf,
  isRemoval
};
