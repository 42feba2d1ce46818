'use strict';
// CBOR of clients: what is decoded, what is refused before that, and how answers are joined.

const cbor = require('cbor');
const { decode, encode, mapOf } = require('../../../nodes/lib/sources/ocf/bodies');
const { LIMITS, problemOf } = require('../../../nodes/lib/sources/ocf/cbor-bounds');
const { array, extended, text } = require('../../../nodes/lib/sources/ocf/cbor-pieces');
const { random } = require('../../fixtures/ocf/acceptance-hostile');

const hex = (digits) => Buffer.from(digits.replaceAll(' ', ''), 'hex');
/** @param {object} [more] */
const request = (more = {}) => ({
  connection: 1,
  device: '',
  peer: { address: '192.0.2.1:9' },
  method: 'GET',
  path: [],
  query: [],
  options: [],
  payload: Buffer.alloc(0),
  token: Buffer.alloc(1),
  ...more
});
const codeOf = (run) => {
  try {
    run();
    return '';
  } catch (error) {
    return error.code;
  }
};

describe('bounds of CBOR', () => {
  test('well-formed items of all kinds pass', () => {
    const values = [
      {},
      { a: [1, -1, 1.5, null, true, 'é', Buffer.from([1])] },
      2 ** 40,
      -(2 ** 40),
      'x'.repeat(300),
      Buffer.alloc(300),
      Array(300).fill(0)
    ];
    for (const value of values) expect(problemOf(encode(value))).toBe('');
    // Maps, lists and strings without a length, as iotivity-lite writes them; half floats; simple values.
    for (const open of [
      'bf 61 61 01 ff',
      '9f 01 02 ff',
      '7f 61 61 61 62 ff',
      '5f 41 01 ff',
      'f9 3c 00',
      'f7',
      'f8 ff'
    ]) {
      expect([open, problemOf(hex(open))]).toEqual([open, '']);
    }
  });

  test.each([
    ['', 'is empty'],
    ['a1', 'ends early'],
    ['a1 61 61', 'ends early'],
    ['bf 61 61 01', 'ends early'],
    ['bf 61 61 ff', 'wrong place'],
    ['62 61', 'ends early'],
    ['9b ff ff ff ff ff ff ff ff', 'ends early'],
    ['bb ff ff ff ff ff ff ff ff 60', 'ends early'],
    ['5b ff ff ff ff ff ff ff ff', 'ends early'],
    ['a1 01 01', 'not text'],
    ['61 ff', 'not UTF-8'],
    ['7f 41 61 ff', 'not well-formed'],
    ['7f 7f ff ff', 'not well-formed'],
    ['1c', 'not well-formed'],
    ['1f', 'not well-formed'],
    ['df', 'not well-formed'],
    ['f8 10', 'not well-formed'],
    ['ff', 'wrong place'],
    ['c1 00', 'tag'],
    ['00 00', 'after its end']
  ])('refuses %s: %s', (digits, reason) => {
    expect(problemOf(hex(digits))).toContain(reason);
  });

  test('limits of bytes, depth and items', () => {
    const nested = (levels) => Buffer.concat([Buffer.alloc(levels, 0x81), Buffer.from([0])]);
    expect([problemOf(nested(LIMITS.depth)), problemOf(nested(LIMITS.depth + 1))]).toEqual([
      '',
      'is nested deeper than 16 levels'
    ]);
    expect(problemOf(Buffer.alloc(LIMITS.bytes + 1))).toBe('has more than 65536 bytes');
    expect(problemOf(encode(Array(LIMITS.items - 1).fill(0)))).toBe('');
    expect(problemOf(encode(Array(LIMITS.items).fill(0)))).toBe('has too many items');
    expect(problemOf(Buffer.concat([hex('7f'), Buffer.alloc(60000, 0x60), hex('ff')]))).toBe(
      'has too many items'
    );
  });

  test('what passes is decoded, and random bytes never throw anything but a refusal', () => {
    const next = random(7);
    let passed = 0;
    for (let i = 0; i < 20000; i++) {
      const bytes = Buffer.from(
        Array.from({ length: 1 + next() * 12 }, () =>
          next() < 0.5 ? [0xa1, 0x61, 0x81, 0x00, 0xbf, 0xff, 0x7f][Math.floor(next() * 7)] : next() * 256
        )
      );
      const isFine = problemOf(bytes) === '';
      const code = codeOf(() => mapOf(request({ payload: bytes })));
      expect([undefined, '', '4.00']).toContain(code);
      if (isFine) {
        passed++;
        expect(codeOf(() => decode(bytes))).toMatch(/^(4\.00)?$/);
      }
    }
    expect(passed).toBeGreaterThan(500);
  });

  test('a body that is cut anywhere is refused', () => {
    const whole = encode({ di: 'x', links: [{ href: '/a', rt: ['b'], p: { bm: 3 } }], ttl: 70000 });
    for (let end = 0; end < whole.length; end++) expect(problemOf(whole.subarray(0, end))).not.toBe('');
  });
});

test('pieces of CBOR join to what an encoder makes', () => {
  const items = Array.from({ length: 300 }, (_, i) => ({ href: 'x'.repeat(i) }));
  expect(cbor.decodeFirstSync(array(items.map(encode)))).toEqual(items);
  const map = extended(encode({ rt: ['a'] }), [text('ä'.repeat(200)), encode(1), text('b'), encode([2])]);
  expect(cbor.decodeFirstSync(map)).toEqual({ rt: ['a'], ['ä'.repeat(200)]: 1, b: [2] });
  const large = encode(Object.fromEntries(Array.from({ length: 22 }, (_, i) => [`k${i}`, i])));
  expect(
    Object.keys(cbor.decodeFirstSync(extended(large, [text('a'), encode(0), text('b'), encode(0)])))
  ).toHaveLength(24);
  expect(cbor.decodeFirstSync(array(Array(70000).fill(encode(0))))).toHaveLength(70000);
});
