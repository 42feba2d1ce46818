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
  constructor() {
    /** @type {Map<string, Publish>} by broker */
    this.open_ = new Map();
    /** @type {Map<string, Report[]>} */
    this.waiting_ = new Map();
    this.dropped = 0;
  }

  /**
   * @param {string} broker
   * @param {Publish} publish
   * @returns {() => void} stops the reports to this broker
   */
  open(broker, publish) {
    this.open_.set(broker, publish);
    for (const report of this.waiting_.get(broker) ?? []) publish(report);
    this.waiting_.delete(broker);
    return () => {
      if (this.open_.get(broker) === publish) this.open_.delete(broker);
    };
  }

  /**
   * @param {string} broker
   * @param {Report} report
   */
  add(broker, report) {
    const { reason, ...body } = report.body;
    const clean = { ...report, body: { ...body, ...(reason && { reason }) } };
    const publish = this.open_.get(broker);
    if (publish) return publish(clean);
    const waiting = this.waiting_.get(broker) ?? [];
    waiting.push(clean);
    if (waiting.length > MAX_WAITING) {
      waiting.shift();
      this.dropped++;
    }
    this.waiting_.set(broker, waiting);
  }
}

exports.Reports = Reports;
