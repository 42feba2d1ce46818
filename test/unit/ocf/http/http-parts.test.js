'use strict';
// The parts of the HTTP proxy of the OCF cloud: JSON and CBOR, targets, media types, entity tags.

const cbor = require('cbor');
const { ConversionError, LIMITS, jsonOf, readJson } = require('../../../../nodes/lib/ocf/http/cbor-json');
const { eventData } = require('../../../../nodes/lib/ocf/http/answers');
const { conditionsOf, entityTag } = require('../../../../nodes/lib/ocf/http/conditions');
const { cborOf } = require('../../../../nodes/lib/ocf/http/json-cbor');
const { Accepted, formatOf, typeOf } = require('../../../../nodes/lib/ocf/http/media-types');
const { locationOf, targetOf } = require('../../../../nodes/lib/ocf/http/target');
const { seeded } = require('../../../fixtures/random');

const seed = Number(process.env.SEGANET_SEED ?? 1);
const DI = '11111111-2222-4333-8444-555555555555';
const json = (/** @type {string} */ hex) => jsonOf(Buffer.from(hex, 'hex'));

/** Without bigints. @param {unknown} value */
const withNumbers = (value) =>
  JSON.parse(JSON.stringify(value, (_key, each) => (typeof each === 'bigint' ? Number(each) : each)));

describe('CBOR as JSON', () => {
  // Examples of RFC 8949 appendix A.
  test.each([
    ['00', '0'],
    ['1bffffffffffffffff', '18446744073709551615'],
    ['3bffffffffffffffff', '-18446744073709551616'],
    ['3903e7', '-1000'],
    ['c249010000000000000000', '"AQAAAAAAAAAA"'],
    ['c349010000000000000000', '"~AQAAAAAAAAAA"'],
    ['f93c00', '1'],
    ['f98000', '0'],
    ['f90001', '5.960464477539063e-8'],
    ['f97bff', '65504'],
    ['fa47c35000', '100000'],
    ['fb3ff199999999999a', '1.1'],
    ['f97c00', 'null'],
    ['f97e00', 'null'],
    ['f4', 'false'],
    ['f7', 'null'],
    ['f8ff', 'null'],
    ['c074323031332d30332d32315432303a30343a30305a', '"2013-03-21T20:04:00Z"'],
    ['d74401020304', '"01020304"'],
    ['d64401020304', '"AQIDBA=="'],
    ['4401020304', '"AQIDBA"'],
    ['62225c', '"\\"\\\\"'],
    ['a201020304', '{"1":2,"3":4}'],
    ['a20102203a000003e7', undefined],
    ['bf61610161629f0203ffff', '{"a":1,"b":[2,3]}'],
    ['5f42010243030405ff', '"AQIDBAU"'],
    ['7f657374726561646d696e67ff', '"streaming"'],
    ['d745010203fffe', '"010203fffe"'],
    ['d78243010203820102', '["010203",[1,2]]']
  ])('%s becomes %s', (hex, text) => {
    if (text === undefined) expect(json(hex)).toBe('{"1":2,"-1":-1000}');
    else expect(json(hex)).toBe(text);
  });

  test.each([
    ['', /ends early/],
    ['0000', /bytes after its end/],
    ['ff', /not well-formed/],
    ['1c', /not well-formed/],
    ['f818', /not well-formed/],
    ['5bffffffffffffffff', /ends early/],
    ['9bffffffffffffffff', /ends early/],
    ['9f', /ends early/],
    ['f9', /ends early/],
    ['61ff', /UTF-8/],
    ['a1f600', /map key/],
    ['a2616101616102', /twice/],
    ['a201016131 02'.replace(' ', ''), /twice/],
    ['81'.repeat(17) + '00', /deeper/],
    ['c1'.repeat(17) + '00', /deeper/],
    ['5f01ff', /not well-formed/]
  ])('refuses %s', (hex, problem) => {
    expect(() => json(hex)).toThrow(problem);
    expect(() => json(hex)).toThrow(ConversionError);
  });

  test('limits items and lengths', () => {
    const many = Buffer.concat([Buffer.from('9a00010000', 'hex'), Buffer.alloc(65536)]);
    expect(() => jsonOf(many)).toThrow(/65536 items/);
    expect(() => jsonOf(Buffer.alloc(LIMITS.bytes + 1))).toThrow(/262144 bytes/);
    const controls = Buffer.concat([Buffer.from('7a00030d40', 'hex'), Buffer.alloc(200000)]);
    expect(() => jsonOf(controls)).toThrow(/too long/);
  });
});

