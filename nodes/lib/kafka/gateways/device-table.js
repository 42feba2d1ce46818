'use strict';
// Which gateway of a cluster each device has connected to last. The topic's order decides: of two claims, the later one
// counts. A claim has no time that is compared.

const { MAX_DEVICE_BYTES } = require('../../base/device-id');

/**
 * @typedef {object} Claim
 * @property {string} gateway
 * @property {string} boot of its process
 * @property {number} n ascends with each claim of the process
 *
 * @typedef {{ key: string, value: string }} ClaimRecord
 *
 * A device that is connected here. n: its latest claim; isRead: the topic has it.
 * @typedef {{ n: number, isRead: boolean }} Own
 */

/** About 250 bytes each. */
const MOST_DEVICES = 100000;

/** Of this process, also for the tables of later deploys. */
let lastN = 0;

class DeviceTable {
  #writer;
  #most;
  #now;
  /** The least recent one first. @type {Map<string, Claim>} */
  #claims = new Map();
  /** @type {Map<string, Own>} */
  #own = new Map();
  /** Records that are no claim. */
  invalid = 0;
  /** Claims of another process that has this gateway's name. */
  namesakes = 0;

  /**
   * @param {{ writer: { gateway: string, boot: string }, most?: number, now?: () => number }} parts writer: this
   *   gateway; now: ms since 1970
   */
  constructor({ writer, most = MOST_DEVICES, now = Date.now }) {
    this.#writer = writer;
    this.#most = most;
    this.#now = now;
  }

  get size() {
    return this.#claims.size;
  }

  /** A device has connected here. @param {string} device @returns {ClaimRecord} to be published */
  connected(device) {
    const n = ++lastN;
    this.#own.set(device, { n, isRead: false });
    return this.#record(device, n);
  }

  /** A device was connected here before: the topic says whether it still belongs here. @param {string} device */
  found(device) {
    if (!this.#own.has(device)) this.#own.set(device, { n: 0, isRead: true });
  }

  /** @param {string} device */
  disconnected(device) {
    this.#own.delete(device);
  }

  /**
   * @param {string} device
   * @returns {'here' | 'elsewhere' | 'unknown'} the gateway to which it has connected last, or is connected
   */
  where(device) {
    if (this.#own.has(device)) return 'here';
    const claim = this.#claims.get(device);
    if (!claim) return 'unknown';
    return claim.gateway === this.#writer.gateway ? 'here' : 'elsewhere';
  }

  /**
   * Takes a record of the topic.
   * @param {string} device its key
   * @param {string | null} value
   * @param {boolean} isCaughtUp false: later records may replace it, so it ends no connection
   * @returns {boolean} true if the device is connected here and has connected to another gateway since
   */
  take(device, value, isCaughtUp) {
    if (value === null) {
      this.#claims.delete(device);
      return false;
    }
    const claim = claimOf(device, value);
    if (!claim) {
      this.invalid++;
      return false;
    }
    // While the topic is read from its start, they are of an earlier process.
    if (isCaughtUp && claim.gateway === this.#writer.gateway && claim.boot !== this.#writer.boot) this.namesakes++; // prettier-ignore
    this.#claims.delete(device);
    this.#claims.set(device, claim);
    if (this.#claims.size > this.#most) this.#forgetOne();
    const own = this.#own.get(device);
    if (!own) return false;
    if (claim.boot === this.#writer.boot) {
      if (claim.n === own.n) own.isRead = true;
      return false;
    }
    return isCaughtUp && this.#isLost(device, own, claim);
  }

  /**
   * The topic was read from its start.
   * @returns {{ lost: string[], claims: ClaimRecord[] }} devices that have connected elsewhere, and claims that are not
   *   in the topic
   */
  caughtUp() {
    /** @type {string[]} */
    const lost = [];
    /** @type {ClaimRecord[]} */
    const claims = [];
    for (const [device, own] of [...this.#own]) {
      if (!own.isRead) continue;
      const claim = this.#claims.get(device);
      if (claim?.boot === this.#writer.boot) continue;
      // Without one, it was evicted or never published. One of this gateway is of an earlier process.
      if (!claim || claim.gateway === this.#writer.gateway) claims.push(this.connected(device));
      else if (this.#isLost(device, own, claim)) lost.push(device);
    }
    return { lost, claims };
  }

  /** @returns {ClaimRecord[]} claims that may not be in the topic */
  unread() {
    return [...this.#own]
      .filter(([, { isRead }]) => !isRead)
      .map(([device, { n }]) => this.#record(device, n));
  }

  /** @param {string} device @param {Own} own @param {Claim} claim of another gateway */
  #isLost(device, own, claim) {
    // The own claim comes after it in the topic.
    if (!own.isRead || claim.boot === this.#writer.boot) return false;
    this.#own.delete(device);
    return true;
  }

  #forgetOne() {
    const [oldest] = this.#claims.keys();
    this.#claims.delete(oldest);
  }

  /** @param {string} device @param {number} n */
  #record(device, n) {
    const since = new Date(this.#now()).toISOString();
    return { key: device, value: JSON.stringify({ ...this.#writer, n, since }) };
  }
}

/** @param {string} device @param {string} value @returns {Claim | null} null: it is none */
function claimOf(device, value) {
  if (device === '' || Buffer.byteLength(device) > MAX_DEVICE_BYTES) return null;
  try {
    const { gateway, boot, n } = JSON.parse(value);
    const isFine = typeof gateway === 'string' && typeof boot === 'string' && Number.isSafeInteger(n);
    return isFine ? { gateway, boot, n } : null;
  } catch {
    return null;
  }
}

module.exports = { DeviceTable, MOST_DEVICES };
