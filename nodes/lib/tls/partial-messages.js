'use strict';

/** Every connection may hold this many bytes, so that fragmented messages of one device do not affect another. */
const FREE_BYTES = 4096;
const MAX_BYTES = 16 << 20;

/** @typedef {{ refuse: (reason: string) => void }} Holder */

/**
 * Limits the bytes of incomplete messages of a listener. Beyond the limit, the oldest incomplete message is refused.
 */
class PartialMessages {
  #maxBytes;
  /** Holders of more than FREE_BYTES, oldest first. @type {Map<Holder, number>} */
  #byHolder;

  /** @param {number} [maxBytes] in addition to FREE_BYTES per connection */
  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
    this.#byHolder = new Map();
    this.total = 0;
  }

  /** @param {Holder} holder @param {number} bytes held now */
  set(holder, bytes) {
    const counted = bytes > FREE_BYTES ? bytes : 0;
    const before = this.#byHolder.get(holder) ?? 0;
    if (counted === before) return;
    this.total += counted - before;
    // Setting an existing key keeps its place in the order.
    if (counted > 0) this.#byHolder.set(holder, counted);
    else this.#byHolder.delete(holder);
    for (const oldest of this.#byHolder.keys()) {
      if (this.total <= this.#maxBytes) return;
      this.total -= this.#byHolder.get(oldest) ?? 0;
      this.#byHolder.delete(oldest);
      oldest.refuse('unfinished');
    }
  }
}

exports.PartialMessages = PartialMessages;
