'use strict';

const { crc32 } = require('node:zlib');
const { BlockError, decodeBlock, encodeBlock, mergePoints } = require('../../../nodes/lib/series/block');
const { Staged, readJournal } = require('../../../nodes/lib/series/journal');
const { seeded } = require('../../fixtures/random');

const START = Date.UTC(2026, 10, 23, 12);
const points = (times, values) => ({ times: Float64Array.from(times), values: Float64Array.from(values) });

/** Ways to draw a value. */
const DRAWS = [
  (r) => r.integer(100),
  (r) => r.integer(1e9) - 5e8,
  (r) => (r.integer(2e6) - 1e6) / 100,
  (r) => (r.integer(2e6) - 1e6) / 1e6,
  (r) => r.bytes(8).readDoubleLE(),
  (r) => [0, -0, 1e308, -1e308, 5e-324, 2 ** 53, -(2 ** 53), 2 ** 51, 0.1, 1 / 3][r.integer(10)],
  (r) => Math.sin(r.integer(1e6)) * 10 ** (r.integer(40) - 20)
];

function draw(random) {
  const count = 1 + random.integer(random.integer(10) === 0 ? 2000 : 70);
  const pace = [1, 10, 1000, 60000][random.integer(4)];
  const kind = DRAWS[random.integer(DRAWS.length)];
  const times = [];
  let time = START + random.integer(2) * random.integer(60000);
  for (let i = 0; i < count; i++) {
    times.push(time);
    time += random.integer(3) === 0 ? 1 + random.integer(pace * 3) : pace;
  }
  const values = times.map(() => {
    const value = random.integer(20) === 0 ? DRAWS[random.integer(DRAWS.length)](random) : kind(random);
    return Number.isFinite(value) ? value : 0;
  });
  return points(times, values);
}

describe('a block', () => {
  test('restores exactly its points', () => {
    const seed = Date.now() % 1e9;
    const random = seeded(seed);
    for (let i = 0; i < 1000; i++) {
      const given = draw(random);
      const body = encodeBlock(given, START);
      const found = decodeBlock(body, START);
      // Object.is also tells zeros apart.
      const same =
        found.times.length === given.times.length &&
        found.times.every((time, at) => time === given.times[at]) &&
        found.values.every((value, at) => Object.is(value, given.values[at]));
      if (!same) throw new Error(`seed ${seed}, block ${i}: ${JSON.stringify([...given.values])}`);
      expect(body.length).toBeLessThanOrEqual(16 + given.times.length * 16);
    }
  });

  test('has at most 10 bytes a point for doubles at a steady pace, and 3 for measured values', () => {
    const times = Array.from({ length: 60 }, (_, i) => START + i * 1000);
    const any = encodeBlock(
      points(
        times,
        times.map((_, i) => Math.sin(i))
      ),
      START
    );
    const measured = encodeBlock(
      points(
        times,
        times.map((_, i) => 20 + (i % 30) / 10)
      ),
      START
    );
    expect(any.length / 60).toBeLessThanOrEqual(10);
    expect(measured.length / 60).toBeLessThanOrEqual(3);
  });

  test('keeps times at the ends of the range of a Date', () => {
    for (const [start, time] of [
      [0, 1],
      [8.64e15 - 60000, 8.64e15 - 1]
    ])
      expect([...decodeBlock(encodeBlock(points([time], [1]), start), start).times]).toEqual([time]);
  });

  test('refuses each change of a byte, each shorter form, and anything else', () => {
    const random = seeded(7);
    const times = Array.from({ length: 30 }, (_, i) => START + i * 900 + random.integer(200));
    const body = encodeBlock(
      points(
        times,
        times.map((_, i) => Math.sin(i))
      ),
      START
    );
    for (let i = 0; i < body.length; i++) {
      const changed = Buffer.from(body);
      changed[i] ^= 1 << random.integer(8);
      expect(() => decodeBlock(changed, START)).toThrow(BlockError);
      expect(() => decodeBlock(body.subarray(0, i), START)).toThrow(BlockError);
    }
    expect(() => decodeBlock(Buffer.concat([body, Buffer.alloc(1)]), START)).toThrow(BlockError);
    expect(() => decodeBlock(Buffer.alloc(0), START)).toThrow(BlockError);
  });

  test('either decodes to valid points or is refused, whatever has a valid checksum', () => {
    const seed = Date.now() % 1e9;
    const random = seeded(seed);
    let decoded = 0;
    for (let i = 0; i < 6000; i++) {
      let body = random.integer(2) ? random.bytes(6 + random.integer(60)) : encodeBlock(draw(random), START);
      for (let changes = random.integer(4); changes > 0; changes--)
        body[5 + random.integer(body.length - 5)] = [0, 1, 0x7f, 0x80, 0xff, random.integer(256)][
          random.integer(6)
        ];
      if (random.integer(4) === 0) body = body.subarray(0, 6 + random.integer(body.length - 5));
      body[0] = 1;
      body.writeUInt32LE(crc32(body.subarray(5)), 1);
      try {
        const { times, values } = decodeBlock(body, START);
        decoded++;
        const isValid =
          values.length === times.length &&
          values.every(Number.isFinite) &&
          times.every((time, at) => Number.isSafeInteger(time) && (at === 0 || time > times[at - 1]));
        if (!isValid) throw new Error(`seed ${seed}, case ${i}: ${body.toString('hex')}`);
      } catch (error) {
        if (!(error instanceof BlockError)) throw error;
      }
    }
    expect(decoded).toBeGreaterThan(0);
  });
});

