'use strict';

// A broker may close the connection when it reads a certain packet: one that is larger than it takes (MQTT 3.1.1 has no other
// answer), or one whose topic it does not like [MQTT-1.5.4]. Such a record would be sent again first after each reconnect, and block
// everything behind it.
//
// Only proof makes a dead letter, and an outage cannot give it:
// - A packet that was in flight at two connections in a row that the broker closed is sent alone: nothing else is in flight with it. When the
//   broker closes the connection on it alone twice more, it is a suspect. A DISCONNECT that names a packet as its reason counts as two closes.
// - A packet is also a suspect when it is larger than anything that this broker took, and the largest in flight at two connections in a
//   row that the broker closed right after it was sent.
// - A suspect stands aside, and with it what is as large or has the same topic, while all others are sent. It goes again alone: on a
//   connection that has lived for one second, then two, four …, and on which the broker took other packets.
// - When the broker closes these connections too, each at once and only while the suspect was alone on its way, the suspect is
//   convicted. A connection that ends at any other moment, or in any other way (a time-out, a dead network), starts the count again; a
//   broker that takes nothing never lets it begin.
// - What is as large, or has the same topic, then needs one such close of its own; after two convictions it is given up without a try, for
//   ten minutes. A topic that no device has a part in is never convicted: it is the gateway's own, and all its records would follow.

/** Closes, as one without a reason counts, from which on a packet goes alone, and from which on one that went alone is a suspect. */
const ALONE = 2;
const ACCUSED = 4;
/** A packet that was cut out of a convicted one. */
const CONVICTED = 255;
/** Trials that end in a close. Without a reason, and without a size that explains it, the network could be the cause. */
const STRIKES = 3;
const UNEXPLAINED_STRIKES = 5;
const AT_ONCE_MS = 1000;
/** The broker may have been given a lower limit meanwhile. */
const FORGET_DROPS = 10;
/** No broker takes less. */
const SMALLEST_LIMIT = 512;
const PACKET_TOO_LARGE = 0x95;
/** Convictions that prove it for others, and how long: the broker may have been configured differently by then. */
const PROOFS = 2;
const PROOF_MS = 600000;
const MAX_TOPICS = 100;
/** They hold memory. With more of them nothing is suspected any more, and all starts again. */
const MAX_ASIDE = 1000;

/** @typedef {import('./taken-batch').Slot} Slot */
/** @typedef {import('./in-flight-window').Window} Window */

/**
 * @typedef {object} Aside a packet that stands aside
 * @property {Slot} slot @property {number} order of the batch @property {number} packet @property {number} size bytes
 * @property {string | null} topic as topicText() of Publish has it
 */

/** @typedef {Aside & {bySize: boolean}} Accused bySize: for its size alone, it did not go alone */

/** @typedef {{at: number, count: number, size: number, topic: string | null}} Proof size: of the smallest packet that was convicted; topic: of the last */

class Suspect {
  /**
   * @param {object} parts
   * @param {() => number} parts.now ms, monotonic
   * @param {number} parts.trialMs a connection has lived for this long before the first trial
   * @param {(slot: Slot, packet: number) => string | null} parts.topicOf null: no device has a part in it
   */
  constructor({ now, trialMs, topicOf }) {
    this.now = now;
    this.trialMs = trialMs;
    this.topicOf = topicOf;
    /** Largest packet that was ever acknowledged. */
    this.largestTaken = 0;
    this.ignored = 0;
    /** Of packets that are too large. @type {Proof | null} */
    this.tooLarge = null;
    /** @type {Map<string, Proof>} */
    this.topics = new Map();
    this.watchUntil = 0;
    /** The first one is tried, the others after it. @type {Accused[]} */
    this.accused = [];
    /** Those that are as large as one of these, or have its topic. @type {Aside[]} */
    this.alike = [];
    /** The broker told its Maximum Packet Size: no size is suspected. */
    this.isLimitTold = false;
    /** The packet that was sent alone, 0 = none. */
    this.aloneId = 0;
    this.isOnTrial = false;
    this.isProof = false;
    this.triedAt = 0;
    this.strikes = 0;
    /** All strikes had a reason. */
    this.isExplained = true;
    this.connectedAt = 0;
    this.takenHere = 0;
  }

  /** The suspect whose turn it is. @returns {Accused | undefined} */
  get first() {
    return this.accused[0];
  }

  get isAside() {
    return this.accused.length > 0 && !this.isOnTrial;
  }

  /** Topics matter: minds() and proofOf() need that of each packet. */
  get needsTopics() {
    return this.accused.length > 0 || this.topics.size > 0;
  }

  /** Each packet must be looked at: one is suspected, or a topic was convicted a short time ago. */
  get isWatching() {
    return this.accused.length > 0 || this.now() < this.watchUntil;
  }

