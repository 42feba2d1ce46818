'use strict';
// Data of a Sparkplug edge node, from the PUBLISH writer to the unbatch node. ROUNDS=10000 is the long form.

const {
  GROUP,
  NODE,
  checkSparkplug,
  edgeNodeWriter,
  packetsIn,
  pieces,
  sendPiece
} = require('../fixtures/gateway/sparkplug-check');
const { readPayload } = require('../../nodes/lib/base/sparkplug-payload');
const { SparkplugMessages } = require('../../nodes/lib/unbatch/sparkplug-messages');

const META = Float64Array.of(1, 3, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 46656, 7, 0, 0);
const SINGLE = 0;
const line = (/** @type {object} */ fields) =>
  Buffer.from(
    `${JSON.stringify({ d: 'm-7', t: 'hall', ts: 1763712000123, s: 41, c: 3, p: 21.5, ...fields })}\n`
  );
const whole = (/** @type {Buffer} */ bytes) => ({ from: 0, to: bytes.length, number: -1 });

const seed = Number(process.env.SEED) || Date.now() % 2 ** 31;
const rounds = Number(process.env.ROUNDS) || 300;
test(`an edge node carries ${rounds} random envelopes to the unbatch node (SEED=${seed})`, () => {
  checkSparkplug(seed, rounds);
}, 600000);

/** @param {import('../fixtures/gateway/sparkplug-check').Packet[]} packets */
const read = (packets) => packets.map(({ topic, payload }) => ({ topic, ...readPayload(payload) }));

test('births name the metrics, and data has their aliases', () => {
  const writer = edgeNodeWriter(true);
  const bytes = Buffer.concat([
    line({ p: { t: 21, inner: { on: true }, tags: [1, 2] } }),
    line({ s: 42, ts: 1763712000133, p: { t: 21.5, inner: { on: false }, tags: [] } })
  ]);
  const packets = sendPiece(writer, bytes, META, whole(bytes), true);
  const [node, device, data] = read(packets);
  expect([node.topic, device.topic, data.topic]).toEqual([
    `spBv1.0/${GROUP}/NBIRTH/${NODE}`,
    `spBv1.0/${GROUP}/DBIRTH/${NODE}/m-7`,
    `spBv1.0/${GROUP}/DDATA/${NODE}/m-7`
  ]);
  expect([node.seq, device.seq, data.seq]).toEqual([0, 1, 2]);
  expect(node.metrics).toMatchObject([
    { name: 'bdSeq', datatype: 4, value: 0 },
    { name: 'Node Control/Rebirth', datatype: 11, value: false }
  ]);
  // 21 and 21.5 are of one type; an array is its JSON text.
  expect(device.metrics).toMatchObject([
    { name: 'hall/t', datatype: 10, value: 21.5 },
    { name: 'hall/inner/on', datatype: 11, value: false },
    { name: 'hall/tags', datatype: 12, value: '[]' },
    { name: 'Gateway/Record', datatype: 8 }
  ]);
  const aliases = new Map(device.metrics.map(({ alias, name }) => [alias, name]));
  expect(data.metrics.every(({ name, datatype }) => name === '' && datatype === 0)).toBe(true);
  expect(data.metrics.map(({ alias, timestamp, value }) => [aliases.get(alias), timestamp, value])).toEqual([
    ['Gateway/Record', 1763712000123, expect.any(Number)],
    ['hall/t', 1763712000123, 21],
    ['hall/inner/on', 1763712000123, true],
    ['hall/tags', 1763712000123, '[1,2]'],
    ['Gateway/Record', 1763712000133, 42 * 16 + 3],
    ['hall/t', 1763712000133, 21.5],
    ['hall/inner/on', 1763712000133, false],
    ['hall/tags', 1763712000133, '[]']
  ]);
  expect(packets[2].properties.userProperties).toEqual({ 'seganet-key': 'gw/1000/3/7' });
  expect(data.uuid).toBe('');
});

test('a device is born again when a metric or a type is new, and only then', () => {
  const writer = edgeNodeWriter();
  const types = (/** @type {unknown} */ p) => {
    const bytes = line({ p });
    return read(sendPiece(writer, bytes, META, whole(bytes)))
      .slice(0, -1)
      .map(({ topic, metrics }) => [topic.split('/')[2], metrics.map(({ datatype }) => datatype)]);
  };
  expect(types({ a: 1 })).toEqual([
    ['NBIRTH', [4, 11]],
    ['DBIRTH', [4, 8]]
  ]);
  expect(types({ a: -7 })).toEqual([]);
  expect(types({ a: 1.5 })).toEqual([['DBIRTH', [10, 8]]]);
  expect(types({ a: 2 })).toEqual([]);
  expect(types({ a: 2, b: null })).toEqual([['DBIRTH', [10, 8, 12]]]);
  expect(types({ a: 2, b: true })).toEqual([['DBIRTH', [10, 8, 11]]]);
  expect(types({ a: 'on' })).toEqual([['DBIRTH', [12, 8, 11]]]);
  expect(types({ a: { x: 'on' } })).toEqual([['DBIRTH', [12, 8, 11, 12]]]);
});

