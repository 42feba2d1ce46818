'use strict';
// Access tokens of the provider that are signed JWTs (RFC 9068): the user whom the provider names in one.

const { isLoopback } = require('../../base/loopback');
const { SUBJECT } = require('../cloud/access-codes');
const { Refusal } = require('../cloud/refusal');
const { loadJose } = require('./client-package');

/** Signatures with a public key only: a key that the provider shares would also sign. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
];
/** Difference of the clocks of the provider and this machine. */
const CLOCK_SECONDS = 10;
/** The provider's keys are read again after this time, and are used for the second time without the provider. */
const KEYS_MS = 600000;
const MOST_KEYS_MS = 86400000;
/** A key that is not known makes the keys be read, at most once in this time. */
const UNKNOWN_KEY_MS = 30000;
/** Time between two attempts to read keys that failed. */
const RETRY_MS = 10000;
const REQUEST_MS = 5000;
/** Errors of jose that only the token causes. */
const WRONG = /^ERR_(JWT_|JWS_|JWKS_NO_MATCHING_KEY$|JOSE_ALG_NOT_ALLOWED$|JOSE_NOT_SUPPORTED$)/;

/** @typedef {{ issuer: string, sub: string, expires: number }} TokenUser expires: ms */

class AccessTokens {
  #issuer;
  #audience;
  #warn;
  #load;
  #now;
  /** @type {any} */
  #jose = null;
  /** The key set of jose. @type {{ url: string, find: any, readAt: number } | null} */
  #keys = null;
  #failedAt = -Infinity;

  /**
   * @param {object} parts
   * @param {Pick<import('./issuer').Issuer, 'metadata'>} parts.issuer
   * @param {string} parts.audience that a token must name
   * @param {(sentence: string) => void} [parts.warn]
   * @param {() => Promise<any>} [parts.load] for tests
   * @param {() => number} [parts.now] ms
   */
  constructor({ issuer, audience, warn = () => {}, load = loadJose, now = Date.now }) {
    this.#issuer = issuer;
    this.#audience = audience;
    this.#warn = warn;
    this.#load = load;
    this.#now = now;
  }

  /**
   * @param {string} token
   * @returns {Promise<TokenUser | null>} null: it is wrong, expired, not valid yet, or no access token for this cloud
   * @throws {Refusal} 5.03 if the keys of the provider cannot be read
   */
  async verify(token) {
    const { issuer, find } = await this.#source();
    const options = {
      issuer,
      audience: this.#audience,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_SECONDS,
      currentDate: new Date(this.#now()),
      requiredClaims: ['exp', 'sub']
    };
    try {
      const { payload, protectedHeader } = await this.#verified(token, find, options);
      const { sub, exp } = payload;
      if (!isAccessToken(protectedHeader, payload) || typeof sub !== 'string' || !SUBJECT.test(sub))
        return null;
      return { issuer, sub, expires: (exp + CLOCK_SECONDS) * 1000 };
    } catch (error) {
      if (WRONG.test(/** @type {any} */ (error)?.code ?? '')) return null;
      // Such as an attempt to read a key that is not known.
      throw unavailable();
    }
  }

  /** @param {string} token @param {any} find @param {object} options */
  async #verified(token, find, options) {
    try {
      return await this.#jose.jwtVerify(token, find, options);
    } catch (error) {
      if (/** @type {any} */ (error)?.code !== 'ERR_JWKS_MULTIPLE_MATCHING_KEYS') throw error;
      // The token names no key.
      let last = error;
      for await (const key of /** @type {any} */ (error)) {
        try {
          return await this.#jose.jwtVerify(token, key, options);
        } catch (wrong) {
          last = wrong;
        }
      }
      throw last;
    }
  }

  /** @returns {Promise<{ issuer: string, find: any }>} find: finds the key of a token @throws {Refusal} 5.03 */
  async #source() {
    const metadata = await this.#issuer.metadata().catch(() => {
      // The issuer has reported the reason.
      throw unavailable();
    });
    try {
      this.#jose ??= await this.#load();
      const keys = this.#keysAt(metadata.jwks_uri ?? '');
      const age = performance.now() - keys.readAt;
      if (age > KEYS_MS) {
        const reading = this.#read(keys);
        if (age > MOST_KEYS_MS) await reading;
        else reading.catch((error) => this.#failed(error));
      }
      return { issuer: metadata.issuer, find: keys.find };
    } catch (error) {
      this.#failed(/** @type {Error} */ (error));
      throw unavailable();
    }
  }

  /** @param {string} url */
  #keysAt(url) {
    if (this.#keys?.url === url) return this.#keys;
    const parsed = URL.parse(url);
    const isSafe =
      parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopback(parsed.hostname));
    if (!parsed || !isSafe) throw new Error('its metadata have no https address of keys');
    const find = this.#jose.createRemoteJWKSet(parsed, {
      timeoutDuration: REQUEST_MS,
      cooldownDuration: UNKNOWN_KEY_MS,
      cacheMaxAge: Infinity
    });
    this.#keys = { url, find, readAt: -Infinity };
    this.#failedAt = -Infinity;
    return this.#keys;
  }

  /** @param {{ find: any, readAt: number }} keys */
  async #read(keys) {
    if (performance.now() - this.#failedAt < RETRY_MS) throw new Error('there was no answer recently');
    await keys.find.reload();
    keys.readAt = performance.now();
    this.#failedAt = -Infinity;
  }

  /** @param {Error} error */
  #failed({ message, cause }) {
    if (performance.now() - this.#failedAt < RETRY_MS) return;
    this.#failedAt = performance.now();
    const why = cause instanceof Error ? cause.message : message;
    this.#warn(
      `The keys of the provider of users cannot be read: ${why.replace(/\.$/, '')}. Requests over HTTP with its tokens are answered with 503 meanwhile.`
    );
  }
}

/**
 * True if a valid token is an access token. An ID token, which may have the same audience, is none: it tells the client
 * who logged in. RFC 9068 defines a type; other providers give their access tokens a scope.
 * @param {Record<string, unknown>} header
 * @param {Record<string, unknown>} claims
 */
function isAccessToken({ typ }, claims) {
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : '';
  if (type === 'at+jwt') return true;
  const isPlain = type === '' || type === 'jwt';
  // Keycloak repeats its own type.
  const isOther = claims.typ !== undefined && claims.typ !== 'Bearer';
  return isPlain && !isOther && !('nonce' in claims) && ['scope', 'scp'].some((name) => name in claims);
}

const unavailable = () =>
  new Refusal('5.03', 'The provider of users cannot be reached at present.', RETRY_MS / 1000);

exports.AccessTokens = AccessTokens;