  /** Bytes from which on packets are given up, or suspected. */
  get limit() {
    return this.isLimitTold || !this.tooLarge ? Infinity : this.tooLarge.size;
  }

  /** True for a packet that must not go with others now. @param {number} size @param {string | null} topic */
  minds(size, topic) {
    if (size >= this.limit || (topic !== null && this.topics.has(topic))) return true;
    return this.accused.some((each) => this.#isAlike(each, size, topic));
  }

  /** @param {Accused} accused @param {number} size @param {string | null} topic */
  #isAlike(accused, size, topic) {
    return (topic !== null && topic === accused.topic) || (this.#maySize(accused) && size >= accused.size);
  }

  /** Its size may be the reason. @param {Accused} accused */
  #maySize({ size }) {
    return !this.isLimitTold && size >= SMALLEST_LIMIT && size > this.largestTaken;
  }

  /** What was proven of such packets, '' = nothing. @param {number} size @param {string | null} topic @returns {'' | 'size' | 'topic'} */
  proofOf(size, topic) {
    if (!this.isLimitTold && this.#isProven(this.tooLarge, size)) return 'size';
    return topic !== null && this.#isProven(this.topics.get(topic) ?? null, size) ? 'topic' : '';
  }

  /** @param {Proof | null} proof @param {number} size */
  #isProven(proof, size) {
    return proof !== null && proof.count >= PROOFS && size >= proof.size && this.now() - proof.at < PROOF_MS;
  }

  /** True for a packet that must be the only one in flight. @param {Slot} slot @param {number} packet */
  static goesAlone(slot, packet) {
    return slot.drops[packet] >= ALONE;
  }

  /** @param {Slot} slot @param {number} packet pending @param {number} size @param {string | null} topic */
  hold(slot, packet, size, topic) {
    slot.putAside(packet);
    const aside = { slot, order: slot.order, packet, size, topic };
    if (this.accused.length > 0) this.alike.push(aside);
    else this.#begin({ ...aside, bySize: false });
  }

  /** There are too many. */
  get isFull() {
    return this.accused.length + this.alike.length >= MAX_ASIDE;
  }

  /** @param {boolean} isLimitTold @returns {Aside[]} those that are sent with the others again */
  connected(isLimitTold) {
    this.connectedAt = this.now();
    this.takenHere = 0;
    this.isLimitTold = isLimitTold;
    if (!isLimitTold || !this.accused.some(({ bySize }) => bySize)) return [];
    const freed = this.accused.filter(({ bySize }) => bySize);
    this.accused = this.accused.filter(({ bySize }) => !bySize);
    this.strikes = 0;
    return [...freed, ...this.alike.splice(0)];
  }

  /** ms until the trial may begin. REQUIRES: isAside */
  waitMs() {
    return Math.max(0, this.connectedAt + this.trialMs * 2 ** this.strikes - this.now());
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
    this.isOnTrial = true;
    this.triedAt = this.now();
  }

  /** @param {number} id of a packet that was sent alone, see goesAlone() */
  wentAlone(id) {
    this.aloneId = id;
  }

  /** The broker answered to a packet. @param {number} id @param {number} size */
  taken(id, size) {
    if (id === this.aloneId) this.aloneId = 0;
    this.takenHere++;
    this.ignored = 0;
    if (size <= this.largestTaken) return;
    this.largestTaken = size;
    if (this.tooLarge && size >= this.tooLarge.size) this.tooLarge = null;
  }

  /** The first suspect was answered. @returns {Aside[]} all that are sent with the others again */
  acquit() {
    const { topic } = /** @type {Accused} */ (this.first);
    if (topic !== null) this.topics.delete(topic);
    return this.dismiss();
  }

  /** The first suspect is none any more. @returns {Aside[]} it, and those that stood aside for it or another */
  dismiss() {
    this.isOnTrial = false;
    this.strikes = 0;
    this.isExplained = true;
    return [...this.accused.splice(0, 1), ...this.alike.splice(0)];
  }

  /** Nothing is suspected any more. @returns {Aside[]} all that stood aside */
  clear() {
    this.aloneId = 0;
    const rest = this.accused.splice(1);
    const freed = this.first ? this.dismiss() : [];
    return [...freed, ...rest];
  }

  /** A packet became two. @param {Slot} slot @param {number} packet */
  wasCut(slot, packet) {
    for (const each of [...this.accused, ...this.alike]) {
      if (each.slot === slot && each.order === slot.order && each.packet > packet) each.packet++;
    }
  }

