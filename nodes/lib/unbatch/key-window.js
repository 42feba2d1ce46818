'use strict';
// Remembers the batches that arrived, to detect duplicates. The memory is bounded: a number of keys for each lane of
// each gateway's start, a number of lanes, and a total number of keys. The least recently used entries are removed
// first: those of the publisher that has the most, so that no publisher can remove those of another one that has fewer.
// A duplicate of a removed entry passes: delivery remains at least once.

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
  #publisherOf;
  /** What each publisher has. @type {Map<string, { lanes: number, keys: number }>} */
  #shares;

  /**
   * @param {number} keys remembered for each lane
   * @param {number} lanes
   * @param {number} [total] keys remembered in all lanes together
   * @param {(lane: string) => string} [publisherOf] REQUIRES: a publisher cannot name another one; default: one
   *   publisher for all lanes
   */
  constructor(keys, lanes, total = keys * lanes, publisherOf = () => '') {
    this.#publisherOf = publisherOf;
    this.#shares = new Map();
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
   * docs/reference/messages.md.
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
    const share = this.#shareOf(name);
    let lane = refresh(this.#lanes, name);
    if (!lane) {
      lane = new Map();
      this.#lanes.set(name, lane);
      share.lanes++;
    }
    if (!lane.delete(part)) {
      this.#size++;
      share.keys++;
    }
    lane.set(part, count);
    if (this.#lanes.size > this.#mostLanes) this.#forgetLane();
    if (lane.size > this.#keys) this.#forgetKey(name, lane);
    if (this.#size > this.#total) this.#forgetOldest();
  }

  /** A copy of this batch, or part of one, passes again. @param {Key} key */
  remove(key) {
    const name = laneOf(key);
    const lane = this.#lanes.get(name);
    if (lane?.has(partOf(key))) this.#delete(name, lane, partOf(key));
  }

  /** @param {string} name of a lane */
  #shareOf(name) {
    const publisher = this.#publisherOf(name);
    const share = this.#shares.get(publisher) ?? { lanes: 0, keys: 0 };
    this.#shares.set(publisher, share);
    return share;
  }

  /**
   * Returns the least recently used lane of the publisher that has the most.
   * @param {'lanes' | 'keys'} what
   * @returns {[string, Map<string, number>]}
   */
  #victim(what) {
    let [most, largest] = ['', 0];
    for (const [publisher, share] of this.#shares)
      if (share[what] > largest) [most, largest] = [publisher, share[what]];
    for (const entry of this.#lanes) if (this.#publisherOf(entry[0]) === most) return entry;
    throw new Error('unreachable');
  }

  #forgetLane() {
    const [name, lane] = this.#victim('lanes');
    for (const part of [...lane.keys()]) this.#delete(name, lane, part);
  }

  /** @param {string} name @param {Map<string, number>} lane */
  #forgetKey(name, lane) {
    const [oldest] = lane.keys();
    this.#delete(name, lane, oldest);
  }

  /** Removes the oldest key of the least recently used lane. */
  #forgetOldest() {
    this.#forgetKey(...this.#victim('keys'));
  }

  /** @param {string} name @param {Map<string, number>} lane @param {string} part */
  #delete(name, lane, part) {
    const share = this.#shareOf(name);
    lane.delete(part);
    this.#size--;
    share.keys--;
    if (lane.size > 0) return;
    this.#lanes.delete(name);
    if (--share.lanes === 0) this.#shares.delete(this.#publisherOf(name));
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
