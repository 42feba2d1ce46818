'use strict';

const { TakenBatch } = require('./taken-batch');

/** @typedef {import('../../../../native').UplinkSource} UplinkSource */

const SPARE_SLOTS = 64;
const EMPTY = -1;
/** Results of take(). */
const NOTHING = 'nothing';
const TRY_AGAIN = 'again';

/** The batches taken from the engine and not released yet, in the order in which they were taken. */
class TakenBatches {
  /**
   * @param {() => number} now ms, monotonic
   * @param {boolean} [isCopy] another session decides what the cloud will never accept
   */
  constructor(now, isCopy = false) {
    this.now = now;
    this.isCopy = isCopy;
    /** @type {Set<TakenBatch>} */
    this.batches = new Set();
    /** Number of batches that are not backlog. */
    this.live = 0;
    /** Number of records in all batches that were ever taken. */
    this.records = 0;
    /** @type {TakenBatch[]} */
    this.spare = [];
    this.order = 0;
  }

  get size() {
    return this.batches.size;
  }

  [Symbol.iterator]() {
    return this.batches.values();
  }

  /**
   * Takes the next batch.
   * @param {UplinkSource} source
   * @param {boolean} backlog
   * @param {boolean} isUrgent takes class 1 or nothing
   * @returns {TakenBatch | typeof NOTHING | typeof TRY_AGAIN} again: a more urgent and larger batch arrived meanwhile
   */
  take(source, backlog, isUrgent) {
    const batch = this.spare.pop() ?? new TakenBatch();
    let length = source.take(batch.buffer, batch.meta, backlog, isUrgent);
    if (length < EMPTY) {
      batch.grow(-length - 2);
      length = source.take(batch.buffer, batch.meta, backlog, isUrgent);
    }
    if (length < 0) {
      this.spare.push(batch);
      return length < EMPTY ? TRY_AGAIN : NOTHING;
    }
    batch.load(length, ++this.order, this.now());
    if (!batch.isBacklog) this.live++;
    this.records += batch.records;
    this.batches.add(batch);
    return batch;
  }

  /**
   * Adopts a batch of one packet that the express path took.
   * @param {UplinkSource} source
   * @param {number} id
   * @param {boolean} isSent it is in flight; otherwise it must be sent
   * @returns {TakenBatch | null} null: the engine no longer knows the batch
   */
  adopt(source, id, isSent) {
    const batch = this.spare.pop() ?? new TakenBatch();
    let length = source.look(id, batch.buffer, batch.meta);
    if (length < EMPTY) {
      batch.grow(-length - 2);
      length = source.look(id, batch.buffer, batch.meta);
    }
    if (length < 0) {
      this.spare.push(batch);
      return null;
    }
    batch.load(length, ++this.order, this.now());
    if (isSent) batch.fly();
    else this.records += batch.records;
    this.live++;
    this.batches.add(batch);
    return batch;
  }

  /**
   * Releases a batch. No packet of it is open.
   * @param {UplinkSource} source
   * @param {TakenBatch} batch
   */
  release(source, batch) {
    this.batches.delete(batch);
    if (!batch.isBacklog) this.live--;
    if (batch.dead) {
      if (!this.isCopy) source.release(batch.id, batch.dead, batch.deadCode, batch.deadReason);
    } else source.release(batch.id);
    batch.shrink();
    if (this.spare.length < SPARE_SLOTS) this.spare.push(batch);
  }

  /** Forgets all batches; the engine gives them out again. */
  forget() {
    this.batches.clear();
    this.live = 0;
  }

  /** Returns the time since the oldest batch was taken, in ms; -1 = there is none. */
  oldestMs() {
    for (const batch of this.batches) return this.now() - batch.takenAt;
    return -1;
  }
}

module.exports = { TakenBatches, TRY_AGAIN };
