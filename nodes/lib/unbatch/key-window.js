'use strict';
// Remembers which batches have arrived, so that a second copy can be told. Bounded: a number of keys for each lane of each
// gateway's start, a number of lanes, and a number of keys in all; what was seen longest ago is forgotten first. What is
// forgotten passes again: at least once stays at least once.

/** @typedef {import('./record-key').Key} Key */

/** Pieces below it are looked for in their halves: an envelope cut into so many is of no use to anybody. */
const MAX_PIECE = 1024;

class KeyWindow {
  /**
   * @param {number} keys remembered for each lane
   * @param {number} lanes
   * @param {number} [total] keys remembered in all lanes together
   */
  constructor(keys, lanes, total = keys * lanes) {
    this.keys_ = keys;
    this.mostLanes_ = lanes;
    this.total_ = total;
    this.size_ = 0;
    /** @type {Map<string, Map<string, number>>} by gateway/epoch/class: by sequence[.part], the records that came with it */
    this.lanes_ = new Map();
  }

  /** @returns {number} lanes that are remembered */
  get lanes() {
    return this.lanes_.size;
  }

  /** @returns {number} keys that are remembered, in all lanes together */
  get size() {
    return this.size_;
  }

  /**
   * @param {Key} key
   * @param {number} count records that came with it: a copy that holds more than the one before is no duplicate
   * @param {boolean} [isPiece] a part is a piece of an envelope, and not a single record of a batch
   * @returns {boolean}
   */
  has(key, count, isPiece = false) {
    const lane = this.lanes_.get(laneOf(key));
    if (!lane) return false;
    refresh(this.lanes_, laneOf(key));
    if (refresh(lane, partOf(key)) >= count) return true;
    // The whole batch came: so did each of its parts.
    if (key.part !== null && refresh(lane, String(key.sequence)) >= count) return true;
    return (
      isPiece &&
      (this.hasLarger_(lane, key, count) || this.halves_(lane, key.sequence, key.part ?? 1) >= count)
    );
  }

  /**
   * A piece came of which this one was cut: the halves of piece n are 2n and 2n + 1, see docs/messages.md.
   * @param {Map<string, number>} lane
   * @param {Key} key
   * @param {number} count
   * @returns {boolean}
   */
  hasLarger_(lane, { sequence, part }, count) {
    for (let piece = (part ?? 1) >> 1; piece > 1; piece >>= 1) {
      if (refresh(lane, `${sequence}.${piece}`) >= count) return true;
    }
    return false;
  }

  /**
   * Records of the pieces that this one was cut into, 0 when one of them is missing.
   * @param {Map<string, number>} lane
   * @param {number} sequence
   * @param {number} piece
   * @returns {number}
   */
  halves_(lane, sequence, piece) {
    // Numbers beyond are none of ours, and each level has twice as many.
    if (piece >= MAX_PIECE) return 0;
    let sum = 0;
    for (const half of [2 * piece, 2 * piece + 1]) {
      const count = refresh(lane, `${sequence}.${half}`) ?? this.halves_(lane, sequence, half);
      if (count === 0) return 0;
      sum += count;
    }
    return sum;
  }

  /**
   * @param {Key} key
   * @param {number} count
   */
  add(key, count) {
    let lane = refresh(this.lanes_, laneOf(key));
    if (!lane) {
      lane = new Map();
      this.lanes_.set(laneOf(key), lane);
      if (this.lanes_.size > this.mostLanes_) this.forgetLane_();
    }
    if (!lane.delete(partOf(key))) this.size_++;
    lane.set(partOf(key), count);
    if (lane.size > this.keys_) this.forgetKey_(lane);
    if (this.size_ > this.total_) this.forgetOldest_();
  }

  forgetLane_() {
    const [[name, lane]] = this.lanes_;
    this.size_ -= lane.size;
    this.lanes_.delete(name);
  }

  /** @param {Map<string, number>} lane */
  forgetKey_(lane) {
    const [oldest] = lane.keys();
    lane.delete(oldest);
    this.size_--;
  }

  /** The oldest key of the lane that was used longest ago. */
  forgetOldest_() {
    const [[name, lane]] = this.lanes_;
    this.forgetKey_(lane);
    if (lane.size === 0) this.lanes_.delete(name);
  }
}

/** @param {Key} key */
function laneOf({ gateway, epoch, lane }) {
  return `${gateway}/${epoch}/${lane}`;
}

/** @param {Key} key */
function partOf({ sequence, part }) {
  return part === null ? String(sequence) : `${sequence}.${part}`;
}

/**
 * Makes an entry the youngest.
 * @template T
 * @param {Map<string, T>} map
 * @param {string} name
 * @returns {any} its value, undefined when there is none
 */
function refresh(map, name) {
  const value = map.get(name);
  if (value === undefined) return undefined;
  map.delete(name);
  map.set(name, value);
  return value;
}

exports.KeyWindow = KeyWindow;
