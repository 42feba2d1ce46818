'use strict';

// The de-duplication key: in the first line of an envelope, and as a user property.

const { FeederBench: Bench, records } = require('../../fixtures/uplink/feeder-bench');
const keysOf = (bench) => bench.packets.map((packet) => packet.properties.userProperties['seganet-key']);

test("is the first field of an envelope's first line, and a property", () => {
  const bench = new Bench();
  bench.source.push({ class: 2, kind: 1, payload: '{"d":"a","s":1}\n{"d":"b","s":2}\n' });
  bench.connect();
  expect(bench.packets[0].payload.toString()).toBe('{"k":"g/1000/2/1","d":"a","s":1}\n{"d":"b","s":2}\n');
  expect(keysOf(bench)).toEqual(['g/1000/2/1']);
});

test.each([
  ['{}', '{"k":"g/1000/3/1"}'],
  ['{ \t}', '{"k":"g/1000/3/1" \t}'],
  ['{ "d":1}', '{"k":"g/1000/3/1", "d":1}'],
  ['{', '{"k":"g/1000/3/1",'],
  ['', ''],
  ['[{"d":1}]', '[{"d":1}]'],
  [' {"d":1}', ' {"d":1}'],
  ['\xa1\x61', '\xa1\x61']
])('is added to the envelope %j as %j', (payload, expected) => {
  const bench = new Bench();
  bench.source.push({ kind: 1, payload: Buffer.from(payload, 'latin1') });
  bench.connect();
  expect(bench.packets[0].payload.toString('latin1')).toBe(expected);
  expect(keysOf(bench)).toEqual(['g/1000/3/1']);
});

test("ignores an earlier batch's bytes behind the payload", () => {
  const bench = new Bench();
  bench.source.push({ kind: 1, payload: '{}' });
  bench.connect().sent();
  bench.ack();
  bench.source.push({ kind: 1, payload: '{' });
  bench.pump();
  expect(bench.packets[0].payload.toString()).toBe('{"k":"g/1000/3/2",');
});

test('is also in an envelope with its own topic, but not in a record that looks like one', () => {
  const bench = new Bench();
  bench.source.push({ topic: 'mine', flags: 4, payload: '{"d":1}' });
  bench.source.push({ topic: 'record', flags: 1, payload: '{"d":1}' });
  bench.connect();
  expect(bench.packets.map(({ payload }) => payload.toString())).toEqual([
    '{"k":"g/1000/3/1","d":1}',
    '{"d":1}'
  ]);
});

test('is key.i for record i of a batch, and the key for a single record', () => {
  const bench = new Bench();
  bench.source.push({ records: records('a', 'b', 'c') });
  bench.source.push({ topic: 'd' });
  bench.connect();
  expect(keysOf(bench)).toEqual(['g/1000/3/1.0', 'g/1000/3/1.1', 'g/1000/3/1.2', 'g/1000/3/2']);
});

test('is the same when a batch is sent again', () => {
  const bench = new Bench();
  bench.source.push({ records: records('a', 'b') });
  bench.connect();
  const before = keysOf(bench);
  bench.feeder.disconnected();
  bench.connect();
  expect(keysOf(bench)).toEqual(before);
  expect(bench.packets.every(({ dup }) => dup)).toBe(true);
});

test('escapes a gateway id for JSON in the line alone', () => {
  const bench = new Bench();
  bench.setStage(1, 1, { gateway: 'süd "7"\\' });
  bench.source.push({ kind: 1, payload: '{"d":1}\n' });
  bench.connect();
  expect(JSON.parse(bench.packets[0].payload.toString())).toEqual({ k: 'süd "7"\\/1000/3/1', d: 1 });
  expect(keysOf(bench)).toEqual(['süd "7"\\/1000/3/1']);
});

test('is in envelopes alone with MQTT 3.1.1, which has no properties', () => {
  const bench = new Bench({ protocolVersion: 4 });
  bench.source.push({ kind: 1, payload: '{"d":1}' });
  bench.source.push({ topic: 't', payload: 'p' });
  bench.connect();
  expect(bench.packets.map(({ payload }) => payload.toString())).toEqual(['{"k":"g/1000/3/1","d":1}', 'p']);
});

const lines = (count, width = 20) =>
  Array.from({ length: count }, (_, i) => `{"d":${i},"p":"${'x'.repeat(width)}"}\n`);

/** Returns key and lines of a bench's packets; checks that property and line agree. */
function partsOf(bench) {
  return bench.packets.map((packet) => {
    const text = packet.payload.toString();
    const all = text.trimEnd().split('\n').map((line) => JSON.parse(line)); // prettier-ignore
    const { k } = all[0];
    expect(packet.properties.userProperties['seganet-key']).toBe(k);
    expect(all.slice(1).every((line) => line.k === undefined)).toBe(true);
    return { number: Number(/^g\/1000\/3\/1\.(\d+)$/.exec(k)?.[1]), lines: all.map(({ d }) => d) };
  });
}

