'use strict';

// A broker that closes the connection with any reason code of a DISCONNECT: no record blocks the others for good, a
// record that always has this effect becomes a dead letter, and no busy, restarting or metered broker convicts a record
// that it would take.

const { FeederBench: Bench } = require('../../../fixtures/uplink/feeder-bench');
const { Cloud, dice, seed, trickle } = require('../../../fixtures/uplink/feeder-cloud');

process.stdout.write(`seed ${seed}\n`);

const make = (options = {}) => new Bench({ protocolVersion: 5, inflight: 8, ...options });
const dead = (bench) => bench.source.released.filter((one) => one.refused);

const named = [0x81, 0x82, 0x87, 0x90, 0x94, 0x95, 0x99, 0x9a, 0x9b];
const unexplained = [0x00, 0x80, 0x83, 0x8f, 0x9e, 0xa1, 0xa2, 0xc0];
const state = [0x89, 0x8b, 0x8d, 0x8e, 0x93, 0x96, 0x97, 0x98, 0x9c, 0x9d, 0x9f, 0xa0];
const hex = (codes) => codes.map((code) => [`0x${code.toString(16)}`, code]);

test.each(hex([...named, ...unexplained]))(
  'buries a record on which the broker closes with DISCONNECT %s; the others arrive, in order',
  (_, code) => {
    const bench = make();
    const load = trickle(bench);
    const cloud = new Cloud(bench, ({ topic }) => (topic === 'bad' ? code : 'take')).run(1000, load);
    const id = bench.source.push({ topic: 'bad' });
    cloud.run(60000, load).run(500);
    expect(dead(bench)).toMatchObject([{ id, code: code || 0x80 }]);
    expect(cloud.connections).toBeLessThanOrEqual(1 + 9);
    expect([...new Set(cloud.got)]).toEqual(load.expected());
    expect(bench.source.held).toBe(0);
  }
);

test.each(hex(state))(
  'buries a record on which the broker closes with DISCONNECT %s after ten trials; the others arrive, in order',
  (_, code) => {
    const bench = make({ retryMs: 20 });
    const load = trickle(bench);
    const cloud = new Cloud(bench, ({ topic }) => (topic === 'bad' ? code : 'take')).run(1000, load);
    const id = bench.source.push({ topic: 'bad' });
    // The others wait for eight connections at most.
    cloud.run(2000, load);
    expect(new Set(cloud.got).size).toBeGreaterThan(30);
    cloud.run(30000, load).run(500);
    expect(dead(bench)).toMatchObject([{ id, code }]);
    expect(cloud.connections).toBe(1 + 8 + 10);
    expect([...new Set(cloud.got)]).toEqual(load.expected());
    expect(bench.source.held).toBe(0);
    expect(bench.problems).toEqual(code === 0x8e ? ['UNWANTED'] : ['SUSPECT', 'UNWANTED']);
  }
);

test.each(hex([0x80, 0x97]))(
  'buries a large record on which the broker closes with DISCONNECT %s while all others are small',
  (_, code) => {
    const bench = make({ retryMs: 20 });
    const load = trickle(bench);
    const cloud = new Cloud(bench, ({ length }) => (length > 2000 ? code : 'take')).run(1000, load);
    const id = bench.source.push({ topic: 'large', payload: 'x'.repeat(4000) });
    cloud.run(120000, load).run(500);
    expect(dead(bench)).toMatchObject([{ id }]);
    expect([...new Set(cloud.got)]).toEqual(load.expected());
    expect(bench.source.held).toBe(0);
  }
);

test('learns nothing about other records from a conviction for which the broker named its own state', () => {
  const bench = make({ retryMs: 20 });
  const load = trickle(bench);
  const cloud = new Cloud(bench, ({ topic }) => (topic === 'bad' ? 0x97 : 'take')).run(1000, load);
  bench.source.push({ topic: 'bad' });
  cloud.run(60000, load);
  expect(dead(bench)).toHaveLength(1);
  cloud.rule = () => 'take';
  bench.source.push({ topic: 'bad' });
  cloud.run(100, load);
  expect(cloud.got).toContain('bad');
});

