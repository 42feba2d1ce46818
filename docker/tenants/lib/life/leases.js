'use strict';

const crypto = require('node:crypto');

/** Leases of one tenant at once. */
const MAX_LEASES = 64;

/**
 * @typedef {object} Lease
 * @property {string} id the tenant's name, a dot, and a random part
 * @property {string} holder
 * @property {boolean} isGranted false while the tenant is still starting; then it has no time limit
 * @property {() => void} cancel its timer
 */

/** The leases of one tenant. Each ends when its holder returns it, or some time after its last renewal. */
class Leases {
  /** @type {Map<string, Lease>} */
  #leases = new Map();
  #name;
  #clock;
  #lifeMs;
  #onEmpty;

  /**
   * @param {object} parts
   * @param {string} parts.name of the tenant
   * @param {import('../base/clock').Clock} parts.clock
   * @param {number} parts.lifeMs
   * @param {() => void} parts.onEmpty the last one ended
   */
  constructor({ name, clock, lifeMs, onEmpty }) {
    this.#name = name;
    this.#clock = clock;
    this.#lifeMs = lifeMs;
    this.#onEmpty = onEmpty;
  }

  get size() {
    return this.#leases.size;
  }

  get isFull() {
    return this.#leases.size >= MAX_LEASES;
  }

  /**
   * Makes a lease that counts at once, and gets its time limit when it is granted.
   * @param {string} holder
   * @returns {string} its id
   */
  open(holder) {
    const id = `${this.#name}.${crypto.randomBytes(12).toString('base64url')}`;
    this.#leases.set(id, { id, holder, isGranted: false, cancel: () => {} });
    return id;
  }

  /** @param {string} id @returns {boolean} false: it has ended meanwhile */
  grant(id) {
    const lease = this.#leases.get(id);
    if (!lease) return false;
    lease.isGranted = true;
    this.#limit(lease);
    return true;
  }

  /** @param {string} id @returns {boolean} false: it has ended */
  renew(id) {
    const lease = this.#leases.get(id);
    if (!lease?.isGranted) return false;
    this.#limit(lease);
    return true;
  }

  /** @param {string} id @returns {boolean} false: it has ended already */
  end(id) {
    const lease = this.#leases.get(id);
    if (!lease) return false;
    lease.cancel();
    this.#leases.delete(id);
    if (this.#leases.size === 0) this.#onEmpty();
    return true;
  }

  /** Ends all without a call of onEmpty. @returns {number} how many */
  drop() {
    const count = this.#leases.size;
    for (const lease of this.#leases.values()) lease.cancel();
    this.#leases.clear();
    return count;
  }

  /** @param {Lease} lease */
  #limit(lease) {
    lease.cancel();
    lease.cancel = this.#clock.timer(this.#lifeMs, () => this.end(lease.id));
  }
}

exports.Leases = Leases;
exports.MAX_LEASES = MAX_LEASES;
