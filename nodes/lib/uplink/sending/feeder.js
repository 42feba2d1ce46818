'use strict';

const { AGAIN, NEW } = require('./taken-batch');
const { Express } = require('./express');
const { Demand } = require('./demand');
const { LinkRate } = require('./link-rate');
const { SendQueues } = require('./send-queues');
const { Sender } = require('./sender');
const { PoisonRecord } = require('./refused/poison-record');
const { TakenBatches, TRY_AGAIN } = require('./taken-batches');

/** @typedef {import('./taken-batch').TakenBatch} TakenBatch */
/** @typedef {import('./uplink-stage').Stage} Stage */
/** @typedef {import('../../../../native').UplinkSource} UplinkSource */

/** @typedef {import('./feeder-types').Link} Link */
/** @typedef {import('./feeder-types').FeederOptions} FeederOptions */

const TURN_MS = 4;
const MOST_URGENT = 1;

/**
 * Pulls batches from the engine and turns them into PUBLISH packets while the window has room: live before backlog,
 * best class first.
 *
 * The feeder alone owns what is in flight. mqtt.js never sees a PUBLISH: its outgoing store copies each packet, and
 * sends them again one per round trip before it reports that it is connected. Here, a batch keeps its bytes until it is
 * released, a lost connection makes its packets pending again, and pending packets of a class always go before new
 * batches of that class. Nothing depends on what the broker remembers.
 *
 * The feeder takes only as much as the window and the stream have room for: batches that wait in the engine can still
 * be overtaken, and grow.
 */
class Feeder {
  /** @param {FeederOptions} options */
  constructor(options) {
    this.window = options.window;
    this.output = options.output;
    this.pacer = options.pacer;
    this.schedule = options.schedule;
    this.delay = options.delay;
    this.now = options.now;
    this.problem = options.problem;
    this.turnMs = options.turnMs ?? TURN_MS;
    this.demand = new Demand(options);
    this.rate = new LinkRate(options.now);
    this.sender = new Sender(options, {
      settled: (batch) => this.#release(batch),
      again: (batch) => {
        this.queues.add(batch);
        this.schedule();
      },
      roomier: (bytes) => {
        this.rate.acknowledged(bytes);
        if (this.isBlocked) this.schedule();
      },
      go: () => this.schedule(),
      stageOf: (id) => this.stages.get(id)
    });

    /** @type {UplinkSource | null} */
    this.source = null;
    /** @type {Map<number, Stage>} */
    this.stages = new Map();
    this.taking = true;
    /** Nothing is sent: the connection is about to be renewed. */
    this.isPaused = false;
    this.stageMissing = false;
    /**
     * The last pump ended because there was no room: the next acknowledgement must start another one. Otherwise the
     * doorbell does.
     */
    this.isBlocked = false;
    /** The last pump filled the stream up to its limit: the next completed write must start another pump. */
    this.isFull = false;
    /** The engine knows that this session is up. */
    this.isUp = false;
    /** m, as last reported to the engine. */
    this.batchBytes = this.rate.bytes;
    /** A timer will pump when the backlog may continue. */
    this.isPacing = false;
    /**
     * The batch whose next packet must be alone in flight, see poison-record.js; nothing else is sent until then.
     * @type {TakenBatch | null}
     */
    this.lone = null;

    this.taken = new TakenBatches(options.now);
    this.queues = new SendQueues();
    this.express = new Express({
      order: options.order ?? 0,
      sender: this.sender,
      window: this.window,
      taken: this.taken,
      queues: this.queues,
      unsent: this.output.limit,
      subscribes: options.subscribes,
      now: this.now,
      retryIn: (ms) => this.delay(this.schedule, ms)
    });
  }

  /** @param {UplinkSource} source */
  attach(source) {
    this.source = source;
    source.setBatchBytes(this.batchBytes);
    this.doorbell();
  }

  /** The engine has something new. */
  doorbell() {
    this.demand.fed();
    this.schedule();
  }

  /** Reports to the engine whether this session is up. @param {boolean} isUp */
  reportUp(isUp) {
    this.source?.connected(isUp);
    if (isUp === this.isUp) return;
    this.isUp = isUp;
    this.doorbell();
  }

  /** Forgets the engine, which gives out un-released batches again. Late acknowledgements find no batch. */
  detach() {
    this.#leave();
    this.sender.abandon();
    this.taken.forget();
    this.#clearQueues();
    this.source?.close();
    this.source = null;
  }

  /**
   * Adds or replaces stages. Earlier ones are kept: their batches may still be in flight.
   * @param {Map<number, Stage>} stages
   */
  setStages(stages) {
    this.#leave();
    for (const [id, stage] of stages) this.stages.set(id, stage);
    this.sender.writer.setStages([...this.stages].map(([id, stage]) => ({ id, ...stage })));
    this.express.setStages(this.stages);
    this.stageMissing = false;
    this.schedule();
  }

  /** @param {Link} link @param {import('./output').Write} write */
  connected(link, write) {
    this.isPaused = false;
    this.sender.connected(link, write);
    this.rate.connected();
    this.express.connected(link.wire ?? null, (why) => this.leave(why));
    this.schedule();
  }

  /**
   * Leaves the express path. The feeder takes over its packets in flight, and sends what comes next.
   * @param {string} [why]
   */
  leave(why) {
    this.#leave(why);
    this.schedule();
  }

