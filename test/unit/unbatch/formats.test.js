'use strict';
// Envelopes of the formats as network input. What the encoders write is tested in test/native/envelope-formats.test.js.

const { readEnvelope, open, faultSentence, MAX_BYTES } = require('../../../nodes/lib/unbatch/unbatch');
const { CborReader } = require('../../../nodes/lib/unbatch/formats/cbor-reader');
const { seeded } = require('../../fixtures/random');

const hex = (/** @type {string} */ text) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const KEY = 'gw/1/3/7';
/** Two records of a device, one of another, as native/test/encoding/envelope_coder_test.cc has them. */
const CBOR = hex(
  'a7006867772f312f332f3701636d2d37026468616c6c031b0000019aa56d607b041829050306a26174f94d60626f6ef5' +
    'a30b0a04182a06a26174c4822018d8626f6ef4 a5016363616d0264676174650b00040007420102'
);
const SENML_CBOR = hex(
  '85a721696d2d372f68616c6c2f22fb41da48070007df3b636b65796867772f312f332f37627371182962636c0300617402f94d60' +
    'a200626f6e04f5a422fb41da480700088312627371182a00617402c4822018d8a200626f6e04f4a3216863616d2f6761746562737100' +
    '08420102'
);
const SENML = [
  { bn: 'm-7/hall/', bt: 1763712000.123, key: KEY, sq: 41, cl: 3, n: 't', v: 21.5 },
  { n: 'on', vb: true },
  { bt: 1763712000.133, sq: 42, n: 't', v: 21.6 },
  { n: 'on', vb: false },
  { bn: 'cam/gate', sq: 0, vd: 'AQI' }
];
const ARRAY = [
  { k: KEY, d: 'm-7', t: 'hall', ts: 1763712000123, s: 41, c: 3, p: { t: 21.5, on: true } },
  { d: 'm-7', t: 'hall', ts: 1763712000133, s: 42, c: 3, p: { t: 21.6, on: false } },
  { d: 'cam', t: 'gate', ts: 1763712000133, s: 0, c: 3, b: 'AQI=' }
];
const RECORDS = readEnvelope(ARRAY.map((each) => JSON.stringify(each)).join('\n')).records;

/** @type {[string, Buffer | object[]][]} */
const same = [
  ['a JSON array', Buffer.from(JSON.stringify(ARRAY))],
  ['a JSON array that was parsed', ARRAY],
  ['a CBOR sequence', CBOR],
  ['a SenML pack', Buffer.from(JSON.stringify(SENML))],
  ['a SenML pack that was parsed', SENML],
  ['a SenML pack in CBOR', SENML_CBOR]
];

test.each(same)('takes %s apart', (_name, payload) => {
  const envelope = readEnvelope(payload);
  expect(envelope).toMatchObject({ key: { key: KEY }, noun: 'record', faults: [], count: 3 });
  expect(envelope.records).toEqual(RECORDS);
});

test.each(same)('in %s a key distinguishes an envelope from a single record', (_name, payload) => {
  const message = (/** @type {string} */ key) => ({ payload, userProperties: { 'seganet-key': key } });
  expect(open(message(KEY), '').envelope).toMatchObject({ count: 3 });
  expect(open(message('gw/1/3/8'), '')).toMatchObject({ key: { sequence: 8 }, envelope: null });
  expect(open({ payload }, '')).toMatchObject({ key: { key: KEY } });
});

test('a CBOR payload of a device is a single record', () => {
  const userProperties = { 'seganet-key': KEY };
  for (const payload of [hex('a1616101'), hex('820102'), hex('80'), hex('a0'), Buffer.from('[1,2]')])
    expect(open({ payload, userProperties }, '').envelope).toBe(null);
});

test.each([
  ['a5', 'ends within a CBOR item'],
  ['a0', 'has no device (d)'],
  ['a1ff00', 'has the CBOR simple value 31, which the format does not use'],
  ['a1f401', 'has a key that is neither an integer nor text'],
  ['a101bf', 'has a CBOR item without a length, which the format does not use'],
  ['a1015b0000000100000000', 'ends within a CBOR item'],
  ['a1069b7fffffffffffffff', 'ends within a CBOR item'],
  ['a106bb7fffffffffffffff', 'ends within a CBOR item'],
  ['a10161ff', 'has text that is not UTF-8'],
  ['a106c101', 'has the CBOR tag 1, which the format does not use'],
  ['a106c40102', 'is not a CBOR array'],
  ['a106c48101', 'has a decimal fraction without two parts'],
  ['a106c48201f93c00', 'has a decimal fraction without two integers'],
  ['a106a10102', 'has a key that is not text'],
  [`a106${'81'.repeat(65)}00`, 'is nested deeper than 64 levels'],
  ['a301616102600b01', 'has no time (ts)'],
  ['a1086131', 'has no device (d)'],
  ['a108617b', 'has a payload that is not JSON']
])('reports the CBOR %s: %s', (bytes, reason) => {
  expect(readEnvelope(hex(bytes))).toMatchObject({ records: [], faults: [{ line: 1, reason }] });
});

