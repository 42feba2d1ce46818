'use strict';

// Live before backlog; the backlog has a share of the window and a rate, and is marked.

const { isIdle } = require('../../../nodes/lib/uplink/sending/batch-ages');
const { FeederBench: Bench, records } = require('../../fixtures/uplink/feeder-bench');
const { Pacer } = require('../../../nodes/lib/uplink/sending/pacer');
const { checkStage } = require('../../../nodes/lib/uplink/sending/uplink-stage');

const fill = (bench, count, batch = {}) => {
  for (let i = 0; i < count; i++) bench.source.push({ topic: `b${i}`, backlog: true, ...batch });
};

test('sends live records of every class before backlog of every class', () => {
  const bench = new Bench({ share: 1 });
  bench.source.push({ class: 1, topic: 'old alarm', backlog: true });
  bench.source.push({ class: 4, topic: 'bulk' });
  bench.source.push({ class: 2, topic: 'older', backlog: true });
  bench.source.push({ class: 3, topic: 'normal' });
  expect(bench.connect().sent()).toEqual(['normal', 'bulk', 'old alarm', 'older']);
});

test.each([
  [10, 0.5, 5],
  [10, 0.1, 1],
  [10, 0, 1],
  [1, 0.5, 1],
  [3, 0.5, 1],
  [10, 1, 10]
])('has, in a window of %i with a share of %f, %i in flight', (inflight, share, places) => {
  const bench = new Bench({ inflight, share });
  fill(bench, 30);
  expect(bench.connect().sent()).toHaveLength(places);
  expect(bench.window.backlog).toBe(places);
  const got = [];
  for (let step = 0; step < 40; step++) {
    bench.ack(1);
    got.push(...bench.sent());
    expect(bench.window.backlog).toBeLessThanOrEqual(places);
  }
  expect(got).toHaveLength(30 - places);
  expect(bench.window.backlog).toBe(0);
});

test("takes the share from the broker's Receive Maximum where that is smaller", () => {
  const bench = new Bench({ inflight: 100, receiveMaximum: 4 });
  fill(bench, 30);
  expect(bench.connect().sent()).toEqual(['b0', 'b1']);
});

test('uses all but one place while nothing live was sent for 5 s, and its share again with the next live batch', () => {
  const bench = new Bench({ inflight: 6 });
  fill(bench, 30);
  expect(bench.connect().sent()).toHaveLength(3);
  bench.time += 5000;
  expect(bench.ack(1).sent()).toHaveLength(3);
  expect(bench.window.backlog).toBe(5);
  bench.source.push({ topic: 'live' });
  expect(bench.pump().sent()).toEqual(['live']);
  expect(bench.ack(3).sent()).toEqual(['b6']); // three of five left, three may be in flight
});

test('keeps a batch of many records within the share too, and sends live records beside it', () => {
  const bench = new Bench({ inflight: 4 });
  bench.source.push({ backlog: true, records: records('1', '2', '3', '4', '5') });
  expect(bench.connect().sent()).toEqual(['1', '2']);
  bench.source.push({ topic: 'live' });
  expect(bench.pump().sent()).toEqual(['live']);
  expect(bench.ack(1).sent()).toEqual(['3']);
  expect(bench.ack().sent()).toEqual(['4', '5']);
});

test('never delays a live batch for the rate', () => {
  const bench = new Bench({ rate: 1 });
  fill(bench, 5);
  expect(bench.connect().sent()).toEqual(['b0']);
  bench.source.push({ class: 4, topic: 'live' });
  expect(bench.pump().sent()).toEqual(['live']);
});

test('counts records for the rate, and continues by a timer', () => {
  const bench = new Bench({ rate: 100, inflight: 32, share: 1 });
  for (let i = 0; i < 50; i++) {
    bench.source.push({
      backlog: true,
      records: records(...Array.from({ length: 10 }, (_, k) => `${i}.${k}`))
    });
  }
  bench.connect();
  let sent = 0;
  for (let ms = 0; ms < 4000; ms += 10) {
    sent += bench.sent().length;
    bench.ack();
    bench.later(10);
  }
  expect(sent).toBeGreaterThanOrEqual(390);
  expect(sent).toBeLessThanOrEqual(420);
});

test('is sent as fast as it is acknowledged, without a rate limit', () => {
  const bench = new Bench({ inflight: 8 });
  fill(bench, 1000);
  bench.connect();
  for (let step = 0; step < 250; step++) {
    bench.sent();
    bench.ack();
  }
  expect(bench.source.held).toBe(0);
});

