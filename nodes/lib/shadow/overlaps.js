'use strict';
// Which requests of a device overlap. Reads and changes are the work of two threads, so their answers may arrive in
// another order than the one in which they happened on the disk.

/**
 * @typedef {object} Tally of a device with open requests
 * @property {number} open
 * @property {number} changes answered
 * @property {number} newest version that a read has answered
 *
 * @typedef {{ device: string, isRead: boolean, tally: Tally, since: number }} Span of a request, while it is open
 */

class Overlaps {
  /** @type {Map<string, Tally>} */
  #tallies = new Map();

  /** Devices with open requests. */
  get size() {
    return this.#tallies.size;
  }

  /** @param {string} device @param {boolean} isRead @returns {Span} */
  enter(device, isRead) {
    const tally = this.#tallies.get(device) ?? { open: 0, changes: 0, newest: 0 };
    this.#tallies.set(device, tally);
    tally.open++;
    return { device, isRead, tally, since: tally.changes };
  }

  /** Ends the request. @param {Span} span @param {number} version of its answer, 0 = there is no shadow */
  leave({ device, isRead, tally }, version) {
    if (!isRead) tally.changes++;
    else if (version > tally.newest) tally.newest = version;
    if (--tally.open === 0) this.#tallies.delete(device);
  }
}

/** True if a change was answered since this read began, so the read may not have seen it. @param {Span} span */
const mayBeOld = ({ tally, since }) => tally.changes !== since;

/** Begins the read again. @param {Span} span */
function renew(span) {
  span.since = span.tally.changes;
}

/**
 * True if a read has answered this version of a change, or a later one, before it.
 * @param {Span} span
 * @param {number} version
 */
const isOvertaken = ({ tally }, version) => tally.newest >= version;

exports.Overlaps = Overlaps;
exports.isOvertaken = isOvertaken;
exports.mayBeOld = mayBeOld;
exports.renew = renew;
