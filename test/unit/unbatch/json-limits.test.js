'use strict';
// The values that one envelope may have, so that none occupies Node-RED's thread for seconds.

const { readEnvelope, open } = require('../../../nodes/lib/unbatch/unbatch');
const { CborReader } = require('../../../nodes/lib/unbatch/formats/cbor-reader');
const { JsonReader, MAX_DEPTH, MAX_ITEMS } = require('../../../nodes/lib/unbatch/formats/json-reader');

const KEY = 'g/1/3/0';
const TOO_MANY = 'exceeds the 1048576 JSON values and names that an envelope may have';
const TOO_DEEP = 'is nested deeper than 64 levels';
const line = (payload) => `{"d":"a","t":"","ts":1,"s":1,"c":1,"p":${payload}}`;
const many = (element, count) => `[${`${element},`.repeat(count - 1)}${element}]`;
const deep = (levels) => '['.repeat(levels) + ']'.repeat(levels);

test.each([
  ['null', 1],
  ['[]', 1],
  ['[ \n ]', 1],
  ['{}', 1],
  ['[0]', 2],
  ['[ 0 , [] ]', 3],
  ['{"a":[{},{}]}', 5],
  ['{"a":"[,:{","b":"\\",["}', 5],
  ['[[[]]]', 3],
  ['["",""]', 3]
])('counts the values and names of %s: %i', (text, items) => {
  // The texts are short: what the envelope is said to have decides whether they are counted.
  expect(new JsonReader(1e6, items).parse(text)).toEqual(JSON.parse(text));
  expect(() => new JsonReader(1e6, items - 1).parse(text)).toThrow(
    `exceeds the ${items - 1} JSON values and names`
  );
});

test('counts the texts of one envelope together', () => {
  const reader = new JsonReader(1e6, 4);
  expect([reader.parse('[0]'), reader.parse('1')]).toEqual([[0], 1]);
  expect(() => reader.parse('[1]')).toThrow('exceeds the 4 JSON values');
  expect(reader.parse('2')).toBe(2);
});

test.each(['[]', '{}', '0', '""', '{"":0}'])('never counts %s where there cannot be too many', (element) => {
  const text = many(element, 1000);
  expect(new JsonReader(text.length, Math.ceil(text.length / 2)).parse(text)).toHaveLength(1000);
});

describe('an envelope of lines', () => {
  test.each([
    ['[]', 3],
    ['{}', 3],
    ['0', 2],
    ['{"a":0}', 8],
    [deep(60), 121]
  ])('loses only the line with millions of %s', (element, size) => {
    const count = Math.floor((15 << 20) / size);
    const text = [line(1), line(many(element, count)), line(2)].join('\n');
    const { faults, records } = readEnvelope(text);
    expect(faults).toEqual([{ line: 2, reason: TOO_MANY }]);
    expect(records.map(({ payload }) => payload)).toEqual([1, 2]);
  });

  test('loses the lines behind the limit of all, but for small ones', () => {
    const large = line(many('[]', 400000));
    const text = [large, large, large, line(7), large, line(8)].join('\n');
    const { faults, records } = readEnvelope(text);
    expect(faults).toEqual([3, 5].map((number) => ({ line: number, reason: TOO_MANY })));
    expect(records.map(({ payload }) => payload.length ?? payload)).toEqual([400000, 400000, 7, 8]);
  });

  test('may be the largest of a gateway, with the most values', () => {
    const text = line(many('0', 2 ** 19 - 30));
    expect(text.length).toBeLessThanOrEqual(2 ** 20);
    expect(readEnvelope(text).records).toHaveLength(1);
  });

  test('has payloads of at most 64 levels, as those of gateways', () => {
    const { faults, records } = readEnvelope([line(deep(65)), line(deep(64)), line(deep(500000))].join('\n'));
    expect(faults).toEqual([1, 3].map((number) => ({ line: number, reason: TOO_DEEP })));
    expect(records).toHaveLength(1);
    expect(MAX_DEPTH).toBe(64);
  });

  test('may have a line with many short arrays', () => {
    expect(readEnvelope(line(many('[[]]', 1000))).records).toHaveLength(1);
  });
});

describe('an array', () => {
  test.each([
    [`[${line(many('[]', MAX_ITEMS))}]`, TOO_MANY],
    [`[${line(1)},${line(deep(65))}]`, TOO_DEEP],
    [`[{"bn":"a/b","bt":5e8,"cl":3,"sq":1,"n":"x","v":${many('{}', MAX_ITEMS)}}]`, TOO_MANY]
  ])('is refused before it is parsed, case %#', (text, reason) => {
    expect(() => readEnvelope(text)).toThrow(`The envelope ${reason}.`);
  });

  test('may have payloads of 64 levels', () =>
    expect(readEnvelope(`[${line(deep(64))}]`).records).toHaveLength(1));

  test('of a SenML pack has JSON data within the same limits', () => {
    const data = (text) => Buffer.from(text).toString('base64url');
    const pack = (text) => [{ bn: 'a/b', bt: 5e8, cl: 3, sq: 1, vd: data(text), ct: '50' }];
    expect(readEnvelope(JSON.stringify(pack(deep(64)))).records).toHaveLength(1);
    expect(readEnvelope(JSON.stringify(pack(deep(65)))).faults).toEqual([{ line: 1, reason: TOO_DEEP }]);
    expect(readEnvelope(pack(many('[]', MAX_ITEMS))).faults).toEqual([{ line: 1, reason: TOO_MANY }]);
  });
});

test('a sequence in CBOR has JSON texts within the same limits', () => {
  const head = Buffer.from('a6016161026003010401050108', 'hex');
  const record = (text) => {
    const size = Buffer.alloc(5, 0x7a);
    size.writeUInt32BE(text.length, 1);
    return Buffer.concat([head, size, Buffer.from(text)]);
  };
  expect(readEnvelope(record(deep(64))).records).toHaveLength(1);
  expect(readEnvelope(record(deep(65))).faults).toEqual([{ line: 1, reason: TOO_DEEP }]);
  expect(readEnvelope(record(many('[]', MAX_ITEMS))).faults).toEqual([{ line: 1, reason: TOO_MANY }]);
});

test('a decimal fraction in CBOR is one value', () => {
  const two = Buffer.from('82c4822001c4822003', 'hex');
  expect(new CborReader(two, 3).value()).toEqual([0.1, 0.3]);
});

test('a record with a key that is beyond the limits passes unchanged', () => {
  const payload = Buffer.from(many('[]', MAX_ITEMS * 2));
  const opened = open({ payload, userProperties: { 'seganet-key': KEY } }, '');
  expect(opened).toMatchObject({ key: { key: KEY }, envelope: null });
});
