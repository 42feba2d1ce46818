'use strict';
// Pre-shared keys: one `identity:hexkey` per line, the format of mosquitto and libcoap. Blank lines and lines that
// begin with # are ignored.

const MAX_KEYS = 100000;
const MIN_KEY_BYTES = 16;
/** Limit of OpenSSL. */
const MAX_KEY_BYTES = 64;
const MAX_IDENTITY_BYTES = 128;

/**
 * @param {string} text
 * @returns {Map<string, Buffer>} key by identity
 * @throws {RangeError} with a sentence
 */
function parseKeys(text) {
  /** @type {Map<string, Buffer>} */
  const keys = new Map();
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const where = `Line ${index + 1} of the file of pre-shared keys`;
    // The last colon, because an identity may contain colons, such as urn:dev:mac:0024befffe804ff1.
    const at = line.lastIndexOf(':');
    const [identity, hex] = [line.slice(0, at), line.slice(at + 1)];
    if (at < 1 || !/^([0-9a-f]{2})+$/i.test(hex)) {
      throw new RangeError(`${where} is not identity:key with a hexadecimal key.`);
    }
    if (Buffer.byteLength(identity) > MAX_IDENTITY_BYTES || /\p{Cc}/u.test(identity)) {
      throw new RangeError(
        `${where}: the identity exceeds ${MAX_IDENTITY_BYTES} bytes or contains control characters.`
      );
    }
    const key = Buffer.from(hex, 'hex');
    if (key.length < MIN_KEY_BYTES || key.length > MAX_KEY_BYTES) {
      throw new RangeError(`${where}: the key must have ${MIN_KEY_BYTES} to ${MAX_KEY_BYTES} bytes.`);
    }
    if (keys.has(identity)) throw new RangeError(`${where}: the identity "${identity}" appears twice.`);
    if (keys.size === MAX_KEYS) throw new RangeError(`The file has more than ${MAX_KEYS} pre-shared keys.`);
    keys.set(identity, key);
  }
  return keys;
}

exports.parseKeys = parseKeys;
