'use strict';

// A broker that closes the connection when it reads a certain record of any size, because it rejects the topic. The
// record becomes a dead letter, the others are sent, and no outage buries a record that the broker takes.

const { FeederBench: Bench, records } = require('../../fixtures/uplink/feeder-bench');
const { Cloud, dice, seed, trickle } = require('../../fixtures/uplink/feeder-cloud');

process.stdout.write(`seed ${seed}\n`);

const make = (options = {}) => new Bench({ protocolVersion: 4, inflight: 8, ...options });
const isBad = (topic) => topic.startsWith('bad');
const closes = (verdict) => (packet) => (isBad(packet.topic) ? verdict : 'take');
const dead = (bench) => bench.source.released.filter((one) => one.refused);
const sends = (cloud, topic) => cloud.got.filter((each) => each === topic).length;

test.each([
  ['without a reason', 4, 'close', 0x80, /gives no reason/],
  ['without a reason, in MQTT 5', 5, 'close', 0x80, /gives no reason/],
  ['with "malformed packet"', 5, 0x81, 0x81, /0x81: malformed packet/],
  ['with "protocol error"', 5, 0x82, 0x82, /0x82: protocol error/],
  ['with "not authorized"', 5, 0x87, 0x87, /0x87: not authorized/],
  ['with "topic name invalid"', 5, 0x90, 0x90, /0x90: topic name invalid/]
])(
  'buries a record that the broker closes on %s; the others arrive, in order',
  (_, version, verdict, code, words) => {
    const bench = make({ protocolVersion: version });
    const load = trickle(bench);
    const cloud = new Cloud(bench, closes(verdict)).run(1000, load);
    const id = bench.source.push({ topic: 'bad\u0001/x', device: 'pump' });
    cloud.run(60000, load).run(500);
    expect(dead(bench)).toEqual([{ id, refused: [0], code, reason: expect.stringMatching(words) }]);
    expect(dead(bench)[0].reason).toContain('the device "pump" (topic "bad\\u0001/x"');
    // Without a reason: 2 with others, 2 alone, 5 on trial.
    expect(cloud.connections).toBeLessThanOrEqual(1 + 9);
    expect([...new Set(cloud.got)]).toEqual(load.expected());
    expect(bench.source.held).toBe(0);
    expect(bench.problems.slice(0, 2)).toEqual(['SUSPECT', 'UNWANTED']);
    expect(bench.reasons[0]).toMatch(/"bad\\u0001\/x", \d+ bytes\)/);
  }
);

test('sends others while a poison record waits for its trials', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, closes('close')).run(1000, load);
  bench.source.push({ topic: 'bad' });
  cloud.run(5000, load);
  expect(dead(bench)).toEqual([]);
  expect(bench.feeder.sender.poison.isWatching).toBe(true);
  const before = new Set(cloud.got).size;
  cloud.run(5000, load);
  expect(new Set(cloud.got).size - before).toBeGreaterThan(70);
});

test('handles a broker that acknowledges nothing of what it read together with the record', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, closes('close')).run(1000, load);
  cloud.isSlow = true;
  for (let i = 0; i < 5; i++) bench.source.push({ topic: `good${i}` });
  const id = bench.source.push({ topic: 'bad' });
  for (let i = 5; i < 9; i++) bench.source.push({ topic: `good${i}` });
  cloud.run(60000, load).run(500);
  expect(dead(bench)).toMatchObject([{ id }]);
  expect(bench.source.held).toBe(0);
  for (let i = 0; i < 9; i++) expect(cloud.got).toContain(`good${i}`);
});

test('buries only the unwanted records of a batch of records, also from the log', () => {
  for (const backlog of [false, true]) {
    const bench = make();
    const load = trickle(bench);
    const cloud = new Cloud(bench, closes(0x81));
    const id = bench.source.push({ records: records('a', 'bad1', 'b', 'c', 'bad2', 'd'), backlog });
    cloud.run(60000, load).run(500);
    expect(dead(bench)).toEqual([expect.objectContaining({ id, refused: [1, 4] })]);
    expect(cloud.got).toEqual(expect.arrayContaining(['a', 'b', 'c', 'd']));
  }
});

test('buries only the unwanted line of an envelope', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, ({ payload }) => (payload.includes('"d":5,') ? 'close' : 'take'));
  const line = (i) => `{"d":${i},"p":1}\n`;
  const lines = Array.from({ length: 8 }, (_, i) => line(i)).join('');
  const id = bench.source.push({ kind: 1, payload: lines, count: 8 });
  cloud.run(120000, load).run(500);
  expect(dead(bench)).toEqual([expect.objectContaining({ id, refused: [5] })]);
});

test('spends one connection on further records of an unwanted topic, and then none for ten minutes', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, closes('close'));
  bench.source.push({ topic: 'bad' });
  cloud.run(60000, load);
  const { connections } = cloud;
  bench.source.push({ topic: 'bad' });
  cloud.run(5000, load);
  expect(dead(bench)).toHaveLength(2);
  expect(cloud.connections).toBe(connections + 1);
  for (let i = 0; i < 50; i++) bench.source.push({ topic: 'bad' });
  cloud.run(1000, load);
  expect(dead(bench)).toHaveLength(52);
  expect(cloud.connections).toBe(connections + 1);
  bench.time += 600000;
  cloud.rule = () => 'take';
  bench.source.push({ topic: 'bad' });
  cloud.run(5000, load);
  expect(dead(bench)).toHaveLength(52);
  expect(cloud.got).toContain('bad');
});