test(`JSON becomes CBOR that another decoder reads, and comes back (seed ${seed})`, () => {
  const { integer: random } = seeded(seed);
  const keys = ['a', 'ä€', '', '😀', 'constructor', 'toJSON', 'encodeCBOR', 'x'.repeat(300), '__proto__'];
  const numbers = [
    0,
    -1,
    23,
    24,
    255,
    256,
    65535,
    65536,
    2 ** 32 - 1,
    2 ** 32,
    2 ** 53 - 1,
    -(2 ** 53 - 1),
    0.5,
    1e300,
    1e-7,
    2 ** 60
  ];
  /** @param {number} depth @returns {any} */
  const value = (depth) => {
    const kind = random(depth > 4 ? 5 : 7);
    if (kind === 0) return null;
    if (kind === 1) return random(2) === 0;
    if (kind === 2) return numbers[random(numbers.length)];
    if (kind <= 4) return keys[random(keys.length)];
    const size = random(5);
    if (kind === 5) return Array.from({ length: size }, () => value(depth + 1));
    // JSON.parse() makes __proto__ a member as any other.
    const members = Array.from(
      { length: size },
      () => `${JSON.stringify(keys[random(keys.length)])}:${JSON.stringify(value(depth + 1))}`
    );
    return JSON.parse(`{${members.join(',')}}`);
  };
  for (let round = 0; round < 1000; round++) {
    const text = JSON.stringify(value(0));
    const bytes = cborOf(readJson(Buffer.from(text)));
    expect(JSON.parse(jsonOf(bytes))).toEqual(JSON.parse(text));
    if (!/__proto__/.test(text)) expect(withNumbers(cbor.decodeFirstSync(bytes))).toEqual(JSON.parse(text));
    const broken = Buffer.from(bytes);
    broken[random(broken.length)] = random(256);
    for (const each of [broken, bytes.subarray(0, random(bytes.length))]) {
      try {
        JSON.parse(jsonOf(each));
      } catch (error) {
        if (!(error instanceof ConversionError)) throw error;
      }
    }
  }
});

describe('whole numbers beyond 2^53', () => {
  // RFC 8949, 3.1 and appendix A.
  test.each([
    ['9007199254740991', '1b001fffffffffffff'],
    ['9007199254740992', '1b0020000000000000'],
    ['12345678901234567', '1b002bdc545d6b4b87'],
    ['18446744073709551615', '1bffffffffffffffff'],
    ['-9007199254740993', '3b0020000000000000'],
    ['-18446744073709551616', '3bffffffffffffffff']
  ])('%s keeps its digits both ways', (text, hex) => {
    const wrapped = Buffer.from(`{"a":[${text}]}`);
    const bytes = cborOf(readJson(wrapped));
    expect(bytes.toString('hex')).toBe(`a1616181${hex}`);
    expect(jsonOf(bytes)).toBe(wrapped.toString());
    expect(String(cbor.decodeFirstSync(Buffer.from(hex, 'hex')))).toBe(text);
  });

  test.each([
    ['18446744073709551616', 18446744073709551616],
    ['-18446744073709551617', -18446744073709551616],
    ['1234567890123456789012345', 1.2345678901234568e24],
    ['12345678901234567.5', 12345678901234568],
    ['1e300', 1e300],
    ['-0', 0]
  ])('%s has no such form and is a double', (text, value) => {
    expect(JSON.parse(jsonOf(cborOf(readJson(Buffer.from(text)))))).toBe(value);
  });

  test('leave the other values unchanged', () => {
    const text = '{"__proto__":1,"id":"12345678901234567","n":12345678901234567,"b":[true,null,1.5]}';
    expect(jsonOf(cborOf(readJson(Buffer.from(text))))).toBe(text);
  });

  test('keep their digits in an event of JSON in many lines', () => {
    const payload = Buffer.from('{"n":\r\n 12345678901234567,\n"t":"a\\nb"}\n');
    expect(eventData({ options: [[12, Buffer.from([50])]], payload })).toBe(
      '{"n":  12345678901234567, "t":"a\\nb"}'
    );
  });
});

