'use strict';

const MAX_WAITING = 10000;
const MAX_IN_FLIGHT = 16;
/** Fixed header, topic length and packet identifier; properties are counted separately. */
const HEAD_BYTES = 16;

/**
 * @typedef {object} Report ready to be published
 * @property {string} topic
 * @property {string} payload
 * @property {Uint8Array} [correlation]
 */

/**
 * @typedef {object} Way a connection
 * @property {(report: Report, qos: 0 | 1, done: (error?: Error | null) => void) => void} publish
 * @property {number} maxInFlight
 * @property {number} maxBytes 0 = no limit
 * @property {0 | 1} qos
 */

/**
 * Reports about commands, published with QoS 1. If it is unknown whether the broker has a report, the next connection
 * publishes it again.
 */
class ReportQueue {
  /** @param {() => number} now ms, monotonic */
  constructor(now) {
    this.now = now;
    /** @type {Report[]} */
    this.waiting = [];
    /** In the order of sending, with the time of sending. @type {Map<Report, number>} since when */
    this.inFlight = new Map();
    /** @type {Way | null} */
    this.way = null;
    /** The way ends in order: it takes nothing more, and still acknowledges what is in flight. */
    this.isLeaving = false;
    this.sent = 0;
    this.dropped = 0;
  }

  get size() {
    return this.waiting.length + this.inFlight.size;
  }

  /** Returns the age of the oldest report without a PUBACK in ms; -1 = there is none. */
  oldestMs() {
    const [since] = this.inFlight.values();
    return since === undefined ? -1 : this.now() - since;
  }

  /** @param {Report} report */
  add(report) {
    this.waiting.push(report);
    if (this.waiting.length > MAX_WAITING) {
      this.waiting.shift();
      this.dropped++;
    }
    this.#pump();
  }

  /** @param {Way} way */
  connected(way) {
    this.disconnected();
    this.way = { ...way, maxInFlight: Math.min(way.maxInFlight, MAX_IN_FLIGHT) };
    this.#pump();
  }

  /** Call it before an orderly end of the connection. */
  leaving() {
    this.isLeaving = true;
  }

  /** The connection has ended: what was in flight waits for the next one. */
  disconnected() {
    this.way = null;
    this.isLeaving = false;
    this.waiting.unshift(...this.inFlight.keys());
    this.inFlight.clear();
  }

  #pump() {
    const { way } = this;
    while (way && !this.isLeaving && this.waiting.length > 0 && this.inFlight.size < way.maxInFlight) {
      const report = /** @type {Report} */ (this.waiting.shift());
      if (way.maxBytes > 0 && sizeOf(report) > way.maxBytes) {
        this.dropped++;
        continue;
      }
      this.inFlight.set(report, this.now());
      way.publish(report, way.qos, (error) => {
        // Events of an old connection are ignored.
        if (this.way !== way) return;
        // The end may be the reason, so the next connection publishes it again.
        if (error && this.isLeaving) return;
        this.inFlight.delete(report);
        // The broker will never accept it: this client may lack the right to publish it.
        if (error) this.dropped++;
        else this.sent++;
        this.#pump();
      });
    }
  }
}

/** @param {Report} report */
function sizeOf({ topic, payload, correlation }) {
  return HEAD_BYTES + Buffer.byteLength(topic) + Buffer.byteLength(payload) + (correlation?.length ?? 0);
}

exports.ReportQueue = ReportQueue;