test('does not delay others for long for a device that sends ten unwanted records a second', () => {
  const bench = make({ inflight: 32 });
  const load = trickle(bench);
  const cloud = new Cloud(bench, closes('close')).run(1000, load);
  let made = 0;
  let at = 0;
  const each = () => {
    load.each();
    if (bench.time < at) return;
    at = bench.time + 100;
    made++;
    bench.source.push({ topic: 'bad' });
  };
  cloud.run(120000, { each }).run(2000);
  expect(dead(bench)).toHaveLength(made);
  expect(cloud.connections).toBeLessThan(15);
  expect([...new Set(cloud.got)]).toEqual(load.expected());
});

test('buries twenty unwanted topics at once in the end', () => {
  const bench = make({ inflight: 32 });
  const load = trickle(bench);
  const cloud = new Cloud(bench, closes('close')).run(1000, load);
  for (let i = 0; i < 20; i++) bench.source.push({ topic: `bad${i}` });
  cloud.run(20 * 60000, load).run(500);
  expect(dead(bench)).toHaveLength(20);
  expect(cloud.connections).toBeLessThanOrEqual(1 + 20 * 9);
  expect([...new Set(cloud.got)].filter((topic) => !isBad(topic))).toEqual(load.expected());
});

test('never gives up the gateway’s own topic, only single packets', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, ({ topic }) => (topic === 'gw/g/normal' ? 'close' : 'take'));
  bench.source.push({ kind: 1, payload: '[1]' });
  cloud.run(60000, load);
  expect(dead(bench)).toHaveLength(1);
  cloud.rule = () => 'take';
  for (let i = 0; i < 10; i++) bench.source.push({ kind: 1, payload: '[1]' });
  cloud.run(1000, load);
  expect(dead(bench)).toHaveLength(1);
  expect(sends(cloud, 'gw/g/normal')).toBe(10);
});

test('retries a lone unwanted record indefinitely because nothing proves that the broker takes anything', () => {
  const bench = make();
  bench.source.push({ topic: 'bad' });
  const cloud = new Cloud(bench, closes(0x90)).run(60000);
  expect(cloud.connections).toBeGreaterThan(20);
  expect(bench.source.released).toEqual([]);
  expect(bench.problems[0]).toBe('SUSPECT');
  cloud.rule = () => 'take';
  cloud.run(2000);
  expect(bench.source.released).toEqual([{ id: 1 }]);
});

test('bounds the records put aside: beyond that it suspects nothing more, and loses nothing', () => {
  const bench = make({ inflight: 32 });
  const load = trickle(bench);
  const cloud = new Cloud(bench, closes('close')).run(1000, load);
  bench.source.push({ topic: 'bad' });
  cloud.run(3000, load);
  for (let i = 0; i < 2500; i++) bench.source.push({ topic: 'bad' });
  const { poison } = bench.feeder.sender;
  const each = () => expect(poison.accused.length + poison.alike.length).toBeLessThanOrEqual(1000);
  cloud.run(1000, { each });
  cloud.rule = () => 'take';
  cloud.run(20000, load).run(500);
  expect(dead(bench)).toEqual([]);
  expect(bench.source.held).toBe(0);
});

/** Networks that flap, with a broker that takes everything. @type {[string, (random: (n: number) => number) => (cloud: Cloud) => boolean][]} */
const networks = [
  ['each 0.3 s', () => (cloud) => cloud.bench.time - cloud.upAt > 300],
  ['each 1.02 s', () => (cloud) => cloud.bench.time - cloud.upAt > 1020],
  ['each 2.1 s', () => (cloud) => cloud.bench.time - cloud.upAt > 2100],
  ['each 4.05 s', () => (cloud) => cloud.bench.time - cloud.upAt > 4050],
  ['at random, each second', (random) => () => random(100) === 0],
  ['at random, each three seconds', (random) => () => random(300) === 0],
  ['at random, each ten seconds', (random) => () => random(1000) === 0]
];

test.each(networks)(
  'makes no dead letter on a flapping network: one that resets its connections %s',
  (_, makeNetwork) => {
    const random = dice();
    const isReset = makeNetwork(random);
    // PUBACKs take a while, so that a reset finds packets in flight.
    const bench = make();
    const waiting = [];
    const cloud = new Cloud(bench, (packet) => {
      waiting.push({ at: bench.time + 150, packet, connection: cloud.connections });
      return 'silence';
    });
    const load = trickle(bench);
    const each = () => {
      load.each();
      if (cloud.up && isReset(cloud)) cloud.close();
      while (waiting.length > 0 && waiting[0].at <= bench.time) {
        const { packet, connection } = waiting.shift();
        if (!cloud.up || connection !== cloud.connections) continue;
        cloud.got.push(packet.topic);
        bench.feeder.sender.acknowledge(packet.messageId, 0);
      }
    };
    cloud.run(300000, { each });
    expect(dead(bench)).toEqual([]);
    cloud.rule = () => 'take';
    cloud.close(false);
    cloud.run(60000);
    expect(dead(bench)).toEqual([]);
    expect(bench.source.held).toBe(0);
    expect(new Set(cloud.got)).toEqual(new Set(load.expected()));
  }
);
