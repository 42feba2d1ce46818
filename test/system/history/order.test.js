'use strict';
// The excuses of a record that arrives behind a later one of its device, and what resembles them and is a violation.

const { recordName, suspected } = require('../../../nodes/lib/uplink/sending/refused/problem-sentences');
const { check } = require('./checker');
const { madeUp, settings } = require('./made-up');
const { readReport } = require('./set-aside');

/** @typedef {import('./history').History} History @typedef {import('./history').Arrival} Arrival */

const TOPIC = 'gw/1/normal';

/**
 * A history of records of one device and class.
 * @param {number[]} sends n of each PUBLISH of the device @param {(Partial<Arrival> & {n: number})[]} arrivals
 * @returns {History}
 */
function historyOf(sends, arrivals) {
  /** @type {History} */
  const history = { ...madeUp(1), devices: [], arrivals: [], disruptions: [], stats: [] };
  sends.forEach((n, time) => {
    const event = { device: 'd', class: 3, n, time, connection: 1 };
    history.devices.push({ type: 'send', ...event, hash: String(n) }, { type: 'ack', ...event });
  });
  arrivals.forEach((arrival, index) => {
    const time = 5000 + index;
    const packet = { topic: TOPIC, bytes: 400, key: `gw/1/3/${arrival.n}`, index: 0, historical: false };
    const record = { device: 'd', class: 3, hash: String(arrival.n), content: `${arrival.n}`, passed: true };
    history.arrivals.push({ ...record, ...packet, sent: time, time, ...arrival });
  });
  return history;
}

/** @param {History} history */
function orderOf(history) {
  const { swapped, excusedSwaps, counts } = check(history, settings);
  return { swapped, excusedSwaps, others: Object.keys(counts).filter((what) => what !== 'swapped') };
}

const EXCUSED = { swapped: 0, excusedSwaps: 1, others: [] };
const SWAPPED = { swapped: 1, excusedSwaps: 0, others: [] };

describe('a record that the gateway set aside', () => {
  /** n0 leaves at 5002, behind n1 and n2, which left after the report. */
  const late = () => {
    const history = historyOf([0, 1, 2], [{ n: 1 }, { n: 2 }, { n: 0, bytes: 900 }]);
    history.setAside.push({ time: 4000, topic: TOPIC, bytes: 900 });
    return history;
  };

  test('may arrive behind records that left after the report', () => {
    expect(orderOf(late())).toEqual(EXCUSED);
  });

  test('may be a batch of several', () => {
    const history = late();
    const [, , zero] = history.arrivals;
    const another = { ...zero, device: 'e', index: 1 };
    history.arrivals.unshift({ ...another, n: 1, hash: '1', key: 'gw/1/3/1', content: '1', index: 0 });
    history.arrivals.push(another);
    history.devices.push(...history.devices.map((event) => ({ ...event, device: 'e' })));
    history.dead.push({ device: 'e', class: 3, n: 2 });
    expect(orderOf(history)).toEqual({ ...EXCUSED, excusedSwaps: 2 });
  });

  /** @type {[string, (history: History) => void][]} */
  const nearMisses = [
    ['without a report', (history) => history.setAside.pop()],
    ['when the report names another size', (history) => (history.setAside[0].bytes = 901)],
    ['when the report names another topic', (history) => (history.setAside[0].topic = 'gw/1/bulk')],
    ['when a later record left before the report', (history) => (history.arrivals[1].sent = 3000)],
    ['when it arrived before the report', (history) => (history.setAside[0].time = 6000)]
  ];
  test.each(nearMisses)('is a violation %s', (_name, change) => {
    const history = late();
    change(history);
    expect(orderOf(history)).toEqual(SWAPPED);
  });

  test('excuses no second PUBLISH of the same size', () => {
    const [two, zero, one] = [{ n: 2 }, { n: 0, bytes: 900 }, { n: 1, bytes: 900 }];
    const history = historyOf([0, 1, 2], [two, zero, one]);
    history.setAside.push({ time: 4000, topic: TOPIC, bytes: 900 });
    expect(orderOf(history)).toEqual({ ...SWAPPED, excusedSwaps: 1 });
    history.setAside.push({ time: 4100, topic: TOPIC, bytes: 900 });
    expect(orderOf(history)).toEqual({ ...EXCUSED, excusedSwaps: 2 });
  });
});

describe('a report of a record that the gateway set aside', () => {
  /** @param {string} device */
  const line = (device) =>
    `warning: [seganet-uplink-broker:cloud] ${suspected(recordName(device, TOPIC, 900), 0)} (2 times.)`;

  test.each([
    ['of a batch', ''],
    ['of a device', 'dev-1']
  ])('is read from the log: %s', (_name, device) => {
    expect(readReport(line(device))).toEqual({ topic: TOPIC, bytes: 900 });
  });

  test('is not another warning about a record', () => {
    expect(readReport(line('').replace('set aside', 'sent'))).toBeNull();
    expect(readReport('warning: [seganet-uplink-broker:cloud] The broker refused a record.')).toBeNull();
  });
});

describe('a record that its device repeated', () => {
  /** Batch 3 goes to the log, a deploy lets the device repeat n0 and n1 in batch 5; batch 4 is live. */
  const late = () =>
    historyOf(
      [0, 1, 0, 1],
      [
        { n: 1, key: 'gw/1/3/4', content: 'n1' },
        { n: 0, key: 'gw/1/3/5', content: 'n0 n1' },
        { n: 1, key: 'gw/1/3/5', content: 'n0 n1', index: 1 },
        { n: 0, key: 'gw/1/3/3', content: 'n0', historical: true }
      ]
    );

  test('may arrive behind a record that was batched between its historical copy and its repetition', () => {
    expect(orderOf(late())).toEqual(EXCUSED);
  });

  /** @type {[string, (history: History) => void][]} */
  const nearMisses = [
    ['when the other copy is live', ({ arrivals }) => (arrivals[3].historical = false)],
    ['when there is no other copy', ({ arrivals }) => arrivals.pop()],
    ['when the historical copy was batched later', ({ arrivals }) => (arrivals[3].key = 'gw/1/3/6')],
    ['when the later record was batched behind it', ({ arrivals }) => (arrivals[0].key = 'gw/1/3/7')],
    ['when the historical copy is of another start', ({ arrivals }) => (arrivals[3].key = 'gw/0/3/3')],
    ['when nothing has a key', ({ arrivals }) => arrivals.forEach((arrival) => (arrival.key = ''))]
  ];
  test.each(nearMisses)('is a violation %s', (_name, change) => {
    const history = late();
    change(history);
    expect(orderOf(history)).toEqual(SWAPPED);
  });

  test('is a violation when the device sent it once', () => {
    const history = late();
    history.devices = history.devices.filter(({ n, time }) => n === 1 || time < 2);
    // The second copy is the gateway's, under another key.
    expect(orderOf(history)).toEqual({ ...SWAPPED, others: ['key'] });
  });
});
