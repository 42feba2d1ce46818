'use strict';

// Connections that end while the engine sends: nothing is lost, first arrivals are in order.

const fs = require('node:fs');
const { Authority } = require('../../fixtures/devices/authority');
const { Broker, until } = require('../../../bench/harness/broker');
const { delivered, dups, express, firsts, pause, rising } = require('../../fixtures/uplink/express');
const { ExpressBench } = require('../../fixtures/uplink/express-bench');
const { needs } = require('../../../bench/harness/tools');

const { test: withOpenssl } = needs('openssl');
const { test: withMosquitto } = needs('mosquitto');

jest.setTimeout(60000);

const { cleanups, start, startAboard } = express();

test('sends in-flight packets of a cut connection again as duplicates, in order, before new ones', async () => {
  const manners = { puback: ({ topic }) => (Number(topic.split('/')[2]) > 10 ? -1 : 0) };
  const { broker, bench } = await startAboard({ manners, options: { inflight: 8 } });
  for (let i = 0; i < 30; i++) bench.push(3);
  // Two of the eight places are for class 1.
  await until(() => broker.received.length === 16);
  broker.manners = {};
  await broker.close();
  await broker.listen();
  await delivered(bench);
  expect(dups(broker)).toEqual([11, 12, 13, 14, 15, 16].map((n) => `c/3/${n}`));
  expect(broker.received.map(({ topic }) => topic).slice(16)).toEqual(
    Array.from({ length: 20 }, (_, i) => `c/3/${i + 11}`)
  );
  await until(() => bench.last.acknowledged === 30);
  expect(bench.last).toMatchObject({ published: 30, redelivered: 6, inflight: 0 });
  await until(() => bench.isActive);
});

test('loses nothing when cut at any moment repeatedly, with first arrivals in order', async () => {
  const { broker, bench } = await start({ manners: { delayMs: 2 } });
  const timer = setInterval(() => [1, 3, 3, 4].forEach((cls) => bench.push(cls)), 1);
  cleanups.push(() => clearInterval(timer));
  for (let i = 0; i < 20; i++) {
    await pause(60 + ((i * 37) % 50));
    for (const socket of broker.sockets) i % 2 ? socket.destroy() : socket.resetAndDestroy();
  }
  clearInterval(timer);
  await delivered(bench);
  expect(bench.failed).toEqual([]);
  for (const cls of [1, 3, 4]) expect(firsts(broker, cls)).toEqual(rising(firsts(broker, cls)));
  expect(broker.topics).toHaveLength(bench.sent);
  await until(() => bench.last.acknowledged === bench.sent);
  expect(bench.last.published).toBe(bench.sent);
});

test('reports the time-out of a broker that answers nothing, and sends in-flight packets again', async () => {
  const { broker, bench } = await startAboard({ options: { ackTimeoutMs: 500 } });
  broker.manners = { puback: () => -1 };
  for (let i = 0; i < 5; i++) bench.push(3);
  await until(() => bench.states.some(({ code }) => code === 'ACK_TIMEOUT'));
  broker.manners = {};
  await delivered(bench);
  expect(new Set(dups(broker)).size).toBe(5);
  expect(broker.topics).toHaveLength(5);
});

withOpenssl(
  'loses and repeats nothing when certificates are renewed: leaves, drains, and enters again',
  async () => {
    const authority = new Authority();
    cleanups.push(() => authority.remove());
    const good = authority.issue();
    const tls = { ...good, ca: authority.ca, requestCert: true };
    const own = authority.issue();
    const tlsFiles = { ca: authority.caFile, cert: own.certFile, key: own.keyFile };
    const { broker, bench } = await startAboard({ tls, options: { tlsFiles } });
    const timer = setInterval(() => bench.push(3), 5);
    cleanups.push(() => clearInterval(timer));
    const next = authority.issue();
    fs.copyFileSync(next.keyFile, own.keyFile);
    fs.copyFileSync(next.certFile, own.certFile);
    await until(() => broker.connections === 2, 15000);
    await until(() => bench.isActive);
    clearInterval(timer);
    await delivered(bench);
    expect(dups(broker)).toEqual([]);
    expect(broker.goodbyes).toBe(1);
  }
);

withMosquitto(
  'loses nothing and keeps first deliveries in order when a real broker over TLS 1.3 is killed in the middle',
  async () => {
    const broker = await Broker.start();
    cleanups.push(() => broker.remove());
    const bench = new ExpressBench({ url: broker.url, tls: { ca: broker.ca } });
    cleanups.push(() => bench.stop(0));
    const timer = setInterval(() => [1, 3, 4].forEach((cls) => bench.push(cls)), 2);
    cleanups.push(() => clearInterval(timer));
    for (let round = 0; round < 2; round++) {
      await until(() => bench.isActive, 15000);
      await pause(200);
      await broker.kill();
      await broker.start();
    }
    clearInterval(timer);
    await delivered(bench);
    const topics = [...new Set(broker.received('gw1').map(({ topic }) => topic))];
    expect(topics).toHaveLength(bench.sent);
    for (const cls of [1, 3, 4]) {
      const numbers = topics
        .filter((topic) => topic.startsWith(`c/${cls}/`))
        .map((topic) => Number(topic.slice(4)));
      expect(numbers).toEqual(rising(numbers));
    }
  }
);
