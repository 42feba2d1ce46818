'use strict';
// PublishWriter as JavaScript uses it. Its bytes are tested in native/test/uplink/publish_writer_test.cc.

const mqttPacket = require('mqtt-packet');
const { PublishWriter, Flag } = require('../../native');

const CLASSES = 9;
const topicOf = (/** @type {any[]} */ ...parts) => Array.from({ length: CLASSES }, () => parts);
const STAGE = {
  id: 7,
  topic: topicOf(Buffer.from('e')),
  recordTopic: topicOf('topic'),
  qos: /** @type {0 | 1} */ (1),
  keyRaw: Buffer.from('gw'),
  keyJson: Buffer.from('gw'),
  history: /** @type {const} */ ('property'),
  historySuffix: Buffer.from('/history')
};

/** @param {object} [stage] changes @param {boolean} [isV5] */
function writerOf(stage, isV5 = true) {
  const writer = new PublishWriter();
  writer.setStages([{ ...STAGE, ...stage }]);
  writer.setLink(isV5, true);
  return writer;
}

/** The head of a batch, see take() of UplinkSource. */
function metaOf({
  recordClass = 3,
  kind = 0,
  flags = 0,
  epoch = 46656,
  sequence = 1,
  backlog = 0,
  ...lengths
}) {
  const { topic = 0, device = 0 } = /** @type {any} */ (lengths);
  return Float64Array.of(
    ...[1, recordClass, 1, 7, kind, flags, 0, 0, 0, 0, topic, device, epoch, sequence, backlog, 0]
  );
}

/** Returns the prepared packet as mqtt.js reads it. */
function read(writer, size, id = 1, dup = false) {
  const out = Buffer.alloc(size + 5);
  expect(writer.write(out, 5, id, dup)).toBe(size + 5);
  /** @type {any} */
  let packet;
  const parser = mqttPacket.parser({ protocolVersion: 5 });
  parser.on('packet', (parsed) => (packet = parsed));
  parser.on('error', (error) => {
    throw error;
  });
  expect(parser.parse(out.subarray(5))).toBe(0);
  return packet;
}

test.each([
  [1, 1, 0],
  [1763712000123 * 1024 + 77, 4, 9],
  [2 ** 53 - 1, 2, 2 ** 53 - 1],
  [0, 3, 1000]
])('writes the key of epoch %d, class %d, sequence %d, and of its parts', (epoch, recordClass, sequence) => {
  const writer = writerOf();
  for (const part of [-1, 0, 9, 10, 12345]) {
    const size = writer.prepare(
      7,
      Buffer.from('{}'),
      metaOf({ epoch, recordClass, sequence, kind: 1 }),
      0,
      2,
      part
    );
    const key = `gw/${epoch.toString(36)}/${recordClass}/${sequence}${part < 0 ? '' : `.${part}`}`;
    const { payload, properties } = read(writer, size);
    expect(properties.userProperties['seganet-key']).toBe(key);
    expect(payload.toString()).toBe(`{"k":"${key}"}`);
  }
});

test('writes one record of a batch of records', () => {
  const entry = (flags, device, topic, payload) => {
    const head = Buffer.alloc(8);
    head[0] = flags;
    head[1] = device.length - 1;
    head.writeUInt16LE(topic.length, 2);
    head.writeUInt32LE(payload.length, 4);
    return Buffer.concat([head, Buffer.from(device + topic + payload)]);
  };
  const entries = [entry(0, 'a', 'x', '1'), entry(Flag.RETAIN, 'meter', 'hall/1', '{"v":2}')];
  const bytes = Buffer.concat(entries);
  const writer = writerOf();
  const size = writer.prepare(7, bytes, metaOf({ kind: 2 }), entries[0].length, bytes.length, 1);
  expect(read(writer, size, 77, true)).toMatchObject({
    topic: 'hall/1',
    payload: Buffer.from('{"v":2}'),
    retain: true,
    dup: true,
    qos: 1,
    messageId: 77,
    properties: { userProperties: { 'seganet-key': 'gw/1000/3/1.1' } }
  });
  for (const [from, to] of [
    [0, entries[0].length - 1],
    [1, bytes.length],
    [0, bytes.length],
    [0, 3]
  ])
    expect(() => writer.prepare(7, bytes, metaOf({ kind: 2 }), from, to, 0)).toThrow(/must/);
});

