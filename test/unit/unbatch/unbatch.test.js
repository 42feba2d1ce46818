'use strict';

const { open, readEnvelope, faultSentence, MAX_BYTES } = require('../../../nodes/lib/unbatch/unbatch');
const { seeded } = require('../../fixtures/random');
const { cpuMs } = require('../../fixtures/cpu-time');

const line = (fields) => ({
  d: 'm-7',
  t: 'hall/m-7',
  ts: 1763712000123,
  s: 41,
  c: 3,
  p: { kWh: 12.5 },
  ...fields
});
const ndjson = (...lines) => lines.map((each) => `${JSON.stringify(each)}\n`).join('');
const binary = { p: undefined, b: '/9j/4AAQ' };
const KEY = 'pi-1/mdl3k2x1q/3/10423';
const keyed = ndjson({ k: KEY, ...line() }, line(binary), line({ s: 42, p: null }));

test('takes an envelope apart', () => {
  const envelope = readEnvelope(Buffer.from(keyed));
  expect(envelope).toMatchObject({ key: { key: KEY, lane: 3, sequence: 10423 }, faults: [], count: 3 });
  expect(envelope.records).toEqual([
    {
      index: 0,
      topic: 'hall/m-7',
      deviceId: 'm-7',
      priority: 3,
      ts: 1763712000123,
      seq: 41,
      payload: { kWh: 12.5 }
    },
    expect.objectContaining({ index: 1, payload: Buffer.from('/9j/4AAQ', 'base64') }),
    expect.objectContaining({ index: 2, seq: 42, payload: null })
  ]);
});

test('keeps the trace context of a record', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const traced = ndjson(line({ traceparent, tracestate: 'a=b' }), line({ traceparent: 'nonsense' }));
  const { records } = readEnvelope(Buffer.from(traced));
  expect(records[0]).toMatchObject({ traceparent, tracestate: 'a=b' });
  expect(records[1]).not.toHaveProperty('traceparent');
  const single = {
    topic: 't',
    payload: Buffer.from('1'),
    userProperties: { 'seganet-key': KEY, traceparent }
  };
  expect(open(single, '')).toMatchObject({ envelope: null, trace: { traceparent } });
});

test('takes a payload of 11 MiB, and refuses text that is almost base64', () => {
  const large = Buffer.alloc(11 << 20, 1);
  const { records, faults } = readEnvelope(ndjson(line({ p: undefined, b: large.toString('base64') })));
  expect(faults).toEqual([]);
  expect(large.equals(records[0].payload)).toBe(true);
  for (const b of ['A', 'AA', 'AAA', 'A===', '====', '==', 'AA=A', 'AAA=AAAA', 'AA-_', 'AAAA\n']) {
    expect([b, readEnvelope(ndjson(line({ p: undefined, b }))).records]).toEqual([b, []]);
  }
});

test('accepts a string, a byte array, a last line without its end, and empty lines', () => {
  const { records } = readEnvelope(keyed);
  expect(readEnvelope(new Uint8Array(Buffer.from(keyed))).records).toEqual(records);
  expect(readEnvelope(keyed.trimEnd()).records).toEqual(records);
  expect(readEnvelope(keyed.replaceAll('\n', '\n\n')).records).toEqual(records);
});

test("accepts an envelope of one line that core's mqtt in has already parsed", () => {
  const envelope = readEnvelope({ k: KEY, ...line() });
  expect(envelope).toMatchObject({
    key: { key: KEY },
    count: 1,
    faults: [],
    records: [{ payload: { kWh: 12.5 } }]
  });
});

test.each([undefined, null, 7, true])('rejects %j as an envelope', (payload) => {
  expect(() => readEnvelope(payload)).toThrow(/must be a Buffer or a string/);
});

test('refuses an envelope that is too large before it is read', () => {
  expect(() => readEnvelope(Buffer.alloc(MAX_BYTES + 1))).toThrow(/16777217 bytes/);
});

test.each([
  ['{', 'is not JSON'],
  ['[]', 'is not an object'],
  ['null', 'is not an object'],
  ['7', 'is not an object'],
  [JSON.stringify(line({ d: '' })), 'has no device (d)'],
  [JSON.stringify(line({ d: 7 })), 'has no device (d)'],
  [JSON.stringify(line({ t: undefined })), 'has no topic (t)'],
  [JSON.stringify(line({ ts: '1' })), 'has no time (ts)'],
  [JSON.stringify(line({ s: -1 })), 'has no sequence number (s)'],
  [JSON.stringify(line({ s: 2 ** 32 })), 'has no sequence number (s)'],
  [JSON.stringify(line({ c: 9 })), 'has no class from 1 to 8 (c)'],
  [JSON.stringify(line({ p: undefined })), 'needs a payload: either p or b'],
  [JSON.stringify(line({ b: 'AAAA' })), 'needs a payload: either p or b'],
  [JSON.stringify(line({ ...binary, b: 'A?==' })), 'has a payload that is not base64 (b)'],
  [JSON.stringify(line({ ...binary, b: 'AAA' })), 'has a payload that is not base64 (b)'],
  [JSON.stringify(line({ ...binary, b: 7 })), 'has a payload that is not base64 (b)']
])('reports the line %s %s, and continues with the lines around it', (bad, reason) => {
  const envelope = readEnvelope(`${ndjson({ k: KEY, ...line() })}\n${bad}\n${ndjson(line())}`);
  expect(envelope.faults).toEqual([{ line: 3, reason }]);
  expect(envelope.records.map(({ index }) => index)).toEqual([0, 2]);
  expect(envelope.count).toBe(3);
});

