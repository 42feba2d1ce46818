'use strict';

const { Demand } = require('../../uplink/sending/demand');
const { TakenBatches, TRY_AGAIN } = require('../../uplink/sending/taken-batches');
const { OpenRecords } = require('./open-records');

/** @typedef {import('../../uplink/sending/taken-batch').TakenBatch} TakenBatch */
/** @typedef {import('../../../../native').UplinkSource} UplinkSource */
/** @typedef {import('./stage').Stage} Stage */

const TURN_MS = 4;
/** A class whose records are not acknowledged for this time is stalled. */
const STALLED_MS = 5000;
/** Most bytes of a class that are taken and not acknowledged; a batch may exceed it. */
const WINDOW_BYTES = 4 * 1024 * 1024;
/** Adaptive batches may become this large: a request holds several. */
const BATCH_BYTES = 65536;

/**
 * @typedef {object} ChannelParts
 * @property {number} recordClass
 * @property {number} window records that may be taken and not acknowledged
 * @property {number} requestBytes most bytes of one request
 * @property {import('../../uplink/sending/pacer').Pacer} pacer
 * @property {import('./record-writer').RecordWriter} writer
 * @property {InstanceType<typeof import('./cluster-session').ClusterSession>} session
 * @property {import('./leader-requests').LeaderRequests} requests
 * @property {() => void} schedule requests a pump() later in this turn of the loop
 * @property {(fn: () => void, ms: number) => void} delay
 * @property {() => number} now ms, monotonic
 * @property {(code: string, reason: string) => void} problem
 * @property {() => void} onStatus
 */

/**
 * Takes the records of one class from the engine while there is room, and reports to the engine whether they get
 * through. A class has its own source, so that a class whose topic is missing does not stop the others of the same
 * connection.
 */
class Channel {
  /** @param {ChannelParts} parts */
  constructor(parts) {
    this.parts = parts;
    this.recordClass = parts.recordClass;
    this.now = parts.now;
    this.taken = new TakenBatches(parts.now);
    this.demand = new Demand(parts);
    /** @type {UplinkSource | null} */
    this.source = null;
    /** @type {Map<number, Stage>} */
    this.stages = new Map();
    this.open = new OpenRecords(parts, this.stages, (batch) => this.#release(batch));
    this.taking = true;
    /** A batch that waits for its stage. @type {TakenBatch | null} */
    this.unplaced = null;
    this.isUp = false;
    this.isPacing = false;
  }

  /** @param {UplinkSource} source */
  attach(source) {
    this.source = source;
    source.setBatchBytes(BATCH_BYTES);
    source.connected(this.isUp);
    this.doorbell();
  }

  doorbell() {
    this.demand.fed();
    this.parts.schedule();
  }

  /** Forgets the engine, which gives out un-released batches again. */
  detach() {
    this.open.forget();
    this.taken.forget();
    this.unplaced = null;
    this.source?.close();
    this.source = null;
  }

  /** @param {Map<number, Stage>} stages earlier ones are kept: their batches may still wait */
  setStages(stages) {
    for (const [id, stage] of stages) this.stages.set(id, stage);
    const batch = this.unplaced;
    this.unplaced = null;
    if (batch) this.#place(batch);
    this.parts.schedule();
  }

  stopTaking() {
    this.taking = false;
  }

  /** The session is up. */
  connected() {
    this.open.resume();
    this.parts.schedule();
  }

  /** Reports to the engine whether this class gets through. @param {boolean} isStopping */
  report(isStopping) {
    const isUp =
      this.parts.session.isConnected && !this.isStalled && this.open.trouble === null && !isStopping;
    this.source?.connected(isUp);
    if (isUp === this.isUp) return;
    this.isUp = isUp;
    this.doorbell();
  }

  get isStalled() {
    const { movedAt } = this.open;
    return this.parts.session.isConnected && this.dueMs > STALLED_MS && this.now() - movedAt > STALLED_MS;
  }

  /** Age of the oldest record without an acknowledgement, ms; -1 = none. */
  get oldestMs() {
    return Math.max(this.source ? this.source.oldestMs() : -1, this.taken.oldestMs());
  }

  /** The same without batches that the engine does not give out yet. */
  get dueMs() {
    const { oldestMs } = this;
    return oldestMs < 0 || this.taken.oldestMs() >= 0 || this.source?.best() !== 0 ? oldestMs : -1;
  }

  /** True if nothing live is taken or waits. */
  get isIdle() {
    const { source, taken } = this;
    if (taken.live > 0) return false;
    return !source || (source.best() === 0 && (source.retryMs() < 0 || source.oldestMs() < 0));
  }

  get isFull() {
    return this.open.records >= this.parts.window || this.open.bytes >= WINDOW_BYTES;
  }

  /**
   * Returns what waits although the session is up and nothing is taken; null = nothing.
   * @returns {import('../../uplink/sending/stall-watch').Waiting | null}
   */
  get waiting() {
    const { isUp, open, parts, source, taken, taking } = this;
    if (!source || !isUp || !taking || open.records > 0) return null;
    if (taken.size > 0) return 'taken';
    const places = source.waitingAt?.() ?? 0;
    if (places & 1) return 'live';
    if (places & 2) return parts.pacer.waitMs() > 0 ? null : 'backlog';
    return places & 4 ? 'log' : null;
  }

  /** Wakes everything that could move a record. */
  wakeAll() {
    this.source?.wakeAll?.();
    this.doorbell();
  }

  /** Takes what there is room for, for a few ms at most. */
  pump() {
    if (!this.parts.session.isConnected) return;
    const until = this.now() + TURN_MS;
    while (this.#takeNext()) {
      if (this.now() <= until) continue;
      this.parts.schedule();
      break;
    }
  }

  /** @returns {boolean} false when nothing may be taken now */
  #takeNext() {
    const { source } = this;
    if (!source || !this.taking || this.unplaced || this.isFull) return false;
    if (source.best() !== 0) return this.#take(source, false);
    this.demand.empty(source, this.isUp);
    if (source.bestBacklog() === 0) return false;
    if (this.open.backlog >= this.parts.pacer.places(this.parts.window)) return false;
    const wait = this.parts.pacer.waitMs();
    if (wait === 0) return this.#take(source, true);
    if (!this.isPacing) {
      this.isPacing = true;
      this.parts.delay(() => {
        this.isPacing = false;
        this.parts.schedule();
      }, wait);
    }
    return false;
  }

  /** @param {UplinkSource} source @param {boolean} backlog @returns {boolean} false when nothing was taken */
  #take(source, backlog) {
    const batch = this.taken.take(source, backlog, false);
    if (typeof batch === 'string') {
      if (batch === TRY_AGAIN) this.parts.schedule();
      return false;
    }
    this.parts.pacer.took(batch);
    if (!batch.isBacklog) this.demand.fed();
    this.#place(batch);
    return true;
  }

  /** @param {TakenBatch} batch */
  #place(batch) {
    const stage = this.stages.get(batch.stage);
    if (!stage) {
      this.unplaced = batch;
      this.parts.problem(
        'NO_STAGE',
        `A batch waits: the topic of its uplink node (stage ${batch.stage}) is not known yet.`
      );
      return;
    }
    this.open.add(batch, stage);
  }

  /** @param {TakenBatch} batch */
  #release(batch) {
    this.taken.release(/** @type {UplinkSource} */ (this.source), batch);
  }
}

exports.Channel = Channel;
