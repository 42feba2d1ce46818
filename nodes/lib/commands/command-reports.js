'use strict';
// Reports the results of commands to the brokers from which they came.

/** Most waiting reports for a broker whose thread does not run. The oldest ones are dropped. */
const MAX_WAITING = 1000;

/**
 * @typedef {object} Report
 * @property {string} device
 * @property {string} rest
 * @property {string} [responseTopic]
 * @property {Uint8Array} [correlation]
 * @property {{ status: string, id: string, ts: number, reason?: string }} body
 * @typedef {(report: Report) => void} Publish
 */

class Reports {
  /** @type {Map<string, Publish>} by broker */
  #open;
  /** @type {Map<string, Report[]>} */
  #waiting;
  /** Brokers that accepted reports, also if they do not at present. @type {Set<string>} */
  #known = new Set();

  constructor() {
    this.#open = new Map();
    this.#waiting = new Map();
    this.dropped = 0;
  }

  /**
   * @param {string} broker
   * @param {Publish} publish
   * @returns {() => void} stops the reports to this broker
   */
  open(broker, publish) {
    this.#open.set(broker, publish);
    this.#known.add(broker);
    for (const report of this.#waiting.get(broker) ?? []) publish(report);
    this.#waiting.delete(broker);
    return () => {
      if (this.#open.get(broker) === publish) this.#open.delete(broker);
    };
  }

  /** @param {string} broker */
  reachesBroker(broker) {
    return this.#known.has(broker);
  }

  /**
   * @param {string} broker
   * @param {Report} report
   */
  add(broker, report) {
    const { reason, ...body } = report.body;
    const clean = { ...report, body: { ...body, ...(reason && { reason }) } };
    const publish = this.#open.get(broker);
    if (publish) return publish(clean);
    const waiting = this.#waiting.get(broker) ?? [];
    waiting.push(clean);
    if (waiting.length > MAX_WAITING) {
      waiting.shift();
      this.dropped++;
    }
    this.#waiting.set(broker, waiting);
  }
}

exports.Reports = Reports;
