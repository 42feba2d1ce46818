'use strict';

const { Slot } = require('./taken-batch');

/** @typedef {import('../../../../native').UplinkSource} UplinkSource */

const META_FIELDS = 16;
const SPARE_SLOTS = 64;
const EMPTY = -1;
/** What take() says. */
const NOTHING = 'nothing';
const TRY_AGAIN = 'again';

/** The batches that were taken from the engine and not released, in the order they were taken. */
class Taken {
  /** @param {() => number} now ms, monotonic */
  constructor(now) {
    this.now = now;
    /** @type {Set<Slot>} */
    this.slots = new Set();
    /** Those that are no backlog. */
    this.live = 0;
    /** Records in all that were ever taken. */
    this.records = 0;
    /** @type {Slot[]} */
    this.spare = [];
    this.order = 0;
    this.meta = new Float64Array(META_FIELDS);
  }

  get size() {
    return this.slots.size;
  }

  [Symbol.iterator]() {
    return this.slots.values();
  }

  /**
   * @param {UplinkSource} source @param {boolean} backlog @param {boolean} isUrgent class 1 or nothing
   * @returns {Slot | typeof NOTHING | typeof TRY_AGAIN} again: a more urgent and larger batch came meanwhile
   */
  take(source, backlog, isUrgent) {
    const slot = this.spare.pop() ?? new Slot();
    let length = source.take(slot.buffer, this.meta, backlog, isUrgent);
    if (length < EMPTY) {
      slot.grow(-length - 2);
      length = source.take(slot.buffer, this.meta, backlog, isUrgent);
    }
    if (length < 0) {
      this.spare.push(slot);
      return length < EMPTY ? TRY_AGAIN : NOTHING;
    }
    slot.load(length, this.meta, ++this.order, this.now());
    if (!slot.isBacklog) this.live++;
    this.records += slot.records;
    this.slots.add(slot);
    return slot;
  }

  /**
   * A batch of one packet that was taken by the express path, and is on its way. @param {UplinkSource} source @param {number} id
   * @returns {Slot | null} null: the engine does not know it any more
   */
  adopt(source, id) {
    const slot = this.spare.pop() ?? new Slot();
    let length = source.look(id, slot.buffer, this.meta);
    if (length < EMPTY) {
      slot.grow(-length - 2);
      length = source.look(id, slot.buffer, this.meta);
    }
    if (length < 0) {
      this.spare.push(slot);
      return null;
    }
    slot.load(length, this.meta, ++this.order, this.now());
    slot.fly();
    this.live++;
    this.slots.add(slot);
    return slot;
  }

  /** Nothing of the batch is open any more. @param {UplinkSource} source @param {Slot} slot */
  release(source, slot) {
    this.slots.delete(slot);
    if (!slot.isBacklog) this.live--;
    if (slot.dead) source.release(slot.id, slot.dead, slot.deadCode, slot.deadReason);
    else source.release(slot.id);
    slot.shrink();
    if (this.spare.length < SPARE_SLOTS) this.spare.push(slot);
  }

  /** The engine gives them out again. */
  forget() {
    this.slots.clear();
    this.live = 0;
  }

  /** How long ago the oldest was taken, ms; -1 = there is none. */
  oldestMs() {
    for (const slot of this.slots) return this.now() - slot.takenAt;
    return -1;
  }
}

module.exports = { Taken, TRY_AGAIN };
