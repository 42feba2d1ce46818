'use strict';

// The express path: the real engine and the real thread, a scripted broker. All guarantees of the feeder alone hold.

const { Flag } = require('../../../native');
const { until } = require('../../../bench/harness/broker');
const { delivered, dups, express, firsts, pause, rising } = require('../../fixtures/uplink/express');
const { stage } = require('../../fixtures/uplink/express-bench');

jest.setTimeout(60000);

const { cleanups, start, startAboard } = express();

test('enters when nothing is in flight, and counts its packets', async () => {
  const { broker, bench } = await startAboard();
  for (let i = 0; i < 200; i++) {
    bench.push(3);
    if (i % 10 === 0) await pause(1);
  }
  await delivered(bench);
  expect(firsts(broker, 3)).toEqual(bench.delivered.map((_, i) => i + 1));
  expect(broker.received).toHaveLength(200);
  await until(() => bench.last.acknowledged === 200);
  expect(bench.last).toMatchObject({ published: 200, redelivered: 0, inflight: 0, state: 'connected' });
  expect(bench.last.rttMs).toBeGreaterThan(0);
  await until(() => bench.isActive);
});

test('enters again under a load that never pauses', async () => {
  const { broker, bench } = await start();
  const timer = setInterval(() => bench.push(3), 1);
  cleanups.push(() => clearInterval(timer));
  await until(() => bench.isActive);
  bench.setStages({ topic: 'other/{class}' });
  await pause(50);
  await until(() => bench.isActive);
  clearInterval(timer);
  await delivered(bench);
  expect(dups(broker)).toEqual([]);
  expect(firsts(broker, 3)).toEqual(rising(firsts(broker, 3)));
});

test('counts each packet once, no matter which side sends when it ends', async () => {
  const { broker, bench } = await startAboard();
  const timer = setInterval(() => bench.push(3), 1);
  cleanups.push(() => clearInterval(timer));
  for (let i = 0; i < 10; i++) {
    await until(() => bench.isActive);
    bench.setStages({ topic: `other/{class}/${i}` });
    await pause(10);
  }
  clearInterval(timer);
  await delivered(bench);
  await until(() => bench.last.acknowledged === bench.delivered.length);
  expect([bench.last.published, bench.last.redelivered]).toEqual([broker.received.length, 0]);
});

test.each([4, 5])('sends the same packets as the feeder (MQTT version %i)', async (protocolVersion) => {
  const seen = [];
  for (const nativePath of [undefined, require.resolve('../../fixtures/uplink/native-without-connection')]) {
    const { broker, bench } = await start({
      options: { protocolVersion, ...(nativePath && { nativePath }) }
    });
    await until(() => bench.last?.state === 'connected');
    if (!nativePath) await until(() => bench.isActive);
    for (let i = 1; i <= 8; i++) bench.push(i, `payload ${i}`, i % 2 ? Flag.RETAIN : 0);
    await delivered(bench);
    for (const payload of ['{"v":1}', '{}', '{ }', '']) bench.push(2, payload, Flag.ENVELOPE);
    await delivered(bench);
    bench.batch(stage.ingest);
    await until(() => broker.received.length === 13);
    expect(bench.isActive).toBe(!nativePath);
    seen.push(
      broker.received.map(({ topic, payload, retain, qos, dup, properties }) => ({
        topic,
        retain,
        qos,
        dup,
        properties: JSON.stringify(properties ?? {}),
        payload: payload.toString()
      }))
    );
  }
  // The run's number, and the time of a line.
  const plain = (packets) =>
    packets
      .map((packet) =>
        JSON.stringify(packet)
          .replace(/gw1\/[a-z0-9]+\//g, 'gw1/RUN/')
          .replace(/\d{13}/g, 'TIME')
      )
      .sort();
  expect(plain(seen[0])).toEqual(plain(seen[1]));
  expect(JSON.stringify(seen[0])).toMatch(/gw1\/[a-z0-9]+\/\d/);
});

test('waits for in-flight packets in drain and stop, and nothing arrives twice', async () => {
  const { broker, bench } = await startAboard({ manners: { delayMs: 100 } });
  for (let i = 0; i < 10; i++) bench.push(3);
  await until(() => broker.received.length === 10);
  expect(await bench.thread.drain(10)).toBe(false);
  expect(await bench.thread.drain(5000)).toBe(true);
  expect(bench.held).toBe(0);
  for (let i = 0; i < 10; i++) bench.push(3);
  await until(() => broker.received.length === 20);
  expect(await bench.thread.stop(5000)).toBe(true);
  expect(bench.held).toBe(0);
  expect(broker.received).toHaveLength(20);
  expect(broker.goodbyes).toBe(1);
});

test('continues pings on the express path, with records and without', async () => {
  const options = { keepalive: 1 };
  const [busy, quiet] = await Promise.all([startAboard({ options }), startAboard({ options })]);
  const timer = setInterval(() => busy.bench.push(3), 100);
  await pause(2500);
  clearInterval(timer);
  for (const { broker, bench } of [busy, quiet]) {
    bench.push(3);
    await delivered(bench);
    expect(bench.isActive).toBe(true);
    expect([broker.connections, dups(broker)]).toEqual([1, []]);
  }
});

test('keeps one place of a window of two for class 1 whatever others wait for', async () => {
  const manners = { puback: ({ topic }) => (topic.startsWith('c/1/') ? 0 : -1) };
  const { broker, bench } = await startAboard({ manners, options: { inflight: 2 } });
  for (let i = 0; i < 5; i++) bench.push(3);
  await until(() => broker.received.length === 1);
  for (let i = 0; i < 5; i++) bench.push(1);
  await until(() => firsts(broker, 1).length === 5);
  expect(firsts(broker, 3)).toEqual([1]);
  expect(broker.mostInFlight).toBeLessThanOrEqual(2);
});

test('runs two sessions independently', async () => {
  const puback = ({ topic }) => (topic.startsWith('c/3/') ? 0x97 : 0);
  const { broker, bench } = await startAboard({ options: { groups: '' } });
  for (let i = 0; i < 50; i++) [1, 2, 3, 5].forEach((cls) => bench.push(cls));
  await delivered(bench);
  expect(new Set(broker.topicsOf('gw1-1').map((topic) => topic[2]))).toEqual(new Set(['1', '2']));
  expect(new Set(broker.topicsOf('gw1-2').map((topic) => topic[2]))).toEqual(new Set(['3', '5']));
  broker.manners = { puback };
  bench.push(3);
  await until(() => bench.last.sessions[1].express === false);
  expect(bench.last.sessions[0].express).toBe(true);
  broker.manners = {};
  await delivered(bench);
});
