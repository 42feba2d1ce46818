'use strict';

const { closeKind } = require('../../session/reason-codes');
const { Proofs } = require('./proofs');

// A broker may close the connection when it reads a certain packet: one larger than it accepts (MQTT 3.1.1 has no
// other answer), or one with a topic that it does not accept [MQTT-1.5.4]. After each reconnect, such a poison record
// would be sent first again and block all records behind it.
//
// Only proof makes a dead letter, and an outage cannot provide it:
// - A packet that was in flight on two consecutive connections that the broker closed is sent alone: nothing else is
//   in flight with it. If the broker closes the connection twice more while only this packet is in flight, the packet
//   is a poison record. A DISCONNECT whose reason names a packet counts as two closes. One whose reason is the state
//   of the broker or of this client (busy, shutting down, quota exceeded …) needs eight closes instead of four: most
//   such brokers take the packet soon.
// - A packet is also a poison record if it is larger than any packet that this broker accepted, and was the largest in
//   flight on two consecutive connections that the broker closed right after the packet was sent.
// - A poison record is set aside, together with packets that are as large or have the same topic, while all others are
//   sent. It is tried again alone, on a connection that has lasted for one second, then two, four …, and on which the
//   broker accepted other packets.
// - When the broker closes these connections too, each at once and only while the poison record was alone in flight,
//   the poison record is convicted. A connection that ends at any other moment, or in any other way (a time-out, a
//   dead network), restarts the count. If the broker accepts no packet, the trials do not begin.
// - After one conviction, a packet that is as large, or has the same topic, needs only one such close. After two
//   convictions, it is given up without a try for ten minutes. A topic that contains nothing from a device is never
//   convicted: it belongs to the gateway, and all its records would be given up.
//
// A broker that is busy, restarts, or enforces a quota must never convict an innocent packet. If a DISCONNECT gives
// such a state as its reason, a conviction takes ten closes, on connections that carried other packets for 1, 2, 4 …
// 512 s, and proves nothing about other packets:
// - A broker that shuts down or restarts does so at moments of its own. It would have to do so ten times in a row in
//   the one round trip in which the packet is alone in flight, and never in the 17 minutes between.
// - A limit of packets, or a rate, also ends connections between the trials, on other packets. Each such end restarts
//   the count.
// - A limit of bytes in a period may be too short for this packet and long enough for the smaller others. Therefore a
//   trial begins only when the broker took, since the last close, two other packets at least, and as many bytes as the
//   packet has: what was left of the period's quota at that close would not have been enough for them. All ten closes
//   are then in different periods.

/**
 * Closes after which a packet is sent alone, and after which a packet sent alone is a poison record. A close without a
 * reason counts as one.
 */
const ALONE = 2;
const ACCUSED = 4;
const ACCUSED_BY_STATE = 8;
/** Marks a packet that was cut out of a convicted one. */
const CONVICTED = 255;
/**
 * Number of trials that must end in a close. Without a reason, and without a size that explains it, the network could
 * be the cause.
 */
const STRIKES = 3;
const UNEXPLAINED_STRIKES = 5;
/** The broker gave its own state, or that of this client, as the reason. */
const STATE_STRIKES = 10;
/** Longest wait for a trial, as a power of two of the first wait. */
const MAX_DOUBLINGS = STATE_STRIKES - 1;
/** Least number of other packets that the broker must take between two closes that count. */
const OTHERS = 2;
const AT_ONCE_MS = 1000;
/** Drops after which the largest accepted size is forgotten: the broker may have a lower limit now. */
const FORGET_DROPS = 10;
/** No broker accepts less than this. */
const SMALLEST_LIMIT = 512;
const PACKET_TOO_LARGE = 0x95;
/**
 * Limits the memory that they hold. When the limit is reached, all suspicions are dropped and all packets are sent
 * again.
 */
const MAX_ASIDE = 1000;

/** @typedef {import('../taken-batch').TakenBatch} TakenBatch */
/** @typedef {import('../in-flight-window').InFlightWindow} InFlightWindow */

/**
 * @typedef {object} Aside a packet that is set aside
 * @property {TakenBatch} batch
 * @property {number} order of the batch
 * @property {number} packet
 * @property {number} size bytes
 * @property {string | null} topic see deviceTopic() of Publish
 */

