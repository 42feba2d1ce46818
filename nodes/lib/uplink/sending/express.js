'use strict';

const { DEVICE, TOPIC } = require('../../base/topic-template');

/** @typedef {import('../../../../native').UplinkSource} UplinkSource */
/** @typedef {import('./uplink-stage').Stage} Stage */
/** @typedef {import('../session/connection-stream').ConnectionStream} ConnectionStream */

/** What the engine tells, see UplinkConnection.numbers(). */
const PUBLISHED = 0;
const REDELIVERED = 1;
const ACKNOWLEDGED = 2;
const LARGEST = 4;
const RTT = 5;
const LEAST_RTT = 6;
const MOVED = 7;
const OPEN = 8;
const OLDEST = 9;
const PASSED = 10;
const BLOCKED = 11;
const UNMATCHED = 12;
const FIELDS = 13;

/** After it ended for this reason it is not tried again for so long, ms. */
/** @type {Record<string, number>} */
const REST_MS = { records: 60000, refusal: 10000, slow: 5000 };
const OTHER_REST_MS = 1000;
/** Packets in flight end the feeder's part only when their answers are near. */
const NEAR_MS = 20;
/** For so long at most nothing is sent so that they come in. */
const HOLD_MS = 100;
const MOST_URGENT = 1;
const MAX_PACKET_BYTES = 268435460; // [MQTT 2.2.3]

/**
 * The express path of a session: while all is well the engine takes, sends and releases batches itself, and no JavaScript runs
 * for a record. The feeder enters it when nothing of its own is in flight, and leaves it for everything that wants judgement: what is in
 * flight then becomes the feeder's, packet by packet.
 */
class Express {
  /**
   * @param {object} parts
   * @param {number} parts.order of the group, 0 = the most urgent
   * @param {import('./sender').Sender} parts.sender @param {import('./in-flight-window').InFlightWindow} parts.window
   * @param {import('./feeder').Feeder['taken']} parts.taken @param {import('./send-queues').SendQueues} parts.queues
   * @param {number} parts.unsent bytes that the kernel has not taken, at most
   * @param {() => number} parts.now ms, monotonic @param {(ms: number) => void} parts.lookIn asks for another try
   */
  constructor({ order, sender, window, taken, queues, unsent, now, lookIn }) {
    this.order = order;
    this.sender = sender;
    this.window = window;
    this.taken = taken;
    this.queues = queues;
    this.unsent = Math.min(unsent, MAX_PACKET_BYTES);
    this.now = now;
    this.lookIn = lookIn;
    /** The connection, when the engine makes it. @type {ConnectionStream | null} */
    this.wire = null;
    this.isActive = false;
    /** Nothing is sent until what is in flight is acknowledged. */
    this.isHeld = false;
    this.heldSince = 0;
    /** Not before. */
    this.restUntil = 0;
    /** As the engine has them; null = none of them can be carried. @type {object[] | null} */
    this.stages = [];
    this.numbers = new Float64Array(FIELDS);
    /** Those that the sender has counted. */
    this.counted = new Float64Array(FIELDS);
  }

  /** Packets in flight. */
  get open() {
    return this.isActive ? this.numbers[OPEN] : 0;
  }

  get isBlocked() {
    return this.isActive && this.numbers[BLOCKED] === 1;
  }

  /** @param {ConnectionStream | null} wire @param {(why: string) => void} onLeave */
  connected(wire, onLeave) {
    // An old connection that ends late is not this one.
    if (this.wire) this.wire.onLeave = () => {};
    this.wire = wire;
    this.restUntil = 0;
    this.isHeld = false;
    if (wire) wire.onLeave = onLeave;
  }

  /** What QoS 0 has sent is done when it is written: the feeder's matter. @param {Map<number, Stage>} stages */
  setStages(stages) {
    const all = [...stages];
    this.stages = all.every(([, { qos }]) => qos === 1) ? all.map(specOf) : null;
    this.restUntil = 0;
  }

  /** It could be entered if nothing were taken, and nothing in flight. */
  get isOpenFor() {
    const { sender, window } = this;
    return (
      this.wire !== null &&
      !this.wire.isOver &&
      this.stages !== null &&
      this.stages.length > 0 &&
      this.now() >= this.restUntil &&
      window.ceiling === Infinity &&
      window.waiting === 0 &&
      sender.isCalm
    );
  }

