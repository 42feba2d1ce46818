'use strict';

const { Backoff } = require('../../base/backoff');
const { Demand } = require('../../uplink/sending/demand');
const { StallWatch } = require('../../uplink/sending/stall-watch');
const { TakenBatch } = require('../../uplink/sending/taken-batch');
const { META } = require('../../uplink/sending/batch-meta');
const { explain } = require('../store/store-error');
const { OpenRows } = require('./open-rows');
const { RecordReader } = require('./record-reader');

/** @typedef {import('../../../../native').UplinkSource} UplinkSource */
/** @typedef {import('./options').CheckedOptions} CheckedOptions @typedef {import('./stage').Stage} Stage */
/** @typedef {import('../files/row').Row} Row */

const TURN_MS = 4;
const BATCH_BYTES = 65536;
const RETRY_MIN_MS = 1000;
const RETRY_MAX_MS = 10000;
/** Another thread of the same node, which is ending, may have the place for this time. */
const PATIENCE_MS = 5000;

/**
 * @typedef {object} UplinkParts
 * @property {CheckedOptions} options
 * @property {typeof import('../../../../native')} native
 * @property {() => Promise<import('../store/archive').Archive>} open opens the place; called again after a failure
 * @property {() => void} wake requests a turn()
 * @property {() => number} now ms, monotonic
 * @property {(code: string, reason: string) => void} problem
 * @property {() => void} onStatus
 * @property {(date: string) => void} onAdded a file was added to this day
 */

/**
 * Takes records of all classes from the engine, the most urgent first, and writes them into files. A batch is released,
 * that is, acknowledged to the log, when all of its rows are in files that their manifests name.
 *
 * At most two lots of rows are in memory: one that fills, and one that is written.
 */
class FileUplink {
  /** @param {UplinkParts} parts */
  constructor(parts) {
    this.parts = parts;
    this.now = parts.now;
    this.reader = new RecordReader(parts.options.gateway);
    this.batch = new TakenBatch();
    this.order = 0;
    /** @type {UplinkSource | null} */
    this.source = null;
    /** @type {Map<number, Stage>} */
    this.stages = new Map();
    this.open = new OpenRows(parts.options);
    /** The rows that are written now. @type {OpenRows | null} */
    this.closing = null;
    /** @type {import('../store/archive').Archive | null} */
    this.archive = null;
    this.state = 'connecting';
    this.code = this.reason = '';
    this.backoff = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
    this.demand = new Demand({
      delay: (fn, ms) => setTimeout(fn, ms),
      now: parts.now,
      schedule: () => this.schedule()
    });
    this.taking = true;
    /** Rows are written at once. */
    this.isHurried = false;
    this.isWanted = false;
    /** A batch that waits for its stage. @type {boolean} */
    this.isUnplaced = false;
    this.openedAt = parts.now();
    this.opens = 0;
    this.records = 0;
    this.writeMs = 0;
    this.counters = {
      published: 0,
      acknowledged: 0,
      redelivered: 0,
      failed: 0,
      deadLetters: 0,
      refusals: 0,
      bytesAcked: 0
    };
    this.figures = { files: 0, rows: 0, bytes: 0, repeated: 0, failures: 0 };
    this.stalls = new StallWatch({
      waiting: () => this.#waiting(),
      activity: () => this.records + this.counters.acknowledged,
      wake: () => {
        this.source?.wakeAll();
        this.doorbell();
      },
      now: parts.now,
      problem: parts.problem
    });
  }

  /** Opens the place of the files, and goes on trying until it is open. */
  start() {
    this.parts.open().then(
      (archive) => {
        this.archive = archive;
        this.opens++;
        this.backoff.reset();
        this.#setState('connected');
        this.schedule();
      },
      (error) => {
        const { code, reason } = explain(error, this.parts.options.url);
        const isBrief = code === 'IN_USE' && this.now() - this.openedAt < PATIENCE_MS;
        if (!isBrief) {
          this.#setState('refused', code, reason);
          this.parts.problem(code, reason);
        }
        this.retry = setTimeout(() => this.start(), isBrief ? 200 : this.backoff.next());
      }
    );
  }

  /** @param {number} token @param {number} uplink */
  attach(token, uplink) {
    this.source = new this.parts.native.UplinkSource(token, uplink, () => this.doorbell());
    this.source.setBatchBytes(BATCH_BYTES);
    this.source.connected(this.isUp);
    this.doorbell();
  }

  /** Forgets the engine, which gives out the batches again. What is being written becomes a copy. */
  detach() {
    this.open = new OpenRows(this.parts.options);
    if (this.closing) this.closing.batches = [];
    this.source?.close();
    this.source = null;
  }

  /** @param {Map<number, Stage>} stages earlier ones are kept: their batches may still wait */
  setStages(stages) {
    for (const [id, stage] of stages) this.stages.set(id, stage);
    this.schedule();
  }

  doorbell() {
    this.demand.fed();
    this.schedule();
  }

  schedule() {
    this.isWanted = true;
    this.parts.wake();
  }

  get isUp() {
    return this.state === 'connected';
  }

  /** Takes what there is room for, for a few ms at most, and writes what is due. */
  turn() {
    if (!this.isWanted) return;
    this.isWanted = false;
    const until = this.now() + TURN_MS;
    while (this.#takeNext()) {
      if (this.now() <= until) continue;
      this.schedule();
      break;
    }
    this.#writeIfDue();
  }

