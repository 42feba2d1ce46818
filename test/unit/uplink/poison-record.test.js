'use strict';

// A broker that closes the connection on a packet that is too large for it, without a reason (MQTT 3.1.1). Packets that
// the closing proves to be too large are cut or become dead letters; nothing else ever does, whatever the broker and
// the network do.

const { FeederBench: Bench, records } = require('../../fixtures/uplink/feeder-bench');
const { Cloud, dice, seed, trickle } = require('../../fixtures/uplink/feeder-cloud');

const limit = (bytes) => (packet) => (packet.length > bytes ? 'close' : 'take');
const make = (options = {}) => new Bench({ protocolVersion: 4, inflight: 8, ...options });

test('makes one record that is too large a dead letter after five closed connections; the others arrive, in order', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, limit(1000)).run(1000, load);
  const id = bench.source.push({ topic: 'large', payload: 'x'.repeat(2000) });
  cloud.run(12000, load).run(500);
  expect(bench.source.released.filter((one) => one.refused)).toEqual([
    { id, refused: [0], code: 149, reason: expect.stringMatching(/has 20\d\d bytes.*closes the connection/) }
  ]);
  expect(cloud.connections).toBe(1 + 5);
  expect([...new Set(cloud.got)]).toEqual(load.expected());
  expect(bench.feeder.sender).toMatchObject({ failed: 1, deadLetters: 1 });
  expect(bench.source.held).toBe(0);
});

test('spends one more connection on records of that size, then none for ten minutes; smaller ones cost none', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, limit(1000));
  bench.source.push({ topic: 'large', payload: 'x'.repeat(2000) });
  cloud.run(15000, load);
  const { connections } = cloud;
  bench.source.push({ topic: 'larger', payload: 'x'.repeat(3000) });
  cloud.run(3000, load);
  expect(bench.source.released.filter((one) => one.refused)).toHaveLength(2);
  expect(cloud.connections).toBe(connections + 1);
  bench.source.push({ topic: 'largest', payload: 'x'.repeat(4000) });
  bench.source.push({ topic: 'fits', payload: 'x'.repeat(900) });
  cloud.run(1000, load);
  expect(bench.source.released.filter((one) => one.refused)).toHaveLength(3);
  expect(cloud.connections).toBe(connections + 1);
  expect(cloud.got).toContain('fits');
  bench.time += 600000;
  bench.source.push({ topic: 'later', payload: 'x'.repeat(2500) });
  cloud.run(3000, load);
  expect(bench.source.released.filter((one) => one.refused)).toHaveLength(4);
  expect(cloud.connections).toBe(connections + 2);
});

test('notices a limit that was raised after a proof after ten minutes', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, limit(1000));
  bench.source.push({ topic: 'large', payload: 'x'.repeat(2000) });
  cloud.run(15000, load);
  cloud.rule = () => 'take';
  bench.time += 600000;
  for (let i = 0; i < 3; i++) bench.source.push({ topic: `now ${i}`, payload: 'x'.repeat(2000 + i) });
  cloud.run(3000, load).run(100);
  expect(bench.source.released.filter((one) => one.refused)).toHaveLength(1);
  expect(cloud.got).toEqual(expect.arrayContaining(['now 0', 'now 1', 'now 2']));
});

test('makes many of one size dead letters in the end, and sends the others meanwhile', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, limit(1000));
  for (let i = 0; i < 200; i++) bench.source.push({ topic: `large${i}`, payload: 'x'.repeat(2000) });
  cloud.run(60000, load).run(500);
  expect(bench.source.released.filter((one) => one.refused)).toHaveLength(200);
  expect([...new Set(cloud.got)]).toEqual(load.expected());
  expect(bench.source.held).toBe(0);
});

test('cuts a large envelope, and all of it arrives', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, limit(1000));
  const line = (i) => `{"d":${i},"p":"${'x'.repeat(100)}"}\n`;
  bench.source.push({ kind: 1, payload: Array.from({ length: 32 }, (_, i) => line(i)).join('') });
  cloud.run(60000, load).run(500);
  expect(bench.source.released.filter((one) => one.refused)).toEqual([]);
  expect(bench.source.held).toBe(0);
  expect(cloud.got.filter((topic) => topic === 'gw/g/normal')).toHaveLength(4);
});

test('buries only the large record of a batch of records', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, limit(1000));
  const batch = records('a', 'b', 'c');
  batch[1].payload = 'x'.repeat(5000);
  const id = bench.source.push({ records: batch });
  cloud.run(20000, load).run(500);
  expect(bench.source.released.filter((one) => one.refused)).toEqual([
    expect.objectContaining({ id, refused: [1] })
  ]);
  expect(cloud.got).toEqual(expect.arrayContaining(['a', 'c']));
});

