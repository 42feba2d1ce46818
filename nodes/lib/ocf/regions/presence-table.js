'use strict';
// Where each device of the cloud is signed in. The result does not depend on the order of records: of two claims the
// greater one counts.

/** @typedef {import('./presence-record').Claim} Claim */
/** @typedef {'newer' | 'same' | 'older' | 'full'} Merged full: there is no room for another device */

/** A cloud of many devices: about 300 bytes each. */
const MOST_DEVICES = 100000;

/**
 * Orders claims by epoch. Equal epochs are of two regions whose clocks agree, so the address decides. A region that
 * claims a device and gives it up uses one epoch for both.
 * @param {Claim} a
 * @param {Claim} b
 * @returns {number} above 0: a counts
 */
function compareClaims(a, b) {
  if (a.epoch !== b.epoch) return a.epoch - b.epoch;
  if (a.ci !== b.ci) return a.ci > b.ci ? 1 : -1;
  return Number(!a.isOn) - Number(!b.isOn);
}

class PresenceTable {
  #own;
  #most;
  /** @type {Map<string, Claim>} */
  #claims = new Map();
  /** Devices that are on, by region. @type {Map<string, Set<string>>} */
  #on = new Map();
  /** Devices that are off, the first to go first. @type {Set<string>} */
  #off = new Set();
  /** Claims that found no room, since the start. */
  refused = 0;

  /** @param {{ own: string, most?: number }} options own: address of this region, whose claims always find room */
  constructor({ own, most = MOST_DEVICES }) {
    this.#own = own;
    this.#most = most;
  }

  /** @param {string} di @returns {Claim | undefined} */
  get(di) {
    return this.#claims.get(di);
  }

  /** @param {string} di @param {Claim} claim @returns {Merged} newer: the table has changed */
  merge(di, claim) {
    const known = this.#claims.get(di);
    if (known) {
      const order = compareClaims(claim, known);
      if (order <= 0) return order === 0 ? 'same' : 'older';
      this.#drop(di, known);
    } else if (this.#claims.size >= this.#most && claim.ci !== this.#own && !this.#makeRoom()) {
      this.refused++;
      return 'full';
    }
    this.#claims.set(di, claim);
    if (claim.isOn) this.#on.set(claim.ci, (this.#on.get(claim.ci) ?? new Set()).add(di));
    else this.#off.add(di);
    return 'newer';
  }

  /** The device was deleted. @param {string} di @returns {Claim | undefined} what was known */
  remove(di) {
    const known = this.#claims.get(di);
    if (known) this.#drop(di, known);
    return known;
  }

  /**
   * Returns the epoch of a sign-in: the time, or more if a clock that is ahead made an earlier one.
   * @param {string} di
   * @param {number} now ms since 1970
   */
  nextEpoch(di, now) {
    return Math.max(Math.trunc(now), (this.#claims.get(di)?.epoch ?? 0) + 1);
  }

  /** @param {string} ci @returns {string[]} devices that are on there */
  devicesAt(ci) {
    return [...(this.#on.get(ci) ?? [])];
  }

  /** @returns {string[]} other regions with devices that are on */
  regions() {
    return [...this.#on.keys()].filter((ci) => ci !== this.#own);
  }

  /** @param {string} ci */
  hasDevices(ci) {
    return this.#on.has(ci);
  }

  /** @param {string} ci @returns {number} devices that are on there */
  countAt(ci) {
    return this.#on.get(ci)?.size ?? 0;
  }

  /** @returns {Iterable<[string, Claim]>} */
  entries() {
    return this.#claims.entries();
  }

  get size() {
    return this.#claims.size;
  }

  get isFull() {
    return this.#claims.size >= this.#most && this.#off.size === 0;
  }

  /** Forgets the device that has been off longest. */
  #makeRoom() {
    const [oldest] = this.#off;
    if (oldest === undefined) return false;
    this.remove(oldest);
    return true;
  }

  /** @param {string} di @param {Claim} claim */
  #drop(di, { ci }) {
    this.#claims.delete(di);
    this.#off.delete(di);
    const on = this.#on.get(ci);
    on?.delete(di);
    if (on?.size === 0) this.#on.delete(ci);
  }
}

module.exports = { PresenceTable, compareClaims, MOST_DEVICES };
