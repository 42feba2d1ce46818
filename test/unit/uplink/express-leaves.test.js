'use strict';

// What the express path leaves to the feeder, and what becomes of the records that were on their way.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { until } = require('../../../bench/harness/broker');
const { delivered, express, pause } = require('../../fixtures/uplink/express');
const { stage } = require('../../fixtures/uplink/express-bench');
const { StoreThread } = require('../../../nodes/lib/store');

jest.setTimeout(60000);

const { cleanups, start, startAboard } = express();

test.each([0x80, 0x97, 0x87])(
  'a refusal (%i) lands; the record is sent again, nothing is lost',
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
    expect(bench.isAboard).toBe(false);
  }
);

test('a record larger than the Maximum Packet Size lands, and is given up alone', async () => {
  const { broker, bench } = await startAboard({ manners: { granted: { maximumPacketSize: 300 } } });
  bench.push(3);
  const large = bench.push(3, 'x'.repeat(1000));
  bench.push(3);
  await delivered(bench);
  expect(bench.failed).toEqual([large]);
  expect(broker.received).toHaveLength(2);
  await until(() => bench.problems.some(({ code }) => code === 'PACKET_TOO_LARGE'));
  await until(() => bench.isAboard);
});

test('new stages while packets are in flight: they are acknowledged, not sent twice', async () => {
  const { broker, bench } = await startAboard({ manners: { delayMs: 50 } });
  for (let i = 0; i < 10; i++) bench.push(3);
  await until(() => broker.received.length === 10);
  bench.setStages();
  await delivered(bench);
  expect(broker.received).toHaveLength(10);
  await until(() => bench.last.acknowledged === 10);
  await until(() => bench.isAboard);
});

test('QoS 0 never boards; a batch of single records lands', async () => {
  const none = await start({ more: { stage: { qos: 0 } } });
  await until(() => none.bench.last?.state === 'connected');
  none.bench.push(3);
  await delivered(none.bench);
  await pause(1200);
  expect(none.bench.states.some(({ sessions }) => sessions.some((session) => session.express))).toBe(false);
  const { broker, bench } = await startAboard();
  for (let i = 0; i < 3; i++) bench.batch(stage.singles);
  await until(() => broker.received.length === 3);
  await until(() => !bench.isAboard);
});

test('a broker that closes on a packet that is too large and tells no limit: the record is found, all others go', async () => {
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

test('an outage that went to the log: it lands for the backlog, sends that too, and boards again', async () => {
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
  await until(() => bench.isAboard && bench.held === 0, 30000);
  expect(broker.topics).toHaveLength(bench.sent);
  expect(bench.failed).toEqual([]);
});
