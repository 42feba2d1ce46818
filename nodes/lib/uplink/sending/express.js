'use strict';

/** @typedef {import('../../../../native').UplinkSource} UplinkSource */
/** @typedef {import('./uplink-stage').Stage} Stage */
/** @typedef {import('../session/connection-stream').ConnectionStream} ConnectionStream */

/** Fields that the engine reports, see UplinkConnection.numbers(). */
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

/** Time in ms before another try, by the reason for which the express path ended. */
/** @type {Record<string, number>} */
const REST_MS = { records: 60000, refusal: 10000, slow: 5000 };
const OTHER_REST_MS = 1000;
/** The feeder holds its packets for the express path only when their answers are near. */
const NEAR_MS = 20;
/** Longest time that nothing is sent so that these answers can arrive. */
const HOLD_MS = 100;
const MOST_URGENT = 1;
const MAX_PACKET_BYTES = 268435460; // [MQTT 2.2.3]

/**
 * The express path of a session: in the normal case, the engine takes, sends and releases batches itself, and no
 * JavaScript runs per record. The feeder enters it when nothing of its own is in flight, and leaves it for every case
 * that needs a decision. The feeder then takes over what is in flight, packet by packet.
 */
class Express {
  /**
   * @param {object} parts
   * @param {number} parts.order of the group, 0 = the most urgent
   * @param {import('./sender').Sender} parts.sender
   * @param {import('./in-flight-window').InFlightWindow} parts.window
   * @param {import('./feeder').Feeder['taken']} parts.taken
   * @param {import('./send-queues').SendQueues} parts.queues
   * @param {number} parts.unsent highest number of bytes that the kernel has not taken
   * @param {boolean} [parts.subscribes] the session also receives messages
   * @param {() => number} parts.now ms, monotonic
   * @param {(ms: number) => void} parts.retryIn requests another try
   */
  constructor({ order, sender, window, taken, queues, unsent, subscribes = false, now, retryIn }) {
    this.order = order;
    this.sender = sender;
    this.window = window;
    this.taken = taken;
    this.queues = queues;
    this.unsent = Math.min(unsent, MAX_PACKET_BYTES);
    this.subscribes = subscribes;
    this.now = now;
    this.retryIn = retryIn;
    /** The connection, if the engine makes it. @type {ConnectionStream | null} */
    this.wire = null;
    this.isActive = false;
    /** Nothing is sent until what is in flight is acknowledged. */
    this.isHeld = false;
    this.heldSince = 0;
    /** Earliest time of the next try. */
    this.restUntil = 0;
    /** It carries the packets of all stages. */
    this.carriesAll = false;
    this.numbers = new Float64Array(FIELDS);
    /** The values that the sender has counted already. */
    this.counted = new Float64Array(FIELDS);
  }

  /** Number of packets in flight on the express path. */
  get open() {
    return this.isActive ? this.window.inflight : 0;
  }

  get isBlocked() {
    return this.isActive && this.numbers[BLOCKED] === 1;
  }

  /** @param {ConnectionStream | null} wire @param {(why: string) => void} onLeave */
  connected(wire, onLeave) {
    // The late end of an old connection must not affect this one.
    if (this.wire) this.wire.onLeave = () => {};
    this.wire = wire;
    this.restUntil = 0;
    this.isHeld = false;
    if (wire) wire.onLeave = onLeave;
  }

  /**
   * QoS 0 packets are done when they are written, which only the feeder handles, and so are births of Sparkplug.
   * @param {Map<number, Stage>} stages
   */
  setStages(stages) {
    this.carriesAll = stages.size > 0 && [...stages.values()].every(carries);
    this.restUntil = 0;
  }

  /** True if the express path could be entered once nothing is taken and nothing is in flight. */
  get isOpenFor() {
    const { sender, window } = this;
    return (
      this.wire !== null &&
      !this.wire.isOver &&
      this.carriesAll &&
      this.now() >= this.restUntil &&
      window.ceiling === Infinity &&
      window.waiting === 0 &&
      sender.isCalm
    );
  }

  /**
   * Enters the express path when nothing of the feeder is in flight. Holds the feeder when that will be the case soon.
   * @param {UplinkSource} source
   * @returns {boolean} true: the feeder sends nothing now
   */
  tryEnter(source) {
    const wasHeld = this.isHeld;
    this.isHeld = false;
    if (!this.isOpenFor || source.bestBacklog() !== 0) return false;
    if (this.taken.size === 0 && this.window.inflight === 0) {
      this.#enter(source);
      return true;
    }
    // An alarm never waits.
    this.isHeld = this.queues.isEmpty && source.best() !== MOST_URGENT && this.#mayHold(wasHeld);
    return this.isHeld;
  }

  /** True if everything will be acknowledged soon. @param {boolean} wasHeld the feeder was already held */
  #mayHold(wasHeld) {
    const now = this.now();
    const { rttMs } = this.sender.liveness;
    if (rttMs === 0 || rttMs > NEAR_MS) return false;
    if (!wasHeld) {
      this.heldSince = now;
      // An answer that does not arrive triggers no other try.
      this.retryIn(HOLD_MS);
    }
    if (now - this.heldSince < HOLD_MS - 1) return true;
    this.restUntil = now + OTHER_REST_MS;
    return false;
  }

  /** @param {UplinkSource} source */
  #enter(source) {
    const { sender, window } = this;
    const link = /** @type {import('./feeder').Link} */ (sender.link);
    const limit = link.maximumPacketSize > 0 ? link.maximumPacketSize : sender.poison.limit - 1;
    const { wire } = /** @type {ConnectionStream} */ (this.wire);
    wire.enter(source, sender.writer, window.places, {
      order: this.order,
      maxPacket: Math.min(limit, MAX_PACKET_BYTES),
      maxUnsent: this.unsent,
      subscribes: this.subscribes
    });
    this.counted.fill(0);
    this.numbers.fill(0);
    this.isActive = true;
    sender.liveness.isFlying = true;
  }

  /**
   * Leaves the express path. The feeder continues as if it had sent what is in flight. Idempotent.
   * @param {UplinkSource | null} source null: the batches are no longer ours
   * @param {string} [why] of UplinkConnection's onLeave
   */
  leave(source, why = '') {
    if (!this.isActive) return;
    const { wire } = /** @type {ConnectionStream} */ (this.wire);
    const flights = wire.leave(this.now(), this.numbers);
    this.#count();
    this.isActive = false;
    this.restUntil = this.now() + (REST_MS[why] ?? OTHER_REST_MS);
    for (let i = 0; i < flights.length; i += 3) {
      const [id, number, bytes] = flights.slice(i, i + 3);
      const isSent = id !== 0;
      const batch = source ? this.taken.adopt(source, number, isSent) : null;
      if (isSent) this.window.adopt(id, batch, 0, bytes);
      else if (batch) this.queues.add(batch);
    }
    this.sender.liveness.flying = null;
    this.sender.liveness.isFlying = false;
  }

  /** Updates the sender's counters. */
  refresh() {
    if (!this.isActive) return;
    const { wire } = /** @type {ConnectionStream} */ (this.wire);
    wire.numbers(this.numbers);
    this.#count();
  }

  /** Passes what the numbers have gained to the sender. */
  #count() {
    const { numbers, counted, sender } = this;
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

/** @param {Stage} stage */
function carries({ qos, format }) {
  return qos === 1 && format !== 'sparkplug';
}

exports.Express = Express;
