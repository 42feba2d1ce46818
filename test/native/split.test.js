'use strict';

// Split stages in a running engine: hostile plans, what devices and tickets learn, deploys with other parts.

const mqtt = require('mqtt');
const { Engine, Flag, UplinkSource } = require('../../native');
const { until } = require('./support/addon');

/** @type {(() => unknown)[]} */
const ends = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const batch = { mode: 'envelope', format: 'ndjson', minDevices: 0, maxBytes: 4096, maxDelayMs: 20, immediateClass: 1 }; // prettier-ignore

/** Part n has batch stage 10 + 2n, uplink stage 11 + 2n and lanes n. @param {string[]} names @param {object} [more] */
function planOf(names, more = {}) {
  const numbers = names.map((name) => name.charCodeAt(0) - 97);
  return {
    stages: [
      { id: 1, kind: 'source', next: [3], messages: false },
      { id: 2, kind: 'ingest', next: [3], messages: false },
      { id: 3, kind: 'split', next: numbers.map((n) => 10 + 2 * n), messages: false, parts: names, ...more },
      ...numbers.flatMap((n) => [
        { id: 10 + 2 * n, kind: 'batch', next: [11 + 2 * n], messages: false, ...batch },
        { id: 11 + 2 * n, kind: 'uplink', uplink: n, name: `part/${n}`, next: [], messages: false }
      ])
    ]
  };
}

function start(names = ['a', 'b'], more = {}) {
  const engine = new Engine({ workers: 2 }, () => {});
  ends.push(() => engine.close());
  engine.applyPlan(/** @type {any} */ (planOf(names, more)));
  return engine;
}

/** @param {Engine} engine @param {number} uplink @returns {() => any[]} takes the records that wait */
function taker(engine, uplink) {
  const source = new UplinkSource(engine.token, uplink, () => {});
  ends.push(() => source.close());
  const into = Buffer.alloc(65536);
  const meta = new Float64Array(16);
  return () => {
    const records = [];
    for (let length = source.take(into, meta); length >= 0; length = source.take(into, meta)) {
      records.push(...into.toString('utf8', 0, length).trim().split('\n').map((line) => JSON.parse(line))); // prettier-ignore
      source.release(meta[0]);
    }
    return records;
  };
}

test.each([
  [{ parts: undefined }, 'parts must be an array'],
  [{ parts: 'a' }, 'parts must be an array'],
  [{ parts: ['a'] }, 'stage 3: parts and next must have the same length'],
  [{ parts: ['a', 'a'] }, "stage 3: part 'a' is named twice"],
  [{ parts: ['a', ''] }, "stage 3: part '' must be 1 to 64 bytes without ':'"],
  [{ parts: ['a', 'x:y'] }, "stage 3: part 'x:y' must be 1 to 64 bytes without ':'"],
  [{ parts: ['a', 'x'.repeat(65)] }, /must be 1 to 64 bytes/],
  [{ parts: ['a', 1] }, 'part must be a string'],
  [{ rates: [1] }, 'rates and parts must have the same length'],
  [{ rates: [1, -1] }, /^rates must be a whole number from 0 to 1000000/],
  [{ rates: [1, 1e7] }, /^rates must be a whole number/],
  [{ budgets: {} }, 'budgets must be an array'],
  [{ budgets: [1, 2 ** 51] }, /^budgets must be a whole number/],
  [{ next: [10, 10] }, 'stage 3: stage 10 is named twice'],
  [{ next: [10, 1] }, 'stage 3: stage 1 takes no records from other stages'],
  [{ messages: true }, 'stage 3: a split has no messages']
])('refuses %j, and keeps the plan', (more, message) => {
  const engine = start();
  expect(() => engine.applyPlan(/** @type {any} */ (planOf(['a', 'b'], more)))).toThrow(message);
  expect(engine.stats().stages).toHaveLength(7);
});

test('refuses more than 1,024 parts', () => {
  const more = { parts: Array(1025).fill('a') };
  expect(() => start(['a', 'b'], more)).toThrow('parts: more than 1024');
});