test('marks backlog by a property or by a suffix of its topic, and live batches not', () => {
  const bytes = Buffer.from('{}');
  const prepared = (history, backlog) => {
    const writer = writerOf({ history });
    return read(writer, writer.prepare(7, bytes, metaOf({ kind: 1, backlog }), 0, 2, -1));
  };
  expect(prepared('property', 1).properties.userProperties).toMatchObject({ 'seganet-history': '1' });
  expect(prepared('property', 0).properties.userProperties).not.toHaveProperty('seganet-history');
  expect(prepared('none', 1).properties.userProperties).not.toHaveProperty('seganet-history');
  expect(prepared('suffix', 1).topic).toBe('e/history');
  expect(prepared('suffix', 0).topic).toBe('e');
});

test('writes QoS 0 without an identifier and DUP', () => {
  const writer = writerOf({ qos: 0 });
  const packet = read(writer, writer.prepare(7, Buffer.from('{}'), metaOf({ kind: 1 }), 0, 2, -1), 5, true);
  expect(packet).toMatchObject({ qos: 0, dup: false });
  expect(packet.messageId).toBeUndefined();
});

test('gives the topic as text, and as a key if it contains something of the device', () => {
  const bytes = Buffer.concat([Buffer.from('dé'), Buffer.from([0x61, 0xff]), Buffer.from('p')]);
  const meta = metaOf({ device: 3, topic: 2 });
  const writer = writerOf({ recordTopic: topicOf(Buffer.from('r/'), 'device', 'topic') });
  expect(writer.prepare(7, bytes, meta, 5, 6, -1)).toBeGreaterThan(0);
  expect(writer.topic()).toBe('r/déa\ufffd');
  expect(writer.deviceTopic()).toBe(Buffer.from('r/dé').toString('latin1') + 'a\xff');
  writer.prepare(7, Buffer.from('{}'), metaOf({ kind: 1 }), 0, 2, -1);
  expect([writer.topic(), writer.deviceTopic()]).toEqual(['e', null]);
});

test('has no packet for a topic that MQTT cannot express, also after a good one', () => {
  const writer = writerOf();
  expect(writer.prepare(7, Buffer.from('dtp'), metaOf({ device: 1, topic: 1 }), 2, 3, -1)).toBeGreaterThan(0);
  expect(writer.prepare(7, Buffer.from('d#p'), metaOf({ device: 1, topic: 1 }), 2, 3, -1)).toBe(0);
  expect(() => writer.write(Buffer.alloc(100), 0, 1, false)).toThrow(/prepared packet/);
  expect([writer.topic(), writer.deviceTopic()]).toEqual(['', null]);
});

test('refuses what is not a batch, and never reads or writes outside the buffers', () => {
  const writer = writerOf();
  const bytes = Buffer.from('dtp');
  const good = metaOf({ device: 1, topic: 1 });
  /** @type {any[][]} */
  const wrong = [
    [8, bytes, good, 2, 3, -1],
    [7, 'dtp', good, 2, 3, -1],
    [7, bytes, new Float64Array(15), 2, 3, -1],
    [7, bytes, [], 2, 3, -1],
    [7, bytes, good, 3, 2, -1],
    [7, bytes, good, 2, 4, -1],
    [7, bytes, good, -1, 3, -1],
    [7, bytes, good, 2, 3, -2],
    [7, bytes, good, 2, 3, 0.5],
    [7, bytes, good, 1, 3, -1],
    ...[0, 9, NaN, -1].map((recordClass) => [
      7,
      bytes,
      metaOf({ recordClass, device: 1, topic: 1 }),
      2,
      3,
      -1
    ]),
    ...[-1, NaN, 2 ** 60].map((epoch) => [7, bytes, metaOf({ epoch, device: 1, topic: 1 }), 2, 3, -1]),
    ...[-1, NaN, 1e300].map((device) => [7, bytes, metaOf({ device, topic: 1 }), 2, 3, -1])
  ];
  for (const args of wrong) expect(() => writer.prepare(...args)).toThrow(/must/);
  const size = writer.prepare(7, bytes, good, 2, 3, -1);
  expect(() => writer.write(Buffer.alloc(size), 1, 1, false)).toThrow(/must/);
  expect(() => writer.write(Buffer.alloc(size), 0, 65536, false)).toThrow(/must/);
  expect(writer.write(Buffer.alloc(size), 0, 65535, false)).toBe(size);
  // A copy is prepared: what happens to the batch's memory does not matter.
  bytes.fill(0);
  expect(read(writer, size).topic).toBe('t');
  expect(() => writer.setStages([{ ...STAGE, history: 'both' }])).toThrow(/history must be/);
  expect(() => writer.setStages([{ ...STAGE, qos: 2 }])).toThrow(/qos/);
  writer.setStages([]);
  expect(() => writer.write(Buffer.alloc(size), 0, 1, false)).toThrow(/prepared packet/);
});
