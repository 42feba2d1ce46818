'use strict';
// Reads the gateway's reports of poison records from its log: a report names the topic and the size of the PUBLISH that
// the gateway sets aside while it sends others (docs/use/operations.md#seganet-log).

const REPORT =
  /closes the connection when a record(?: from the device ".*")? \(topic "(.*)", (\d+) bytes\) is sent \(.*The record is set aside/;

/**
 * @param {string} line of the gateway's log
 * @returns {{topic: string, bytes: number} | null} null: the line is no such report
 */
function readReport(line) {
  const found = REPORT.exec(line);
  return found && { topic: found[1], bytes: Number(found[2]) };
}

/**
 * Adds each report of a gateway's process to the history.
 * @param {import('../../../bench/harness/child').Child} child @param {import('./history').History} history
 * @param {() => number} clock
 */
function followReports({ process: { stdout, stderr } }, history, clock) {
  for (const stream of [stdout, stderr]) {
    let rest = '';
    stream.on('data', (/** @type {string} */ text) => {
      const lines = (rest + text).split('\n');
      rest = /** @type {string} */ (lines.pop());
      for (const line of lines) {
        const report = readReport(line);
        if (report) history.setAside.push({ time: clock(), ...report });
      }
    });
  }
}

module.exports = { readReport, followReports };
