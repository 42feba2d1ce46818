'use strict';

/** So much every connection may hold: a device whose message comes in pieces is never in the way of another. */
const FREE_BYTES = 4096;
const MAX_BYTES = 16 << 20;

/** @typedef {{ refuse: (reason: string) => void }} Holder */

/** What the connections of a listener hold of messages that are not complete. When it is too much, the one that began first ends. */
class Held {
  /** @param {number} [maxBytes] beyond what is free */
  constructor(maxBytes = MAX_BYTES) {
    this.maxBytes_ = maxBytes;
    /** Bytes of those that hold more than is free, oldest first. @type {Map<Holder, number>} */
    this.byHolder_ = new Map();
    this.total = 0;
  }

  /** @param {Holder} holder @param {number} bytes that it holds now */
  set(holder, bytes) {
    const counted = bytes > FREE_BYTES ? bytes : 0;
    const before = this.byHolder_.get(holder) ?? 0;
    if (counted === before) return;
    this.total += counted - before;
    // A key that is set again keeps its place.
    if (counted > 0) this.byHolder_.set(holder, counted);
    else this.byHolder_.delete(holder);
    for (const oldest of this.byHolder_.keys()) {
      if (this.total <= this.maxBytes_) return;
      this.total -= this.byHolder_.get(oldest) ?? 0;
      this.byHolder_.delete(oldest);
      oldest.refuse('unfinished');
    }
  }
}

exports.Held = Held;
