'use strict';

const { AGAIN, NEW } = require('./taken-batch');
const { PoisonRecord } = require('./refused/poison-record');
const { SendQueues } = require('./send-queues');
const { TakenBatches, TRY_AGAIN } = require('./taken-batches');

/** @typedef {import('./taken-batch').TakenBatch} TakenBatch */
/** @typedef {import('./uplink-stage').Stage} Stage */
/** @typedef {import('../../../../native').UplinkSource} UplinkSource */
/** @typedef {import('./feeder-types').FeederOptions} FeederOptions */

const TURN_MS = 4;
const MOST_URGENT = 1;

/**
 * The order in which a session sends: chooses the batch whose next packet is sent, and takes it from the engine if it
 * was not taken yet. Live before backlog, best class first, and a batch that was begun before a new one of its class.
 * It ends each turn when there is no more to send, or no room.
 */
class SendOrder {
  /**
   * @param {FeederOptions} options
   * @param {object} parts
   * @param {import('./sender').Sender} parts.sender
   * @param {import('./demand').Demand} parts.demand
   */
  constructor(
    { window, output, pacer, schedule, delay, now, problem, turnMs = TURN_MS, onRefused },
    { sender, demand }
  ) {
    this.window = window;
    this.output = output;
    this.pacer = pacer;
    this.schedule = schedule;
    this.delay = delay;
    this.now = now;
    this.problem = problem;
    this.turnMs = turnMs;
    this.sender = sender;
    this.demand = demand;
    this.taken = new TakenBatches(now, Boolean(onRefused));
    this.queues = new SendQueues();

    /** @type {UplinkSource | null} */
    this.source = null;
    /** @type {Map<number, Stage>} */
    this.stages = new Map();
    this.taking = true;
    this.stageMissing = false;
    /** The engine knows that this session is up. */
    this.isUp = false;
    /**
     * The last pump ended because there was no room: the next acknowledgement must start another one. Otherwise the
     * doorbell does.
     */
    this.isBlocked = false;
    /** The last pump filled the stream up to its limit: the next completed write must start another pump. */
    this.isFull = false;
    /** A timer will pump when the backlog may continue. */
    this.isPacing = false;
    /**
     * The batch whose next packet must be alone in flight, see poison-record.js; nothing else is sent until then.
     * @type {TakenBatch | null}
     */
    this.lone = null;
  }

  /** True if batches may be taken from the engine. */
  get mayTake() {
    return this.taking && !this.stageMissing && this.source !== null;
  }

  /** Nothing that was taken is to be sent. */
  clear() {
    this.queues.clear();
    this.lone = null;
  }

  /**
   * Forgets batches that another session has delivered while this one was not connected. Those of which the broker
   * refused something stay.
   */
  forgetReleased() {
    const { source, taken } = this;
    if (!source?.isTaken) return;
    for (const batch of [...taken]) {
      if (batch.pending < batch.open || source.isTaken(batch.id)) continue;
      this.queues.remove(batch);
      this.release(batch);
    }
  }

  /**
   * Sends the packets that were refused for an exceeded quota, one at a time.
   * @param {import('./refused/broker-quota').Quota} quota
   * @returns {boolean} true when there are no more, so that others may be sent
   */
  sendRefused(quota) {
    if (!quota.isRecovering) return true;
    // One at a time is alone.
    this.lone = null;
    while (this.window.inflight === 0) {
      const queue = quota.next(this.queues);
      if (!queue) return true;
      if (quota.takesTurn() && this.#sendAlarm()) continue;
      const [{ order, pending }] = queue;
      const isSent = this.#sendFirstOf(queue);
      const isStuck = this.window.inflight === 0 && queue[0]?.order === order && queue[0].pending === pending;
      if (!isSent || isStuck) break;
    }
    // The next acknowledgement continues.
    this.isBlocked = true;
    return false;
  }

  /** Sends a live record of class 1. @returns {boolean} false when there is none, or no room */
  #sendAlarm() {
    if (!this.#hasRoom(true)) return false;
    const queue = this.queues.live[MOST_URGENT];
    if (queue.length > 0) return this.#sendFirstOf(queue);
    return this.mayTake && this.source?.best(true) === MOST_URGENT && this.#take(false, true);
  }

  /** Sends what there is room for, for a few ms at most. */
  sendAll() {
    const until = this.now() + this.turnMs;
    if (this.lone && !this.#sendLone(this.lone)) return;
    while (this.#sendNext()) {
      if (this.now() > until) {
        this.schedule();
        return;
      }
    }
  }

  /** @param {TakenBatch} batch @returns {boolean} false when nothing may be sent now */
  #sendLone(batch) {
    this.isBlocked = this.window.inflight > 0;
    if (this.isBlocked) return false;
    this.lone = null;
    const queue = (batch.isBacklog ? this.queues.backlog : this.queues.live)[batch.class];
    return queue.length === 0 || this.#sendFirstOf(queue);
  }

  /** @returns {boolean} false when nothing may be sent now */
  #sendNext() {
    const { queues, source } = this;
    if (this.window.room <= 0) {
      this.isBlocked = true;
      return false;
    }
    const { mayTake } = this;
    const ready = mayTake ? /** @type {UplinkSource} */ (source).best() : 0;
    const begun = queues.best(queues.live);
    if (begun === 0 && ready === 0) return this.#sendBacklog(mayTake);
    const isBegun = begun !== 0 && (ready === 0 || begun <= ready);
    if (!this.#hasRoom((isBegun ? begun : ready) === MOST_URGENT)) return mayTake && this.#takeReserved();
    return isBegun ? this.#sendFirstOf(queues.live[begun]) : this.#take(false);
  }

  /**
   * A class that was starved goes before class 1, but may not use what is reserved for class 1. While it finds no room,
   * there may be some for class 1.
   * @returns {boolean} false when nothing may be sent now
   */
  #takeReserved() {
    const { aloneId, isFull } = this.sender.poison;
    if (aloneId !== 0 || isFull) return false;
    if (this.window.roomFor(true) <= 0 || this.output.isFull(true)) return false;
    return this.source?.best(true) === MOST_URGENT && this.#take(false, true);
  }

