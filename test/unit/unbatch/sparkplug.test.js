'use strict';
// Messages of Sparkplug as network input. What the gateway sends is tested in test/native/sparkplug.test.js.

const { readPayload } = require('../../../nodes/lib/base/sparkplug-payload');
const { deviceOfLevel, parseSparkplugTopic } = require('../../../nodes/lib/base/sparkplug-topic');
const { SparkplugBirths } = require('../../../nodes/lib/unbatch/formats/sparkplug');
const { SparkplugMessages } = require('../../../nodes/lib/unbatch/sparkplug-messages');
const {
  BIRTH,
  RUN,
  TS,
  birth,
  born,
  bytes,
  double,
  metric,
  number,
  record,
  value
} = require('../../fixtures/unbatch/sparkplug-bytes');
const { seeded } = require('../../fixtures/random');

const data = (/** @type {Buffer[]} */ ...parts) => ({
  topic: 'spBv1.0/g/DDATA/e/m%2F7',
  payload: Buffer.concat(parts)
});
const learned = () => {
  const messages = new SparkplugMessages();
  expect(messages.open(BIRTH)).toBe('consumed');
  return messages;
};
const opened = (
  /** @type {SparkplugMessages} */ messages,
  /** @type {{ topic: string, payload: Buffer }} */ msg
) => /** @type {any} */ (messages.open(msg));

test('values become the payload at their paths', () => {
  const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const message = data(
    ...[
      record(),
      value(2, double(13, 21.5)),
      value(3, bytes(15, '[1,{}]')),
      value(8, bytes(15, `${trace} a=b c, d=e`))
    ],
    ...[record(0, 42), value(2, number(7, 1)), record(0, 43), value(4, number(14, 1))],
    ...[record(0, 44), value(5, bytes(16, 'ON')), number(3, 9), bytes(4, 'gw/1000/3/7')]
  );
  const { key, historical, envelope } = opened(learned(), message);
  expect(key).toMatchObject({ gateway: 'gw', sequence: 7 });
  expect(historical).toBe(false);
  expect(envelope.faults).toEqual([]);
  const common = { deviceId: 'm/7', priority: 3, ts: TS };
  expect(envelope.records).toEqual([
    {
      index: 0,
      topic: 'hall',
      seq: 41,
      payload: { a: { b: 21.5 }, list: [1, {}] },
      traceparent: trace,
      tracestate: 'a=b c, d=e',
      ...common
    },
    { index: 1, topic: 'hall', seq: 42, payload: { a: { b: null } }, ...common },
    { index: 2, topic: 'hall', seq: 43, payload: true, ...common },
    { index: 3, topic: 'raw', seq: 44, payload: Buffer.from('ON'), ...common }
  ]);
});

test('a level stands for a device id', () => {
  expect(deviceOfLevel('a%2Fb%2B%23%25%00%252F')).toBe('a/b+#%\0%2F');
  expect(deviceOfLevel('%01%C2%85ä%EF%BF%BE%F0%9F%BF%BF')).toBe('\u0001\u0085ä\ufffe\u{1ffff}');
  expect(deviceOfLevel('%zz%FF%')).toBe('%zz\ufffd%');
});

test('integers of 64 bits are the nearest numbers', () => {
  const numbers = [
    0n,
    -1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
    9007199254740993n,
    -9007199254740993n,
    2n ** 31n,
    2n ** 32n
  ];
  for (const each of numbers) {
    const { envelope } = opened(learned(), data(record(), value(4, number(11, each))));
    expect(envelope.records[0].payload).toBe(JSON.parse(String(each)));
  }
});

test.each([
  ['has no value', [record()]],
  [
    'has several values of which one is the payload',
    [record(), value(4, number(14, 1)), value(2, number(14, 1))]
  ],
  ['has values of several topics', [record(), value(4, number(14, 1)), value(5, bytes(16, 'x'))]],
  ['has a value inside another one', [record(), value(7, number(14, 1)), value(2, number(14, 1))]],
  ['has a value of an unknown type', [record(), value(4, bytes(17, 'x'))]],
  ['has a value that is not JSON', [record(), value(3, bytes(15, '['))]],
  ['has a payload that is neither text nor bytes', [record(), value(5, number(14, 1))]],
  ['has a line that is not an object', [record(), value(6, bytes(15, '1'))]]
])('a record that %s is reported, and the others pass', (reason, parts) => {
  const message = data(record(), value(4, number(14, 0)), ...parts, record(0, 42), value(4, number(14, 1)));
  const { envelope } = opened(learned(), message);
  expect(envelope.faults).toEqual([{ line: 2, reason }]);
  expect(envelope.records.map((/** @type {any} */ each) => each.payload)).toEqual([false, true]);
});

