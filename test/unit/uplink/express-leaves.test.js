'use strict';

// Work that the express path leaves to the feeder, and how its in-flight records continue.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { until } = require('../../../bench/harness/broker');
const { delivered, express, pause } = require('../../fixtures/uplink/express');
const { stage } = require('../../fixtures/uplink/express-bench');
const { Flag } = require('../../../native');
const { StoreThread } = require('../../../nodes/lib/store');
const { readEnvelope } = require('../../../nodes/lib/unbatch/unbatch');

jest.setTimeout(60000);

const { cleanups, start, startAboard } = express();

test.each([0x80, 0x97, 0x87])(
  'leaves on a refusal (%i); the record is sent again, and nothing is lost',
  async (code) => {
    let refusals = 0;
    const puback = ({ topic }) => (topic === 'c/3/5' && refusals++ === 0 ? code : 0);
    const { broker, bench } = await startAboard({ manners: { puback }, options: { retryMs: 20 } });
    for (let i = 0; i < 20; i++) bench.push(3);
    await delivered(bench);
    expect(bench.failed).toEqual([]);
    expect(broker.received.filter(({ topic }) => topic === 'c/3/5')).toHaveLength(2);
    expect(broker.received).toHaveLength(21);
    await until(() => bench.last.acknowledged === 20);
    expect(bench.last).toMatchObject({ published: 20, redelivered: 1, refusals: 1 });
    expect(bench.isActive).toBe(false);
  }
);

test('leaves on a record larger than the Maximum Packet Size, and gives up that record alone', async () => {
  const { broker, bench } = await startAboard({ manners: { granted: { maximumPacketSize: 300 } } });
  bench.push(3);
  const large = bench.push(3, 'x'.repeat(1000));
  bench.push(3);
  await delivered(bench);
  expect(bench.failed).toEqual([large]);
  expect(broker.received).toHaveLength(2);
  await until(() => bench.problems.some(({ code }) => code === 'PACKET_TOO_LARGE'));
  await until(() => bench.isActive);
});

test('leaves on an encoded envelope that is too large, and nothing overtakes its pieces', async () => {
  const manners = { granted: { maximumPacketSize: 400 } };
  const { broker, bench } = await startAboard({ manners, more: { stage: { format: 'cbor' } } });
  const lines = (/** @type {number} */ from, /** @type {number} */ count) =>
    Array.from(
      { length: count },
      (_, i) => `{"d":"m","t":"t","ts":1,"s":${from + i},"c":3,"p":"${'x'.repeat(50)}"}\n`
    ).join('');
  bench.push(3, lines(0, 2), Flag.ENVELOPE);
  bench.push(3, lines(2, 20), Flag.ENVELOPE);
  bench.push(3, lines(22, 2), Flag.ENVELOPE);
  await delivered(bench);
  expect(bench.failed).toEqual([]);
  const numbers = broker.received.flatMap(({ payload }) =>
    readEnvelope(payload).records.map(({ seq }) => seq)
  );
  expect(numbers).toEqual([...Array(24).keys()]);
  await until(() => bench.last.acknowledged === broker.received.length);
  expect(bench.last).toMatchObject({ redelivered: 0, failed: 0 });
  await until(() => bench.isActive);
});

test('acknowledges in-flight packets across new stages, and does not send them twice', async () => {
  const { broker, bench } = await startAboard({ manners: { delayMs: 50 } });
  for (let i = 0; i < 10; i++) bench.push(3);
  await until(() => broker.received.length === 10);
  bench.setStages();
  await delivered(bench);
  expect(broker.received).toHaveLength(10);
  await until(() => bench.last.acknowledged === 10);
  await until(() => bench.isActive);
});

test('never enters with QoS 0, and leaves on a batch of single records', async () => {
  const none = await start({ more: { stage: { qos: 0 } } });
  await until(() => none.bench.last?.state === 'connected');
  none.bench.push(3);
  await delivered(none.bench);
  await pause(1200);
  expect(none.bench.states.some(({ sessions }) => sessions.some((session) => session.express))).toBe(false);
  const { broker, bench } = await startAboard();
  for (let i = 0; i < 3; i++) bench.batch(stage.singles);
  await until(() => broker.received.length === 3);
  await until(() => !bench.isActive);
});

test('finds the record when a broker closes on a packet that is too large and announces no limit; all others arrive', async () => {
  const { broker, bench } = await startAboard({
    manners: { closeAbove: 2000 },
    options: { protocolVersion: 4 }
  });
  for (let i = 0; i < 5; i++) bench.push(3);
  const large = bench.push(3, 'x'.repeat(3000));
  const timer = setInterval(() => bench.push(4), 20);
  cleanups.push(() => clearInterval(timer));
  await until(() => bench.held >= 0 && bench.failed.length > 0, 40000, 'the dead letter');
  clearInterval(timer);
  await delivered(bench);
  expect(bench.failed).toEqual([large]);
  expect(broker.topics).toHaveLength(bench.sent - 1);
});

test('leaves for the backlog of an outage in the log, sends that too, and enters again', async () => {
  const engine = { log: true, memoryMiB: 8 };
  const { broker, bench } = await startAboard({ more: { engine } });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-express-'));
  const store = new StoreThread({ directory: folder });
  cleanups.push(async () => {
    await bench.stop(0);
    await store.stop(1000);
    fs.rmSync(folder, { recursive: true });
  });
  store.attach(bench.engine.token);
  await broker.close();
  await until(() => bench.last.state !== 'connected');
  for (let i = 0; i < 20; i++) {
    for (let j = 0; j < 100; j++) bench.push(3, 'x'.repeat(1000));
    await pause(5);
  }
  await until(() => store.state.chunks > 0);
  await broker.listen();
  await until(() => bench.isActive && bench.held === 0, 30000);
  expect(broker.topics).toHaveLength(bench.sent);
  expect(bench.failed).toEqual([]);
});
