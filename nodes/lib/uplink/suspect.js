'use strict';

// Some brokers do not say how large a packet may be and close the connection when they see the head of a larger one: MQTT 3.1.1
// has no other answer. Such a record would be sent again first after each reconnect, and block everything behind it for ever.
//
// Only proof makes a dead letter, and an outage cannot give it:
// - A packet is a suspect when it is larger than anything that this broker ever took, and the largest in flight at two connections
//   in a row that the broker closed right after it was sent.
// - From then on it stands aside, and with it what is as large, while all others are sent. It goes again alone: on a connection
//   that has lived for one second, then two, then four, and on which the broker took other packets.
// - When the broker closes these three connections too, each at once and only while the suspect was alone on its way, the
//   packet is too large, and so is for ten minutes what is as large. A connection that ends at any other moment, or in any other way (a time-out, a dead network), starts
//   the count again; a broker that takes nothing never lets it begin.

const DROPS = 2;
const STRIKES = 3;
const TRIAL_MS = 1000;
const AT_ONCE_MS = 1000;
/** The broker may have been given a lower limit meanwhile. */
const FORGET_DROPS = 10;
/** No broker takes less. */
const SMALLEST_LIMIT = 512;
/** How long a proof stands; then the broker may have been given a higher limit. */
const PROOF_MS = 600000;
const IDLE = 0;
const ASIDE = 1;
const ON_TRIAL = 2;

class Suspect {
  /** @param {() => number} now ms, monotonic */
  constructor(now) {
    this.now = now;
    /** Largest packet that was ever acknowledged, and the smallest that was proven to be too large. */
    this.largestTaken = 0;
    this.tooLarge = Infinity;
    this.provenAt = 0;
    this.state = IDLE;
    /** @type {import('./slot').Slot | null} */
    this.slot = null;
    this.order = 0;
    this.packet = 0;
    this.size = 0;
    /** Packets of this size and more stand aside with it. */
    this.asideFrom = 0;
    this.sentAt = 0;
    this.drops = 0;
    this.ignored = 0;
    this.strikes = 0;
    this.connectedAt = 0;
    this.takenHere = 0;
    this.isProof = false;
    /** Others that have packets aside. @type {{slot: import('./slot').Slot, order: number}[]} */
    this.held = [];
  }

  /** True for a packet that must not go with others now. @param {number} size */
  minds(size) {
    return size >= this.tooLarge || (this.state !== IDLE && size >= this.asideFrom);
  }

  /** True for a packet that was proven to be too large. @param {number} size */
  isTooLarge(size) {
    return size >= this.tooLarge && this.now() - this.provenAt < PROOF_MS;
  }

  /** @param {import('./slot').Slot} slot @param {number} packet pending @param {number} size */
  hold(slot, packet, size) {
    slot.putAside(packet);
    if (this.state !== IDLE) this.held.push({ slot, order: slot.order });
    else this.#accuse(slot, packet, size);
  }

  get isAside() {
    return this.state === ASIDE;
  }

  get isOnTrial() {
    return this.state === ON_TRIAL;
  }

  connected() {
    this.connectedAt = this.now();
    this.takenHere = 0;
  }

  /** ms until the trial may begin. REQUIRES: isAside */
  waitMs() {
    return Math.max(0, this.connectedAt + TRIAL_MS * 2 ** this.strikes - this.now());
  }

  get isDue() {
    return this.isAside && this.waitMs() === 0;
  }

  /** What happens now would prove something. */
  get isTime() {
    return this.isDue && this.takenHere > 0;
  }

  /** The suspect is sent, alone. REQUIRES: isAside */
  tried() {
    this.isProof = this.isTime;
    this.state = ON_TRIAL;
    this.sentAt = this.now();
  }

  /** The broker answered to a packet of this size. @param {number} size */
  taken(size) {
    this.takenHere++;
    this.ignored = 0;
    if (size <= this.largestTaken) return;
    this.largestTaken = size;
    if (size >= this.tooLarge) this.tooLarge = Infinity;
  }

  /** Nothing is suspected any more. Returns the batches that have packets aside. */
  clear() {
    const { slot, order } = this;
    const aside = this.held.splice(0);
    if (slot) aside.push({ slot, order });
    this.state = IDLE;
    this.slot = null;
    this.drops = 0;
    this.strikes = 0;
    return aside.filter((one) => one.slot.order === one.order).map((one) => one.slot);
  }

  /**
   * The connection ended. Call it before the window forgets what was in flight.
   * @param {import('./window').Window} window @param {boolean} byBroker it closed the connection: no time-out, no lost network
   * @returns {boolean} true: the suspect is too large
   */
  dropped(window, byBroker) {
    if (this.state === IDLE) {
      this.#suspect(window, byBroker);
      return false;
    }
    const wasOnTrial = this.isOnTrial;
    this.state = ASIDE;
    if (!wasOnTrial && byBroker) this.#hold(window);
    if (!wasOnTrial || !byBroker || this.now() - this.sentAt > AT_ONCE_MS) this.strikes = 0;
    else if (this.isProof) this.strikes++;
    // A limit that was proven long ago needs no second proof, but the fact itself.
    const needed = this.size >= this.tooLarge ? 1 : STRIKES;
    if (this.strikes < needed) return false;
    this.tooLarge = Math.min(this.tooLarge, this.size);
    this.provenAt = this.now();
    return true;
  }

  /** The suspect was not on its way: maybe another one is too large as well. @param {import('./window').Window} window */
  #hold(window) {
    const size = window.sizes[window.largest()];
    if (size > this.largestTaken && size >= SMALLEST_LIMIT) this.asideFrom = Math.min(this.asideFrom, size);
  }

  /** @param {import('./window').Window} window @param {boolean} byBroker */
  #suspect(window, byBroker) {
    const id = byBroker ? window.largest() : 0;
    const slot = id === 0 ? null : window.slots[id];
    if (!slot || window.sizes[id] < SMALLEST_LIMIT || this.now() - window.sentAt[id] > AT_ONCE_MS) {
      this.drops = 0;
      return;
    }
    if (window.sizes[id] <= this.largestTaken) {
      if (++this.ignored >= FORGET_DROPS) this.largestTaken = 0;
      return;
    }
    const packet = window.packets[id];
    const isSame = this.slot === slot && this.order === slot.order && this.packet === packet;
    const drops = isSame ? this.drops + 1 : 1;
    this.#accuse(slot, packet, window.sizes[id]);
    this.drops = drops;
    if (drops < DROPS) this.state = IDLE;
  }

  /** @param {import('./slot').Slot} slot @param {number} packet @param {number} size */
  #accuse(slot, packet, size) {
    this.state = ASIDE;
    this.slot = slot;
    this.order = slot.order;
    this.packet = packet;
    this.size = size;
    this.asideFrom = size;
    this.strikes = 0;
  }
}

exports.Suspect = Suspect;