test('data without its birth, or with the aliases of an earlier run, is refused', () => {
  const message = data(record(), value(4, number(14, 1)));
  const wanted =
    /birth of the device m%2F7 of the edge node e .* Node Control\/Rebirth to spBv1.0\/g\/NCMD\/e/;
  expect(() => new SparkplugMessages().open(message)).toThrow(wanted);
  const messages = learned();
  expect(() => messages.open(data(record(RUN + 1), value(4, number(14, 1))))).toThrow(wanted);
  expect(() => messages.open(data(record(), value(99, number(14, 1))))).toThrow(wanted);
  expect(opened(messages, message).envelope.records).toHaveLength(1);
  messages.open({ ...BIRTH, payload: Buffer.concat(birth(RUN + 1)) });
  expect(() => messages.open(message)).toThrow(wanted);
});

test('a birth with a path of millions of levels is refused', () => {
  const messages = new SparkplugMessages();
  const path = '/'.repeat(15 << 20);
  const payload = Buffer.concat([birth()[0], born(20, 'value', { 'seganet.path': path })]);
  expect(() => messages.open({ ...BIRTH, payload })).toThrow(/a path of more than \d+ levels/);
});

test('aliases of an earlier birth of a run stay known', () => {
  const messages = learned();
  const payload = Buffer.concat([birth()[0], born(20, 'raw', { 'seganet.topic': 'new' })]);
  messages.open({ ...BIRTH, payload });
  expect(opened(messages, data(record(), value(4, number(14, 1)))).envelope.records).toHaveLength(1);
  expect(opened(messages, data(record(), value(20, bytes(16, 'x')))).envelope.records).toMatchObject([
    { topic: 'new' }
  ]);
});

test('the births of the devices used least recently are forgotten', () => {
  const births = new SparkplugBirths(20);
  const at = (/** @type {string} */ device) =>
    /** @type {any} */ (parseSparkplugTopic(`spBv1.0/g/DDATA/e/${device}`));
  for (const device of ['a', 'b', 'a', 'c']) births.learn(at(device), readPayload(BIRTH.payload));
  expect(births.size).toBe(16);
  const message = readPayload(data(record()).payload);
  expect(['a', 'b', 'c'].map((device) => births.knows(at(device), message))).toEqual([true, false, true]);
});

test('long names of metrics and devices count as several', () => {
  const births = new SparkplugBirths(2000);
  const at = (/** @type {string} */ device) =>
    /** @type {any} */ (parseSparkplugTopic(`spBv1.0/g/DDATA/e/${device}`));
  const long = 'x'.repeat(65535);
  for (let i = 0; i < 50; i++) {
    const topic = { 'seganet.topic': `${long}${i}`, 'seganet.path': `/${long}` };
    births.learn(at(`${i}`), readPayload(Buffer.concat([birth()[0], born(2, 'value', topic)])));
    expect(births.size).toBeLessThanOrEqual(2000);
  }
  const message = readPayload(data(record()).payload);
  const known = () => Array.from({ length: 50 }, (_, i) => births.knows(at(`${i}`), message)).filter(Boolean);
  expect(known()).toHaveLength(1);
  for (let i = 0; i < 50; i++) births.learn(at(`${long}${i}`), readPayload(birth()[0]));
  expect(births.size).toBe(3 * 513);
  expect(known()).toHaveLength(0);
});

