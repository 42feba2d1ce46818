'use strict';

const { createCipheriv, createDecipheriv, hkdfSync, randomBytes } = require('node:crypto');

const [IV_BYTES, TAG_BYTES] = [12, 16];
const PURPOSE = 'seganet ocf provider token';

/** Encrypts refresh tokens of a provider with AES-256-GCM. The key is made of the client secret, a credential. */
class TokenSealer {
  #key;

  /** @param {string} secret of the client @param {string} issuer */
  constructor(secret, issuer) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, issuer, PURPOSE, 32));
  }

  /**
   * @param {string} token
   * @param {string} di device that it belongs to; it cannot be opened for another one
   * @returns {Buffer}
   */
  seal(token, di) {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(di));
    const text = Buffer.concat([cipher.update(token, 'utf8'), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), text]);
  }

  /** @param {Uint8Array} sealed @param {string} di @returns {string | null} null: another key or device, or damaged */
  open(sealed, di) {
    try {
      const iv = sealed.subarray(0, IV_BYTES);
      const tag = sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES);
      const options = { authTagLength: TAG_BYTES };
      const cipher = createDecipheriv('aes-256-gcm', this.#key, iv, options).setAAD(Buffer.from(di));
      cipher.setAuthTag(tag);
      const text = cipher.update(sealed.subarray(IV_BYTES + TAG_BYTES));
      return Buffer.concat([text, cipher.final()]).toString('utf8');
    } catch {
      return null;
    }
  }
}

exports.TokenSealer = TokenSealer;
