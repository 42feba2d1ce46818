'use strict';

const path = require('node:path');
const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { isSupported } = require('../../../../nodes/lib/kafka/uplink/client');
const { ProduceApi } = require('../../../../nodes/lib/kafka/uplink/produce-api');
const { needs } = require('../../../../bench/harness/tools');
const { seeded } = require('../../../fixtures/random');

const WORKER = path.join(__dirname, '../../../fixtures/kafka/protocol-worker.js');
const { describe } = needs(...(isSupported(process.versions.node) ? [] : ['Node.js 22.22 or 24.6']));

const int16 = (/** @type {number} */ value) => [(value >> 8) & 255, value & 255];
const int32 = (/** @type {number} */ value) => [...int16(value >> 16), ...int16(value)];
const text = (/** @type {string | null} */ value) =>
  value === null ? int16(-1) : [...int16(value.length), ...Buffer.from(value)];

/** An answer of a broker. @param {any[]} topics @param {number} version */
function answerOf(topics, version) {
  const bytes = topics.flatMap(({ name, partitions }) => [
    ...text(name),
    ...int32(partitions.length),
    ...partitions.flatMap((/** @type {any} */ { index, code, detail = null, records = [] }) => [
      ...int32(index),
      ...int16(code),
      ...Array(24).fill(0),
      ...(version < 8
        ? []
        : [
            ...int32(records.length),
            ...records.flatMap((/** @type {string | null} */ reason, /** @type {number} */ i) => [
              ...int32(i),
              ...text(reason)
            ]),
            ...text(detail)
          ])
    ])
  ]);
  return Buffer.from([...int32(topics.length), ...bytes, ...int32(0)]);
}

test.each([
  [7, [{ apiKey: 0, maxVersion: 7 }]],
  [8, [{ apiKey: 0, maxVersion: 8 }]],
  [8, [{ apiKey: 0, maxVersion: 13 }]],
  [8, []]
])('sends requests of version %i to brokers with %j', (version, apis) => {
  const api = new ProduceApi({ compressionsAlgorithms: {} }, { compression: 'none', timeoutMs: 1 });
  api.negotiate(apis);
  expect(api.version).toBe(version);
});

test('has an error for a number that the client does not know', () => {
  const client = { compressionsAlgorithms: {}, protocolErrorsCodesById: { 3: 'KNOWN' } };
  const api = new ProduceApi(client, { compression: 'none', timeoutMs: 1 });
  expect(api.errorOf({ code: 9999, detail: null })).toMatchObject({ apiId: 'ERROR_9999', apiCode: 9999 });
});

describe('the answer to a produce request', () => {
  /** @type {Worker} */
  let worker;
  beforeAll(() => (worker = new Worker(WORKER)));
  afterAll(() => worker.terminate());

  /** @param {Buffer} answer @param {number} version */
  async function read(answer, version) {
    worker.postMessage({ answer, version });
    const [result] = await once(worker, 'message');
    return result;
  }

  test.each([7, 8])('has a result for each partition, in version %i', async (version) => {
    const topics = [
      {
        name: 'a',
        partitions: [
          { index: 0, code: 0 },
          { index: 11, code: 29, detail: 'not allowed' }
        ]
      },
      { name: 'b', partitions: [{ index: 0, code: 87, records: [null, 'too old', 'as well', null] }] }
    ];
    const { results, rest } = await read(answerOf(topics, version), version);
    const detail = (/** @type {string} */ reason) => (version < 8 ? null : reason);
    expect(rest).toBe(0);
    expect(Object.fromEntries(results)).toEqual({
      '0 a': { code: 0, detail: null },
      '11 a': { code: 29, detail: detail('not allowed') },
      '0 b': { code: 87, detail: detail('too old') }
    });
  });

  test('may be cut or changed anywhere: it is read or refused', async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1e9);
    const { integer } = seeded(seed);
    const whole = answerOf(
      [{ name: 'topic', partitions: [{ index: 1, code: 6, detail: 'moved', records: ['r'] }] }],
      8
    );
    for (let length = 0; length < whole.length; length++) {
      const { error } = await read(whole.subarray(0, length), 8);
      expect({ length, error: typeof error }).toEqual({ length, error: 'string' });
    }
    for (let round = 0; round < 300; round++) {
      const changed = Buffer.from(whole);
      for (let i = 0; i <= integer(4); i++) changed[integer(changed.length)] = integer(256);
      const answer = await read(changed, 7 + integer(2));
      expect({ seed, isEither: 'error' in answer || 'results' in answer }).toEqual({ seed, isEither: true });
    }
  });
});
