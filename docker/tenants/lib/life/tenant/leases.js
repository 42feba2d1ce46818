'use strict';

const crypto = require('node:crypto');
const { TenantError } = require('../../base/errors');

/** Leases of one tenant at once. */
const MAX_LEASES = 64;
/** Retry time of a request for a lease of a tenant that has too many. */
const RETRY_MS = 5000;

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
   * @param {import('../../base/clock').Clock} parts.clock
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

  /**
   * Opens a lease, and grants it when the tenant is awake.
   * @template T
   * @param {string} holder
   * @param {AbortSignal | undefined} signal the client is gone
   * @param {() => Promise<T>} wake
   * @returns {Promise<T & { lease: string } | null>} null: it ended meanwhile
   * @throws {TenantError} there are too many leases
   */
  async take(holder, signal, wake) {
    if (this.#leases.size >= MAX_LEASES)
      throw new TenantError('busy', `${this.#name} has too many leases.`, RETRY_MS);
    const lease = this.#open(holder);
    const giveUp = () => void this.end(lease);
    signal?.addEventListener('abort', giveUp);
    try {
      const woken = await wake();
      return this.#grant(lease) ? { lease, ...woken } : null;
    } catch (error) {
      this.end(lease);
      throw error;
    } finally {
      signal?.removeEventListener('abort', giveUp);
    }
  }

  /**
   * Makes a lease that is valid at once. Its time limit begins when it is granted.
   * @param {string} holder
   * @returns {string} its id
   */
  #open(holder) {
    const id = `${this.#name}.${crypto.randomBytes(12).toString('base64url')}`;
    this.#leases.set(id, { id, holder, isGranted: false, cancel: () => {} });
    return id;
  }

  /** @param {string} id @returns {boolean} false: it has ended meanwhile */
  #grant(id) {
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
