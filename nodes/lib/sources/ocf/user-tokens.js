'use strict';
// Tokens with which users reach their devices over HTTP. They belong to no device, and seganet-accounts makes them.

const { ISSUER, userIdOf, userProblem } = require('./access-codes');
const { hashOf, newToken } = require('./tokens');

const DAY_MS = 86400000;
const MOST_DAYS = 3650;
/** Valid tokens of a user. */
const MOST_TOKENS = 64;
/** Characters of the id in lists, of the token's hash. */
const ID_CHARACTERS = 12;
/** Tokens that were presented and are right. */
const MOST_KNOWN = 10000;

/** @typedef {{ uid: string, expires: number }} Bearer expires: ms */

/**
 * Makes a token for a user.
 * @param {import('./store/operations').Store} store
 * @param {string} name of the user
 * @param {{ days?: number, now?: number }} [options]
 * @returns {Promise<{ token: string, id: string, expires: number } | null>} null: the user has too many
 */
async function newUserToken(store, name, { days = 90, now = Date.now() } = {}) {
  const problem = userProblem(name);
  if (problem) throw new RangeError(`The user name ${problem}.`);
  const token = newToken();
  const hash = hashOf(token);
  const id = hash.toString('hex').slice(0, ID_CHARACTERS);
  const expires = now + days * DAY_MS;
  const user = { issuer: ISSUER, sub: name, uid: userIdOf(name), now };
  const isAdded = await store.write('addUserToken', { ...user, hash, id, expires, most: MOST_TOKENS });
  return isAdded ? { token, id, expires } : null;
}

/** Finds the user of a token, and reports when a token ends. */
class UserTokens {
  #cloud;
  /** Right tokens by their hash in hex, oldest first. @type {Map<string, Bearer>} */
  #known = new Map();
  /** What ends with a token, by its hash in hex. @type {Map<string, { expires: number, ends: Set<() => void> }>} */
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
   * @throws {import('./refusal').Refusal} 4.29
   */
  async find(token, address) {
    const { attempts, store, now } = this.#cloud;
    const hash = hashOf(token);
    const key = hash.toString('hex');
    const known = this.#known.get(key);
    if (known && known.expires > now()) return { ...known, key };
    this.#known.delete(key);
    attempts.check(address);
    const found = await store.read('checkUserToken', { hash, now: now() });
    if (!found) {
      attempts.failed(address);
      return null;
    }
    this.#known.set(key, found);
    if (this.#known.size > MOST_KNOWN) this.#known.delete(this.#known.keys().next().value ?? '');
    return { ...found, key };
  }

  /**
   * Calls a function when the token is revoked or expires. Call it before anything else is awaited after find().
   * @param {Bearer & { key: string }} bearer
   * @param {() => void} end
   * @returns {() => void} cancels it
   */
  onEnd({ key, expires }, end) {
    const own = this.#held.get(key) ?? { expires, ends: new Set() };
    this.#held.set(key, own);
    own.ends.add(end);
    return () => {
      own.ends.delete(end);
      if (own.ends.size === 0 && this.#held.get(key) === own) this.#held.delete(key);
    };
  }

  /** Checks the tokens in use again: another process may have revoked them. */
  async recheck() {
    for (const key of new Set([...this.#known.keys(), ...this.#held.keys()])) {
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

module.exports = { UserTokens, newUserToken, MOST_DAYS, MOST_TOKENS };