test("other messages of Sparkplug are taken, and a device's own that a gateway passed on is a record", () => {
  const messages = learned();
  const foreign = metric(bytes(1, 'temp'), number(3, TS), double(13, 1));
  for (const type of ['NBIRTH', 'NDEATH', 'NDATA', 'NCMD'])
    expect(messages.open({ topic: `spBv1.0/g/${type}/e`, payload: foreign })).toBe('consumed');
  for (const type of ['DBIRTH', 'DDATA', 'DDEATH', 'DCMD']) {
    const message = { topic: `spBv1.0/g/${type}/e/d`, payload: foreign };
    expect(messages.open(message)).toBe('consumed');
    expect(messages.open({ ...message, userProperties: { 'seganet-key': 'gw/1/3/7' } })).toBe(null);
  }
  for (const topic of [
    'spBv1.0/g/NBIRTH',
    'spBv1.0/g/DDATA/e',
    'spBv1.0/g/NDATA/e/d',
    'gw/1/critical',
    undefined
  ])
    expect(messages.open({ topic, payload: foreign })).toBe(null);
});

test('data of another edge node whose birth was seen is taken, no matter what its first value is', () => {
  const messages = new SparkplugMessages();
  const alias = number(2, 1);
  // A time in ms looks like the number of a record.
  const payload = metric(alias, number(3, TS), number(11, TS));
  const message = { topic: 'spBv1.0/g/DDATA/e/d', payload };
  expect(() => messages.open(message)).toThrow(/has not arrived/);
  const userProperties = { 'seganet-key': 'gw/1/3/7' };
  const foreign = metric(bytes(1, 'clock'), alias, number(3, TS), number(4, 13), number(11, TS));
  expect(messages.open({ topic: 'spBv1.0/g/DBIRTH/e/d', payload: foreign })).toBe('consumed');
  expect(messages.open(message)).toBe('consumed');
  expect(messages.open({ ...message, userProperties })).toBe(null);
  // A birth of a gateway stays known.
  const known = learned();
  expect(known.open({ ...BIRTH, payload: foreign })).toBe('consumed');
  expect(opened(known, data(record(), value(4, number(14, 1)))).envelope.records).toHaveLength(1);
});

test('a birth with an unknown metric, or too many, is refused', () => {
  const messages = new SparkplugMessages();
  const open = (/** @type {Buffer[]} */ ...parts) =>
    messages.open({ ...BIRTH, payload: Buffer.concat(parts) });
  expect(() => open(birth()[0], born(2, 'secret'))).toThrow("The birth of m%2F7 has the unknown metric 'm2'");
  const deep = { 'seganet.path': '/a'.repeat(65) };
  expect(() => open(birth()[0], born(2, 'value', deep))).toThrow(/path of more than 64 levels/);
  expect(() => open(birth()[0], born(2, 'value', { 'seganet.path': 'a' }))).toThrow(/no JSON pointer/);
  const many = Array.from({ length: 4100 }, (_, i) => born(i + 2, 'trace'));
  expect(() => open(birth()[0], ...many)).toThrow(/has 4101 metrics; at most 4096/);
});

test.each([
  ['ends within a field of its payload', Buffer.from([0x12, 5, 1])],
  ['ends within a field of its payload', Buffer.from([0x08, 0x80])],
  ['has a number of more than 10 bytes', Buffer.from([0x08, ...Array(10).fill(0x80), 1])],
  ['has a field without a number', Buffer.from([0x02, 0])],
  ['has the field 2 with the wire type 0', Buffer.from([0x10, 1])],
  ['has the field 6 with the wire type 3', Buffer.from([0x33])],
  ['has text that is not UTF-8', metric(bytes(1, Buffer.from([0xff])))]
])('a message that %s is refused', (reason, payload) => {
  expect(() => learned().open(data(payload))).toThrow(`The Sparkplug message ${reason}.`);
});

test('random bytes, and random changes of a message, end with a sentence or with records', () => {
  const random = seeded(Number(process.env.SEED) || 21);
  const messages = learned();
  const good = [BIRTH.payload, data(...birth(), record(), value(2, double(13, 21.5))).payload];
  for (let i = 0; i < 20000; i++) {
    const changed = Buffer.from(good[i % 2]);
    for (let n = random.integer(4); n >= 0; n--)
      changed[random.integer(changed.length)] = random.integer(256);
    const payload =
      i % 3 === 0
        ? random.bytes(random.integer(60))
        : changed.subarray(0, 1 + random.integer(changed.length));
    const topic = i % 2 === 0 ? BIRTH.topic : data().topic;
    try {
      messages.open({ topic, payload });
    } catch (error) {
      expect(/** @type {any} */ (error).code).toBe('SEGANET_BAD_ENVELOPE');
    }
  }
  expect(/** @type {any} */ ({}).polluted).toBeUndefined();
});