test('holds 50 ms in the bucket, pays its debts, and does not save up idle time', () => {
  let now = 0;
  const pacer = new Pacer({ rate: 1000, share: 1, now: () => now });
  expect(pacer.waitMs()).toBe(0);
  pacer.spend(550);
  expect(pacer.waitMs()).toBe(500);
  now = 499;
  expect(pacer.waitMs()).toBe(1);
  now = 501;
  expect(pacer.waitMs()).toBe(0);
  now = 1e6;
  expect(pacer.waitMs()).toBe(0);
  pacer.spend(51);
  expect(pacer.waitMs()).toBe(1);
});

test('sends backlog behind live records of every class after a reconnect, in order', () => {
  const bench = new Bench({ share: 1 });
  fill(bench, 3, { class: 1 });
  bench.source.push({ class: 4, topic: 'bulk' });
  bench.connect();
  bench.feeder.disconnected();
  bench.source.push({ class: 4, topic: 'new' });
  bench.connect();
  expect(bench.sent()).toEqual(['bulk', 'new', 'b0', 'b1', 'b2']);
  bench.ids = bench.ids.slice(-5);
  bench.ack();
  expect(bench.source.held).toBe(0);
  expect(bench.window.backlog).toBe(0);
});

test('keeps the place of temporarily refused backlog in the share, not more', () => {
  const bench = new Bench({ inflight: 4 });
  fill(bench, 10);
  expect(bench.connect().sent()).toEqual(['b0', 'b1']);
  bench.ack(Infinity, 0x80);
  expect(bench.window.backlog).toBe(2);
  expect(bench.sent()).toEqual([]);
  bench.source.push({ topic: 'live' });
  expect(bench.pump().sent()).toEqual(['live']);
});

const mark = ({ topic, properties }) => [topic, properties?.userProperties?.['seganet-history']];

test.each([
  [5, 'property', ['b0', '1'], ['gw/g/normal', '1']],
  [5, 'suffix', ['b0/history', undefined], ['gw/g/normal/history', undefined]],
  [5, 'none', ['b0', undefined], ['gw/g/normal', undefined]],
  [4, 'property', ['b0', undefined], ['gw/g/normal', undefined]],
  [4, 'suffix', ['b0/history', undefined], ['gw/g/normal/history', undefined]]
])(
  'marks records and envelopes, but not live ones (MQTT version %i, history %s)',
  (protocolVersion, history, record, envelope) => {
    const bench = new Bench({ protocolVersion });
    bench.setStage(1, 1, { history });
    fill(bench, 1);
    bench.source.push({ kind: 1, payload: '{"d":1}', backlog: true });
    bench.source.push({ topic: '', backlog: true });
    bench.source.push({ topic: 'live' });
    bench.source.push({ kind: 1, payload: '{"d":2}' });
    bench.connect();
    expect(bench.packets.map(mark)).toEqual([
      ['live', undefined],
      ['gw/g/normal', undefined],
      record,
      envelope,
      envelope
    ]);
    if (protocolVersion === 5) {
      const keys = bench.packets.map(({ properties }) => properties.userProperties['seganet-key']);
      expect(keys).toEqual(['g/1000/3/4', 'g/1000/3/5', 'g/1000/3/1', 'g/1000/3/2', 'g/1000/3/3']);
    }
  }
);

test.each([
  [{ history: 'loud' }, /history is loud/],
  [{ format: 'xml' }, /format is xml; it must be one of ndjson, json, cbor/],
  [{ history: 'suffix', historySuffix: '/#' }, /history suffix '\/#' must not contain/],
  [{ history: 'suffix', historySuffix: '' }, /must not be empty/]
])('refuses %j with a sentence', (stage, sentence) => {
  expect(() => checkStage(/** @type {any} */ (stage))).toThrow(sentence);
});

test('waits at the end for live records only when there is backlog; a stop takes no more', () => {
  const bench = new Bench();
  fill(bench, 40);
  bench.connect().sent();
  expect(isIdle(bench.feeder)).toBe(true);
  bench.source.push({ topic: 'live' });
  expect(isIdle(bench.feeder)).toBe(false);
  bench.pump().sent();
  expect(isIdle(bench.feeder)).toBe(false);
  bench.feeder.stopTaking();
  bench.ack();
  expect(isIdle(bench.feeder)).toBe(true);
  expect(bench.feeder.taken.size).toBe(0);
});
