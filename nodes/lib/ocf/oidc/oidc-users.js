'use strict';
// Users by access codes, and by the codes of an OpenID provider.

const { Refusal } = require('../cloud/refusal');
const { hashOf } = require('../cloud/tokens');
const { Confirmations } = require('./confirmations');

/**
 * A provider revokes everything if a code comes twice, so the result of each code is kept: as long as a device may
 * repeat its sign-up.
 */
const KEEP_MS = 600000;
const MOST_KEPT = 10000;
/** Questions to the provider at once. */
const MOST_OPEN = 32;
const BUSY_SECONDS = 5;
const UNAVAILABLE_SECONDS = 30;
/** RFC 6749 appendix A.11. */
const CODE = /^[\x20-\x7e]+$/;

/** @typedef {import('../cloud/access-codes').Exchanged} Exchanged */
/** @typedef {{ di: string, until: number, result: Promise<Exchanged> }} Kept */

/** @implements {Users} @typedef {import('../cloud/access-codes').Users} Users */
class OidcUsers {
  #issuer;
  #provider;
  #sealer;
  #confirmations;
  #accessTokens;
  #warn;
  #store;
  #now;
  /** By the hash of the code, oldest first. @type {Map<string, Kept>} */
  #kept = new Map();
  #open = 0;

  /**
   * @param {object} parts
   * @param {Pick<import('./issuer').Issuer, 'exchange' | 'renew'>} parts.issuer
   * @param {string} parts.provider name that devices give the provider, '' = any
   * @param {import('./token-sealer').TokenSealer | null} [parts.sealer] null: the provider is not asked again
   * @param {Pick<import('./access-tokens').AccessTokens, 'verify'> | null} [parts.accessTokens] null: the provider's
   *   access tokens are not accepted
   * @param {Pick<import('../store/operations').Store, 'read' | 'write'>} parts.store
   * @param {(sentence: string) => void} [parts.warn]
   * @param {() => number} [parts.now] ms
   */
  constructor({
    issuer,
    provider,
    sealer = null,
    accessTokens = null,
    store,
    warn = () => {},
    now = Date.now
  }) {
    this.#sealer = sealer;
    this.#accessTokens = accessTokens;
    this.#warn = warn;
    this.#confirmations = sealer && new Confirmations({ issuer, sealer, store, warn, now });
    this.#issuer = issuer;
    this.#provider = provider;
    this.#store = store;
    this.#now = now;
  }

  /** @type {Users['exchange']} */
  async exchange(code, { di, provider }) {
    const hash = hashOf(code);
    const state = await this.#store.read('codeState', { hash, now: this.#now() });
    if (state === 'own') return 'accessCode';
    const isOther = this.#provider !== '' && provider !== '' && provider !== this.#provider;
    if (state === 'used' || isOther || !CODE.test(code)) return 'wrong';
    const key = hash.toString('hex');
    const known = this.#kept.get(key);
    if (known && known.until > this.#now()) return known.di === di ? known.result : 'wrong';
    return this.#ask(key, code, di);
  }

  /** @param {{ di: string }} device @returns {Promise<boolean>} false: the provider refuses the user of the device */
  async confirm({ di }) {
    return this.#confirmations ? this.#confirmations.confirm(di) : true;
  }

  /** @type {NonNullable<Users['bearer']>} */
  async bearer(token) {
    return this.#accessTokens ? this.#accessTokens.verify(token) : null;
  }

  /** @param {string} key @param {string} code @param {string} di @returns {Promise<Exchanged>} */
  #ask(key, code, di) {
    if (this.#open >= MOST_OPEN) {
      throw new Refusal('5.03', 'Too many sign-ups wait for the provider of users.', BUSY_SECONDS);
    }
    this.#open++;
    const result = this.#exchange(code, di).finally(() => this.#open--);
    this.#kept.delete(key);
    this.#kept.set(key, { di, until: this.#now() + KEEP_MS, result });
    this.#forgetOld();
    // Nothing is known of the code then, so the next sign-up asks again.
    result.catch(() => this.#kept.delete(key));
    return result;
  }

  /** @param {string} code @param {string} di @returns {Promise<Exchanged>} */
  async #exchange(code, di) {
    try {
      const login = await this.#issuer.exchange(code);
      if (!login) return 'wrong';
      const { issuer, sub, refreshToken } = login;
      return { issuer, sub, sealed: this.#seal(refreshToken, di) };
    } catch {
      // The issuer has reported the reason. With 4.01, a device would forget its cloud.
      throw new Refusal('5.03', 'The provider of users cannot be reached at present.', UNAVAILABLE_SECONDS);
    }
  }

  /** @param {string} refreshToken @param {string} di @returns {Buffer | null} */
  #seal(refreshToken, di) {
    if (!this.#sealer) return null;
    if (refreshToken) return this.#sealer.seal(refreshToken, di);
    this.#warn(
      `The provider of users gave no refresh token for the device ${di}, so it cannot be asked again. Ask for the scope offline_access at the login.`
    );
    return null;
  }

  #forgetOld() {
    for (const [key, { until }] of this.#kept) {
      if (until > this.#now() && this.#kept.size <= MOST_KEPT) return;
      this.#kept.delete(key);
    }
  }
}

exports.OidcUsers = OidcUsers;
exports.MOST_OPEN = MOST_OPEN;