/**
 * bySize: accused because of its size alone; it was not sent alone. byState: the reason of the close was a state.
 * @typedef {Aside & {bySize: boolean, byState: boolean}} Accused
 */

class PoisonRecord {
  /**
   * @param {object} parts
   * @param {() => number} parts.now ms, monotonic
   * @param {number} parts.trialMs time that a connection must last before the first trial
   * @param {(batch: TakenBatch, packet: number) => string | null} parts.topicOf null: the topic contains nothing from
   *   the device
   */
  constructor({ now, trialMs, topicOf }) {
    this.now = now;
    this.trialMs = trialMs;
    this.topicOf = topicOf;
    /** Size of the largest packet that was ever acknowledged. */
    this.largestTaken = 0;
    this.ignored = 0;
    this.proofs = new Proofs(now);
    /** The first one is tried, then the others. @type {Accused[]} */
    this.accused = [];
    /** Packets that are as large as one of these, or have its topic. @type {Aside[]} */
    this.alike = [];
    /** The broker gave its Maximum Packet Size: no size is suspected. */
    this.isLimitKnown = false;
    /** Identifier of the packet that was sent alone, 0 = none. */
    this.aloneId = 0;
    this.isOnTrial = false;
    this.isProof = false;
    this.triedAt = 0;
    this.strikes = 0;
    /** All strikes had a reason that names a packet. */
    this.isExplained = true;
    /** A strike had a state as its reason. */
    this.isByState = false;
    /** Consecutive trials that the broker ended without a proof. */
    this.fruitless = 0;
    /** What the broker took since the last strike. */
    this.others = { packets: 0, bytes: 0 };
    this.connectedAt = 0;
    this.takenHere = 0;
  }

  /** Returns the poison record that is tried next. @returns {Accused | undefined} */
  get first() {
    return this.accused[0];
  }

  get isAside() {
    return this.accused.length > 0 && !this.isOnTrial;
  }

  /** True if mustHold() and proofOf() need the topic of each packet. */
  get needsTopics() {
    return this.accused.length > 0 || this.proofs.hasTopics;
  }

  /** True if each packet must be checked: one is suspected, or a topic was convicted recently. */
  get isWatching() {
    return this.accused.length > 0 || this.proofs.isWatching;
  }

  /** Size in bytes from which packets are given up, or suspected. */
  get limit() {
    return this.isLimitKnown ? Infinity : this.proofs.limit;
  }

  /**
   * True for a packet that must not be sent with others now.
   * @param {number} size
   * @param {string | null} topic
   */
  mustHold(size, topic) {
    if (size >= this.limit || this.proofs.hasTopic(topic)) return true;
    return this.accused.some((each) => this.#isAlike(each, size, topic));
  }

  /**
   * @param {Accused} accused
   * @param {number} size
   * @param {string | null} topic
   */
  #isAlike(accused, size, topic) {
    return (topic !== null && topic === accused.topic) || (this.#maySize(accused) && size >= accused.size);
  }

  /** True if the packet's size may be the reason. @param {Accused} accused */
  #maySize({ size }) {
    return !this.isLimitKnown && size >= SMALLEST_LIMIT && size > this.largestTaken;
  }

  /**
   * Returns what is proven for such packets, '' = nothing.
   * @param {number} size
   * @param {string | null} topic
   * @returns {'' | 'size' | 'topic'}
   */
  proofOf(size, topic) {
    if (!this.isLimitKnown && this.proofs.hold(size)) return 'size';
    return this.proofs.holdTopic(size, topic) ? 'topic' : '';
  }

  /**
   * True for a packet that must be the only one in flight.
   * @param {TakenBatch} batch
   * @param {number} packet
   */
  static goesAlone(batch, packet) {
    return batch.drops[packet] >= ALONE;
  }

  /**
   * Sets a pending packet aside.
   * @param {TakenBatch} batch
   * @param {number} packet pending
   * @param {number} size
   * @param {string | null} topic
   */
  hold(batch, packet, size, topic) {
    batch.putAside(packet);
    const aside = { batch, order: batch.order, packet, size, topic };
    if (this.accused.length > 0) this.alike.push(aside);
    else this.#begin({ ...aside, bySize: false, byState: false });
  }

  /** True if too many packets are set aside. */
  get isFull() {
    return this.accused.length + this.alike.length >= MAX_ASIDE;
  }