test('ignores keys of a later version', () => {
  const more = Buffer.concat([hex('a9 18 63 820102 6378797a 6161'), CBOR.subarray(1)]);
  expect(readEnvelope(more).records).toEqual(RECORDS);
});

test('refuses CBOR with too many items', () => {
  const reader = (/** @type {number} */ items) => new CborReader(hex('8401020304'), items).value();
  expect(reader(5)).toEqual([1, 2, 3, 4]);
  expect(() => reader(4)).toThrow('has more than 4 CBOR items');
  expect(() => readEnvelope(Buffer.alloc(MAX_BYTES + 1, 0xa0))).toThrow(/16777217 bytes/);
});

test.each([
  [[{ bn: 'a/b', bt: 5e8, v: 1 }], 'has no sequence number (s)'],
  [[{ bn: 'a', bt: 5e8, cl: 3, sq: 1, v: 1 }], 'has a base name (bn) that is not device/topic'],
  [[{ bn: 'a/b', bt: 5e8, cl: 3, sq: 1, n: 'x', v: 1 }], 'has a base name (bn) that is not device/topic'],
  [[{ bn: 7, bt: 5e8, cl: 3, sq: 1, v: 1 }], 'has no base name (bn)'],
  [[{ bn: 'a/b', bt: 5e8, cl: 3, sq: 1 }], 'needs one value: v, vs, vb or vd'],
  [[{ bn: 'a/b', bt: 5e8, cl: 3, sq: 1, v: 1, vs: 'x' }], 'needs one value: v, vs, vb or vd'],
  [[{ bn: 'a/b', bt: 5e8, cl: 3, sq: 1, v: '1' }], 'needs one value: v, vs, vb or vd'],
  [[{ bn: 'a/b', bt: 5e8, cl: 3, sq: 1, vd: 'A' }], 'has data that is not base64 (vd)'],
  [[{ bn: 'a/b', bt: 5e8, cl: 3, sq: 1, vd: 'QQ', ct: '60' }], 'has data of an unknown content format (ct)'],
  [[{ bn: 'a/b', bt: 5e8, cl: 3, sq: 1, vd: 'ew', ct: '50' }], 'has a payload that is not JSON'],
  [[{ bn: 'a/b', bt: 5e8, cl: 3, sq: 1, v: 1, x_: 1 }], 'has the field "x_", which must be understood'],
  [[{ bn: 'a/b/', bt: 5e8, cl: 3, sq: 1, n: 'x', v: 1 }, { v: 2 }], 'has a value without a name (n)'],
  [
    [
      { bn: 'a/b', bt: 5e8, cl: 3, sq: 1, v: 1 },
      { n: 'x', v: 2 }
    ],
    'has several values without a name'
  ]
])('reports the SenML pack %j', (pack, reason) => {
  const [{ reason: given }] = readEnvelope(pack).faults;
  expect(given).toBe(reason);
  const good = { bn: 'a/b', bt: 5e8, cl: 3, sq: 2, v: 7 };
  expect(readEnvelope([...pack, good]).records).toMatchObject([{ index: 1, payload: 7 }]);
});

test('calls what it numbers a record', () => {
  const [first, , last] = ARRAY;
  expect(faultSentence(readEnvelope([first, 7, last]))).toBe(
    'Record 2 of the envelope is not an object. The other records were passed on.'
  );
  expect(() => readEnvelope(Buffer.from('[{]'))).toThrow('The envelope is not JSON.');
  expect(() => readEnvelope(hex('8101'))).toThrow('The envelope is not a CBOR map.');
  expect(() => readEnvelope(Buffer.concat([SENML_CBOR, hex('00')]))).toThrow(/has bytes behind its end/);
});

/** @param {Buffer} input @returns {string} what is wrong with its reading, '' = nothing */
function problemOf(input) {
  try {
    const { records, faults, count } = readEnvelope(input);
    const isValid = records.every(
      ({ deviceId, ts, priority }) => typeof deviceId === 'string' && Number.isFinite(ts) && priority > 0
    );
    return isValid && records.length + faults.length === count
      ? ''
      : JSON.stringify({ records, faults, count });
  } catch (error) {
    const { code, message } = /** @type {any} */ (error);
    return code === 'SEGANET_BAD_ENVELOPE' && message.endsWith('.') ? '' : String(error);
  }
}

const seed = Number(process.env.SEED) || Date.now() % 2 ** 31;
test.each(same.filter(([, payload]) => Buffer.isBuffer(payload)))(
  `changed or cut bytes of %s yield records and reasons only (SEED=${seed})`,
  (_name, payload) => {
    const { integer } = seeded(seed);
    const bytes = /** @type {Buffer} */ (payload);
    for (let round = 0; round < 2000; round++) {
      const input = Buffer.from(
        bytes.subarray(0, round % 3 === 0 ? integer(bytes.length + 1) : bytes.length)
      );
      for (let i = integer(4); i > 0 && input.length > 0; i--) input[integer(input.length)] = integer(256);
      // A call of expect() for each round would take most of the time.
      const problem = problemOf(input);
      if (problem) throw new Error(`round ${round}: ${problem}`);
    }
  }
);
