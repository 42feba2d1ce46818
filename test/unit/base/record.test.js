'use strict';

const vm = require('node:vm');
const { toRecord, toEnvelope, isBatch, toClass } = require('../../../nodes/lib/base/record');

const plain = { deviceId: 'd1', topic: 'a/b', payload: 'x' };

test('makes a message a normal record stamped with the current time', () => {
  const payload = Buffer.from('x');
  expect(toRecord(plain)).toEqual({
    deviceId: 'd1',
    topic: 'a/b',
    payload,
    cls: 3,
    flags: 0,
    ts: 0,
    seq: -1,
    trace: ''
  });
});

test.each([
  ['a string, as UTF-8', 'é', 'é'],
  ['an object, as JSON', { a: 1 }, '{"a":1}'],
  ['a number, as JSON', 21.5, '21.5'],
  ['a boolean, as JSON', false, 'false'],
  ['null, as JSON', null, 'null'],
  ['nothing, as no bytes', undefined, ''],
  ['a byte array, unchanged', new Uint8Array([65, 66]), 'AB']
])('accepts %s as the payload', (_what, payload, bytes) => {
  expect(toRecord({ ...plain, payload }).payload.toString()).toBe(bytes);
});

test('does not copy a buffer', () => {
  const payload = Buffer.from([0, 255]);
  expect(toRecord({ ...plain, payload }).payload).toBe(payload);
});

test.each([
  [1, 1],
  ['2', 2],
  ['critical', 1],
  ['Bulk', 4],
  [5, 5],
  ['8', 8],
  [undefined, 3],
  ['', 3]
])('reads priority %p as class %p', (priority, cls) => {
  expect(toRecord({ ...plain, priority }).cls).toBe(cls);
});

test.each([0, 9, -1, 1.5, 'urgent', '12', {}, NaN])(
  'refuses priority %p and lists the classes',
  (priority) => {
    expect(() => toClass(priority, 3)).toThrow(/critical, high, normal or bulk/);
  }
);

test('keeps qos and retain', () => {
  expect(toRecord({ ...plain, qos: 1 }).flags).toBe(1);
  expect(toRecord({ ...plain, qos: '2', retain: true }).flags).toBe(3);
  expect(toRecord({ ...plain, qos: 0, retain: 'true' }).flags).toBe(0);
});

test('takes a number of ms or a Date as the time, and the current time otherwise', () => {
  expect(toRecord({ ...plain, ts: 12.5 }).ts).toBe(13);
  expect(toRecord({ ...plain, ts: 8.64e15 }).ts).toBe(8.64e15);
  expect(toRecord({ ...plain, ts: new Date(7) }).ts).toBe(7);
  for (const ts of [NaN, Infinity, -1, '2026', new Date(NaN), null])
    expect(toRecord({ ...plain, ts }).ts).toBe(0);
});

test.each([0.4, -0.4, 8.64e15 + 2, 2 ** 60, 1e300, 5n, Symbol('t')])(
  'uses the current time for %p, which no Date can hold as whole ms',
  (ts) => {
    expect(toRecord({ ...plain, ts }).ts).toBe(0);
    expect(toEnvelope({ ...plain, batch: { firstTs: ts } }).ts).toBe(0);
  }
);

test('rounds the time of a batch to whole ms', () => {
  expect(toEnvelope({ ...plain, batch: { firstTs: 1763712000123.456 } }).ts).toBe(1763712000123);
});

describe("values from a function node's sandbox", () => {
  const sandbox = vm.createContext({});
  const make = (/** @type {string} */ code) => vm.runInContext(code, sandbox);

  test('takes a Date as the time', () => {
    expect(toRecord({ ...plain, ts: make('new Date(7)') }).ts).toBe(7);
  });

  test('takes a Uint8Array as a payload of bytes', () => {
    const { payload } = toRecord({ ...plain, payload: make('new Uint8Array([65, 66])') });
    expect([Buffer.isBuffer(payload), payload.toString()]).toEqual([true, 'AB']);
  });
});

test('refuses a Proxy of a buffer, whose bytes native code cannot reach', () => {
  expect(() => toRecord({ ...plain, payload: new Proxy(Buffer.from('x'), {}) })).toThrow(/no JSON form/);
});

test("keeps a record's number unless the node assigns a new one", () => {
  expect(toRecord({ ...plain, seq: 4294967295 }).seq).toBe(4294967295);
  expect(toRecord({ ...plain, seq: 7 }, { seq: -1 }).seq).toBe(-1);
  for (const seq of [-1, 1.5, 4294967296, '7', null, NaN]) expect(toRecord({ ...plain, seq }).seq).toBe(-1);
});

test('prefers the class and the device id that the node sets', () => {
  const record = toRecord({ ...plain, priority: 4 }, { deviceId: 17, cls: 1 });
  expect(record).toMatchObject({ deviceId: '17', cls: 1 });
});

test.each([undefined, '', null, {}, true])('refuses device id %p with a remedy', (deviceId) => {
  expect(() => toRecord({ ...plain, deviceId })).toThrow(/Set msg.deviceId/);
});

test('allows at most 256 bytes in a device id', () => {
  expect(toRecord({ ...plain, deviceId: 'é'.repeat(128) }).deviceId).toHaveLength(128);
  expect(() => toRecord({ ...plain, deviceId: `${'é'.repeat(128)}x` })).toThrow(/256 bytes/);
});

test('has U+FFFD for each lone surrogate of a device id, as the engine has', () => {
  expect(toRecord({ ...plain, deviceId: 'a\ud800\u{1f600}\udc00' }).deviceId).toBe('a\ufffd\u{1f600}\ufffd');
});

test.each(['a/#', 'a/+/b', 'a\0b'])('refuses topic %p', (topic) => {
  expect(() => toRecord({ ...plain, topic })).toThrow(/nothing can be published/);
});

test('allows at most 65,535 bytes in a topic', () => {
  expect(() => toRecord({ ...plain, topic: 'x'.repeat(65535) })).not.toThrow();
  expect(() => toRecord({ ...plain, topic: 'x'.repeat(65536) })).toThrow(/65,535/);
});

test('refuses a payload without a JSON form', () => {
  const circle = {};
  circle.self = circle;
  expect(() => toRecord({ ...plain, payload: circle })).toThrow(/no JSON form/);
  expect(() => toRecord({ ...plain, payload: 1n })).toThrow(/no JSON form/);
  expect(() => toRecord({ ...plain, payload: () => 1 })).toThrow(/no JSON form/);
});

test('refuses a batch as a record and accepts it as an envelope for the uplink', () => {
  const msg = { topic: 'up', payload: 'lines', batch: { priority: 1, firstTs: 5 } };
  expect(() => toRecord(msg)).toThrow(/batch/);
  expect(toEnvelope(msg)).toEqual({
    deviceId: '',
    topic: 'up',
    payload: Buffer.from('lines'),
    cls: 1,
    flags: 5,
    ts: 5,
    seq: -1
  });
});

test('accepts a record that was taken out of a batch', () => {
  const msg = { topic: 't', deviceId: 'd', payload: 'x', batch: { key: 'g/e/3/1', index: 0, count: 2 } };
  expect(isBatch(msg)).toBe(false);
  expect(toRecord(msg)).toMatchObject({ deviceId: 'd', topic: 't' });
  expect(isBatch({ batch: { priority: 1 } })).toBe(true);
  expect(isBatch({})).toBe(false);
});