  /**
   * Boards when nothing of the feeder is on the way; holds it, when soon nothing will be.
   * @param {UplinkSource} source @returns {boolean} true: the feeder sends nothing now
   */
  tryEnter(source) {
    const wasHeld = this.isHeld;
    this.isHeld = false;
    if (!this.isOpenFor || source.bestBacklog() !== 0) return false;
    if (this.taken.size === 0 && this.window.inflight === 0) {
      this.#enter(source);
      return true;
    }
    // An alarm waits for nothing.
    this.isHeld = this.queues.isEmpty && source.best() !== MOST_URGENT && this.#mayHold(wasHeld);
    return this.isHeld;
  }

  /** It is not long until all is acknowledged. @param {boolean} wasHeld it was so before */
  #mayHold(wasHeld) {
    const now = this.now();
    const { rttMs } = this.sender.liveness;
    if (rttMs === 0 || rttMs > NEAR_MS) return false;
    if (!wasHeld) {
      this.heldSince = now;
      // An answer that does not come leads to no other try.
      this.lookIn(HOLD_MS);
    }
    if (now - this.heldSince < HOLD_MS - 1) return true;
    this.restUntil = now + OTHER_REST_MS;
    return false;
  }

  /** @param {UplinkSource} source */
  #enter(source) {
    const { sender, window, stages } = this;
    const link = /** @type {import('./feeder').Link} */ (sender.link);
    const told = link.maximumPacketSize > 0 ? link.maximumPacketSize : sender.poison.limit - 1;
    const { wire } = /** @type {ConnectionStream} */ (this.wire);
    wire.enter(source, {
      order: this.order,
      window: window.limit,
      reserved: window.reserved,
      isV5: link.protocolVersion === 5,
      retainAvailable: link.retainAvailable,
      maxPacket: Math.min(told, MAX_PACKET_BYTES),
      maxUnsent: this.unsent,
      stages: /** @type {any} */ (stages)
    });
    this.counted.fill(0);
    this.numbers.fill(0);
    this.isActive = true;
  }

  /**
   * The feeder goes on, with what is in flight as if it had sent it. Idempotent.
   * @param {UplinkSource | null} source null: the batches are no longer ours @param {string} [why] of UplinkConnection's onLeave
   */
  leave(source, why = '') {
    if (!this.isActive) return;
    this.look();
    this.isActive = false;
    this.restUntil = this.now() + (REST_MS[why] ?? OTHER_REST_MS);
    const { wire } = /** @type {ConnectionStream} */ (this.wire);
    const flights = wire.leave();
    for (let i = 0; i < flights.length; i += 4) {
      const [id, number, bytes, ageMs] = flights.slice(i, i + 4);
      const batch = source ? this.taken.adopt(source, number) : null;
      this.window.adopt(id, batch, bytes, this.now() - ageMs);
    }
    this.sender.liveness.flying = null;
  }

  /** Brings the sender's numbers up to date. */
  look() {
    if (!this.isActive) return;
    const { numbers, counted, sender } = this;
    const { wire } = /** @type {ConnectionStream} */ (this.wire);
    wire.numbers(numbers);
    /** @param {number} field */
    const more = (field) => numbers[field] - counted[field];
    const acknowledged = more(ACKNOWLEDGED);
    sender.published += more(PUBLISHED);
    sender.redelivered += more(REDELIVERED);
    sender.acknowledged += acknowledged;
    sender.countUnmatched(more(UNMATCHED));
    if (acknowledged > 0) {
      sender.poison.taken(0, numbers[LARGEST]);
      sender.liveness.flew(numbers[RTT], numbers[LEAST_RTT], numbers[MOVED]);
    }
    sender.liveness.flying =
      numbers[OPEN] > 0 ? { ageMs: numbers[OLDEST], isPassed: numbers[PASSED] === 1 } : null;
    counted.set(numbers);
  }
}

/** @param {[number, Stage]} stage */
function specOf([id, { topic, recordTopic, key }]) {
  return {
    id,
    topic: topic.parts.map(partsOf),
    recordTopic: recordTopic.parts.map(partsOf),
    keyRaw: key.raw,
    keyJson: key.json
  };
}

/** @param {import('../../base/topic-template').Part[]} parts */
function partsOf(parts) {
  return parts.map((part) => (part === DEVICE ? 'device' : part === TOPIC ? 'topic' : part));
}

exports.Express = Express;