test("names each piece of an envelope cut at line borders for the broker's Maximum Packet Size", () => {
  for (const size of [150, 200, 300, 500, 900]) {
    const bench = new Bench({ inflight: 100, maximumPacketSize: size });
    const id = bench.source.push({ kind: 1, payload: lines(30).join('') });
    bench.connect();
    const parts = partsOf(bench);
    expect(parts.flatMap((part) => part.lines)).toEqual(Array.from({ length: 30 }, (_, i) => i));
    expect(new Set(parts.map(({ number }) => number)).size).toBe(parts.length);
    for (const { length } of bench.packets) expect(length + 3).toBeLessThanOrEqual(size);
    bench.sent();
    expect(bench.window.inflight).toBe(parts.length);
    bench.ack(parts.length - 1);
    expect(bench.source.released).toEqual([]);
    bench.ack();
    expect(bench.source.released).toEqual([{ id }]);
  }
});

test("names the same lines by a piece's key under any limit: a receiver may forget what it has under it", () => {
  const meaning = new Map();
  for (let size = 130; size < 1200; size += 7) {
    const bench = new Bench({ inflight: 100, maximumPacketSize: size });
    bench.source.push({ kind: 1, payload: lines(13, 10).join('') });
    bench.connect();
    if (bench.packets.length === 1) continue;
    for (const part of partsOf(bench)) {
      expect(meaning.get(part.number) ?? part.lines).toEqual(part.lines);
      meaning.set(part.number, part.lines);
    }
  }
  expect(meaning.size).toBeGreaterThan(8);
});

test('cuts unacknowledged data again after a reconnect with a lower limit, and keeps the cut with a higher one', () => {
  const bench = new Bench({ inflight: 100, maximumPacketSize: 500 });
  bench.source.push({ kind: 1, payload: lines(16).join('') });
  bench.connect();
  const first = partsOf(bench);
  expect(first.map(({ number }) => number)).toEqual([2, 3]);
  bench.sent();
  bench.ack(1);
  for (const size of [280, 100000]) {
    bench.feeder.disconnected();
    bench.link.maximumPacketSize = size;
    bench.connect();
    expect(partsOf(bench).map(({ number }) => number)).toEqual([6, 7]);
  }
  bench.ids = bench.packets.map(({ messageId }) => messageId);
  bench.ack();
  expect(bench.source.released).toEqual([{ id: 1 }]);
  expect(bench.window.inflight).toBe(0);
});

test('makes a line that does not fit alone a dead letter, and sends the other lines', () => {
  const bench = new Bench({ inflight: 100, maximumPacketSize: 300 });
  const all = lines(9);
  all[4] = `{"d":4,"p":"${'y'.repeat(400)}"}\n`;
  all[8] = `{"d":8,"p":"${'y'.repeat(400)}"}`;
  const id = bench.source.push({ kind: 1, payload: all.join(''), count: 9 });
  bench.connect();
  expect(partsOf(bench).flatMap((part) => part.lines)).toEqual([0, 1, 2, 3, 5, 6, 7]);
  bench.sent();
  bench.ack();
  expect(bench.source.released).toEqual([
    { id, refused: [4, 8], code: 149, reason: expect.stringMatching(/the broker accepts 300\. Raise/) }
  ]);
  expect(bench.feeder.sender.deadLetters).toBe(2);
});

test.each([
  ['no objects', '[1]\n[2]\n'.repeat(50)],
  ['one object on many lines', `{\n${'"a":1,\n'.repeat(50)}"b":2}\n`],
  ['an empty line', '{"d":1}\n\n'.repeat(50)],
  ['one long line', `{"d":"${'x'.repeat(400)}"}\n`]
])('makes a whole envelope of %s a dead letter, without a cut', (_, payload) => {
  const bench = new Bench({ maximumPacketSize: 200 });
  const id = bench.source.push({ kind: 1, payload, count: 1 });
  bench.connect();
  expect(bench.packets).toEqual([]);
  expect(bench.source.released).toEqual([expect.objectContaining({ id, refused: [0], code: 149 })]);
});

test('treats an envelope that a flow made as one record, whichever of its lines is too large', () => {
  const bench = new Bench({ maximumPacketSize: 300 });
  const all = lines(4);
  all[0] = all[3] = `{"d":4,"p":"${'y'.repeat(400)}"}\n`;
  const id = bench.source.push({ kind: 1, payload: all.join(''), count: 1 });
  bench.connect().sent();
  bench.ack();
  expect(bench.source.released).toEqual([expect.objectContaining({ id, refused: [0] })]);
});
