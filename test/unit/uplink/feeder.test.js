'use strict';

const { FeederBench: Bench, records } = require('../../fixtures/uplink/feeder-bench');
const { MemorySource } = require('../../fixtures/uplink/memory-source');
const { seeded } = require('../../fixtures/random');

test('sends the most urgent class first, and a class in order', () => {
  const bench = new Bench();
  for (const [cls, topic] of [
    [4, 'b1'],
    [3, 'n1'],
    [1, 'c1'],
    [3, 'n2'],
    [1, 'c2']
  ])
    bench.source.push({ class: cls, topic });
  expect(bench.connect().sent()).toEqual(['c1', 'c2', 'n1', 'n2', 'b1']);
});

test('takes nothing without room, and gets room from acknowledgements', () => {
  const bench = new Bench({ inflight: 2 });
  for (let i = 0; i < 5; i++) bench.source.push({ topic: `${i}` });
  expect(bench.connect().sent()).toEqual(['0', '1']);
  expect(bench.source.taken.size).toBe(2);
  expect(bench.ack(1).sent()).toEqual(['2']);
  expect(bench.ack().sent()).toEqual(['3', '4']);
  bench.ack();
  expect(bench.source.released).toEqual([1, 2, 3, 4, 5].map((id) => ({ id })));
  expect(bench.feeder.sender).toMatchObject({ published: 5, acknowledged: 5, redelivered: 0, failed: 0 });
});

test("respects the broker's Receive Maximum", () => {
  const bench = new Bench({ inflight: 32, receiveMaximum: 3 });
  bench.source.push({ records: records('1', '2', '3', '4', '5') });
  expect(bench.connect().sent()).toEqual(['1', '2', '3']);
});

test("keeps topics and payloads of a batch's records and sends them in one write", () => {
  const bench = new Bench();
  const batch = records('a', 'b/c', 'd');
  batch[1].flags = 3;
  bench.source.push({ records: batch });
  bench.connect();
  expect(bench.writes).toHaveLength(1);
  expect(bench.packets).toMatchObject([
    { topic: 'a', payload: Buffer.from('p-a'), qos: 1, retain: false, dup: false },
    { topic: 'b/c', payload: Buffer.from('p-b/c'), qos: 1, retain: true, dup: false },
    { topic: 'd', payload: Buffer.from('p-d'), qos: 1, retain: false, dup: false }
  ]);
});

test('publishes a batch larger than the room in part; a more urgent batch goes before its rest, its own class after', () => {
  const bench = new Bench({ inflight: 2 });
  bench.source.push({ class: 3, records: records('n1', 'n2', 'n3', 'n4') });
  bench.source.push({ class: 3, topic: 'after' });
  expect(bench.connect().sent()).toEqual(['n1', 'n2']);
  bench.source.push({ class: 1, topic: 'alarm' });
  bench.source.push({ class: 4, topic: 'bulk' });
  expect(bench.ack(1).sent()).toEqual(['alarm']);
  expect(bench.ack(1).sent()).toEqual(['n3']);
  expect(bench.ack().sent()).toEqual(['n4', 'after']);
  expect(bench.ack().sent()).toEqual(['bulk']);
});

test('releases a batch when its last record is acknowledged, not before', () => {
  const bench = new Bench();
  bench.source.push({ records: records('1', '2', '3') });
  bench.connect().sent();
  bench.ack(2);
  expect(bench.source.released).toEqual([]);
  bench.ack();
  expect(bench.source.released).toEqual([{ id: 1 }]);
});

test('sends in-flight packets again after a reconnect, first, in order, marked as duplicate', () => {
  const bench = new Bench({ inflight: 4 });
  bench.source.push({ records: records('1', '2', '3') });
  bench.source.push({ topic: '4' });
  bench.connect().sent();
  bench.ack(1); // of '1'
  bench.source.push({ topic: '5' });
  bench.source.push({ class: 1, topic: 'alarm' });
  bench.feeder.disconnected();
  bench.ids = [];
  bench.connect();
  expect(bench.packets.map((p) => [p.topic, p.dup])).toEqual([
    ['alarm', false],
    ['2', true],
    ['3', true],
    ['4', true]
  ]);
  bench.sent();
  expect(bench.ack().sent()).toEqual(['5']);
  bench.ack();
  expect(bench.source.held).toBe(0);
  expect(bench.feeder.sender).toMatchObject({ published: 6, acknowledged: 6, redelivered: 3 });
});

test('ignores acknowledgements that belong to no packet', () => {
  const bench = new Bench();
  bench.connect();
  for (const id of [0, 1, 33, 65535]) bench.feeder.sender.acknowledge(id, 0);
  expect(bench.window.inflight).toBe(0);
});

test('marks a redelivered batch of the engine as duplicate', () => {
  const bench = new Bench();
  bench.source.push({ topic: 't', isAgain: true });
  bench.connect();
  expect(bench.packets[0].dup).toBe(true);
  expect(bench.feeder.sender.redelivered).toBe(1);
});

test("refuses and reports a packet above the broker's Maximum Packet Size, and sends the next", () => {
  const bench = new Bench({ maximumPacketSize: 100 });
  const id = bench.source.push({ topic: 'large', payload: 'x'.repeat(100) });
  bench.source.push({ topic: 'small' });
  expect(bench.connect().sent()).toEqual(['small']);
  expect(bench.source.released).toEqual([
    { id, refused: [0], code: 149, reason: expect.stringMatching(/has 139 bytes and the broker accepts 100/) }
  ]);
  expect(bench.problems).toEqual(['PACKET_TOO_LARGE']);
});

