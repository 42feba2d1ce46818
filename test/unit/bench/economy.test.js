'use strict';

// The parts of bench/economy.js that need no link.

const mqttPacket = require('mqtt-packet');
const { Frames, TYPE, connect, messageOf, publish, subscribe } = require('../../../bench/economy/frames');
const { casesOf, tableOf } = require('../../../bench/economy/links');
const { SHAPES, recordsOf } = require('../../../bench/economy/shapes');

/** Parses with mqtt.js's own parser. @param {Buffer} bytes */
function parsed(bytes) {
  const found = /** @type {any[]} */ ([]);
  const parser = mqttPacket.parser({ protocolVersion: 4 });
  parser.on('packet', (packet) => found.push(packet));
  parser.on('error', (error) => {
    throw error;
  });
  parser.parse(bytes);
  return found;
}

test('writes packets that mqtt.js reads', () => {
  const { bytes, idAt } = publish('d/ä', Buffer.alloc(300, 'x'));
  bytes.writeUInt16BE(513, idAt);
  const [first, second, third] = parsed(
    Buffer.concat([connect('device-1'), subscribe(['d/#', 'gw/#']), bytes])
  );
  expect(first).toMatchObject({ cmd: 'connect', clientId: 'device-1', clean: true, keepalive: 0 });
  expect(second.subscriptions).toMatchObject([
    { topic: 'd/#', qos: 0 },
    { topic: 'gw/#', qos: 0 }
  ]);
  expect(third).toMatchObject({ cmd: 'publish', topic: 'd/ä', qos: 1, messageId: 513 });
  expect(third.payload).toHaveLength(300);
});

test('cuts a stream into packets, whatever arrives together', () => {
  const messages = [0, 1, 127, 128, 20000].map(
    (bytes) => publish(`t/${bytes}`, Buffer.alloc(bytes, 7)).bytes
  );
  const qos0 = mqttPacket.generate({
    cmd: 'publish',
    topic: 'zero',
    payload: 'a',
    qos: 0,
    retain: true,
    dup: false
  });
  const stream = Buffer.concat([Buffer.from([0x20, 2, 0, 0]), ...messages, qos0]);
  for (const size of [1, 2, 3, 5, 7, 1000, stream.length]) {
    const frames = new Frames();
    const found = [];
    for (let at = 0; at < stream.length; at += size)
      found.push(...frames.push(stream.subarray(at, at + size)));
    expect(found.map(({ type }) => type)).toEqual([TYPE.CONNACK, ...Array(6).fill(TYPE.PUBLISH)]);
    expect(
      found
        .slice(1)
        .map((frame) => messageOf(frame))
        .map(({ topic, payload }) => [topic, payload.length])
    ).toEqual([...[0, 1, 127, 128, 20000].map((bytes) => [`t/${bytes}`, bytes]), ['zero', 1]]);
  }
  expect(() => new Frames().push(Buffer.alloc(6, 0xff))).toThrow(/more than four bytes/);
});

test('makes the same records from a seed, as large as the shapes say', () => {
  for (const [shape, least, most] of /** @type {[string, number, number][]} */ ([
    ['Shelly', 130, 210],
    ['ChirpStack', 550, 750],
    ['SenML', 80, 130]
  ])) {
    const sizes = recordsOf(shape, 200).map(([, payload]) => JSON.stringify(payload).length);
    const mean = sizes.reduce((a, b) => a + b, 0) / sizes.length;
    expect([shape, mean > least && mean < most]).toEqual([shape, true]);
    expect(recordsOf(shape, 5)).toEqual(recordsOf(shape, 5));
  }
});

const options = {
  shapes: Object.keys(SHAPES).slice(0, 1),
  ways: ['unbatched', 'bridge', 'zstd'],
  rates: [10, 1000],
  links: [2e6],
  seconds: 5,
  warmup: 2,
  most: 5000,
  env: {},
  out: '',
  gatewayCpus: undefined,
  harnessCpus: undefined
};

test('offers each rate to an open link in one run, and more than it carries to a full one', () => {
  const cases = casesOf(options);
  expect(cases.map(({ way, link, phases }) => [way, link, phases.length])).toEqual([
    ...options.ways.map((way) => [way, 0, 2]),
    ...options.ways.map((way) => [way, 2e6, 1])
  ]);
  const [plain, , zstd] = cases.slice(3).map(({ phases: [{ rate }] }) => rate);
  expect(plain).toBeGreaterThan(2e6 / 8 / 400);
  expect(zstd).toBe(5000);
});

test('compares each row with the bridge and with single records under the same load', () => {
  const row = { shape: 'Shelly', recordsPerMessage: 1, cpuMicros: NaN, used: NaN };
  const table = tableOf([
    { ...row, way: 'unbatched', link: 0, rate: 10, perSecond: 10, ipBytes: 400 },
    { ...row, way: 'bridge', link: 0, rate: 10, perSecond: 10, ipBytes: 420, cpuMicros: 50 },
    { ...row, way: 'bridge', link: 2e6, rate: 1300, perSecond: 600, ipBytes: 410, used: 0.97 },
    {
      ...row,
      way: 'zstd',
      link: 2e6,
      rate: 5000,
      perSecond: 3000,
      ipBytes: 60,
      used: 0.95,
      recordsPerMessage: 80.25
    }
  ]);
  const cells = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  expect(cells[3].slice(1, -1)).toEqual([
    'Shelly',
    'open',
    'bridge',
    '10',
    '10',
    '1.00',
    '1.0',
    '420',
    '1.05',
    '50.0',
    '–'
  ]);
  expect(cells[5].slice(1, -1)).toEqual([
    'Shelly',
    '2 Mbit/s',
    'zstd',
    '5000',
    '3000',
    '5.00',
    '80.3',
    '60',
    '–',
    '–',
    '95'
  ]);
});
