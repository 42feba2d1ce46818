'use strict';

const path = require('node:path');
const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { isSupported } = require('../../../../nodes/lib/kafka/uplink/client');
const { needs } = require('../../../../bench/harness/tools');
const { seeded } = require('../../../fixtures/random');

const WORKER = path.join(__dirname, '../../../fixtures/kafka/protocol-worker.js');
const { describe } = needs(...(isSupported(process.versions.node) ? [] : ['Node.js 22.22 or 24.6']));

/** @param {ReturnType<typeof seeded>} random @param {number} most */
function bytes({ integer }, most) {
  return Buffer.from(Array.from({ length: integer(most + 1) }, () => integer(256)));
}

/** @param {ReturnType<typeof seeded>} random */
function message(random) {
  const { integer } = random;
  return {
    key: bytes(random, 70),
    value: bytes(random, integer(50) === 0 ? 40000 : 200),
    headers: Array.from({ length: 2 * integer(8) }, () => bytes(random, 70)),
    timestamp: integer(8) === 0 ? integer(2 ** 31) * 1000 : 1_790_000_000_000 + integer(1000)
  };
}

const hex = (/** @type {Uint8Array} */ part) => Buffer.from(part).toString('hex');

describe('the record batch of a partition', () => {
  /** @type {Worker} */
  let worker;
  beforeAll(() => (worker = new Worker(WORKER)));
  afterAll(() => worker.terminate());

  /** @param {object[]} messages @param {string} [compression] */
  async function through(messages, compression = 'none') {
    worker.postMessage({ messages, compression });
    const [answer] = await once(worker, 'message');
    return answer;
  }

  test('is readable by the client for any records', async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1e9);
    const random = seeded(seed);
    for (let round = 0; round < 15; round++) {
      const messages = Array.from({ length: 1 + random.integer(100) }, () => message(random));
      const { read, rest, isSum } = await through(messages);
      const { records, ...head } = read;
      const times = messages.map(({ timestamp }) => timestamp);
      expect({ seed, rest, isSum, ...head }).toMatchObject({
        seed,
        rest: 0,
        isSum: true,
        firstOffset: 0n,
        magic: 2,
        attributes: 0,
        lastOffsetDelta: messages.length - 1,
        firstTimestamp: BigInt(times[0]),
        maxTimestamp: BigInt(Math.max(...times)),
        producerId: -1n,
        firstSequence: -1
      });
      const found = records.map((/** @type {any} */ each) => ({
        number: each.offsetDelta,
        timestamp: Number(head.firstTimestamp + each.timestampDelta),
        parts: [each.key, each.value, ...each.headers.flat()].map(hex)
      }));
      const sent = messages.map(({ key, value, headers, timestamp }, number) => ({
        number,
        timestamp,
        parts: [key, value, ...headers].map(hex)
      }));
      expect(found).toEqual(sent);
    }
  });

  test('can be compressed', async () => {
    const random = seeded(3);
    const messages = Array.from({ length: 20 }, () => message(random));
    for (const [name, number] of Object.entries({ gzip: 1, snappy: 2, lz4: 3, zstd: 4 })) {
      const { read, isSum } = await through(messages, name);
      expect([read.attributes, isSum]).toEqual([number, true]);
      const values = read.records.map((/** @type {any} */ { value }) => hex(value));
      expect(values).toEqual(messages.map(({ value }) => hex(value)));
    }
  });
});
