'use strict';
// Who may see and use a device: its owner everything, and users with whom it is shared read it, or read and write it.

/** @typedef {'' | 'r' | 'rw'} Rights */
/** @typedef {{ uid: string, shares: ReadonlyMap<string, string>, isRevoked: boolean }} Access isRevoked: its tokens were */

/** Most devices are not shared. @type {ReadonlyMap<string, string>} */
const NO_SHARES = new Map();
const MOST_KNOWN = 10000;
const READING = new Set(['GET', 'FETCH']);

class Grants {
  #store;
  /** Oldest first. @type {Map<string, Access>} */
  #known = new Map();
  /** Increases with every change, so that an answer of the store from before it is not kept. */
  #epoch = 0;

  /** @param {import('../store/operations').Store} store */
  constructor(store) {
    this.#store = store;
  }

  /**
   * Returns who may see a device, from memory if possible.
   * @param {string} di
   * @returns {Promise<Access | null>} null: there is no such device
   */
  async of(di) {
    const known = this.#known.get(di);
    if (known) return known;
    const epoch = this.#epoch;
    const row = await this.#store.read('access', { di });
    if (!row) return null;
    const { uid: owner, isRevoked } = row;
    const found = {
      uid: owner,
      isRevoked,
      shares: row.shares.length > 0 ? new Map(row.shares.map(({ uid, rights }) => [uid, rights])) : NO_SHARES
    };
    if (epoch === this.#epoch) this.#keep(di, found);
    return found;
  }

  /**
   * @param {string} di
   * @param {string} uid
   * @returns {Promise<Rights | null>} null: there is no such device
   */
  async rights(di, uid) {
    const found = await this.of(di);
    if (!found) return null;
    if (found.uid === uid) return 'rw';
    return /** @type {Rights} */ (found.shares.get(uid) ?? '');
  }

  /** @param {string} di @returns {Promise<string[]>} the users that may see it */
  async viewers(di) {
    const found = await this.of(di);
    return found ? [found.uid, ...found.shares.keys()] : [];
  }

  /** Forgets what may have changed. @param {string} [di] all devices if it is missing */
  forget(di) {
    this.#epoch++;
    if (di === undefined) this.#known.clear();
    else this.#known.delete(di);
  }

  /** @param {string} di @param {Access} found */
  #keep(di, found) {
    this.#known.set(di, found);
    if (this.#known.size <= MOST_KNOWN) return;
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest);
  }
}

/** @param {Rights} rights @param {string} method */
function allows(rights, method) {
  return READING.has(method) ? rights !== '' : rights === 'rw';
}

module.exports = { Grants, allows };