  /** @param {boolean} isLimitKnown @returns {Aside[]} packets that are sent with the others again */
  connected(isLimitKnown) {
    this.connectedAt = this.now();
    this.takenHere = 0;
    this.isLimitKnown = isLimitKnown;
    if (!isLimitKnown || !this.accused.some(({ bySize }) => bySize)) return [];
    const freed = this.accused.filter(({ bySize }) => bySize);
    this.accused = this.accused.filter(({ bySize }) => !bySize);
    this.#restart();
    return [...freed, ...this.alike.splice(0)];
  }

  /** Returns the time in ms until the trial may begin. REQUIRES: isAside */
  waitMs() {
    const doublings = Math.min(MAX_DOUBLINGS, Math.max(this.strikes, this.fruitless));
    return Math.max(0, this.connectedAt + this.trialMs * 2 ** doublings - this.now());
  }

  get isDue() {
    return this.isAside && this.waitMs() === 0;
  }

  /** True if a trial would prove something now. */
  get isTime() {
    const first = /** @type {Accused} */ (this.first);
    if (!this.isDue || this.takenHere === 0) return false;
    return !(first.byState || this.isByState) || this.#tookEnough(first);
  }

  /**
   * True if what the broker took since the last strike shows that it had room for the packet.
   * @param {Accused} accused
   */
  #tookEnough({ size }) {
    return this.others.packets >= OTHERS && this.others.bytes >= size;
  }

  /** Call it when the poison record is sent, alone. REQUIRES: isAside */
  tried() {
    this.isProof = this.isTime;
    this.isOnTrial = true;
    this.triedAt = this.now();
  }

  /** @param {number} id of a packet that was sent alone, see goesAlone() */
  wentAlone(id) {
    this.aloneId = id;
  }

  /**
   * Call it when the broker acknowledged a packet, with any reason code.
   * @param {number} id
   * @param {number} size
   */
  taken(id, size) {
    if (id === this.aloneId) this.aloneId = 0;
    this.takenHere++;
    this.others.packets++;
    this.others.bytes += size;
    this.ignored = 0;
    if (size <= this.largestTaken) return;
    this.largestTaken = size;
    this.proofs.taken(size);
  }

  /** The broker answered the first poison record. @returns {Aside[]} all packets that are sent with the others again */
  acquit() {
    this.proofs.acquit(/** @type {Accused} */ (this.first).topic);
    return this.dismiss();
  }

  /**
   * The first poison record is no longer suspected.
   * @returns {Aside[]} that packet, and all packets that were set aside because of it or another one
   */
  dismiss() {
    this.isOnTrial = false;
    this.#restart();
    return [...this.accused.splice(0, 1), ...this.alike.splice(0)];
  }

  /** Drops all suspicions. @returns {Aside[]} all packets that were set aside */
  clear() {
    this.aloneId = 0;
    const rest = this.accused.splice(1);
    const freed = this.first ? this.dismiss() : [];
    return [...freed, ...rest];
  }

  /**
   * Call it when a packet was cut into two.
   * @param {TakenBatch} batch
   * @param {number} packet
   */
  wasCut(batch, packet) {
    for (const each of [...this.accused, ...this.alike]) {
      if (each.batch === batch && each.order === batch.order && each.packet > packet) each.packet++;
    }
  }

  /**
   * The connection ended. Call it before the window forgets what was in flight.
   * @param {InFlightWindow} window
   * @param {Iterable<TakenBatch>} taken all batches
   * @param {boolean} byBroker the broker closed the connection: no time-out, no lost network
   * @param {number} code reason of its DISCONNECT, 0 = none
   * @returns {boolean} true: the first poison record is convicted
   */
  dropped(window, taken, byBroker, code) {
    const { aloneId } = this;
    this.aloneId = 0;
    if (this.isOnTrial) return this.#endTrial(byBroker, code);
    this.#restart();
    const weight = byBroker ? (closeKind(code) === 'packet' ? 2 : 1) : 0;
    for (const batch of taken) batch.countDrop(weight);
    if (byBroker) this.#accuse(window, aloneId, code);
    return false;
  }

  /** @param {boolean} byBroker @param {number} code */
  #endTrial(byBroker, code) {
    const first = /** @type {Accused} */ (this.first);
    this.isOnTrial = false;
    const kind = closeKind(code);
    if (!byBroker || this.now() - this.triedAt > AT_ONCE_MS) {
      this.#restart();
      return false;
    }
    if (!this.isProof || (kind === 'state' && !this.#tookEnough(first))) {
      if (kind === 'state') this.fruitless++;
      return false;
    }
    if (this.strikes++ === 0) {
      this.isExplained = true;
      this.isByState = false;
    }
    this.fruitless = 0;
    this.isExplained &&= kind === 'packet';
    this.isByState ||= kind === 'state';
    this.others = { packets: 0, bytes: 0 };
    if (this.strikes < this.#needed(first)) return false;
    this.#prove(first, code);
    return true;
  }

  /**
   * Returns the number of strikes that a conviction needs. A packet whose size or topic was convicted before, however
   * long ago, needs only one, and a part of a convicted packet needs fewer.
   * @param {Accused} accused
   */
  #needed(accused) {
    const { batch, packet, size, topic } = accused;
    const isPart = batch.drops[packet] === CONVICTED;
    if (this.isByState) return isPart ? UNEXPLAINED_STRIKES : STATE_STRIKES;
    const isKnown = size >= this.limit || this.proofs.hasTopic(topic);
    if (isKnown || isPart) return 1;
    return this.isExplained || this.#maySize(accused) ? STRIKES : UNEXPLAINED_STRIKES;
  }

  /**
   * Records what the conviction proves about other packets.
   * @param {Accused} accused
   * @param {number} code
   */
  #prove(accused, code) {
    if (this.isByState) return;
    const isTooLarge = code === PACKET_TOO_LARGE;
    const isNamed = closeKind(code) === 'packet' && !isTooLarge;
    if (this.#maySize(accused) && !isNamed) this.proofs.addSize(accused, isTooLarge);
    if (!isTooLarge) this.proofs.addTopic(accused);
  }

  /**
   * @param {InFlightWindow} window
   * @param {number} aloneId
   * @param {number} code
   */
  #accuse(window, aloneId, code) {
    const kind = closeKind(code);
    if (kind === 'none' || code === PACKET_TOO_LARGE) this.#accuseLargest(window);
    if (aloneId === 0 || !window.isOpen(aloneId) || !this.#wasAtOnce(window, aloneId)) return;
    const batch = window.batches[aloneId];
    const packet = window.packets[aloneId];
    const byState = kind === 'state';
    if (batch && batch.drops[packet] >= (byState ? ACCUSED_BY_STATE : ACCUSED))
      this.#add(batch, packet, { size: window.sizes[aloneId], bySize: false, byState });
  }

  /** @param {InFlightWindow} window @param {number} id */
  #wasAtOnce(window, id) {
    return this.now() - window.places.sentAt(id) <= AT_ONCE_MS;
  }

  /** @param {InFlightWindow} window */
  #accuseLargest(window) {
    const id = this.isLimitKnown ? 0 : window.largest();
    const batch = id === 0 ? null : window.batches[id];
    const size = window.sizes[id];
    if (!batch || size < SMALLEST_LIMIT || !this.#wasAtOnce(window, id)) return;
    if (size <= this.largestTaken) {
      if (++this.ignored >= FORGET_DROPS) this.largestTaken = 0;
      return;
    }
    const packet = window.packets[id];
    if (batch.drops[packet] >= ALONE) this.#add(batch, packet, { size, bySize: true, byState: false });
  }

  /**
   * @param {TakenBatch} batch
   * @param {number} packet
   * @param {Pick<Accused, 'size' | 'bySize' | 'byState'>} why
   */
  #add(batch, packet, why) {
    const isKnown = this.accused.some(
      (each) => each.batch === batch && each.order === batch.order && each.packet === packet
    );
    if (isKnown) return;
    this.#begin({ batch, order: batch.order, packet, topic: this.topicOf(batch, packet), ...why });
  }

  /** @param {Accused} accused */
  #begin(accused) {
    this.accused.push(accused);
    if (this.accused.length === 1) this.#restart();
  }

  /** Counts the strikes from zero again. */
  #restart() {
    this.strikes = this.fruitless = 0;
    this.isExplained = true;
    this.isByState = false;
    this.others = { packets: 0, bytes: 0 };
  }
}

module.exports = { CONVICTED, PoisonRecord };
