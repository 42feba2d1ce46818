'use strict';

/** Connected, and yet nothing moves for so long: the status says stalled. */
const STALLED_MS = 5000;
/** An acknowledgement time-out that did not help is longer the next time: a slow link may need it. */
const MAX_PATIENCE = 8;
/** A round trip of so many times the shortest is spent in queues. */
const QUEUEING = 2;

/** What the acknowledgements tell about the connection: how long they take, and whether any come. */
class Pulse {
  /** @param {import('./in-flight-window').Window} window @param {() => number} now ms, monotonic */
  constructor(window, now) {
    this.window = window;
    this.now = now;
    this.isUp = false;
    this.rttMs = 0;
    /** Of this connection: what the way takes while nothing waits. */
    this.leastRttMs = Infinity;
    this.sampleId = 0;
    this.sampleAt = 0;
    /** When the broker last took something; when the connection was made, unless the one before had stalled. */
    this.movedAt = 0;
    /** When this connection last moved. */
    this.progressAt = 0;
    this.patience = 1;
    /** The oldest packet that the express path has in flight; isPassed: later ones were acknowledged. @type {{ageMs: number, isPassed: boolean} | null} */
    this.flying = null;
  }

  connected() {
    this.progressAt = this.now();
    // A broker that hangs accepts the next connection too: that alone is no recovery.
    if (!this.wasStalled) this.movedAt = this.progressAt;
    this.isUp = true;
    this.leastRttMs = Infinity;
  }

  /** Packets wait for each other on the way: it is the link that limits, not its length. */
  get isQueueing() {
    return this.rttMs > QUEUEING * this.leastRttMs;
  }

  get wasStalled() {
    return this.patience > 1;
  }

  disconnected() {
    this.isUp = false;
    this.sampleId = 0;
    this.flying = null;
  }

  /** A packet that will be acknowledged left. @param {number} id @param {number} now */
  sent(id, now) {
    if (this.sampleId !== 0) return;
    this.sampleId = id;
    this.sampleAt = now;
  }

  /** @param {number} id @param {boolean} isTaken false: the broker answered, and refused */
  acknowledged(id, isTaken) {
    const now = this.now();
    if (isTaken) this.movedAt = now;
    this.progressAt = now;
    this.patience = 1;
    if (id !== this.sampleId) return;
    const sample = now - this.sampleAt;
    this.rttMs = this.rttMs === 0 ? sample : this.rttMs + (sample - this.rttMs) / 8;
    this.leastRttMs = Math.min(this.leastRttMs, sample);
    this.sampleId = 0;
  }

  /** Packets of the express path were acknowledged. @param {number} rttMs 0 = not known @param {number} leastRttMs @param {number} agoMs the last of them */
  flew(rttMs, leastRttMs, agoMs) {
    this.movedAt = this.progressAt = this.now() - agoMs;
    this.patience = 1;
    if (rttMs === 0) return;
    this.rttMs = rttMs;
    this.leastRttMs = Math.min(this.leastRttMs, leastRttMs);
  }

  /** QoS 0 is done when it is written: there is no other sign of life. */
  wrote() {
    this.progressAt = this.movedAt = this.now();
  }

  /** @param {number} ageMs of the oldest batch that is not acknowledged, -1 = none @returns {boolean} */
  isStalled(ageMs) {
    return this.isUp && ageMs > STALLED_MS && this.now() - this.movedAt > STALLED_MS;
  }

  /**
   * For how long the connection has not been worth keeping, 0 = it is: for longer than the time-out nothing was acknowledged, or
   * a packet was left out while later ones were acknowledged. That the kernel took our bytes is no sign of life: it takes them
   * for a dead link too. @param {number} timeoutMs
   */
  deadMs(timeoutMs) {
    const oldest = this.isUp ? (this.flying ?? this.#oldest()) : null;
    if (!oldest) return 0;
    const { ageMs, isPassed } = oldest;
    if (isPassed) return ageMs > timeoutMs ? ageMs : 0;
    const silent = Math.min(ageMs, this.now() - this.progressAt);
    return silent > timeoutMs * this.patience ? silent : 0;
  }

  #oldest() {
    const { window } = this;
    const id = window.oldest();
    if (id === 0) return null;
    return { ageMs: this.now() - window.sentAt[id], isPassed: window.serial[id] < window.ackedSerial };
  }

  /** The connection is given up for want of acknowledgements. */
  gaveUp() {
    this.patience = Math.min(MAX_PATIENCE, this.patience * 2);
  }
}

exports.Pulse = Pulse;
