'use strict';

/** Number of convictions that prove the cause, and for how long: the broker's configuration may change. */
const PROOFS = 2;
const PROOF_MS = 600000;
const MAX_TOPICS = 100;

/**
 * size: of the smallest convicted packet; topic: of the last convicted packet.
 * @typedef {{at: number, count: number, size: number, topic: string | null}} Proof
 */

/** @typedef {{size: number, topic: string | null}} Convicted */

/**
 * What convicted packets prove about others, see poison-record.js: the broker accepts no packet that is as large, or
 * none with the topic.
 */
class Proofs {
  /** For packets that are too large. @type {Proof | null} */
  #tooLarge = null;
  /** @type {Map<string, Proof>} */
  #topics = new Map();
  #watchUntil = 0;

  /** @param {() => number} now ms, monotonic */
  constructor(now) {
    this.now = now;
  }

  /** True if a topic was convicted. */
  get hasTopics() {
    return this.#topics.size > 0;
  }

  /** True if a topic was convicted recently. */
  get isWatching() {
    return this.now() < this.#watchUntil;
  }

  /** Size in bytes of the smallest packet that was convicted for its size, Infinity = none. */
  get limit() {
    return this.#tooLarge?.size ?? Infinity;
  }

  /** True if a packet with the topic was convicted, however long ago. @param {string | null} topic */
  hasTopic(topic) {
    return topic !== null && this.#topics.has(topic);
  }

  /** True if it is proven that the broker accepts no packet of the size. @param {number} size */
  hold(size) {
    return this.#isProven(this.#tooLarge, size);
  }

  /**
   * True if it is proven that the broker accepts no packet of the size with the topic.
   * @param {number} size
   * @param {string | null} topic
   */
  holdTopic(size, topic) {
    return topic !== null && this.#isProven(this.#topics.get(topic) ?? null, size);
  }

  /** @param {Proof | null} proof @param {number} size */
  #isProven(proof, size) {
    return proof !== null && proof.count >= PROOFS && size >= proof.size && this.now() - proof.at < PROOF_MS;
  }

  /** The broker accepted a packet. @param {number} size */
  taken(size) {
    if (size >= this.limit) this.#tooLarge = null;
  }

  /** The broker answered a packet that was suspected. @param {string | null} topic */
  acquit(topic) {
    if (topic !== null) this.#topics.delete(topic);
  }

  /**
   * A packet was convicted, and its size may be the reason.
   * @param {Convicted} convicted
   * @param {boolean} isNamed the broker named the size as the reason
   */
  addSize(convicted, isNamed) {
    const { topic } = convicted;
    const before = this.#tooLarge;
    // A second packet of the same topic proves nothing about the size: the topic may be the reason.
    const isNews = !before || topic === null || topic !== before.topic;
    const count = isNamed ? PROOFS : (before?.count ?? 0) + (isNews ? 1 : 0);
    this.#tooLarge = this.#proof(before, count, convicted);
  }

  /** A packet was convicted, and its topic may be the reason. @param {Convicted} convicted */
  addTopic(convicted) {
    const { topic } = convicted;
    if (topic === null) return;
    const before = this.#topics.get(topic) ?? null;
    this.#topics.delete(topic);
    this.#topics.set(topic, this.#proof(before, (before?.count ?? 0) + 1, convicted));
    this.#watchUntil = this.now() + PROOF_MS;
    const [oldest] = this.#topics.keys();
    if (this.#topics.size > MAX_TOPICS) this.#topics.delete(oldest);
  }

  /**
   * @param {Proof | null} before
   * @param {number} count
   * @param {Convicted} convicted
   * @returns {Proof}
   */
  #proof(before, count, { size, topic }) {
    return { at: this.now(), count, size: Math.min(before?.size ?? size, size), topic };
  }
}

exports.Proofs = Proofs;
