'use strict';
// Remembers the batches that arrived, to detect duplicates. The memory is bounded: a number of keys for each lane of
// each gateway's start, a number of lanes, and a total number of keys. The least recently used entries are removed
// first. A duplicate of a removed entry passes: delivery remains at least once.

/** @typedef {import('./record-key').Key} Key */

/** Largest piece number whose halves are checked. No useful envelope has more pieces. */
const MAX_PIECE = 1024;

class KeyWindow {
  #keys;
  #mostLanes;
  #total;
  #size;
  /** @type {Map<string, Map<string, number>>} by gateway/epoch/class, then by sequence[.part]: its records */
  #lanes;

  /**
   * @param {number} keys remembered for each lane
   * @param {number} lanes
   * @param {number} [total] keys remembered in all lanes together
   */
  constructor(keys, lanes, total = keys * lanes) {
    this.#keys = keys;
    this.#mostLanes = lanes;
    this.#total = total;
    this.#size = 0;
    this.#lanes = new Map();
  }

  /** @returns {number} remembered lanes */
  get lanes() {
    return this.#lanes.size;
  }

  /** @returns {number} remembered keys, in all lanes together */
  get size() {
    return this.#size;
  }

  /**
   * @param {Key} key
   * True if the batch, or all of the part, has arrived before.
   * @param {number} count its records; a copy with more records than the first one is not a duplicate
   * @param {boolean} [isPiece] true: the part is a piece of an envelope, not a single record of a batch
   * @returns {boolean}
   */
  has(key, count, isPiece = false) {
    const lane = this.#lanes.get(laneOf(key));
    if (!lane) return false;
    refresh(this.#lanes, laneOf(key));
    if (refresh(lane, partOf(key)) >= count) return true;
    // If the whole batch arrived, so did each of its parts.
    if (key.part !== null && refresh(lane, String(key.sequence)) >= count) return true;
    return (
      isPiece &&
      (this.#hasLarger(lane, key, count) || this.#halves(lane, key.sequence, key.part ?? 1) >= count)
    );
  }

  /**
   * True if a larger piece that contains this one arrived. The halves of piece n are 2n and 2n + 1, see
   * docs/messages.md.
   * @param {Map<string, number>} lane
   * @param {Key} key
   * @param {number} count
   * @returns {boolean}
   */
  #hasLarger(lane, { sequence, part }, count) {
    for (let piece = (part ?? 1) >> 1; piece > 1; piece >>= 1) {
      if (refresh(lane, `${sequence}.${piece}`) >= count) return true;
    }
    return false;
  }

  /**
   * Returns the records of the smaller pieces that form this one, or 0 if one of them is missing.
   * @param {Map<string, number>} lane
   * @param {number} sequence
   * @param {number} piece
   * @returns {number}
   */
  #halves(lane, sequence, piece) {
    // A gateway never uses larger numbers, and each level would double the work.
    if (piece >= MAX_PIECE) return 0;
    let sum = 0;
    for (const half of [2 * piece, 2 * piece + 1]) {
      const count = refresh(lane, `${sequence}.${half}`) ?? this.#halves(lane, sequence, half);
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
    this.restore(laneOf(key), partOf(key), count);
  }

  /** @returns {[string, [string, number][]][]} lanes with their keys; the least recently used first */
  entries() {
    return [...this.#lanes].map(([name, lane]) => [name, [...lane]]);
  }

  /**
   * Adds what entries() returned.
   * @param {string} name of the lane
   * @param {string} part
   * @param {number} count
   */
  restore(name, part, count) {
    let lane = refresh(this.#lanes, name);
    if (!lane) {
      lane = new Map();
      this.#lanes.set(name, lane);
      if (this.#lanes.size > this.#mostLanes) this.#forgetLane();
    }
    if (!lane.delete(part)) this.#size++;
    lane.set(part, count);
    if (lane.size > this.#keys) this.#forgetKey(lane);
    if (this.#size > this.#total) this.#forgetOldest();
  }

  /** A copy of this batch, or part of one, passes again. @param {Key} key */
  remove(key) {
    const lane = this.#lanes.get(laneOf(key));
    if (!lane?.delete(partOf(key))) return;
    this.#size--;
    if (lane.size === 0) this.#lanes.delete(laneOf(key));
  }

  #forgetLane() {
    const [[name, lane]] = this.#lanes;
    this.#size -= lane.size;
    this.#lanes.delete(name);
  }

  /** @param {Map<string, number>} lane */
  #forgetKey(lane) {
    const [oldest] = lane.keys();
    lane.delete(oldest);
    this.#size--;
  }

  /** Removes the oldest key of the least recently used lane. */
  #forgetOldest() {
    const [[name, lane]] = this.#lanes;
    this.#forgetKey(lane);
    if (lane.size === 0) this.#lanes.delete(name);
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
 * Makes an entry the most recently used.
 * @template T
 * @param {Map<string, T>} map
 * @param {string} name
 * @returns {any} its value, undefined if there is none
 */
function refresh(map, name) {
  const value = map.get(name);
  if (value === undefined) return undefined;
  map.delete(name);
  map.set(name, value);
  return value;
}

exports.KeyWindow = KeyWindow;
