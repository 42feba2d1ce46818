'use strict';
// The codec of CBOR: the examples of RFC 8949, what is refused, limits, and the forms of JavaScript's values.

const { isDeepStrictEqual } = require('node:util');
const vm = require('node:vm');
const {
  CborError,
  LIMITS,
  Simple,
  Tagged,
  Writer,
  decode,
  encode,
  problemOf
} = require('../../../nodes/lib/base/cbor');

const hex = (/** @type {string} */ digits) => Buffer.from(digits.replaceAll(' ', ''), 'hex');
const bytes = (/** @type {number[]} */ ...list) => Buffer.from(list);
const numbersTo = (/** @type {number} */ last) => Array.from({ length: last }, (_none, i) => i + 1);

/** @param {() => unknown} run @returns {string} the message of its CborError, '' if it ends well */
function faultOf(run) {
  try {
    run();
    return '';
  } catch (error) {
    if (error instanceof CborError) return error.message;
    throw error;
  }
}

/** RFC 8949, appendix A, table 6: values whose preferred encoding is the example. @type {[string, unknown][]} */
const BOTH_WAYS = [
  ['00', 0],
  ['01', 1],
  ['0a', 10],
  ['17', 23],
  ['1818', 24],
  ['1819', 25],
  ['1864', 100],
  ['1903e8', 1000],
  ['1a000f4240', 1000000],
  ['1b000000e8d4a51000', 1000000000000],
  ['1bffffffffffffffff', 18446744073709551615n],
  ['c249010000000000000000', 18446744073709551616n],
  ['3bffffffffffffffff', -18446744073709551616n],
  ['c349010000000000000000', -18446744073709551617n],
  ['20', -1],
  ['29', -10],
  ['3863', -100],
  ['3903e7', -1000],
  ['f98000', -0],
  ['fb3ff199999999999a', 1.1],
  ['f93e00', 1.5],
  ['fa47c35000', 100000.0],
  ['fa7f7fffff', 3.4028234663852886e38],
  ['fb7e37e43c8800759c', 1.0e300],
  ['f90001', 5.960464477539063e-8],
  ['f90400', 0.00006103515625],
  ['fbc010666666666666', -4.1],
  ['f97c00', Infinity],
  ['f97e00', NaN],
  ['f9fc00', -Infinity],
  ['f4', false],
  ['f5', true],
  ['f6', null],
  ['f7', undefined],
  ['f0', new Simple(16)],
  ['f8ff', new Simple(255)],
  ['c074323031332d30332d32315432303a30343a30305a', new Tagged(0, '2013-03-21T20:04:00Z')],
  ['c11a514b67b0', new Tagged(1, 1363896240)],
  ['c1fb41d452d9ec200000', new Tagged(1, 1363896240.5)],
  ['d74401020304', new Tagged(23, bytes(1, 2, 3, 4))],
  ['d818456449455446', new Tagged(24, Buffer.from('dIETF'))],
  ['d82076687474703a2f2f7777772e6578616d706c652e636f6d', new Tagged(32, 'http://www.example.com')],
  ['40', Buffer.alloc(0)],
  ['4401020304', bytes(1, 2, 3, 4)],
  ['60', ''],
  ['6161', 'a'],
  ['6449455446', 'IETF'],
  ['62225c', '"\\'],
  ['62c3bc', '\u00fc'],
  ['63e6b0b4', '\u6c34'],
  ['64f0908591', '\ud800\udd51'],
  ['80', []],
  ['83010203', [1, 2, 3]],
  ['8301820203820405', [1, [2, 3], [4, 5]]],
  ['98190102030405060708090a0b0c0d0e0f101112131415161718181819', numbersTo(25)],
  ['a0', {}],
  [
    'a201020304',
    new Map([
      [1, 2],
      [3, 4]
    ])
  ],
  ['a26161016162820203', { a: 1, b: [2, 3] }],
  ['826161a161626163', ['a', { b: 'c' }]],
  ['a56161614161626142616361436164614461656145', { a: 'A', b: 'B', c: 'C', d: 'D', e: 'E' }]
];
/** Those with a shorter encoding. @type {[string, unknown][]} */
const READ_ONLY = [
  ['f90000', 0.0],
  ['f93c00', 1.0],
  ['f97bff', 65504.0],
  ['f9c400', -4.0],
  ['fa7f800000', Infinity],
  ['fa7fc00000', NaN],
  ['faff800000', -Infinity],
  ['fb7ff0000000000000', Infinity],
  ['fb7ff8000000000000', NaN],
  ['fbfff0000000000000', -Infinity],
  ['5f42010243030405ff', bytes(1, 2, 3, 4, 5)],
  ['7f657374726561646d696e67ff', 'streaming'],
  ['9fff', []],
  ['9f018202039f0405ffff', [1, [2, 3], [4, 5]]],
  ['9f01820203820405ff', [1, [2, 3], [4, 5]]],
  ['83018202039f0405ff', [1, [2, 3], [4, 5]]],
  ['83019f0203ff820405', [1, [2, 3], [4, 5]]],
  ['9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff', numbersTo(25)],
  ['bf61610161629f0203ffff', { a: 1, b: [2, 3] }],
  ['826161bf61626163ff', ['a', { b: 'c' }]],
  ['bf6346756ef563416d7421ff', { Fun: true, Amt: -2 }]
];