test('takes 1,024 parts with a batch and an uplink each', () => {
  const engine = new Engine({ workers: 2 }, () => {});
  ends.push(() => engine.close());
  const parts = Array.from({ length: 1024 }, (_, n) => `tenant-${n}`);
  const stages = [
    { id: 1, kind: 'ingest', next: [2], messages: false },
    { id: 2, kind: 'split', next: parts.map((_, n) => 10 + 2 * n), messages: false, parts },
    ...parts.flatMap((_, n) => [
      { id: 10 + 2 * n, kind: 'batch', next: [11 + 2 * n], messages: false, ...batch },
      { id: 11 + 2 * n, kind: 'uplink', uplink: n, next: [], messages: false }
    ])
  ];
  engine.applyPlan(/** @type {any} */ ({ stages }));
  const take = taker(engine, 1023);
  engine.push(1, 'tenant-1023:pump', 't', Buffer.from('1'), 3, 0, 0, -1, 0);
  return until(() => take().some(({ d }) => d === 'pump'), 'the record');
});

test('reports to tickets and MQTT 5 devices why a record was not taken', async () => {
  const engine = start(['a', 'b'], { rates: [1, 0] });
  for (const [index, device] of ['a:x', 'a:x', 'b:x', 'x'].entries()) {
    engine.push(2, device, 't', Buffer.from('1'), 3, Flag.QOS1, 0, -1, index + 1);
  }
  /** @type {Map<number, number>} */
  const results = new Map();
  await until(() => {
    const pairs = engine.takeCompletions();
    for (let i = 0; i < pairs.length; i += 2) results.set(pairs[i], pairs[i + 1]);
    return results.size === 4;
  }, 'the completions');
  expect([...results].sort()).toEqual([
    [1, 1],
    [2, 5],
    [3, 1],
    [4, 4]
  ]);
  const port = engine.listen(1, { host: '127.0.0.1', port: 0 });
  const client = await mqtt.connectAsync({ host: '127.0.0.1', port, clientId: 'c:x', protocolVersion: 5, reconnectPeriod: 0 }); // prettier-ignore
  ends.push(() => client.endAsync(true));
  await expect(client.publishAsync('t', '1', { qos: 1 })).rejects.toMatchObject({ code: 0x87 });
  expect(engine.stats().drops).toMatchObject({
    noPart: [0, 0, 0, 2, 0, 0, 0, 0, 0],
    partFull: [0, 0, 0, 1, 0, 0, 0, 0, 0]
  });
  const waits = expect.any(Number);
  expect(engine.parts()).toEqual([
    { name: 'a', waitingBytes: waits, refused: 1 },
    { name: 'b', waitingBytes: waits, refused: 0 }
  ]);
  await until(() => engine.parts()[0].waitingBytes > 0, 'the batch');
});

test('keeps records in order while parts come and go', async () => {
  const engine = start(['a', 'b', 'c']);
  const takers = [0, 1, 2, 3].map((n) => taker(engine, n));
  /** @type {Map<string, number[]>} */
  const arrived = new Map();
  const collect = () => {
    for (const [n, take] of takers.entries()) {
      for (const { d, p } of take()) {
        const key = `${'abcd'[n]}:${d}`;
        arrived.set(key, [...(arrived.get(key) ?? []), p]);
      }
    }
  };
  const plans = [['b', 'a', 'd'], ['a', 'b', 'c', 'd'], ['d', 'c', 'b', 'a'], ['a', 'b', 'c']]; // prettier-ignore
  for (let i = 0; i < 400; i++) {
    if (i % 20 === 19) engine.applyPlan(/** @type {any} */ (planOf(plans[(i / 20) & 3])));
    for (const part of ['a', 'b']) engine.push(2, `${part}:x`, 't', Buffer.from(String(i)), 3, 0, 0, -1, 0);
    if (i % 7 === 0) collect();
  }
  const all = Array.from({ length: 400 }, (_, i) => i);
  await until(() => {
    collect();
    return arrived.get('a:x')?.length === 400 && arrived.get('b:x')?.length === 400;
  }, 'all records');
  expect(arrived.get('a:x')).toEqual(all);
  expect(arrived.get('b:x')).toEqual(all);
});