  /**
   * The connection ended. Call it before the window forgets what was in flight.
   * @param {Window} window @param {Iterable<Slot>} taken all batches @param {boolean} byBroker it closed the connection, for no reason that
   *   is another than a packet: no time-out, no lost network @param {number} code reason of its DISCONNECT, 0 = none
   * @returns {boolean} true: the first suspect is convicted
   */
  dropped(window, taken, byBroker, code) {
    const { aloneId } = this;
    this.aloneId = 0;
    if (this.isOnTrial) return this.#judge(byBroker, code);
    this.strikes = 0;
    const weight = byBroker ? (code > 0 ? 2 : 1) : 0;
    for (const slot of taken) slot.countDrop(weight);
    if (byBroker) this.#accuse(window, aloneId, code);
    return false;
  }

  /** @param {boolean} byBroker @param {number} code */
  #judge(byBroker, code) {
    const first = /** @type {Accused} */ (this.first);
    this.isOnTrial = false;
    if (!byBroker || this.now() - this.triedAt > AT_ONCE_MS) {
      this.strikes = 0;
      return false;
    }
    if (!this.isProof) return false;
    if (this.strikes++ === 0) this.isExplained = true;
    this.isExplained &&= code > 0;
    if (this.strikes < this.#needed(first)) return false;
    this.#prove(first, code);
    return true;
  }

  /** Strikes. What was proven before, however long ago, needs no second proof, but the fact itself. @param {Accused} accused */
  #needed(accused) {
    const { slot, packet, size, topic } = accused;
    const isKnown = size >= this.limit || (topic !== null && this.topics.has(topic));
    if (isKnown || slot.drops[packet] === CONVICTED) return 1;
    return this.isExplained || this.#maySize(accused) ? STRIKES : UNEXPLAINED_STRIKES;
  }

  /** What the conviction says about others. @param {Accused} accused @param {number} code */
  #prove(accused, code) {
    const { topic } = accused;
    const isNamed = code > 0 && code !== PACKET_TOO_LARGE;
    if (this.#maySize(accused) && !isNamed) {
      const before = this.tooLarge;
      // A second one of the same topic says nothing about the size: the topic may be the reason.
      const isNews = !before || topic === null || topic !== before.topic;
      const count = code === PACKET_TOO_LARGE ? PROOFS : (before?.count ?? 0) + (isNews ? 1 : 0);
      this.tooLarge = this.#proof(before, count, accused);
    }
    if (topic === null || code === PACKET_TOO_LARGE) return;
    const before = this.topics.get(topic) ?? null;
    this.topics.delete(topic);
    this.topics.set(topic, this.#proof(before, (before?.count ?? 0) + 1, accused));
    this.watchUntil = this.now() + PROOF_MS;
    const [oldest] = this.topics.keys();
    if (this.topics.size > MAX_TOPICS) this.topics.delete(oldest);
  }

  /** @param {Proof | null} before @param {number} count @param {Accused} accused @returns {Proof} */
  #proof(before, count, { size, topic }) {
    return { at: this.now(), count, size: Math.min(before?.size ?? size, size), topic };
  }

  /** @param {Window} window @param {number} aloneId @param {number} code */
  #accuse(window, aloneId, code) {
    if (code === 0 || code === PACKET_TOO_LARGE) this.#accuseLargest(window);
    if (aloneId === 0 || !window.isOpen(aloneId) || !this.#wasAtOnce(window, aloneId)) return;
    const slot = window.slots[aloneId];
    const packet = window.packets[aloneId];
    if (slot && slot.drops[packet] >= ACCUSED) this.#add(slot, packet, window.sizes[aloneId], false);
  }

  /** @param {Window} window @param {number} id */
  #wasAtOnce(window, id) {
    return this.now() - window.sentAt[id] <= AT_ONCE_MS;
  }

  /** @param {Window} window */
  #accuseLargest(window) {
    const id = this.isLimitTold ? 0 : window.largest();
    const slot = id === 0 ? null : window.slots[id];
    const size = window.sizes[id];
    if (!slot || size < SMALLEST_LIMIT || !this.#wasAtOnce(window, id)) return;
    if (size <= this.largestTaken) {
      if (++this.ignored >= FORGET_DROPS) this.largestTaken = 0;
      return;
    }
    const packet = window.packets[id];
    if (slot.drops[packet] >= ALONE) this.#add(slot, packet, size, true);
  }

  /** @param {Slot} slot @param {number} packet @param {number} size @param {boolean} bySize */
  #add(slot, packet, size, bySize) {
    const isKnown = this.accused.some(
      (each) => each.slot === slot && each.order === slot.order && each.packet === packet
    );
    if (isKnown) return;
    this.#begin({ slot, order: slot.order, packet, size, topic: this.topicOf(slot, packet), bySize });
  }

  /** @param {Accused} accused */
  #begin(accused) {
    this.accused.push(accused);
    if (this.accused.length > 1) return;
    this.strikes = 0;
    this.isExplained = true;
  }
}

module.exports = { CONVICTED, Suspect };
