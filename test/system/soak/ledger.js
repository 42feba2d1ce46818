'use strict';
// What a long run owes: the records that were acknowledged and have not arrived. It keeps no history, so that hours of
// load fit into memory.

/** @typedef {{ device: string, class: number, n: number }} RecordName */

/** @param {RecordName} record */
const nameOf = ({ device, class: recordClass, n }) => `${device} ${recordClass} ${n}`;

class Ledger {
  constructor() {
    this.acknowledged = 0;
    this.arrived = 0;
    this.doubled = 0;
    /** Acknowledged, and not arrived. */
    this.owed = new Set();
    /** Arrived before their acknowledgement. */
    this.early = new Set();
    /** What devices and proxy report, the first ones. @type {string[]} */
    this.findings = [];
  }

  /** The parts of a history that the proxy and the fleet write to. */
  get history() {
    const ignored = { push: () => 0 };
    return {
      devices: { push: (/** @type {any} */ event) => event.type === 'ack' && this.#acknowledge(event) },
      arrivals: { push: (/** @type {RecordName} */ arrival) => this.#arrive(arrival) },
      findings: {
        length: 0,
        push: ({ what, text }) => this.findings.length < 20 && this.findings.push(`${what}: ${text}`)
      },
      refusals: ignored,
      disruptions: ignored,
      setAside: ignored
    };
  }

  /** @param {RecordName} record */
  #acknowledge(record) {
    const name = nameOf(record);
    this.acknowledged++;
    if (!this.early.delete(name)) this.owed.add(name);
  }

  /** @param {RecordName} record */
  #arrive(record) {
    const name = nameOf(record);
    this.arrived++;
    if (!this.owed.delete(name)) {
      if (this.early.has(name)) this.doubled++;
      else this.early.add(name);
    }
  }

  /** A copy that arrives again is not early: forgets what no device will acknowledge any more. */
  forgetCopies() {
    if (this.early.size > 100000) this.early.clear();
  }
}

module.exports = { Ledger };
