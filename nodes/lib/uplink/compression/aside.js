'use strict';

const { payloadRoom, publishPacket } = require('./retained-packet');

/** Packet identifier that the in-flight window never uses, because it has at most 1024 places. The engine knows it. */
const ASIDE_ID = 65535;

/** @typedef {import('../sending/feeder').Link} Link */

/**
 * One retained message at a time beside the window of a session: a dictionary belongs to no batch.
 */
class Aside {
  /** @type {Link | null} */
  #link = null;
  /** A link on which it would need a place of the window, and has none. @type {Link | null} */
  #placeless = null;
  /** @type {((isTaken: boolean) => void) | null} */
  #done = null;
  /** When the message in flight was written; null = none is in flight. @type {number | null} */
  #sentAt = null;
  #write;
  #now;

  /**
   * @param {(bytes: Buffer, done: (error?: Error | null) => void) => void} write to the session
   * @param {() => number} now ms, monotonic
   */
  constructor(write, now) {
    this.#write = write;
    this.#now = now;
    /** Number of connections so far. */
    this.connections = 0;
  }

  /**
   * Takes a place for itself, if the broker's Receive Maximum is not larger than the window [MQTT-3.3.4-9].
   * @param {Link} link
   * @param {number} places of the window
   * @param {boolean} isWanted something will be published
   * @returns {Link} for the window
   */
  connected(link, places, isWanted) {
    this.connections++;
    this.#link = this.#placeless = null;
    const needsPlace = link.receiveMaximum <= places;
    if (!link.retainAvailable || link.maximumQos === 0 || (needsPlace && link.receiveMaximum < 2))
      return link;
    if (needsPlace && !isWanted) this.#placeless = link;
    else this.#link = link;
    return needsPlace && isWanted ? { ...link, receiveMaximum: link.receiveMaximum - 1 } : link;
  }

  /**
   * Something will be published now, which was not the case when the session connected: takes a place of the window as
   * soon as one is free. Call it again until then.
   * @param {Pick<import('../sending/in-flight-window').InFlightWindow, 'setLimit' | 'inflight'>} window
   */
  wanted(window) {
    if (!this.#placeless) return;
    const left = this.#placeless.receiveMaximum - 1;
    window.setLimit(left);
    if (window.inflight > left) return;
    this.#link = this.#placeless;
    this.#placeless = null;
  }

  get isConnected() {
    return this.#link !== null;
  }

  /** True if the session can publish a retained message now. */
  get isReady() {
    return this.#link !== null && this.#sentAt === null;
  }

  /** Returns how many bytes of payload the broker accepts. REQUIRES: isConnected. @param {string} topic */
  room(topic) {
    const { maximumPacketSize } = /** @type {Link} */ (this.#link);
    return maximumPacketSize > 0 ? payloadRoom(maximumPacketSize, topic) : Infinity;
  }

  /**
   * Publishes a retained message. REQUIRES: isReady, and payload.length <= room(topic).
   * @param {string} topic
   * @param {Buffer} payload
   * @param {(isTaken: boolean) => void} done is called with false if the broker refuses it, or never answers, or the
   *   connection ends
   */
  publish(topic, payload, done) {
    const isV5 = /** @type {Link} */ (this.#link).protocolVersion === 5;
    this.#done = done;
    this.#sentAt = this.#now();
    this.#write(publishPacket({ topic, payload, id: ASIDE_ID, isV5, retain: true }), () => {});
  }

  /** @param {number} id @param {number} reasonCode @returns {boolean} true: the PUBACK was for it */
  acknowledged(id, reasonCode) {
    if (id !== ASIDE_ID) return false;
    this.#sentAt = null;
    this.#end(reasonCode < 0x80);
    return true;
  }

  /**
   * Returns how long the connection has been dead, 0 = it is alive: nothing was acknowledged for longer than the
   * time-out, while a message of this object waits. If the broker acknowledges only other messages meanwhile, it counts
   * as refused; its identifier remains in use until the connection ends.
   * @param {number} timeoutMs
   * @param {number} progressAt when the broker last acknowledged one of the others
   */
  deadMs(timeoutMs, progressAt) {
    if (!this.#done || this.#sentAt === null) return 0;
    const now = this.#now();
    if (now - this.#sentAt <= timeoutMs) return 0;
    const silent = now - Math.max(this.#sentAt, progressAt);
    if (silent > timeoutMs) return silent;
    this.#end(false);
    return 0;
  }

  disconnected() {
    this.#link = this.#placeless = this.#sentAt = null;
    this.#end(false);
  }

  /** @param {boolean} isTaken */
  #end(isTaken) {
    const done = this.#done;
    this.#done = null;
    done?.(isTaken);
  }
}

exports.ASIDE_ID = ASIDE_ID;
exports.Aside = Aside;
