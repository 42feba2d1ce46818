'use strict';
// The format of chunks in JavaScript; the golden bytes are those of native/test/log/chunk_test.cc.

const fs = require('node:fs');
const path = require('node:path');
const { seeded } = require('../../fixtures/random');
const { batchKey, splitEntries, splitLines, splitSingle } = require('../../../nodes/lib/store/batch-records');
const { joinChunk, readChunk, writeChunk, HEAD_BYTES } = require('../../../nodes/lib/store/log-chunk');
const { crc32c } = require('../../../nodes/lib/store/crc32c');

const root = path.join(__dirname, '../../..');

/** @param {string} text */
const fromHex = (text) => Buffer.from(text.replace(/\s/g, ''), 'hex');
const golden = fromHex(
  fs.readFileSync(path.join(root, 'native/test/golden/chunk-v1.hex'), 'utf8').replace(/^#.*$/gm, '')
);

/** True if these are some of those batches, each whole. @param {any[]} some @param {any[]} all */
const areSomeOf = (some, all) =>
  some.every(({ at, bytes }) => all.some((one) => one.at === at && one.bytes.equals(bytes)));

/**
 * @param {Buffer} bytes
 * @param {number} at
 * @param {number[]} values
 * @param {number} [from] start of the head or entry
 */
function patched(bytes, at, values, from = 0) {
  const copy = Buffer.from(bytes);
  Buffer.from(values).copy(copy, from + at);
  if (from === 0) copy.writeUInt32LE(crc32c(copy, 0, 28), 28);
  else copy.writeUInt32LE(crc32c(copy, from + 56, from + 56 + 31, crc32c(copy, from, from + 52)), from + 52);
  return copy;
}

describe('CRC-32C', () => {
  // RFC 3720, appendix B.4, and the check value of the catalogues.
  test.each([
    ['zeros', Buffer.alloc(32), 0x8a9136aa],
    ['ones', Buffer.alloc(32, 255), 0x62a8ab43],
    ['counting up', Buffer.from(Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e],
    ['counting down', Buffer.from(Array.from({ length: 32 }, (_, i) => 31 - i)), 0x113fdb5c],
    [
      'an iSCSI read',
      fromHex(`01c00000 00000000 00000000 00000000 14000000 00000400 00000014 00000018
        28000000 00000000 02000000 00000000`),
      0xd9963a56
    ],
    ['digits', Buffer.from('123456789'), 0xe3069283],
    ['nothing', Buffer.alloc(0), 0]
  ])('of %s', (_name, bytes, expected) => {
    expect(crc32c(bytes)).toBe(expected);
  });

  test('continues at any offset', () => {
    const bytes = seeded(7).bytes(100);
    const whole = crc32c(bytes);
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(crc32c(bytes, cut, bytes.length, crc32c(bytes, 0, cut))).toBe(whole);
    }
  });
});

describe('a chunk', () => {
  const whole = readChunk(golden);

  test.each([5, 6, 7, 8])('of class %i is as good as any other', (cls) => {
    const { error, head } = readChunk(patched(golden, 5, [cls]));
    expect([error, head?.class]).toEqual(['', cls]);
  });

  test('is read from the golden bytes', () => {
    expect(whole.error).toBe('');
    expect(whole.head).toEqual({ class: 3, batches: 3, records: 5, bytes: 428, epoch: 1806041088126729n });
    expect(whole.entries.map(({ kind, sequence, records }) => [kind, sequence, records])).toEqual([
      [0, 10423n, 1],
      [1, 10424n, 2],
      [2, 10430n, 2]
    ]);
    expect(whole.entries[0]).toMatchObject({
      firstTs: 1763712000123,
      lastTs: 1763712000123,
      oldestUs: 91000123,
      recordBytes: 12,
      topicBytes: 12,
      deviceBytes: 7,
      flags: 1
    });
    expect(whole.entries[2]).toMatchObject({ lastTs: 1763712000150, reason: 3 });
  });

  test('is written as the golden bytes', () => {
    expect(writeChunk(3, 1806041088126729n, whole.entries)).toEqual(golden);
    const parts = whole.entries.map(({ at, end }) => golden.subarray(at, end));
    const {
      class: cls,
      epoch,
      records,
      batches
    } = /** @type {import('../../../nodes/lib/store/log-chunk').Head} */ (whole.head);
    expect(joinChunk({ class: cls, epoch, records, batches }, parts)).toEqual(golden);
  });

  test('matches docs/reference/log-format.md', () => {
    const text = fs.readFileSync(path.join(root, 'docs/reference/log-format.md'), 'utf8');
    const example = /```hex\n([^]*?)```/.exec(text)?.[1] ?? '';
    // Each line: offset, two spaces, bytes, two spaces, words.
    const bytes = example.replace(/^ *\d+ {2}((?:[0-9a-f]{2} ?)+).*$/gm, '$1');
    expect(fromHex(bytes)).toEqual(golden);
  });

  test('is damaged by any one flipped bit, and loses at most the affected batches', () => {
    const first = whole.entries[0];
    const wrong = [];
    for (let bit = 0; bit < golden.length * 8; bit++) {
      const at = bit >> 3;
      const bytes = Buffer.from(golden);
      bytes[at] ^= 1 << (bit & 7);
      const { error, entries } = readChunk(bytes);
      const inLength = at >= HEAD_BYTES + 40 && at < HEAD_BYTES + 44;
      let fits = entries.length < 3;
      if (at < HEAD_BYTES) fits = entries.length === 3;
      else if (at < first.end && !inLength) fits = entries.length === 2;
      if (error === '' || !fits || !areSomeOf(entries, whole.entries)) wrong.push({ bit, error });
    }
    expect(wrong).toEqual([]);
  });

  test('is too short when cut at any byte, and keeps the whole batches', () => {
    for (let length = 0; length < golden.length; length++) {
      const { error, entries } = readChunk(golden.subarray(0, length));
      expect(error).toBe('too short');
      expect(entries).toEqual(whole.entries.filter(({ end }) => end <= length));
    }
  });

  test.each([
    ['magic', 0, [0x53, 0x47, 0x43, 0x32], 'not a chunk'],
    ['a newer version', 4, [2], 'of a newer version'],
    ['class 0', 5, [0], 'damaged head'],
    ['class 9', 5, [9], 'damaged head'],
    ['no batches', 6, [0, 0], 'damaged head'],
    ['too few batches', 6, [2], 'wrong counts'],
    ['too many records', 8, [6], 'wrong counts'],
    ['fewer bytes', 12, [0], 'wrong counts'],
    ['more bytes', 12, [0xff, 0xff, 0xff, 0xff], 'too short'],
    ['a field that must be zero', 27, [0x80], 'damaged head']
  ])('with a head of %s is refused though its checksum is right', (_name, at, values, error) => {
    expect(readChunk(patched(golden, at, values)).error).toBe(error);
  });

  test.each([
    ['kind 3', 48, [3]],
    ['no records', 32, [0]],
    ['two records in a single one', 32, [2]],
    ['longer names than bytes', 44, [0x19]],
    ['the longest names', 44, [255, 255, 255, 255]],
    ['a byte that must be zero', 51, [1]]
  ])('with a batch of %s is refused though its checksum is right', (_name, at, values) => {
    const { error, entries } = readChunk(patched(golden, at, values, HEAD_BYTES));
    expect(error).toBe('damaged batch');
    expect(entries).toEqual(whole.entries.slice(1));
  });

  test('with bytes left over is refused', () => {
    const { error, entries } = readChunk(Buffer.concat([golden, Buffer.alloc(1)]));
    expect(error).toBe('wrong counts');
    expect(entries).toHaveLength(3);
  });

  test('is read as it was written', () => {
    const seed = Number(process.env.SEGANET_SEED ?? Date.now() & 0x7fffffff);
    const { integer, bytes } = seeded(seed);
    for (let round = 0; round < 100; round++) {
      const entries = Array.from({ length: 1 + integer(10) }, () => {
        const kind = integer(3);
        const data = bytes(integer(200));
        const topicBytes = integer(data.length + 1);
        return {
          kind,
          bytes: data,
          sequence: BigInt(integer(2 ** 31)) * BigInt(integer(2 ** 31)),
          records: kind === 0 ? 1 : 1 + integer(1000),
          recordBytes: integer(2 ** 31),
          topicBytes,
          deviceBytes: integer(data.length - topicBytes + 1),
          firstTs: integer(2 ** 31) * 1000,
          lastTs: -integer(2 ** 31),
          oldestUs: integer(2 ** 31) * 1000,
          reason: integer(256),
          flags: integer(256)
        };
      });
      const cls = 1 + integer(4);
      const got = readChunk(writeChunk(cls, BigInt(round), entries));
      const context = `SEGANET_SEED=${seed}, round ${round}`;
      expect({ context, error: got.error, class: got.head?.class }).toEqual({
        context,
        error: '',
        class: cls
      });
      expect(got.entries.map(({ at: _at, end: _end, ...entry }) => entry)).toEqual(entries);
    }
  });
});

describe('a batch', () => {
  const { head, entries } = readChunk(golden);

  test('of one record gives its names and payload', () => {
    const { device, topic, payload, flags } = splitSingle(entries[0]);
    expect([device, topic, payload].map(String)).toEqual(['meter-7', 'hall/meter-7', '{"kWh":12.5}']);
    expect(flags).toBe(1);
    expect(() => splitSingle({ ...entries[0], topicBytes: 25 })).toThrow(RangeError);
  });

  test('of lines gives each without its end', () => {
    const lines = [...splitLines(entries[1].bytes)].map((line) => JSON.parse(line.toString()));
    expect(lines).toMatchObject([
      { d: 'meter-7', s: 42, p: { kWh: 12.6 } },
      { d: 'cam-2', s: 7, b: '/9j/4AAQ' }
    ]);
    expect([...splitLines(Buffer.from('a\n\nb'))].map(String)).toEqual(['a', 'b']);
    expect([...splitLines(Buffer.alloc(0))]).toEqual([]);
  });

  test('of entries gives each, and throws where one is cut', () => {
    const bytes = entries[2].bytes;
    const got = [...splitEntries(bytes)];
    expect(got.map(({ device, topic, flags }) => [String(device), String(topic), flags])).toEqual([
      ['meter-7', 'hall/meter-7', 1],
      ['cam-2', 'gate/cam-2', 2]
    ]);
    expect(got[1].payload.toString('hex')).toBe('ffd8ffe00010');
    const firstEnd = 8 + 7 + 12 + 12;
    for (let length = 1; length < bytes.length; length++) {
      if (length === firstEnd) continue;
      expect(() => [...splitEntries(bytes.subarray(0, length))]).toThrow(RangeError);
    }
  });

  test('has the key that the cloud sees', () => {
    expect(batchKey(/** @type {NonNullable<typeof head>} */ (head), entries[0])).toBe(
      `${(1806041088126729).toString(36)}/3/10423`
    );
  });
});
