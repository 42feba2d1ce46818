'use strict';

const { KeyWindow } = require('../../../nodes/lib/unbatch/key-window');
const { parseKey, keyBytes } = require('../../../nodes/lib/unbatch/record-key');
const { seeded } = require('../../fixtures/random');

const key = (text) => parseKey(text);

describe('the key', () => {
  test('is gateway, epoch, class and sequence, and may name a piece', () => {
    expect(key('pi-1/mdl3k2x1q/3/10423')).toEqual({
      key: 'pi-1/mdl3k2x1q/3/10423',
      gateway: 'pi-1',
      epoch: 'mdl3k2x1q',
      lane: 3,
      sequence: 10423,
      part: null
    });
    expect(key('pi-1/mdl3k2x1q/3/10423.12').part).toBe(12);
  });

  test.each([
    undefined,
    null,
    7,
    '',
    'a/b/3',
    'a/b/0/1',
    'a/b/9/1',
    'a/B/3/1',
    'a/b/3/-1',
    'a/b/3/1.',
    'a/b/3/1.x',
    '/b/3/1',
    'a/b/c/3/1',
    'a\0/b/3/1',
    `a/b/3/${'9'.repeat(16)}`,
    `a/b/3/${'1'.repeat(17)}`,
    `${'g'.repeat(129)}/b/3/1`,
    'a/b/3/1\n'
  ])('is not %j', (text) => {
    expect(key(text)).toBeNull();
  });

  test.each(['gw', 'é', 'a"b\\c', 'x'.repeat(128)])(
    'of gateway %s adds no more bytes than the limit leaves',
    (gateway) => {
      const longest = `${gateway}/${'z'.repeat(11)}/4/${Number.MAX_SAFE_INTEGER}`;
      expect(Buffer.byteLength(`"k":${JSON.stringify(longest)},`)).toBe(keyBytes(gateway));
    }
  );
});

describe('the window', () => {
  test('detects the second copy, of a whole batch and of a piece', () => {
    const window = new KeyWindow(10, 10);
    for (const text of ['g/e/3/1', 'g/e/3/2.0', 'g/e/3/2.1']) {
      expect(window.has(key(text), 4)).toBe(false);
      window.add(key(text), 4);
      expect(window.has(key(text), 4)).toBe(true);
    }
    expect(window.has(key('g/e/3/2'), 4)).toBe(false);
    expect(window.has(key('g/e/3/1.3'), 1)).toBe(true);
  });

  test('knows the pieces of an envelope: half of a piece that arrived, and a piece whose halves arrived', () => {
    const window = new KeyWindow(100, 10);
    window.add(key('g/e/3/1.2'), 8);
    for (const text of ['g/e/3/1.2', 'g/e/3/1.4', 'g/e/3/1.5', 'g/e/3/1.11'])
      expect(window.has(key(text), 2, true)).toBe(true);
    for (const text of ['g/e/3/1', 'g/e/3/1.3', 'g/e/3/1.6'])
      expect(window.has(key(text), 2, true)).toBe(false);
    window.add(key('g/e/3/1.6'), 4);
    expect(window.has(key('g/e/3/1'), 16, true)).toBe(false);
    window.add(key('g/e/3/1.14'), 2);
    window.add(key('g/e/3/1.15'), 2);
    for (const [part, count] of [
      ['.7', 4],
      ['.3', 8],
      ['', 16]
    ])
      expect(window.has(key(`g/e/3/1${part}`), Number(count), true)).toBe(true);
    expect(window.has(key('g/e/3/1'), 17, true)).toBe(false);
  });

  test('does not take a single record of a batch for a piece of another', () => {
    const window = new KeyWindow(100, 10);
    window.add(key('g/e/3/1.2'), 1);
    window.add(key('g/e/3/1.3'), 1);
    for (const text of ['g/e/3/1.4', 'g/e/3/1.1', 'g/e/3/1.6', 'g/e/3/1'])
      expect(window.has(key(text), 1)).toBe(false);
  });

  test('keeps gateways, starts and classes apart', () => {
    const window = new KeyWindow(10, 10);
    window.add(key('g/e/3/1'), 1);
    for (const text of ['h/e/3/1', 'g/f/3/1', 'g/e/4/1', 'g/e/3/11'])
      expect(window.has(key(text), 1)).toBe(false);
  });

  test('does not take a copy with more records than the previous one for a duplicate', () => {
    const window = new KeyWindow(10, 10);
    window.add(key('g/e/3/1'), 2);
    expect(window.has(key('g/e/3/1'), 3)).toBe(false);
    expect(window.has(key('g/e/3/1'), 1)).toBe(true);
  });

  test('forgets the least recently used lane', () => {
    const window = new KeyWindow(10, 2);
    window.add(key('a/e/3/1'), 1);
    window.add(key('b/e/3/1'), 1);
    expect(window.has(key('a/e/3/1'), 1)).toBe(true);
    window.add(key('c/e/3/1'), 1);
    expect(window.lanes).toBe(2);
    expect(window.has(key('b/e/3/1'), 1)).toBe(false);
    expect(window.has(key('a/e/3/1'), 1)).toBe(true);
  });

  test('remembers a number of keys in all lanes together, and forgets those of the least recently used lane', () => {
    const window = new KeyWindow(10, 10, 12);
    for (const gateway of ['a', 'b', 'c'])
      for (let i = 0; i < 6; i++) window.add(key(`${gateway}/e/3/${i}`), 1);
    expect([window.size, window.lanes]).toEqual([12, 2]);
    window.add(key('c/e/3/6'), 1);
    expect(window.size).toBe(12);
    expect(window.has(key('b/e/3/0'), 1)).toBe(false);
    expect(window.has(key('b/e/3/1'), 1)).toBe(true);
    expect(window.has(key('a/e/3/5'), 1)).toBe(false);
  });

  const seed = Number(process.env.SEED) || Date.now() % 2 ** 31;

  test(`remembers exactly the last N that arrived, as a plain list does (SEED=${seed})`, () => {
    const { integer } = seeded(seed);
    for (let round = 0; round < 200; round++) {
      const size = 1 + integer(8);
      const window = new KeyWindow(size, 100);
      /** The newest last. @type {string[]} */
      let list = [];
      for (let step = 0; step < 100; step++) {
        const text = `g/e/3/${integer(16)}`;
        const reported = window.has(key(text), 1);
        if (!reported) window.add(key(text), 1);
        expect([round, step, reported]).toEqual([round, step, list.includes(text)]);
        list = [...list.filter((each) => each !== text), text].slice(-size);
      }
    }
  });

  test(`never takes new data for a duplicate, pieces and sizes included (SEED=${seed})`, () => {
    const { integer } = seeded(seed);
    for (let round = 0; round < 200; round++) {
      const window = new KeyWindow(1 + integer(20), 1 + integer(3));
      /** Most records that came with a key. @type {Map<string, number>} */
      const arrived = new Map();
      for (let step = 0; step < 100; step++) {
        const whole = `g${integer(3)}/e/3/${integer(8)}`;
        const text = integer(2) === 0 ? whole : `${whole}.${integer(3)}`;
        const count = 1 + integer(3);
        const reported = window.has(key(text), count);
        const most = Math.max(arrived.get(text) ?? 0, arrived.get(whole) ?? 0);
        if (reported) expect([round, step, most >= count]).toEqual([round, step, true]);
        else window.add(key(text), count);
        arrived.set(text, Math.max(arrived.get(text) ?? 0, count));
      }
    }
  });
});