/**
 * Brokers that take every record some time. Each returns the reason code with which it closes, or 'take'.
 * @type {[string, (random: (n: number) => number) => (packet: any, cloud: Cloud) => 'take' | number][]}
 */
const brokers = [
  ['is shut down each 1.02 s', () => (_, cloud) => (upFor(cloud) > 1020 ? 0x8b : 'take')],
  ['is shut down each 2.05 s', () => (_, cloud) => (upFor(cloud) > 2050 ? 0x8b : 'take')],
  ['is shut down at random', (random) => () => (random(200) === 0 ? 0x8b : 'take')],
  [
    'is down for three seconds in four',
    () =>
      (_, { bench }) =>
        bench.time % 4000 < 1000 ? 'take' : 0x89
  ],
  ['takes three packets a connection', () => (_, cloud) => (cloud.read >= 3 ? 0x97 : 'take')],
  ['takes one packet a connection', () => (_, cloud) => (cloud.read >= 1 ? 0x96 : 'take')],
  ['takes 4,000 bytes a connection', () => perConnection(4000, 0x97)],
  ['takes 10 packets a second', () => perPeriod({ ms: 1000, packets: 10 }, 0x96)],
  ['takes 30 packets a second', () => perPeriod({ ms: 1000, packets: 30 }, 0x96)],
  ['takes 4,000 bytes a second', () => perPeriod({ ms: 1000, bytes: 4000 }, 0x97)],
  ['takes 20,000 bytes in ten seconds', () => perPeriod({ ms: 10000, bytes: 20000 }, 0x97)],
  ['takes 120,000 bytes a minute', () => perPeriod({ ms: 60000, bytes: 120000 }, 0x97)],
  ['closes one packet in ten', (random) => () => (random(10) === 0 ? 0x93 : 'take')]
];

const upFor = (cloud) => cloud.bench.time - cloud.upAt;

/** @param {number} most @param {number} code */
function perConnection(most, code) {
  let connection = 0;
  let bytes = 0;
  return (packet, cloud) => {
    if (connection !== cloud.connections) bytes = 0;
    connection = cloud.connections;
    bytes += packet.length;
    return bytes > most ? code : 'take';
  };
}

/** @param {{ ms: number, packets?: number, bytes?: number }} quota @param {number} code */
function perPeriod({ ms, packets: mostPackets = Infinity, bytes: mostBytes = Infinity }, code) {
  let period = -1;
  let packets = 0;
  let bytes = 0;
  return ({ length }, { bench }) => {
    const now = Math.floor(bench.time / ms);
    if (now !== period) packets = bytes = 0;
    period = now;
    if (packets + 1 > mostPackets || bytes + length > mostBytes) return code;
    packets++;
    bytes += length;
    return 'take';
  };
}

test.each(brokers)('makes no dead letter of records that a broker would take: one that %s', (_name, rule) => {
  const random = dice();
  const bench = make({ retryMs: 100 });
  const cloud = new Cloud(bench, rule(random));
  const load = trickle(bench);
  let made = 0;
  const each = () => {
    load.each();
    // Some are larger than all that were accepted.
    if (random(500) === 0)
      bench.source.push({ topic: `large${made++}`, payload: 'x'.repeat(500 + random(2500)) });
  };
  cloud.run(240000, { each });
  expect(dead(bench)).toEqual([]);
  cloud.rule = () => 'take';
  cloud.close(false);
  cloud.run(60000);
  expect(dead(bench)).toEqual([]);
  expect(bench.source.held).toBe(0);
  const arrived = new Set(cloud.got);
  for (const topic of [...load.expected(), ...Array.from({ length: made }, (_each, i) => `large${i}`)]) {
    expect(arrived.has(topic)).toBe(true);
  }
});
