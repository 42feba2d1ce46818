'use strict';

const { Express } = require('./express');
const { Demand } = require('./demand');
const { LinkRate } = require('./link-rate');
const { SendOrder } = require('./send-order');
const { Sender } = require('./sender');

/** @typedef {import('./uplink-stage').Stage} Stage */
/** @typedef {import('../../../../native').UplinkSource} UplinkSource */

/** @typedef {import('./feeder-types').Link} Link */
/** @typedef {import('./feeder-types').FeederOptions} FeederOptions */

/**
 * Pulls batches from the engine and turns them into PUBLISH packets while the window has room. SendOrder chooses which
 * packet is next; the feeder follows the connection and the engine, and leaves the sending to the express path when it
 * can.
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
    this.demand = new Demand(options);
    this.rate = new LinkRate(options.now);
    this.sender = new Sender(options, {
      settled: (batch) => this.order.release(batch),
      again: (batch) => {
        this.order.queues.add(batch);
        this.schedule();
      },
      roomier: (bytes) => {
        this.rate.acknowledged(bytes);
        if (this.order.isBlocked) this.schedule();
      },
      go: () => this.schedule(),
      stageOf: (id) => this.order.stages.get(id),
      refused: options.onRefused
    });
    this.order = new SendOrder(options, { sender: this.sender, demand: this.demand });
    this.taken = this.order.taken;
    /** Nothing is sent: the connection is about to be renewed. */
    this.isPaused = false;
    /** m, as last reported to the engine. */
    this.batchBytes = this.rate.bytes;

    this.express = new Express({
      order: options.order ?? 0,
      sender: this.sender,
      window: this.window,
      taken: this.taken,
      queues: this.order.queues,
      unsent: this.output.limit,
      subscribes: options.subscribes,
      now: this.now,
      retryIn: (ms) => this.delay(this.schedule, ms)
    });
  }

  /** The engine, null = none. */
  get source() {
    return this.order.source;
  }

  /** @param {UplinkSource} source */
  attach(source) {
    this.order.source = source;
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
    if (isUp === this.order.isUp) return;
    this.order.isUp = isUp;
    this.doorbell();
  }

  /** Forgets the engine, which gives out un-released batches again. Late acknowledgements find no batch. */
  detach() {
    this.#leave();
    this.sender.abandon();
    this.taken.forget();
    this.order.clear();
    this.source?.close();
    this.order.source = null;
  }

  /**
   * Adds or replaces stages. Earlier ones are kept: their batches may still be in flight.
   * @param {Map<number, Stage>} stages
   */
  setStages(stages) {
    const { order } = this;
    this.#leave();
    for (const [id, stage] of stages) order.stages.set(id, stage);
    this.sender.writer.setStages([...order.stages].map(([id, stage]) => ({ id, ...stage })));
    this.express.setStages(order.stages);
    order.stageMissing = false;
    this.schedule();
  }

  /** @param {Link} link @param {import('./output').Write} write */
  connected(link, write) {
    this.isPaused = false;
    this.order.forgetReleased();
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

  /** Undoes pause(). */
  resume() {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.schedule();
  }

  /** Takes nothing new, permanently. */
  stopTaking() {
    this.order.taking = false;
    this.leave();
  }

  /** Number of packets in flight. */
  get inflight() {
    return this.window.inflight;
  }

  /** A chunk was given to the kernel. @param {number[]} ids its QoS 0 packets */
  written(ids) {
    this.sender.written(ids);
    if (this.order.isFull) this.schedule();
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
    this.order.clear();
    const isConvicted = this.sender.disconnected(this.taken, byBroker, code);
    for (const batch of this.taken) if (batch.pending > 0) this.order.queues.add(batch);
    if (isConvicted) this.sender.trial.convict();
  }

  needsQos1() {
    for (const stage of this.order.stages.values()) if (stage.qos > 0) return true;
    return false;
  }

  /** True if there is more to send than there is room for: events that make room must not wait. */
  get isWaiting() {
    return this.order.isBlocked || this.order.isFull;
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
    const { express, order, pacer, sender, source, taken, window } = this;
    if (!sender.link || !order.isUp || !order.taking || !source) return null;
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
    const { order } = this;
    const { births, poison, link, liveness, resends, trial } = this.sender;
    if (!link || this.mustNotSend) {
      this.rate.limited(false);
      return;
    }
    if (!births?.isPending && this.#enter()) return;
    if (poison.isFull) trial.acquitAll();
    order.isBlocked = poison.isAside;
    order.isFull = false;
    if (!poison.isTime && order.sendRefused(resends.quota)) order.sendAll();
    // The poison record goes alone: after others were accepted here for a while, or when there are no others.
    if (poison.isDue && this.window.inflight === 0 && this.window.room > 0) trial.try();
    if (births?.isPending) {
      if (births.writeRest()) order.isFull = true;
      else this.schedule();
    }
    this.output.flush();
    const isSearching = poison.isAside || poison.aloneId !== 0 || order.lone !== null;
    // A full window alone may just be small for a long path: larger batches do no harm then.
    const isHeldByLink =
      order.isBlocked && !isSearching && this.window.ceiling === Infinity && liveness.isQueueing;
    this.rate.limited(order.isFull || isHeldByLink);
  }

  /** @returns {boolean} true: the express path sends, or will when the last answers have arrived */
  #enter() {
    const { express, order, source } = this;
    const isAtLimit = order.isFull || (order.isBlocked && !express.isHeld);
    if (!source?.look || !order.mayTake || isAtLimit) return false;
    if (!express.tryEnter(source)) return false;
    // The last acknowledgement leads to the next pump.
    order.isBlocked = express.isHeld;
    this.rate.limited(false);
    return true;
  }
}

exports.Feeder = Feeder;
