'use strict';
// Remembers which batches have arrived, so that a second copy can be told. Bounded: a number of keys for each lane of each
// gateway's start, and a number of lanes; what was seen longest ago is forgotten first. What is forgotten passes again:
// at least once stays at least once.

/** @typedef {import('./key').Key} Key */

class KeyWindow {
  /**
   * @param {number} keys remembered for each lane
   * @param {number} lanes
   */
  constructor(keys, lanes) {
    this.keys_ = keys;
    this.most_ = lanes;
    /** @type {Map<string, Map<string, number>>} by gateway/epoch/class: by sequence[.part], the records that came with it */
    this.lanes_ = new Map();
  }

  /** @returns {number} lanes that are remembered */
  get lanes() {
    return this.lanes_.size;
  }

  /**
   * @param {Key} key
   * @param {number} count records that came with it: a copy that holds more than the one before is no duplicate
   * @returns {boolean}
   */
  has(key, count) {
    const lane = this.lanes_.get(laneOf(key));
    if (!lane) return false;
    refresh(this.lanes_, laneOf(key));
    if (refresh(lane, partOf(key)) >= count) return true;
    // The whole batch came: so did each of its parts.
    return key.part !== null && refresh(lane, String(key.sequence)) >= count;
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
      trim(this.lanes_, this.most_);
    }
    lane.delete(partOf(key));
    lane.set(partOf(key), count);
    trim(lane, this.keys_);
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

/**
 * Forgets the oldest entries.
 * @param {Map<string, unknown>} map
 * @param {number} most
 */
function trim(map, most) {
  for (const name of map.keys()) {
    if (map.size <= most) return;
    map.delete(name);
  }
}

exports.KeyWindow = KeyWindow;