describe('examples of RFC 8949, appendix A', () => {
  test.each(BOTH_WAYS)('%s is read and written', (digits, value) => {
    expect(isDeepStrictEqual(decode(hex(digits)), value)).toBe(true);
    // 100000.0 is a safe integer, which is shorter.
    if (digits !== 'fa47c35000' && digits !== 'fa7f7fffff')
      expect(encode(value).toString('hex')).toBe(digits);
    expect(problemOf(hex(digits))).toBe('');
  });

  test.each(READ_ONLY)('%s is read', (digits, value) => {
    expect(isDeepStrictEqual(decode(hex(digits)), value)).toBe(true);
    expect(problemOf(hex(digits))).toBe('');
  });

  test.each([...BOTH_WAYS, ...READ_ONLY])('%s is refused if it is cut anywhere', (digits) => {
    const whole = hex(digits);
    for (let end = 0; end < whole.length; end++) {
      const fault = end === 0 ? 'is empty' : 'ends early';
      expect(faultOf(() => decode(whole.subarray(0, end)))).toBe(fault);
      expect(problemOf(whole.subarray(0, end))).toBe(fault);
    }
    expect(faultOf(() => decode(Buffer.concat([whole, bytes(0)])))).toBe('has bytes after its end');
  });
});

describe('a body that is not well-formed is refused with a sentence', () => {
  // Also the examples of RFC 8949, appendix F.1.
  test.each([
    ...['1c', '1d', '1e', '3c', '3d', '3e', '5c', '5d', '5e', '7c', '7d', '7e'],
    ...['9c', '9d', '9e', 'bc', 'bd', 'be', 'dc', 'dd', 'de', 'fc', 'fd', 'fe'],
    ...['f800', 'f801', 'f818', 'f81f', '1f', '3f', 'df', 'd81f', '1f00ff'],
    ...['5f00ff', '5f21ff', '5f6100ff', '5f80ff', '5fa0ff', '5fc000ff', '5fe0ff', '7f4100ff'],
    ...['5f5f4100ffff', '7f7f6100ffff']
  ])('%s', (digits) => {
    expect(faultOf(() => decode(hex(digits)))).toMatch(digits === 'd81f' ? /early/ : /not well-formed/);
  });

  test.each([
    ['ff', 'has a break or an open number in a wrong place'],
    ['81ff', 'has a break or an open number in a wrong place'],
    ['8200ff', 'has a break or an open number in a wrong place'],
    ['a1ff', 'ends early'],
    ['a100ff', 'has a break or an open number in a wrong place'],
    ['bf00ff', 'has a break or an open number in a wrong place'],
    ['bf000001ff', 'has a break or an open number in a wrong place'],
    ['c0ff', 'has a break or an open number in a wrong place'],
    ['9f81ff', 'has a break or an open number in a wrong place'],
    ['61ff', 'has text that is not UTF-8'],
    ['62c0af', 'has text that is not UTF-8'],
    ['63eda080', 'has text that is not UTF-8'],
    ['7f61c361bcff', 'has text that is not UTF-8'],
    ['a2616101616102', 'has a map key twice'],
    ['a201000100', 'has a map key twice'],
    ['bf6161016161f6ff', 'has a map key twice'],
    ['c201', 'has a bignum that is not a byte string'],
    [`c2590401${'01'.repeat(1025)}`, 'has a bignum of more than 1024 bytes'],
    ['', 'is empty'],
    ['0000', 'has bytes after its end']
  ])('%s %s', (digits, fault) => {
    expect(faultOf(() => decode(hex(digits)))).toBe(fault);
  });
});

