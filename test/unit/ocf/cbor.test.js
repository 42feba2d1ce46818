'use strict';
// CBOR of clients: what is decoded, what is refused before that, and how answers are joined.

const cbor = require('cbor');
const { decode, encode, mapOf } = require('../../../nodes/lib/ocf/cloud/bodies');
const { LIMITS, problemOf } = require('../../../nodes/lib/ocf/cloud/cbor-bounds');
const { encodeFound } = require('../../../nodes/lib/ocf/store/found-links');
const { seeded } = require('../../fixtures/random');
const { codeOf, hex, request } = require('../../fixtures/ocf/requests');

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
    const { next } = seeded(7);
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
    const { next } = seeded(Number(process.env.SEGANET_SEED) || 7);
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

describe('bodies', () => {
  test('are written as by the package cbor', () => {
    const values = [1.5, 1.1, -0, NaN, -Infinity, 2 ** 32, 2 ** 60, -(2 ** 53), undefined, null, 'é\ud800'];
    for (const value of [...values, Buffer.from([1]), new Map([[1, 2]]), new Date(1500)]) {
      for (const body of [value, { a: value, f: () => {} }, [[value]]])
        expect(encode(body)).toEqual(cbor.encodeOne(body));
    }
  });

  test('keep whole numbers of 64 bits, simple values and floats', () => {
    for (const digits of [
      'a161611bffffffffffffffff',
      'a161613b7fffffffffffffff',
      'a16161f8ff',
      'a16161fa3fc00000'
    ]) {
      expect(encode(decode(hex(digits))).toString('hex')).toBe(digits);
    }
  });

  test('with a key twice are refused', () => {
    expect(() => decode(hex('a2 61 61 01 61 61 02'))).toThrow(
      expect.objectContaining({
        code: '4.00',
        message: 'The CBOR body is invalid: it has a map key twice.'
      })
    );
  });

  test('whose map has the key __proto__ are no map', () => {
    const payload = hex('a1 69 5f5f70726f746f5f5f a0');
    expect(decode(payload)).toEqual(new Map([['__proto__', {}]]));
    expect(() => mapOf(request({ payload }))).toThrow(expect.objectContaining({ code: '4.00' }));
  });
});