  /** @returns {boolean} false when nothing may be taken now */
  #takeNext() {
    const { source, batch } = this;
    if (!source || !this.taking || !this.isUp || this.open.isFull || this.stages.size === 0) return false;
    const isBacklog = source.best() === 0;
    if (isBacklog) {
      this.demand.empty(source, true);
      if (source.bestBacklog() === 0) return false;
    }
    let length = source.take(batch.buffer, batch.meta, isBacklog, false);
    if (length < -1) {
      batch.grow(-length - 2);
      length = source.take(batch.buffer, batch.meta, isBacklog, false);
    }
    if (length < 0) return false;
    batch.load(length, ++this.order, this.now());
    if (!isBacklog) this.demand.fed();
    this.records += batch.records;
    this.counters.published += batch.count;
    if (batch.meta[META.wasSent]) this.counters.redelivered += batch.count;
    // A stage whose message has not arrived yet has the paths of the others: one node has one stage.
    const stage = this.stages.get(batch.stage) ?? /** @type {Stage} */ ([...this.stages.values()].at(-1));
    this.open.add(batch.id, batch.isBacklog, this.reader.read(batch, stage), this.now());
    batch.shrink();
    return true;
  }

  #writeIfDue() {
    const { open, closing, parts } = this;
    if (closing || !this.isUp || open.isEmpty) return;
    const isOld = this.now() - open.since >= parts.options.maxWaitMs;
    if (!open.isFull && !isOld && !this.isHurried) return;
    this.closing = open;
    this.open = new OpenRows(parts.options);
    void this.#write(open);
  }

  /** @param {OpenRows} lot */
  async #write(lot) {
    const startedAt = this.now();
    try {
      for (const [date, rows] of lot.days) {
        const { file, repeated } = await /** @type {import('../store/archive').Archive} */ (this.archive).add(
          date,
          rows
        );
        lot.days.delete(date);
        this.figures.files++;
        this.figures.rows += file.rows;
        this.figures.bytes += file.bytes;
        this.figures.repeated += repeated;
        this.counters.bytesAcked += file.bytes;
        this.parts.onAdded(date);
      }
    } catch (error) {
      return this.#failed(error, lot);
    }
    this.writeMs = this.now() - startedAt;
    for (const id of lot.batches) this.source?.release(id);
    this.counters.acknowledged += lot.rows;
    this.backoff.reset();
    this.closing = null;
    if (!this.isUp) this.#setState('connected');
    this.schedule();
  }

  /** The days that were not written are tried again. @param {unknown} error @param {OpenRows} lot */
  #failed(error, lot) {
    const { code, reason } = explain(error, this.parts.options.url);
    this.figures.failures++;
    this.counters.refusals++;
    this.#setState('disconnected', code, reason);
    this.parts.problem(code, reason);
    this.retry = setTimeout(() => void this.#write(lot), this.backoff.next());
  }

  /** @param {string} state @param {string} [code] @param {string} [reason] */
  #setState(state, code = '', reason = '') {
    this.state = state;
    this.code = code;
    this.reason = reason;
    this.source?.connected(this.isUp);
    this.parts.onStatus();
  }

  /** Call it several times a second. */
  check() {
    const { open } = this;
    if (!open.isEmpty && this.now() - open.since >= this.parts.options.maxWaitMs) this.schedule();
  }

  /** Call it once a second. */
  everySecond() {
    this.schedule();
    this.stalls.check();
  }

  /** @param {boolean} isHurried */
  hurry(isHurried) {
    this.isHurried = isHurried;
    this.schedule();
  }

  stopTaking() {
    this.taking = false;
    this.hurry(true);
  }

  /** True if nothing that was taken waits. */
  get isDone() {
    return this.open.isEmpty && !this.closing;
  }

  /** True if nothing live is taken or waits. */
  get isIdle() {
    const { source } = this;
    if (this.open.live > 0 || (this.closing?.live ?? 0) > 0) return false;
    return !source || (source.best() === 0 && (source.retryMs() < 0 || source.oldestMs() < 0));
  }

  get isWaiting() {
    return this.open.isFull;
  }

  /** @returns {import('../../uplink/sending/stall-watch').Waiting | null} */
  #waiting() {
    const { source, taking } = this;
    if (!source || !this.isUp || !taking || !this.isDone) return null;
    const places = source.waitingAt();
    return places & 1 ? 'live' : places & 2 ? 'backlog' : places & 4 ? 'log' : null;
  }

  stop() {
    clearTimeout(this.retry);
    this.detach();
  }

  /** Returns the reported state, as that of a session. */
  view() {
    const { open, closing, source, parts } = this;
    const rows = open.rows + (closing?.rows ?? 0);
    return {
      group: 1,
      classes: parts.options.groups[0],
      clientId: parts.options.clientId,
      everConnected: this.opens > 0,
      connects: this.opens,
      batchBytes: BATCH_BYTES,
      state: this.state,
      code: this.code,
      reason: this.reason,
      isNote: false,
      rttMs: 0,
      oldestMs: source ? source.oldestMs() : -1,
      inflight: rows,
      backlogInflight: open.backlog + (closing?.backlog ?? 0),
      express: false,
      quotaWait: 0,
      unmatched: 0,
      stalls: this.stalls.count,
      isStallRepeating: this.stalls.isRepeating,
      ...this.counters,
      priority: -1,
      dscp: -1,
      localAddress: ''
    };
  }
}

exports.FileUplink = FileUplink;
