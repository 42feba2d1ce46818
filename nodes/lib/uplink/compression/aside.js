'use strict';

const { publishPacket } = require('./retained-packet');

/** Packet identifier that the in-flight window never uses, because it has at most 1024 places. The engine knows it. */
const ASIDE_ID = 65535;

/** @typedef {import('../sending/feeder').Link} Link */

/**
 * One retained message at a time beside the window of a session: a dictionary belongs to no batch.
 */
class Aside {
  /** @type {Link | null} */
  #link = null;
  /** @type {((isTaken: boolean) => void) | null} */
  #done = null;
  #write;

  /** @param {(bytes: Buffer, done: (error?: Error | null) => void) => void} write to the session */
  constructor(write) {
    this.#write = write;
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
    const needsPlace = link.receiveMaximum <= places;
    const mayTake = !needsPlace || (isWanted && link.receiveMaximum > 1);
    this.#link = link.retainAvailable && link.maximumQos > 0 && mayTake ? link : null;
    return needsPlace && this.#link ? { ...link, receiveMaximum: link.receiveMaximum - 1 } : link;
  }

  get isConnected() {
    return this.#link !== null;
  }

  /** True if the session can publish a retained message now. */
  get isReady() {
    return this.#link !== null && this.#done === null;
  }

  /**
   * Publishes a retained message. REQUIRES: isReady.
   * @param {string} topic
   * @param {Buffer} payload
   * @param {(isTaken: boolean) => void} done is called with false if the broker refuses it, or the connection ends
   */
  publish(topic, payload, done) {
    const { protocolVersion, maximumPacketSize } = /** @type {Link} */ (this.#link);
    const packet = publishPacket({ topic, payload, id: ASIDE_ID, isV5: protocolVersion === 5, retain: true });
    if (maximumPacketSize > 0 && packet.length > maximumPacketSize) return done(false);
    this.#done = done;
    this.#write(packet, () => {});
  }

  /** @param {number} id @param {number} reasonCode @returns {boolean} true: the PUBACK was for it */
  acknowledged(id, reasonCode) {
    if (id !== ASIDE_ID) return false;
    this.#end(reasonCode < 0x80);
    return true;
  }

  disconnected() {
    this.#link = null;
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
