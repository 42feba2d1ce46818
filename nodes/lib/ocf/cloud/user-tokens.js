'use strict';
// Tokens with which users reach their devices over HTTP. They belong to no device. seganet-accounts makes them, or they
// are access tokens of the provider of users (RFC 9068).

const { ISSUER, userIdOf, userProblem } = require('./access-codes');
const { hashOf, newToken, userId } = require('./tokens');

const DAY_MS = 86400000;
const MOST_DAYS = 3650;
/** Valid tokens of a user. */
const MOST_TOKENS = 64;
/** Characters of the id in lists, of the token's hash. */
const ID_CHARACTERS = 12;
/** Tokens that were presented and are right. */
const MOST_KNOWN = 10000;

/** An access token of a provider is verified again after this time, because the provider may withdraw its key. */
const VERIFIED_MS = 60000;
/** A signed token (RFC 7515, section 7.1). Tokens of seganet-accounts have no dots. */
const SIGNED = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** @typedef {{ uid: string, expires: number, isStored: boolean }} Bearer expires: ms; isStored: of seganet-accounts */

/**
 * Makes a token for a user.
 * @param {import('../store/operations').Store} store
 * @param {string} name of the user
 * @param {{ days?: number, issuer?: string, now?: number }} [options] issuer: for a user of an OpenID provider
 * @returns {Promise<{ token: string, id: string, expires: number } | null>} null: the user has too many
 */
async function newUserToken(store, name, { days = 90, issuer = ISSUER, now = Date.now() } = {}) {
  const problem = userProblem(name, issuer);
  if (problem) throw new RangeError(`The user name ${problem}.`);
  const token = newToken();
  const hash = hashOf(token);
  const id = hash.toString('hex').slice(0, ID_CHARACTERS);
  const expires = now + days * DAY_MS;
  const user = { issuer, sub: name, uid: userIdOf(name, issuer), now };
  const isAdded = await store.write('addUserToken', { ...user, hash, id, expires, most: MOST_TOKENS });
  return isAdded ? { token, id, expires } : null;
}

/** Finds the user of a token, and reports when a token ends. */
class UserTokens {
  #cloud;
  /** Right tokens by their hash in hex, oldest first. until: ms. @type {Map<string, Bearer & { until: number }>} */
  #known = new Map();
  /** What ends with a token, by its hash in hex. @type {Map<string, { expires: number, isStored: boolean, ends: Set<() => void> }>} */
  #held = new Map();

  /** @param {import('./cloud').OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  /**
   * Returns the user of a token. After too many wrong tokens from an address, tokens that were right before still pass,
   * because others may share the address: a gateway of a network, or an HTTP proxy.
   * @param {string} token
   * @param {string} address of the client
   * @returns {Promise<Bearer & { key: string } | null>} null: wrong, revoked or expired
   * @throws {import('./refusal').Refusal} 4.29; 5.03 if the provider of users cannot be reached
   */
  async find(token, address) {
    const { attempts, now } = this.#cloud;
    const hash = hashOf(token);
    const key = hash.toString('hex');
    const known = this.#known.get(key);
    if (known && known.until > now()) return bearerOf(known, key);
    this.#known.delete(key);
    attempts.check(address);
    const found = await this.#check(token, hash);
    if (!found) {
      attempts.failed(address);
      return null;
    }
    const until = found.isStored ? found.expires : Math.min(found.expires, now() + VERIFIED_MS);
    this.#known.set(key, { ...found, until });
    if (this.#known.size > MOST_KNOWN) this.#known.delete(this.#known.keys().next().value ?? '');
    return bearerOf(found, key);
  }

  /** @param {string} token @param {Buffer} hash @returns {Promise<Bearer | null>} */
  async #check(token, hash) {
    const { store, users, now } = this.#cloud;
    if (users.bearer && SIGNED.test(token)) {
      const user = await users.bearer(token);
      return user && { uid: userId(user.issuer, user.sub), expires: user.expires, isStored: false };
    }
    const found = await store.read('checkUserToken', { hash, now: now() });
    return found && { ...found, isStored: true };
  }

  /**
   * Calls a function when the token is revoked or expires. Call it before anything else is awaited after find().
   * @param {Bearer & { key: string }} bearer
   * @param {() => void} end
   * @returns {() => void} cancels it
   */
  onEnd({ key, expires, isStored }, end) {
    const own = this.#held.get(key) ?? { expires, isStored, ends: new Set() };
    this.#held.set(key, own);
    own.ends.add(end);
    return () => {
      own.ends.delete(end);
      if (own.ends.size === 0 && this.#held.get(key) === own) this.#held.delete(key);
    };
  }

  /** Checks the tokens in use again: another process may have revoked them. */
  async recheck() {
    const stored = [...this.#known, ...this.#held].filter(([, { isStored }]) => isStored);
    for (const key of new Set(stored.map(([each]) => each))) {
      const input = { hash: Buffer.from(key, 'hex'), now: this.#cloud.now() };
      if (!(await this.#cloud.store.read('checkUserToken', input))) this.#end(key);
    }
  }

  endExpired() {
    const now = this.#cloud.now();
    for (const tokens of [this.#known, this.#held]) {
      for (const [key, { expires }] of tokens) if (expires <= now) this.#end(key);
    }
  }

  /** @param {string} key */
  #end(key) {
    this.#known.delete(key);
    for (const end of [...(this.#held.get(key)?.ends ?? [])]) end();
    this.#held.delete(key);
  }
}

/** @param {Bearer} bearer @param {string} key */
const bearerOf = ({ uid, expires, isStored }, key) => ({ uid, expires, isStored, key });

module.exports = { UserTokens, newUserToken, MOST_DAYS, MOST_TOKENS };