test('reports bytes that are not UTF-8 as a fault of their line', () => {
  const bytes = Buffer.concat([
    Buffer.from('{"d":"'),
    Buffer.from([0xff]),
    Buffer.from(`"}\n${ndjson(line())}`)
  ]);
  expect(readEnvelope(bytes)).toMatchObject({ faults: [{ line: 1, reason: 'is not UTF-8' }], records: [{}] });
});

test('is safe with deeply nested JSON, and with names that JavaScript knows', () => {
  const deep = `{"d":"x","t":"","ts":1,"s":0,"c":1,"p":${'['.repeat(100000)}${']'.repeat(100000)}}`;
  expect(readEnvelope(deep).count).toBe(1);
  const { records } = readEnvelope(
    '{"__proto__":{"p":1},"d":"x","t":"","ts":1,"s":0,"c":1,"p":{"__proto__":7}}'
  );
  expect(Object.hasOwn(records[0].payload, '__proto__')).toBe(true);
  expect(readEnvelope('{"__proto__":{"p":1},"d":"x","t":"","ts":1,"s":0,"c":1}').faults).toHaveLength(1);
});

test('refuses more records than any gateway makes, and a batch of the largest size passes', () => {
  const smallest = '{"d":"a","t":"","ts":1,"s":1,"c":1,"p":1}\n';
  const count = Math.floor(2 ** 20 / smallest.length);
  expect(readEnvelope(smallest.repeat(count)).records).toHaveLength(count);
  expect(readEnvelope(smallest.repeat(65536)).records).toHaveLength(65536);
  const sentence =
    'The envelope has more than 65536 records; it is refused. Let its sender make smaller ones.';
  expect(() => readEnvelope(smallest.repeat(65537))).toThrow(sentence);
  const record = JSON.parse(smallest);
  expect(() => readEnvelope(Array.from({ length: 65537 }, () => record))).toThrow(sentence);
  const keyedMessage = { payload: `{"k":"${KEY}",${smallest.slice(1).repeat(1)}${smallest.repeat(65536)}` };
  const userProperties = { 'seganet-key': KEY };
  expect(() => open({ ...keyedMessage, userProperties }, '')).toThrow(sentence);
});

test.each([
  ['[{},{},…', '{}'],
  ['[[],[],…', '[]'],
  ['[1,1,…', '1'],
  ['[" \\"], ",…', '" \\"], "']
])('refuses 16 MiB of %s before it is parsed', (_, element) => {
  const count = Math.floor(MAX_BYTES / (element.length + 1)) - 2;
  const begin = cpuMs();
  const payload = Buffer.from(`[${`${element},`.repeat(count)}${element}]`);
  expect(() => readEnvelope(payload)).toThrow('The envelope has more than 262144 elements; it is refused.');
  expect(cpuMs() - begin).toBeLessThan(3000);
  const few = `[${`${element},`.repeat(262143)}${element}]`;
  expect(readEnvelope(few)).toMatchObject({ count: 100, isCut: true });
});

test('refuses a SenML pack of millions', () => {
  const head = Buffer.from('9a00fffff0', 'hex');
  const begin = cpuMs();
  expect(() => readEnvelope(Buffer.concat([head, Buffer.alloc(MAX_BYTES - 5, 0xa0)]))).toThrow(
    'has more than 262144 SenML records.'
  );
  expect(cpuMs() - begin).toBeLessThan(1000);
});

test('counts empty lines, and millions of them take little time', () => {
  const begin = cpuMs();
  const { records, count, faults } = readEnvelope(`${'\n'.repeat(2 ** 23)}{\n\n${ndjson(line())}`);
  expect([records.length, count, faults]).toEqual([1, 2, [{ line: 2 ** 23 + 1, reason: 'is not JSON' }]]);
  expect(cpuMs() - begin).toBeLessThan(3000);
});

test('reads nothing behind 100 faults', () => {
  const good = ndjson(line());
  const { records, faults, count, isCut, noun } = readEnvelope(`${good}${'1\n'.repeat(100)}${good}${good}`);
  expect([records.length, faults.length, count, isCut]).toEqual([1, 100, 101, true]);
  expect(faultSentence({ records, faults, isCut, noun })).toBe(
    'Line 2 of the envelope is not an object. The other lines were passed on. The rest was not read, because of 100 such lines.'
  );
  expect(readEnvelope(`${good}${'1\n'.repeat(100)}`).isCut).toBe(false);
});