  /** @param {string} [why] */
  #leave(why) {
    // The express path made the last report to the engine.
    this.demand.fed();
    this.express.leave(this.source, why);
  }

  /** Sends nothing new until the next connection. */
  pause() {
    this.isPaused = true;
    this.leave();
  }

  /** Takes nothing new, permanently. */
  stopTaking() {
    this.taking = false;
    this.leave();
  }

  /** Number of packets in flight. */
  get inflight() {
    return this.window.inflight;
  }

  /** A chunk was given to the kernel. @param {number[]} ids its QoS 0 packets */
  written(ids) {
    this.sender.written(ids);
    if (this.isFull) this.schedule();
  }

  /** Changes with each packet that is sent, acknowledged or given up. */
  get activity() {
    const { published, redelivered, acknowledged, failed } = this.sender;
    return published + redelivered + acknowledged + failed;
  }

  /** Call it once a second. */
  everySecond() {
    const { link } = this.sender;
    if (!link) return;
    const bytes = this.rate.update(link.maximumPacketSize, this.sender.ratio.update());
    if (bytes === this.batchBytes) return;
    this.batchBytes = bytes;
    this.source?.setBatchBytes(bytes);
  }

  /**
   * @param {boolean} [byBroker] the broker closed the connection, and a packet may be the reason: no time-out of ours,
   *   no lost network
   * @param {number} [code] reason of its DISCONNECT, 0 = none
   */
  disconnected(byBroker = false, code = 0) {
    if (!this.sender.link) return;
    this.#leave();
    this.express.connected(null, () => {});
    this.#clearQueues();
    const isConvicted = this.sender.disconnected(this.taken, byBroker, code);
    for (const batch of this.taken) if (batch.pending > 0) this.queues.add(batch);
    if (isConvicted) this.sender.trial.convict();
  }

  #clearQueues() {
    this.queues.clear();
    this.lone = null;
  }

  needsQos1() {
    for (const stage of this.stages.values()) if (stage.qos > 0) return true;
    return false;
  }

  /** True if there is more to send than there is room for: events that make room must not wait. */
  get isWaiting() {
    return this.isBlocked || this.isFull;
  }

  /** True if nothing may be sent for now: before a renewal, after a refusal, or during the trial of a record. */
  get mustNotSend() {
    const { poison, resends } = this.sender;
    return this.isPaused || resends.pauseMs > 0 || poison.isOnTrial;
  }

  /** True if records may wait for a reason that ends: the broker refused some, or one is suspected. */
  get isPausing() {
    return this.mustNotSend || !this.sender.isCalm;
  }

  /**
   * Returns what waits although the session is up, has room, and nothing is in flight; null = nothing.
   * @returns {import('./stall-watch').Waiting | null}
   */
  get waiting() {
    const { express, pacer, sender, source, taken, window } = this;
    if (!sender.link || !this.isUp || !this.taking || !source) return null;
    if (window.inflight > 0 || express.open > 0) return null;
    if (taken.size > 0 && sender.isCalm) return 'taken';
    const places = source.waitingAt?.() ?? 0;
    if (places & 1) return 'live';
    if (places & 2) return pacer.waitMs() > 0 ? null : 'backlog';
    return places & 4 ? 'log' : null;
  }

  /** Wakes everything that could move a record. */
  wakeAll() {
    this.source?.wakeAll?.();
    this.leave('stall');
  }

  /** Sends what there is room for, for a few ms at most. */
  pump() {
    if (this.express.isActive) return;
    const { births, poison, link, liveness, resends, trial } = this.sender;
    if (!link || this.mustNotSend) {
      this.rate.limited(false);
      return;
    }
    if (!births?.isPending && this.#enter()) return;
    if (poison.isFull) trial.acquitAll();
    this.isBlocked = poison.isAside;
    this.isFull = false;
    if (!poison.isTime && this.#sendRefused(resends.quota)) this.#sendAll();
    // The poison record goes alone: after others were accepted here for a while, or when there are no others.
    if (poison.isDue && this.window.inflight === 0 && this.window.room > 0) trial.try();
    if (births?.isPending) {
      if (births.writeRest()) this.isFull = true;
      else this.schedule();
    }
    this.output.flush();
    const isSearching = poison.isAside || poison.aloneId !== 0 || this.lone !== null;
    // A full window alone may just be small for a long path: larger batches do no harm then.
    const isHeldByLink =
      this.isBlocked && !isSearching && this.window.ceiling === Infinity && liveness.isQueueing;
    this.rate.limited(this.isFull || isHeldByLink);
  }

  /** @returns {boolean} true: the express path sends, or will when the last answers have arrived */
  #enter() {
    const { express, source } = this;
    const isAtLimit = this.isFull || (this.isBlocked && !express.isHeld);
    if (!source?.look || !this.taking || this.stageMissing || isAtLimit) return false;
    if (!express.tryEnter(source)) return false;
    // The last acknowledgement leads to the next pump.
    this.isBlocked = express.isHeld;
    this.rate.limited(false);
    return true;
  }

  /**
   * Sends the packets that were refused for an exceeded quota, one at a time.
   * @param {import('./refused/broker-quota').Quota} quota
   * @returns {boolean} true when there are no more, so that others may be sent
   */
  #sendRefused(quota) {
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
    const mayTake = this.taking && !this.stageMissing && this.source?.best(true) === MOST_URGENT;
    return mayTake && this.#take(false, true);
  }

  #sendAll() {
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
    const mayTake = this.taking && !this.stageMissing && source !== null;
    const ready = mayTake ? source.best() : 0;
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
      this.#release(batch);
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
      if (batch.open === 0) this.#release(batch);
    }
    return true;
  }

  /** @param {TakenBatch} batch */
  #release(batch) {
    this.taken.release(/** @type {UplinkSource} */ (this.source), batch);
  }
}

exports.Feeder = Feeder;