test.each(['a/+', '#', 'a\0'])('never sends a record with the topic %j to the broker', (topic) => {
  const bench = new Bench();
  bench.source.push({ records: [...records(topic), ...records('ok')] });
  expect(bench.connect().sent()).toEqual(['ok']);
  bench.ack();
  expect(bench.source.released).toEqual([
    { id: 1, refused: [0], code: 0x90, reason: expect.stringContaining('topic') }
  ]);
  expect(bench.problems).toEqual(['BAD_TOPIC']);
});

test('sends a record without a topic to the topic of the envelopes', () => {
  const bench = new Bench();
  bench.source.push({ topic: '' });
  bench.source.push({ kind: 1, class: 1, payload: 'e' });
  expect(bench.connect().sent()).toEqual(['gw/g/critical', 'gw/g/normal']);
});

test('delivers whole a batch larger than the buffer, and than a chunk', () => {
  const bench = new Bench();
  const payload = Buffer.alloc(200000, 'abc');
  bench.source.push({ kind: 1, payload });
  bench.source.push({ kind: 1, payload: Buffer.alloc(0) });
  bench.connect();
  expect(bench.packets.map((p) => Buffer.compare(p.payload, payload) === 0 || p.payload.length)).toEqual([
    true,
    0
  ]);
});

test.each([127, 128, 16383, 16384, 2097151, 2097152])(
  'writes a well-formed packet of remaining length %i',
  (remaining) => {
    const bench = new Bench({ protocolVersion: 4 });
    bench.source.push({ topic: 't', payload: Buffer.alloc(remaining - 5) });
    bench.connect();
    expect(bench.packets[0].length).toBe(remaining);
    expect(bench.packets[0].payload).toHaveLength(remaining - 5);
  }
);

test('holds a batch of an unknown stage until the stage is known', () => {
  const bench = new Bench({ stages: false });
  bench.source.push({ topic: '1' });
  bench.source.push({ topic: '2' });
  expect(bench.connect().sent()).toEqual([]);
  expect(bench.problems).toEqual(['NO_STAGE']);
  bench.setStage(1);
  expect(bench.pump().sent()).toEqual(['1', '2']);
});

test('releases QoS 0 when it was written, and counts it in the window until then', () => {
  const bench = new Bench({ qos: 0, inflight: 2 });
  for (let i = 0; i < 3; i++) bench.source.push({ topic: `${i}`, isAgain: true });
  bench.connect();
  expect(bench.packets).toMatchObject([
    { topic: '0', qos: 0, dup: false },
    { topic: '1', qos: 0, dup: false }
  ]);
  expect(bench.source.released).toEqual([]);
  bench.writes[0]();
  expect(bench.source.released).toHaveLength(2);
});

test('does not send the retained flag to a broker without retained messages', () => {
  const bench = new Bench({ retainAvailable: false });
  bench.source.push({ topic: 't', flags: 3 });
  bench.connect();
  expect(bench.packets[0].retain).toBe(false);
});

test('returns the old batches on another engine; their late acknowledgements release nothing', () => {
  const bench = new Bench({ inflight: 4 });
  bench.source.push({ topic: 'old' });
  bench.connect().sent();
  const next = new MemorySource();
  next.push({ topic: 'new' });
  bench.feeder.detach();
  bench.feeder.attach(next);
  expect(bench.source.closed).toBe(true);
  expect(bench.pump().sent()).toEqual(['new']);
  bench.ack(1);
  expect(next.released).toEqual([]);
  bench.ack(1);
  expect(next.released).toEqual([{ id: 1 }]);
});

test('loses nothing and keeps first deliveries in order with random acknowledgements and broken connections (seeded)', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9);
  process.stdout.write(`seed ${seed}\n`);
  const { integer: random } = seeded(seed);
  const bench = new Bench({ inflight: 7 });
  bench.connect();
  const seen = new Map();
  const firsts = [[], [], [], [], []];
  const sequence = [0, 0, 0, 0, 0];
  const look = () => {
    for (const topic of bench.sent()) {
      if (!seen.has(topic)) {
        const [cls, n] = topic.split('/').map(Number);
        firsts[cls].push(n);
      }
      seen.set(topic, true);
    }
  };
  for (let step = 0; step < 3000; step++) {
    const cls = 1 + random(4);
    const topic = () => `${cls}/${sequence[cls]++}`;
    if (random(3) === 0) {
      if (random(2)) bench.source.push({ class: cls, topic: topic() });
      else
        bench.source.push({ class: cls, records: records(...Array.from({ length: 1 + random(12) }, topic)) });
    }
    bench.pump();
    look();
    expect(bench.window.inflight).toBeLessThanOrEqual(7);
    const dice = random(100);
    if (dice < 60) bench.ack(1 + random(4));
    else if (dice < 64) {
      bench.feeder.disconnected();
      bench.ids = [];
      bench.connect();
    }
    look();
  }
  for (let step = 0; step < 10000 && bench.source.held > 0; step++) {
    bench.ack();
    look();
  }
  expect(bench.source.held).toBe(0);
  for (let cls = 1; cls <= 4; cls++) {
    expect(firsts[cls]).toEqual(Array.from({ length: sequence[cls] }, (_, i) => i));
  }
});
