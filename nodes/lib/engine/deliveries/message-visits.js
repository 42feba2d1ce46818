'use strict';

/** @typedef {import('./entry').Visit} Visit */

/** The open visits of each message object. */
class MessageVisits {
  /** @type {WeakMap<object, Visit[]>} */
  #visits = new WeakMap();

  /** @param {object} msg @param {Visit} visit */
  keep(msg, visit) {
    const visits = this.#visits.get(msg);
    if (visits) visits.push(visit);
    else this.#visits.set(msg, [visit]);
  }

  /** @param {object} msg @param {(visit: Visit) => unknown} isWanted @returns {Visit | undefined} */
  find(msg, isWanted) {
    return this.#visits.get(msg)?.find(isWanted);
  }

  /** @param {object} msg @param {Visit} visit */
  leave(msg, visit) {
    const left = (this.#visits.get(msg) ?? []).filter((each) => each !== visit);
    if (left.length > 0) this.#visits.set(msg, left);
    else this.#visits.delete(msg);
  }
}

exports.MessageVisits = MessageVisits;
