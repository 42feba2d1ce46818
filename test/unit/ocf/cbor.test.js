'use strict';
// CBOR of clients: what is decoded, what is refused before that, and how answers are joined.

const { isDeepStrictEqual } = require('node:util');
const cbor = require('cbor');
const { decode, encode, mapOf } = require('../../../nodes/lib/ocf/cloud/bodies');
const { LIMITS, problemOf } = require('../../../nodes/lib/ocf/cloud/cbor-bounds');
const { decodePlain, encodePlain } = require('../../../nodes/lib/ocf/cloud/cbor-plain');
const { encodeFound } = require('../../../nodes/lib/ocf/store/found-links');
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

describe('found links', () => {
  const endpoint = 'coaps+tcp://cloud.example:5684';
  const eps = [{ ep: endpoint, pri: 1 }];
  /** @param {number} i @param {object} [body] */
  const found = (i, body = { rt: ['a'] }) => ({
    di: `d${i % 3}`,
    href: `/ä${'x'.repeat(i)}`,
    ins: i * 40,
    expires: 0,
    body: new Uint8Array(encode(body))
  });
  /** @param {ReturnType<typeof found>} link @param {object} [body] */
  const shown = ({ di, href, ins }, body = { rt: ['a'] }) => ({
    ...body,
    anchor: `ocf://${di}`,
    href: `/oic/route/${di}${href}`,
    ins,
    eps
  });

  test('join to what an encoder makes', () => {
    for (const count of [0, 1, 23, 24, 255, 256, 300]) {
      const links = Array.from({ length: count }, (_, i) => found(i));
      const bytes = encodeFound(links, { endpoint, isGrouped: false });
      expect(bytes.buffer.byteLength).toBe(bytes.length);
      expect(decode(Buffer.from(bytes))).toEqual(links.map((link) => shown(link)));
    }
  });

  test('are grouped by device for older clients', () => {
    const links = Array.from({ length: 7 }, (_, i) => found(i));
    const groups = decode(Buffer.from(encodeFound(links, { endpoint, isGrouped: true })));
    const of = (di) => links.filter((link) => link.di === di).map((link) => shown(link));
    expect(groups).toEqual(['d0', 'd1', 'd2'].map((di) => ({ di, links: of(di) })));
  });

  test('keep a map whose head grows, and any body', () => {
    const body = Object.fromEntries(Array.from({ length: 22 }, (_, i) => [`k${i}`, 'é'.repeat(i * 9)]));
    const link = found(70000, body);
    const bytes = Buffer.from(encodeFound([link], { endpoint, isGrouped: false }));
    expect(decode(bytes)).toEqual([shown(link, body)]);
  });

  test('are encoded in any size', () => {
    const next = random(Number(process.env.SEGANET_SEED) || 7);
    for (let round = 0; round < 50; round++) {
      const size = () => Math.floor(next() * 400);
      const links = Array.from({ length: 1 + (size() % 20) }, (_, i) => ({
        ...found(size(), { n: '€'.repeat(size()) }),
        di: `${i}${'€'.repeat(size())}`
      }));
      const isGrouped = next() < 0.5;
      const parts = decode(Buffer.from(encodeFound(links, { endpoint: '€'.repeat(size()), isGrouped })));
      const flat = isGrouped ? parts.flatMap((each) => each.links) : parts;
      expect(flat.map(({ ins }) => ins).sort()).toEqual(links.map(({ ins }) => ins).sort());
    }
  });
});

describe('plain values', () => {
  /** @param {() => number} next 0 to 1 @param {number} depth @returns {unknown} */
  const valueOf = (next, depth) => {
    const whole = (/** @type {number} */ below) => Math.floor(next() * below);
    const sizes = [0, 1, 23, 24, 255, 256];
    const bounds = [0, 23, 24, 255, 256, 65535, 65536, 2 ** 32 - 1];
    const few = () => Array.from({ length: whole(5) }, () => valueOf(next, depth - 1));
    const kinds = [
      () => bounds[whole(bounds.length)],
      () => -bounds[1 + whole(bounds.length - 1)],
      () => ['', 'a', 'é', '\u{1f600}', '\ud800', '\0'][whole(6)].repeat(1 + whole(30)),
      () => [true, false, null][whole(3)],
      () => Buffer.alloc(sizes[whole(sizes.length)], 7),
      () => (depth > 0 ? few() : 0),
      () => (depth > 0 ? Object.fromEntries(few().map((value, i) => [`k${i}\u00e9`, value])) : {})
    ];
    return kinds[whole(kinds.length)]();
  };

  test('are written as by the package cbor, and read', () => {
    const seed = Number(process.env.SEGANET_SEED ?? 11);
    const next = random(seed);
    for (let i = 0; i < 300; i++) {
      const value = valueOf(next, 3);
      const plain = encodePlain(value);
      expect(plain).not.toBeNull();
      if (!plain?.equals(cbor.encodeOne(value, { highWaterMark: 1 << 20 }))) {
        throw new Error(`seed ${seed}, value ${i}: ${JSON.stringify(value)}`);
      }
      // Text with a replacement character is for the package.
      const read = decodePlain(plain);
      if (read || !JSON.stringify(value).includes('\\ud800'))
        expect(isDeepStrictEqual(read, { value })).toBe(true);
    }
  });

  test('of another kind are left to the package', () => {
    const deep = JSON.parse('['.repeat(17) + ']'.repeat(17));
    const others = [
      1.5,
      -0,
      2 ** 32,
      -(2 ** 32),
      NaN,
      1n,
      undefined,
      () => {},
      Symbol('a'),
      new Map(),
      new Date(0)
    ];
    for (const value of [...others, new Uint8Array(2), new cbor.Tagged(1, 2), Object.create(null), deep]) {
      expect(encodePlain(value)).toBeNull();
      if (typeof value === 'object') expect(encodePlain({ a: [value] })).toBeNull();
    }
    expect(decodePlain(Buffer.from('a2616101616102', 'hex'))).toBeNull();
    expect(() => decode(hex('a2 61 61 01 61 61 02'))).toThrow('invalid');
    expect(encode({ a: 1.5, b: [2 ** 40] })).toEqual(cbor.encodeOne({ a: 1.5, b: [2 ** 40] }));
  });

  test('of random bytes are read as by the package, or left to it', () => {
    const next = random(Number(process.env.SEGANET_SEED ?? 12));
    let read = 0;
    for (let i = 0; i < 600; i++) {
      const value = valueOf(next, 3);
      const bytes = encode(value);
      if (bytes.length > 2000) continue;
      for (let n = Math.floor(next() * 3); n > 0; n--)
        bytes[Math.floor(next() * bytes.length)] = next() * 256;
      const found = decodePlain(bytes.subarray(0, bytes.length - Math.floor(next() * 2)));
      if (!found) continue;
      read++;
      const cut = encodePlain(found.value);
      expect(
        cbor.decodeFirstSync(bytes.subarray(0, bytes.length), {
          preventDuplicateKeys: true,
          extendedResults: true
        }).value
      ).toEqual(found.value);
      expect(cut).not.toBeNull();
    }
    expect(read).toBeGreaterThan(50);
  });
});