describe('with publishers that cannot name each other', () => {
  const publisherOf = (/** @type {string} */ lane) => lane.slice(0, lane.indexOf('/'));
  const keyOf = (/** @type {string} */ text) => /** @type {any} */ (parseKey(text));

  test('a publisher that begins many lanes forgets its own ones only', () => {
    const seen = new KeyWindow(10, 20, 1000, publisherOf);
    for (let lane = 1; lane <= 4; lane++) seen.add(keyOf(`pi-1/abc/${lane}/1`), 1);
    for (let epoch = 0; epoch < 1000; epoch++) seen.add(keyOf(`pi-2/e${epoch}/3/1`), 1);
    expect([1, 2, 3, 4].map((lane) => seen.has(keyOf(`pi-1/abc/${lane}/1`), 1))).toEqual(Array(4).fill(true));
    expect(seen.lanes).toBe(20);
    expect(seen.has(keyOf('pi-2/e999/3/1'), 1)).toBe(true);
  });

  test('a publisher that sends many keys forgets its own ones only', () => {
    const seen = new KeyWindow(100, 50, 200, publisherOf);
    for (let n = 0; n < 80; n++) seen.add(keyOf(`pi-1/abc/3/${n}`), 1);
    for (let n = 0; n < 2000; n++) seen.add(keyOf(`pi-2/e${n % 40}/3/${n}`), 1);
    const kept = Array.from({ length: 80 }, (_, n) => seen.has(keyOf(`pi-1/abc/3/${n}`), 1));
    expect(kept).toEqual(Array(80).fill(true));
    expect(seen.size).toBe(200);
  });

  test('keeps its counts, whatever is added and removed', () => {
    const random = seeded(5);
    const seen = new KeyWindow(5, 6, 20, publisherOf);
    for (let i = 0; i < 20000; i++) {
      const made = keyOf(
        `g${random.integer(4)}/e${random.integer(3)}/${1 + random.integer(2)}/${random.integer(9)}`
      );
      if (random.integer(4) === 0) seen.remove(made);
      else seen.add(made, 1);
      if (i % 500 === 0) {
        const lanes = seen.entries();
        expect([seen.lanes, seen.size]).toEqual([lanes.length, lanes.flatMap(([, keys]) => keys).length]);
        expect(seen.lanes <= 6 && seen.size <= 20).toBe(true);
      }
    }
  });
});