describe('limits', () => {
  const refusals = (/** @type {Buffer} */ input, limits = LIMITS) => [
    problemOf(input, limits),
    faultOf(() => decode(input, limits))
  ];
  const twice = (/** @type {string} */ fault) => [fault, fault];

  test.each([0x81, 0x9f, 0xc6])('the levels of 0x%i', (head) => {
    const nested = (/** @type {number} */ levels) => {
      const ends = Buffer.alloc(head === 0x9f ? levels : 0, 0xff);
      return Buffer.concat([Buffer.alloc(levels, head), bytes(0), ends]);
    };
    expect(refusals(nested(64))).toEqual(twice(''));
    expect(refusals(nested(65))).toEqual(twice('is nested deeper than 64 levels'));
    expect(refusals(nested(1_000_000))).toEqual(twice('is nested deeper than 64 levels'));
  });

  test('the levels of maps, also within keys', () => {
    expect(refusals(Buffer.from('a100'.repeat(70), 'hex'))).toEqual(twice('is nested deeper than 64 levels'));
    expect(refusals(Buffer.alloc(70, 0xa1))).toEqual(twice('is nested deeper than 64 levels'));
  });

  test('lengths that nothing has', () => {
    for (const head of ['5b', '7b', '9b', 'bb'])
      for (const length of ['ffffffffffffffff', '7fffffffffffffff', '0020000000000000', '00000000ffffffff'])
        expect(refusals(hex(`${head}${length}00`))).toEqual(twice('ends early'));
  });

  test('items, keys and pieces of strings', () => {
    const limits = { ...LIMITS, items: 4 };
    expect(refusals(hex('83000000'), limits)).toEqual(twice(''));
    for (const digits of ['8400000000', 'a200000100', '7f60606060ff', '818181c100', '9f00000000ff'])
      expect(refusals(hex(digits), limits)).toEqual(twice('has too many items'));
  });

  test('bytes', () => {
    expect(refusals(Buffer.alloc(5), { ...LIMITS, bytes: 4 })).toEqual(twice('has more than 4 bytes'));
  });

  test('what a protocol leaves out', () => {
    const profile = { textKeys: true, noTags: true };
    expect(problemOf(hex('a10000'), LIMITS, profile)).toBe('has a map key that is not text');
    expect(problemOf(hex('c100'), LIMITS, profile)).toBe('has a tag');
    expect(problemOf(hex('bf7f6161ff00ff'), LIMITS, profile)).toBe('');
  });
});