test('refuses JSON that is broken, too deep or too large', () => {
  for (const text of ['', '{', '[1,]', 'NaN', '"\u0001"', '{"a":1}x']) {
    expect(() => readJson(Buffer.from(text))).toThrow(/^is not JSON/);
  }
  expect(() => readJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow(/UTF-8/);
  expect(() => readJson(Buffer.from(`${'['.repeat(17)}${']'.repeat(17)}`))).toThrow(/deeper/);
  expect(() => readJson(Buffer.from('['.repeat(100000)))).toThrow(ConversionError);
  expect(() => readJson(Buffer.from(`[${'0,'.repeat(65536)}0]`))).toThrow(/65536 items/);
});

describe('targets', () => {
  test.each([
    [`/hc/${DI}/light/1`, ['light', '1'], []],
    [`/hc/${DI.toUpperCase()}/light`, ['light'], []],
    [`/hc/coap://${DI}/light`, ['light'], []],
    [`/hc/COAPS+TCP://${DI}/light`, ['light'], []],
    [`/hc/${DI}/a%20b/%C3%A4?if=x&b=%26+c`, ['a b', 'ä'], ['if=x', 'b=&+c']],
    [`/hc/${DI}/a/`, ['a', ''], []],
    [`/hc/${DI}/a?`, ['a'], []],
    [`/hc/${DI}/../x`, ['..', 'x'], []],
    [`/hc/${DI}/a%2fb`, ['a/b'], []]
  ])('%s', (url, path, query) => {
    expect(targetOf(url)).toEqual({ di: DI, path, query });
  });

  test.each([
    ['/hc/', 404],
    ['/hc/x/y', 404],
    [`/hc/${DI}`, 404],
    [`/hc/${DI}/`, 404],
    [`/hc/coap:/${DI}/a`, 404],
    [`/hc/http://${DI}/a`, 404],
    [`/hc/coap://${DI}:5683/a`, 404],
    [`/hc/coap://user@${DI}/a`, 404],
    ['/hc/coap://192.0.2.1/a', 404],
    [`/hc/${DI}/%`, 400],
    [`/hc/${DI}/%ff`, 400],
    [`/hc/${DI}/a?%zz`, 400],
    [`/hc/${DI}${'/a'.repeat(65)}`, 414],
    [`/hc/${DI}/${'a'.repeat(1024)}`, 414]
  ])('%s is %i', (url, status) => {
    expect(() => targetOf(url)).toThrow(expect.objectContaining({ status }));
  });

  test('leaves other resources to others', () => {
    expect([targetOf('/'), targetOf('/hcx/a'), targetOf('*')]).toEqual([null, null, null]);
  });

  test('names a place as it reads it', () => {
    const place = locationOf(DI, ['a b', 'ä/', '?'], ['x=1&2', 'y']);
    expect(targetOf(place)).toEqual({ di: DI, path: ['a b', 'ä/', '?'], query: ['x=1&2', 'y'] });
  });
});

describe('media types', () => {
  test.each([
    ['application/json', 50],
    ['Application/JSON; charset=UTF-8', 50],
    ['application/cbor', 60],
    ['application/vnd.ocf+cbor', 10000],
    ['text/plain;charset="utf-8"', 0],
    ['application/coap-payload;cf=65000', 65000],
    ['application/coap-payload; cf="0"', 0]
  ])('%s is the format %i', (type, format) => expect(formatOf(type)).toBe(format));

  test.each([
    undefined,
    '',
    'json',
    'application/json; charset=latin1',
    'application/coap-payload',
    'application/coap-payload;cf=65536',
    'application/coap-payload;cf=x',
    'multipart/form-data',
    'application/json;;'
  ])('%s is no format', (type) =>
    expect(() => formatOf(type)).toThrow(expect.objectContaining({ status: 415 }))
  );

  test('names formats', () => {
    expect([0, 40, 50, 60, 10000, 11542].map(typeOf)).toEqual([
      'text/plain; charset=utf-8',
      'application/link-format',
      'application/json',
      'application/cbor',
      'application/vnd.ocf+cbor',
      'application/coap-payload;cf=11542'
    ]);
  });

  test('weighs what is accepted', () => {
    const accepted = new Accepted('application/cbor;q=0.5, application/*;q=0.2, text/plain;q=0, */*;q=0.1');
    const weights = ['application/cbor', 'application/json', 'text/plain; charset=utf-8', 'image/png'];
    expect(weights.map((type) => accepted.weight(type))).toEqual([0.5, 0.2, 0, 0.1]);
    expect(new Accepted(undefined).weight('application/json')).toBe(1);
    expect(new Accepted('application/coap-payload;cf=70').weight('application/coap-payload;cf=71')).toBe(0);
    expect(new Accepted('application/json, text/event-stream').wantsEvents).toBe(false);
    expect(new Accepted('application/json;q=0.9, text/event-stream').wantsEvents).toBe(true);
    for (const wrong of ['a', 'a/b/c', 'a/b;q=2', 'a/b;q=x', 'a b/c', Array(33).fill('a/b').join()]) {
      expect(() => new Accepted(wrong)).toThrow(expect.objectContaining({ status: 400 }));
    }
  });
});

test('entity tags', () => {
  const tag = Buffer.from([0xab, 1]);
  expect([entityTag(tag, false), entityTag(tag, true)]).toEqual(['"ab01"', '"ab01-json"']);
  const none = (/** @type {string} */ value, method = 'GET') =>
    conditionsOf(method, { 'if-none-match': value });
  expect(none('W/"ab01-json", "ab01", "other", "02"')).toEqual([
    [4, tag],
    [4, Buffer.from([2])]
  ]);
  expect(none('*')).toEqual([]);
  expect(none('*', 'PUT')).toEqual([[5, Buffer.alloc(0)]]);
  const match = (/** @type {string} */ value, method = 'PUT') => conditionsOf(method, { 'if-match': value });
  expect(match('"ab01"')).toEqual([[1, tag]]);
  expect(match('*')).toEqual([[1, Buffer.alloc(0)]]);
  const refused = (/** @type {() => unknown} */ fn, /** @type {number} */ status) =>
    expect(fn).toThrow(expect.objectContaining({ status }));
  refused(() => none('"ab01"', 'PUT'), 400);
  refused(() => none('ab01'), 400);
  refused(() => match('"x"'), 412);
  refused(() => match('W/"ab01"'), 412);
  refused(() => match('"ab01"', 'GET'), 400);
});
