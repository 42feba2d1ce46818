'use strict';
// A valid history from a seed: that of a faultless gateway after a lost connection and a crash in an outage. The tests
// of the checker plant their faults in it.

const { seeded } = require('../../fixtures/random');

/**
 * @typedef {import('./history').History} History
 * @typedef {import('./history').Settings} Settings
 */

/** @type {Settings} */
const settings = {
  window: 8,
  recordsPerPublish: 4,
  chunks: 2,
  chunkRecords: 16,
  rssLimitBytes: 200e6,
  diskLimitBytes: 50e6,
  allowedDrops: ['deadLetter'],
  harmlessDrops: [],
  slackMs: 100,
  oneBacklog: true,
  settled: true
};

const BATCH = 3;
const DEVICES = 4;

/** @param {number} seed @returns {History} */
function madeUp(seed) {
  const { integer } = seeded(seed);
  /** @type {History} */
  const history = {
    devices: [],
    arrivals: [],
    refusals: [],
    setAside: [],
    dead: [],
    faults: [{ kind: 'outage', time: 1000, until: 3000 }],
    disruptions: [
      { kind: 'connection', time: 1000 },
      { kind: 'process', time: 2000 }
    ],
    samples: [{ time: 500, rssBytes: 100e6, diskBytes: 1e6 }],
    stats: [],
    findings: []
  };
  let sequence = 0;
  let clock = 0;
  /** @param {any} record */
  const hash = (record) => `h-${record.device}-${record.class}-${record.n}`;
  /** @param {any[]} records @param {boolean} historical @param {string} key @param {boolean} [passed] */
  const deliver = (records, historical, key, passed = true) => {
    clock += 5;
    const content = records.map(hash).join(' ');
    records.forEach((record, index) => {
      const event = {
        hash: hash(record),
        historical,
        key,
        index,
        content,
        sent: clock - 3,
        time: clock,
        passed,
        topic: 'gw/1/normal',
        bytes: 20 * records.length
      };
      history.arrivals.push({ ...record, ...event });
    });
  };
  const newKey = () => `gw/1/c/${sequence++}`;
  /**
   * @param {number} connection
   * @param {number} from
   * @param {number} count
   * @param {boolean} acked
   * @param {boolean} [dup]
   */
  const send = (connection, from, count, acked, dup = false) => {
    const batches = [];
    for (let device = 0; device < DEVICES; device += 1) {
      for (let recordClass = 1; recordClass <= 4; recordClass += 1) {
        const batch = [];
        for (let n = from; n < from + count; n += 1) {
          const record = { device: `dev-${device}`, class: recordClass, n };
          clock += 0.01;
          history.devices.push({ type: 'send', ...record, time: clock, connection, hash: hash(record), dup });
          if (acked) history.devices.push({ type: 'ack', ...record, time: clock + 1, connection });
          batch.push(record);
        }
        batches.push({ records: batch, key: newKey() });
      }
    }
    return batches;
  };
  // Quiet times.
  for (let n = 0; n < 30; n += BATCH)
    for (const { records, key } of send(1, n, BATCH, true)) deliver(records, false, key);
  // The last of them are sent again over a new connection: their PUBACKs were in flight. One had none at all.
  clock = 1000;
  const again = send(1, 30, BATCH, true);
  const twice = again.slice(0, 6);
  for (const { records, key } of twice) deliver(records, false, key, integer(2) === 0);
  for (const { records, key } of again) deliver(records, false, key);
  // An outage: records go to disk. The process dies; one record was taken and neither kept nor acknowledged: the
  // device sends it again.
  clock = 1800;
  const stored = [...send(1, 33, BATCH, true), ...send(1, 36, BATCH, true)];
  send(1, 39, BATCH, false);
  clock = 3000;
  for (const { records, key } of send(2, 39, BATCH, true, true)) deliver(records, false, key);
  const live = send(2, 42, BATCH, true);
  const half = stored.length / 2;
  for (const { records, key } of stored.slice(0, half)) deliver(records, true, key);
  for (const { records, key } of live) deliver(records, false, key);
  for (const { records, key } of stored.slice(half)) deliver(records, true, key);
  send(2, 45, 1, false); // never acknowledged, never delivered: not a loss
  const delivered = history.arrivals.length;
  const counters = { recordsQueued: delivered - 96, recordsRecovered: 96, recordsDelivered: delivered - 1 };
  const drops = { deadLetter: [0, 0, 0, 1, 0] };
  history.stats.push({ counters, drops, heldRecords: [0, 0, 0, 0, 0], backlogRecords: [0, 0, 0, 0, 0] });
  history.devices.sort((a, b) => a.time - b.time);
  return history;
}

module.exports = { madeUp, settings };