test('retries a lone large record indefinitely because nothing proves that the broker takes anything', () => {
  const bench = make();
  bench.source.push({ topic: 'large', payload: 'x'.repeat(2000) });
  const cloud = new Cloud(bench, limit(1000)).run(60000);
  expect(cloud.connections).toBeGreaterThan(40);
  expect(bench.source.released).toEqual([]);
  cloud.rule = () => 'take';
  cloud.run(1000);
  expect(bench.source.released).toEqual([{ id: 1 }]);
});

test('continues normally after a large record is taken in the end, with the records put aside', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, limit(1000));
  for (let i = 0; i < 3; i++) bench.source.push({ topic: `large${i}`, payload: 'x'.repeat(2000) });
  cloud.run(3000, load);
  expect(bench.feeder.sender.poison.strikes).toBeGreaterThan(0);
  cloud.rule = () => 'take';
  cloud.run(20000, load).run(500);
  expect(bench.source.released.filter((one) => one.refused)).toEqual([]);
  expect(bench.source.held).toBe(0);
  expect(bench.feeder.sender.poison.largestTaken).toBeGreaterThan(2000);
});

test('handles a broker whose limit is lowered later', () => {
  const bench = make();
  const load = trickle(bench);
  const cloud = new Cloud(bench, limit(5000));
  bench.source.push({ topic: 'taken', payload: 'x'.repeat(4000) });
  cloud.run(1000, load);
  cloud.rule = limit(1000);
  bench.source.push({ topic: 'large', payload: 'x'.repeat(2000) });
  cloud.run(60000, load).run(500);
  expect(bench.source.released.filter((one) => one.refused)).toHaveLength(1);
  expect(bench.source.held).toBe(0);
});

test('suspects no size with a broker that announces its limit', () => {
  const bench = make({ protocolVersion: 5, maximumPacketSize: 100000 });
  const cloud = new Cloud(bench, ({ topic }) => (topic === 'bad' ? 'close' : 'take'));
  const load = trickle(bench);
  bench.source.push({ topic: 'bad', payload: 'x'.repeat(2000) });
  cloud.run(3000, load);
  bench.source.push({ topic: 'larger', payload: 'x'.repeat(3000) });
  cloud.run(500, load);
  expect(cloud.got).toContain('larger');
  expect(bench.feeder.sender.poison.limit).toBe(Infinity);
});

process.stdout.write(`seed ${seed}\n`);

/**
 * Outages, with some records larger than all that were accepted.
 * @type {[string, (random: (n: number) => number) => any][]}
 */
const outages = [
  ['closes on every PUBLISH', () => () => 'close'],
  ['closes each connection after three packets', () => (_, cloud) => (cloud.read >= 3 ? 'close' : 'take')],
  ['closes each connection after one packet', () => (_, cloud) => (cloud.read >= 1 ? 'close' : 'take')],
  ['closes one packet in three', (random) => () => (random(3) === 0 ? 'close' : 'take')],
  ['closes one packet in thirty', (random) => () => (random(30) === 0 ? 'close' : 'take')],
  ['takes nothing and answers nothing', () => () => 'silence'],
  [
    'closes each connection after 1.5 s',
    () => (_, cloud) => (cloud.bench.time - cloud.upAt > 1500 ? 'close' : 'take')
  ],
  [
    'closes each connection after 0.2 s',
    () => (_, cloud) => (cloud.bench.time - cloud.upAt > 200 ? 'close' : 'take')
  ],
  ['is up for a second in four', () => (_, cloud) => (cloud.bench.time % 4000 < 1000 ? 'take' : 'close')]
];

test.each(outages)('makes no dead letter in an outage: a broker that %s', (name, rule) => {
  const random = dice();
  const bench = make();
  const cloud = new Cloud(bench, rule(random));
  const load = trickle(bench);
  let made = 0;
  const each = () => {
    load.each();
    if (random(100) === 0)
      bench.source.push({ topic: `large${made++}`, payload: 'x'.repeat(600 + 200 * made) });
    if (random(400) === 0) cloud.close(random(2) === 0);
  };
  cloud.run(120000, { each });
  expect(bench.source.released.filter((one) => one.refused)).toEqual([]);
  cloud.rule = () => 'take';
  cloud.close(false);
  cloud.run(60000);
  expect(bench.source.released.filter((one) => one.refused)).toEqual([]);
  expect(bench.source.held).toBe(0);
  const arrived = new Set(cloud.got);
  for (const topic of [...load.expected(), ...Array.from({ length: made }, (_, i) => `large${i}`)]) {
    expect(arrived.has(topic)).toBe(true);
  }
});
