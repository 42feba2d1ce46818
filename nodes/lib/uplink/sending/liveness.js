'use strict';

/** The status is "stalled" after this time without progress on a live connection. */
const STALLED_MS = 5000;
/** Each acknowledgement time-out that did not help doubles the next one, up to this factor: a slow link may need it. */
const MAX_PATIENCE = 8;
/** A round trip of this many times the shortest is spent in queues. */
const QUEUEING = 2;

/** Watches the acknowledgements of a connection: how long they take, and whether any arrive. */
class Liveness {
  /** @param {import('./in-flight-window').InFlightWindow} window @param {() => number} now ms, monotonic */
  constructor(window, now) {
    this.window = window;
    this.now = now;
    this.isUp = false;
    this.rttMs = 0;
    /** Shortest round trip of this connection: the time that the path takes while nothing is queued. */
    this.leastRttMs = Infinity;
    this.sampleId = 0;
    this.sampleAt = 0;
    /**
     * When the broker last accepted something. A new connection counts, unless the connection before it had stalled.
     */
    this.movedAt = 0;
    /** When this connection last made progress. */
    this.progressAt = 0;
    this.patience = 1;
    /**
     * The oldest packet that the express path has in flight; isPassed: later packets were acknowledged.
     * @type {{ageMs: number, isPassed: boolean} | null}
     */
    this.flying = null;
    /**
     * The express path owns the window: other threads open and close its places, so that one may be closed between two
     * looks.
     */
    this.isFlying = false;
  }

  connected() {
    this.progressAt = this.now();
    // A broker that hangs accepts the next connection too: that alone is no recovery.
    if (!this.wasStalled) this.movedAt = this.progressAt;
    this.isUp = true;
    this.leastRttMs = Infinity;
  }

  /** True if packets wait for each other in the network: the link's rate is the limit, not its latency. */
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
    this.isFlying = false;
  }

  /**
   * Call it when a packet was sent that will be acknowledged.
   * @param {number} id
   * @param {number} now
   */
  sent(id, now) {
    if (this.sampleId !== 0) return;
    this.sampleId = id;
    this.sampleAt = now;
  }

  /** @param {number} id @param {boolean} isTaken false: the broker refused the packet */
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

  /**
   * Packets of the express path were acknowledged.
   * @param {number} rttMs 0 = unknown
   * @param {number} leastRttMs
   * @param {number} agoMs time since the last of them
   */
  flew(rttMs, leastRttMs, agoMs) {
    this.movedAt = this.progressAt = this.now() - agoMs;
    this.patience = 1;
    if (rttMs === 0) return;
    this.rttMs = rttMs;
    this.leastRttMs = Math.min(this.leastRttMs, leastRttMs);
  }

  /** QoS 0 is done when it is written: there is no other sign of progress. */
  wrote() {
    this.progressAt = this.movedAt = this.now();
  }

  /** @param {number} ageMs of the oldest batch that is not acknowledged, -1 = none @returns {boolean} */
  isStalled(ageMs) {
    return this.isUp && ageMs > STALLED_MS && this.now() - this.movedAt > STALLED_MS;
  }

  /**
   * Returns how long the connection has been dead, 0 = it is alive. A connection is dead if nothing was acknowledged
   * for longer than the time-out, or if a packet was passed over while later ones were acknowledged. Bytes that the
   * kernel accepts are no sign of life: it accepts them for a dead link too.
   * @param {number} timeoutMs
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
    const id = this.isFlying ? 0 : window.oldest();
    if (id === 0) return null;
    return { ageMs: this.now() - window.places.sentAt(id), isPassed: window.places.isPassed(id) };
  }

  /** The connection is given up because acknowledgements are missing. */
  gaveUp() {
    this.patience = Math.min(MAX_PATIENCE, this.patience * 2);
  }
}

exports.Liveness = Liveness;