  /** True if the window and the stream have room. @param {boolean} isUrgent for a live batch of class 1 */
  #hasRoom(isUrgent) {
    const { aloneId, isFull } = this.sender.poison;
    if (aloneId !== 0 || isFull || this.window.roomFor(isUrgent) <= 0) this.isBlocked = true;
    else if (this.output.isFull(isUrgent)) this.isFull = true;
    else return true;
    return false;
  }

  /**
   * Sends backlog. Call it when nothing live is ready.
   * @param {boolean} mayTake
   * @returns {boolean} false when nothing may be sent now
   */
  #sendBacklog(mayTake) {
    const { queues } = this;
    if (!this.#hasRoom(false)) return false;
    const source = /** @type {UplinkSource} */ (this.source);
    // The backlog always leaves room for live records.
    if (mayTake) this.demand.empty(source, this.isUp);
    const begun = queues.best(queues.backlog);
    const ready = mayTake ? source.bestBacklog() : 0;
    if (begun === 0 && ready === 0) return false;
    if (this.#roomForBacklog() <= 0) {
      this.isBlocked = true;
      return false;
    }
    if (begun !== 0 && (ready === 0 || begun <= ready)) return this.#sendFirstOf(queues.backlog[begun]);
    const wait = this.pacer.waitMs();
    if (wait === 0) return this.#take(true);
    if (!this.isPacing) {
      this.isPacing = true;
      this.delay(() => {
        this.isPacing = false;
        this.schedule();
      }, wait);
    }
    // A batch that was begun is paid for, no matter how urgent the next one is.
    return begun !== 0 && this.#sendFirstOf(queues.backlog[begun]);
  }

  #roomForBacklog() {
    return this.pacer.places(this.window.limit) - this.window.backlog;
  }

  /**
   * @param {boolean} backlog
   * @param {boolean} [isUrgent] takes class 1 or nothing
   * @returns {boolean} false when nothing may be sent now
   */
  #take(backlog, isUrgent = false) {
    const batch = this.taken.take(/** @type {UplinkSource} */ (this.source), backlog, isUrgent);
    if (typeof batch === 'string') {
      if (batch === TRY_AGAIN) this.schedule();
      return false;
    }
    this.pacer.took(batch);
    if (!batch.isBacklog) this.demand.fed();
    if (batch.open === 0) {
      this.release(batch);
      return true;
    }
    this.queues.add(batch);
    // Send at once, because it is this class's turn: the next turn may belong to a more urgent one. No other batch of
    // this class was begun.
    return this.#sendFirstOf((batch.isBacklog ? this.queues.backlog : this.queues.live)[batch.class]);
  }

  /** @param {TakenBatch[]} queue @returns {boolean} false when the stage is unknown */
  #sendFirstOf(queue) {
    const batch = queue[0];
    const stage = this.stages.get(batch.stage);
    if (!stage) {
      this.stageMissing = true;
      this.problem(
        'NO_STAGE',
        `A batch waits: the topic of its uplink node (stage ${batch.stage}) is not known yet.`
      );
      return false;
    }
    while (batch.next < batch.count && this.#hasRoom(batch.isUrgent)) {
      if (batch.isBacklog && this.#roomForBacklog() <= 0) break;
      const state = batch.states[batch.next];
      if (state === AGAIN && this.window.inflight > 0 && PoisonRecord.goesAlone(batch, batch.next)) {
        this.lone = batch;
        this.isBlocked = true;
        return false;
      }
      // A packet that was cut leaves its first half in its place.
      if ((state === NEW || state === AGAIN) && !this.sender.send(batch, batch.next, stage)) continue;
      batch.next++;
    }
    if (batch.pending === 0) {
      queue.shift();
      batch.queued = false;
      if (batch.open === 0) this.release(batch);
    }
    return true;
  }

  /** Releases a batch. REQUIRES: no packet of it is open. @param {TakenBatch} batch */
  release(batch) {
    this.taken.release(/** @type {UplinkSource} */ (this.source), batch);
  }
}

exports.SendOrder = SendOrder;