test('single records, bytes and records of the log keep what they are', () => {
  const writer = edgeNodeWriter();
  const messages = new SparkplugMessages();
  const records = [
    ['on', 'ON'],
    ['bytes', Buffer.from([0xff, 0])],
    ['number', '21.5']
  ].map(([topic, payload]) => {
    const stamp = Buffer.alloc(12);
    stamp.writeBigInt64LE(1763712000123n);
    stamp.writeUInt32LE(41, 8);
    const bytes = Buffer.concat([Buffer.from('cam-2'), Buffer.from(topic), Buffer.from(payload), stamp]);
    const at = 5 + topic.length;
    // Flags: a stamp follows the payload. The batch was read from the log.
    const meta = Float64Array.of(1, 1, 1, 1, SINGLE, 16, 0, 0, 0, 0, topic.length, 5, 46656, 7, 1, 0);
    const piece = { from: at, to: bytes.length, number: -1 };
    return sendPiece(writer, bytes, meta, piece).map((packet) => messages.open(/** @type {any} */ (packet)));
  });
  const opened = /** @type {any[]} */ (records.flat().filter((each) => each !== 'consumed'));
  expect(opened.map(({ historical, key, envelope }) => [historical, key.key, envelope.records])).toEqual(
    [
      { topic: 'on', payload: Buffer.from('ON') },
      { topic: 'bytes', payload: Buffer.from([0xff, 0]) },
      { topic: 'number', payload: 21.5 }
    ].map((record) => [
      true,
      'gw/1000/1/7',
      [{ index: 0, deviceId: 'cam-2', priority: 1, ts: 1763712000123, seq: 41, ...record }]
    ])
  );
});

test('a device with too many metrics is sent as lines, and an envelope of a flow as bytes', () => {
  const writer = edgeNodeWriter();
  const messages = new SparkplugMessages();
  const readBack = (/** @type {Buffer} */ bytes) =>
    sendPiece(writer, bytes, META, whole(bytes))
      .map((packet) => messages.open(/** @type {any} */ (packet)))
      .flatMap((each) => (each === 'consumed' ? [] : (each?.envelope?.records ?? [])));
  for (let i = 0; i < 4; i++) {
    const p = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`m${i}-${n}`, n]));
    expect(readBack(line({ p }))).toMatchObject([{ deviceId: 'm-7', topic: 'hall', seq: 41, payload: p }]);
  }
  const topic = 'x'.repeat(600);
  expect(readBack(line({ t: topic, p: 1 }))).toMatchObject([{ topic, payload: 1 }]);
  const own = Buffer.from('{"temp":21.5}\n{"temp":22}\n');
  expect(readBack(own)).toMatchObject([{ deviceId: 'flow', topic: '', priority: 3, payload: own }]);
});

test('all births come again in a new session and when a host asks, and sequence numbers begin at 0', () => {
  const writer = edgeNodeWriter();
  const bytes = Buffer.concat([line({ d: 'a/b' }), line({ d: 'c' })]);
  for (const piece of pieces(bytes)) sendPiece(writer, bytes, META, piece);
  const births = () => {
    const list = [];
    for (let packet = writer.nextBirth(); packet; packet = writer.nextBirth()) list.push(packet);
    return read(packetsIn(Buffer.concat(list), false)).map(({ topic, seq, metrics }) => [
      topic.replace(`spBv1.0/${GROUP}/`, ''),
      seq,
      metrics[0].value
    ]);
  };
  expect(births()).toEqual([]);
  writer.rebirth();
  const same = [
    [`DBIRTH/${NODE}/c`, 1, 21.5],
    [`DBIRTH/${NODE}/a%2Fb`, 2, 21.5]
  ];
  expect(births()).toEqual([[`NBIRTH/${NODE}`, 0, 0], ...same]);
  expect(births()).toEqual([]);
  writer.beginEdgeNode(255, false, 0);
  expect(births()).toEqual([[`NBIRTH/${NODE}`, 0, 255], ...same]);
  const only = line({ d: 'c' });
  expect(sendPiece(writer, only, META, whole(only)).map(({ topic }) => topic)).toEqual([
    `spBv1.0/${GROUP}/DDATA/${NODE}/c`
  ]);
  expect(readPayload(writer.death(255)).metrics).toMatchObject([{ name: 'bdSeq', datatype: 4, value: 255 }]);
});

test('names that are no level of a topic are refused', () => {
  const writer = edgeNodeWriter();
  for (const name of ['', 'a/b', '+', '#', 'a\0', 'x'.repeat(601)])
    expect(() => writer.setEdgeNode('g', name)).toThrow(/group and node must have 1 to 600 bytes/);
});

test('without an edge node, lines stay NDJSON', () => {
  const { writerOf, encode } = require('../fixtures/gateway/format-check');
  const bytes = line({});
  expect(encode(writerOf('sparkplug'), bytes).toString()).toBe(
    bytes.toString().replace('{', '{"k":"gw/1000/3/7",')
  );
  expect(() => writerOf('sparkplug').nextBirth()).toThrow(/there is no edge node/);
});