describe('values of JavaScript', () => {
  test('keep their digits and sizes at the bounds of whole numbers', () => {
    const bounds = [23, 24, 255, 256, 65535, 65536, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER];
    for (const bound of bounds) {
      for (const value of [bound, -bound, -1 - bound].filter(Number.isSafeInteger)) {
        expect(decode(encode(value))).toBe(value);
        expect(encode(BigInt(value))).toEqual(encode(value));
      }
    }
    expect(decode(hex('3b001fffffffffffff'))).toBe(-9007199254740992n);
    expect(decode(hex('1b0020000000000000'))).toBe(9007199254740992n);
    expect(decode(hex('c34103'))).toBe(-4n);
    expect(decode(hex('c240'))).toBe(0n);
  });

  test('have the smallest float of the wanted sizes that holds them', () => {
    const forms = (/** @type {number} */ value) =>
      /** @type {const} */ (['half', 'single', 'double']).map((floats) =>
        encode(value, { floats }).toString('hex')
      );
    expect(forms(1.5)).toEqual(['f93e00', 'fa3fc00000', 'fb3ff8000000000000']);
    expect(forms(1.1)).toEqual(Array(3).fill('fb3ff199999999999a'));
    expect(forms(-0)).toEqual(['f98000', 'f98000', '00']);
    expect(forms(NaN)).toEqual(['f97e00', 'f97e00', 'fb7ff8000000000000']);
    expect(forms(-Infinity)).toEqual(['f9fc00', 'f9fc00', 'fbfff0000000000000']);
    expect(forms(2 ** 60)).toEqual(['fa5d800000', 'fa5d800000', 'fb43b0000000000000']);
    expect(forms(2 ** -25)).toEqual(['fa33000000', 'fa33000000', 'fb3e60000000000000']);
  });

  test('of all 65,536 floats of 16 bits come back', () => {
    for (let bits = 0; bits < 65536; bits++) {
      const input = bytes(0xf9, bits >> 8, bits & 255);
      const value = decode(input);
      if (Number.isNaN(value)) continue;
      const isWhole = Number.isSafeInteger(value) && !Object.is(value, -0);
      const expected = isWhole ? encode(value) : input;
      if (!encode(value).equals(expected) || !Object.is(decode(encode(value)), value))
        throw new Error(`0x${bits.toString(16)}`);
    }
  });

  test('are written as maps, without functions', () => {
    class Lamp {
      on = true;
      toggle = () => {};
    }
    expect(decode(encode(new Lamp()))).toEqual({ on: true });
    expect(decode(encode(Object.assign(Object.create(null), { a: undefined })))).toEqual({ a: undefined });
    expect(decode(encode({ constructor: null, encodeCBOR: 1, toJSON: 2 }))).toEqual({
      constructor: null,
      encodeCBOR: 1,
      toJSON: 2
    });
    expect(encode(Object.assign([], { 1: 1 }))).toEqual(hex('82f701'));
    expect(encode({ a: new Date(1500) })).toEqual(hex('a16161c1f93e00'));
    expect(encode([new Number(7), new String('a')])).toEqual(hex('82076161'));
  });

  test('of another context are as those of this one', () => {
    const foreign = vm.runInNewContext(
      `({ o: { a: [1] }, b: new Uint8Array([7]), m: new Map([[1, 2]]), d: new Date(0) })`
    );
    expect(encode(foreign)).toEqual(
      encode({ o: { a: [1] }, b: bytes(7), m: new Map([[1, 2]]), d: new Date(0) })
    );
  });

  test.each([
    [() => {}, 'A function has no form in CBOR.'],
    [Symbol('a'), 'A symbol has no form in CBOR.'],
    [new Set([1]), 'An object of the type Set has no form in CBOR.'],
    [/a/, 'An object of the type RegExp has no form in CBOR.'],
    [new Uint16Array(1), 'An object of the type Uint16Array has no form in CBOR.'],
    [new ArrayBuffer(1), 'An object of the type ArrayBuffer has no form in CBOR.'],
    [new URL('http://a'), 'An object of the type URL has no form in CBOR.']
  ])('%p is refused', (value, message) => {
    expect(() => encode([value])).toThrow(new TypeError(message));
  });

  test('that contain themselves are refused', () => {
    /** @type {unknown[]} */
    const own = [];
    own.push(own, own);
    expect(() => encode(own)).toThrow(new RangeError('The value is nested deeper than 64 levels.'));
  });

  test('a name of a map never changes a prototype', () => {
    const read = decode(hex('a2 6161 01 695f5f70726f746f5f5f a0'));
    expect(read).toEqual(
      new Map(
        /** @type {[string, unknown][]} */ ([
          ['a', 1],
          ['__proto__', {}]
        ])
      )
    );
    expect(encode(JSON.parse('{"__proto__":1}'))).toEqual(hex('a1 695f5f70726f746f5f5f 01'));
  });

  test('a byte string is a copy', () => {
    const input = hex('4101');
    const read = decode(input);
    input[1] = 9;
    expect(read).toEqual(bytes(1));
  });
});

test('a writer joins items, with a buffer that grows', () => {
  const writer = new Writer(1);
  writer.array(3);
  writer.encoded(Writer.text('é'.repeat(1000)));
  writer.number(2 ** 40);
  writer.map(1);
  writer.text('b');
  writer.bytes(new Uint8Array(70000));
  const taken = writer.take();
  expect(taken.buffer.byteLength).toBe(taken.length);
  expect(decode(taken)).toEqual(['é'.repeat(1000), 2 ** 40, { b: Buffer.alloc(70000) }]);
});