test('names the first line in the sentence and counts the others', () => {
  const faults = [
    { line: 3, reason: 'is not JSON' },
    { line: 9, reason: 'is not an object' }
  ];
  expect(faultSentence({ noun: 'line', faults: faults.slice(1), records: [{}] })).toBe(
    'Line 9 of the envelope is not an object. The other lines were passed on.'
  );
  expect(faultSentence({ noun: 'line', faults, records: [{}] })).toMatch(
    /^Line 3 .* is not JSON\. 2 lines are not records\. /
  );
  expect(faultSentence({ noun: 'line', faults, records: [] })).toBe(
    'The envelope contains no record: line 3 is not JSON.'
  );
});

describe('a message', () => {
  const user = (key, more = {}) => ({ userProperties: { 'seganet-key': key, ...more } });

  test('without user properties is an envelope, with or without a key', () => {
    expect(open({ payload: keyed }, '/history')).toMatchObject({
      key: { key: KEY },
      historical: false,
      envelope: { count: 3 }
    });
    expect(open({ payload: ndjson(line()) }, '')).toMatchObject({ key: null, envelope: { count: 1 } });
    expect(() => open({ payload: '' }, '')).toThrow('The envelope is empty.');
  });

  test('with its own key and the same inside is an envelope', () => {
    const opened = open({ payload: Buffer.from(keyed), ...user(KEY) }, '');
    expect(opened).toMatchObject({ key: { key: KEY }, envelope: { count: 3 } });
  });

  test.each([
    Buffer.from([0xff, 0xfe]),
    '23.5',
    '',
    7,
    { k: 'other', v: 1 },
    ndjson(line()),
    ndjson({ k: 'another/gw/3/1', ...line() })
  ])('with a key and the payload %j is a separate record', (payload) => {
    expect(open({ payload, ...user(`${KEY}.4`) }, '')).toMatchObject({ key: { part: 4 }, envelope: null });
  });

  test('with a key and millions of numbers is a separate record, found at its first one', () => {
    for (const payload of [Buffer.alloc(2 ** 24, '1\n'), Buffer.alloc(2 ** 24, 0xa0)]) {
      const begin = cpuMs();
      expect(open({ payload, ...user(`${KEY}.4`) }, '').envelope).toBeNull();
      expect(cpuMs() - begin).toBeLessThan(1000);
    }
    for (const length of [100000, 300000]) {
      const payload = JSON.stringify(Array.from({ length }, () => 1));
      expect(open({ payload, ...user(`${KEY}.4`) }, '').envelope).toBeNull();
    }
  });

  test('with a key and a damaged first line is an envelope that reports it', () => {
    const { key, envelope } = open({ payload: `{"k":"${KEY}",\n${ndjson(line())}`, ...user(KEY) }, '');
    expect(key.key).toBe(KEY);
    expect(envelope).toMatchObject({ faults: [{ line: 1 }], records: [{ index: 1 }] });
  });

  test('is historical by its user property or by the end of its topic', () => {
    const historical = (msg, suffix) => open({ payload: keyed, ...msg }, suffix).historical;
    expect(historical(user(KEY, { 'seganet-history': '1' }), '')).toBe(true);
    expect(historical(user(KEY, { 'seganet-history': ['1', '1'] }), '')).toBe(true);
    expect(historical({ topic: 'gw/pi-1/normal/history' }, '/history')).toBe(true);
    expect(historical({ topic: 'gw/pi-1/normal/history' }, '')).toBe(false);
    expect(historical({ topic: 'gw/pi-1/normal' }, '/history')).toBe(false);
  });
});

describe('hostile input', () => {
  const seed = Number(process.env.SEED) || Date.now() % 2 ** 31;
  const bytes = Buffer.from(ndjson({ k: KEY, ...line({ t: 'é/ß' }) }, line(binary), line({ p: 'ünï' })));
  const all = readEnvelope(bytes).records;

  test('cut at every byte yields the whole lines, and at most one fault', () => {
    for (let length = 0; length <= bytes.length; length++) {
      const { records, faults, count } = readEnvelope(bytes.subarray(0, length));
      expect([length, records]).toEqual([length, all.slice(0, records.length)]);
      expect(faults.length).toBeLessThanOrEqual(1);
      expect(records.length + faults.length).toBe(count);
    }
  });

  test(`with changed bytes neither throws nor invents lines (SEED=${seed})`, () => {
    const { integer, bytes: draw } = seeded(seed);
    const lines = (buffer) => buffer.toString('latin1').split('\n').filter(Boolean).length;
    for (let round = 0; round < 2000; round++) {
      const input = round % 4 === 0 ? draw(integer(300)) : Buffer.from(bytes);
      for (let i = integer(4); i > 0 && input.length > 0; i--) input[integer(input.length)] = integer(256);
      if (input.length > 0) input[0] = 0x7b; // or it could be another format
      const { records, faults, count } = readEnvelope(input);
      expect([round, records.length + faults.length, count]).toEqual([round, lines(input), lines(input)]);
      for (const { deviceId, priority, seq } of records) {
        expect([typeof deviceId, priority >= 1 && priority <= 8, Number.isInteger(seq)]).toEqual([
          'string',
          true,
          true
        ]);
      }
    }
  });
});
