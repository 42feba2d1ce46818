'use strict';
// The data that a run leaves behind, and how a part of it is displayed. The types that every file here shares.

/**
 * Times are milliseconds on the one monotonic clock of the test process.
 *
 * @typedef {{device: string, class: number, n: number}} RecordName a device counts n from 0 for each class
 *
 * @typedef {RecordName & {type: 'send' | 'ack', time: number, connection: number, hash?: string, dup?: boolean}}
 *  DeviceEvent send: the PUBLISH was written (`dup`: again, after a reconnection); ack: its PUBACK was read.
 *
 * @typedef {object} Arrived
 * @property {string} hash of the payload as it arrived
 * @property {boolean} historical marked as backlog
 * @property {string} key of its batch, '' = none
 * @property {number} index in that PUBLISH
 * @property {string} content hash of the PUBLISH's payload
 * @property {number} sent when the PUBLISH was read from the gateway
 * @property {number} time when the broker's PUBACK was read
 * @property {boolean} passed true if that PUBACK was passed on to the gateway
 * @property {string} topic of that PUBLISH
 * @property {number} bytes of that PUBLISH, with its header
 * @typedef {RecordName & Arrived} Arrival in the order of the broker's PUBACKs
 *
 * @typedef {RecordName & {code: number, sent: number, time: number}} Refusal a PUBACK with a failure code, given to the
 *  gateway
 * @typedef {{time: number, topic: string, bytes: number}} SetAside the gateway's report that it set aside a PUBLISH, a
 *  poison record
 * @typedef {{kind: 'connection' | 'process', time: number}} Disruption after it the gateway may send again
 * @typedef {{time: number, rssBytes: number, diskBytes: number}} Sample
 *
 * @typedef {object} History
 * @property {DeviceEvent[]} devices in the order of time
 * @property {Arrival[]} arrivals
 * @property {Refusal[]} refusals
 * @property {SetAside[]} setAside in the order of time
 * @property {RecordName[]} dead content of the gateway's table of dead letters at the end
 * @property {{kind: string, time: number, until: number}[]} faults
 * @property {Disruption[]} disruptions in the order of time
 * @property {Sample[]} samples
 * @property {any[]} stats last counters of each incarnation of the gateway, the final one last; empty = not read
 * @property {{from: number, until: number}[]} [pauses] of the proxy, in the order of time: it read nothing
 * @property {{what: string, text: string}[]} findings of the harness: limits of the broker broken, exit codes
 *
 * @typedef {object} Settings
 * @property {number} window PUBLISH packets in flight, at most
 * @property {number} recordsPerPublish at most
 * @property {number} chunks that may be partly delivered, or delivered and not yet deleted, at a crash
 * @property {number} chunkRecords records of a chunk, at most
 * @property {number} rssLimitBytes 0 = not checked
 * @property {number} diskLimitBytes 0 = not checked
 * @property {string[]} allowedDrops drop reasons that this run may have and that explain a missing record
 * @property {string[]} harmlessDrops drop reasons that it may have for records without an acknowledgement
 * @property {number} slackMs how long a PUBLISH may be in flight after a refusal was written
 * @property {boolean} [isUnordered] true: the order of a device is not checked, because a deploy removes messages from
 *  a flow
 * @property {boolean} oneBacklog false when two uplink nodes had a backlog: each is sent in order, in parallel with the
 *  other
 * @property {boolean} settled true if the end was quiet: everything had time to arrive
 *
 * @typedef {{what: string, text: string, history: string[]}} Violation
 */

/** @param {RecordName} record */
const nameOf = ({ device, class: recordClass, n }) => `${device} c${recordClass} n${n}`;

/** @param {RecordName} record */
const streamOf = ({ device, class: recordClass }) => `${device} c${recordClass}`;

/** @param {number} ms */
const at = (ms) => (Number.isFinite(ms) ? `${(ms / 1000).toFixed(3)} s` : 'the end');

/**
 * All events of one record, and the faults around it, in the order of time.
 * @param {History} history @param {RecordName} record
 */
function story(history, record) {
  const name = nameOf(record);
  /** @type {[number, string][]} */
  const lines = [];
  const same = (/** @type {RecordName} */ other) =>
    other.n === record.n && other.class === record.class && other.device === record.device;
  for (const event of history.devices.filter(same)) {
    const what = event.type === 'ack' ? 'PUBACK read by' : `${event.dup ? 'sent again' : 'sent'} by`;
    lines.push([event.time, `${name}: ${what} the device (its connection ${event.connection})`]);
  }
  for (const arrival of history.arrivals.filter(same)) {
    const marks = [
      arrival.historical ? 'historical' : 'live',
      arrival.key || 'no key',
      `#${arrival.index}`,
      ...(arrival.passed ? [] : ['PUBACK kept from the gateway'])
    ];
    const text = `${name}: acknowledged by the broker (${marks.join(', ')}; left the gateway at ${at(arrival.sent)})`;
    lines.push([arrival.time, text]);
  }
  for (const refusal of history.refusals.filter(same)) {
    lines.push([refusal.time, `${name}: refused with 0x${refusal.code.toString(16)}`]);
  }
  if (history.dead.some(same)) lines.push([Infinity, `${name}: among the dead letters`]);
  for (const fault of history.faults) {
    lines.push([fault.time, `— fault ${fault.kind} until ${at(fault.until)}`]);
  }
  return lines.sort((a, b) => a[0] - b[0]).map(([time, text]) => `${at(time).padStart(11)}  ${text}`);
}

module.exports = { nameOf, streamOf, story };