describe('merged points', () => {
  test('are in the order of their times, and the last of the same time stays', () => {
    const late = { times: [START + 5, START + 1, START + 5], values: [1, 2, 3] };
    const { times, values, doubled } = mergePoints([points([START, START + 5], [8, 9]), late]);
    expect([...times]).toEqual([START, START + 1, START + 5]);
    expect([...values]).toEqual([8, 2, 3]);
    expect(doubled).toBe(2);
  });

  test('equal those of a map, for points in any order', () => {
    const random = seeded(11);
    for (let round = 0; round < 300; round++) {
      const expected = new Map();
      const sources = Array.from({ length: 1 + random.integer(4) }, () => {
        const times = Array.from({ length: random.integer(20) }, () => random.integer(30));
        const values = times.map(() => random.integer(100));
        times.forEach((time, at) => expected.set(time, values[at]));
        return { times, values };
      });
      const { times, values } = mergePoints(sources);
      const found = Array.from(times, (time, at) => [time, values[at]]);
      expect(found).toEqual([...expected].sort(([a], [b]) => a - b));
    }
  });
});

describe('a row of the journal', () => {
  const staged = new Staged();
  for (let i = 0; i < 100; i++) staged.add(/** @type {any} */ ({ id: i + 1 }), START + i, i / 3);
  const [row] = staged.rows();

  test('returns its points in order', () => {
    const found = [];
    expect(readJournal(row, (...point) => found.push(point))).toBe(true);
    expect(found).toEqual(Array.from({ length: 100 }, (_, i) => [i + 1, START + i, i / 3]));
  });

  test('is refused as a whole when a byte is changed or missing', () => {
    const visit = jest.fn();
    for (let i = 0; i < row.length; i++) {
      const changed = Buffer.from(row);
      changed[i] ^= 1;
      expect(readJournal(changed, visit)).toBe(false);
      expect(readJournal(row.subarray(0, i), visit)).toBe(false);
    }
    expect(visit).not.toHaveBeenCalled();
  });

  test('has at most 50,000 points; more are in several rows', () => {
    const many = new Staged();
    for (let i = 0; i < 120000; i++) many.add(/** @type {any} */ ({ id: 1 }), i, i);
    expect([...many.rows()].map(({ length }) => (length - 4) / 20)).toEqual([50000, 50000, 20000]);
  });
});
